"""Nights: the hypnogram of each sleep, and the values that are made of both."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from aggregation.derived.chronotype import chronotype
from aggregation.derived.hypnogram import Segment, awake_after_seconds, awakenings, hypnogram_of, long_awakenings
from aggregation.derived.sleep_score import Night, sleep_score
from aggregation.derived.versions import FIRST
from aggregation.query.reader import MACRO_PREFIX
from aggregation.query_reader.cells import field_value, number
from aggregation.query_reader.summaries import LocalSummary, local_instants
from aggregation.store.days import SECOND_US, us_of_instant
from healthsvc.kernel.typing import JSONValue
from users.models import User


@dataclass(frozen=True, slots=True)
class SleepNight:
    """A sleep; its hypnogram, with the UTC microseconds from which the segments count, where the source sent one."""

    row: LocalSummary
    segments: Sequence[Segment] = ()
    hypnogram_start_us: int = 0


Macro: TypeAlias = Callable[[Sequence[SleepNight], User], list[object]]


def nights_of(sleeps: Sequence[LocalSummary], cycles: Sequence[LocalSummary]) -> list[SleepNight]:
    """Each sleep with its hypnogram: the one that names it, else the one of its source and its very start."""
    by_name = {(one.summary.provider, str(field_value(one, "sleep_id"))): one for one in cycles}
    by_id = {(one.summary.provider, one.summary.external_id): one for one in cycles}
    by_start = {(one.summary.provider, one.summary.source_type, one.summary.starts_at): one for one in cycles}
    found = []
    for row in sleeps:
        sleep = row.summary
        cycle = (
            by_name.get((sleep.provider, str(sleep.id)))
            or by_name.get((sleep.provider, sleep.external_id))
            or by_id.get((sleep.provider, sleep.external_id))
            or by_start.get((sleep.provider, sleep.source_type, sleep.starts_at))
        )
        found.append(SleepNight(row) if cycle is None else _night(row, cycle))
    return found


def _night(row: LocalSummary, cycle: LocalSummary) -> SleepNight:
    lists = [
        _wholes(field_value(cycle, name))
        for name in ("stage_start_offset_second", "stage_end_offset_second", "stage_type")
    ]
    starts_at = cycle.summary.starts_at or row.summary.starts_at
    if starts_at is None or len({len(one) for one in lists}) > 1:
        return SleepNight(row)
    return SleepNight(row, hypnogram_of(*lists), us_of_instant(starts_at))


def _wholes(value: JSONValue) -> list[int]:
    return [int(one) for one in value if isinstance(one, int | float)] if isinstance(value, list) else []


def macro_values(column: str, nights: Sequence[SleepNight], user: User) -> list[object]:
    """The values of `macro:<name>:<version>`; KeyError for one that the schema doesn't have."""
    return _MACROS[column.removeprefix(MACRO_PREFIX)](nights, user)


def score_of(night: SleepNight) -> int | None:
    """The sleep score of a night."""
    row = night.row
    return sleep_score(
        Night(
            asleep_seconds=number(row, "total"),
            in_bed_seconds=number(row, "duration"),
            deep_seconds=number(row, "deep"),
            rem_seconds=number(row, "rem"),
            latency_seconds=number(row, "latency"),
            efficiency_percent=number(row, "efficiency"),
            long_awakenings=long_awakenings(night.segments) if night.segments else None,
        )
    )


def chronotype_of(row: LocalSummary) -> str | None:
    """The chronotype that a session speaks for."""
    if row.starts_local_us is None or row.ends_local_us is None:
        return None
    return chronotype(row.starts_local_us, row.ends_local_us)


def _asleep_at(nights: Sequence[SleepNight], user: User) -> list[object]:
    instants: list[int | None] = []
    for night in nights:
        starts_at, latency_seconds = night.row.summary.starts_at, number(night.row, "latency")
        if starts_at is None or latency_seconds is None:
            instants.append(None)
        else:
            instants.append(us_of_instant(starts_at) + round(latency_seconds * SECOND_US))
    return [*local_instants([night.row.summary for night in nights], instants, user)]


def _awake_at(nights: Sequence[SleepNight], user: User) -> list[object]:
    instants: list[int | None] = []
    for night in nights:
        after_seconds = awake_after_seconds(night.segments)
        instants.append(None if after_seconds is None else night.hypnogram_start_us + after_seconds * SECOND_US)
    return [*local_instants([night.row.summary for night in nights], instants, user)]


_MACROS: Final[Mapping[str, Macro]] = {
    f"sleep_score:{FIRST}": lambda nights, user: [score_of(night) for night in nights],
    f"chronotype:{FIRST}": lambda nights, user: [chronotype_of(night.row) for night in nights],
    f"asleep_at:{FIRST}": _asleep_at,
    f"awake_at:{FIRST}": _awake_at,
    f"awakenings:{FIRST}": lambda nights, user: [
        awakenings(night.segments) if night.segments else None for night in nights
    ],
}
