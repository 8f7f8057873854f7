"""Readiness of a day: recovery and stress from the night before it against the weeks before that.

Version 2026-11. Recovery is 100 / (1 + e^-x), a whole number, with

    x = 1.0 z(HRV) - 0.5 z(resting heart rate) + 0.5 (hours asleep - 8)

z is the distance from the mean of the baseline in its standard deviations (n - 1), held to -3 … 3; of HRV the natural
logarithm is taken. A person's usual night with 8 hours asleep is 50. The baseline are the nights of the 21 days
before; fewer than 7 with a value are none. The deviation counts as at least 0.05 of ln(RMSSD) and 1 bpm, so that steady
people aren't judged by a device's rounding. Hours count from 4 to 10. Without a baseline of either HRV or
resting heart rate there is no recovery; with one of them, that one tells. Stress is 100 - recovery.

Sources: window, minimum, inputs, logistic form and zones, the API's derived readiness. ln(RMSSD) against one's own
rolling baseline: D. Plews et al., "Training adaptation and heart rate variability in elite endurance athletes", Sports
Medicine 43 (2013) 773; M. Buchheit, "Monitoring training status with HR measures", Frontiers in Physiology 5 (2014) 73.
The weights are ours.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from aggregation.derived.scales import whole

BASELINE_DAYS: Final = 21
NIGHTS_MINIMUM: Final = 7
_LN_HRV_DEVIATION_MINIMUM: Final = 0.05
_HEART_RATE_DEVIATION_MINIMUM_BPM: Final = 1.0
_Z_LIMIT: Final = 3.0
_HRV_WEIGHT: Final = 1.0
_HEART_RATE_WEIGHT: Final = -0.5
_HOUR_WEIGHT: Final = 0.5
_HOURS_WANTED: Final = 8.0
_HOURS_COUNTED: Final = (4.0, 10.0)


@dataclass(frozen=True, slots=True)
class RecoveryNight:
    """What recovery is made of: the main sleep of a day; None where nobody measured."""

    asleep_seconds: float | None
    hrv_rmssd_ms: float | None
    resting_heart_rate_bpm: float | None


def baseline_of(nights: Mapping[date, RecoveryNight], day: date) -> list[RecoveryNight]:
    """The nights of the 21 days before a day."""
    days = (day - timedelta(days=back) for back in range(BASELINE_DAYS, 0, -1))
    return [nights[one] for one in days if one in nights]


def recovery_score(night: RecoveryNight, baseline: Sequence[RecoveryNight]) -> int | None:
    """0 to 100; None where a night or its baseline lacks what is needed."""
    if night.asleep_seconds is None:
        return None
    hrv = _z(_ln(night.hrv_rmssd_ms), [_ln(one.hrv_rmssd_ms) for one in baseline], _LN_HRV_DEVIATION_MINIMUM)
    rates = [one.resting_heart_rate_bpm for one in baseline]
    rate = _z(night.resting_heart_rate_bpm, rates, _HEART_RATE_DEVIATION_MINIMUM_BPM)
    if hrv is None and rate is None:
        return None
    least, most = _HOURS_COUNTED
    hours = min(max(night.asleep_seconds / 3_600, least), most)
    x = _HRV_WEIGHT * (hrv or 0.0) + _HEART_RATE_WEIGHT * (rate or 0.0) + _HOUR_WEIGHT * (hours - _HOURS_WANTED)
    return whole(100 / (1 + math.exp(-x)))


def recovery_zone(score: int) -> str:
    """Red 0 to 33, Amber 34 to 66, Green 67 to 100."""
    return "Red" if score <= 33 else "Amber" if score <= 66 else "Green"


def stress_score(recovery: int) -> int:
    """What recovery lacks."""
    return 100 - recovery


def _ln(value: float | None) -> float | None:
    return math.log(value) if value else None


def _z(value: float | None, baseline: Sequence[float | None], deviation_minimum: float) -> float | None:
    known = [one for one in baseline if one is not None]
    if value is None or len(known) < NIGHTS_MINIMUM:
        return None
    distance = (value - statistics.fmean(known)) / max(statistics.stdev(known), deviation_minimum)
    return min(max(distance, -_Z_LIMIT), _Z_LIMIT)
