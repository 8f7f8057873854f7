"""The generic shape's rows as records, value by value."""

from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pytest

from aggregation.records import UNDATED, DataSource, Refusal, StreamRecord, SummaryRecord
from aggregation.store.checking import Ingestion, summary_reason
from healthsvc.kernel.typing import JSONValue
from links.catalogue import LoginKind, catalogue
from links.connectors.generic import convert, samples
from links.connectors.registry import CONNECTORS

SOURCE = DataSource(provider="renpho", type="scale")
NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
FIRST, LAST = date(2026, 10, 16), date(2026, 11, 14)
_JSON = {"Content-Type": "application/json"}
LOGGED_IN = (LoginKind.OAUTH, LoginKind.PASSWORD, LoginKind.EMAIL)
GENERIC = sorted(slug for slug, one in catalogue().items() if one.login in LOGGED_IN and slug not in CONNECTORS)


def microseconds(text: str) -> int:
    """Epoch microseconds of an ISO 8601 instant."""
    return int(datetime.fromisoformat(text).timestamp()) * 1_000_000


def one_sample(resource: str, unit: str, row: JSONValue) -> tuple[int, int | None, float, int]:
    """Start, end, value and offset of the one sample that a row becomes."""
    series = samples.series_from_rows(resource, SOURCE, unit, [row])
    assert series.refusals == ()
    (batch,) = series.batches
    assert (batch.resource, batch.source, len(batch.samples)) == (resource, SOURCE, 1)
    end_us = batch.samples.end_us
    return (
        int(batch.samples.start_us[0]),
        None if end_us is None else int(end_us[0]),
        float(batch.samples.values[0]),
        int(batch.samples.offset_seconds[0]),
    )


@pytest.mark.parametrize(
    ("resource", "unit", "told", "kept"),
    [
        ("heartrate", "bpm", 61, 61.0),
        ("hrv", "ms", 48, 48.0),
        ("respiratory_rate", "/min", 14.5, 14.5),
        ("glucose", "mg/dL", 90, 4.995670419),
        ("weight", "g", 72_450, 72.45),
        ("fat", "fraction", 0.2213, 22.13),
        ("lean_body_mass", "g", 56_400, 56.4),
        ("blood_oxygen", "fraction", 0.967, 96.7),
        ("body_temperature", "degF", 98.06, 36.7),
        ("vo2_max", "mL/kg/min", 44.1, 44.1),
        ("stress_level", "percent", 37, 37.0),
    ],
)
def test_instants(resource: str, unit: str, told: float, kept: float) -> None:
    at = "2026-11-03T07:30:00-05:00"
    start, end, value, offset = one_sample(resource, unit, {"at": at, "value": told})
    assert (start, end, offset) == (microseconds(at), None, -18_000)
    assert value == pytest.approx(kept, rel=1e-9)


@pytest.mark.parametrize(
    ("resource", "unit", "told", "kept"),
    [
        ("steps", "count", 312, 312.0),
        ("distance", "km", 0.21545, 215.45),
        ("calories_active", "kJ", 41.84, 10.0),
        ("floors_climbed", "count", 1, 1.0),
        ("carbohydrates", "g", 61.5, 61.5),
        ("water", "mL", 250, 250.0),
    ],
)
def test_stretches(resource: str, unit: str, told: float, kept: float) -> None:
    start_text, end_text = "2026-11-03T07:30:00+01:00", "2026-11-03T07:35:00+01:00"
    start, end, value, offset = one_sample(resource, unit, {"start": start_text, "end": end_text, "value": told})
    assert (start, end, offset) == (microseconds(start_text), microseconds(end_text), 3600)
    assert value == pytest.approx(kept, rel=1e-9)


def test_a_cuff() -> None:
    row: dict[str, JSONValue] = {"at": "2026-11-03T07:30:00+00:00", "systolic": 121, "diastolic": 79}
    (batch,) = samples.series_from_rows("blood_pressure", SOURCE, "mmHg", [row]).batches
    fields = {name: list(column) for name, column in batch.samples.fields.items()}
    assert fields == {"systolic": [121.0], "diastolic": [79.0]}
    assert batch.samples.value is None


