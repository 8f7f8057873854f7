"""The records of WHOOP's developer API v2, field by field, made from simulated days.

A cycle runs from one falling asleep to the next; the night that begins it and the day's workout are of it.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from hashlib import blake2b
from typing import Final, TypeAlias
from uuid import UUID

from simulator.day import active_kilocalories, day_of, local
from simulator.draws import between, draw, identifier
from simulator.person import Person
from simulator.sleep import AWAKE, DEEP, LIGHT, REM, Sleep
from simulator.workout import SPORTS, Workout

Document: TypeAlias = Mapping[str, object]

_KILOJOULES: Final = 4.184
_MILLI: Final = 1000
#: WHOOP's older number of each simulated sport; `sport_name` is what it uses now.
_SPORT_IDS: Final = {"running": 0, "cycling": 1, "walking": 63, "strength": 45, "yoga": 44, "swimming": 33}
#: Six zones of heart rate by the share of the maximum at which each begins.
_ZONES: Final = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9)
_SCORED: Final = "SCORED"


def cycle_bounds(person: Person, on: date) -> tuple[int, int]:
    """The cycle whose night ends on a date, epoch seconds; its end is the next falling asleep."""
    return day_of(person, on).night.starts_at, day_of(person, on + timedelta(days=1)).night.starts_at


def cycle(person: Person, on: date, now: float) -> Document:
    """A cycle; the one under way has neither end nor score."""
    starts_at, ends_at = cycle_bounds(person, on)
    ended = ends_at <= now
    document: dict[str, object] = {
        "id": cycle_id(person, on),
        "user_id": person.user_id,
        "created_at": _instant(starts_at),
        "updated_at": _instant(min(ends_at, int(now))),
        "start": _instant(starts_at),
        "end": _instant(ends_at) if ended else None,
        "timezone_offset": _offset(person, starts_at),
        "score_state": _SCORED if ended else "PENDING_SCORE",
    }
    if ended:
        document["score"] = _cycle_score(person, on, starts_at, ends_at)
    return document


def _cycle_score(person: Person, on: date, starts_at: int, ends_at: int) -> Document:
    days = [day_of(person, on + timedelta(days=step)) for step in (-1, 0, 1)]
    slots = [slot for day in days for slot in day.slots if starts_at <= slot.starts_at < ends_at]
    beats = [slot.bpm for slot in slots if slot.bpm is not None]
    workout = day_of(person, on).workout
    active = active_kilocalories(person, slots)
    basal = person.basal_kilocalories(on) * (ends_at - starts_at) / 86_400
    return {
        "strain": round(min(20.9, 3.0 + active / 70), 6),
        "kilojoule": round((active + basal) * _KILOJOULES, 3),
        "average_heart_rate": round(sum(beats) / len(beats)),
        "max_heart_rate": max([*beats, *(workout.bpm if workout else ())]),
    }


def recovery(person: Person, on: date, night: Sleep) -> Document:
    """What WHOOP makes of a night: one for each cycle."""
    created = night.ends_at + 600
    return {
        "cycle_id": cycle_id(person, on),
        "sleep_id": sleep_id(person, on, is_nap=False),
        "user_id": person.user_id,
        "created_at": _instant(created),
        "updated_at": _instant(created),
        "score_state": _SCORED,
        "score": {
            "user_calibrating": False,
            "recovery_score": float(max(1, min(99, night.score - 5))),
            "resting_heart_rate": float(min(night.bpm)),
            "hrv_rmssd_milli": round(sum(night.rmssd_ms) / len(night.rmssd_ms), 6),
            "spo2_percentage": round(between(94.5, 98.5, draw(person.seed, "spo2", on.toordinal())), 4),
            "skin_temp_celsius": round(33.6 + night.temperature_delta_celsius, 4),
        },
    }


def sleep(person: Person, on: date, one: Sleep) -> Document:
    """A night or a nap."""
    return {
        "id": sleep_id(person, on, is_nap=one.is_nap),
        "cycle_id": cycle_id(person, on),
        "v1_id": identifier(person.seed, "v1-nap" if one.is_nap else "v1", on.toordinal()) % 1_000_000_000,
        "user_id": person.user_id,
        "created_at": _instant(one.ends_at + 300),
        "updated_at": _instant(one.ends_at + 600),
        "start": _instant(one.starts_at),
        "end": _instant(one.ends_at),
        "timezone_offset": _offset(person, one.starts_at),
        "nap": one.is_nap,
        "score_state": _SCORED,
        "score": {
            "stage_summary": {
                "total_in_bed_time_milli": one.in_bed_seconds * _MILLI,
                "total_awake_time_milli": one.seconds(AWAKE) * _MILLI,
                "total_no_data_time_milli": 0,
                "total_light_sleep_time_milli": one.seconds(LIGHT) * _MILLI,
                "total_slow_wave_sleep_time_milli": one.seconds(DEEP) * _MILLI,
                "total_rem_sleep_time_milli": one.seconds(REM) * _MILLI,
                "sleep_cycle_count": one.in_bed_seconds // 5400,
                "disturbance_count": one.stages.count(AWAKE),
            },
            "sleep_needed": {
                "baseline_milli": 27_395_716,
                "need_from_sleep_debt_milli": 352_230,
                "need_from_recent_strain_milli": 208_595,
                "need_from_recent_nap_milli": 0,
            },
            "respiratory_rate": one.breaths_per_minute,
            "sleep_performance_percentage": float(one.score),
            "sleep_consistency_percentage": 78.0,
            "sleep_efficiency_percentage": round(100 * one.asleep_seconds / one.in_bed_seconds, 5),
        },
    }


def workout(person: Person, on: date, one: Workout) -> Document:
    """A workout."""
    highest = person.maximum_bpm(on)
    zones = [0] * len(_ZONES)
    for beats in one.bpm:
        zones[sum(beats >= share * highest for share in _ZONES) - 1] += 60 * _MILLI
    names = ("zero", "one", "two", "three", "four", "five")
    outdoors = SPORTS[one.sport].metres_a_second > 0
    return {
        "id": workout_id(person, on),
        "v1_id": identifier(person.seed, "v1-workout", on.toordinal()) % 1_000_000_000,
        "user_id": person.user_id,
        "created_at": _instant(one.ends_at + 60),
        "updated_at": _instant(one.ends_at + 120),
        "start": _instant(one.starts_at),
        "end": _instant(one.ends_at),
        "timezone_offset": _offset(person, one.starts_at),
        "sport_name": "weightlifting" if one.sport == "strength" else one.sport,
        "sport_id": _SPORT_IDS[one.sport],
        "score_state": _SCORED,
        "score": {
            "strain": round(min(20.9, 4.0 + one.active_kilocalories / 60), 4),
            "average_heart_rate": round(sum(one.bpm) / len(one.bpm)),
            "max_heart_rate": max(one.bpm),
            "kilojoule": round(one.active_kilocalories * _KILOJOULES, 3),
            "percent_recorded": 100.0,
            "distance_meter": one.distance_metre if outdoors else None,
            "altitude_gain_meter": 12.5 if outdoors else None,
            "altitude_change_meter": -0.8 if outdoors else None,
            "zone_durations": {f"zone_{name}_milli": zones[index] for index, name in enumerate(names)},
        },
    }


def profile(person: Person, email: str) -> Document:
    """Who the member is."""
    return {"user_id": person.user_id, "email": email, "first_name": "Sim", "last_name": "Ulated"}


def body_measurement(person: Person, on: date) -> Document:
    """The member's latest measurements, which have no date."""
    return {
        "height_meter": person.height_metre,
        "weight_kilogram": person.weight_kilogram,
        "max_heart_rate": round(person.maximum_bpm(on)),
    }


def cycle_id(person: Person, on: date) -> int:
    """WHOOP's number of a cycle."""
    return identifier(person.seed, "cycle", on.toordinal()) % 1_000_000_000


def sleep_id(person: Person, on: date, *, is_nap: bool) -> str:
    """WHOOP's UUID of a night or a nap."""
    return _uuid(person, "nap" if is_nap else "night", on)


def workout_id(person: Person, on: date) -> str:
    """WHOOP's UUID of a workout."""
    return _uuid(person, "workout", on)


def _uuid(person: Person, label: str, on: date) -> str:
    digest = blake2b(f"whoop|{person.seed}|{label}|{on.isoformat()}".encode(), digest_size=16).digest()
    return str(UUID(bytes=digest, version=4))


def _instant(at: int) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def _offset(person: Person, at: int) -> str:
    text = local(person, at).strftime("%z")
    return f"{text[:3]}:{text[3:]}"
