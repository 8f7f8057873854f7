"""Every quantity and category of HealthKit: what it becomes, in which unit, number by number."""

from itertools import chain

import pytest

from aggregation.apple_health.categories import CATEGORIES
from aggregation.apple_health.collector import READABLE
from aggregation.apple_health.cycles import CYCLE_RULES
from aggregation.apple_health.left_out import WITHOUT_RESOURCE, reason_of
from aggregation.apple_health.nutrients import NUTRIENTS
from aggregation.apple_health.quantities import QUANTITIES, SUMMARY_MEASURES
from aggregation.apple_health.sleep import SLEEP_TYPE
from aggregation.catalogue import SERIES_BY_SLUG, STREAM_BY_SLUG, SUMMARY_BY_SLUG
from tests.aggregation.apple_health.reading import Reading, document, read

QUANTITY = "HKQuantityTypeIdentifier"
CATEGORY = "HKCategoryTypeIdentifier"
START, END = "2024-03-20 08:00:00 +0100", "2024-03-20 08:12:30 +0100"


def record(kind: str, value: str, unit: str = "", *metadata: tuple[str, str], source: str = "App") -> str:
    entries = "".join(f'<MetadataEntry key="{key}" value="{text}"/>' for key, text in metadata)
    unit_text = f' unit="{unit}"' if unit else ""
    return (
        f'<Record type="{kind}" sourceName="{source}"{unit_text} startDate="{START}" endDate="{END}" '
        f'value="{value}">{entries}</Record>'
    )


def quantity(name: str, value: str, unit: str, *metadata: tuple[str, str], source: str = "App") -> Reading:
    return read(document(record(QUANTITY + name, value, unit, *metadata, source=source)))


@pytest.mark.parametrize(
    ("name", "value", "unit", "resource", "expected"),
    [
        ("ActiveEnergyBurned", "100", "kcal", "calories_active", 100.0),
        ("ActiveEnergyBurned", "418.4", "kJ", "calories_active", 100.0),
        ("ActiveEnergyBurned", "100", "Cal", "calories_active", 100.0),
        ("BasalEnergyBurned", "70.5", "kcal", "calories_basal", 70.5),
        ("AppleExerciseTime", "3", "min", "workout_duration", 3.0),
        ("AppleExerciseTime", "0.05", "hr", "workout_duration", 3.0),
        ("AppleStandTime", "300", "s", "stand_duration", 5.0),
        ("DistanceWalkingRunning", "0.5", "mi", "distance", 804.672),
        ("DistanceWalkingRunning", "0.25", "km", "distance", 250.0),
        ("DistanceWheelchair", "100", "yd", "distance", 91.44),
        ("DistanceCycling", "2", "km", "workout_distance", 2_000.0),
        ("DistanceSwimming", "25", "yd", "workout_distance", 22.86),
        ("DistanceDownhillSnowSports", "1", "km", "workout_distance", 1_000.0),
        ("DistanceCrossCountrySkiing", "1", "km", "workout_distance", 1_000.0),
        ("DistancePaddleSports", "10", "ft", "workout_distance", 3.048),
        ("DistanceRowing", "500", "m", "workout_distance", 500.0),
        ("DistanceSkatingSports", "1", "mi", "workout_distance", 1_609.344),
        ("FlightsClimbed", "2", "count", "floors_climbed", 2.0),
        ("PushCount", "40", "count", "wheelchair_push", 40.0),
        ("StepCount", "123", "count", "steps", 123.0),
        ("SwimmingStrokeCount", "18", "count", "workout_swimming_stroke", 18.0),
        ("TimeInDaylight", "7", "min", "daylight_exposure", 7.0),
        ("UVExposure", "5", "count", "uv_exposure", 5.0),
        ("NumberOfTimesFallen", "1", "count", "fall", 1.0),
        ("VO2Max", "41.2", "mL/min·kg", "vo2_max", 41.2),
        ("VO2Max", "41.2", "ml/(kg*min)", "vo2_max", 41.2),
        ("HeartRate", "60", "count/min", "heartrate", 60.0),
        ("HeartRate", "1.5", "count/s", "heartrate", 90.0),
        ("HeartRateVariabilitySDNN", "45.5", "ms", "hrv", 45.5),
        ("HeartRateRecoveryOneMinute", "31", "count/min", "heart_rate_recovery_one_minute", 31.0),
        ("AtrialFibrillationBurden", "0.02", "%", "afib_burden", 2.0),
        ("BodyMass", "80", "kg", "weight", 80.0),
        ("BodyMass", "165.5", "lb", "weight", 75.069537235),
        ("BodyMass", "12", "st", "weight", 76.20351816),
        ("BodyMass", "80500", "g", "weight", 80.5),
        ("BodyFatPercentage", "0.215", "%", "fat", 21.5),
        ("BodyMassIndex", "24.5", "count", "body_mass_index", 24.5),
        ("LeanBodyMass", "60", "kg", "lean_body_mass", 60.0),
        ("WaistCircumference", "80", "cm", "waist_circumference", 80.0),
        ("WaistCircumference", "30", "in", "waist_circumference", 76.2),
        ("BloodGlucose", "99", "mg/dL", "glucose", 99 / 18.0156),
        ("BloodGlucose", "5.5", "mmol&lt;180.1558800000541&gt;/L", "glucose", 5.5),
        ("BodyTemperature", "98.6", "degF", "body_temperature", 37.0),
        ("BodyTemperature", "36.6", "degC", "body_temperature", 36.6),
        ("AppleSleepingWristTemperature", "35.5", "degC", "body_temperature", 35.5),
        ("BasalBodyTemperature", "97.7", "degF", "basal_body_temperature", 36.5),
        ("OxygenSaturation", "0.97", "%", "blood_oxygen", 97.0),
        ("OxygenSaturation", "1", "%", "blood_oxygen", 100.0),
        ("RespiratoryRate", "14.5", "count/min", "respiratory_rate", 14.5),
        ("InsulinDelivery", "2.5", "IU", "insulin_injection", 2.5),
        ("AppleSleepingBreathingDisturbances", "3.2", "count", "sleep_breathing_disturbance", 3.2),
        ("ForcedExpiratoryVolume1", "3.1", "L", "forced_expiratory_volume_1", 3.1),
        ("ForcedVitalCapacity", "4200", "mL", "forced_vital_capacity", 4.2),
        ("PeakExpiratoryFlowRate", "450", "L/min", "peak_expiratory_flow_rate", 450.0),
        ("PeakExpiratoryFlowRate", "7.5", "L/s", "peak_expiratory_flow_rate", 450.0),
        ("InhalerUsage", "2", "count", "inhaler_usage", 2.0),
        ("DietaryCaffeine", "80", "mg", "caffeine", 0.08),
        ("DietaryCarbohydrates", "45", "g", "carbohydrates", 45.0),
        ("DietaryWater", "250", "mL", "water", 250.0),
        ("DietaryWater", "0.25", "L", "water", 250.0),
        ("DietaryWater", "8", "fl_oz_us", "water", 236.5882365),
    ],
)
def test_a_quantity_is_converted_exactly(name: str, value: str, unit: str, resource: str, expected: float) -> None:
    reading = quantity(name, value, unit)
    assert [batch.resource for batch in reading.batches] == [resource]
    assert reading.values(resource) == [pytest.approx(expected, rel=1e-15)]
    samples = reading.batches[0].samples
    spec = SERIES_BY_SLUG[resource]
    assert (samples.end_us is not None) is spec.is_interval
    assert samples.offset_seconds.tolist() == [3_600]
    assert reading.refused() == reading.left_out() == {}


