"""Withings' rows become records value by value, and what is malformed is refused with a reason."""

from collections.abc import Mapping
from datetime import UTC, date, datetime

import pytest

from aggregation.records import OFFSET_UNKNOWN, DataSource, Refusal, SeriesBatch, SummaryRecord
from aggregation.sports import SPORT_BY_SLUG
from healthsvc.kernel.typing import JSONValue
from links.connectors.payload import Series, offset_seconds_at
from links.connectors.withings.catalogue import SPORTS, source_type_of
from links.connectors.withings.convert import (
    activity_from_activity,
    body_from_measure_group,
    decimal_from_mantissa,
    series_from_intraday,
    series_from_measure_groups,
    sleep_from_summary,
    workout_from_workout,
)
from tests.links.payloads import changed, load, mapping, rows, without

WATCH = DataSource(provider="withings", type="watch", device_id="892359876fd8805ac45bab078c4828692f0276b1")
PHONE = DataSource(provider="withings", type="phone")
SCALE = DataSource(provider="withings", type="scale", device_id="5f2b9a0de7c14b0a9d3c61f0c8a2d4e7b1930c55")
CUFF = DataSource(provider="withings", type="cuff")
MAT = DataSource(provider="withings", type="unknown", device_id="a" * 40)
PARIS_SUMMER_SECONDS = 7200

WATCH_DAY, PHONE_DAY = rows("withings/getactivity.json", "body", "activities")
NIGHT, NAP = rows("withings/getsummary.json", "body", "series")
RUN, TYPED_IN = rows("withings/getworkouts.json", "body", "series")
GROUPS = rows("withings/getmeas.json", "body", "measuregrps")
_BODY = load("withings/getintradayactivity.json")["body"]
assert isinstance(_BODY, Mapping)
INTRADAY = _BODY["series"]


def record(converted: SummaryRecord | Refusal) -> SummaryRecord:
    assert isinstance(converted, SummaryRecord), converted
    return converted


def batch(series: Series, resource: str, source: DataSource) -> SeriesBatch:
    (found,) = [one for one in series.batches if (one.resource, one.source) == (resource, source)]
    return found


def test_a_day_of_activity_value_by_value() -> None:
    assert activity_from_activity(WATCH_DAY) == SummaryRecord(
        resource="activity",
        source=WATCH,
        external_id="2026-06-24:892359876fd8805ac45bab078c4828692f0276b1",
        calendar_date=date(2026, 6, 24),
        starts_at=None,
        ends_at=None,
        timezone_offset_seconds=PARIS_SUMMER_SECONDS,
        fields={
            "time_zone": "Europe/Paris",
            "timezone_offset": PARIS_SUMMER_SECONDS,
            "calories_total": 2264.71,
            "calories_active": 512.4,
            "steps": 10423,
            "distance": 8240.5,
            "floors_climbed": 7,
            "low": 89.0,
            "medium": 48.0,
            "high": 25.0,
            "heart_rate": {"avg_bpm": 74.0, "min_bpm": 49.0, "max_bpm": 161.0},
        },
        raw=mapping(WATCH_DAY),
    )


def test_a_day_without_a_heart_rate_sensor_has_none() -> None:
    day = record(activity_from_activity(PHONE_DAY))
    assert (day.source, day.external_id) == (PHONE, "2026-06-25:account")
    assert (day.fields["heart_rate"], day.fields["steps"]) == (None, 3120)


def test_a_night_value_by_value() -> None:
    night = record(sleep_from_summary(NIGHT))
    assert (night.resource, night.source, night.external_id) == ("sleep", MAT, "2081804182")
    assert night.raw == NIGHT
    assert night.calendar_date == date(2026, 6, 24)
    assert night.starts_at == datetime(2026, 6, 23, 21, 0, tzinfo=UTC)
    assert night.ends_at == datetime(2026, 6, 24, 4, 50, tzinfo=UTC)
    assert night.timezone_offset_seconds == PARIS_SUMMER_SECONDS
    fields = dict(night.fields)
    efficiency_percent = fields.pop("efficiency")
    assert efficiency_percent == pytest.approx(91.49)
    assert fields == {
        "bedtime_start": "2026-06-23T21:00:00+00:00",
        "bedtime_stop": "2026-06-24T04:50:00+00:00",
        "timezone_offset": PARIS_SUMMER_SECONDS,
        "type": "long_sleep",
        "state": "confirmed",
        "duration": 28_200,
        "total": 25_800,
        "awake": 2_400,
        "light": 14_100,
        "rem": 6_300,
        "deep": 5_400,
        "score": 84,
        "hr_lowest": 48,
        "hr_average": 57,
        "latency": 720,
        "respiratory_rate": 14.0,
    }


