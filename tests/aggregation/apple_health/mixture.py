"""Writes an Apple Health export.zip of any size that holds all sorts of things, the same for the same arguments."""

import random
import zipfile
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO

from tests.aggregation.apple_health.generate import FIRST_AT, FOOTER, HEADER, PHONE, WATCH

_Q, _C = "HKQuantityTypeIdentifier", "HKCategoryTypeIdentifier"
_ME = (
    ' <Me HKCharacteristicTypeIdentifierDateOfBirth="1980-01-01"'
    ' HKCharacteristicTypeIdentifierBiologicalSex="HKBiologicalSexFemale"'
    ' HKCharacteristicTypeIdentifierBloodType="HKBloodTypeNotSet"/>\n'
)
#: Of a hundred records: kind, unit, seconds it lasts, lowest and highest value, decimals.
_SORTS: tuple[tuple[int, str, str, int, float, float, int], ...] = (
    (52, "HeartRate", "count/min", 0, 45, 180, 0),
    (14, "ActiveEnergyBurned", "kcal", 60, 0, 12, 3),
    (9, "BasalEnergyBurned", "kcal", 300, 5, 9, 3),
    (8, "StepCount", "count", 60, 0, 140, 0),
    (7, "DistanceWalkingRunning", "mi", 60, 0, 0.1, 6),
    (3, "OxygenSaturation", "%", 0, 0.9, 1.0, 2),
    (2, "RespiratoryRate", "count/min", 0, 11, 19, 1),
    (2, "EnvironmentalAudioExposure", "dBASPL", 300, 40, 90, 4),
    (1, "HeartRateVariabilitySDNN", "ms", 60, 15, 120, 4),
    (1, "DietaryProtein", "g", 0, 1, 40, 1),
    (1, "BodyMass", "kg", 0, 70, 75, 1),
)
STEP_SECONDS = 6
RECORDS_PER_DAY = 86_400 // STEP_SECONDS
ROUTE_POINTS = 1_800
ELECTROCARDIOGRAM_SAMPLES = 15_360


