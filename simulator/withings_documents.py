"""The rows of Withings' data API, field by field, made from a simulated day."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import groupby
from math import sin
from typing import TypeAlias

from simulator.day import Day, Slot, active_kilocalories, midnight, walked_metres
from simulator.draws import bell, draw, hexadecimal, identifier
from simulator.person import WORN_SINCE, Person
from simulator.sleep import AWAKE, DEEP, LIGHT, REM, SLOT_SECONDS, Sleep
from simulator.workout import SPORTS, Workout

Row: TypeAlias = Mapping[str, object]

#: Sleep data source: a tracker, against 32 for a sleep monitor.
TRACKER = 16

WATCH_MODEL, WATCH_MODEL_ID = "ScanWatch 2", 94
SCALE_MODEL, SCALE_MODEL_ID = "Body Comp", 18
CUFF_MODEL, CUFF_MODEL_ID = "BPM Connect", 45
THERMOMETER_MODEL, THERMOMETER_MODEL_ID = "Thermo", 70

#: `meastype` numbers of the documentation.
WEIGHT, FAT_FREE_MASS, FAT_RATIO, FAT_MASS = 1, 5, 6, 8
DIASTOLIC, SYSTOLIC, PULSE = 9, 10, 11
OXYGEN, BODY_TEMPERATURE = 54, 71
MUSCLE_MASS, HYDRATION, BONE_MASS, VISCERAL_FAT = 76, 77, 88, 170

#: `state` numbers of the documentation.
_STATES = {AWAKE: 0, LIGHT: 1, DEEP: 2, REM: 3}


@dataclass(frozen=True, slots=True)
class MeasureGroup:
    """A measure group and its instant, epoch seconds."""

    at: int
    document: Row


@dataclass(frozen=True, slots=True)
class SleepSegment:
    """A stretch of one sleep state and its first instant, epoch seconds."""

    starts_at: int
    document: Row


def _device(person: Person, model: str) -> str:
    return hexadecimal(person.seed, model, 20)


def _chosen(row: Row, on_request: Row, wanted: Set[str]) -> dict[str, object]:
    return {**row, **{name: value for name, value in on_request.items() if name in wanted}}


def activity(person: Person, day: Day, wanted: Set[str]) -> Row:
    """The day's totals; they are the sums of the intraday entries."""
    steps = sum(slot.steps for slot in day.slots)
    active = active_kilocalories(person, day.slots)
    beats = [slot.bpm for slot in day.slots if slot.bpm is not None]
    soft, moderate, intense = (_seconds(day.slots, *bounds) for bounds in ((1.5, 3.0), (3.0, 6.0), (6.0, 99.0)))
    zones = _zone_seconds(person, day, beats)
    row = {
        "date": day.on.isoformat(),
        "timezone": person.zone,
        "deviceid": _device(person, WATCH_MODEL),
        "hash_deviceid": _device(person, WATCH_MODEL),
        "brand": 1,
        "is_tracker": True,
        "modified": day.ends_at,
        "model": WATCH_MODEL,
        "modelid": WATCH_MODEL_ID,
        "totalcalories": round(active + 1.1 * person.basal_kilocalories(day.on), 2),
    }
    on_request = {
        "steps": steps,
        "distance": round(walked_metres(person, steps), 2),
        "elevation": sum(_floors(person, slot) for slot in day.slots),
        "soft": soft,
        "moderate": moderate,
        "intense": intense,
        "active": moderate + intense,
        "calories": round(active, 2),
        "hr_average": round(sum(beats) / len(beats)),
        "hr_min": min(beats),
        "hr_max": max(beats),
        **{f"hr_zone_{number}": seconds for number, seconds in enumerate(zones)},
    }
    return _chosen(row, on_request, wanted)


def intraday(person: Person, day: Day, wanted: Set[str]) -> Iterator[tuple[int, Row]]:
    """One entry each five minutes in which the watch was worn, keyed by its first instant."""
    row = {"deviceid": _device(person, WATCH_MODEL), "model": WATCH_MODEL, "model_id": WATCH_MODEL_ID}
    for slot in day.slots:
        if slot.bpm is None:
            continue
        on_request: dict[str, object] = {"heart_rate": slot.bpm}
        if slot.steps:
            on_request |= {
                "steps": slot.steps,
                "distance": round(walked_metres(person, slot.steps), 2),
                "elevation": _floors(person, slot),
                "calories": round(active_kilocalories(person, [slot]), 2),
                "duration": SLOT_SECONDS,
            }
        chosen = _chosen({}, on_request, wanted)
        if chosen:
            yield slot.starts_at, {**row, **chosen}


