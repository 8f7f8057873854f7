"""Strava's documents become records value by value, and what is malformed is refused with a reason."""

from datetime import UTC, date, datetime

import numpy as np
import orjson
import pytest

from aggregation.catalogue import WORKOUT_STREAM
from aggregation.catalogue.summaries.movement import _POLYLINE_CHARACTERS
from aggregation.records import UNDATED, DataSource, Refusal, StreamRecord, SummaryRecord
from aggregation.sports import SPORT_BY_SLUG
from aggregation.store.checking import Ingestion, summary_reason
from healthsvc.kernel.typing import JSONValue
from links.connectors.payload import microseconds
from links.connectors.strava import convert
from links.connectors.strava.catalogue import SPORTS, STRIDING, sport_of
from links.connectors.strava.convert import (
    Course,
    course_from_streams,
    may_have_streams,
    profile_from_athlete,
    time_zone_of,
    workout_from_activity,
)
from tests.links.payloads import DATA, changed, load, mapping, without

APP = DataSource(provider="strava", type="app")
PDT_SECONDS, EEST_SECONDS = -7 * 3600, 3 * 3600

RIDE, RUN, MANUAL = (load(f"strava/activity_{name}.json") for name in ("ride", "run", "manual"))
STREAMS_RIDE, STREAMS_RUN = load("strava/streams_ride.json"), load("strava/streams_run.json")
ATHLETE = load("strava/athlete.json")

#: `SportType` of the API v3 reference.
SPORT_TYPES: list[str] = orjson.loads((DATA / "strava/sport_types.json").read_bytes())


def record(converted: SummaryRecord | Refusal) -> SummaryRecord:
    assert isinstance(converted, SummaryRecord), converted
    return converted


def stream(course: Course) -> StreamRecord:
    assert course.stream is not None, course.refusals
    return course.stream


def test_a_ride_value_by_value() -> None:
    ride = record(workout_from_activity(RIDE))
    assert (ride.resource, ride.source, ride.external_id) == ("workouts", APP, "15230011223")
    assert ride.calendar_date == date(2026, 3, 8)
    assert ride.starts_at == datetime(2026, 3, 8, 13, 10, 5, tzinfo=UTC)
    assert ride.ends_at == datetime(2026, 3, 8, 14, 23, 35, tzinfo=UTC)
    assert ride.timezone_offset_seconds == PDT_SECONDS
    assert ride.fields == {
        "time_start": "2026-03-08T13:10:05+00:00",
        "time_end": "2026-03-08T14:23:35+00:00",
        "timezone_offset": PDT_SECONDS,
        "title": "Early ride",
        "sport": "cycling",
        "average_hr": 141,
        "max_hr": 178,
        "calories": 870.2,
        "distance": 28_099.5,
        "moving_time": 4207,
        "total_elevation_gain": 516.0,
        "elev_high": 446.6,
        "elev_low": 17.2,
        "average_speed": 6.679,
        "max_speed": 18.5,
        "average_watts": 185.5,
        "device_watts": 185.5,
        "max_watts": 743.0,
        "weighted_average_watts": 230.0,
        "map": {
            "polyline": "ki{eFvqfiVqAWQIGEEKAYJgBVqDJ{BHa@jAkNJw@",
            "summary_polyline": "ki{eFvqfiVsBmA`Feh@",
        },
        "provider_id": "15230011223",
    }


def test_what_is_large_or_of_others_is_not_kept() -> None:
    raw = mapping(record(workout_from_activity(RIDE)).raw)
    assert set(RIDE) - set(raw) == {"segment_efforts", "photos", "embed_token"}
    assert {name: RIDE[name] for name in raw} == raw


def test_a_run_over_midnight_is_of_the_day_it_began_and_lasts_with_its_pauses() -> None:
    run = record(workout_from_activity(RUN))
    assert run.calendar_date == date(2026, 6, 20)
    assert (run.starts_at, run.ends_at) == (
        datetime(2026, 6, 20, 20, 35, tzinfo=UTC),
        datetime(2026, 6, 20, 21, 35, tzinfo=UTC),
    )
    assert run.timezone_offset_seconds == EEST_SECONDS
    assert (run.fields["sport"], run.fields["moving_time"]) == ("running", 3300)
    assert run.fields["average_hr"] == 152
    assert run.fields["average_watts"] is None