def _text(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M:%S +0000")


def _element(kind: str, at: datetime, seconds: int, value: str, unit: str = "", inner: str = "") -> str:
    name, device = ("Phone", PHONE) if kind.endswith(("StepCount", "DistanceWalkingRunning")) else ("Watch", WATCH)
    unit_text = f' unit="{unit}"' if unit else ""
    start, end = _text(at), _text(at + timedelta(seconds=seconds))
    closing = f">{inner}</Record>" if inner else "/>"
    return (
        f' <Record type="{kind}" sourceName="{name}" sourceVersion="10.1" device="{device}"{unit_text}'
        f' creationDate="{end}" startDate="{start}" endDate="{end}" value="{value}"{closing}\n'
    )


def _records(count: int, chance: random.Random) -> Iterator[str]:
    kinds = [sort for sort in _SORTS for _ in range(sort[0])]
    motion = '<MetadataEntry key="HKMetadataKeyHeartRateMotionContext" value="1"/>'
    for index in range(count):
        at = FIRST_AT + timedelta(seconds=STEP_SECONDS * index)
        _, name, unit, seconds, lowest, highest, decimals = kinds[chance.randrange(100)]
        value = f"{chance.uniform(lowest, highest):.{decimals}f}"
        inner = motion if name == "HeartRate" else ""
        yield _element(_Q + name, at, seconds, value, unit, inner)


def _night(at: datetime) -> Iterator[str]:
    stages = ("Core", "Deep", "Core", "REM", "Core", "Awake")
    for index in range(30):
        stage = stages[index % 6]
        name = stage if stage == "Awake" else f"Asleep{stage}"
        start = at + timedelta(minutes=15 * index)
        yield _element(_C + "SleepAnalysis", start, 900, f"HKCategoryValueSleepAnalysis{name}")


def _day(number: int, routes: int) -> Iterator[str]:
    """What a day has beside its stream of records."""
    at = FIRST_AT + timedelta(days=number)
    yield from _night(at)
    yield _element(_C + "AppleStandHour", at + timedelta(hours=9), 3600, "HKCategoryValueAppleStandHourStood")
    yield _element(_Q + "RestingHeartRate", at, 86_399, "58", "count/min")
    noon = at + timedelta(hours=12)
    pair = _element(_Q + "BloodPressureSystolic", noon, 0, "118", "mmHg")
    pair += _element(_Q + "BloodPressureDiastolic", noon, 0, "76", "mmHg")
    when = f'startDate="{_text(noon)}" endDate="{_text(noon)}"'
    yield f'{pair} <Correlation type="HKCorrelationTypeIdentifierBloodPressure" sourceName="Watch" {when}>\n{pair}'
    yield " </Correlation>\n"
    if number % 28 < 4:
        mark = f'<MetadataEntry key="HKMenstrualCycleStart" value="{int(number % 28 == 0)}"/>'
        yield _element(_C + "MenstrualFlow", noon, 0, "HKCategoryValueMenstrualFlowMedium", inner=mark)
    yield _workout(at + timedelta(hours=18), f"route_{number}.gpx" if number < routes else "")
    yield (
        f' <ActivitySummary dateComponents="{at:%Y-%m-%d}" activeEnergyBurned="512.4"'
        ' activeEnergyBurnedUnit="kcal" appleExerciseTime="35" appleStandHours="12"/>\n'
    )


def _workout(at: datetime, route: str) -> str:
    end = at + timedelta(minutes=30)
    file = f'<WorkoutRoute><FileReference path="/workout-routes/{route}"/></WorkoutRoute>' if route else ""
    return (
        ' <Workout workoutActivityType="HKWorkoutActivityTypeRunning" duration="30" durationUnit="min"'
        f' sourceName="Watch" device="{WATCH}" startDate="{_text(at)}" endDate="{_text(end)}">'
        f'<WorkoutStatistics type="{_Q}DistanceWalkingRunning" sum="5" unit="km"/>{file}</Workout>\n'
    )


def _gpx(at: datetime) -> str:
    points = "".join(
        f'<trkpt lat="{52 + second / 1e5:.6f}" lon="{13 + second / 1e5:.6f}"><ele>{40 + second % 7}</ele>'
        f"<time>{at + timedelta(seconds=second):%Y-%m-%dT%H:%M:%SZ}</time>"
        "<extensions><speed>2.78</speed></extensions></trkpt>"
        for second in range(ROUTE_POINTS)
    )
    return f'<?xml version="1.0"?><gpx version="1.1"><trk><trkseg>{points}</trkseg></trk></gpx>'


def _electrocardiogram(at: datetime, chance: random.Random) -> str:
    head = f"Name,X\nRecorded Date,{_text(at)}\nClassification,Sinus Rhythm\nSample Rate,512 hertz\n\nUnit,µV\n\n"
    return head + "\n".join(f"{chance.gauss(0, 200):.3f}" for _ in range(ELECTROCARDIOGRAM_SAMPLES))


def _write_xml(out: BinaryIO, records: int, routes: int, chance: random.Random) -> int:
    written = out.write(HEADER) + out.write(_ME.encode())
    lines: list[str] = []
    stream = _records(records, chance)
    for index, line in enumerate(stream):
        lines.append(line)
        if index % RECORDS_PER_DAY == RECORDS_PER_DAY - 1:
            lines.extend(_day(index // RECORDS_PER_DAY, routes))
        if len(lines) >= 1_000:
            written += out.write("".join(lines).encode())
            lines.clear()
    return written + out.write("".join(lines).encode()) + out.write(FOOTER)


def write_archive(path: Path, *, records: int, routes: int = 0, electrocardiograms: int = 0, seed: int = 0) -> int:
    """Writes the archive; answers the bytes of its export.xml (about 400 a record)."""
    chance = random.Random(seed)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for number in range(routes):
            at = FIRST_AT + timedelta(days=number, hours=18)
            archive.writestr(f"apple_health_export/workout-routes/route_{number}.gpx", _gpx(at))
        for number in range(electrocardiograms):
            at = FIRST_AT + timedelta(days=number, hours=20)
            name = f"apple_health_export/electrocardiograms/ecg_{number:03d}.csv"
            archive.writestr(name, _electrocardiogram(at, chance))
        with archive.open("apple_health_export/export.xml", "w", force_zip64=True) as out:
            return _write_xml(out, records, routes, chance)  # type: ignore[arg-type]
