"""The measurements: made-up data are the same every time, wrong answers are found, and a small run goes through."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from tests.databases import ROOT

with pytest.MonkeyPatch.context() as environment:
    # Importing the package sets these where they are not set, and other tests' programs would inherit them.
    environment.setenv("RATE_LIMIT_REQUESTS", "0")
    environment.setenv("LOG_LEVEL", "ERROR")
    from bench.answers import WINDOWS, Hours, WrongAnswerError, agreed, hours_by_numpy
    from bench.heart import DAY_US, HOUR_US, MINUTE_US, HeartRate, heart_rate
    from bench.options import Options, options_read
    from bench.targets import Targets


def hours(*values: float) -> Hours:
    """An answer of one sample an hour."""
    column = np.array(values, np.float64)
    return Hours(np.arange(len(values), dtype=np.int64) * HOUR_US, column, column, column, column)


def test_the_same_person_has_the_same_heart() -> None:
    first, second, other = heart_rate(0, 2), heart_rate(0, 2), heart_rate(1, 2)
    assert np.array_equal(first.start_us, second.start_us)
    assert np.array_equal(first.value, second.value)
    assert not np.array_equal(first.value, other.value)


def test_a_sample_falls_into_each_minute_on_a_millisecond_with_one_decimal() -> None:
    rate = heart_rate(0, 2)
    assert np.array_equal(rate.start_us // MINUTE_US, rate.start_us[0] // MINUTE_US + np.arange(2_880))
    assert not (rate.start_us % 1_000).any()
    assert np.array_equal(np.round(rate.value, 1), rate.value)
    assert (rate.value.min() >= 45, rate.value.max() <= 165) == (True, True)


def test_the_last_day_is_the_queries_day() -> None:
    first_us, end_us = WINDOWS[0].bounds_us
    assert end_us - first_us == DAY_US
    assert (heart_rate(0, 1).start_us // DAY_US * DAY_US == first_us).all()


def test_numpy_reduces_by_hour() -> None:
    rate = HeartRate(np.array([1, 2, HOUR_US, 3 * HOUR_US], np.int64), np.array([3.0, 1.0, 5.0, 7.0]))
    found = hours_by_numpy(rate, (0, 3 * HOUR_US))
    assert found.bucket_us.tolist() == [0, HOUR_US]
    assert found.mean.tolist() == [2.0, 5.0]
    assert found.low.tolist() == [1.0, 5.0]
    assert found.high.tolist() == [3.0, 5.0]
    assert found.newest.tolist() == [1.0, 5.0]


def test_the_same_answer_agrees() -> None:
    agreed("a method", hours(1, 2), hours(1, 2))


@pytest.mark.parametrize("name", ["bucket_us", "mean", "low", "high", "newest"])
def test_an_answer_that_differs_in_one_column_is_wrong(name: str) -> None:
    good = hours(1, 2)
    bad = replace(good, **{name: getattr(good, name) + 1})
    with pytest.raises(WrongAnswerError, match="a method answers 2 hours, numpy 2"):
        agreed("a method", bad, good)


def test_an_answer_of_fewer_hours_is_wrong() -> None:
    with pytest.raises(WrongAnswerError, match="a method answers 1 hours, numpy 2"):
        agreed("a method", hours(1), hours(1, 2))


def test_options_come_from_the_command_line_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_SAMPLES", "5")
    monkeypatch.setenv("BENCH_ROUNDS", "3")
    assert options_read(["queries"], ["--rounds", "2", "queries"]) == Options(5, 8_000_000, 2, ("queries",))


def test_a_missed_target_is_told_and_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    targets = Targets()
    targets.at_most("bytes", 7, 6)
    targets.at_least("speed", 9, 8)
    targets.told()
    told = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in told if line.strip()] == [
        ["Targets"],
        ["MISSED", "bytes"],
        ["reached", "speed"],
    ]


@pytest.mark.slow
def test_a_small_run_delivers_everything_once() -> None:
    sizes = ["--deliveries", "50", "--delivery-seconds", "1", "--rounds", "1"]
    command = [sys.executable, "-m", "bench.run", "deliveries", *sizes]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-2_000:]
    for heading in (
        "Deliveries, plain: 50 to 50 endpoints",
        "Deliveries, TLS, kept alive: 50 to 50 endpoints",
        "Commit to first attempt, idle",
        "Commit to first attempt, 500 events/s",
        "99 endpoints while one hangs for 15 s",
        "Targets",
    ):
        assert heading in done.stdout


@pytest.mark.slow
def test_a_small_run_answers_alike_everywhere() -> None:
    command = [sys.executable, "-m", "bench.run", "sizes", "queries", "output"]
    sizes = ["--samples", "300000", "--row-samples", "100000", "--rounds", "1"]
    done = subprocess.run([*command, *sizes], cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-2_000:]
    for heading in (
        "Bytes a sample",
        "1 day: 1,440 samples, 24 hours",
        "30 days: 43,200 samples, 720 hours",
        "Targets",
    ):
        assert heading in done.stdout


@pytest.mark.slow
def test_a_small_run_lists_and_erases_rightly() -> None:
    sizes = ["--people", "1000", "--erased-samples", "20000", "--erased-events", "40", "--rounds", "1"]
    command = [sys.executable, "-m", "bench.run", "people", "erasure", *sizes]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-2_000:]
    for heading in ("Users' API, a team of 1,000", "create one", "Erasure: 20,000 samples, 40 events", "Targets"):
        assert heading in done.stdout