def test_insulin() -> None:
    rows: list[JSONValue] = [
        {"at": "2026-11-03T08:00:00+00:00", "value": 4.5, "type": "rapid_acting", "purpose": "meal"},
        {"at": "2026-11-03T22:00:00+00:00", "value": 16, "type": "long_acting", "purpose": None},
        {"at": "2026-11-03T22:00:00+00:00", "value": 16, "type": "mystery", "purpose": None},
    ]
    series = samples.series_from_rows("insulin_injection", SOURCE, "U", rows)
    (batch,) = series.batches
    assert batch.samples.values.tolist() == [4.5, 16.0]
    assert list(batch.samples.type or ()) == ["rapid_acting", "long_acting"]
    assert {name: list(column) for name, column in batch.samples.fields.items()} == {
        "delivery_mode": ["bolus", "basal"],
        "bolus_purpose": ["meal", None],
    }
    assert series.refusals == (Refusal("insulin_injection", "wrong_type:type"),)


def test_another_unit_is_not_guessed_at() -> None:
    row: dict[str, JSONValue] = {"at": "2026-11-03T07:30:00+00:00", "value": 5.2}
    assert samples.series_from_rows("glucose", SOURCE, "mmol/L", [row, row]).refusals == (
        Refusal("glucose", "unsupported_unit", 2),
    )
    assert samples.series_from_rows("glucose", SOURCE, "mmol/L", [row]).batches == ()


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"value": 90}, "missing_field:at"),
        ({"at": "2026-11-03T07:30:00", "value": 90}, "bad_time:at"),
        ({"at": "2026-11-03T07:30:00Z", "value": "90"}, "wrong_type:value"),
        ({"at": "2026-11-03T07:30:00Z", "value": -1}, "out_of_range:value"),
        ([], "not_an_object"),
    ],
)
def test_rows_that_are_refused(row: JSONValue, reason: str) -> None:
    good: dict[str, JSONValue] = {"at": "2026-11-03T07:30:00Z", "value": 90}
    series = samples.series_from_rows("glucose", SOURCE, "mg/dL", [row, good])
    assert series.refusals == (Refusal("glucose", reason),)
    assert [len(batch.samples) for batch in series.batches] == [1]


def record(found: SummaryRecord | Refusal) -> SummaryRecord:
    """A summary that was not refused, and that the store takes."""
    assert isinstance(found, SummaryRecord), found
    assert summary_reason(found, Ingestion()) is None
    return found


NIGHT: dict[str, JSONValue] = {
    "id": "n1",
    "day": "2026-11-03",
    "start": "2026-11-02T23:00:00-05:00",
    "end": "2026-11-03T06:00:00-05:00",
    "kind": "night",
    "score": 81,
    "latency_seconds": 600,
    "average_bpm": 54.6,
    "lowest_bpm": 47,
    "average_rmssd_milliseconds": 52.4,
    "breaths_per_minute": 14.2,
    "temperature_delta_celsius": -0.12,
    "stages": [
        {"stage": "awake", "start_second": 0, "end_second": 600},
        {"stage": "light", "start_second": 600, "end_second": 12_600},
        {"stage": "deep", "start_second": 12_600, "end_second": 18_600},
        {"stage": "rem", "start_second": 18_600, "end_second": 25_200},
    ],
}


def test_a_night() -> None:
    found = record(convert.sleep_from_row(NIGHT, source=SOURCE))
    assert (found.resource, found.external_id, found.calendar_date) == ("sleep", "n1", date(2026, 11, 3))
    assert found.starts_at == datetime(2026, 11, 3, 4, tzinfo=UTC)
    assert found.ends_at == datetime(2026, 11, 3, 11, tzinfo=UTC)
    assert found.timezone_offset_seconds == -18_000
    assert dict(found.fields) == {
        "bedtime_start": "2026-11-03T04:00:00+00:00",
        "bedtime_stop": "2026-11-03T11:00:00+00:00",
        "timezone_offset": -18_000,
        "type": "long_sleep",
        "duration": 25_200,
        "total": 24_600,
        "awake": 600,
        "light": 12_000,
        "rem": 6600,
        "deep": 6000,
        "score": 81,
        "hr_lowest": 47,
        "hr_average": 55,
        "efficiency": pytest.approx(97.619047619),
        "latency": 600,
        "temperature_delta": -0.12,
        "average_hrv": 52.4,
        "respiratory_rate": 14.2,
    }
    nap = record(convert.sleep_from_row({**NIGHT, "kind": "nap"}, source=SOURCE))
    assert nap.fields["type"] == "acknowledged_nap"


