"""Figures of endpoints: from tallies and health, never by counting attempts."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum, StrEnum
from typing import Any, Final
from uuid import UUID

from django.db import connection
from django.db.models import DateTimeField, F, Func, Q, Sum, Value

from healthsvc.kernel import clock
from healthsvc.kernel.principal import TeamContext
from webhooks.constants import WAITING_COUNT_MAXIMUM
from webhooks.models import Endpoint, EndpointHealth, Tally


class Interval(Enum):
    """The width of a span, and how far back its spans go."""

    FIVE_MINUTES = ("5m", 5 * 60, 6 * 3600)
    QUARTER_HOUR = ("15m", 15 * 60, 24 * 3600)
    HOUR = ("1h", 3600, 7 * 24 * 3600)
    DAY = ("1d", 24 * 3600, 30 * 24 * 3600)

    def __init__(self, text: str, span_seconds: int, window_seconds: int) -> None:
        self.text = text
        self.span_seconds = span_seconds
        self.window_seconds = window_seconds

    @classmethod
    def of(cls, text: str) -> "Interval":
        """The interval that the API calls so; KeyError for another word."""
        return {interval.text: interval for interval in cls}[text]

    def spans(self, until: datetime) -> list[datetime]:
        """Beginnings of the spans of the window whose last one holds `until`, UTC; in order."""
        last = int(until.timestamp()) // self.span_seconds * self.span_seconds
        count = self.window_seconds // self.span_seconds
        return [datetime.fromtimestamp(last - back * self.span_seconds, UTC) for back in range(count - 1, -1, -1)]


@dataclass(frozen=True, slots=True)
class TallyPoint:
    """One span: attempts that were taken and that failed, deliveries given up, and the mean time of an attempt."""

    span_at: datetime
    delivered: int = 0
    failed: int = 0
    exhausted: int = 0
    mean_milliseconds: int | None = None


class EndpointStatus(StrEnum):
    """How an endpoint stands, in the words of the API: the first of these that is so, enabled where none is."""

    ENABLED = "enabled"
    DISABLED = "disabled"
    FAILING = "failing"
    PAUSED = "paused"
    STRUGGLING = "struggling"


@dataclass(frozen=True, slots=True)
class EndpointStats:
    """The last 24 hours of an endpoint, and how it stands now.

    `waiting` counts what is owed now, up to `WAITING_COUNT_MAXIMUM`. `health` is None where nothing was ever noted.
    """

    delivered: int = 0
    failed: int = 0
    exhausted: int = 0
    waiting: int = 0
    health: EndpointHealth | None = None


_WAITING: Final = """
SELECT wanted.id,
       (SELECT count(*) FROM (SELECT FROM webhooks_delivery
                               WHERE endpoint_id = wanted.id AND team_id = %s AND environment = %s
                                 AND status IN ('pending', 'sending') LIMIT %s) AS counted)
  FROM unnest(%s::uuid[]) AS wanted (id)
