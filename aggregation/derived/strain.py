"""Strain of a day: how hard it was for the heart, 0 to 21, on a logarithmic scale.

Version 2026-11. The load of a workout is Edwards': minutes from 50 to 60 % of the maximum heart rate count once, to
70 % twice, to 80 % three times, to 90 % four times, above five times; below 50 % not at all. Where a workout has no
minutes by zone, all of it counts by its average heart rate against a maximum of 208 - 0.7 x age. The load of a day
is the sum of its workouts, or that of the day's activity where it is larger: moderate minutes twice, vigorous ones
four times. A day that has neither has no strain. Strain is 21 ln(1 + load / 20) / ln(51), a whole number, at most 21:
half an hour in the second zone (60) is 7, an hour in the fourth (240) is 14, four hours there are 21.

Sources: zones of the score, the API's derived readiness. Load: S. Edwards, "The Heart Rate Monitor Book" (1993).
Maximum heart rate: H. Tanaka et al., Journal of the American College of Cardiology 37 (2001) 153. Moderate (64 to 76 %
of the maximum) and vigorous (77 to 95 %): C. Garber et al., ACSM position stand, Medicine & Science in Sports &
Exercise 43 (2011) 1334. The scale is ours.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from aggregation.derived.scales import whole

STRAIN_MAXIMUM: Final = 21
_LOAD_UNIT: Final = 20.0
_LOAD_OF_MAXIMUM: Final = 1_000.0
#: By the API's six zones: below 50 %, then every 10 % of the maximum heart rate, above 90 %.
_ZONE_WEIGHTS: Final = (0, 1, 2, 3, 4, 5)
_MODERATE_WEIGHT: Final = 2
_VIGOROUS_WEIGHT: Final = 4


@dataclass(frozen=True, slots=True)
class Effort:
    """A workout: seconds by heart-rate zone where the device tells them, else its length and average heart rate."""

    zone_seconds: Sequence[float] = ()
    active_seconds: float | None = None
    heart_rate_mean_bpm: float | None = None


@dataclass(frozen=True, slots=True)
class ActiveMinutes:
    """A day's activity by intensity."""

    medium_minutes: float
    high_minutes: float


def strain_score(efforts: Sequence[Effort], activity: ActiveMinutes | None, age_years: int | None) -> int | None:
    """0 to 21; None where neither a workout nor the day's activity tells a load."""
    loads = [load for effort in efforts if (load := _load(effort, age_years)) is not None]
    daily: list[float] = [sum(loads)] if loads else []
    if activity is not None:
        daily.append(_MODERATE_WEIGHT * activity.medium_minutes + _VIGOROUS_WEIGHT * activity.high_minutes)
    if not daily:
        return None
    strain = STRAIN_MAXIMUM * math.log1p(max(daily) / _LOAD_UNIT) / math.log1p(_LOAD_OF_MAXIMUM / _LOAD_UNIT)
    return min(whole(strain), STRAIN_MAXIMUM)


def strain_zone(score: int) -> str:
    """Low 0 to 6, Moderate 7 to 13, High 14 to 17, Very High 18 to 21."""
    if score <= 6:
        return "Low"
    if score <= 13:
        return "Moderate"
    return "High" if score <= 17 else "Very High"


def _load(effort: Effort, age_years: int | None) -> float | None:
    if any(effort.zone_seconds):
        return sum(weight * seconds / 60 for weight, seconds in zip(_ZONE_WEIGHTS, effort.zone_seconds, strict=False))
    if effort.active_seconds is None or effort.heart_rate_mean_bpm is None or age_years is None:
        return None
    share_percent = 100 * effort.heart_rate_mean_bpm / (208 - 0.7 * age_years)
    zone = min(max(int(share_percent // 10) - 4, 0), len(_ZONE_WEIGHTS) - 1)
    return _ZONE_WEIGHTS[zone] * effort.active_seconds / 60
