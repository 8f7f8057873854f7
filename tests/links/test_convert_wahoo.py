"""Wahoo's workouts become ours value by value, with what the file adds; what is malformed is refused with a reason."""

from datetime import UTC, date, datetime

import pytest

from aggregation.records import DataSource, Refusal, SummaryRecord
from aggregation.sports import SPORT_BY_SLUG
from aggregation.store.checking import Ingestion, summary_reason
from healthsvc.kernel.typing import JSONValue
from links.connectors.fit.reader import activity_read
from links.connectors.payload import MalformedError
from links.connectors.wahoo.catalogue import SPORTS, sport_of
from links.connectors.wahoo.convert import (
    decimal,
    file_address,
    is_done,
    stream_from_file,
    time_zone_of,
    workout_from_workout,
)
from tests.links.fit_files import RIDE_SESSION, fit_file
from tests.links.payloads import changed, mapping, rows, without

WAHOO = DataSource(provider="wahoo", type="unknown")
PLANNED, GYM, RIDE = rows("wahoo/workouts.json", "workouts")
FILE = activity_read(fit_file())
PST_SECONDS = -8 * 3_600


def record(converted: SummaryRecord | Refusal) -> SummaryRecord:
    assert isinstance(converted, SummaryRecord), converted
    assert summary_reason(converted, Ingestion()) is None
    return converted


def reason(converted: SummaryRecord | Refusal) -> str:
    assert isinstance(converted, Refusal), converted
    return converted.reason


def summarised(**fields: JSONValue) -> JSONValue:
    """The ride with fields of its summary written over."""
    return changed(RIDE, workout_summary=dict(changed(mapping(RIDE)["workout_summary"], **fields)))


def test_a_ride_with_its_file() -> None:
    ride = record(workout_from_workout(RIDE, file=FILE))
    assert (ride.resource, ride.source, ride.external_id) == ("workouts", WAHOO, "56519")
    assert ride.calendar_date == date(2026, 3, 7)
    assert ride.starts_at == datetime(2026, 3, 7, 13, 30, tzinfo=UTC)
    assert ride.ends_at == datetime(2026, 3, 7, 14, 30, 0, 500_000, tzinfo=UTC)
    assert dict(ride.fields) == {
        "title": "Mulholland before dawn",
        "time_start": "2026-03-07T13:30:00+00:00",
        "time_end": "2026-03-07T14:30:00.500000+00:00",
        "timezone_offset": PST_SECONDS,
        "sport": "mountain_biking",
        "average_hr": 141,
        "max_hr": 172,
        "calories": 640.0,
        "distance": 24_890.25,
        "moving_time": 3_500,
        "total_elevation_gain": 318.0,
        "elev_high": pytest.approx(402.4),
        "elev_low": pytest.approx(12.2),
        "average_speed": 7.11,
        "max_speed": 14.2,
        "average_watts": 182.3,
        "device_watts": 182.0,
        "max_watts": 611.0,
        "weighted_average_watts": 197.0,
        "steps": None,
        "provider_id": "56519",
    }
    kept = mapping(mapping(ride.raw)["workout_summary"])
    assert "file" not in kept
    assert kept["power_bike_tss_last"] == "61.20"


def test_a_ride_without_its_file_has_no_local_clock() -> None:
    ride = record(workout_from_workout(RIDE))
    assert (ride.timezone_offset_seconds, ride.calendar_date) == (None, date(2026, 3, 7))
    assert (ride.fields["sport"], ride.fields["average_watts"]) == ("mountain_biking", 182.3)
    assert "max_hr" not in ride.fields


def test_what_was_typed_in_on_the_evening_before() -> None:
    gym = record(workout_from_workout(GYM))
    # 20:30 on the seventh in Denver.
    assert (gym.calendar_date, gym.timezone_offset_seconds) == (date(2026, 3, 7), -7 * 3_600)
    assert gym.ends_at == datetime(2026, 3, 8, 4, 40, tzinfo=UTC)
    assert {name for name, value in gym.fields.items() if value is not None} == {
        "title", "time_start", "time_end", "timezone_offset", "sport", "provider_id",
    }  # fmt: skip


def test_the_zone_that_wahoo_names_goes_before_the_file() -> None:
    denver = record(workout_from_workout(summarised(time_zone="America/Denver"), file=FILE))
    assert denver.timezone_offset_seconds == -7 * 3_600
    odd = record(workout_from_workout(summarised(time_zone="Mars/Olympus"), file=FILE))
    assert odd.timezone_offset_seconds == PST_SECONDS
    assert time_zone_of([PLANNED, GYM, RIDE]) == "America/Denver"
    assert time_zone_of([RIDE, {"starts": 7}]) is None


def test_the_file_says_what_other_means() -> None:
    gym = activity_read(fit_file(sessions=[{**RIDE_SESSION, "sport": 10, "sub_sport": 20}]))
    assert record(workout_from_workout(GYM, file=gym)).fields["sport"] == "strength_training"
    assert record(workout_from_workout(GYM)).fields["sport"] == "other"


def test_only_what_was_done_has_a_summary() -> None:
    assert [is_done(one) for one in (PLANNED, GYM, RIDE)] == [False, True, True]
    assert file_address(GYM) is None
    assert str(file_address(RIDE)).startswith("https://cdn.wahooligan.com/")


def test_the_course_belongs_to_the_workout() -> None:
    stream = stream_from_file(FILE, RIDE)
    assert stream is not None
    assert (stream.workout, stream.source, len(stream.time_us)) == ("56519", WAHOO, 3)


@pytest.mark.parametrize(
    ("value", "expected"), [("12.50", 12.5), ("-3", -3.0), ("", None), (None, None), (7, 7.0), (7.25, 7.25)]
)
def test_numbers_are_texts_with_decimals(value: JSONValue, expected: float | None) -> None:
    assert decimal({"x": value}, "x") == expected


@pytest.mark.parametrize("value", ["1e9", "nan", "12,5", " 1", "many", True, ["1"]])
def test_other_texts_are_no_numbers(value: JSONValue) -> None:
    with pytest.raises(MalformedError):
        decimal({"x": value}, "x")


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ([], "not_an_object"),
        (without(RIDE, "id"), "missing_field:id"),
        (changed(RIDE, id="56519"), "wrong_type:id"),
        (changed(RIDE, id=0), "wrong_type:id"),
        (changed(RIDE, starts="2026-03-07 13:30"), "bad_time:starts"),
        (changed(RIDE, workout_summary="good"), "not_an_object"),
        (summarised(distance_accum="far"), "wrong_type:distance_accum"),
        (summarised(duration_total_accum="0.00"), "out_of_range:duration_total_accum"),
        (summarised(duration_total_accum="9999999.00"), "out_of_range:duration_total_accum"),
        (changed(summarised(duration_total_accum=None), minutes=None), "missing_field:duration_total_accum"),
    ],
)
def test_malformed_workouts_are_refused_with_a_reason(payload: JSONValue, expected: str) -> None:
    assert reason(workout_from_workout(payload)) == expected


def test_every_number_has_a_sport() -> None:
    assert set(SPORTS.values()) <= set(SPORT_BY_SLUG)
    assert (sport_of(0), sport_of(9_999), sport_of(None)) == ("cycling", "other", "other")