def test_a_percent_that_is_no_fraction_is_out_of_range() -> None:
    """HealthKit's percent runs from 0 to 1; nobody has 9,700 % oxygen, and 97 % can't be guessed from it."""
    assert quantity("OxygenSaturation", "97", "%").refused() == {(QUANTITY + "OxygenSaturation", "out_of_range"): 1}


@pytest.mark.parametrize(
    ("name", "unit", "label"),
    [
        ("HeartRateVariabilitySDNN", "ms", "sdnn"),
        ("DistanceWheelchair", "m", "wheelchair"),
        ("DistanceCycling", "m", "cycling"),
        ("DistanceSwimming", "m", "swimming"),
        ("DistanceRowing", "m", "rowing"),
    ],
)
def test_quantities_that_share_a_resource_are_told_apart_by_type(name: str, unit: str, label: str) -> None:
    assert quantity(name, "20", unit).batches[0].samples.type == [label]


def test_samples_with_and_without_a_type_stay_in_line() -> None:
    reading = read(
        document(
            record(QUANTITY + "DistanceWalkingRunning", "1", "m"),
            record(QUANTITY + "DistanceWheelchair", "2", "m"),
            record(QUANTITY + "DistanceWalkingRunning", "3", "m"),
        )
    )
    (batch,) = reading.batches
    assert batch.samples.values.tolist() == [1.0, 2.0, 3.0]
    assert batch.samples.type == [None, "wheelchair", None]


