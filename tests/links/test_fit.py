"""A FIT file becomes a workout and its course value by value; what is broken is refused and never an exception."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import fitdecode.profile
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregation.catalogue import STREAM_BY_SLUG
from aggregation.records import DataSource
from aggregation.sports import SPORT_BY_SLUG
from links.connectors.fit import reader
from links.connectors.fit.convert import offset_seconds_of, span_of, sport_in, stream_of, workout_fields
from links.connectors.fit.reader import activity_read
from links.connectors.fit.sports import SPORTS, STRIDING, SUB_SPORTS, sport_of
from links.connectors.payload import MalformedError
from simulator.fit import FILE_ID, RECORD, FitWriter, checksum
from tests.links.fit_files import CYCLING, MOUNTAIN, RIDE_RECORDS, RIDE_SESSION, RUNNING, START, fit_file
from tests.links.payloads import DATA

COMPUTER = DataSource(provider="wahoo", type="app")
START_US = int(START.timestamp()) * 1_000_000
NAN = float("nan")


def reason(content: bytes) -> str:
    with pytest.raises(MalformedError) as refused:
        activity_read(content)
    return refused.value.reason


def channel(content: bytes, name: str) -> Any:
    stream = stream_of(activity_read(content), source=COMPUTER, workout="7")
    assert stream is not None
    return stream.channels[name].tolist()


def test_a_ride() -> None:
    ride = activity_read(fit_file())
    assert span_of(ride) == (START, START + timedelta(seconds=3_600.5))
    assert offset_seconds_of(ride) == -8 * 3_600
    assert workout_fields(ride) == {
        "sport": "mountain_biking",
        "average_hr": 141,
        "max_hr": 172,
        "calories": 640.0,
        "distance": 24_890.25,
        "moving_time": 3_500,
        "total_elevation_gain": 320.0,
        "elev_high": pytest.approx(402.4),
        "elev_low": pytest.approx(12.2),
        "average_speed": 6.914,
        "max_speed": 14.2,
        "average_watts": 182.0,
        "device_watts": 182.0,
        "max_watts": 611.0,
        "weighted_average_watts": 197.0,
        "steps": None,
    }


def test_the_course_of_a_ride() -> None:
    stream = stream_of(activity_read(fit_file()), source=COMPUTER, workout="7")
    assert stream is not None
    assert (stream.resource, stream.source, stream.workout) == ("workout_stream", COMPUTER, "7")
    assert stream.time_us.tolist() == [START_US, START_US + 1_000_000, START_US + 2_000_000]
    expected = {
        "altitude": [12.2, 12.6, NAN],
        "velocity_smooth": [0.0, 6.25, 6.5],
        "heartrate": [96.0, NAN, 98.0],
        "distance": [0.0, 6.25, 12.75],
        "power": [0.0, 250.0, 255.0],
        "temperature": [-3.0, -3.0, -3.0],
        "cadence": [0.0, 74.0, 80.0],
        "lat": [34.0522, 34.0523, NAN],
        "lng": [-118.2437, -118.2437, NAN],
    }
    assert set(stream.channels) == set(expected)
    for name, values in expected.items():
        # A semicircle is 0.00000008 degrees.
        assert stream.channels[name].tolist() == pytest.approx(values, abs=1e-6, nan_ok=True)
    bounds = {one.name: one for one in STREAM_BY_SLUG["workout_stream"].channels}
    for name, values_of in stream.channels.items():
        known = values_of[~np.isnan(values_of)]
        assert ((known >= bounds[name].lowest) & (known <= bounds[name].highest)).all()


def test_the_cadence_of_a_run_counts_both_feet() -> None:
    run = fit_file(sessions=[{**RIDE_SESSION, "sport": RUNNING, "sub_sport": 0}])
    assert channel(run, "cadence") == [0.0, 148.0, 160.0]
    assert channel(fit_file(), "cadence") == [0.0, 74.0, 80.0]


def test_what_nobody_measured_is_none() -> None:
    bare = {name: RIDE_SESSION[name] for name in ("timestamp", "start_time", "sport", "total_elapsed_time")}
    found = activity_read(fit_file(sessions=[bare], records=(), offset_seconds=None))
    fields = workout_fields(found)
    assert fields.pop("sport") == "cycling"
    assert set(fields.values()) == {None}
    assert offset_seconds_of(found) is None
    assert stream_of(found, source=COMPUTER, workout="7") is None


def test_nought_calories_and_metres_are_nothing_measured() -> None:
    nought = {**RIDE_SESSION, "total_calories": 0, "total_distance": 0.0, "avg_speed": 0.0, "max_speed": 0.0}
    fields = workout_fields(activity_read(fit_file(sessions=[nought])))
    assert [fields[name] for name in ("calories", "distance", "average_speed", "max_speed")] == [None] * 4


def test_without_a_session_the_records_tell_the_times() -> None:
    found = activity_read(fit_file(sessions=()))
    assert span_of(found) == (START, START + timedelta(seconds=2))
    assert sport_in(found) == "other"
    assert workout_fields(found)["elev_high"] == pytest.approx(12.6)


def test_several_sports_are_a_triathlon() -> None:
    swim = {**RIDE_SESSION, "sport": 5, "sub_sport": 18, "total_timer_time": 1_750.0, "avg_heart_rate": 120}
    change = {**RIDE_SESSION, "sport": 3, "total_elapsed_time": 60.0, "total_distance": 0.0, "avg_heart_rate": None}
    fields = workout_fields(activity_read(fit_file(sessions=[swim, change, RIDE_SESSION])))
    assert (fields["sport"], fields["distance"], fields["max_hr"]) == ("triathlon", 2 * 24_890.25, 172)
    # By the time of each: a third of 120, two thirds of 141.
    assert fields["average_hr"] == 134


@pytest.mark.parametrize(
    ("offset_seconds", "expected"),
    [(19_800, 19_800), (-12_600, -12_600), (3_599, 3_600), (0, 0), (15 * 3_600, None)],
)
def test_the_local_offset_is_of_whole_quarters(offset_seconds: int, expected: int | None) -> None:
    assert offset_seconds_of(activity_read(fit_file(offset_seconds=offset_seconds))) == expected


def test_messages_of_one_second_are_one_moment_and_time_goes_on() -> None:
    at = int(RIDE_RECORDS[0]["timestamp"] or 0)
    records: list[dict[str, float | None]] = [
        {"timestamp": at + 1, "heart_rate": 100},
        {"timestamp": at + 1, "power": 200},
        {"timestamp": at, "heart_rate": 90},
        {"timestamp": at + 1, "heart_rate": 101},
    ]
    found = activity_read(fit_file(records=records))
    assert (found.seconds - at).tolist() == [0, 1]
    assert found.columns["heart_rate"].tolist() == [90.0, 101.0]
    beside = activity_read(fit_file(records=records[:3]))
    assert beside.columns["power"].tolist() == pytest.approx([NAN, 200.0], nan_ok=True)


def test_a_time_since_the_device_was_switched_on_is_no_instant() -> None:
    records = ({"timestamp": 12.0, "heart_rate": 100.0}, *RIDE_RECORDS)
    assert len(activity_read(fit_file(records=records)).seconds) == 3


GOOD = fit_file()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "fit_not_a_file"),
        (b"<!doctype html>" + b" " * 100, "fit_not_a_file"),
        (GOOD[:11], "fit_not_a_file"),
        (b"\x0d" + GOOD[1:], "fit_not_a_file"),
        (GOOD[:-3], "fit_truncated"),
        (GOOD[: len(GOOD) // 2], "fit_truncated"),
        (GOOD[:40] + b"\x55" + GOOD[41:], "fit_bad_checksum"),
        (fit_file(records=(), sessions=(), offset_seconds=None), "fit_empty"),
        (fit_file(kind=6), "fit_no_activity"),
    ],
)
def test_what_is_no_whole_file_is_refused(content: bytes, expected: str) -> None:
    assert reason(content) == expected


def test_what_follows_the_file_is_left_alone() -> None:
    assert len(activity_read(GOOD + b"\x00" * 9).seconds) == 3


def test_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MESSAGES_MAXIMUM", "FIELDS_MAXIMUM"):
        with monkeypatch.context() as narrow:
            narrow.setattr(reader, name, 7)
            assert reason(GOOD) == "fit_too_many_messages"
    monkeypatch.setattr(reader, "FILE_MAXIMUM_BYTES", len(GOOD) - 1)
    assert reason(GOOD) == "fit_too_large"


@pytest.mark.parametrize(
    "changed",
    [
        {"total_elapsed_time": 0.0},
        {"total_elapsed_time": 8 * 86_400.0},
    ],
)
def test_times_that_cannot_be_are_refused(changed: dict[str, float]) -> None:
    with pytest.raises(MalformedError) as refused:
        span_of(activity_read(fit_file(sessions=[{**RIDE_SESSION, **changed}])))
    assert refused.value.reason == "fit_no_times"


def test_a_session_without_records_or_start_has_no_times() -> None:
    bare = {name: value for name, value in RIDE_SESSION.items() if name != "start_time"}
    with pytest.raises(MalformedError) as refused:
        span_of(activity_read(fit_file(sessions=[bare], records=())))
    assert refused.value.reason == "fit_no_times"


def resealed(content: bytes) -> bytes:
    """The same bytes under a checksum that fits: what a vendor wrote wrong."""
    body = content[:-2]
    return body + checksum(body).to_bytes(2, "little")


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(14, len(GOOD) - 3), st.integers(0, 255)), min_size=1, max_size=12))
def test_garbled_files_are_read_or_refused(changes: list[tuple[int, int]]) -> None:
    garbled = bytearray(GOOD)
    for place, byte in changes:
        garbled[place] = byte
    read_or_refused(resealed(bytes(garbled)))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_any_body_is_read_or_refused(body: bytes) -> None:
    head = bytes([14, 0x20, 0, 0]) + len(body).to_bytes(4, "little") + b".FIT"
    read_or_refused(resealed(head + checksum(head).to_bytes(2, "little") + body + b"\x00\x00"))


def read_or_refused(content: bytes) -> None:
    """Nothing but MalformedError is raised, whatever the bytes are."""
    with suppress(MalformedError):
        found = activity_read(content)
        workout_fields(found)
        offset_seconds_of(found)
        stream_of(found, source=COMPUTER, workout="7")
        span_of(found)


def test_every_word_of_the_profile_has_a_sport() -> None:
    assert {*SPORTS.values(), *SUB_SPORTS.values()} <= set(SPORT_BY_SLUG)
    words = {name: set(fitdecode.profile.FIELD_TYPES[name].enum.values()) for name in ("sport", "sub_sport")}
    names = {kind: {getattr(one, "name", one) for one in found} for kind, found in words.items()}
    assert set(SPORTS) <= names["sport"]
    assert set(SUB_SPORTS) <= names["sub_sport"]
    assert names["sport"] >= STRIDING
    assert {sport_of(sport, sub) for sport in names["sport"] for sub in names["sub_sport"]} <= set(SPORT_BY_SLUG)
    assert (sport_of("cycling", "virtual_activity"), sport_of("running", "treadmill"), sport_of("chess")) == (
        "indoor_cycling",
        "treadmill_running",
        "other",
    )


def test_the_writer_writes_what_it_always_wrote() -> None:
    assert (DATA / "fit/ride.fit").read_bytes() == fit_file()


def test_the_writer_defines_a_message_again_where_its_fields_change() -> None:
    writer = FitWriter()
    writer.write(FILE_ID, {"type": 4})
    writer.write(RECORD, {"timestamp": 1_000_000_000, "heart_rate": 60})
    writer.write(RECORD, {"timestamp": 1_000_000_001, "power": 90, "heart_rate": 61})
    found = activity_read(writer.file())
    assert found.columns["heart_rate"].tolist() == [60.0, 61.0]
    assert datetime.fromtimestamp(int(found.seconds[0]) + reader.FIT_EPOCH_SECONDS, UTC).year == 2021
    assert (CYCLING, MOUNTAIN) == (2, 8)
