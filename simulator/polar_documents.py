"""The documents of Polar's AccessLink API v3, field by field, made from simulated days.

A watch tells its own clock, which learns of a change of clocks when it is synchronised: after the night.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import accumulate, pairwise
from typing import Final, TypeAlias

from simulator.day import HIGH_MET, LOW_MET, MEDIUM_MET, Day, Slot, active_kilocalories, day_of, local, walked_metres
from simulator.draws import bell, hexadecimal, identifier
from simulator.person import Person
from simulator.sleep import AWAKE, DEEP, LIGHT, REM, SLOT_SECONDS
from simulator.workout import SPORTS, Workout

Document: TypeAlias = Mapping[str, object]

_MINUTES_A_SLOT: Final = SLOT_SECONDS // 60
_HYPNOGRAM: Final = {AWAKE: 0, REM: 1, LIGHT: 2, DEEP: 4}
#: Polar's coarser and finer word for each simulated sport.
_SPORT_WORDS: Final = {
    "running": ("RUNNING", "ROAD_RUNNING"),
    "cycling": ("CYCLING", "ROAD_BIKING"),
    "walking": ("WALKING", "WALKING"),
    "strength": ("STRENGTH_TRAINING", "STRENGTH_TRAINING"),
    "yoga": ("OTHER", "YOGA"),
    "swimming": ("SWIMMING", "POOL_SWIMMING"),
}
#: Five zones of heart rate by the share of the maximum at which each begins.
_ZONES: Final = (0.5, 0.6, 0.7, 0.8, 0.9)
#: Nightly Recharge looks at four hours, which begin half an hour into the night.
_RECHARGE_SLOTS: Final = slice(6, 54)


def user_link(person: Person) -> str:
    """Polar's name of the person within its documents."""
    return f"https://www.polaraccesslink/v3/users/{person.user_id}"


def shown(person: Person, at: float) -> datetime:
    """What the watch shows at an instant."""
    day = day_of(person, local(person, at).date())
    known_at = min(at, day.night.starts_at) if at < day.night.ends_at else at
    offset = local(person, known_at).utcoffset() or timedelta()
    return (datetime.fromtimestamp(at, UTC) + offset).replace(tzinfo=None)


def night(person: Person, day: Day) -> Document:
    """A night with its stages."""
    one = day.night
    keys = [_minute(person, one.starts_at, index) for index in range(len(one.stages))]
    changes = [index for index in range(len(one.stages)) if index == 0 or one.stages[index] != one.stages[index - 1]]
    return {
        "polar_user": user_link(person),
        "date": day.on.isoformat(),
        "sleep_start_time": local(person, one.starts_at).isoformat(),
        "sleep_end_time": local(person, one.ends_at).isoformat(),
        "device_id": hexadecimal(person.seed, "polar watch", 4).upper(),
        "continuity": 3.4,
        "continuity_class": 3,
        "light_sleep": one.seconds(LIGHT),
        "deep_sleep": one.seconds(DEEP),
        "rem_sleep": one.seconds(REM),
        "unrecognized_sleep_stage": 0,
        "sleep_score": one.score,
        "total_interruption_duration": one.seconds(AWAKE),
        "sleep_charge": 3,
        "sleep_goal": 28_800,
        "sleep_rating": 0,
        "short_interruption_duration": 0,
        "long_interruption_duration": one.seconds(AWAKE),
        "sleep_cycles": 5,
        "group_duration_score": 90.0,
        "group_solidity_score": 75.0,
        "group_regeneration_score": 70.0,
        # The two kinds of light sleep take turns.
        "hypnogram": {
            keys[index]: _HYPNOGRAM[one.stages[index]] + (one.stages[index] == LIGHT and index % 2) for index in changes
        },
        "heart_rate_samples": dict(zip(keys, one.bpm, strict=True)),
    }


