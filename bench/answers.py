"""What every method must answer alike: hourly mean, minimum, maximum and newest value."""

from dataclasses import dataclass
from datetime import timedelta

import numpy as np
from numpy.typing import NDArray

from bench.heart import DAY_US, HOUR_US, LAST_ON, HeartRate, day_us


class WrongAnswerError(Exception):
    """Two methods disagree, so that their times mean nothing."""


@dataclass(frozen=True, slots=True)
class Window:
    """A timeframe of the query that ends with the last day of the data."""

    name: str
    unit: str
    number: int
    days: int

    @property
    def bounds_us(self) -> tuple[int, int]:
        """Half-open, microseconds since 1970."""
        return day_us(LAST_ON - timedelta(days=self.days - 1)), day_us(LAST_ON) + DAY_US

    def body(self) -> dict[str, object]:
        """The query as it is sent to the service."""
        column = {"heartrate": "value"}
        return {
            "timeframe": {
                "type": "relative",
                "anchor": LAST_ON.isoformat(),
                "past": {"unit": self.unit, "value": self.number},
            },
            "queries": [
                {
                    "select": [{"func": name, "arg": column} for name in ("mean", "min", "max", "newest")],
                    "group_by": [{"arg": {"index": "heartrate"}, "date_trunc": {"unit": "hour", "value": 1}}],
                }
            ],
        }


#: 2024 is a leap year, and 2020 as well.
WINDOWS = (
    Window("1 day", "day", 1, 1),
    Window("30 days", "day", 30, 30),
    Window("1 year", "year", 1, 366),
    Window("5 years", "year", 5, 1_827),
)


@dataclass(frozen=True, slots=True)
class Hours:
    """One value an hour with samples, in order of time; `bucket_us` is the hour's start."""

    bucket_us: NDArray[np.int64]
    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    newest: NDArray[np.float64]


def hours_by_numpy(ready: HeartRate, bounds_us: tuple[int, int]) -> Hours:
    """The floor: the arrays are in memory, in order of time and decoded."""
    first, last = np.searchsorted(ready.start_us, bounds_us)
    value = ready.value[first:last]
    hour = ready.start_us[first:last] // HOUR_US
    starts = np.concatenate(([0], np.flatnonzero(hour[1:] != hour[:-1]) + 1))
    ends = np.append(starts[1:], len(value))
    return Hours(
        hour[starts] * HOUR_US,
        np.add.reduceat(value, starts) / (ends - starts),
        np.minimum.reduceat(value, starts),
        np.maximum.reduceat(value, starts),
        value[ends - 1],
    )


def agreed(method: str, found: Hours, expected: Hours) -> None:
    """Raise where an answer is another one: same hours, same extremes to the bit, same means but for rounding."""
    same = (
        np.array_equal(found.bucket_us, expected.bucket_us)
        and np.array_equal(found.low, expected.low)
        and np.array_equal(found.high, expected.high)
        and np.array_equal(found.newest, expected.newest)
        and np.allclose(found.mean, expected.mean, rtol=1e-12, atol=0)
        and bool(np.isclose(found.mean.sum(), expected.mean.sum(), rtol=1e-12))
    )
    if not same:
        raise WrongAnswerError(f"{method} answers {len(found.bucket_us)} hours, numpy {len(expected.bucket_us)}")
