"""Summaries in the generic shape: nights, days, workouts and their courses, meals, recordings, the person."""

from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from itertools import accumulate, groupby
from math import exp
from typing import Final

from simulator.day import HIGH_MET, LOW_MET, MEDIUM_MET, Day, active_kilocalories, local, walked_metres
from simulator.draws import between, draw, hexadecimal
from simulator.generic_series import (
    KILOJOULE_A_KILOCALORIE,
    Row,
    Rows,
    electrocardiogram_at,
    fat_fraction,
    scale_at,
    weight_gram,
)
from simulator.meals import meals_of
from simulator.person import Person
from simulator.sleep import AWAKE, DEEP, LIGHT, REM, SLOT_SECONDS, Sleep
from simulator.workout import SPORTS

_STAGES: Final = {DEEP: "deep", LIGHT: "light", REM: "rem", AWAKE: "awake"}
_SECONDS_A_MINUTE: Final = 60
_RECORDING_SECONDS: Final = 30
_RECORDING_HERTZ: Final = 100
#: A heartbeat's waves: place in the beat, width, both as shares of it, and height in millivolts (P, Q, R, S, T).
_WAVES: Final = (
    (0.18, 0.025, 0.12),
    (0.27, 0.010, -0.10),
    (0.30, 0.012, 1.10),
    (0.33, 0.010, -0.22),
    (0.55, 0.045, 0.28),
)


def _stamp(person: Person, at: int) -> str:
    return local(person, at).isoformat()


def _id(person: Person, label: str, on: date) -> str:
    return hexadecimal(person.seed, f"{label}|{on.isoformat()}", 12)


def sleep(person: Person, day: Day) -> Iterator[Row]:
    """The night and the nap, each with its stages."""
    for one in day.sleeps:
        yield one.ends_at, _sleep(person, day, one)


def _sleep(person: Person, day: Day, one: Sleep) -> Mapping[str, object]:
    return {
        "id": _id(person, "nap" if one.is_nap else "night", day.on),
        "day": day.on.isoformat(),
        "start": _stamp(person, one.starts_at),
        "end": _stamp(person, one.ends_at),
        "kind": "nap" if one.is_nap else "night",
        "score": one.score,
        "latency_seconds": one.latency_seconds,
        "average_bpm": round(sum(one.bpm) / len(one.bpm), 1),
        "lowest_bpm": min(one.bpm),
        "average_rmssd_milliseconds": round(sum(one.rmssd_ms) / len(one.rmssd_ms), 1),
        "breaths_per_minute": one.breaths_per_minute,
        "temperature_delta_celsius": one.temperature_delta_celsius,
        "stages": list(_stages(one)),
    }


def _stages(one: Sleep) -> Iterator[Mapping[str, object]]:
    slot = 0
    for stage, run in groupby(one.stages):
        first, slot = slot, slot + len(list(run))
        start, end = first * SLOT_SECONDS, slot * SLOT_SECONDS
        yield {"stage": _STAGES[stage], "start_second": start, "end_second": end}


def activity(person: Person, day: Day) -> Iterator[Row]:
    """A day's totals, told when it is over; the sums of its samples."""
    steps = sum(slot.steps for slot in day.slots)
    active = active_kilocalories(person, day.slots)
    beats = [slot.bpm for slot in day.slots if slot.bpm is not None]
    bounds = {"low": (LOW_MET, MEDIUM_MET), "medium": (MEDIUM_MET, HIGH_MET), "high": (HIGH_MET, 99.0)}
    yield (
        day.ends_at,
        {
            "id": _id(person, "day", day.on),
            "day": day.on.isoformat(),
            "start": _stamp(person, day.starts_at),
            "steps": steps,
            "distance_kilometre": round(walked_metres(person, steps) / 1000, 3),
            "active_kilojoule": round(active * KILOJOULE_A_KILOCALORIE, 1),
            "total_kilojoule": round((active + 1.1 * person.basal_kilocalories(day.on)) * KILOJOULE_A_KILOCALORIE, 1),
            **{
                f"{name}_seconds": SLOT_SECONDS * sum(low <= slot.met < high for slot in day.slots)
                for name, (low, high) in bounds.items()
            },
            "average_bpm": round(sum(beats) / len(beats)),
            "lowest_bpm": min(beats),
            "highest_bpm": max(beats),
            "resting_bpm": min(day.night.bpm),
        },
    )


def workouts(person: Person, day: Day) -> Iterator[Row]:
    """The day's workout, if there was one."""
    one = day.workout
    if one is None:
        return
    yield (
        one.ends_at,
        {
            "id": _id(person, "workout", day.on),
            "day": day.on.isoformat(),
            "start": _stamp(person, one.starts_at),
            "end": _stamp(person, one.ends_at),
            "sport": one.sport,
            "title": f"{one.intensity.title()} {one.sport}",
            "distance_kilometre": round(one.distance_metre / 1000, 3) if one.distance_metre else None,
            "energy_kilojoule": round(one.active_kilocalories * KILOJOULE_A_KILOCALORIE, 1),
            "average_bpm": round(sum(one.bpm) / len(one.bpm)),
            "highest_bpm": max(one.bpm),
            "steps": sum(one.steps) if SPORTS[one.sport].steps_a_minute else None,
        },
    )


