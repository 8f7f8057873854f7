"""The table of reliability: which sources sent which resource on how many of a window's days."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final, TypeAlias

import numpy as np

from aggregation.constants import NO_WORKOUT
from aggregation.derived.reliability import Presence, presence_of
from aggregation.models import Series, Summary
from aggregation.query import ReadLimitError
from aggregation.query_reader.samples import spans_of
from aggregation.query_reader.summaries import ROWS_MAXIMUM, day_of
from aggregation.records import DataSource
from aggregation.store import read
from aggregation.store.days import DAY_US, local_us, us_of_day
from aggregation.store.read import SeriesRow, Span
from healthsvc.kernel.principal import TeamContext
from users.models import User
from users.selectors import sources_of

#: provider, source type, resource.
SourceResource: TypeAlias = tuple[str, str, str]
#: Summaries that tell of no day.
_TIMELESS: Final = ("profile", "device")
#: Samples decoded at a time, a block at least; what is kept of them are days.
_SAMPLES_AT_ONCE: Final = 500_000


@dataclass(frozen=True, slots=True)
class ReliabilityRow:
    """A row; its fields are the table's columns."""

    source_provider: str
    source_type: str
    resource: str
    window_start_date: date
    window_end_date: date
    window_duration_day: int
    presence_day_count: int
    presence_coverage: float
    presence_gap_count: int
    presence_gap_maximum_day: int
    presence_recency_day: int
    presence_gap_mean_day: float | None
    presence_gap_standard_deviation_day: float | None
    reliability_status: str
    connection_status: str


def reliability_rows(
    team: TeamContext, user: User, window_start_us: int, window_end_us: int, *, rows_maximum: int
) -> list[ReliabilityRow]:
    """The sources that sent something in the window, by provider, type and resource.

    Costs five statements, one more for each half million samples of the window, and one a registered source of
    connections. A day counts where a sample begins on it or a summary is of it, on the person's clock.
    """
    start_on, end_on = day_of(window_start_us), day_of(window_end_us - 1)
    days = _summary_days(team, user, start_on, end_on)
    for key, day in _sample_days(team, user, start_on, end_on, rows_maximum):
        days.setdefault(key, set()).add(day)
    connected = {source.slug for source in sources_of(team, [user])[user.pk]}
    return [
        _row(key, presence_of(found, start_on, end_on), start_on, end_on, connected=key[0] in connected)
        for key, found in sorted(days.items())
    ]


def _row(key: SourceResource, presence: Presence, start_on: date, end_on: date, *, connected: bool) -> ReliabilityRow:
    provider, source_type, resource = key
    return ReliabilityRow(
        source_provider=provider,
        source_type=source_type,
        resource=resource,
        window_start_date=start_on,
        window_end_date=end_on,
        window_duration_day=(end_on - start_on).days + 1,
        presence_day_count=presence.day_count,
        presence_coverage=presence.coverage,
        presence_gap_count=presence.gap_count,
        presence_gap_maximum_day=presence.gap_maximum_day,
        presence_recency_day=presence.recency_day,
        presence_gap_mean_day=presence.gap_mean_day,
        presence_gap_standard_deviation_day=presence.gap_standard_deviation_day,
        reliability_status=presence.status,
        connection_status="connected" if connected else "disconnected",
    )


def _summary_days(team: TeamContext, user: User, start_on: date, end_on: date) -> dict[SourceResource, set[date]]:
    found = Summary.objects.for_team(team).filter(
        user_id=user.pk, calendar_date__gte=start_on, calendar_date__lte=end_on
    )
    named = (
        found.exclude(resource__in=_TIMELESS)
        .order_by()
        .values_list("provider", "source_type", "resource", "calendar_date")
        .distinct()
    )
    rows = list(named[: ROWS_MAXIMUM + 1])
    if len(rows) > ROWS_MAXIMUM:
        raise ReadLimitError
    days: dict[SourceResource, set[date]] = {}
    for provider, source_type, resource, day in rows:
        days.setdefault((provider, source_type, resource), set()).add(day)
    return days


def _sample_days(
    team: TeamContext, user: User, start_on: date, end_on: date, rows_maximum: int
) -> Iterator[tuple[SourceResource, date]]:
    """Local days with samples; the samples themselves are dropped as soon as they are seen."""
    found = Series.objects.for_team(team).filter(user_id=user.pk, workout_id=NO_WORKOUT)
    keys: dict[int, SourceResource] = {}
    rows: list[SeriesRow] = []
    for one in found.order_by("series_id"):
        keys[one.series_id] = (one.provider, one.source_type, one.resource)
        source = DataSource(one.provider, one.source_type, one.app_id or None, one.device_id or None)
        rows.append(SeriesRow(one.series_id, source, one.bucket_seconds))
    spans = spans_of(rows, us_of_day(start_on), us_of_day(end_on) + DAY_US)
    if read.samples_count(user.pk, spans) > rows_maximum:
        raise ReadLimitError
    for piece in _pieces(user, spans, rows_maximum):
        for series_id, block in read.samples_of(user.pk, piece).items():
            local = local_us(block.start_us, block.offset_seconds, user.fallback_time_zone)
            days = [day_of(number * DAY_US) for number in np.unique(local // DAY_US).tolist()]
            yield from ((keys[series_id], day) for day in days if start_on <= day <= end_on)


def _pieces(user: User, spans: Sequence[Span], limit: int) -> Iterator[list[Span]]:
    """The spans cut so that each piece holds about as many samples as may be decoded at a time."""
    series = {span.series.series_id: span.series for span in spans}
    piece: dict[int, Span] = {}
    samples = 0
    for series_id, bucket, size in read.block_sizes(user.pk, spans, limit=limit):
        if piece and samples + size > _SAMPLES_AT_ONCE:
            yield list(piece.values())
            piece, samples = {}, 0
        first = piece[series_id].first_bucket if series_id in piece else bucket
        piece[series_id] = Span(series[series_id], first, bucket)
        samples += size
    if piece:
        yield list(piece.values())
