"""The export's own form of what summaries are made of."""

from itertools import pairwise

from aggregation.apple_health.limits import ExportLimits
from aggregation.apple_health.raw import RAW_MAXIMUM_BYTES
from tests.aggregation.apple_health.reading import document, read, sleep

Q = "HKQuantityTypeIdentifier"
AT = {"startDate": "2024-03-12 08:00:00 +0000", "endDate": "2024-03-12 08:30:00 +0000"}
RINGS = {"dateComponents": "2024-03-12", "activeEnergyBurned": "400", "activeEnergyBurnedUnit": "kcal"}


def element(name: str, inner: str = "", **attributes: str) -> str:
    texts = " ".join(f'{key}="{value}"' for key, value in attributes.items())
    return f"<{name} {texts}>{inner}</{name}>"


def quantity(name: str, value: str, unit: str, inner: str = "", **more: str) -> str:
    return element("Record", inner, type=Q + name, sourceName="App", value=value, unit=unit, **AT, **more)


def test_a_day_of_activity_holds_its_elements() -> None:
    reading = read(document(element("ActivitySummary", **RINGS), quantity("RestingHeartRate", "58", "count/min")))
    (day,) = reading.of("activity")
    resting = {"type": Q + "RestingHeartRate", "sourceName": "App", "value": "58", "unit": "count/min", **AT}
    assert day.raw == {"ActivitySummary": RINGS, Q + "RestingHeartRate": resting}


def test_a_body_day_holds_the_latest_records_with_their_metadata() -> None:
    entry = '<MetadataEntry key="HKWasUserEntered" value="1"/>'
    reading = read(document(quantity("BodyMass", "80", "kg"), quantity("BodyMass", "79", "kg", entry)))
    (day,) = reading.of("body")
    assert day.raw == {
        Q + "BodyMass": {
            "type": Q + "BodyMass",
            "sourceName": "App",
            "value": "79",
            "unit": "kg",
            **AT,
            "MetadataEntry": {"HKWasUserEntered": "1"},
        }
    }


def test_a_workout_holds_its_element_metadata_and_statistics() -> None:
    own = {"workoutActivityType": "HKWorkoutActivityTypeRunning", "sourceName": "Watch", **AT}
    inner = (
        '<MetadataEntry key="HKIndoorWorkout" value="0"/>'
        f'<WorkoutStatistics type="{Q}StepCount" sum="5400" unit="count"/>'
        f'<WorkoutStatistics type="{Q}HeartRate" average="149" unit="count/min"/>'
    )
    device = "&lt;&lt;HKDevice: 0x2839d5e50&gt;, name:Apple Watch, model:Watch&gt;"
    (workout,) = read(document(element("Workout", inner, **own, device=device))).of("workouts")
    assert workout.raw == {
        **own,
        "device": "name:Apple Watch, model:Watch",
        "MetadataEntry": {"HKIndoorWorkout": "0"},
        "WorkoutStatistics": [
            {"type": Q + "StepCount", "sum": "5400", "unit": "count"},
            {"type": Q + "HeartRate", "average": "149", "unit": "count/min"},
        ],
    }


def test_a_profile_holds_what_has_a_field_and_nothing_else() -> None:
    prefix = "HKCharacteristicTypeIdentifier"
    kept = {f"{prefix}DateOfBirth": "1980-01-31", f"{prefix}WheelchairUse": "HKWheelchairUseNo"}
    wrong = {f"{prefix}BiologicalSex": "?", f"{prefix}BloodType": "HKBloodTypeOPositive"}
    (profile,) = read(document(element("Me", **kept, **wrong), quantity("Height", "181", "cm"))).of("profile")
    assert profile.raw is not None
    assert profile.raw["Me"] == kept
    assert list(profile.raw) == ["Me", Q + "Height"]


def test_a_night_holds_its_records_and_its_stages_hold_nothing() -> None:
    reading = read(document(sleep("01:00", "05:00", "Asleep"), sleep("00:30", "06:00", "InBed")))
    (night,) = reading.of("sleep")
    prefix = "HKCategoryValueSleepAnalysis"
    assert night.raw == {
        "type": "HKCategoryTypeIdentifierSleepAnalysis",
        "Record": [
            {
                "startDate": "2024-03-20T00:30:00+00:00",
                "endDate": "2024-03-20T06:00:00+00:00",
                "value": prefix + "InBed",
            },
            {
                "startDate": "2024-03-20T01:00:00+00:00",
                "endDate": "2024-03-20T05:00:00+00:00",
                "value": prefix + "Asleep",
            },
        ],
    }
    assert [stages.raw for stages in reading.of("sleep_cycle")] == [None]


def test_a_form_that_is_too_large_is_not_kept_and_costs_nothing_else() -> None:
    long = f'<MetadataEntry key="HKNote" value="{"x" * RAW_MAXIMUM_BYTES}"/>'
    own = {"workoutActivityType": "HKWorkoutActivityTypeRunning", "sourceName": "Watch", **AT}
    reading = read(document(element("Workout", long, **own), quantity("BodyMass", "80", "kg", long)))
    assert [(one.resource, one.raw) for one in reading.summaries if one.resource in ("workouts", "body")] == [
        ("workouts", None),
        ("body", None),
    ]
    minutes = [f"{minute // 60:02d}:{minute % 60:02d}" for minute in range(202)]
    naps = [sleep(start, end, "AsleepCore") for start, end in pairwise(minutes)]
    assert [night.raw for night in read(document(*naps)).of("sleep")] == [None]


def test_all_forms_together_are_bounded() -> None:
    days = [element("ActivitySummary", **{**RINGS, "dateComponents": f"2024-03-{day:02d}"}) for day in range(1, 8)]
    reading = read(document(*days), ExportLimits(max_raw_bytes=800))
    assert [day.raw is not None for day in reading.of("activity")] == [True, True, True, False, False, False, False]
    # A later row of a day takes the place of the one before.
    again = read(document(*[days[0]] * 7, days[1]), ExportLimits(max_raw_bytes=800))
    assert [day.raw is not None for day in again.of("activity")] == [True, True]
