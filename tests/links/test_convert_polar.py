"""Polar's documents become ours value by value, and what is malformed is refused with a reason."""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import orjson
import pytest

from aggregation.catalogue import SERIES_BY_SLUG
from aggregation.records import DataSource, Refusal, SampleColumns, StreamRecord, SummaryRecord
from aggregation.sports import SPORT_BY_SLUG
from aggregation.store.checking import Ingestion, sample_reasons, summary_reason
from healthsvc.kernel.typing import JSONValue
from links.connectors.payload import Series
from links.connectors.polar.catalogue import _OTHER_WORDS, _SAME, sport_of
from links.connectors.polar.clock import KnownOffset, known_offsets, placed
from links.connectors.polar.convert import (
    activity_from_summary,
    by_date,
    has_stages,
    sleep_cycle_from_night,
    sleep_from_night,
    workout_from_exercise,
)
from links.connectors.polar.samples import (
    heartrate_from_days,
    series_from_recharges,
    steps_from_summaries,
    stream_from_exercise,
)
from tests.links.payloads import DATA, changed, load, mapping, rows, without

WATCH = DataSource(provider="polar", type="watch")
EEST_SECONDS, EET_SECONDS = 3 * 3600, 2 * 3600

NIGHT, SHORT = rows("polar/nights.json", "nights")
RECHARGE, LONE = rows("polar/recharges.json", "recharges")
RECHARGES = by_date([RECHARGE, LONE])
BEATS = load("polar/heart_rate.json")
FULL, PLAIN = orjson.loads((DATA / "polar/activities.json").read_bytes())
RUN, HAND = orjson.loads((DATA / "polar/exercises.json").read_bytes())
COURSE = load("polar/exercise_run.json")
OFFSETS = known_offsets([NIGHT, SHORT], [RUN])


def record(converted: SummaryRecord | Refusal) -> SummaryRecord:
    assert isinstance(converted, SummaryRecord), converted
    assert summary_reason(converted, Ingestion()) is None
    return converted


def reason(converted: object) -> str:
    assert isinstance(converted, Refusal), converted
    return converted.reason


def samples(series: Series) -> SampleColumns:
    (batch,) = series.batches
    assert batch.source == WATCH
    assert sample_reasons(SERIES_BY_SLUG[batch.resource], batch.samples, Ingestion()) == []
    return batch.samples


def at_us(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1_000_000)


def refused(series: Series) -> str:
    assert series.batches == ()
    (refusal,) = series.refusals
    return refusal.reason


def test_a_night_with_its_recharge() -> None:
    night = record(sleep_from_night(NIGHT, recharges=RECHARGES))
    assert (night.resource, night.source, night.external_id) == ("sleep", WATCH, "2026-10-25")
    assert night.calendar_date == date(2026, 10, 25)
    assert night.starts_at == datetime(2026, 10, 24, 20, 50, 12, tzinfo=UTC)
    assert night.ends_at == datetime(2026, 10, 25, 4, 58, 42, tzinfo=UTC)
    assert night.timezone_offset_seconds == EET_SECONDS
    assert dict(night.fields) == {
        "bedtime_start": "2026-10-24T20:50:12+00:00",
        "bedtime_stop": "2026-10-25T04:58:42+00:00",
        "timezone_offset": EET_SECONDS,
        "type": "long_sleep",
        "duration": 29_310,
        "total": 27_900,
        "awake": 1_410,
        "light": 15_900,
        "rem": 6_300,
        "deep": 5_100,
        "score": 78,
        "hr_lowest": 51,
        "hr_average": 56,
        "average_hrv": 48.0,
        "respiratory_rate": 14.1,
    }
    assert set(mapping(NIGHT)) - set(night.raw or {}) == {"hypnogram", "heart_rate_samples"}


def test_a_short_night_of_an_older_watch() -> None:
    night = record(sleep_from_night(SHORT, recharges=RECHARGES))
    assert night.fields["type"] == "short_sleep"
    for name in ("score", "hr_lowest", "hr_average"):
        assert night.fields[name] is None
    assert (night.fields["total"], night.fields["duration"]) == (0, 9_000)
    assert "average_hrv" not in night.fields
    assert (has_stages(NIGHT), has_stages(SHORT), has_stages("night")) == (True, False, False)