def recharge(person: Person, day: Day) -> Document:
    """What Polar makes of the night's first hours."""
    one = day.night
    indices = range(len(one.stages))[_RECHARGE_SLOTS]
    rmssd, beats = one.rmssd_ms[_RECHARGE_SLOTS], one.bpm[_RECHARGE_SLOTS]
    breaths = {
        index: round(one.breaths_per_minute + bell(person.seed, "polar breath", index) / 2, 1) for index in indices
    }
    average = round(sum(beats) / len(beats))
    return {
        "polar_user": user_link(person),
        "date": day.on.isoformat(),
        "heart_rate_avg": average,
        "beat_to_beat_avg": round(60_000 / average),
        "heart_rate_variability_avg": round(sum(rmssd) / len(rmssd)),
        "breathing_rate_avg": round(sum(breaths.values()) / len(breaths), 1),
        "nightly_recharge_status": 4,
        "ans_charge": 1.2,
        "ans_charge_status": 3,
        "hrv_samples": {
            _minute(person, one.starts_at, index): value for index, value in zip(indices, rmssd, strict=True)
        },
        "breathing_samples": {_minute(person, one.starts_at, index): breaths[index] for index in indices},
    }


def _minute(person: Person, starts_at: int, index: int) -> str:
    return (shown(person, starts_at) + timedelta(seconds=index * SLOT_SECONDS)).strftime("%H:%M")


def heart_rates(person: Person, day: Day, now: float) -> Document:
    """Averages of five minutes, some seconds past them, outside of exercises."""
    late = identifier(person.seed, "polar beat") % 60
    samples = [
        {"heart_rate": slot.bpm, "sample_time": shown(person, slot.starts_at).replace(second=late).strftime("%H:%M:%S")}
        for slot in day.slots
        if slot.bpm is not None and slot.kind != "workout" and slot.starts_at + SLOT_SECONDS <= now
    ]
    return {"polar_user": user_link(person), "date": day.on.isoformat(), "heart_rate_samples": samples}


def activity(person: Person, day: Day, now: float, *, steps: bool, zones: bool) -> Document:
    """A day as far as it has come; its samples where they are asked for."""
    slots = [slot for slot in day.slots if slot.starts_at + SLOT_SECONDS <= now]
    moved = sum(slot.met >= LOW_MET for slot in slots) * SLOT_SECONDS
    active = active_kilocalories(person, slots)
    basal = person.basal_kilocalories(day.on) * len(slots) * SLOT_SECONDS / 86_400
    document: dict[str, object] = {
        "start_time": f"{day.on.isoformat()}T00:00:00",
        "end_time": shown(person, min(day.ends_at - 1, now)).isoformat(timespec="seconds"),
        "active_duration": _duration(moved),
        "inactive_duration": _duration(len(slots) * SLOT_SECONDS - moved),
        "daily_activity": round(min(100.0, active / 6), 1),
        "calories": round(active + basal),
        "active_calories": round(active),
        "steps": sum(slot.steps for slot in slots),
        "inactivity_alert_count": 0,
        "distance_from_steps": round(walked_metres(person, sum(slot.steps for slot in slots)), 2),
    }
    samples: dict[str, object] = {"date": day.on.isoformat()}
    if steps:
        samples["steps"] = _steps(person, slots)
    if zones:
        samples["activity_zones"] = {"samples": _changes(person, slots, "zone", _zone)}
    return {**document, "samples": samples} if steps or zones else document


def _steps(person: Person, slots: Sequence[Slot]) -> Document:
    """A sample a minute, but for those that repeat the one before."""
    samples: list[Document] = []
    before: int | None = None
    for slot in slots:
        base, more = divmod(slot.steps, _MINUTES_A_SLOT)
        for minute in range(_MINUTES_A_SLOT):
            count = base + (minute < more)
            if count != before:
                at = shown(person, slot.starts_at + 60 * minute)
                samples.append({"steps": count, "timestamp": at.isoformat(timespec="minutes")})
            before = count
    return {"interval_ms": 60_000, "total_steps": sum(slot.steps for slot in slots), "samples": samples}


def _zone(slot: Slot) -> str:
    if slot.kind == "sleep":
        return "SLEEP"
    bounds = ((LOW_MET, "SEDENTARY"), (MEDIUM_MET, "LIGHT"), (HIGH_MET, "MODERATE"))
    return next((name for bound, name in bounds if slot.met < bound), "VIGOROUS")