def workout_stream(person: Person, day: Day) -> Iterator[Row]:
    """The workout's course, one entry a minute; its heart rate is the day's."""
    one = day.workout
    if one is None:
        return
    minutes = len(one.bpm)
    seed = f"{person.seed}|course|{day.on.isoformat()}"
    weights = [between(0.85, 1.15, draw(seed, "pace", minute)) for minute in range(minutes)]
    covered = [one.distance_metre * weight / sum(weights) for weight in weights]
    channels: dict[str, list[float]] = {"bpm": [float(beats) for beats in one.bpm]}
    if one.distance_metre:
        channels["distance_metre"] = [round(metres, 1) for metres in accumulate(covered)]
        channels["kilometre_per_hour"] = [round(metres * 60 / 1000, 2) for metres in covered]
    if one.sport == "cycling":
        channels["watt"] = [round(150 * weight) for weight in weights]
        channels["cadence_per_minute"] = [round(85 * weight) for weight in weights]
    elif SPORTS[one.sport].steps_a_minute > 100:
        channels["cadence_per_minute"] = [float(steps) for steps in one.steps]
    yield (
        one.ends_at,
        {
            "workout_id": _id(person, "workout", day.on),
            "start": _stamp(person, one.starts_at),
            "interval_seconds": _SECONDS_A_MINUTE,
            "channels": channels,
        },
    )


def body(person: Person, day: Day) -> Iterator[Row]:
    """What the scale says of the whole body; its weight and fat are those of the samples."""
    at = scale_at(person, day)
    if at is None:
        return
    fat = fat_fraction(person, day)
    yield (
        at,
        {
            "id": _id(person, "body", day.on),
            "at": _stamp(person, at),
            "weight_gram": weight_gram(person, day),
            "fat_fraction": fat,
            "water_fraction": round((1 - fat) * 0.73, 4),
            "muscle_fraction": round((1 - fat) * 0.95, 4),
            "bone_fraction": round((1 - fat) * 0.05, 4),
        },
    )


def meal(person: Person, day: Day) -> Iterator[Row]:
    """The meals of the diary."""
    for one in meals_of(person, day):
        yield (
            one.at,
            {
                "id": _id(person, one.name, day.on),
                "at": _stamp(person, one.at),
                "name": one.name,
                "energy_kilojoule": round(one.energy_kilocalorie * KILOJOULE_A_KILOCALORIE, 1),
                "carbohydrate_gram": one.carbohydrate_gram,
                "protein_gram": one.protein_gram,
                "fat_gram": one.fat_gram,
                "fibre_gram": one.fibre_gram,
            },
        )


def electrocardiogram(person: Person, day: Day) -> Iterator[Row]:
    """A recording of half a minute, in microvolts."""
    at = electrocardiogram_at(person, day)
    if at is None:
        return
    bpm = person.resting_bpm + 12
    beat_seconds = 60 / bpm
    times = [sample / _RECORDING_HERTZ for sample in range(_RECORDING_SECONDS * _RECORDING_HERTZ)]
    yield (
        at + _RECORDING_SECONDS,
        {
            "id": _id(person, "electrocardiogram", day.on),
            "start": _stamp(person, at),
            "end": _stamp(person, at + _RECORDING_SECONDS),
            "hertz": _RECORDING_HERTZ,
            "average_bpm": bpm,
            "classification": "sinus_rhythm",
            "lead": "lead_1",
            "microvolts": [round(1000 * _millivolts(seconds / beat_seconds % 1)) for seconds in times],
        },
    )


def _millivolts(place: float) -> float:
    return sum(height * exp(-(((place - middle) / width) ** 2)) for middle, width, height in _WAVES)


def menstrual_cycle(person: Person, day: Day) -> Iterator[Row]:
    """A cycle, told on the last day of its period; of women before the menopause."""
    if person.sex != "female" or person.age_years(day.on) > 50:
        return
    length = 26 + int(5 * draw(person.seed, "cycle"))
    period = 4 + int(3 * draw(person.seed, "period"))
    first = day.on - timedelta(days=period - 1)
    if (first.toordinal() + int(length * draw(person.seed, "cycle phase"))) % length:
        return
    flows = ["medium", "heavy", *["medium"] * (period - 3), "light"]
    yield (
        day.ends_at,
        {
            "id": _id(person, "cycle", first),
            "period_start": first.isoformat(),
            "period_end": day.on.isoformat(),
            "flow": [
                {"date": (first + timedelta(days=number)).isoformat(), "flow": flow}
                for number, flow in enumerate(flows)
            ],
        },
    )


def profile(person: Person) -> Mapping[str, object]:
    """What the vendor knows of the person."""
    return {"height_metre": person.height_metre, "birth_date": f"{person.birth_year}-06-15", "sex": person.sex}


DOCUMENTS: Final[Mapping[str, Rows]] = {
    "sleep": sleep,
    "activity": activity,
    "workouts": workouts,
    "workout_stream": workout_stream,
    "body": body,
    "meal": meal,
    "electrocardiogram": electrocardiogram,
    "menstrual_cycle": menstrual_cycle,
}
