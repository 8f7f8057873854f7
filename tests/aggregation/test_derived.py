"""Derived values against figures worked out by hand from their published definitions."""

import math
import statistics
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregation.derived.chronotype import chronotype
from aggregation.derived.hypnogram import awake_after_seconds, awakenings, hypnogram_of, long_awakenings
from aggregation.derived.readiness import (
    RecoveryNight,
    baseline_of,
    recovery_score,
    recovery_zone,
    stress_score,
)
from aggregation.derived.reliability import presence_of
from aggregation.derived.scales import scaled, whole
from aggregation.derived.sleep_score import Night, sleep_score
from aggregation.derived.strain import ActiveMinutes, Effort, strain_score, strain_zone

HOUR = 3_600
HOUR_US = HOUR * 1_000_000
DAY_ONE = date(2026, 3, 1)


def test_scores_lie_on_straight_lines_between_points_and_are_flat_beyond() -> None:
    points = ((4, 0), (6, 50), (7, 100))
    assert [scaled(points, measure) for measure in (0, 4, 5, 6, 6.5, 7, 12)] == [0, 0, 25, 50, 75, 100, 100]
    assert [whole(score) for score in (0.49, 0.5, 1.5, 2.5, 99.5)] == [0, 1, 2, 3, 100]


def test_a_night_that_meets_every_recommendation_has_100() -> None:
    night = Night(8 * HOUR, 9 * HOUR, 0.2 * 8 * HOUR, 0.25 * 8 * HOUR, 600, 88.9, 1)
    assert sleep_score(night) == 100


def test_each_part_of_the_sleep_score_has_its_weight() -> None:
    best = Night(8 * HOUR, None, 1.6 * HOUR, 2 * HOUR, 0, 90, 0)
    parts: dict[str, tuple[dict[str, Any], int]] = {
        "asleep": ({"asleep_seconds": 4 * HOUR, "deep_seconds": 0.8 * HOUR, "rem_seconds": HOUR}, 60),
        "efficiency": ({"efficiency_percent": 64}, 80),
        "deep": ({"deep_seconds": 0}, 90),
        "rem": ({"rem_seconds": 0}, 90),
        "latency": ({"latency_seconds": HOUR}, 90),
        "awakenings": ({"long_awakenings": 4}, 90),
    }
    for name, (values, score) in parts.items():
        assert (name, sleep_score(replace(best, **values))) == (name, score)


def test_what_nobody_measured_is_left_out_of_the_sleep_score() -> None:
    assert sleep_score(Night(None)) is None
    assert sleep_score(Night(0)) is None
    assert sleep_score(Night(6 * HOUR)) == 50
    # No stages are no lack of deep sleep; efficiency is made of the times: 6 of 8 hours are 75 %, 40 + 60 / 11.
    assert sleep_score(Night(6 * HOUR, 8 * HOUR, 0, 0)) == whole((40 * 50 + 20 * (40 + 60 / 11)) / 60)


seconds = st.none() | st.floats(0, 86_400)


@given(st.builds(Night, seconds, seconds, seconds, seconds, seconds, st.none() | st.floats(0, 100), st.integers(0, 90)))
def test_a_sleep_score_is_from_0_to_100(night: Night) -> None:
    score = sleep_score(night)
    assert (score is None) == (not night.asleep_seconds)
    assert score is None or 0 <= score <= 100


@pytest.mark.parametrize(
    ("start_hour", "hours", "kind"),
    [
        (23, 9, "lark"),  # 03:30
        (23.1, 9, "third"),
        (2, 8, "third"),  # 06:00
        (2.1, 8, "owl"),
        (12, 9.98, "owl"),  # 16:59
        (12, 10, "lark"),  # 17:00
    ],
)
def test_chronotype_by_the_middle_of_the_session(start_hour: float, hours: float, kind: str) -> None:
    start_us = int(start_hour * HOUR_US)
    assert chronotype(start_us, start_us + int(hours * HOUR_US)) == kind


def test_a_hypnogram_tells_when_sleep_ended_and_how_often_it_was_broken() -> None:
    # Awake, light, awake 10 min, deep, awake 2 min, unknown, awake to the end; out of order.
    starts = [600, 0, 4_000, 4_600, 8_000, 8_120, 9_000]
    ends = [4_000, 600, 4_600, 8_000, 8_120, 9_000, 9_900]
    stages = [2, 4, 4, 1, 4, -1, 4]
    segments = hypnogram_of(starts, ends, stages)
    assert [one.stage for one in segments] == [4, 2, 4, 1, 4, -1, 4]
    assert awake_after_seconds(segments) == 9_000
    assert awakenings(segments) == 3
    # The last one ends the night, the two minutes are none, and neither is the time before sleep.
    assert long_awakenings(segments) == 1
    assert (awake_after_seconds([]), awakenings([]), long_awakenings([])) == (None, 0, 0)
    assert awake_after_seconds(hypnogram_of([0], [600], [4])) is None


def usual(count: int) -> dict[date, RecoveryNight]:
    """Nights before the first of March, alternately a little below and above the mean."""
    nights = {}
    for back in range(1, count + 1):
        sign = 1 if back % 2 else -1
        hrv_ms, bpm = math.exp(4 + 0.1 * sign), 55.0 + 2.0 * sign
        nights[DAY_ONE - timedelta(days=back)] = RecoveryNight(8 * HOUR, hrv_ms, bpm)
    return nights


