"""WHOOP's records become ours value by value, and what is malformed is refused with a reason."""

from datetime import UTC, date, datetime, timedelta

import pytest

from aggregation.catalogue import SERIES_BY_SLUG
from aggregation.records import OFFSET_UNKNOWN, UNDATED, DataSource, Refusal, SummaryRecord
from aggregation.sports import SPORT_BY_SLUG
from aggregation.store.checking import Ingestion, sample_reasons, summary_reason
from healthsvc.kernel.typing import JSONValue
from links.connectors.whoop.catalogue import _OTHER_WORDS, _SAME, sport_of
from links.connectors.whoop.convert import (
    activity_from_cycle,
    profile_from_body_measurement,
    recoveries_by_sleep,
    series_from_recoveries,
    sleep_from_sleep,
    workout_from_workout,
)
from tests.links.payloads import changed, load, mapping, rows, without

STRAP = DataSource(provider="whoop_v2", type="watch")
EST_SECONDS, EDT_SECONDS = -5 * 3600, -4 * 3600
MILLISECONDS = 774_000

NAP, NIGHT, PENDING = rows("whoop/sleep.json", "records")
RECOVERIES = rows("whoop/recovery.json", "records")
UNDER_WAY, CYCLE = rows("whoop/cycle.json", "records")
RUN, STRANGE = rows("whoop/workout.json", "records")


def record(converted: SummaryRecord | Refusal) -> SummaryRecord:
    assert isinstance(converted, SummaryRecord), converted
    assert summary_reason(converted, Ingestion()) is None
    return converted


def reason(converted: SummaryRecord | Refusal) -> str:
    assert isinstance(converted, Refusal), converted
    return converted.reason


def test_a_night_with_its_recovery() -> None:
    night = record(sleep_from_sleep(NIGHT, recoveries=recoveries_by_sleep(RECOVERIES)))
    assert (night.resource, night.source, night.external_id) == ("sleep", STRAP, mapping(NIGHT)["id"])
    assert night.calendar_date == date(2026, 3, 8)
    assert night.starts_at == datetime(2026, 3, 8, 4, 25, 44, MILLISECONDS, tzinfo=UTC)
    assert night.ends_at == datetime(2026, 3, 8, 12, 5, 44, MILLISECONDS, tzinfo=UTC)
    assert night.timezone_offset_seconds == EST_SECONDS
    assert dict(night.fields) == {
        "bedtime_start": "2026-03-08T04:25:44.774000+00:00",
        "bedtime_stop": "2026-03-08T12:05:44.774000+00:00",
        "timezone_offset": EST_SECONDS,
        "type": "long_sleep",
        "duration": 27_600,
        "total": 25_800,
        "awake": 1_800,
        "light": 13_800,
        "rem": 6_000,
        "deep": 6_000,
        "score": 92,
        "efficiency": 93.47826,
        "respiratory_rate": 16.11328125,
        "recovery_readiness_score": 64,
        "hr_resting": 54,
        "average_hrv": 61.813562,
        "skin_temperature": 33.7,
    }
    assert night.raw == NIGHT


def test_a_nap_without_recovery_or_score() -> None:
    nap = record(sleep_from_sleep(NAP))
    assert (nap.fields["type"], nap.fields["duration"], nap.fields["total"]) == ("acknowledged_nap", 2_400, 2_100)
    assert nap.fields["score"] is None
    assert "average_hrv" not in nap.fields


def test_a_short_night_is_no_nap() -> None:
    short = record(sleep_from_sleep(changed(NIGHT, end="2026-03-08T06:25:44.774Z")))
    assert short.fields["type"] == "short_sleep"


@pytest.mark.parametrize("payload", [PENDING, changed(NIGHT, score_state="UNSCORABLE")])
def test_a_sleep_that_is_not_scored_is_left_for_later(payload: JSONValue) -> None:
    assert reason(sleep_from_sleep(payload)) == "not_scored_yet"


def test_a_recovery_that_cannot_be_scored_adds_nothing() -> None:
    recoveries = {str(mapping(NIGHT)["id"]): RECOVERIES[1]}
    assert "hr_resting" not in record(sleep_from_sleep(NIGHT, recoveries=recoveries)).fields


def test_a_cycle_is_the_day_the_person_was_up_on() -> None:
    day = record(activity_from_cycle(CYCLE))
    assert (day.resource, day.source, day.external_id) == ("activity", STRAP, "501234567")
    # It began at 23:25 of the day before.
    assert day.calendar_date == date(2026, 3, 8)
    assert dict(day.fields) == {
        "timezone_offset": EST_SECONDS,
        "calories_total": pytest.approx(1981.0),
        "heart_rate": {"avg_bpm": 68.0, "max_bpm": 141.0},
    }
    assert reason(activity_from_cycle(UNDER_WAY)) == "not_scored_yet"


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("2026-03-08T01:00:00Z", date(2026, 3, 8)),  # 20:00 the evening before
        ("2026-03-08T06:30:00Z", date(2026, 3, 8)),  # 01:30 after midnight
        ("2026-03-08T15:00:00Z", date(2026, 3, 8)),  # a shift worker's 10:00
    ],
)
def test_the_day_of_a_cycle(start: str, expected: date) -> None:
    assert record(activity_from_cycle(changed(CYCLE, start=start))).calendar_date == expected