def _changes(person: Person, slots: Sequence[Slot], name: str, told: Callable[[Slot], str]) -> list[Document]:
    return [
        {name: told(slot), "timestamp": shown(person, slot.starts_at).isoformat(timespec="seconds")}
        for index, slot in enumerate(slots)
        if index == 0 or told(slot) != told(slots[index - 1])
    ]


def exercise_id(person: Person, on: date) -> str:
    """Polar's hashed id of the day's exercise."""
    return hexadecimal(person.seed, f"polar exercise {on.isoformat()}", 4)


def exercise(person: Person, on: date, one: Workout, *, parts: Sequence[str]) -> Document:
    """The day's exercise; with `zones`, `samples` and `route` where they are among the parts."""
    sport, detail = _SPORT_WORDS[one.sport]
    outdoors = SPORTS[one.sport].metres_a_second > 0
    offset = shown(person, one.starts_at) - datetime.fromtimestamp(one.starts_at, UTC).replace(tzinfo=None)
    document: dict[str, object] = {
        "id": exercise_id(person, on),
        "upload_time": datetime.fromtimestamp(one.ends_at + 120, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z"),
        "polar_user": user_link(person),
        "device": "Polar Vantage V3",
        "device_id": hexadecimal(person.seed, "polar watch", 4).upper(),
        "start_time": shown(person, one.starts_at).isoformat(),
        "start_time_utc_offset": int(offset.total_seconds()) // 60,
        "duration": _duration(one.ends_at - one.starts_at),
        "calories": round(one.active_kilocalories),
        "heart_rate": {"average": round(sum(one.bpm) / len(one.bpm)), "maximum": max(one.bpm)},
        "training_load": round(one.active_kilocalories / 4, 2),
        "sport": sport,
        "has_route": outdoors and one.sport != "swimming",
        "detailed_sport_info": detail,
    }
    if outdoors:
        document["distance"] = one.distance_metre
    if "zones" in parts:
        document["heart_rate_zones"] = _heart_rate_zones(person, on, one)
    if "samples" in parts:
        document["samples"] = _samples(one)
    if "route" in parts and document["has_route"]:
        document["route"] = _route(one)
    return document


def _heart_rate_zones(person: Person, on: date, one: Workout) -> list[Document]:
    highest = person.maximum_bpm(on)
    bounds = [round(share * highest) for share in (*_ZONES, 1.0)]
    return [
        {
            "index": index + 1,
            "lower-limit": low,
            "upper-limit": high,
            "in-zone": _duration(60 * sum(low <= beats < (high if index < 4 else 999) for beats in one.bpm)),
        }
        for index, (low, high) in enumerate(pairwise(bounds))
    ]


def _samples(one: Workout) -> list[Document]:
    """A value a minute; the sensor of cadence wakes up late."""
    told: dict[str, list[str]] = {"0": [str(beats) for beats in one.bpm]}
    if one.distance_metre:
        metres = one.distance_metre / len(one.bpm)
        told["1"] = [str(round(metres * 60 / 1000, 2))] * len(one.bpm)
        told["10"] = [str(round(covered, 1)) for covered in accumulate([metres] * len(one.bpm))]
    if SPORTS[one.sport].steps_a_minute > 100:
        told["8"] = ["null", *(str(steps) for steps in one.steps[1:])]
    return [{"recording-rate": 60, "sample-type": kind, "data": ",".join(data)} for kind, data in told.items()]


def _route(one: Workout) -> list[Document]:
    return [
        {
            "latitude": round(60.2 + 0.0001 * minute, 6),
            "longitude": 25.1,
            "time": f"PT{60 * minute}.026S",
            "satellites": 9,
            "fix": 1,
        }
        for minute in range(len(one.bpm))
    ]


def _duration(seconds: int) -> str:
    hours, rest = divmod(seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    parts = [f"{value}{unit}" for value, unit in ((hours, "H"), (minutes, "M"), (seconds, "S")) if value]
    return "PT" + ("".join(parts) or "0S")