def test_temperatures_say_where_they_were_taken() -> None:
    def location(name: str, *metadata: tuple[str, str]) -> object:
        fields = quantity(name, "36.5", "degC", *metadata).batches[0].samples.fields
        return fields.get("sensor_location")

    key = "HKBodyTemperatureSensorLocation"
    assert location("BodyTemperature") is None
    assert location("BodyTemperature", (key, "0")) is None
    assert location("BodyTemperature", (key, "1")) == ["armpit"]
    assert location("BodyTemperature", (key, "7")) == ["rectum"]
    assert location("BodyTemperature", (key, "11")) == ["forehead"]
    assert location("BodyTemperature", (key, "12")) is None
    assert location("AppleSleepingWristTemperature") == ["wrist"]


@pytest.mark.parametrize(
    ("reason", "source", "kind", "mode"),
    [
        ("1", "Pen", "long_acting", ["basal"]),
        ("1", "Omnipod", "rapid_acting", ["basal"]),
        ("2", "Pen", "rapid_acting", ["bolus"]),
        ("HKInsulinDeliveryReasonBolus", "Pen", "rapid_acting", ["bolus"]),
        ("9", "Pen", "rapid_acting", None),
    ],
)
def test_insulin_by_reason_and_source(reason: str, source: str, kind: str, mode: object) -> None:
    metadata = ("HKInsulinDeliveryReason", reason)
    (batch,) = quantity("InsulinDelivery", "3", "IU", metadata, source=source).batches
    assert batch.samples.type == [kind]
    assert batch.samples.fields.get("delivery_mode") == mode


@pytest.mark.parametrize(
    ("name", "value", "resource", "expected", "label"),
    [
        ("MindfulSession", "HKCategoryValueNotApplicable", "mindfulness_minutes", 12.5, None),
        ("AppleStandHour", "HKCategoryValueAppleStandHourStood", "stand_hour", 1.0, ["stood"]),
        ("AppleStandHour", "HKCategoryValueAppleStandHourIdle", "stand_hour", 0.0, ["idle"]),
        ("HandwashingEvent", "HKCategoryValueNotApplicable", "handwashing", 1.0, None),
        ("HighHeartRateEvent", "HKCategoryValueNotApplicable", "heart_rate_alert", 1.0, ["high_heart_rate"]),
        ("LowHeartRateEvent", "HKCategoryValueNotApplicable", "heart_rate_alert", 1.0, ["low_heart_rate"]),
        ("IrregularHeartRhythmEvent", "HKCategoryValueNotApplicable", "heart_rate_alert", 1.0, ["irregular_rhythm"]),
        ("SleepApneaEvent", "HKCategoryValueNotApplicable", "sleep_apnea_alert", 1.0, None),
    ],
)
def test_a_category_becomes_a_sample(
    name: str, value: str, resource: str, expected: float, label: list[str] | None
) -> None:
    reading = read(document(record(CATEGORY + name, value)))
    (batch,) = reading.batches
    assert (batch.resource, batch.samples.values.tolist(), batch.samples.type) == (resource, [expected], label)
    assert reading.refused() == {}


def test_a_word_that_a_category_does_not_have_is_no_value() -> None:
    reading = read(document(record(CATEGORY + "AppleStandHour", "HKCategoryValueAppleStandHourLying")))
    assert reading.refused() == {(CATEGORY + "AppleStandHour", "bad_value"): 1}


def test_what_has_no_resource_is_left_out_by_name_and_is_no_error() -> None:
    reading = read(
        document(
            record(QUANTITY + "HeadphoneAudioExposure", "71.5", "dBASPL"),
            record(CATEGORY + "Headache", "HKCategoryValueSeverityMild"),
            record(QUANTITY + "NotInventedYet", "1", "count"),
        )
    )
    assert reading.refused() == {}
    assert reading.left_out() == {
        (QUANTITY + "HeadphoneAudioExposure", "no_resource"): 1,
        (CATEGORY + "Headache", "no_resource"): 1,
        (QUANTITY + "NotInventedYet", "unknown_type"): 1,
    }


def test_every_type_of_the_tables_has_one_place_only() -> None:
    places = [
        set(QUANTITIES),
        set(SUMMARY_MEASURES),
        set(CATEGORIES),
        set(CYCLE_RULES),
        {SLEEP_TYPE},
        {kind for kind in WITHOUT_RESOURCE if kind.startswith(("HKQuantity", "HKCategory"))},
        set(NUTRIENTS) - set(QUANTITIES),
    ]
    kinds = list(chain(*places))
    assert len(kinds) == len(set(kinds))
    assert sum(kind.startswith(QUANTITY) for kind in kinds) == 120
    assert sum(kind.startswith(CATEGORY) for kind in kinds) == 70
    assert {reason_of(kind) for kind in WITHOUT_RESOURCE} == {"no_resource"}


def test_every_resource_is_in_the_catalogue() -> None:
    assert {*SERIES_BY_SLUG, *SUMMARY_BY_SLUG, *STREAM_BY_SLUG} >= READABLE
    assert len(READABLE) == 55


