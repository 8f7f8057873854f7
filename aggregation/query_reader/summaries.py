"""Rows of summaries, with their times on the person's clock."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final

import numpy as np

from aggregation.models import Summary
from aggregation.query import ReadLimitError
from aggregation.records import OFFSET_UNKNOWN
from aggregation.store.days import DAY_US, local_us, us_of_day, us_of_instant
from healthsvc.kernel import clock
from healthsvc.kernel.principal import TeamContext
from users.models import User

#: A summary's index lies at most this far from its calendar date: offsets, and nights that end on the next day.
SLACK_DAYS: Final = 8
#: A century of days from five sources; beyond it a read is refused rather than held in memory.
ROWS_MAXIMUM: Final = 200_000
_EPOCH_DAY: Final = date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class LocalSummary:
    """A summary; its start and end in floating local microseconds, and the zone in which they are told."""

    summary: Summary
    starts_local_us: int | None
    ends_local_us: int | None
    time_zone: str | None


def day_of(local: int) -> date:
    """The day in which floating local microseconds fall."""
    return _EPOCH_DAY + timedelta(days=local // DAY_US)


def summaries_between(
    team: TeamContext, user: User, resources: Sequence[str], first_on: date, last_on: date, *, rows_maximum: int
) -> list[LocalSummary]:
    """Summaries by calendar date, both ends included; one statement. Of equal days the later changed one is last."""
    found = Summary.objects.for_team(team).filter(
        user_id=user.pk, resource__in=resources, calendar_date__gte=first_on, calendar_date__lte=last_on
    )
    limit = min(rows_maximum, ROWS_MAXIMUM)
    rows = list(found.defer("raw").order_by("calendar_date", "starts_at", "updated_at", "id")[: limit + 1])
    return _localised(rows, user, limit)


def summaries_updated_between(
    team: TeamContext, user: User, resource: str, first_at: datetime, before_at: datetime, *, rows_maximum: int
) -> list[LocalSummary]:
    """Summaries by their last change, the end excluded; one statement."""
    found = Summary.objects.for_team(team).filter(
        user_id=user.pk, resource=resource, updated_at__gte=first_at, updated_at__lt=before_at
    )
    limit = min(rows_maximum, ROWS_MAXIMUM)
    return _localised(list(found.defer("raw").order_by("updated_at", "id")[: limit + 1]), user, limit)


def _localised(rows: Sequence[Summary], user: User, limit: int) -> list[LocalSummary]:
    if len(rows) > limit:
        raise ReadLimitError
    starts = local_instants(rows, [_us(row.starts_at) for row in rows], user)
    ends = local_instants(rows, [_us(row.ends_at) for row in rows], user)
    return [
        LocalSummary(row, start, end, _time_zone(row, user)) for row, start, end in zip(rows, starts, ends, strict=True)
    ]


def _us(moment: datetime | None) -> int | None:
    return None if moment is None else us_of_instant(moment)


def local_instants(rows: Sequence[Summary], at_us: Sequence[int | None], user: User) -> list[int | None]:
    """An instant a summary on the person's clock: by the summary's offset, else by the fallback zone."""
    instants = np.array([0 if at is None else at for at in at_us], np.int64)
    offsets = np.array(
        [OFFSET_UNKNOWN if row.timezone_offset_seconds is None else row.timezone_offset_seconds for row in rows],
        np.int32,
    )
    local: list[int] = local_us(instants, offsets, user.fallback_time_zone).tolist()
    return [None if at is None else one for at, one in zip(at_us, local, strict=True)]


def local_now_us(user: User) -> int:
    """What the clock of a person in the fallback zone shows, in floating microseconds."""
    now_us = np.array([us_of_instant(clock.now())], np.int64)
    return int(local_us(now_us, np.array([OFFSET_UNKNOWN], np.int32), user.fallback_time_zone)[0])


def _time_zone(row: Summary, user: User) -> str | None:
    """The source's own name of the zone, else its offset as ±HH:MM, else the fallback zone."""
    named = row.payload.get("time_zone")
    if isinstance(named, str):
        return named
    offset = row.timezone_offset_seconds
    if offset is None:
        return user.fallback_time_zone
    minutes = abs(offset) // 60
    return f"{'-' if offset < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}"


def index_us(table: str, row: LocalSummary) -> int:
    """When a row happened, as its table counts it: sleep by its end, workouts by their start, days by their date."""
    summary = row.summary
    match table:
        case "sleep":
            at = row.ends_local_us
        case "workout" | "body":
            at = row.starts_local_us
        case "profile":
            return us_of_instant(summary.updated_at)
        case "menstrual_cycle":
            return us_of_day(period_start_on(summary))
        case _:
            at = None
    return us_of_day(summary.calendar_date) if at is None else at


def period_start_on(summary: Summary) -> date:
    """The first day of a menstrual cycle."""
    text = summary.payload.get("period_start")
    return date.fromisoformat(text) if isinstance(text, str) else summary.calendar_date