def test_a_nap_without_stages_counts_the_time_asleep() -> None:
    nap = record(sleep_from_summary(NAP))
    assert nap.source == WATCH
    assert (nap.fields["type"], nap.fields["state"]) == ("short_sleep", "tentative")
    assert (nap.fields["total"], nap.fields["light"], nap.fields["duration"]) == (1800, 0, 2400)
    assert (nap.fields["hr_average"], nap.fields["respiratory_rate"], nap.fields["efficiency"]) == (None, None, None)


def test_workouts_value_by_value() -> None:
    run = record(workout_from_workout(RUN))
    assert (run.resource, run.source, run.external_id) == ("workouts", WATCH, "3409912345")
    assert run.raw == RUN
    assert run.starts_at == datetime(2026, 6, 24, 16, 0, tzinfo=UTC)
    assert run.ends_at == datetime(2026, 6, 24, 16, 45, tzinfo=UTC)
    assert run.fields == {
        "time_start": "2026-06-24T16:00:00+00:00",
        "time_end": "2026-06-24T16:45:00+00:00",
        "timezone_offset": PARIS_SUMMER_SECONDS,
        "sport": "running",
        "average_hr": 148,
        "max_hr": 171,
        "calories": 436.0,
        "distance": 7950.0,
        "steps": 7320,
        "moving_time": 2580,
        "provider_id": "3409912345",
    }


def test_what_a_person_typed_in_outweighs_the_estimate() -> None:
    typed = record(workout_from_workout(TYPED_IN))
    assert typed.source == DataSource(provider="withings", type="app")
    assert (typed.fields["calories"], typed.fields["distance"], typed.fields["sport"]) == (150.0, 1200.0, "other")
    assert (typed.timezone_offset_seconds, typed.fields["average_hr"]) == (None, None)


def test_every_sport_of_the_table_is_a_sport_of_the_api() -> None:
    assert set(SPORTS.values()) <= set(SPORT_BY_SLUG)


def test_intraday_heart_rate_is_of_an_instant_and_steps_of_a_duration() -> None:
    series = series_from_intraday(INTRADAY, time_zone="Europe/Paris")
    beats = batch(series, "heartrate", WATCH).samples
    assert beats.start_us.tolist() == [1_782_302_400_000_000, 1_782_302_700_000_000]
    assert (beats.values.tolist(), beats.end_us) == ([63.0, 96.0], None)
    assert beats.offset_seconds.tolist() == [PARIS_SUMMER_SECONDS] * 2
    steps = batch(series, "steps", WATCH).samples
    assert steps.end_us is not None
    assert (steps.values.tolist(), (steps.end_us - steps.start_us).tolist()) == ([214.0], [300_000_000])
    phone = batch(series, "steps", PHONE).samples
    assert phone.end_us is not None
    assert (phone.values.tolist(), (phone.end_us - phone.start_us).tolist()) == ([120.0], [60_000_000])
    assert batch(series, "distance", WATCH).samples.values.tolist() == [160.3]
    assert batch(series, "calories_active", WATCH).samples.values.tolist() == [9.4]
    assert batch(series, "floors_climbed", WATCH).samples.values.tolist() == [1.0]
    assert len(series.batches) == 7
    assert series.refusals == (
        Refusal("intraday", "bad_time:timestamp", 1),
        Refusal("intraday", "missing_field:duration", 1),
        Refusal("intraday", "out_of_range:heart_rate", 1),
    )


def test_an_empty_series_comes_as_a_list() -> None:
    assert series_from_intraday([]) == Series((), ())
    assert series_from_intraday("none") == Series((), (Refusal("intraday", "not_an_object", 1),))


def test_without_a_time_zone_the_offset_is_unknown() -> None:
    series = series_from_intraday(INTRADAY)
    assert batch(series, "heartrate", WATCH).samples.offset_seconds.tolist() == [OFFSET_UNKNOWN] * 2


def test_measures_value_by_value() -> None:
    series = series_from_measure_groups(GROUPS, time_zone="Europe/Paris")
    at_us = 1_782_279_000_000_000
    found = {(one.resource, one.source.type): one.samples for one in series.batches}
    cuff = found.pop(("blood_pressure", "cuff"))
    assert cuff.value is None
    assert {name: list(column) for name, column in cuff.fields.items()} == {"systolic": [121.0], "diastolic": [79.0]}
    assert cuff.offset_seconds.tolist() == [PARIS_SUMMER_SECONDS]
    assert {key: samples.values.tolist() for key, samples in found.items()} == {
        ("weight", "scale"): [72.345],
        ("fat", "scale"): [21.75],
        ("lean_body_mass", "scale"): [56.61],
        ("heartrate", "scale"): [61.0],
        ("heartrate", "cuff"): [64.0],
    }
    weight = found["weight", "scale"]
    assert (weight.start_us.tolist(), weight.end_us) == ([at_us], None)
    assert weight.offset_seconds.tolist() == [PARIS_SUMMER_SECONDS]
    assert series.refusals == (
        Refusal("measure", "not_a_measurement", 1),
        Refusal("measure", "not_measured_for_this_person", 1),
        Refusal("measure", "unsupported_type:91", 1),
    )


