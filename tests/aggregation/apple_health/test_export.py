"""The hand-written export, number by number."""

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from aggregation.apple_health.reader import read_export
from aggregation.apple_health.tally import ExportTally
from aggregation.records import DataSource, SeriesBatch
from tests.aggregation.apple_health.reading import EXPORT_XML, Reading, document, heart_rate, read

WATCH = DataSource("apple_health_kit", "watch", "Robin’s Apple Watch")
PHONE = DataSource("apple_health_kit", "phone", "Robin’s iPhone")
HEALTH_APP = DataSource("apple_health_kit", "app", "Health")


@pytest.fixture(scope="module")
def export() -> Reading:
    return read(EXPORT_XML)


def plain(source: DataSource) -> DataSource:
    """The source without its device, whose id is a hash."""
    return replace(source, device_id=None)


def microseconds(*parts: int) -> int:
    return int(datetime(*parts, tzinfo=UTC).timestamp()) * 1_000_000  # type: ignore[misc, arg-type]


def series(export: Reading, resource: str) -> dict[DataSource, SeriesBatch]:
    return {plain(batch.source): batch for batch in export.batches if batch.resource == resource}


def test_heart_rate_over_the_change_of_the_clock_and_abroad(export: Reading) -> None:
    assert list(series(export, "heartrate")) == [WATCH]
    samples = series(export, "heartrate")[WATCH].samples
    assert samples.start_us.tolist() == [
        microseconds(2024, 3, 10, 6, 30),
        microseconds(2024, 3, 10, 7, 5),
        microseconds(2024, 3, 10, 13, 0),
        microseconds(2024, 3, 20, 12, 0),
        microseconds(2024, 3, 20, 12, 7),
        microseconds(2024, 3, 20, 12, 9),
    ]
    assert samples.values.tolist() == [58.0, 55.0, 75.0, 61.0, 65.0, 67.0]
    assert samples.offset_seconds.tolist() == [-18_000, -14_400, -14_400, 3_600, -14_400, -14_400]
    assert samples.end_us is None
    assert samples.type is None


def test_steps_of_watch_and_phone_stay_apart(export: Reading) -> None:
    steps = series(export, "steps")
    assert list(steps) == [WATCH, PHONE]
    assert steps[WATCH].samples.values.tolist() == [640.0, 12.0]
    assert steps[PHONE].samples.values.tolist() == [587.0]
    noon = microseconds(2024, 3, 10, 16, 0)
    ends = steps[WATCH].samples.end_us
    assert steps[WATCH].samples.start_us.tolist() == [noon, noon + 600_000_000]
    assert ends is not None
    assert ends.tolist() == [noon + 600_000_000, noon + 1_200_000_000]
    assert steps[PHONE].samples.start_us.tolist() == [noon]


def test_foreign_units_are_converted(export: Reading) -> None:
    glucose = series(export, "glucose")
    assert list(glucose) == [DataSource("apple_health_kit", "automatic", "Dexcom"), HEALTH_APP]
    assert export.values("glucose") == [99 / 18.0156, 10.0, 5.5]
    assert export.values("weight") == [165.5 * 0.45359237]
    assert export.values("water") == [250.0]
    assert export.values("body_temperature") == [37.0]


def test_a_night_of_ios_16_over_the_change_of_the_clock(export: Reading) -> None:
    night = export.of("sleep")[0]
    assert plain(night.source) == WATCH
    assert night.calendar_date == date(2024, 3, 10)
    assert night.starts_at == datetime(2024, 3, 10, 4, 30, tzinfo=UTC)
    assert night.ends_at == datetime(2024, 3, 10, 11, 0, tzinfo=UTC)
    assert night.timezone_offset_seconds == -14_400
    assert night.fields == {
        "bedtime_start": "2024-03-10T04:30:00+00:00",
        "bedtime_stop": "2024-03-10T11:00:00+00:00",
        "timezone_offset": -14_400,
        "type": "long_sleep",
        "duration": 23_400,
        "total": 23_100,
        "awake": 300,
        "light": 15_000,
        "rem": 5_400,
        "deep": 2_700,
        "efficiency": 100 * 23_100 / 23_400,
        "latency": None,
    }