@pytest.mark.parametrize("name", ["polar_user", "device_id", "continuity", "sleep_score", "light_sleep", "hypnogram"])
def test_what_a_night_may_lack(name: str) -> None:
    record(sleep_from_night(without(NIGHT, name)))


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ("night", "not_an_object"),
        (without(NIGHT, "date"), "missing_field:date"),
        (changed(NIGHT, date="yesterday"), "bad_time:date"),
        (without(NIGHT, "sleep_start_time"), "missing_field:sleep_start_time"),
        (changed(NIGHT, sleep_start_time="2026-10-24T23:50:12"), "bad_time:sleep_start_time"),
        (changed(NIGHT, sleep_end_time="2026-10-24T20:50:12+02:00"), "ends_before_start"),
        (changed(NIGHT, light_sleep="long"), "wrong_type:light_sleep"),
        (changed(NIGHT, heart_rate_samples={"00:00": "fast"}), "wrong_type:00:00"),
    ],
)
def test_nights_that_say_nothing(payload: JSONValue, expected: str) -> None:
    assert reason(sleep_from_night(payload)) == expected


def test_the_stages_of_a_night() -> None:
    cycle = record(sleep_cycle_from_night(NIGHT))
    assert (cycle.external_id, cycle.fields["sleep_external_id"]) == ("2026-10-25", "2026-10-25")
    # The first minute is that in which the night began; the two kinds of light sleep are one stretch.
    minutes = [0, 20, 55, 140, 170, 180, 195]
    assert cycle.fields["stage_start_offset_second"] == [0, *(one * 60 - 12 for one in minutes[1:])]
    assert cycle.fields["stage_end_offset_second"] == [*(one * 60 - 12 for one in minutes[1:]), 29_310]
    assert cycle.fields["stage_type"] == [4, 2, 1, 3, -1, 4, 2]
    assert (cycle.fields["session_start"], cycle.fields["session_end"]) == (
        "2026-10-24T20:50:12+00:00",
        "2026-10-25T04:58:42+00:00",
    )


@pytest.mark.parametrize(
    ("hypnogram", "expected"),
    [
        (None, "not_an_object"),
        ({}, "missing_field:hypnogram"),
        ({"late": 1}, "bad_time:hypnogram"),
        ({"00:10": "deep"}, "wrong_type:00:10"),
        # Later than the night's end.
        ({"12:00": 1}, "missing_field:hypnogram"),
    ],
)
def test_stages_that_say_nothing(hypnogram: JSONValue, expected: str) -> None:
    assert reason(sleep_cycle_from_night(changed(NIGHT, hypnogram=hypnogram))) == expected


def test_a_stage_that_nobody_knows_is_unknown() -> None:
    cycle = record(sleep_cycle_from_night(changed(NIGHT, hypnogram={"00:10": 9})))
    assert cycle.fields["stage_type"] == [-1]


def test_a_day() -> None:
    day = record(activity_from_summary(FULL))
    assert (day.resource, day.external_id, day.calendar_date) == ("activity", "2026-10-26", date(2026, 10, 26))
    assert dict(day.fields) == {
        "calories_total": 2500.0,
        "calories_active": 900.0,
        "steps": 8823,
        "distance": 6590.53,
        # From 07:15:00 to 08:45:30, and from 23:29:59 to the last that was told.
        "low": 120.5,
        "medium": 30.0,
        "high": 45.0,
    }
    assert "samples" not in (day.raw or {})


def test_a_day_without_samples() -> None:
    day = record(activity_from_summary(PLAIN))
    assert day.calendar_date == date(2026, 10, 27)
    assert dict(day.fields) == {
        "calories_total": 1900.0,
        "calories_active": 150.0,
        "steps": 1200,
        "distance": 800.5,
    }
    bare = record(activity_from_summary({"start_time": "2026-10-27T08:15:30"}))
    assert set(bare.fields.values()) == {None}


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ([], "not_an_object"),
        (without(PLAIN, "start_time"), "missing_field:start_time"),
        (changed(PLAIN, start_time="dawn"), "bad_time:start_time"),
        (changed(PLAIN, steps="many"), "wrong_type:steps"),
        (changed(FULL, samples={"date": 7}), "wrong_type:date"),
        (changed(FULL, samples={"activity_zones": {"samples": [{"zone": "LIGHT"}]}}), "missing_field:timestamp"),
    ],
)
def test_days_that_say_nothing(payload: JSONValue, expected: str) -> None:
    assert reason(activity_from_summary(payload)) == expected


