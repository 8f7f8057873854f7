"""Oura's documents become records value by value, and what is malformed is refused with a reason."""

from datetime import UTC, date, datetime
from itertools import pairwise

import pytest

from aggregation.records import OFFSET_UNKNOWN, UNDATED, DataSource, Refusal, SummaryRecord
from aggregation.sports import SPORT_BY_SLUG
from aggregation.store.checking import Ingestion, summary_reason
from healthsvc.kernel.typing import JSONValue
from links.connectors.oura.catalogue import _OTHER_WORDS, _SAME, sport_of
from links.connectors.oura.convert import (
    KnownOffset,
    activity_from_daily_activity,
    has_stages,
    heartrate_from_points,
    hrv_from_sleep,
    known_offsets,
    profile_from_personal_info,
    sleep_cycle_from_sleep,
    sleep_from_sleep,
    sleep_scores,
    workout_from_workout,
)
from tests.links.payloads import changed, load, mapping, rows, without

STAGE_FIELDS = ("stage_start_offset_second", "stage_end_offset_second", "stage_type")
RING = DataSource(provider="oura", type="ring")
EST_SECONDS, EDT_SECONDS = -5 * 3600, -4 * 3600

DAY = rows("oura/daily_activity.json", "data")[0]
NIGHT, NAP, REJECTED = rows("oura/sleep.json", "data")
RUN, PARAGLIDING = rows("oura/workout.json", "data")
POINTS = rows("oura/heartrate.json", "data")


def record(converted: SummaryRecord | Refusal) -> SummaryRecord:
    assert isinstance(converted, SummaryRecord), converted
    return converted


def test_a_day_of_activity_value_by_value() -> None:
    assert activity_from_daily_activity(DAY) == SummaryRecord(
        resource="activity",
        source=RING,
        external_id="8f9a5221-639e-4a85-81cb-4065ef23f979",
        calendar_date=date(2026, 3, 7),
        starts_at=None,
        ends_at=None,
        timezone_offset_seconds=EST_SECONDS,
        fields={
            "timezone_offset": EST_SECONDS,
            "calories_total": 2417.0,
            "calories_active": 431.0,
            "steps": 9348,
            "daily_movement": 8122.0,
            "low": 170.0,
            "medium": 30.0,
            "high": 20.0,
        },
        raw=mapping(DAY),
    )


def test_a_night_over_the_change_of_clocks_value_by_value() -> None:
    scores = sleep_scores(rows("oura/daily_sleep.json", "data"))
    night = record(sleep_from_sleep(NIGHT, scores=scores))
    assert (night.resource, night.source, night.raw) == ("sleep", RING, NIGHT)
    assert night.external_id == "b3c1ad4e-0b6b-4e4c-a4c5-1f0a7e5d9c77"
    assert night.calendar_date == date(2026, 3, 8)
    assert night.starts_at == datetime(2026, 3, 8, 3, 40, tzinfo=UTC)
    assert night.ends_at == datetime(2026, 3, 8, 11, 10, tzinfo=UTC)
    assert (night.starts_at.tzinfo, night.ends_at.tzinfo) == (UTC, UTC)
    assert night.timezone_offset_seconds == EDT_SECONDS
    assert night.fields == {
        "bedtime_start": "2026-03-08T03:40:00+00:00",
        "bedtime_stop": "2026-03-08T11:10:00+00:00",
        "timezone_offset": EDT_SECONDS,
        "type": "long_sleep",
        "duration": 27_000,
        "total": 26_100,
        "awake": 900,
        "light": 15_900,
        "rem": 6_000,
        "deep": 4_200,
        "score": 79,
        "recovery_readiness_score": 84,
        "hr_lowest": 48,
        "hr_average": 55,
        "efficiency": 97.0,
        "latency": 300,
        "temperature_delta": -0.17,
        "average_hrv": 47.0,
        "respiratory_rate": 14.25,
    }


def test_a_nap_has_no_score_and_no_invented_heart_rate() -> None:
    nap = record(sleep_from_sleep(NAP, scores={date(2026, 3, 8): 79}))
    assert nap.fields["type"] == "acknowledged_nap"
    assert (nap.fields["total"], nap.fields["duration"]) == (1800, 2400)
    for absent in ("score", "hr_lowest", "hr_average", "average_hrv", "recovery_readiness_score", "temperature_delta"):
        assert nap.fields[absent] is None


def test_a_nap_its_person_rejected_and_a_deleted_night_are_not_stored() -> None:
    assert sleep_from_sleep(REJECTED) == Refusal("sleep", "rejected_by_person")
    assert sleep_from_sleep(changed(NIGHT, type="deleted")) == Refusal("sleep", "deleted_at_source")