def test_the_stages_of_a_night() -> None:
    found = convert.sleep_cycle_from_row(NIGHT, source=SOURCE)
    assert isinstance(found, SummaryRecord)
    assert dict(found.fields) == {
        "sleep_external_id": "n1",
        "session_start": "2026-11-03T04:00:00+00:00",
        "session_end": "2026-11-03T11:00:00+00:00",
        "stage_start_offset_second": [0, 600, 12_600, 18_600],
        "stage_end_offset_second": [600, 12_600, 18_600, 25_200],
        "stage_type": [4, 2, 1, 3],
    }


def test_a_day() -> None:
    row: dict[str, JSONValue] = {
        "id": "d1",
        "day": "2026-11-03",
        "start": "2026-11-03T00:00:00+01:00",
        "steps": 8123,
        "distance_kilometre": 5.812,
        "active_kilojoule": 2092.0,
        "total_kilojoule": 9414.0,
        "low_seconds": 7200,
        "medium_seconds": 1800,
        "high_seconds": 900,
        "average_bpm": 71,
        "lowest_bpm": 48,
        "highest_bpm": 156,
        "resting_bpm": 49,
    }
    found = record(convert.activity_from_row(row, source=SOURCE))
    assert (found.calendar_date, found.starts_at, found.timezone_offset_seconds) == (date(2026, 11, 3), None, 3600)
    assert dict(found.fields) == {
        "timezone_offset": 3600,
        "calories_total": pytest.approx(2250.0),
        "calories_active": pytest.approx(500.0),
        "steps": 8123,
        "distance": pytest.approx(5812.0),
        "low": 120.0,
        "medium": 30.0,
        "high": 15.0,
        "heart_rate": {"avg_bpm": 71.0, "min_bpm": 48.0, "max_bpm": 156.0, "resting_bpm": 49.0},
    }


WORKOUT: dict[str, JSONValue] = {
    "id": "w1",
    "day": "2026-11-03",
    "start": "2026-11-03T17:30:00+01:00",
    "end": "2026-11-03T18:20:00+01:00",
    "sport": "running",
    "title": "Hard running",
    "distance_kilometre": 9.0,
    "energy_kilojoule": 2510.4,
    "average_bpm": 148,
    "highest_bpm": 171,
    "steps": 8100,
}


def test_a_workout() -> None:
    found = record(convert.workout_from_row(WORKOUT, source=SOURCE))
    assert found.external_id == "w1"
    assert dict(found.fields) == {
        "title": "Hard running",
        "time_start": "2026-11-03T16:30:00+00:00",
        "time_end": "2026-11-03T17:20:00+00:00",
        "timezone_offset": 3600,
        "sport": "running",
        "average_hr": 148,
        "max_hr": 171,
        "distance": pytest.approx(9000.0),
        "average_speed": pytest.approx(3.0),
        "calories": pytest.approx(600.0),
        "steps": 8100,
        "moving_time": 3000,
        "provider_id": "w1",
    }


@pytest.mark.parametrize(
    ("word", "sport"), [("strength", "strength_training"), ("yoga", "yoga"), ("quidditch", "other")]
)
def test_sports(word: str, sport: str) -> None:
    found = record(convert.workout_from_row({**WORKOUT, "sport": word}, source=SOURCE))
    assert found.fields["sport"] == sport


def test_the_course_of_a_workout() -> None:
    row: dict[str, JSONValue] = {
        "workout_id": "w1",
        "start": "2026-11-03T17:30:00+01:00",
        "interval_seconds": 60,
        "channels": {
            "bpm": [120, 131],
            "kilometre_per_hour": [36.0, 28.8],
            "distance_metre": [600, 1080],
            "watt": [150, 161],
            "cadence_per_minute": [85, 88],
        },
    }
    found = samples.stream_from_row(row, source=SOURCE)
    assert isinstance(found, StreamRecord)
    first = microseconds("2026-11-03T17:30:00+01:00")
    assert (found.resource, found.workout, found.time_us.tolist()) == (
        "workout_stream",
        "w1",
        [first, first + 60_000_000],
    )
    assert {name: np.round(values, 9).tolist() for name, values in found.channels.items()} == {
        "heartrate": [120.0, 131.0],
        "velocity_smooth": [10.0, 8.0],
        "distance": [600.0, 1080.0],
        "power": [150.0, 161.0],
        "cadence": [85.0, 88.0],
    }
    uneven = {**row, "channels": {"bpm": [120], "watt": [1, 2]}}
    assert samples.stream_from_row(uneven, source=SOURCE) == Refusal("workout_stream", "wrong_type:channels")