def test_a_run() -> None:
    run = record(workout_from_exercise(RUN))
    assert (run.resource, run.source, run.external_id) == ("workouts", WATCH, "2AC312F")
    assert run.calendar_date == date(2026, 10, 25)
    assert dict(run.fields) == {
        "time_start": "2026-10-25T15:00:02+00:00",
        "time_end": "2026-10-25T15:44:32.500000+00:00",
        "timezone_offset": EET_SECONDS,
        "sport": "trail_running",
        "average_hr": 149,
        "max_hr": 172,
        "calories": 530.0,
        "distance": 8400.0,
        # 44 min 30.5 s, less the five zones.
        "hr_zones": [56, 90, 300, 900, 1200, 124],
        "moving_time": 2670,
        "provider_id": "2AC312F",
    }


def test_an_exercise_typed_in_by_hand() -> None:
    hand = record(workout_from_exercise(HAND))
    assert (hand.calendar_date, hand.timezone_offset_seconds) == (date(2026, 10, 25), -12_600)
    assert hand.starts_at == datetime(2026, 10, 26, 3, tzinfo=UTC)
    for name in ("average_hr", "max_hr", "calories", "distance", "hr_zones"):
        assert hand.fields[name] is None
    assert (hand.fields["sport"], hand.fields["moving_time"]) == ("water_sports", 3600)


def test_hyphens_are_underscores() -> None:
    assert isinstance(RUN, Mapping)
    hyphened = {name.replace("_", "-"): value for name, value in RUN.items()}
    assert record(workout_from_exercise(hyphened)).fields == record(workout_from_exercise(RUN)).fields


@pytest.mark.parametrize(
    ("duration", "seconds"),
    [("PT2H44M", 9_840), ("PT59.4S", 59), ("P1DT1M", 86_460), ("PT210.026S", 210)],
)
def test_durations(duration: str, seconds: int) -> None:
    assert record(workout_from_exercise(changed(HAND, duration=duration))).fields["moving_time"] == seconds


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        (without(RUN, "id"), "missing_field:id"),
        (without(RUN, "start_time"), "missing_field:start_time"),
        (without(RUN, "start_time_utc_offset"), "missing_field:start_time_utc_offset"),
        (changed(RUN, start_time_utc_offset=900), "out_of_range:start_time_utc_offset"),
        (without(RUN, "duration"), "missing_field:duration"),
        (changed(RUN, duration="P"), "bad_time:duration"),
        (changed(RUN, duration="44 min"), "bad_time:duration"),
        (changed(RUN, duration="PT0S"), "ends_before_start"),
        (changed(RUN, duration="P99D"), "out_of_range:duration"),
        (changed(RUN, heart_rate={"average": "high"}), "wrong_type:average"),
        (changed(RUN, heart_rate_zones=[{"index": 1, "in-zone": "?"}]), "bad_time:in_zone"),
    ],
)
def test_exercises_that_say_nothing(payload: JSONValue, expected: str) -> None:
    assert reason(workout_from_exercise(payload)) == expected


@pytest.mark.parametrize(
    "name", ["device", "heart_rate", "heart_rate_zones", "sport", "detailed_sport_info", "calories"]
)
def test_what_an_exercise_may_lack(name: str) -> None:
    record(workout_from_exercise(without(RUN, name)))


def test_every_sport_is_in_the_table_of_sports() -> None:
    assert {sport_of(word) for word in (*_SAME, *_OTHER_WORDS)} <= set(SPORT_BY_SLUG)
    assert (sport_of("CROSS-COUNTRY_SKIING"), sport_of("UNKNOWN", "SWIMMING"), sport_of(None, None)) == (
        "cross_country_skiing",
        "swimming",
        "other",
    )


def test_the_watch_is_put_back_after_the_night() -> None:
    assert list(OFFSETS) == [
        KnownOffset(datetime(2026, 10, 24, 2, tzinfo=UTC), EEST_SECONDS),
        KnownOffset(datetime(2026, 10, 25, 4, 58, 42, tzinfo=UTC), EET_SECONDS),
    ]
    series = heartrate_from_days([BEATS], OFFSETS)
    assert series.refusals == (Refusal("continuous_heart_rate", "out_of_range:heart_rate"),)
    found = samples(series)
    assert found.start_us.tolist() == [
        at_us("2026-10-25T00:02:08+03:00"),
        at_us("2026-10-25T03:32:08+03:00"),
        at_us("2026-10-25T07:57:08+03:00"),
        # The watch shows seven o'clock a second time.
        at_us("2026-10-25T07:02:08+02:00"),
        at_us("2026-10-25T17:52:08+02:00"),
    ]
    assert found.values.tolist() == [57.0, 56.0, 61.0, 64.0, 92.0]
    assert found.offset_seconds.tolist() == [*[EEST_SECONDS] * 3, *[EET_SECONDS] * 2]