def test_what_was_typed_in_has_nothing_that_was_not_measured() -> None:
    yoga = record(workout_from_activity(MANUAL))
    assert (yoga.fields["sport"], yoga.fields["moving_time"]) == ("yoga", 2700)
    nothing = ("title", "calories", "distance", "average_speed", "max_speed", "average_hr", "max_hr", "map", "elev_low")
    assert {name: yoga.fields[name] for name in nothing} == dict.fromkeys(nothing)


def test_estimated_power_is_not_a_device_s() -> None:
    estimated = record(workout_from_activity(changed(RIDE, device_watts=False)))
    assert (estimated.fields["average_watts"], estimated.fields["device_watts"]) == (185.5, None)


@pytest.mark.parametrize("missing", sorted(set(RIDE) - {"id", "start_date", "elapsed_time"}))
def test_a_field_that_is_left_out_is_left_out(missing: str) -> None:
    for poorer in (without(RIDE, missing), changed(RIDE, **{missing: None})):
        assert summary_reason(record(workout_from_activity(poorer)), Ingestion()) is None


def test_the_offset_is_that_of_the_local_clock_where_none_is_told() -> None:
    told = record(workout_from_activity(without(RIDE, "utc_offset")))
    assert (told.timezone_offset_seconds, told.calendar_date) == (PDT_SECONDS, date(2026, 3, 8))
    untold = record(workout_from_activity(without(without(RUN, "utc_offset"), "start_date_local")))
    assert (untold.timezone_offset_seconds, untold.calendar_date) == (None, date(2026, 6, 20))
    late = record(workout_from_activity(without(changed(RUN, start_date="2026-06-20T21:35:00Z"), "start_date_local")))
    assert late.calendar_date == date(2026, 6, 21)


@pytest.mark.parametrize(
    ("strange", "reason"),
    [
        ({"id": None}, "missing_field:id"),
        ({"id": "15230011223"}, "wrong_type:id"),
        ({"id": True}, "wrong_type:id"),
        ({"id": 2**63}, "wrong_type:id"),
        ({"start_date": None}, "missing_field:start_date"),
        ({"start_date": "yesterday"}, "bad_time:start_date"),
        ({"start_date": "2026-03-08T13:10:05"}, "bad_time:start_date"),
        ({"start_date": "0001-01-01T00:00:00Z"}, "bad_time:start_date"),
        ({"start_date_local": "noon"}, "bad_time:start_date_local"),
        ({"elapsed_time": None}, "missing_field:elapsed_time"),
        ({"elapsed_time": 0}, "ends_before_start"),
        ({"elapsed_time": -5}, "ends_before_start"),
        ({"elapsed_time": 1e12}, "out_of_range:elapsed_time"),
        ({"elapsed_time": 60.5}, "wrong_type:elapsed_time"),
        ({"utc_offset": 1e9}, "out_of_range:utc_offset"),
        ({"utc_offset": 0.5}, "out_of_range:utc_offset"),
        ({"distance": "28 km"}, "wrong_type:distance"),
        ({"name": 7}, "wrong_type:name"),
        ({"sport_type": None, "type": None}, "missing_field:type"),
    ],
)
def test_a_strange_activity_is_refused_with_a_reason(strange: dict[str, JSONValue], reason: str) -> None:
    assert workout_from_activity(changed(RIDE, **strange)) == Refusal("activity", reason)


@pytest.mark.parametrize("payload", [None, "activity", 7, [], True])
def test_what_is_no_object_is_refused(payload: JSONValue) -> None:
    assert workout_from_activity(payload) == Refusal("activity", "not_an_object")
    assert profile_from_athlete(payload) == Refusal("athlete", "not_an_object")
    assert course_from_streams(payload, RIDE) == Course(None, (Refusal("streams", "not_an_object"),))
    assert course_from_streams(STREAMS_RIDE, payload) == Course(None, (Refusal("streams", "not_an_object"),))


def test_a_route_that_is_too_long_to_keep_costs_no_workout() -> None:
    assert convert._POLYLINE_MAXIMUM_CHARACTERS == _POLYLINE_CHARACTERS
    endless: JSONValue = {"polyline": "_" * (_POLYLINE_CHARACTERS + 1), "summary_polyline": "_p~iF"}
    ride = record(workout_from_activity(changed(RIDE, map=endless)))
    assert ride.fields["map"] == {"summary_polyline": "_p~iF"}


