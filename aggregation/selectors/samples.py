"""Pages of samples, by source and time."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from aggregation import cursors
from aggregation.catalogue import SeriesSpec
from aggregation.codec import BlockColumns
from aggregation.constants import UNGROUPED_SAMPLES_MAXIMUM
from aggregation.records import DataSource
from aggregation.store import read
from aggregation.store.columns import Mask, block_join, block_take
from aggregation.store.days import SECOND_US, Window
from aggregation.store.read import Span
from healthsvc.kernel.errors import ErrorCode, Problem, invalid
from healthsvc.kernel.principal import TeamContext
from users.models import User

_CURSOR: Final = struct.Struct(">qq")


@dataclass(frozen=True, slots=True)
class SampleQuery:
    """Which samples are wanted: of a living user, one resource, a window, one provider and type or ("") all."""

    user: User
    spec: SeriesSpec
    window: Window
    provider: str = ""
    type: str = ""

    def words(self) -> tuple[object, ...]:
        """What tells this query from others, so that a cursor can't be carried from one to another."""
        return (self.user.pk, self.spec.slug, self.window, self.provider, self.type)


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
    return cursors.cursor_make(query.words(), _CURSOR.pack(position.series_id, position.start_us))


def cursor_read(query: SampleQuery, cursor: str) -> Position:
    """The position of a cursor that this very query gave; 422 for any other."""
    return Position(*cursors.cursor_read(query.words(), cursor, _CURSOR))


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
        block = within(columns[series_id], query, after if after and after.series_id == series_id else None)
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


def within(block: BlockColumns, query: SampleQuery, after: Position | None) -> BlockColumns:
    """Those of a source's samples that a query asks for, after a position in that source where one is given."""
    kept = query.window.holds(block.start_us, block.offset_seconds, query.user.fallback_time_zone)
    if after is not None:
        kept &= block.start_us > after.start_us
    if query.type:
        kept &= _of_type(block, query.type)
    return block if kept.all() else block_take(block, kept)


def _of_type(block: BlockColumns, name: str) -> Mask:
    if block.type is None or name not in block.type.names:
        return np.zeros(len(block), np.bool_)
    found: Mask = block.type.codes == block.type.names.index(name)
    return found


def samples_flat(team: TeamContext, query: SampleQuery) -> BlockColumns | None:
    """All samples of a query in order of time, whatever their source; 422 where they are too many for one answer."""
    return page_flat(sample_page(team, query, after=None, limit=UNGROUPED_SAMPLES_MAXIMUM))


def page_flat(page: SamplePage) -> BlockColumns | None:
    """The samples of a page, which must be all there are, in order of time; None where there are none."""
    if page.next is not None:
        message = f"More than {UNGROUPED_SAMPLES_MAXIMUM} samples; use the grouped read, which has pages."
        raise invalid([Problem(("query", "start_date"), message, "too_many")], ErrorCode.QUERY_BUDGET_EXCEEDED)
    if not page.groups:
        return None
    joined = block_join([block for _, block in page.groups])
    return block_take(joined, joined.start_us.argsort(kind="stable"))