def test_a_time_that_the_watch_skipped() -> None:
    offsets = (
        KnownOffset(datetime(2026, 3, 28, 20, tzinfo=UTC), EET_SECONDS),
        KnownOffset(datetime(2026, 3, 29, 5, tzinfo=UTC), EEST_SECONDS),
    )
    for shown, expected in (
        ("2026-03-29T06:59:00", "2026-03-29T06:59:00+02:00"),
        ("2026-03-29T07:30:00", "2026-03-29T07:30:00+03:00"),
        ("2026-03-29T08:00:00", "2026-03-29T08:00:00+03:00"),
        ("2026-03-01T08:00:00", "2026-03-01T08:00:00+02:00"),
    ):
        assert placed(datetime.fromisoformat(shown), offsets) == datetime.fromisoformat(expected)


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ("day", "not_an_object"),
        (without(BEATS, "date"), "missing_field:date"),
        (without(BEATS, "heart_rate_samples"), "wrong_type:heart_rate_samples"),
        (changed(BEATS, heart_rate_samples=["beat"]), "not_an_object"),
        (changed(BEATS, heart_rate_samples=[{"heart_rate": 60}]), "missing_field:sample_time"),
        (changed(BEATS, heart_rate_samples=[{"heart_rate": 60, "sample_time": "25:00"}]), "bad_time:sample_time"),
        (changed(BEATS, heart_rate_samples=[{"sample_time": "10:00:00"}]), "missing_field:heart_rate"),
    ],
)
def test_heart_rates_that_say_nothing(payload: JSONValue, expected: str) -> None:
    assert refused(heartrate_from_days([payload], OFFSETS)) == expected


def test_without_any_offset_nobody_knows_when_it_was() -> None:
    series = heartrate_from_days([BEATS], known_offsets([{}], [without(RUN, "start_time")]))
    assert (series.batches, series.refusals) == ((), (Refusal("continuous_heart_rate", "offset_unknown", 6),))
    assert refused(steps_from_summaries([FULL], ())) == "offset_unknown"


def test_steps_repeat_until_the_next_entry() -> None:
    series = steps_from_summaries([FULL, PLAIN], OFFSETS)
    assert series.refusals == ()
    found = samples(series)
    begun = ["07:15", "07:16", "07:17", "07:18", "07:19", "23:58"]
    assert found.start_us.tolist() == [at_us(f"2026-10-26T{one}:00+02:00") for one in begun]
    assert found.end_us is not None
    assert (found.end_us - found.start_us).tolist() == [60_000_000] * 6
    assert found.values.tolist() == [80.0, 80.0, 80.0, 80.0, 50.0, 40.0]
    assert found.values.sum() == 410.0


@pytest.mark.parametrize(("total", "minutes"), [(27, 3), (9, 1), (None, 1), (9_000, 45)])
def test_how_often_the_last_entry_repeats_the_total_tells(total: int | None, minutes: int) -> None:
    listed = [{"steps": 0, "timestamp": "2026-10-26T00:00"}, {"steps": 9, "timestamp": "2026-10-26T23:15"}]
    found = samples(steps_from_summaries([stepped(total_steps=total, samples=listed)], OFFSETS))
    assert found.values.tolist() == [9.0] * minutes


def stepped(**steps: Any) -> Mapping[str, JSONValue]:
    told = {"interval_ms": 60_000, "samples": [{"steps": 9, "timestamp": "2026-10-26T07:15"}], **steps}
    return changed(FULL, samples={"date": "2026-10-26", "steps": told})


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ("day", "not_an_object"),
        (stepped(interval_ms=0), "out_of_range:interval_ms"),
        (stepped(interval_ms=5), "out_of_range:interval_ms"),
        (stepped(interval_ms=None), "missing_field:interval_ms"),
        (stepped(samples=None), "wrong_type:samples"),
        (stepped(samples=[{"steps": -1, "timestamp": "2026-10-26T07:15"}]), "out_of_range:steps"),
        (stepped(samples=[{"steps": 1, "timestamp": "2026-10-27T07:15"}]), "bad_time:timestamp"),
        (stepped(samples=[{"steps": 1}]), "missing_field:timestamp"),
    ],
)
def test_steps_that_say_nothing(payload: JSONValue, expected: str) -> None:
    assert refused(steps_from_summaries([payload], OFFSETS)) == expected