"""
_DAY: Final = timedelta(days=1)


def endpoint_status(endpoint: Endpoint, health: EndpointHealth | None, now: datetime) -> EndpointStatus:
    """How an endpoint stands."""
    if endpoint.disabled:
        return EndpointStatus.DISABLED
    if health is not None and health.failing_since is not None:
        return EndpointStatus.FAILING
    if health is not None and health.paused_until is not None and health.paused_until > now:
        return EndpointStatus.PAUSED
    if health is not None and health.struggling_since is not None:
        return EndpointStatus.STRUGGLING
    return EndpointStatus.ENABLED


def status_condition(status: EndpointStatus, now: datetime) -> Q:
    """As `endpoint_status`, for a query over endpoints."""
    holds = {
        EndpointStatus.DISABLED: Q(disabled=True),
        EndpointStatus.FAILING: Q(health__failing_since__isnull=False),
        EndpointStatus.PAUSED: Q(health__paused_until__gt=now),
        EndpointStatus.STRUGGLING: Q(health__struggling_since__isnull=False),
    }
    condition = Q()
    for one, held in holds.items():
        if one is status:
            return condition & held
        condition &= ~held
    return condition


def endpoint_stats(team: TeamContext, endpoint_ids: Collection[UUID]) -> dict[UUID, EndpointStats]:
    """The figures of each endpoint asked for; three queries for any number."""
    if not endpoint_ids:
        return {}
    since = clock.now() - _DAY
    tallies = Tally.objects.for_team(team).filter(endpoint_id__in=endpoint_ids, span_at__gt=since)
    summed = tallies.values("endpoint_id").order_by()
    counts = {
        row["endpoint_id"]: (row["delivered__sum"], row["failed__sum"], row["exhausted__sum"])
        for row in summed.annotate(Sum("delivered"), Sum("failed"), Sum("exhausted"))
    }
    health = EndpointHealth.objects.for_team(team).in_bulk(list(endpoint_ids))
    waiting = _waiting(team, endpoint_ids)
    return {
        endpoint_id: EndpointStats(
            *counts.get(endpoint_id, (0, 0, 0)), waiting.get(endpoint_id, 0), health.get(endpoint_id)
        )
        for endpoint_id in endpoint_ids
    }


def tally_series(
    team: TeamContext, *, endpoint_id: UUID | None, interval: Interval, until: datetime
) -> list[TallyPoint]:
    """The window of an interval, every span present; of one endpoint, or of all together. One query."""
    spans = interval.spans(until)
    found = _tallied(team, spans, interval, endpoint_id, by_endpoint=False).get(None, {})
    return [found.get(span, TallyPoint(span)) for span in spans]


def tally_series_by_endpoint(team: TeamContext, *, interval: Interval, until: datetime) -> dict[UUID, list[TallyPoint]]:
    """As `tally_series`, for each endpoint that had attempts in the window. One query."""
    spans = interval.spans(until)
    found = _tallied(team, spans, interval, None, by_endpoint=True)
    return {
        endpoint_id: [points.get(span, TallyPoint(span)) for span in spans]
        for endpoint_id, points in found.items()
        if endpoint_id is not None
    }


def _tallied(
    team: TeamContext, spans: list[datetime], interval: Interval, endpoint_id: UUID | None, *, by_endpoint: bool
) -> dict[UUID | None, dict[datetime, TallyPoint]]:
    """Points by endpoint (or under None) and span, those that are not zero."""
    width = timedelta(seconds=interval.span_seconds)
    tallies = Tally.objects.for_team(team).filter(span_at__gte=spans[0], span_at__lt=spans[-1] + width)
    if endpoint_id is not None:
        tallies = tallies.filter(endpoint_id=endpoint_id)
    binned = Func(Value(width), F("span_at"), Value(datetime.fromtimestamp(0, UTC)), function="date_bin",
                  output_field=DateTimeField())  # fmt: skip
    names = ["bin", "endpoint_id"] if by_endpoint else ["bin"]
    rows = tallies.annotate(bin=binned).values(*names).order_by()
    found: dict[UUID | None, dict[datetime, TallyPoint]] = {}
    for row in rows.annotate(Sum("delivered"), Sum("failed"), Sum("exhausted"), Sum("duration_milliseconds")):
        delivered, failed = row["delivered__sum"], row["failed__sum"]
        attempts = delivered + failed
        mean = round(row["duration_milliseconds__sum"] / attempts) if attempts else None
        point = TallyPoint(row["bin"], delivered, failed, row["exhausted__sum"], mean)
        found.setdefault(row.get("endpoint_id"), {})[row["bin"]] = point
    return found


def _waiting(team: TeamContext, endpoint_ids: Collection[UUID]) -> dict[UUID, int]:
    parameters: list[Any] = [team.team_id, str(team.environment), WAITING_COUNT_MAXIMUM, list(endpoint_ids)]
    with connection.cursor() as cursor:
        cursor.execute(_WAITING, parameters)
        return dict(cursor.fetchall())
