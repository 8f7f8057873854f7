"""The table of derived readiness: one row a day with a long sleep.

Recovery, stress and strain begin together, with the day that has enough nights before it; the sleep score and the
chronotype need no other night and are always there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from aggregation.derived.readiness import (
    NIGHTS_MINIMUM,
    RecoveryNight,
    baseline_of,
    recovery_score,
    recovery_zone,
    stress_score,
)
from aggregation.derived.strain import ActiveMinutes, Effort, strain_score, strain_zone
from aggregation.query.priorities import SourceOrder
from aggregation.query_reader.cells import field_value, number
from aggregation.query_reader.nights import SleepNight, chronotype_of, score_of
from aggregation.query_reader.summaries import LocalSummary

_LONG: Final = "long_sleep"


@dataclass(frozen=True, slots=True)
class ReadinessDay:
    """A row; its fields are the table's columns."""

    date: date
    chronotype: str | None
    sleep_score: int | None
    recovery_score: int | None
    recovery_zone: str | None
    stress_score: int | None
    strain_score: int | None
    strain_zone: str | None


def main_sleeps(sleeps: Sequence[LocalSummary], order: SourceOrder) -> dict[date, LocalSummary]:
    """The long sleep of each day that counts: of the most trusted source, and there the longest."""
    found: dict[date, LocalSummary] = {}
    for row in sleeps:
        day = row.summary.calendar_date
        if field_value(row, "type") == _LONG and (day not in found or _rank(row, order) < _rank(found[day], order)):
            found[day] = row
    return found


def _rank(row: LocalSummary, order: SourceOrder) -> tuple[object, ...]:
    return (*order.rank_key(row.summary.provider, row.summary.source_type), -(number(row, "total") or 0.0))


def strains_of(
    activities: Sequence[LocalSummary],
    workouts: Sequence[LocalSummary],
    order: SourceOrder,
    birth_on: date | None,
) -> dict[date, int]:
    """The strain of each day that has one. Of several sources the most trusted one of each kind counts."""
    active = {
        row.summary.calendar_date: row
        for row in sorted(activities, key=lambda row: _source(row, order.for_table("activity")), reverse=True)
    }
    efforts: dict[date, list[LocalSummary]] = {}
    for row in sorted(workouts, key=lambda row: _source(row, order.for_table("workout"))):
        listed = efforts.setdefault(row.summary.calendar_date, [])
        if not listed or _source(row, order) == _source(listed[0], order):
            listed.append(row)
    found = {}
    for day in {*active, *efforts}:
        age_years = None if birth_on is None else _age_years(birth_on, day)
        worked = [_effort(row) for row in efforts.get(day, ())]
        score = strain_score(worked, _minutes(active[day]) if day in active else None, age_years)
        if score is not None:
            found[day] = score
    return found


def _source(row: LocalSummary, order: SourceOrder) -> tuple[int, int, int, str, str]:
    return order.rank_key(row.summary.provider, row.summary.source_type)


def _age_years(birth_on: date, day: date) -> int:
    return day.year - birth_on.year - ((day.month, day.day) < (birth_on.month, birth_on.day))


def _effort(row: LocalSummary) -> Effort:
    zones = field_value(row, "hr_zones")
    seconds = number(row, "moving_time")
    starts_at, ends_at = row.summary.starts_at, row.summary.ends_at
    if seconds is None and starts_at is not None and ends_at is not None:
        seconds = (ends_at - starts_at).total_seconds()
    return Effort(
        zone_seconds=[float(one) for one in zones if isinstance(one, int | float)] if isinstance(zones, list) else [],
        active_seconds=seconds,
        heart_rate_mean_bpm=number(row, "average_hr"),
    )


def _minutes(row: LocalSummary) -> ActiveMinutes | None:
    medium, high = number(row, "medium"), number(row, "high")
    return None if medium is None and high is None else ActiveMinutes(medium or 0.0, high or 0.0)


def readiness_days(
    nights: Sequence[SleepNight], mains: Mapping[date, LocalSummary], strains: Mapping[date, int]
) -> list[ReadinessDay]:
    """The rows of `nights`; `mains` holds the main sleeps of these days and of the weeks before them."""
    recoveries = {
        day: RecoveryNight(
            asleep_seconds=number(row, "total"),
            hrv_rmssd_ms=number(row, "average_hrv"),
            resting_heart_rate_bpm=_first(number(row, "hr_resting"), number(row, "hr_lowest")),
        )
        for day, row in mains.items()
    }
    return [_day(night, recoveries, strains) for night in nights]


def _first(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)


def _day(night: SleepNight, recoveries: Mapping[date, RecoveryNight], strains: Mapping[date, int]) -> ReadinessDay:
    day = night.row.summary.calendar_date
    baseline = baseline_of(recoveries, day)
    recovery = strain = None
    if len(baseline) >= NIGHTS_MINIMUM:
        recovery = recovery_score(recoveries[day], baseline)
        strain = strains.get(day)
    return ReadinessDay(
        date=day,
        chronotype=chronotype_of(night.row),
        sleep_score=score_of(night),
        recovery_score=recovery,
        recovery_zone=None if recovery is None else recovery_zone(recovery),
        stress_score=None if recovery is None else stress_score(recovery),
        strain_score=strain,
        strain_zone=None if strain is None else strain_zone(strain),
    )