def test_half_a_blood_pressure_is_none() -> None:
    half = changed(GROUPS[1], measures=[{"value": 121, "type": 10, "unit": 0}, {"value": 64, "type": 11, "unit": 0}])
    series = series_from_measure_groups([half])
    assert [one.resource for one in series.batches] == ["heartrate"]
    assert series.refusals == (Refusal("measure", "missing_field:blood_pressure", 1),)


def test_a_device_that_is_named_by_no_text_is_not_named() -> None:
    odd = changed(RUN, hash_deviceid=17)
    assert record(workout_from_workout(odd)).source == DataSource(provider="withings", type="watch")


def test_a_scale_makes_a_body_summary_in_percent_of_its_own_weight() -> None:
    body = record(body_from_measure_group(GROUPS[0], time_zone="Europe/Paris"))
    assert (body.resource, body.source, body.external_id) == ("body", SCALE, "4716596696")
    assert body.raw == GROUPS[0]
    assert (body.calendar_date, body.timezone_offset_seconds) == (date(2026, 6, 24), PARIS_SUMMER_SECONDS)
    assert body.starts_at == datetime(2026, 6, 24, 5, 30, tzinfo=UTC)
    assert body.fields["weight"] == 72.345
    assert body.fields["fat"] == 21.75
    assert body.fields["visceral_fat_index"] == 3.4
    assert body.fields["lean_body_mass_kilogram"] == 56.61
    assert body.fields["water_percentage"] == pytest.approx(100 * 41.30 / 72.345)
    assert body.fields["muscle_mass_percentage"] == pytest.approx(100 * 53.81 / 72.345)
    assert body.fields["bone_mass_percentage"] == pytest.approx(100 * 2.81 / 72.345)
    assert body_from_measure_group(GROUPS[1]) == Refusal("body", "missing_field:weight")
    assert body_from_measure_group(GROUPS[2]) == Refusal("body", "not_measured_for_this_person")


def test_an_evening_weight_belongs_to_the_persons_own_day() -> None:
    late = changed(GROUPS[0], date=1_782_340_200)  # 2026-06-24T22:30Z is past midnight in Paris
    assert record(body_from_measure_group(late, time_zone="Europe/Paris")).calendar_date == date(2026, 6, 25)
    assert record(body_from_measure_group(late)).calendar_date == date(2026, 6, 24)


def test_mantissa_and_power_of_ten_lose_nothing() -> None:
    assert [decimal_from_mantissa(72345, -3), decimal_from_mantissa(61, 0), decimal_from_mantissa(7, 1)] == [
        72.345,
        61.0,
        70.0,
    ]
    assert decimal_from_mantissa(21750, -3) == 21.75


def test_offsets_follow_the_clocks_of_the_time_zone() -> None:
    winter, summer = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 7, 1, tzinfo=UTC)
    assert [offset_seconds_at(moment, "Europe/Paris") for moment in (winter, summer)] == [3600, 7200]
    assert [offset_seconds_at(summer, zone) for zone in (None, "", "Mars/Olympus", "../etc/passwd")] == [None] * 4


def test_source_types_follow_the_device_model() -> None:
    assert [source_type_of(model) for model in (6, 18, 44, 93, 1052, 1060, 63, 99999)] == [
        "scale",
        "scale",
        "cuff",
        "watch",
        "phone",
        "app",
        "unknown",
        "unknown",
    ]


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (None, "not_an_object"),
        (without(NIGHT, "id"), "missing_field:id"),
        (without(NIGHT, "data"), "not_an_object"),
        (changed(NIGHT, enddate=1_782_248_400), "ends_before_start"),
        (changed(NIGHT, startdate=1_782_248_400_000), "bad_time:startdate"),
        (changed(NIGHT, data={"sleep_efficiency": 91}), "out_of_range:sleep_efficiency"),
        (changed(NIGHT, data={"hr_min": "48"}), "wrong_type:hr_min"),
    ],
)
def test_a_malformed_night_is_refused(payload: JSONValue, reason: str) -> None:
    assert sleep_from_summary(payload) == Refusal("sleep", reason)


@pytest.mark.parametrize(
    ("measure", "reason"),
    [
        ({"value": "72", "type": 1, "unit": 0}, "wrong_type:value"),
        ({"value": 72, "type": 1, "unit": -99}, "out_of_range:unit"),
        ({"value": 72, "type": 1}, "missing_field:unit"),
        ({"value": 0, "type": 1, "unit": 0}, "out_of_range:value"),
        (7, "not_an_object"),
    ],
)
def test_a_malformed_measure_is_refused_alone(measure: JSONValue, reason: str) -> None:
    group = changed(GROUPS[0], measures=[measure, {"value": 61, "type": 11, "unit": 0}])
    series = series_from_measure_groups([group])
    assert series.refusals == (Refusal("measure", reason, 1),)
    assert [one.samples.values.tolist() for one in series.batches] == [[61.0]]