def test_the_baseline_is_the_three_weeks_before_and_begins_with_seven_nights() -> None:
    nights = usual(30)
    assert len(baseline_of(nights, DAY_ONE)) == 21
    tonight = RecoveryNight(8 * HOUR, math.exp(4), 55.0)
    assert recovery_score(tonight, baseline_of(usual(6), DAY_ONE)) is None
    assert recovery_score(tonight, baseline_of(usual(20), DAY_ONE)) == 50
    assert baseline_of(usual(3), DAY_ONE + timedelta(days=19)) == list(reversed(usual(2).values()))


def test_recovery_is_the_logistic_of_distances_from_the_baseline() -> None:
    baseline = baseline_of(usual(20), DAY_ONE)
    hrv_sd = statistics.stdev(math.log(one.hrv_rmssd_ms or 0) for one in baseline)
    rate_sd = statistics.stdev(one.resting_heart_rate_bpm or 0 for one in baseline)
    tonight = RecoveryNight(7 * HOUR, math.exp(4.15), 57.0)
    x = 0.15 / hrv_sd - 0.5 * 2.0 / rate_sd - 0.5
    assert recovery_score(tonight, baseline) == whole(100 / (1 + math.exp(-x))) == 62
    assert recovery_score(RecoveryNight(7 * HOUR, math.exp(4.15), None), baseline) == whole(
        100 / (1 + math.exp(0.5 - 0.15 / hrv_sd))
    )
    assert recovery_score(RecoveryNight(7 * HOUR, None, None), baseline) is None
    assert recovery_score(RecoveryNight(None, math.exp(4.15), 57.0), baseline) is None


def test_a_steady_baseline_is_not_judged_by_rounding_and_distances_are_held() -> None:
    steady = [RecoveryNight(8 * HOUR, 60.0, 50.0)] * 7
    assert recovery_score(RecoveryNight(8 * HOUR, None, 51.0), steady) == whole(100 / (1 + math.exp(0.5)))
    far, farther = RecoveryNight(8 * HOUR, None, 53.0), RecoveryNight(8 * HOUR, None, 90.0)
    assert recovery_score(far, steady) == recovery_score(farther, steady) == whole(100 / (1 + math.exp(1.5)))


def test_zones_of_recovery_and_strain() -> None:
    assert [recovery_zone(score) for score in (0, 33, 34, 66, 67, 100)] == [
        "Red", "Red", "Amber", "Amber", "Green", "Green",
    ]  # fmt: skip
    assert [strain_zone(score) for score in (0, 6, 7, 13, 14, 17, 18, 21)] == [
        "Low", "Low", "Moderate", "Moderate", "High", "High", "Very High", "Very High",
    ]  # fmt: skip
    assert stress_score(62) == 38


def test_strain_of_zones_heart_rates_and_active_minutes() -> None:
    half_an_hour_in_the_second = Effort([0, 0, 1_800, 0, 0, 0])
    an_hour_in_the_fourth = Effort([600, 0, 0, 0, 3_600, 0])
    assert strain_score([half_an_hour_in_the_second], None, None) == 7
    assert strain_score([an_hour_in_the_fourth], None, None) == 14
    assert strain_score([half_an_hour_in_the_second, an_hour_in_the_fourth], None, None) == 15
    assert strain_score([Effort([0, 0, 0, 0, 0, 86_400])], None, None) == 21
    # 40 years: 180 bpm at most; 150 are 83 %, the fourth zone.
    by_heart_rate = Effort((), 3_600, 150)
    assert strain_score([by_heart_rate], None, 40) == 14
    assert strain_score([by_heart_rate], None, None) is None
    assert strain_score([Effort((), 3_600, 60)], None, 40) == 0
    assert strain_score([], ActiveMinutes(30, 0), None) == 7
    assert strain_score([half_an_hour_in_the_second], ActiveMinutes(0, 60), None) == 14
    assert strain_score([], None, None) is None


def test_presence_of_a_source() -> None:
    days = [date(2026, 3, day) for day in (3, 4, 8, 20, 20, 29)] + [date(2026, 2, 1), date(2026, 5, 1)]
    presence = presence_of(days, date(2026, 3, 1), date(2026, 3, 30))
    assert (presence.day_count, presence.coverage) == (5, 5 / 30)
    assert (presence.gap_count, presence.gap_maximum_day, presence.gap_mean_day) == (3, 11, (3 + 11 + 8) / 3)
    assert presence.gap_standard_deviation_day == statistics.stdev([3, 11, 8])
    assert (presence.recency_day, presence.status) == (1, "sparse")


@pytest.mark.parametrize(
    ("present", "status"),
    [
        (range(1, 24), "stale"),  # the last one seven days before the end
        (range(1, 25), "reliable"),
        (range(21, 29), "reliable"),  # 8 of the 10 days since the first one
        (range(1, 31, 2), "intermittent"),
        (range(1, 31, 4), "sparse"),
    ],
)
def test_status_of_a_source(present: range, status: str) -> None:
    days = [date(2026, 3, day) for day in present]
    found = presence_of(days, date(2026, 3, 1), date(2026, 3, 30))
    assert found.status == status


def test_one_day_has_no_gaps() -> None:
    presence = presence_of([DAY_ONE], DAY_ONE, DAY_ONE)
    assert (presence.gap_count, presence.gap_maximum_day) == (0, 0)
    assert (presence.gap_mean_day, presence.gap_standard_deviation_day) == (None, None)
    assert (presence.coverage, presence.recency_day, presence.status) == (1.0, 0, "reliable")