def test_a_nap_and_a_night_of_ios_15(export: Reading) -> None:
    _night, nap, old_night = export.of("sleep")
    assert nap.calendar_date == date(2024, 3, 16)
    assert (nap.fields["type"], nap.fields["total"]) == ("short_sleep", 2_400)
    assert old_night.source == DataSource("apple_health_kit", "app", "AutoSleep")
    assert old_night.calendar_date == date(2024, 3, 15)
    names = ("duration", "total", "awake", "light", "rem", "deep", "efficiency", "latency")
    assert [old_night.fields[name] for name in names] == [28_800, 25_500, 3_300, 0, 0, 0, 100 * 255 / 288, 1_200]


def test_activity_days(export: Reading) -> None:
    days = [(day.external_id, day.calendar_date, dict(day.fields)) for day in export.of("activity")]
    assert days == [
        ("2024-03-10", date(2024, 3, 10), {"calories_active": 512.4}),
        ("2024-03-11", date(2024, 3, 11), {"calories_active": 410.0}),
        ("2024-03-12", date(2024, 3, 12), {"calories_active": 250.0}),
    ]
    assert {day.source for day in export.of("activity")} == {DataSource("apple_health_kit", "multiple_sources")}


def test_a_workout_with_statistics(export: Reading) -> None:
    run = export.of("workouts")[0]
    assert plain(run.source) == WATCH
    assert run.calendar_date == date(2024, 3, 12)
    assert run.fields == {
        "time_start": "2024-03-12T22:00:00+00:00",
        "time_end": "2024-03-12T22:32:30+00:00",
        "timezone_offset": -14_400,
        "sport": "running",
        "provider_id": run.external_id,
        "moving_time": 1_890,
        "distance": 3.2 * 1609.344,
        "calories": 375.0,
        "average_hr": 149,
        "max_hr": 171,
        "steps": 5_400,
        "total_elevation_gain": 45.0,
    }


def test_a_workout_with_totals_as_attributes_and_one_of_unknown_type(export: Reading) -> None:
    _run, ride, walk = export.of("workouts")
    assert {name: ride.fields[name] for name in ("sport", "distance", "calories", "moving_time")} == {
        "sport": "cycling",
        "distance": 20_500.0,
        "calories": 480.0,
        "moving_time": 4_500,
    }
    assert walk.fields["sport"] == "other"
    assert "distance" not in walk.fields


def test_the_receipt_names_everything_read_refused_and_left_out(export: Reading) -> None:
    heart, asleep = "HKQuantityTypeIdentifierHeartRate", "HKCategoryTypeIdentifierSleepAnalysis"
    assert export.refused() == {
        (heart, "bad_value"): 2,
        (heart, "unknown_unit"): 1,
        (heart, "end_before_start"): 1,
        (heart, "bad_date"): 1,
        (heart, "out_of_range"): 1,
        (asleep, "no_sleep_stage"): 1,
        (asleep, "bad_value"): 1,
        ("ActivitySummary", "bad_date"): 1,
        ("ActivitySummary", "out_of_range"): 1,
        ("Workout", "end_before_start"): 1,
        ("WorkoutStatistics", "unknown_unit"): 1,
        ("HealthData", "malformed"): 1,
    }
    assert export.left_out() == {
        ("LabResult", "excluded_clinical"): 2,
        ("HKVisionPrescriptionTypeGlasses", "excluded_clinical"): 1,
        ("HKDataTypeIdentifierAudiogram", "no_resource"): 1,
        ("HeartRateVariabilityMetadataList", "no_resource"): 1,
        ("HKCharacteristicTypeIdentifierCardioFitnessMedicationsUse", "no_field"): 1,
        ("workout-routes", "file_missing"): 1,
    }
    assert export.tally.read[heart] == 12
    assert export.tally.read[asleep] == 13
    assert export.tally.read["Workout"] == 4
    assert export.tally.read["HKQuantityTypeIdentifierStepCount"] == 3
    assert export.tally.read.total() == 58
    assert sum(export.refused().values()) == 13
    assert sum(export.left_out().values()) == 7


