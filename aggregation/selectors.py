"""Reads of the aggregation app: pages of samples, summaries, and where an import stands."""

import base64
import binascii
import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final
from uuid import UUID

from aggregation.catalogue import SeriesSpec
from aggregation.codec import BlockColumns
from aggregation.constants import APPLE_HEALTH_JOB, SUMMARIES_MAXIMUM, UNGROUPED_SAMPLES_MAXIMUM
from aggregation.models import Summary
from aggregation.records import DataSource
from aggregation.store import read
from aggregation.store.columns import block_join, block_take
from aggregation.store.days import SECOND_US, Window
from aggregation.store.read import Span
from aggregation.store.summaries import SummaryRow
from healthsvc.kernel.errors import ErrorCode, Problem, invalid, not_found
from healthsvc.kernel.principal import TeamContext
from management.models import BackgroundJob
from users.models import User

_CURSOR: Final = struct.Struct(">qq4s")


@dataclass(frozen=True, slots=True)
class SampleQuery:
    """Which samples are wanted: of a living user, one resource, a window, one provider or ("") all."""

    user: User
    spec: SeriesSpec
    window: Window
    provider: str = ""

    def digest(self) -> bytes:
        """Four bytes that differ between queries, so that a cursor can't be carried from one to another."""
        words = (self.user.pk, self.spec.slug, self.window, self.provider)
        return hashlib.sha256(repr(words).encode()).digest()[:4]


@dataclass(frozen=True, slots=True)
class Position:
    """The last sample of a page: its series and its start."""

    series_id: int
    start_us: int


@dataclass(frozen=True, slots=True)
class SamplePage:
    """Samples by source, each in order of time, and where the next page goes on or None."""

    groups: Sequence[tuple[DataSource, BlockColumns]]
    next: Position | None


def cursor_make(query: SampleQuery, position: Position) -> str:
    """A position as clients carry it."""
    raw = _CURSOR.pack(position.series_id, position.start_us, query.digest())
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def cursor_read(query: SampleQuery, cursor: str) -> Position:
    """The position of a cursor that this very query gave; 422 for any other."""
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        series_id, start_us, digest = _CURSOR.unpack(raw)
    except (ValueError, binascii.Error, struct.error):
        digest, series_id, start_us = b"", 0, 0
    if digest != query.digest():
        problem = Problem(("query", "next_cursor"), "Not a cursor that this query gave.", "cursor_invalid")
        raise invalid([problem])
    return Position(series_id, start_us)


def sample_page(team: TeamContext, query: SampleQuery, *, after: Position | None, limit: int) -> SamplePage:
    """At most `limit` samples after a position, series by series. Costs three statements and what they read."""
    first_us, last_us = query.window.utc_bounds_us()
    spans = {}
    for series in read.series_of(team, query.user.pk, query.spec.slug, query.provider):
        if after is None or series.series_id >= after.series_id:
            goes_on = after is not None and series.series_id == after.series_id
            begin_us = max(first_us, after.start_us + 1) if after is not None and goes_on else first_us
            spans[series.series_id] = Span(series, series.bucket(begin_us), series.bucket(last_us))
    sizes = read.block_sizes(query.user.pk, list(spans.values()), limit=limit + 1)
    wanted, resume = _filled(spans, sizes, limit)
    columns = read.samples_of(query.user.pk, list(wanted.values()))
    groups: list[tuple[DataSource, BlockColumns]] = []
    room = limit
    for series_id, span in wanted.items():
        block = _within(columns[series_id], query, after if after and after.series_id == series_id else None)
        if len(block) > room:
            block = block_take(block, slice(0, room))
            resume = Position(series_id, int(block.start_us[-1]))
        if len(block):
            groups.append((span.series.source, block))
        room -= len(block)
        if not room and resume is not None:
            break
    return SamplePage(groups, resume)


def _filled(
    spans: dict[int, Span], sizes: Sequence[tuple[int, int, int]], limit: int
) -> tuple[dict[int, Span], Position | None]:
    """The blocks that together hold `limit` samples or a little more, and where to go on where blocks are left."""
    wanted: dict[int, Span] = {}
    total = 0
    for series_id, bucket, size in sizes:
        if total >= limit:
            last = list(wanted.values())[-1]
            end_us = (last.last_bucket + 1) * last.series.bucket_seconds * SECOND_US - 1
            return wanted, Position(last.series.series_id, end_us)
        first = wanted[series_id].first_bucket if series_id in wanted else bucket
        wanted[series_id] = Span(spans[series_id].series, first, bucket)
        total += size
    return wanted, None


def _within(block: BlockColumns, query: SampleQuery, after: Position | None) -> BlockColumns:
    kept = query.window.holds(block.start_us, block.offset_seconds, query.user.fallback_time_zone)
    if after is not None:
        kept &= block.start_us > after.start_us
    return block if kept.all() else block_take(block, kept)


def samples_flat(team: TeamContext, query: SampleQuery) -> BlockColumns | None:
    """All samples of a query in order of time, whatever their source; 422 where they are too many for one answer."""
    page = sample_page(team, query, after=None, limit=UNGROUPED_SAMPLES_MAXIMUM)
    if page.next is not None:
        message = f"More than {UNGROUPED_SAMPLES_MAXIMUM} samples; use the grouped read, which has pages."
        raise invalid([Problem(("query", "start_date"), message, "too_many")], ErrorCode.QUERY_BUDGET_EXCEEDED)
    if not page.groups:
        return None
    joined = block_join([block for _, block in page.groups])
    return block_take(joined, joined.start_us.argsort(kind="stable"))


def summary_rows(
    team: TeamContext, user_id: UUID, resource: str, *, start_on: date, end_on: date | None, provider: str = ""
) -> list[SummaryRow]:
    """Summaries of the person's days from `start_on` to `end_on`, inclusive, in order; 422 where they are too many."""
    found = Summary.objects.for_team(team).filter(user_id=user_id, resource=resource, calendar_date__gte=start_on)
    if end_on is not None:
        found = found.filter(calendar_date__lte=end_on)
    if provider:
        found = found.filter(provider=provider)
    rows = list(found.order_by("calendar_date", "starts_at", "id")[: SUMMARIES_MAXIMUM + 1])
    if len(rows) > SUMMARIES_MAXIMUM:
        message = f"More than {SUMMARIES_MAXIMUM} summaries; ask for a shorter time."
        raise invalid([Problem(("query", "start_date"), message, "too_many")], ErrorCode.QUERY_BUDGET_EXCEEDED)
    return [_summary_row(row) for row in rows]


def _summary_row(row: Summary) -> SummaryRow:
    source = DataSource(row.provider, row.source_type, row.app_id or None, row.device_id or None)
    return SummaryRow(
        row.id,
        row.user_id,
        row.resource,
        source,
        row.calendar_date,
        row.payload,
        row.created_at,
        row.updated_at,
    )


def import_get(team: TeamContext, user_id: UUID, job_id: UUID) -> BackgroundJob:
    """An import of this user; 404 where there is none."""
    jobs = BackgroundJob.objects.for_team(team).filter(pk=job_id, user_id=user_id, kind=APPLE_HEALTH_JOB)
    job = jobs.first()
    if job is None:
        raise not_found()
    return job