def workout(person: Person, day: Day, workout: Workout, wanted: Set[str]) -> Row:
    row = {
        "id": identifier(person.seed, "workout", day.on.toordinal()) % 10_000_000_000,
        "category": SPORTS[workout.sport].withings_category,
        "timezone": person.zone,
        "model": WATCH_MODEL_ID,
        "attrib": 7,
        "startdate": workout.starts_at,
        "enddate": workout.ends_at,
        "date": day.on.isoformat(),
        "modified": workout.ends_at + 60,
        "deviceid": _device(person, WATCH_MODEL),
    }
    always = {"intensity": 0, "manual_intensity": 0, "pause_duration": 0, "algo_pause_duration": 0}
    zones = _zone_seconds(person, day, workout.bpm, seconds_each=60)
    on_request = {
        "calories": round(workout.active_kilocalories),
        "manual_calories": 0,
        "manual_distance": 0,
        "hr_average": round(sum(workout.bpm) / len(workout.bpm)),
        "hr_min": min(workout.bpm),
        "hr_max": max(workout.bpm),
        **{f"hr_zone_{number}": seconds for number, seconds in enumerate(zones)},
    }
    if workout.sport != "swimming":
        on_request |= {"steps": sum(workout.steps), "distance": round(workout.distance_metre), "elevation": 0}
    return {**row, "data": _chosen(always, on_request, wanted)}


def sleep_summary(person: Person, day: Day, sleep: Sleep, wanted: Set[str]) -> Row:
    row = {
        "id": identifier(person.seed, "nap" if sleep.is_nap else "night", day.on.toordinal()) % 10_000_000_000,
        "timezone": person.zone,
        "model": TRACKER,
        "model_id": WATCH_MODEL_ID,
        "hash_deviceid": _device(person, WATCH_MODEL),
        "startdate": sleep.starts_at,
        "enddate": sleep.ends_at,
        "date": day.on.isoformat(),
        "created": sleep.ends_at + 300,
        "modified": sleep.ends_at + 300,
        "completed": True,
    }
    always = {"sleep_score": sleep.score, "rmssd_start_avg": sleep.rmssd_ms[0], "rmssd_end_avg": sleep.rmssd_ms[-1]}
    breaths = round(sleep.breaths_per_minute)
    runs = [stage for stage, _ in groupby(sleep.stages)]
    wakings = runs.count(AWAKE) - 2
    on_request = {
        "total_timeinbed": sleep.in_bed_seconds,
        "total_sleep_time": sleep.asleep_seconds,
        "lightsleepduration": sleep.seconds(LIGHT),
        "remsleepduration": sleep.seconds(REM),
        "deepsleepduration": sleep.seconds(DEEP),
        "sleep_efficiency": round(sleep.asleep_seconds / sleep.in_bed_seconds, 4),
        "sleep_latency": sleep.latency_seconds,
        "wakeup_latency": (len(sleep.stages) - len(sleep.stages.rstrip(AWAKE))) * SLOT_SECONDS,
        "wakeupduration": sleep.seconds(AWAKE),
        "wakeupcount": wakings,
        "waso": sleep.seconds(AWAKE) - sleep.latency_seconds,
        "nb_rem_episodes": runs.count(REM),
        "durationtosleep": sleep.latency_seconds,
        "out_of_bed_count": 0,
        "hr_average": round(sum(sleep.bpm) / len(sleep.bpm)),
        "hr_min": min(sleep.bpm),
        "hr_max": max(sleep.bpm),
        "rr_average": breaths,
        "rr_min": breaths - 3,
        "rr_max": breaths + 4,
    }
    return {**row, "data": _chosen(always, on_request, wanted)}


def sleep_segments(sleep: Sleep, wanted: Set[str]) -> Iterator[SleepSegment]:
    """The stretches of one state each, with heart and breathing rates at five-minute instants on request."""
    index = 0
    for stage, run in groupby(sleep.stages):
        length = len(list(run))
        starts_at = sleep.starts_at + index * SLOT_SECONDS
        instants = [starts_at + offset * SLOT_SECONDS for offset in range(length)]
        beats = sleep.bpm[index : index + length]
        on_request = {
            "hr": dict(zip(map(str, instants), beats, strict=True)),
            "rr": {str(at): round(sleep.breaths_per_minute) for at in instants},
            "rmssd": dict(zip(map(str, instants), sleep.rmssd_ms[index : index + length], strict=True)),
        }
        row = {
            "startdate": starts_at,
            "enddate": starts_at + length * SLOT_SECONDS,
            "state": _STATES[stage],
            "model": WATCH_MODEL,
            "model_id": WATCH_MODEL_ID,
        }
        yield SleepSegment(starts_at, _chosen(row, on_request, wanted))
        index += length