def test_every_sport_type_has_a_sport() -> None:
    assert len(SPORT_TYPES) == 50
    assert set(SPORT_TYPES) <= set(SPORTS)
    assert set(SPORTS.values()) <= set(SPORT_BY_SLUG)
    assert {name for name, sport in SPORTS.items() if sport == "other"} == {"Padel", "Workout"}
    assert set(SPORTS) >= STRIDING
    assert sport_of("Quidditch", trainer=True) == "other"


def test_a_sport_on_a_trainer_is_the_one_indoors() -> None:
    indoors = record(workout_from_activity(changed(RIDE, sport_type="Ride", trainer=True)))
    assert indoors.fields["sport"] == "indoor_cycling"
    assert sport_of("Run", trainer=True) == "treadmill_running"
    assert sport_of("Yoga", trainer=True) == "yoga"
    older = record(workout_from_activity(without(RUN, "sport_type")))
    assert older.fields["sport"] == "running"


def test_the_streams_of_a_ride_value_by_value() -> None:
    course = course_from_streams(STREAMS_RIDE, RIDE)
    assert course.refusals == ()
    found = stream(course)
    assert (found.resource, found.source, found.workout) == ("workout_stream", APP, "15230011223")
    start_us = microseconds(datetime(2026, 3, 8, 13, 10, 5, tzinfo=UTC))
    assert found.time_us.tolist() == [start_us + second * 1_000_000 for second in (0, 1, 2, 5)]
    assert found.time_us.dtype == np.int64
    nothing = float("nan")
    expected = {
        "lat": [37.833112, 37.832964, 37.832811, 37.8324],
        "lng": [-122.483436, -122.483406, -122.483372, -122.48329],
        "distance": [0.0, 5.8, 12.4, 31.0],
        "altitude": [92.4, 93.4, 94.4, 95.4],
        "velocity_smooth": [0.0, 5.8, 6.2, 6.2],
        "heartrate": [94.0, 95.0, nothing, 99.0],
        "cadence": [0.0, 62.0, 78.0, 81.0],
        "power": [nothing, 201.0, 188.0, nothing],
        "temperature": [4.0, 4.0, 4.0, 5.0],
    }
    assert set(found.channels) == set(expected)
    for name, values in expected.items():
        assert found.channels[name].dtype == np.float64
        np.testing.assert_array_equal(found.channels[name], values)


def test_a_runner_s_cadence_counts_both_legs() -> None:
    assert stream(course_from_streams(STREAMS_RUN, RUN)).channels["cadence"].tolist() == [0.0, 164.0, 168.0]
    assert stream(course_from_streams(STREAMS_RUN, RIDE)).channels["cadence"].tolist() == [0.0, 82.0, 84.0]


def test_every_channel_is_one_of_the_store_s_and_in_its_range() -> None:
    ranges = {channel.name: (channel.lowest, channel.highest) for channel in WORKOUT_STREAM.channels}
    for payload, activity in ((STREAMS_RIDE, RIDE), (STREAMS_RUN, RUN)):
        for name, values in stream(course_from_streams(payload, activity)).channels.items():
            lowest, highest = ranges[name]
            assert ((values >= lowest) & (values <= highest) | np.isnan(values)).all()


@pytest.mark.parametrize(
    ("strange", "reason"),
    [
        ({"time": None}, "missing_field:time"),
        ({"time": {"data": []}}, "wrong_type:time"),
        ({"time": {"data": [0, 1, None, 5]}}, "wrong_type:time"),
        ({"time": {"data": [0, 1, "2", 5]}}, "wrong_type:time"),
        ({"time": {"data": [-1, 0, 1, 2]}}, "out_of_range:time"),
        ({"time": {"data": [0, 1, 2, 1e15]}}, "out_of_range:time"),
        ({"time": 5}, "wrong_type:time"),
    ],
)
def test_streams_without_a_good_time_are_refused(strange: dict[str, JSONValue], reason: str) -> None:
    course = course_from_streams(changed(STREAMS_RIDE, **strange), RIDE)
    assert course == Course(None, (Refusal("streams", reason),))


