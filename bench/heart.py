"""Made-up heart rates, the same for the same person and length: a value a minute, to the millisecond, one decimal."""

from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
from numpy.typing import NDArray

from aggregation.records import DataSource, SampleColumns

SOURCE = DataSource("oura", "ring")
RESOURCE = "heartrate"

MINUTES_A_DAY = 1_440
MINUTE_US = 60_000_000
HOUR_US = 60 * MINUTE_US
DAY_US = 24 * HOUR_US
#: Every person's data end with this day.
LAST_ON = date(2024, 12, 31)
FIVE_YEARS_DAYS = 1_827
_EPOCH_ON = date(1970, 1, 1)
_SEED = 20_241_231
#: The walk is folded into this range of beats per minute.
_LOWEST, _HIGHEST = 45.0, 165.0
_STEP = 1.2


@dataclass(frozen=True, slots=True)
class HeartRate:
    """One person's samples in order of time: UTC microseconds (the local clock is UTC), beats per minute."""

    start_us: NDArray[np.int64]
    value: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.start_us)

    def columns(self, first: int, last: int) -> SampleColumns:
        """Samples `first` up to `last` as the store takes them."""
        start_us = self.start_us[first:last]
        return SampleColumns(
            start_us=start_us, value=self.value[first:last], offset_seconds=np.zeros(len(start_us), np.int32)
        )


def day_us(day: date) -> int:
    """Midnight, microseconds since 1970."""
    return (day - _EPOCH_ON).days * DAY_US


def heart_rate(person: int, days: int, *, jitter_ms: int = 60_000, last_on: date = LAST_ON) -> HeartRate:
    """A bounded random walk, one sample at a random millisecond of the first `jitter_ms` of each minute."""
    chance = np.random.default_rng([_SEED, person])
    count = days * MINUTES_A_DAY
    first_us = day_us(last_on - timedelta(days=days - 1))
    start_us = first_us + np.arange(count, dtype=np.int64) * MINUTE_US
    if jitter_ms:
        start_us += chance.integers(0, jitter_ms, count) * 1_000
    width = _HIGHEST - _LOWEST
    walk = np.cumsum(chance.normal(0, _STEP, count))
    value = np.round(_LOWEST + np.abs(walk % (2 * width) - width), 1)
    return HeartRate(start_us, value)
