"""Payload → record, value by value, for Google Health's data points."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pytest

from aggregation.catalogue import SERIES_BY_SLUG
from aggregation.records import OFFSET_UNKNOWN, DataSource, Refusal, SeriesBatch, SummaryRecord
from aggregation.sports import SPORT_BY_SLUG
from aggregation.store.checking import Ingestion, sample_reasons, summary_reason
from healthsvc.kernel.typing import JSONValue
from links.connectors.google_health import convert
from links.connectors.google_health.catalogue import SPORTS
from links.connectors.google_health.meals import meal_from_point
from links.connectors.google_health.points import source_of
from links.connectors.google_health.series import SERIES, series_from_points
from tests.links.payloads import load, mapping, rows

BAND = DataSource(provider="google_health", type="watch", app_id="fitbit")
TYPED_IN = DataSource(provider="google_health", type="app", app_id="fitbit")
UNPROCESSED, NIGHT, NAP, BY_HAND = rows("google_health/sleep.json", "dataPoints")
RUN, WEAVING = rows("google_health/exercise.json", "dataPoints")
STRANGE: list[JSONValue] = [None, [], "x", -1, {"x": 1}]
PORRIDGE, NAMELESS = rows("google_health/nutrition_log.json", "dataPoints")
SAMPLES = load("google_health/samples.json")


def at(text: str) -> int:
    """Epoch microseconds of an instant."""
    return round(datetime.fromisoformat(text).timestamp() * 1_000_000)


def edited(point: JSONValue, field: str, **fields: JSONValue) -> Mapping[str, JSONValue]:
    """A point with fields of its value written over; None takes one out."""
    value = {**mapping(mapping(point)[field]), **fields}
    return {**mapping(point), field: {name: one for name, one in value.items() if one is not None}}


def good(record: SummaryRecord | Refusal) -> SummaryRecord:
    """The record, which the store takes."""
    assert isinstance(record, SummaryRecord)
    assert summary_reason(record, Ingestion()) is None
    return record


def single(resource: str, point: JSONValue = None) -> SeriesBatch:
    """The one batch that one point becomes."""
    made = series_from_points([SAMPLES[resource] if point is None else point], SERIES[resource])
    assert made.refusals == ()
    (batch,) = made.batches
    assert batch.resource == resource
    assert sample_reasons(SERIES_BY_SLUG[resource], batch.samples, Ingestion()) == []
    return batch


def test_a_night_over_the_change_of_clocks() -> None:
    night = good(convert.sleep_from_point(NIGHT))
    assert (night.source, night.external_id, night.calendar_date, night.timezone_offset_seconds) == (
        BAND,
        "2026443605080188808",
        date(2026, 11, 1),
        -18_000,
    )
    assert night.starts_at == datetime(2026, 11, 1, 3, tzinfo=UTC)
    assert night.fields == {
        "bedtime_start": "2026-11-01T03:00:00+00:00",
        "bedtime_stop": "2026-11-01T11:30:30+00:00",
        "timezone_offset": -18_000,
        "type": "long_sleep",
        "state": "confirmed",
        "duration": 30_630,
        "total": 29_430,
        "awake": 1_200,
        "light": 18_030,
        "rem": 6_000,
        "deep": 5_400,
        "efficiency": pytest.approx(100 * 29_430 / 30_630),
        "latency": 1_200,
    }
    assert night.raw == NIGHT


def test_a_nights_stages_in_order() -> None:
    cycle = good(replace_parent(convert.sleep_cycle_from_point(NIGHT)))
    assert cycle.fields["stage_start_offset_second"] == [0, 1_200, 8_400, 13_800, 19_800]
    assert cycle.fields["stage_end_offset_second"] == [1_200, 8_400, 13_800, 19_800, 30_630]
    assert cycle.fields["stage_type"] == [4, 2, 1, 3, 2]


def replace_parent(record: SummaryRecord | Refusal) -> SummaryRecord:
    assert isinstance(record, SummaryRecord)
    assert record.fields["sleep_external_id"] == record.external_id == "2026443605080188808"
    return record


def test_a_classic_nap_whose_clock_is_told_by_civil_time_alone() -> None:
    nap = good(convert.sleep_from_point(NAP))
    assert (nap.timezone_offset_seconds, nap.calendar_date, nap.fields["type"]) == (
        3_600,
        date(2026, 10, 20),
        "acknowledged_nap",
    )
    spent = [nap.fields[name] for name in ("duration", "total", "awake", "light", "rem", "deep")]
    assert spent == [2_700, 2_100, 600, 0, 0, 0]
    assert nap.fields["latency"] is None
    cycle = convert.sleep_cycle_from_point(NAP)
    assert isinstance(cycle, SummaryRecord)
    # Asleep, in which stage nobody knows.
    assert cycle.fields["stage_type"] == [4, -1, 4]


def test_a_night_typed_in_has_googles_minutes() -> None:
    night = good(convert.sleep_from_point(BY_HAND))
    assert (night.source, night.calendar_date) == (TYPED_IN, date(2026, 10, 19))
    assert [night.fields[name] for name in ("total", "awake", "light")] == [6_600, 600, 0]
    assert night.fields["type"] == "short_sleep"
    assert not convert.has_stages(BY_HAND)
    assert convert.has_stages(NIGHT)


def test_a_night_that_is_not_worked_out_is_told_apart_from_one_that_says_nothing() -> None:
    assert convert.sleep_from_point(UNPROCESSED) == Refusal("sleep", "not_processed_yet")
    silent = edited(UNPROCESSED, "sleep", metadata=None)
    assert convert.sleep_from_point(silent) == Refusal("sleep", "missing_field:stages")
    staged = edited(NIGHT, "sleep", metadata={"processed": False})
    assert good(convert.sleep_from_point(staged)).fields["state"] == "tentative"


def test_a_run_shortly_after_midnight() -> None:
    run = good(convert.workout_from_point(RUN))
    assert (run.source, run.external_id, run.calendar_date) == (BAND, "2026443605080188809", date(2026, 10, 15))
    assert run.fields == {
        "time_start": "2026-10-14T21:40:00+00:00",
        "time_end": "2026-10-14T22:20:05+00:00",
        "timezone_offset": 10_800,
        "title": "Run",
        "sport": "running",
        "average_hr": 152,
        "calories": 431.5,
        "distance": pytest.approx(7012.3455),
        "total_elevation_gain": 42.5,
        "average_speed": pytest.approx(2.9834),
        "steps": 6_400,
        "moving_time": 2_350,
        "provider_id": "2026443605080188809",
    }


def test_a_workout_of_another_app_with_nothing_measured() -> None:
    weaving = good(convert.workout_from_point(WEAVING))
    assert weaving.source == DataSource("google_health", "app", "com.example.lifting")
    assert (weaving.fields["sport"], weaving.timezone_offset_seconds) == ("other", None)
    measured = ("average_hr", "calories", "distance", "steps", "moving_time", "average_speed")
    assert [weaving.fields[name] for name in measured] == [None] * 6


def test_every_word_for_an_exercise_has_a_sport() -> None:
    assert set(SPORTS.values()) <= set(SPORT_BY_SLUG)
    # Google's own list spells the game PICKELBALL.
    assert set(rows("google_health/exercise_types.json", "exerciseType")) == set(SPORTS) - {"PICKLEBALL"}


def test_a_day_of_activity_from_its_roll_ups() -> None:
    rollups = rows("google_health/daily_rollups.json", "rollupDataPoints")
    resting = rows("google_health/daily_resting_heart_rate.json", "dataPoints")
    whole, idle, refused = convert.activities_from_rollups(rollups, resting)
    assert refused == Refusal("daily_roll_up", "bad_time:date")
    day = good(whole)
    assert (day.source, day.external_id, day.calendar_date) == (
        DataSource("google_health", "multiple_sources"),
        "2026-10-14",
        date(2026, 10, 14),
    )
    assert day.fields == {
        "steps": 11_340,
        "distance": pytest.approx(8123.456),
        "floors_climbed": 12,
        "calories_active": 612.4,
        "calories_total": 2356.75,
        "low": 182.0,
        "medium": 0.0,
        "high": 31.0,
        "heart_rate": {"avg_bpm": 71.5, "min_bpm": 49.0, "max_bpm": 164.0, "resting_bpm": 56},
    }
    # A true nought is a day; a day of which nothing is told is none.
    assert (good(idle).calendar_date, good(idle).fields["steps"]) == (date(2026, 10, 15), 0)


def test_weight_and_fat_of_one_instant_are_one_weighing() -> None:
    later = edited(
        SAMPLES["fat"], "bodyFat", sampleTime={"physicalTime": "2026-10-15T20:00:00Z", "utcOffset": "18000s"}
    )
    both, alone = convert.bodies_from_points([SAMPLES["weight"]], [SAMPLES["fat"], later])
    assert good(both).fields == {"weight": 71.25, "fat": 22.5}
    assert good(both).source == DataSource("google_health", "scale", "fitbit")
    assert good(both).calendar_date == date(2026, 10, 14)
    assert set(good(both).raw or {}) == {"dataSource", "weight", "bodyFat"}
    assert good(alone).fields == {"fat": 22.5}
    assert good(alone).calendar_date == date(2026, 10, 16)
    wrong = convert.bodies_from_points([{"weight": {}}], [None])
    assert wrong == [Refusal("weight", "missing_field:weightGrams"), Refusal("weight", "not_an_object")]


def test_what_each_source_counted_is_told_apart() -> None:
    made = series_from_points(rows("google_health/steps.json", "dataPoints"), SERIES["steps"])
    by_source = {batch.source: batch.samples for batch in made.batches}
    phone = DataSource("google_health", "phone", "com.example.steps")
    assert set(by_source) == {BAND, phone}
    assert by_source[BAND].values.tolist() == [97.0, 0.0]
    assert by_source[BAND].start_us.tolist() == [at("2026-10-14T06:01:00Z"), at("2026-10-14T06:02:00Z")]
    assert by_source[BAND].offset_seconds.tolist() == [10_800, OFFSET_UNKNOWN]
    ends = by_source[BAND].end_us
    assert ends is not None
    assert ends.tolist() == [at("2026-10-14T06:02:00Z"), at("2026-10-14T06:03:00Z")]
    assert by_source[phone].values.tolist() == [88.0]
    assert made.refusals == (Refusal("steps", "ends_before_start"), Refusal("steps", "wrong_type:count"))


@pytest.mark.parametrize(
    ("resource", "value", "begins", "source"),
    [
        ("distance", 70.123, "2026-10-14T06:01:00Z", BAND),
        ("calories_active", 6.25, "2026-10-14T06:01:00Z", BAND),
        ("floors_climbed", 2.0, "2026-10-14T06:01:00Z", BAND),
        ("heartrate", 72.0, "2026-10-14T06:01:05.250Z", BAND),
        ("hrv", 38.25, "2026-10-14T01:05:00Z", BAND),
        ("blood_oxygen", 96.4, "2026-10-14T01:05:00Z", BAND),
        ("respiratory_rate", 14.6, "2026-10-14T05:05:00Z", BAND),
        ("weight", 71.25, "2026-10-14T05:30:00Z", replace(BAND, type="scale")),
        ("fat", 22.5, "2026-10-14T05:30:00Z", replace(BAND, type="scale")),
        ("water", 236.588, "2026-10-14T09:00:00Z", TYPED_IN),
    ],
)
def test_a_sample_in_the_services_unit(resource: str, value: float, begins: str, source: DataSource) -> None:
    batch = single(resource)
    assert batch.source == source
    assert batch.samples.values.tolist() == [pytest.approx(value)]
    assert batch.samples.start_us.tolist() == [at(begins)]
    assert batch.samples.offset_seconds.tolist() == [10_800]
    assert (batch.samples.end_us is not None) == SERIES_BY_SLUG[resource].is_interval


def test_variability_by_standard_deviation_is_of_its_own_type() -> None:
    name = "rootMeanSquareOfSuccessiveDifferencesMilliseconds"
    point = edited(SAMPLES["hrv"], "heartRateVariability", **{name: None})
    made = series_from_points([point, SAMPLES["hrv"]], SERIES["hrv"])
    assert [(batch.samples.values.tolist(), batch.samples.type) for batch in made.batches] == [
        ([38.25], None),
        ([51.5], ["sdnn"]),
    ]
    nothing = edited(point, "heartRateVariability", standardDeviationMilliseconds=None)
    assert series_from_points([nothing], SERIES["hrv"]) == series_from_points([], SERIES["hrv"])


def test_nought_is_not_measured_where_nobody_can_have_it() -> None:
    for resource, point in (
        ("blood_oxygen", edited(SAMPLES["blood_oxygen"], "oxygenSaturation", percentage=0)),
        ("respiratory_rate", edited(SAMPLES["respiratory_rate"], "respiratoryRateSleepSummary", fullSleepStats={})),
    ):
        made = series_from_points([point], SERIES[resource])
        assert (made.batches, made.refusals) == ((), ())


@pytest.mark.parametrize(
    ("times", "reason"),
    [
        ({"physicalTime": "yesterday"}, "bad_time:physicalTime"),
        ({"physicalTime": "2026-10-14T06:00:00"}, "bad_time:physicalTime"),
        ({}, "missing_field:physicalTime"),
        ({"physicalTime": "2026-10-14T06:00:00Z", "utcOffset": "3h"}, "wrong_type:utcOffset"),
        ({"physicalTime": "2026-10-14T06:00:00Z", "utcOffset": "90000s"}, "bad_time:utcOffset"),
        ({"physicalTime": "2026-10-14T06:00:00Z", "civilTime": {"date": {"year": 2026}}}, "missing_field:month"),
        (
            {
                "physicalTime": "2026-10-14T06:00:00Z",
                "civilTime": {"date": {"year": 2026, "month": 10, "day": 14}, "time": {"hours": 25}},
            },
            "bad_time:civilTime",
        ),
    ],
)
def test_a_time_that_is_none_is_refused(times: dict[str, JSONValue], reason: str) -> None:
    made = series_from_points([edited(SAMPLES["heartrate"], "heartRate", sampleTime=times)], SERIES["heartrate"])
    assert (made.batches, made.refusals) == ((), (Refusal("heart-rate", reason),))


@pytest.mark.parametrize("value", ["72.5", "", "٧٢", "0x48", True, [], {}, 72.5])
def test_a_count_that_is_no_whole_number_is_refused(value: JSONValue) -> None:
    made = series_from_points([edited(SAMPLES["heartrate"], "heartRate", beatsPerMinute=value)], SERIES["heartrate"])
    assert made.refusals == (Refusal("heart-rate", "wrong_type:beatsPerMinute"),)
    assert single("heartrate", edited(SAMPLES["heartrate"], "heartRate", beatsPerMinute=72)).samples.values[0] == 72.0


def test_a_meal() -> None:
    meal = good(meal_from_point(PORRIDGE))
    assert (meal.source, meal.external_id, meal.calendar_date) == (TYPED_IN, "41", date(2026, 10, 15))
    assert meal.fields == {
        "timestamp": "2026-10-14T22:30:00+00:00",
        "name": "Porridge",
        "energy": {"unit": "kcal", "value": 310.5},
        "macros": {"protein": 11.0, "carbs": 52.0, "fats": {"saturated": 1.25, "total": 6.5}},
        "micros": {"minerals": {"sodium": 250.0}, "vitamins": {"vitamin_d": pytest.approx(2.5)}},
    }


def test_a_food_without_a_name_is_called_by_its_meal() -> None:
    food = good(meal_from_point(NAMELESS))
    assert (food.fields["name"], food.external_id) == ("Before dinner", "2026-10-14T12:00:00+00:00")
    assert [food.fields[name] for name in ("energy", "macros", "micros")] == [None, None, None]
    unnamed = edited(NAMELESS, "nutritionLog", mealType="ANYTIME")
    assert good(meal_from_point(unnamed)).fields["name"] == "Meal"


@pytest.mark.parametrize(
    ("source", "found"),
    [
        (None, DataSource("google_health")),
        ({"platform": "FITBIT", "device": {"formFactor": "RING"}}, DataSource("google_health", "ring", "fitbit")),
        ({"platform": "FITBIT_WEB_API"}, DataSource("google_health", "app", "fitbit")),
        ({"platform": "NEST", "device": {"displayName": "Hub"}}, DataSource("google_health")),
        (
            {"platform": "FITBIT", "recordingMethod": "DERIVED", "device": {"displayName": "Sense"}},
            DataSource("google_health", "unknown", "fitbit"),
        ),
        (
            {"platform": "FITBIT", "application": {"packageName": "com.fitbit.FitbitMobile"}},
            DataSource("google_health", "app", "fitbit"),
        ),
        (
            {"platform": "HEALTH_KIT", "application": {"packageName": "x" * 400}},
            DataSource("google_health", "app", "x" * 255),
        ),
        ({"device": {"formFactor": ["WATCH"]}}, DataSource("google_health")),
    ],
)
def test_who_recorded_it(source: Any, found: DataSource) -> None:
    assert source_of({"dataSource": source} if source is not None else {}) == found


@pytest.mark.parametrize("payload", [None, [], "night", 7, {}, {"sleep": None}, {"sleep": []}])
def test_what_is_no_point_is_refused_and_never_an_error(payload: JSONValue) -> None:
    for made in (
        convert.sleep_from_point(payload),
        convert.sleep_cycle_from_point(payload),
        convert.workout_from_point(payload),
        meal_from_point(payload),
        *convert.bodies_from_points([payload], []),
        *convert.activities_from_rollups([payload], [payload]),
    ):
        assert isinstance(made, Refusal)
    for kind in SERIES.values():
        assert series_from_points([payload], kind).batches == ()


@pytest.mark.parametrize("point", [NIGHT, NAP, RUN, WEAVING, PORRIDGE, NAMELESS])
def test_every_field_may_be_missing_or_of_another_kind(point: JSONValue) -> None:
    field = next(name for name in mapping(point) if name not in ("name", "dataSource"))
    makers = {
        "sleep": convert.sleep_from_point,
        "exercise": convert.workout_from_point,
        "nutritionLog": meal_from_point,
    }
    for name in mapping(mapping(point)[field]):
        for strange in STRANGE:
            made = makers[field](edited(point, field, **{name: strange}))
            assert isinstance(made, SummaryRecord | Refusal)


def test_columns_are_of_their_kinds() -> None:
    samples = single("heartrate").samples
    assert (samples.start_us.dtype, samples.values.dtype, samples.offset_seconds.dtype) == (
        np.dtype(np.int64),
        np.dtype(np.float64),
        np.dtype(np.int32),
    )