@pytest.mark.parametrize(
    ("resource", "values", "refusals"),
    [
        (
            "hrv",
            [44.0, 47.0, 52.0],
            (
                Refusal("nightly_recharge", "night_unknown"),
                Refusal("nightly_recharge", "out_of_range:hrv_samples"),
            ),
        ),
        ("respiratory_rate", [14.0, 14.2], (Refusal("nightly_recharge", "night_unknown"),)),
    ],
)
def test_a_night_s_samples(resource: str, values: list[float], refusals: tuple[Refusal, ...]) -> None:
    series = series_from_recharges(resource, [RECHARGE, LONE], by_date([NIGHT, SHORT]))
    assert series.refusals == refusals
    found = samples(series)
    assert found.values.tolist() == values
    shown = ["00:21", "00:26", "02:31"][: len(values)]
    assert found.start_us.tolist() == [at_us(f"2026-10-25T{one}:00+03:00") for one in shown]
    assert found.offset_seconds.tolist() == [EEST_SECONDS] * len(values)


def test_a_recharge_without_samples_says_nothing() -> None:
    nights = by_date([NIGHT])
    assert series_from_recharges("hrv", [without(RECHARGE, "hrv_samples")], nights) == Series((), ())
    assert refused(series_from_recharges("hrv", [changed(RECHARGE, hrv_samples=[1])], nights)) == "not_an_object"
    assert refused(series_from_recharges("hrv", [changed(RECHARGE, hrv_samples={"x": 1})], nights)) == (
        "bad_time:hrv_samples"
    )
    assert refused(series_from_recharges("hrv", [without(RECHARGE, "date")], nights)) == "missing_field:date"


def test_the_course_of_a_run() -> None:
    stream = stream_from_exercise(COURSE)
    assert isinstance(stream, StreamRecord)
    assert (stream.resource, stream.source, stream.workout) == ("workout_stream", WATCH, "2AC312F")
    start_us = at_us("2026-10-25T17:00:02+02:00")
    assert stream.time_us.tolist() == [start_us + second * 1_000_000 for second in range(5)]
    nothing = np.nan
    expected = {
        "heartrate": [nothing, 101, 102, 97, nothing],
        "velocity_smooth": [0, 3.0, 3.5, nothing, nothing],
        "altitude": [21.5, nothing, 22.25, nothing, nothing],
        "cadence": [0, 82, 84, 84, nothing],
        "distance": [0, 3.0, 6.5, 6.5, nothing],
        "lat": [nothing, 60.21982833, nothing, nothing, 60.2199],
        "lng": [nothing, 25.13925, nothing, nothing, 25.1394],
    }
    assert set(stream.channels) == set(expected)
    for name, values in expected.items():
        np.testing.assert_allclose(stream.channels[name], values, err_msg=name)


def test_an_exercise_without_a_course() -> None:
    assert stream_from_exercise(HAND) is None
    assert stream_from_exercise(changed(COURSE, samples=[], route=None)) is None


def sampled(**sample: Any) -> Mapping[str, JSONValue]:
    return changed(COURSE, samples=[{"recording-rate": 1, "sample-type": "0", "data": "60", **sample}])


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        (without(COURSE, "id"), "missing_field:id"),
        (without(COURSE, "start_time"), "missing_field:start_time"),
        (changed(COURSE, samples={}), "wrong_type:samples"),
        (changed(COURSE, route=[{"latitude": 1, "longitude": 1}]), "missing_field:time"),
        (sampled(**{"recording-rate": 0}), "out_of_range:recording_rate"),
        (sampled(**{"recording-rate": 10**7}), "out_of_range:recording_rate"),
        (sampled(**{"recording-rate": None}), "missing_field:recording_rate"),
        (sampled(data="60,fast"), "wrong_type:data"),
        (sampled(data="60,inf"), "wrong_type:data"),
    ],
)
def test_courses_that_say_nothing(payload: JSONValue, expected: str) -> None:
    assert reason(stream_from_exercise(payload)) == expected