def test_every_resource_of_a_summary_has_its_range_from_the_catalogue() -> None:
    too_much = (
        record(QUANTITY + "Height", "301", "cm"),
        record(QUANTITY + "RestingHeartRate", "401", "count/min"),
        '<ActivitySummary dateComponents="2024-03-20" activeEnergyBurned="50001" activeEnergyBurnedUnit="kcal"/>',
    )
    assert set(read(document(*too_much)).refused().values()) == {1}
    assert len(read(document(*too_much)).refused()) == 3
    enough = (
        record(QUANTITY + "Height", "300", "cm"),
        record(QUANTITY + "RestingHeartRate", "400", "count/min"),
        '<ActivitySummary dateComponents="2024-03-20" activeEnergyBurned="50000" activeEnergyBurnedUnit="kcal"/>',
    )
    assert read(document(*enough)).refused() == {}


def test_resting_and_walking_heart_rate_are_fields_of_the_day() -> None:
    reading = read(
        document(
            record(QUANTITY + "RestingHeartRate", "58", "count/min"),
            record(QUANTITY + "WalkingHeartRateAverage", "101", "count/min"),
            '<ActivitySummary dateComponents="2024-03-20" activeEnergyBurned="400" activeEnergyBurnedUnit="kcal"/>',
            '<ActivitySummary dateComponents="2024-03-21" activeEnergyBurned="500" activeEnergyBurnedUnit="kcal"/>',
        )
    )
    assert [(day.external_id, day.fields) for day in reading.of("activity")] == [
        (
            "2024-03-20",
            {"calories_active": 400.0, "heart_rate": {"avg_walking_bpm": 101.0, "resting_bpm": 58.0}},
        ),
        ("2024-03-21", {"calories_active": 500.0}),
    ]


def test_body_measurements_are_a_summary_of_their_day_too() -> None:
    reading = read(
        document(
            record(QUANTITY + "BodyMass", "80", "kg"),
            record(QUANTITY + "BodyMass", "79.5", "kg"),
            record(QUANTITY + "BodyFatPercentage", "0.2", "%"),
        )
    )
    (day,) = reading.of("body")
    assert day.calendar_date.isoformat() == "2024-03-20"
    assert day.fields == {"fat": 20.0, "weight": 79.5}
    assert reading.values("weight") == [80.0, 79.5]


def test_the_profile_takes_what_has_a_field() -> None:
    prefix = "HKCharacteristicTypeIdentifier"
    reading = read(
        document(
            '<ExportDate value="2024-04-01 09:00:00 -0400"/>',
            f'<Me {prefix}DateOfBirth="1980-01-31" {prefix}BiologicalSex="HKBiologicalSexFemale" '
            f'{prefix}BloodType="HKBloodTypeOPositive" {prefix}FitzpatrickSkinType="HKFitzpatrickSkinTypeNotSet" '
            f'{prefix}WheelchairUse="HKWheelchairUseYes"/>',
            record(QUANTITY + "Height", "5.9", "ft"),
            record(QUANTITY + "Height", "181.4", "cm"),
        )
    )
    (profile,) = reading.of("profile")
    assert profile.fields == {"birth_date": "1980-01-31", "sex": "female", "wheelchair_use": True, "height": 181}
    assert (profile.external_id, profile.calendar_date.isoformat()) == ("profile", "2024-04-01")
    assert reading.left_out() == {(prefix + "BloodType", "no_field"): 1}
    wrong = read(
        document(f'<Me {prefix}DateOfBirth="2980-01-31" {prefix}BiologicalSex="?" {prefix}WheelchairUse="No"/>')
    )
    assert wrong.of("profile") == []
    assert wrong.refused() == {
        (prefix + "DateOfBirth", "out_of_range"): 1,
        (prefix + "BiologicalSex", "bad_value"): 1,
    }


def test_devices_are_named_once_with_their_newest_software() -> None:
    def of(software: str, address: str) -> str:
        device = (
            f"&lt;&lt;HKDevice: {address}&gt;, name:Apple Watch, manufacturer:Apple Inc., model:Watch, "
            f"hardware:Watch6,2, software:{software}&gt;"
        )
        return record(QUANTITY + "HeartRate", "60", "count/min").replace("<Record", f'<Record device="{device}"')

    reading = read(document(of("9.1", "0x1"), of("10.0", "0x2"), record(QUANTITY + "HeartRate", "61", "count/min")))
    (device,) = reading.of("device")
    assert device.fields == {
        "device_manufacturer": "Apple Inc.",
        "device_model": "Watch6,2",
        "device_version": "10.0",
    }
    of_watch, of_app = reading.batches
    assert of_watch.source == device.source
    assert of_watch.source.device_id is not None
    assert (len(of_watch.samples), of_app.source.device_id) == (2, None)