def measure_groups(person: Person, day: Day, types: Set[int]) -> Iterator[MeasureGroup]:
    """On the scale most mornings, the cuff about once a week, a finger on the watch now and then, a thermometer seldom.

    `types` empty means every type.
    """
    number = day.on.toordinal()
    if draw(person.seed, "scale", number) < 0.7:
        yield from _group(person, day, 900, SCALE_MODEL, SCALE_MODEL_ID, _body(person, number), types)
    if draw(person.seed, "cuff", number) < 0.15:
        systolic = round(118 + 10 * bell(person.seed, "systolic", number))
        diastolic = round(76 + 7 * bell(person.seed, "diastolic", number))
        pulse = person.resting_bpm + 6
        measures = [(diastolic, DIASTOLIC, 0), (systolic, SYSTOLIC, 0), (pulse, PULSE, 0)]
        yield from _group(person, day, 1500, CUFF_MODEL, CUFF_MODEL_ID, measures, types)
    if draw(person.seed, "oxygen", number) < 0.3:
        oxygen = round(97.2 + 1.2 * bell(person.seed, "saturation", number))
        yield from _group(person, day, 1800, WATCH_MODEL, WATCH_MODEL_ID, [(oxygen, OXYGEN, 0)], types)
    if draw(person.seed, "thermometer", number) < 0.04:
        tenths = round(366 + 4 * bell(person.seed, "body temperature", number))
        measures = [(tenths, BODY_TEMPERATURE, -1)]
        yield from _group(person, day, 2100, THERMOMETER_MODEL, THERMOMETER_MODEL_ID, measures, types)


def devices(person: Person, now: int) -> Sequence[Row]:
    """What the person owns. The battery runs down through the week."""
    kinds = (
        ("Activity Tracker", WATCH_MODEL, WATCH_MODEL_ID),
        ("Scale", SCALE_MODEL, SCALE_MODEL_ID),
        ("Blood Pressure Monitor", CUFF_MODEL, CUFF_MODEL_ID),
        ("Smart Connected Thermometer", THERMOMETER_MODEL, THERMOMETER_MODEL_ID),
    )
    since = midnight(person, WORN_SINCE)
    return [
        {
            "type": kind,
            "model": model,
            "model_id": model_id,
            "battery": ("high", "medium", "low")[now // 86_400 % 3],
            "deviceid": _device(person, model),
            "hash_deviceid": _device(person, model),
            "timezone": person.zone,
            "first_session_date": since,
            "last_session_date": now - now % 3600,
        }
        for kind, model, model_id in kinds
    ]


def _body(person: Person, number: int) -> Sequence[tuple[int, int, int]]:
    """Body composition as (value, type, power of ten): weight in grams, the rest in tens of grams."""
    drift = 0.012 * sin(number / 40 + 6 * draw(person.seed, "drift"))
    weight = person.weight_kilogram * (1 + drift + 0.006 * bell(person.seed, "weight", number))
    fat = weight * (person.fat_fraction + 0.006 * bell(person.seed, "fat", number))
    lean = weight - fat
    return [
        (round(weight * 1000), WEIGHT, -3),
        (round(fat / weight * 100_000), FAT_RATIO, -3),
        (round(fat * 100), FAT_MASS, -2),
        (round(lean * 100), FAT_FREE_MASS, -2),
        (round(lean * 95), MUSCLE_MASS, -2),
        (round(lean * 73), HYDRATION, -2),
        (round(lean * 5), BONE_MASS, -2),
        (round(20 + 60 * person.fat_fraction), VISCERAL_FAT, -1),
        (person.resting_bpm + 8, PULSE, 0),
    ]


def _group(
    person: Person,
    day: Day,
    after_waking_seconds: int,
    model: str,
    model_id: int,
    measures: Sequence[tuple[int, int, int]],
    types: Set[int],
) -> Iterator[MeasureGroup]:
    chosen = [
        {"value": value, "type": kind, "unit": unit} for value, kind, unit in measures if kind in (types or {kind})
    ]
    if not chosen:
        return
    at = day.night.ends_at + after_waking_seconds
    device = _device(person, model)
    document = {
        "grpid": identifier(person.seed, model, day.on.toordinal()) % 10_000_000_000,
        "attrib": 0,
        "date": at,
        "created": at + 30,
        "modified": at + 30,
        "category": 1,
        "deviceid": device,
        "hash_deviceid": device,
        "measures": chosen,
        "model": model,
        "model_id": model_id,
        "comment": None,
    }
    yield MeasureGroup(at, document)


def _floors(person: Person, slot: Slot) -> int:
    return int(slot.steps > 0 and draw(person.seed, "floor", slot.starts_at // SLOT_SECONDS) < 0.06)


def _seconds(slots: Sequence[Slot], low_met: float, high_met: float) -> int:
    return SLOT_SECONDS * sum(low_met <= slot.met < high_met for slot in slots)


def _zone_seconds(
    person: Person, day: Day, beats: Sequence[int], seconds_each: int = SLOT_SECONDS
) -> tuple[int, int, int, int]:
    """Time under 50 %, 50 to 70 %, 70 to 90 % and above 90 % of the person's maximal heart rate."""
    shares = [value / person.maximum_bpm(day.on) for value in beats]
    bounds = ((0.0, 0.5), (0.5, 0.7), (0.7, 0.9), (0.9, 9.0))
    light, moderate, intense, maximal = (
        seconds_each * sum(low <= share < high for share in shares) for low, high in bounds
    )
    return light, moderate, intense, maximal
