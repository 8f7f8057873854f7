"""Garmin's summaries become ours value by value, and what is malformed is refused with a reason."""

from datetime import UTC, date, datetime, timedelta

import orjson
import pytest

from aggregation.catalogue import SERIES_BY_SLUG
from aggregation.records import OFFSET_UNKNOWN, DataSource, Refusal, SeriesBatch, SummaryRecord
from aggregation.sports import SPORT_BY_SLUG
from aggregation.store.checking import Ingestion, sample_reasons, summary_reason
from healthsvc.kernel.typing import JSONValue
from links.connectors.garmin.catalogue import SPORTS, sport_of
from links.connectors.garmin.convert import (
    activity_from_daily,
    body_from_body_composition,
    has_stages,
    is_leg,
    newest,
    sleep_cycle_from_sleep,
    sleep_from_sleep,
    workout_from_activity,
)
from links.connectors.garmin.series import (
    series_from_blood_pressures,
    series_from_body_compositions,
    series_from_epochs,
    series_from_maps,
)
from links.connectors.payload import Series
from tests.links.payloads import DATA, changed, mapping, without

WATCH, SCALE, CUFF = (DataSource(provider="garmin", type=kind) for kind in ("watch", "scale", "cuff"))
EST_SECONDS, EDT_SECONDS = -5 * 3_600, -4 * 3_600
BEDTIME = datetime(2026, 3, 8, 4, 30, tzinfo=UTC)
SECOND_US = 1_000_000


def listed(name: str) -> list[JSONValue]:
    found = orjson.loads((DATA / "garmin" / f"{name}.json").read_bytes())
    assert isinstance(found, list)
    return found


DAY, EMPTY_DAY = listed("dailies")
NIGHT, TENTATIVE = listed("sleeps")
RUN, STRANGE, LEG = listed("activities")
(WEIGHING,) = listed("bodyComps")


def record(converted: SummaryRecord | Refusal) -> SummaryRecord:
    assert isinstance(converted, SummaryRecord), converted
    assert summary_reason(converted, Ingestion()) is None
    return converted


def reason(converted: SummaryRecord | Refusal) -> str:
    assert isinstance(converted, Refusal), converted
    return converted.reason


def batch(series: Series) -> SeriesBatch:
    (found,) = series.batches
    assert series.refusals == ()
    assert sample_reasons(SERIES_BY_SLUG[found.resource], found.samples, Ingestion()) == []
    return found


def us(moment: datetime) -> int:
    return int(moment.timestamp()) * SECOND_US


def test_a_day() -> None:
    day = record(activity_from_daily(DAY))
    assert (day.resource, day.source, day.external_id) == ("activity", WATCH, "2026-03-08")
    assert (day.calendar_date, day.timezone_offset_seconds) == (date(2026, 3, 8), EST_SECONDS)
    assert dict(day.fields) == {
        "timezone_offset": EST_SECONDS,
        "calories_active": 512.0,
        "calories_total": 2_162.0,
        "steps": 9_421,
        "distance": 7_240.5,
        "medium": 45.0,
        "high": 15.0,
        "floors_climbed": 8,
        "heart_rate": {"min_bpm": 45.0, "max_bpm": 161.0, "resting_bpm": 49.0},
        "wheelchair_push": 0,
    }
    assert day.raw is not None
    assert "timeOffsetHeartRateSamples" not in mapping(day.raw)


def test_a_day_of_which_nothing_is_known() -> None:
    day = record(activity_from_daily(EMPTY_DAY))
    assert day.timezone_offset_seconds is None
    told = [value for name, value in day.fields.items() if name != "heart_rate"]
    assert set(map(str, told)) == {"None"}


def test_a_night() -> None:
    night = record(sleep_from_sleep(NIGHT))
    assert (night.resource, night.source, night.external_id) == ("sleep", WATCH, "EXAMPLE_567890-s1")
    assert night.calendar_date == date(2026, 3, 8)
    assert (night.starts_at, night.ends_at) == (BEDTIME, BEDTIME + timedelta(seconds=27_000))
    assert dict(night.fields) == {
        "bedtime_start": "2026-03-08T04:30:00+00:00",
        "bedtime_stop": "2026-03-08T12:00:00+00:00",
        "timezone_offset": EST_SECONDS,
        "type": "long_sleep",
        "state": "confirmed",
        "duration": 27_000,
        "total": 25_200,
        "awake": 1_800,
        "light": 13_200,
        "rem": 6_000,
        "deep": 6_000,
        "score": 87,
        "efficiency": pytest.approx(93.3333, abs=1e-4),
        "respiratory_rate": 14.21,
    }


def test_a_night_without_stages_ends_with_what_was_awake() -> None:
    night = record(sleep_from_sleep(TENTATIVE))
    assert (night.fields["duration"], night.fields["total"], night.fields["awake"]) == (7_800, 7_200, 600)
    assert (night.fields["type"], night.fields["state"], night.fields["score"]) == ("short_sleep", "tentative", None)
    assert [has_stages(one) for one in (NIGHT, TENTATIVE, None)] == [True, False, False]