@pytest.mark.parametrize(
    ("strange", "reason", "lost"),
    [
        ({"heartrate": {"data": [94]}}, "wrong_length:heartrate", {"heartrate"}),
        ({"heartrate": {"data": [94, True, 95, 96]}}, "wrong_type:heartrate", {"heartrate"}),
        ({"watts": {"data": "much"}}, "wrong_type:watts", {"power"}),
        ({"latlng": {"data": [[1, 2], [1, 2], [1], [1, 2]]}}, "wrong_type:latlng", {"lat", "lng"}),
        ({"latlng": {"data": [[1, 2], [1, 2], "here", [1, 2]]}}, "wrong_type:latlng", {"lat", "lng"}),
        ({"latlng": {"data": [[1, 2], [1, 2], ["1", "2"], [1, 2]]}}, "wrong_type:latlng", {"lat", "lng"}),
    ],
)
def test_a_strange_stream_takes_no_other_down(strange: dict[str, JSONValue], reason: str, lost: set[str]) -> None:
    course = course_from_streams(changed(STREAMS_RIDE, **strange), RIDE)
    assert course.refusals == (Refusal("streams", reason),)
    whole = stream(course_from_streams(STREAMS_RIDE, RIDE)).channels
    assert set(stream(course).channels) == set(whole) - lost


def test_streams_that_hold_nothing_are_no_stream() -> None:
    times: JSONValue = {"time": {"data": [0, 1]}, "watts": {"data": [None, None]}}
    assert course_from_streams(times, RIDE) == Course(None, ())
    unmoved: JSONValue = {"time": {"data": [0, 1]}, "latlng": {"data": [None, None]}, "heartrate": {"data": [90, 91]}}
    assert set(stream(course_from_streams(unmoved, RIDE)).channels) == {"heartrate"}


def test_a_place_that_is_missing_for_a_moment_is_missing_for_that_moment() -> None:
    gap: JSONValue = {"time": {"data": [0, 1]}, "latlng": {"data": [None, [60.1, 24.9]]}}
    channels = stream(course_from_streams(gap, RIDE)).channels
    np.testing.assert_array_equal(channels["lat"], [float("nan"), 60.1])
    np.testing.assert_array_equal(channels["lng"], [float("nan"), 24.9])


def test_an_athlete_value_by_value() -> None:
    profile = record(profile_from_athlete(ATHLETE))
    assert profile == SummaryRecord(
        resource="profile",
        source=APP,
        external_id="profile",
        calendar_date=UNDATED,
        starts_at=None,
        ends_at=None,
        timezone_offset_seconds=None,
        fields={"sex": "female"},
        raw={
            "id": 134815,
            "resource_state": 3,
            "sex": "F",
            "weight": 62.5,
            "ftp": None,
            "measurement_preference": "meters",
            "created_at": "2017-11-14T02:30:05Z",
            "updated_at": "2026-02-06T19:32:20Z",
        },
    )
    assert record(profile_from_athlete(changed(ATHLETE, sex="M"))).fields == {"sex": "male"}
    assert record(profile_from_athlete(changed(ATHLETE, sex="X"))).fields == {"sex": "other"}
    assert record(profile_from_athlete(without(ATHLETE, "sex"))).fields == {"sex": None}
    assert profile_from_athlete(changed(ATHLETE, sex=1)) == Refusal("athlete", "wrong_type:sex")


def test_what_strava_recorded_is_stored() -> None:
    found = [record(workout_from_activity(one)) for one in (RIDE, RUN, MANUAL)]
    assert [summary_reason(one, Ingestion()) for one in [*found, record(profile_from_athlete(ATHLETE))]] == [None] * 4


def test_the_time_zone_is_the_last_that_is_named() -> None:
    listed = orjson.loads((DATA / "strava/activities.json").read_bytes())
    assert [row["timezone"] for row in listed] == [
        "(GMT-08:00) America/Los_Angeles",
        "(GMT+02:00) Europe/Helsinki",
        "(GMT+02:00) Europe/Helsinki",
    ]
    assert time_zone_of(listed) == "Europe/Helsinki"
    assert time_zone_of([*listed, {"timezone": "somewhere"}, {"timezone": 7}, "row"]) == "Europe/Helsinki"
    assert time_zone_of([]) is None


def test_what_was_typed_in_is_not_asked_for_streams() -> None:
    assert [may_have_streams(one) for one in (RIDE, RUN, MANUAL, "activity")] == [True, True, False, False]