def test_workouts_value_by_value() -> None:
    run = record(workout_from_workout(RUN))
    assert (run.resource, run.calendar_date, run.raw) == ("workouts", date(2026, 3, 8), RUN)
    assert run.starts_at == datetime(2026, 3, 8, 22, 30, tzinfo=UTC)
    assert run.ends_at == datetime(2026, 3, 8, 23, 10, tzinfo=UTC)
    assert run.timezone_offset_seconds == EDT_SECONDS
    assert run.fields == {
        "time_start": "2026-03-08T22:30:00+00:00",
        "time_end": "2026-03-08T23:10:00+00:00",
        "timezone_offset": EDT_SECONDS,
        "title": "Evening run",
        "sport": "running",
        "calories": 412.5,
        "distance": 7310.0,
        "moving_time": 2400,
        "provider_id": "c7a1f9c5-2f46-4f69-9c3f-1b2f6d1e1a10",
    }
    unknown = record(workout_from_workout(PARAGLIDING))
    assert (unknown.fields["sport"], unknown.fields["calories"], unknown.fields["title"]) == ("other", None, None)


def test_every_sport_of_the_table_is_a_sport_of_the_api() -> None:
    assert {sport_of(word) for word in _SAME} | set(_OTHER_WORDS.values()) <= set(SPORT_BY_SLUG)


def test_heart_rate_points_take_the_last_known_offset() -> None:
    offsets = known_offsets([DAY, NIGHT, "no document", {"timestamp": "never"}])
    assert offsets == (
        KnownOffset(1_772_874_000_000_000, EST_SECONDS),
        KnownOffset(1_772_941_200_000_000, EST_SECONDS),
        KnownOffset(1_772_968_200_000_000, EDT_SECONDS),
    )
    series = heartrate_from_points(POINTS, offsets)
    (batch,) = series.batches
    assert (batch.resource, batch.source) == ("heartrate", RING)
    assert batch.samples.start_us.tolist() == [1_772_952_900_000_000, 1_772_971_200_000_000, 1_773_009_060_000_000]
    assert batch.samples.values.tolist() == [52.0, 71.0, 134.0]
    assert batch.samples.offset_seconds.tolist() == [EST_SECONDS, EDT_SECONDS, EDT_SECONDS]
    assert batch.samples.end_us is None
    assert series.refusals == (
        Refusal("heartrate", "bad_time:timestamp", 1),
        Refusal("heartrate", "out_of_range:bpm", 1),
    )


def test_heart_rate_points_without_any_offset_say_so() -> None:
    (batch,) = heartrate_from_points(POINTS).batches
    assert batch.samples.offset_seconds.tolist() == [OFFSET_UNKNOWN] * 3


def test_a_point_before_the_first_known_offset_takes_that_one() -> None:
    (batch,) = heartrate_from_points(POINTS[:1], [KnownOffset(1_773_000_000_000_000, EDT_SECONDS)]).batches
    assert batch.samples.offset_seconds.tolist() == [EDT_SECONDS]


def test_no_points_make_no_batch() -> None:
    assert heartrate_from_points([]).batches == ()


def test_heart_rate_variability_of_a_night_leaves_gaps_out() -> None:
    (batch,) = hrv_from_sleep(NIGHT).batches
    start_us = 1_772_941_200_000_000
    assert batch.resource == "hrv"
    assert batch.samples.start_us.tolist() == [start_us, start_us + 600_000_000, start_us + 900_000_000]
    assert batch.samples.values.tolist() == [38.0, 44.0, 51.0]
    assert batch.samples.offset_seconds.tolist() == [EST_SECONDS] * 3
    assert hrv_from_sleep(NAP).batches == ()


def test_stages_cover_the_night_without_a_gap() -> None:
    cycle = record(sleep_cycle_from_sleep(NIGHT))
    night = record(sleep_from_sleep(NIGHT))
    assert (cycle.resource, cycle.source, cycle.external_id) == ("sleep_cycle", RING, night.external_id)
    assert (cycle.starts_at, cycle.ends_at, cycle.calendar_date) == (night.starts_at, night.ends_at, date(2026, 3, 8))
    assert cycle.timezone_offset_seconds == EDT_SECONDS
    begins, ends, stages = (list_of(cycle, name) for name in STAGE_FIELDS)
    assert (begins[0], ends[-1]) == (0, 27_000)
    assert begins[1:] == ends[:-1]
    assert all(earlier != later for earlier, later in pairwise(stages))
    spans = [(stage, end - begin) for begin, end, stage in zip(begins, ends, stages, strict=True)]
    assert [sum(span for kind, span in spans if kind == stage) for stage in (1, 2, 3, 4)] == [
        4_200, 15_900, 6_000, 900,
    ]  # fmt: skip
    assert cycle.fields["sleep_external_id"] == night.external_id
    assert summary_reason(cycle, Ingestion()) is None