def test_the_stages_of_a_night() -> None:
    stages = record(sleep_cycle_from_sleep(NIGHT))
    assert (stages.external_id, stages.starts_at) == ("EXAMPLE_567890-s1", BEDTIME)
    assert dict(stages.fields) == {
        "sleep_external_id": "EXAMPLE_567890-s1",
        "session_start": "2026-03-08T04:30:00+00:00",
        "session_end": "2026-03-08T12:00:00+00:00",
        "stage_start_offset_second": [0, 3_600, 9_600, 19_200, 25_200],
        "stage_end_offset_second": [3_600, 9_600, 19_200, 25_200, 27_000],
        "stage_type": [2, 1, 2, 3, 4],
    }


def test_a_run() -> None:
    run = record(workout_from_activity(RUN))
    assert (run.resource, run.source, run.external_id) == ("workouts", WATCH, "5001968355")
    assert (run.calendar_date, run.starts_at) == (date(2026, 3, 8), datetime(2026, 3, 8, 14, tzinfo=UTC))
    assert dict(run.fields) == {
        "time_start": "2026-03-08T14:00:00+00:00",
        "time_end": "2026-03-08T14:55:00+00:00",
        "timezone_offset": EDT_SECONDS,
        "title": "Brooklyn Running",
        "sport": "trail_running",
        "average_hr": 143,
        "max_hr": 166,
        "calories": 540.0,
        "distance": 8_772.77,
        "moving_time": 3_300,
        "total_elevation_gain": 46.0,
        "average_speed": 2.66,
        "max_speed": 4.1,
        "steps": 8_910,
        "provider_id": "5001968355",
    }
    assert "startingLatitudeInDegree" not in mapping(run.raw)


def test_what_nobody_measured_and_a_sport_nobody_knows() -> None:
    strange = record(workout_from_activity(STRANGE))
    assert strange.fields["sport"] == "other"
    assert [strange.fields[name] for name in ("calories", "distance", "average_speed", "title")] == [None] * 4
    assert [is_leg(one) for one in (RUN, STRANGE, LEG)] == [False, False, True]


def test_every_word_has_a_sport() -> None:
    assert set(SPORTS.values()) <= set(SPORT_BY_SLUG)
    assert (sport_of("LAP_SWIMMING"), sport_of("SOMETHING_NEW")) == ("pool_swimming", "other")


def test_a_weighing() -> None:
    body = record(body_from_body_composition(WEIGHING))
    at = datetime(2026, 3, 8, 10, 40, tzinfo=UTC)
    assert (body.source, body.starts_at, body.calendar_date) == (SCALE, at, date(2026, 3, 8))
    assert dict(body.fields) == {
        "weight": 75.45,
        "fat": 17.1,
        "water_percentage": 59.4,
        "muscle_mass_percentage": pytest.approx(33.768, abs=1e-3),
        "bone_mass_percentage": pytest.approx(3.23, abs=1e-3),
        "body_mass_index": 23.2,
    }
    series = series_from_body_compositions([WEIGHING])
    found = {one.resource: one for one in series.batches}
    for resource, value in (("weight", 75.45), ("fat", 17.1)):
        samples = found[resource].samples
        assert (samples.start_us.tolist(), samples.values.tolist()) == ([us(at)], [value])
        assert samples.offset_seconds.tolist() == [EDT_SECONDS]
        assert sample_reasons(SERIES_BY_SLUG[resource], samples, Ingestion()) == []