def test_a_scale() -> None:
    row: dict[str, JSONValue] = {
        "id": "b1",
        "at": "2026-11-03T07:30:00+01:00",
        "weight_gram": 72_450,
        "fat_fraction": 0.2213,
        "water_fraction": 0.5684,
        "muscle_fraction": 0.7397,
        "bone_fraction": 0.0389,
    }
    found = record(convert.body_from_row(row, source=SOURCE))
    assert (found.calendar_date, found.starts_at) == (date(2026, 11, 3), datetime(2026, 11, 3, 6, 30, tzinfo=UTC))
    assert dict(found.fields) == {
        "weight": 72.45,
        "fat": pytest.approx(22.13),
        "water_percentage": pytest.approx(56.84),
        "muscle_mass_percentage": pytest.approx(73.97),
        "bone_mass_percentage": pytest.approx(3.89),
    }


def test_a_meal() -> None:
    row: dict[str, JSONValue] = {
        "id": "m1",
        "at": "2026-11-03T19:00:00-05:00",
        "name": "Dinner",
        "energy_kilojoule": 2928.8,
        "carbohydrate_gram": 80.1,
        "protein_gram": 31.0,
        "fat_gram": 28.4,
        "fibre_gram": 8.0,
    }
    found = record(convert.meal_from_row(row, source=SOURCE))
    assert found.calendar_date == date(2026, 11, 3)
    assert dict(found.fields) == {
        "timestamp": "2026-11-04T00:00:00+00:00",
        "name": "Dinner",
        "energy": {"unit": "kcal", "value": pytest.approx(700.0)},
        "macros": {"carbs": 80.1, "protein": 31.0, "fats": {"total": 28.4}, "fibre": 8.0},
    }


def test_an_electrocardiogram() -> None:
    row: dict[str, JSONValue] = {
        "id": "e1",
        "start": "2026-11-03T19:30:00+00:00",
        "end": "2026-11-03T19:30:30+00:00",
        "hertz": 100,
        "average_bpm": 66,
        "classification": "sinus_rhythm",
        "lead": "lead_1",
        "microvolts": [0, 120, 1100],
    }
    found = record(convert.electrocardiogram_from_row(row, source=SOURCE))
    assert dict(found.fields) == {
        "session_start": "2026-11-03T19:30:00+00:00",
        "session_end": "2026-11-03T19:30:30+00:00",
        "voltage_sample_count": 3,
        "heart_rate_mean": 66,
        "sampling_frequency_hz": 100.0,
        "classification": "sinus_rhythm",
    }
    (batch,) = samples.voltages_from_rows([row], source=SOURCE).batches
    first = microseconds("2026-11-03T19:30:00+00:00")
    assert batch.samples.start_us.tolist() == [first, first + 10_000, first + 20_000]
    assert batch.samples.values.tolist() == [0.0, 0.12, 1.1]
    assert list(batch.samples.type or ()) == ["lead_1"] * 3


def test_a_cycle() -> None:
    row: dict[str, JSONValue] = {
        "id": "c1",
        "period_start": "2026-11-03",
        "period_end": "2026-11-06",
        "flow": [{"date": "2026-11-03", "flow": "medium"}, {"date": "2026-11-04", "flow": "heavy"}],
    }
    found = record(convert.menstrual_cycle_from_row(row, source=SOURCE))
    assert dict(found.fields) == {
        "period_start": "2026-11-03",
        "period_end": "2026-11-06",
        "is_predicted": False,
        "menstrual_flow": [{"date": "2026-11-03", "flow": "medium"}, {"date": "2026-11-04", "flow": "heavy"}],
    }


def test_a_profile() -> None:
    row: dict[str, JSONValue] = {"height_metre": 1.72, "birth_date": "1984-06-15", "sex": "female"}
    found = record(convert.profile_from_row(row, source=SOURCE))
    assert (found.external_id, found.calendar_date) == ("profile", UNDATED)
    assert dict(found.fields) == {"height": 172, "birth_date": "1984-06-15", "sex": "female"}


@pytest.mark.parametrize(
    "convert_one",
    [
        convert.sleep_from_row, convert.sleep_cycle_from_row, convert.activity_from_row, convert.workout_from_row,
        convert.body_from_row, convert.meal_from_row, convert.electrocardiogram_from_row,
        convert.menstrual_cycle_from_row, samples.stream_from_row,
    ],
)  # fmt: skip
@pytest.mark.parametrize("row", [None, [], {}, {"id": 7}, {**NIGHT, "id": None, "start": "x", "at": 3}])
def test_rows_that_are_none(convert_one: Any, row: JSONValue) -> None:
    assert isinstance(convert_one(row, source=SOURCE), Refusal)
