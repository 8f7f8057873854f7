"""Buckets and periods against Python's own calendar, over many times at once."""

from datetime import datetime, timedelta

import numpy as np
import pytest

from aggregation.query.buckets import bucket_runs, bucket_starts, shifted
from aggregation.query.nodes import Period, Unit
from tests.aggregation.query import naive_time
from tests.aggregation.query.memory import microseconds
from tests.aggregation.query.naive_time import midnight

PERIODS = [
    ("minute", 7), ("minute", 15), ("hour", 1), ("hour", 5), ("day", 1), ("day", 30), ("week", 1), ("week", 2),
    ("month", 1), ("month", 4), ("year", 1), ("year", 3),
]  # fmt: skip


@pytest.mark.parametrize(("unit", "value"), PERIODS)
@pytest.mark.parametrize(("step_seconds", "count"), [(1, 2_000), (97, 3_000), (86_399, 900), (3_000_000, 40)])
def test_runs_of_buckets_are_those_of_one_time_after_the_other(
    unit: str, value: int, step_seconds: int, count: int
) -> None:
    """Dense and sparse, so that edges are looked for and numbers are compared; with a gap of half a year."""
    begin = midnight(2024, 2, 27)
    times = [begin + timedelta(seconds=step_seconds * place) for place in range(count)]
    times += [time + timedelta(days=180) for time in times]
    times.sort()
    expected: list[tuple[int, datetime]] = []
    for place, time in enumerate(times):
        start = naive_time.bucket(time, unit, value)
        if not expected or expected[-1][1] != start:
            expected.append((place, start))
    period = Period(value, Unit(unit))
    starts, numbers = bucket_runs(np.array([microseconds(time) for time in times], np.int64), period)
    found = list(zip(starts.tolist(), bucket_starts(numbers, period).tolist(), strict=True))
    assert found == [(place, microseconds(start)) for place, start in expected]


@pytest.mark.parametrize(("unit", "value"), PERIODS)
@pytest.mark.parametrize("sign", [1, -1])
def test_a_period_later_and_earlier(unit: str, value: int, sign: int) -> None:
    times = [midnight(2023, 12, 25) + timedelta(hours=17 * place) for place in range(700)]
    moved = shifted(np.array([microseconds(time) for time in times]), Period(value, Unit(unit)), back=sign < 0)
    expected = [naive_time.shifted(time, {"unit": unit, "value": value}, sign) for time in times]
    assert moved.tolist() == [microseconds(time) for time in expected]
