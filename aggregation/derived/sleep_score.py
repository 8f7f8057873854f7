"""The sleep score: how near a night comes to what is recommended for adults, 0 to 100.

A weighted mean of up to six parts, each 0 to 100 by straight lines between these points:

| part | weight | points |
|---|---|---|
| hours asleep | 40 | 4 → 0, 6 → 50, 7 to 9 → 100, 10 → 50, 12 → 0 |
| efficiency, percent | 20 | 64 → 0, 74 → 40, 85 → 100 |
| deep sleep, percent of sleep | 10 | 0 → 0, 5 → 25, 16 → 100 |
| REM sleep, percent of sleep | 10 | 0 → 0, 21 to 30 → 100, 41 → 0 |
| latency, minutes | 10 | 30 → 100, 60 → 0 |
| awakenings of more than five minutes | 10 | 1 → 100, 4 → 0 |

A part nobody measured is left out and the others keep their proportion; without hours asleep there is no score. Deep
and REM sleep are left out where both are zero: the device tells no stages. Efficiency is made of the times where it is
not given.

Sources: hours, M. Hirshkowitz et al., "National Sleep Foundation's updated sleep duration recommendations", Sleep
Health 1 (2015) 233: 7 to 9 hours recommended, 6 and 10 may be appropriate. The rest, M. Ohayon et al., "National Sleep
Foundation's sleep quality recommendations", Sleep Health 3 (2017) 6: good efficiency from 85 %, poor to 64 or 74 %;
deep sleep good from 16 %, poor to 5 %; REM sleep good at 21 to 30 %, poor from 41 %; latency good to 30 minutes, poor
beyond 45 to 60; awakenings of more than five minutes good to one, poor from four. The weights are ours.
"""

from dataclasses import dataclass
from typing import Final

from aggregation.derived.scales import Points, scaled, whole

_HOURS: Final[Points] = ((4, 0), (6, 50), (7, 100), (9, 100), (10, 50), (12, 0))
_EFFICIENCY: Final[Points] = ((64, 0), (74, 40), (85, 100))
_DEEP: Final[Points] = ((0, 0), (5, 25), (16, 100))
_REM: Final[Points] = ((0, 0), (21, 100), (30, 100), (41, 0))
_LATENCY: Final[Points] = ((30, 100), (60, 0))
_AWAKENINGS: Final[Points] = ((1, 100), (4, 0))


@dataclass(frozen=True, slots=True)
class Night:
    """What a device tells of a sleep; None where it doesn't."""

    asleep_seconds: float | None
    in_bed_seconds: float | None = None
    deep_seconds: float | None = None
    rem_seconds: float | None = None
    latency_seconds: float | None = None
    efficiency_percent: float | None = None
    long_awakenings: int | None = None


def sleep_score(night: Night) -> int | None:
    """0 to 100; None where nobody measured sleep."""
    asleep = night.asleep_seconds
    if not asleep:
        return None
    staged = bool(night.deep_seconds or night.rem_seconds)
    parts: list[tuple[float, Points, float | None]] = [
        (40, _HOURS, asleep / 3_600),
        (20, _EFFICIENCY, _efficiency(night, asleep)),
        (10, _DEEP, _share(night.deep_seconds, asleep) if staged else None),
        (10, _REM, _share(night.rem_seconds, asleep) if staged else None),
        (10, _LATENCY, None if night.latency_seconds is None else night.latency_seconds / 60),
        (10, _AWAKENINGS, night.long_awakenings),
    ]
    known = [(weight, scaled(points, measure)) for weight, points, measure in parts if measure is not None]
    return whole(sum(weight * score for weight, score in known) / sum(weight for weight, _ in known))


def _efficiency(night: Night, asleep_seconds: float) -> float | None:
    if night.efficiency_percent is not None or not night.in_bed_seconds:
        return night.efficiency_percent
    return 100 * asleep_seconds / night.in_bed_seconds


def _share(part_seconds: float | None, asleep_seconds: float) -> float | None:
    return None if part_seconds is None else 100 * part_seconds / asleep_seconds