def test_a_run() -> None:
    run = record(workout_from_workout(RUN))
    assert (run.resource, run.source, run.calendar_date) == ("workouts", STRAP, date(2026, 3, 8))
    assert dict(run.fields) == {
        "time_start": "2026-03-08T14:00:00+00:00",
        "time_end": "2026-03-08T14:55:00+00:00",
        "timezone_offset": EDT_SECONDS,
        "sport": "running",
        "average_hr": 143,
        "max_hr": 166,
        "calories": 500.0,
        "distance": 8772.77,
        "total_elevation_gain": 46.643,
        "hr_zones": [0, 300, 600, 1500, 600, 300],
        "moving_time": 3_300,
        "provider_id": "ecfc6a15-4661-442f-a9a4-f160dd7afae8",
    }


def test_a_sport_nobody_knows_and_what_was_not_measured() -> None:
    strange = record(workout_from_workout(STRANGE))
    missing = ("calories", "distance", "total_elevation_gain", "hr_zones")
    assert strange.fields["sport"] == "other"
    assert [strange.fields[name] for name in missing] == [None] * 4


def test_every_sport_is_in_the_table_of_sports() -> None:
    assert {sport_of(word) for word in (*_SAME, *_OTHER_WORDS)} <= set(SPORT_BY_SLUG)
    assert (sport_of("Mountain Biking"), sport_of("HIIT"), sport_of("track-and-field")) == (
        "mountain_biking",
        "high_intensity_interval_training",
        "track_and_field",
    )


def test_one_value_a_night_at_its_end() -> None:
    series = series_from_recoveries(RECOVERIES, [NIGHT])
    assert series.refusals == (Refusal("recovery", "not_scored_yet"),)
    found = {batch.resource: batch for batch in series.batches}
    at_us = int(datetime(2026, 3, 8, 12, 5, 44, tzinfo=UTC).timestamp()) * 1_000_000 + MILLISECONDS
    for resource, value in (("hrv", 61.813562), ("blood_oxygen", 96.6875)):
        samples = found[resource].samples
        assert (samples.start_us.tolist(), samples.values.tolist()) == ([at_us], [value])
        assert samples.offset_seconds.tolist() == [EST_SECONDS]
        assert sample_reasons(SERIES_BY_SLUG[resource], samples, Ingestion()) == []


def test_without_its_sleep_a_recovery_is_of_when_it_was_made() -> None:
    (hrv, _) = series_from_recoveries(RECOVERIES[:1]).batches
    made = datetime(2026, 3, 8, 12, 15, 44, tzinfo=UTC)
    assert hrv.samples.start_us.tolist() == [int(made.timestamp()) * 1_000_000 + MILLISECONDS]
    assert hrv.samples.offset_seconds.tolist() == [OFFSET_UNKNOWN]


def test_the_member() -> None:
    member = record(profile_from_body_measurement(load("whoop/body_measurement.json")))
    assert (member.calendar_date, dict(member.fields)) == (UNDATED, {"height": 183})


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        (None, "not_an_object"),
        (without(NIGHT, "id"), "missing_field:id"),
        (changed(NIGHT, start="yesterday"), "bad_time:start"),
        (changed(NIGHT, start="2026-03-08T04:25:44"), "bad_time:start"),
        (changed(NIGHT, end="2026-03-08T04:25:44.774Z"), "ends_before_start"),
        (changed(NIGHT, timezone_offset="-5"), "bad_time:timezone_offset"),
        (changed(NIGHT, timezone_offset="+25:00"), "bad_time:timezone_offset"),
        (changed(NIGHT, score="good"), "not_an_object"),
        (changed(NIGHT, score={"stage_summary": None}), "not_an_object"),
    ],
)
def test_malformed_nights_are_refused_with_a_reason(payload: JSONValue, expected: str) -> None:
    assert reason(sleep_from_sleep(payload)) == expected


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        (without(RUN, "sport_name"), "missing_field:sport_name"),
        (changed(RUN, score={"kilojoule": "much"}), "wrong_type:kilojoule"),
        (changed(RUN, id=7), "wrong_type:id"),
    ],
)
def test_malformed_workouts_are_refused_with_a_reason(payload: JSONValue, expected: str) -> None:
    assert reason(workout_from_workout(payload)) == expected


def test_utc_is_an_offset_too() -> None:
    night = record(sleep_from_sleep(changed(NIGHT, timezone_offset="Z")))
    assert night.timezone_offset_seconds == 0
    assert night.calendar_date - date(2026, 3, 8) == timedelta()