def test_stages_that_are_unknown_or_run_on_after_the_night() -> None:
    odd = record(sleep_cycle_from_sleep(changed(NIGHT, sleep_phase_5_min="42xx1")))
    assert [list_of(odd, name) for name in STAGE_FIELDS] == [
        [0, 300, 600, 1_200], [300, 600, 1_200, 1_500], [4, 2, -1, 1],
    ]  # fmt: skip
    longer = record(sleep_cycle_from_sleep(changed(NIGHT, sleep_phase_5_min="2" * 89 + "1" * 7)))
    assert [list_of(longer, name) for name in STAGE_FIELDS] == [[0, 26_700], [26_700, 27_000], [2, 1]]
    assert has_stages(NIGHT)
    for none in (REJECTED, changed(NIGHT, type="deleted"), changed(NIGHT, sleep_phase_5_min=None), "text"):
        assert not has_stages(none)
    assert sleep_cycle_from_sleep(without(NIGHT, "id")) == Refusal("sleep_cycle", "missing_field:id")


def test_a_profile_without_the_email_address() -> None:
    person = load("oura/personal_info.json")
    profile = record(profile_from_personal_info(changed(person, height=1.757, biological_sex="female", email="a@x.y")))
    assert (profile.resource, profile.external_id, profile.calendar_date) == ("profile", "profile", UNDATED)
    assert profile.fields == {"height": 176, "sex": "female"}
    assert profile.raw is not None
    assert set(profile.raw) == set(person) - {"email"}
    assert summary_reason(profile, Ingestion(start_on=date(2026, 1, 1))) is None
    nothing = record(profile_from_personal_info({"id": "x", "biological_sex": "x"}))
    assert nothing.fields == {"height": None, "sex": "other"}


def list_of(converted: SummaryRecord, name: str) -> list[int]:
    found = converted.fields[name]
    assert isinstance(found, list)
    return [value for value in found if isinstance(value, int)]


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        ("text", "not_an_object"),
        (without(DAY, "id"), "missing_field:id"),
        (changed(DAY, day="07/03/2026"), "bad_time:day"),
        (changed(DAY, timestamp="2026-03-07T04:00:00"), "bad_time:timestamp"),
        (changed(DAY, timestamp="2026-03-07T04:00:00+23:00"), "bad_time:timestamp"),
        (changed(DAY, steps="9348"), "wrong_type:steps"),
        (changed(DAY, steps=True), "wrong_type:steps"),
        (changed(DAY, steps=9348.5), "wrong_type:steps"),
        (changed(DAY, total_calories=float("nan")), "wrong_type:total_calories"),
    ],
)
def test_a_malformed_day_is_refused(payload: JSONValue, reason: str) -> None:
    assert activity_from_daily_activity(payload) == Refusal("daily_activity", reason)


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (without(NIGHT, "type"), "missing_field:type"),
        (changed(NIGHT, bedtime_end="2026-03-07T22:40:00.000-05:00"), "ends_before_start"),
        (changed(NIGHT, efficiency=970), "out_of_range:efficiency"),
        (changed(NIGHT, average_breath=[14.25]), "wrong_type:average_breath"),
    ],
)
def test_a_malformed_night_is_refused(payload: JSONValue, reason: str) -> None:
    assert sleep_from_sleep(payload) == Refusal("sleep", reason)


def test_a_malformed_sample_object_is_refused() -> None:
    assert hrv_from_sleep(changed(NIGHT, hrv={"items": "many"})).refusals == (Refusal("sleep", "wrong_type:hrv", 1),)
    broken: JSONValue = {"interval": 0, "items": [40], "timestamp": "2026-03-07T22:40:00-05:00"}
    assert hrv_from_sleep(changed(NIGHT, hrv=broken)).refusals == (Refusal("sleep", "out_of_range:interval", 1),)
    mixed: JSONValue = {"interval": 300, "items": [40, "x", -1], "timestamp": "2026-03-07T22:40:00-05:00"}
    series = hrv_from_sleep(changed(NIGHT, hrv=mixed))
    assert series.batches[0].samples.values.tolist() == [40.0]
    assert series.refusals == (Refusal("sleep", "out_of_range:hrv", 1), Refusal("sleep", "wrong_type:hrv", 1))