@pytest.mark.parametrize(
    ("resource", "kind", "offsets", "values"),
    [
        ("heartrate", "dailies", [15, 30, 3_180, 18_270], [75.0, 75.0, 76.0, 73.0]),
        ("hrv", "hrv", [300, 600, 900, 1_200], [32.0, 24.0, 31.0, 33.0]),
        ("stress_level", "stressDetails", [0, 180, 360], [18.0, 51.0, 28.0]),
        ("blood_oxygen", "pulseox", [0, 3_600], [95.0, 96.0]),
        ("respiratory_rate", "respiration", [0, 60, 180], [14.63, 14.4, 14.38]),
    ],
)
def test_maps_by_offset(resource: str, kind: str, offsets: list[int], values: list[float]) -> None:
    rows = listed(kind)
    found = batch(series_from_maps(resource, kind, rows))
    start_us = int(str(mapping(rows[0])["startTimeInSeconds"])) * SECOND_US
    assert (found.resource, found.source) == (resource, WATCH)
    assert [(one - start_us) // SECOND_US for one in found.samples.start_us.tolist()] == offsets
    assert found.samples.values.tolist() == values
    assert set(found.samples.offset_seconds.tolist()) == {EST_SECONDS}


def test_an_instant_told_twice_has_its_later_value() -> None:
    again = changed(listed("hrv")[0], hrvValues={"300": 40}, startTimeOffsetInSeconds=None)
    found = batch(series_from_maps("hrv", "hrv", [*listed("hrv"), again]))
    assert found.samples.values.tolist()[0] == 40.0
    assert found.samples.offset_seconds.tolist()[0] == OFFSET_UNKNOWN


def test_quarters_of_an_hour() -> None:
    start = datetime(2026, 3, 8, 18, 30, tzinfo=UTC)
    steps = batch(series_from_epochs("steps", listed("epochs"))).samples
    # Walking as it was told last and running as it was told; the wheelchair tells no steps.
    assert (steps.start_us.tolist(), steps.values.tolist()) == ([us(start)], [261.0])
    assert steps.end_us is not None
    assert steps.end_us.tolist() == [us(start) + 900 * SECOND_US]
    distance = batch(series_from_epochs("distance", listed("epochs"))).samples
    assert distance.values.tolist() == [pytest.approx(233.5)]
    backwards = series_from_epochs("steps", listed("epochs")[::-1])
    assert batch(backwards).samples.values.tolist() == [261.0]


def test_a_cuff() -> None:
    found = batch(series_from_blood_pressures(listed("bloodPressures")))
    assert (found.resource, found.source) == ("blood_pressure", CUFF)
    assert found.samples.start_us.tolist() == [us(datetime(2026, 3, 8, 10, 40, tzinfo=UTC))]
    assert {name: list(column) for name, column in found.samples.fields.items()} == {
        "systolic": [122.0],
        "diastolic": [87.0],
    }


def test_of_summaries_told_again_the_last_counts() -> None:
    later = changed(DAY, steps=9_500)
    assert newest([DAY, EMPTY_DAY, later], "calendarDate") == [EMPTY_DAY, later]
    # Those without a name stand each for itself, to be refused.
    assert newest([{}, {}, 7], "calendarDate") == [{}, {}, 7]


@pytest.mark.parametrize(
    ("converted", "expected"),
    [
        (activity_from_daily(None), "not_an_object"),
        (activity_from_daily(without(DAY, "calendarDate")), "missing_field:calendarDate"),
        (activity_from_daily(changed(DAY, calendarDate="8 March")), "bad_time:calendarDate"),
        (activity_from_daily(changed(DAY, steps=1.5)), "wrong_type:steps"),
        (
            activity_from_daily(changed(DAY, startTimeOffsetInSeconds=90_000)),
            "out_of_range:startTimeOffsetInSeconds",
        ),
        (sleep_from_sleep(without(NIGHT, "summaryId")), "missing_field:summaryId"),
        (sleep_from_sleep(changed(NIGHT, startTimeInSeconds=1_772_944_200_000)), "bad_time:startTimeInSeconds"),
        (sleep_from_sleep(changed(TENTATIVE, durationInSeconds=0)), "out_of_range:durationInSeconds"),
        (sleep_from_sleep(changed(NIGHT, sleepLevelsMap={"deep": ["long"]})), "not_an_object"),
        (
            sleep_cycle_from_sleep(changed(NIGHT, startTimeInSeconds=1_772_944_260)),
            "out_of_range:sleepLevelsMap",
        ),
        (workout_from_activity(without(RUN, "activityType")), "missing_field:activityType"),
        (workout_from_activity(changed(RUN, durationInSeconds=-1)), "out_of_range:durationInSeconds"),
        (body_from_body_composition(changed(WEIGHING, weightInGrams=0)), "out_of_range:weightInGrams"),
        (body_from_body_composition(without(WEIGHING, "weightInGrams")), "missing_field:weightInGrams"),
    ],
)
def test_malformed_summaries_are_refused_with_a_reason(converted: SummaryRecord | Refusal, expected: str) -> None:
    assert reason(converted) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"soon": 70}, "out_of_range:timeOffsetHeartRateSamples"),
        ({"999999": 70}, "out_of_range:timeOffsetHeartRateSamples"),
        ({"15": "70"}, "wrong_type:timeOffsetHeartRateSamples"),
        ({"15": True}, "wrong_type:timeOffsetHeartRateSamples"),
        ([70], "wrong_type:timeOffsetHeartRateSamples"),
    ],
)
def test_a_strange_map_is_refused_and_its_neighbours_stand(values: JSONValue, expected: str) -> None:
    series = series_from_maps("heartrate", "dailies", [changed(DAY, timeOffsetHeartRateSamples=values), DAY])
    assert series.refusals == (Refusal("dailies", expected),)
    assert len(series.batches[0].samples) == 4


def test_strange_readings_are_refused_and_their_neighbours_stand() -> None:
    (cuff,) = listed("bloodPressures")
    for series, kind, reason_of in (
        (series_from_blood_pressures([cuff, without(cuff, "systolic"), 7]), "bloodPressures", "missing_field:systolic"),
        (
            series_from_body_compositions([WEIGHING, changed(WEIGHING, weightInGrams="much"), 7]),
            "bodyComps",
            "wrong_type:weightInGrams",
        ),
        (
            series_from_epochs("steps", [*listed("epochs"), {"steps": 1}, 7]),
            "epochs",
            "missing_field:startTimeInSeconds",
        ),
    ):
        assert set(series.refusals) == {Refusal(kind, reason_of), Refusal(kind, "not_an_object")}
        assert len(series.batches[0].samples) == 1
    assert series_from_maps("hrv", "hrv", [{"startTimeInSeconds": 7}]) == Series((), ())