def test_reading_twice_gives_the_same_ids(export: Reading) -> None:
    again = read(EXPORT_XML.read_bytes())
    names = [(summary.resource, summary.external_id) for summary in export.summaries]
    assert [(summary.resource, summary.external_id) for summary in again.summaries] == names
    assert len(set(names)) == len(names) == 17


def test_only_what_the_caller_can_store_is_yielded() -> None:
    tally = ExportTally()
    items = list(read_export(EXPORT_XML, tally=tally, resources={"steps"}))
    assert [item.resource for item in items] == ["steps", "steps"]
    left_out = {one.kind: one.count for one in tally.omissions() if one.reason == "no_resource"}
    assert left_out["HKQuantityTypeIdentifierHeartRate"] == 12
    assert left_out["HKCategoryTypeIdentifierSleepAnalysis"] == 13
    assert left_out["Workout"] == 4
    assert left_out["ActivitySummary"] == 5


def test_progress_ends_at_the_total() -> None:
    seen: list[tuple[int, int]] = []
    size = EXPORT_XML.stat().st_size
    tally = ExportTally()
    for _item in read_export(EXPORT_XML, tally=tally, on_progress=lambda done, total: seen.append((done, total))):
        pass
    assert seen == [(size, size)]
    assert (tally.bytes_read, tally.bytes_total) == (size, size)


def test_sources_by_device_and_by_name() -> None:
    def source_of(attributes: str) -> tuple[str, str | None]:
        record = heart_rate("60").replace('sourceName="Watch"', attributes)
        source = read(document(record)).batches[0].source
        return source.type, source.app_id

    withings = "&lt;&lt;HKDevice: 0x1&gt;, name:Body+, manufacturer:Withings, model:Withings Scale&gt;"
    assert source_of(f'sourceName="Withings" device="{withings}"') == ("scale", "Withings")
    assert source_of('sourceName="Anna’s\u00a0iPhone"') == ("phone", "Anna’s iPhone")
    assert source_of('sourceName="Oura"') == ("ring", "Oura")
    assert source_of('sourceName="Strava"') == ("app", "Strava")
    assert source_of("") == ("unknown", None)


def test_python_spellings_of_numbers_are_no_values() -> None:
    reading = read(document(*(heart_rate(text) for text in ("6_0", "٦٠", "inf", "-nan", "", "0x40", "6e1"))))
    assert reading.values("heartrate") == [60.0]
    assert reading.refused() == {("HKQuantityTypeIdentifierHeartRate", "bad_value"): 6}


def test_dates_that_are_none() -> None:
    texts = (
        "2024-03-20 08:00:60 +0000",
        "2024-03-20 24:00:00 +0000",
        "2024-03-20 08:00:00 +2500",
        "2024-03-20 08:00:00",
        "2024-03-20T08:00:00 +0000",
        "2024-03-20 08:00.00 +0000",
    )
    reading = read(document(*(heart_rate("60", at) for at in texts), heart_rate("61", "20140919013000-0700")))
    assert reading.refused() == {("HKQuantityTypeIdentifierHeartRate", "bad_date"): 6}
    samples = reading.batches[0].samples
    assert samples.start_us.tolist() == [microseconds(2014, 9, 19, 8, 30)]
    assert samples.offset_seconds.tolist() == [-25_200]
    early = read(document(heart_rate("60", "0001-01-01 00:00:00 +0000")))
    assert early.refused() == {("HKQuantityTypeIdentifierHeartRate", "out_of_range"): 1}
