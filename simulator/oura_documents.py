"""The documents of Oura's API v2, field by field, made from a simulated day."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from hashlib import blake2b
from typing import TypeAlias
from uuid import UUID

from simulator.day import (
    HIGH_MET,
    LOW_MET,
    MEDIUM_MET,
    Slot,
    active_kilocalories,
    local,
)
from simulator.draws import bell, draw
from simulator.person import Person
from simulator.sleep import AWAKE, DEEP, LIGHT, REM, SLOT_SECONDS, Sleep
from simulator.workout import SPORTS, Workout

Document: TypeAlias = Mapping[str, object]

#: Shorter nights give no oxygen.
SPO2_FROM_SECONDS = 3 * 3600
_SLOT_MINUTES = SLOT_SECONDS // 60
_HALF_MINUTES_A_SLOT = SLOT_SECONDS // 30

#: `class_5_min` of daily_activity, and which `…_time` each class adds to.
_OFF, _REST, _INACTIVE, _LOW, _MEDIUM, _HIGH = "0", "1", "2", "3", "4", "5"


def personal_info(person: Person, today: date, email: str | None) -> Document:
    return {
        "id": _id(person, "person"),
        "age": person.age_years(today),
        "weight": person.weight_kilogram,
        "height": person.height_metre,
        "biological_sex": person.sex,
        "email": email,
    }


def daily_activity(person: Person, on: date, slots: Sequence[Slot]) -> Document:
    """The activity day of `slots`, which run from 4 a.m. to 4 a.m."""
    classes = [_class_of(slot) for slot in slots]
    active = round(active_kilocalories(person, slots))
    steps = sum(slot.steps for slot in slots)
    target_metres = 8000
    walked = round(active / person.weight_kilogram * 1100)
    return {
        "id": _id(person, "daily_activity", on),
        "class_5_min": "".join(classes),
        "score": _score(person, on, "activity"),
        "active_calories": active,
        "average_met_minutes": round(sum(slot.met for slot in slots) / len(slots), 5),
        "contributors": {
            name: _score(person, on, name)
            for name in (
                "meet_daily_targets",
                "move_every_hour",
                "recovery_time",
                "stay_active",
                "training_frequency",
                "training_volume",
            )
        },
        "equivalent_walking_distance": walked,
        "high_activity_met_minutes": _met_minutes(slots, classes, _HIGH),
        "high_activity_time": classes.count(_HIGH) * SLOT_SECONDS,
        "inactivity_alerts": int(4 * draw(person.seed, "alerts", on.toordinal())),
        "low_activity_met_minutes": _met_minutes(slots, classes, _LOW),
        "low_activity_time": classes.count(_LOW) * SLOT_SECONDS,
        "medium_activity_met_minutes": _met_minutes(slots, classes, _MEDIUM),
        "medium_activity_time": classes.count(_MEDIUM) * SLOT_SECONDS,
        "met": _sample(person, slots[0].starts_at, 60, [slot.met for slot in slots for _ in range(_SLOT_MINUTES)]),
        "meters_to_target": max(0, target_metres - walked),
        "non_wear_time": classes.count(_OFF) * SLOT_SECONDS,
        "resting_time": classes.count(_REST) * SLOT_SECONDS,
        "sedentary_met_minutes": _met_minutes(slots, classes, _INACTIVE),
        "sedentary_time": classes.count(_INACTIVE) * SLOT_SECONDS,
        "steps": steps,
        "target_calories": 400,
        "target_meters": target_metres,
        "total_calories": active + round(1.1 * person.basal_kilocalories(on)),
        "day": on.isoformat(),
        "timestamp": _localized(person, slots[0].starts_at),
    }


def daily_sleep(person: Person, on: date, night: Sleep) -> Document:
    names = ("deep_sleep", "efficiency", "latency", "rem_sleep", "restfulness", "timing", "total_sleep")
    return {
        "id": _id(person, "daily_sleep", on),
        "contributors": {name: _score(person, on, name) for name in names},
        "day": on.isoformat(),
        "score": night.score,
        "timestamp": f"{on.isoformat()}T00:00:00.000+00:00",
    }


def sleep(person: Person, on: date, sleep: Sleep, period: int) -> Document:
    """One time in bed. A nap has no readiness."""
    return {
        "id": _id(person, f"sleep-{period}", on),
        "average_breath": sleep.breaths_per_minute,
        "average_heart_rate": round(sum(sleep.bpm) / len(sleep.bpm), 2),
        "average_hrv": round(sum(sleep.rmssd_ms) / len(sleep.rmssd_ms)),
        "awake_time": sleep.seconds(AWAKE),
        "bedtime_end": _localized(person, sleep.ends_at),
        "bedtime_start": _localized(person, sleep.starts_at),
        "day": on.isoformat(),
        "deep_sleep_duration": sleep.seconds(DEEP),
        "efficiency": round(100 * sleep.asleep_seconds / sleep.in_bed_seconds),
        "heart_rate": _sample(person, sleep.starts_at, SLOT_SECONDS, [float(beats) for beats in sleep.bpm]),
        "hrv": _sample(person, sleep.starts_at, SLOT_SECONDS, [float(value) for value in sleep.rmssd_ms]),
        "latency": sleep.latency_seconds,
        "light_sleep_duration": sleep.seconds(LIGHT),
        "low_battery_alert": False,
        "lowest_heart_rate": min(sleep.bpm),
        "movement_30_sec": "".join(("2" if stage == AWAKE else "1") * _HALF_MINUTES_A_SLOT for stage in sleep.stages),
        "period": period,
        "readiness": None if sleep.is_nap else _readiness(person, on, sleep),
        "readiness_score_delta": 0 if sleep.is_nap else None,
        "rem_sleep_duration": sleep.seconds(REM),
        "restless_periods": sleep.stages.count(AWAKE) * 7,
        "sleep_algorithm_version": "v2",
        "sleep_analysis_reason": "foreground_sleep_analysis",
        "sleep_phase_30_sec": "".join(stage * _HALF_MINUTES_A_SLOT for stage in sleep.stages),
        "sleep_phase_5_min": sleep.stages,
        "sleep_score_delta": 0 if sleep.is_nap else None,
        "time_in_bed": sleep.in_bed_seconds,
        "total_sleep_duration": sleep.asleep_seconds,
        "type": "sleep" if sleep.is_nap else "long_sleep",
        "ring_id": _id(person, "ring"),
        "app_sleep_phase_5_min": sleep.stages,
    }


def _readiness(person: Person, on: date, night: Sleep) -> Document:
    names = (
        "activity_balance",
        "body_temperature",
        "hrv_balance",
        "previous_day_activity",
        "previous_night",
        "recovery_index",
        "resting_heart_rate",
        "sleep_balance",
        "sleep_regularity",
    )
    return {
        "contributors": {name: _score(person, on, name) for name in names},
        "score": _score(person, on, "readiness"),
        "temperature_deviation": night.temperature_delta_celsius,
        "temperature_trend_deviation": round(night.temperature_delta_celsius / 3, 2),
    }


def workout(person: Person, on: date, workout: Workout) -> Document:
    return {
        "id": _id(person, "workout", on),
        "activity": SPORTS[workout.sport].oura_activity,
        "calories": workout.active_kilocalories,
        "day": on.isoformat(),
        "distance": workout.distance_metre or None,
        "end_datetime": _localized(person, workout.ends_at),
        "intensity": workout.intensity,
        "label": None,
        "source": "confirmed",
        "start_datetime": _localized(person, workout.starts_at),
    }


def daily_spo2(person: Person, on: date, night: Sleep) -> Document:
    """The night's oxygen: lower with age, and a little different every night."""
    usual = 97.4 - 0.02 * person.age_years(on)
    average = round(usual + 0.9 * bell(person.seed, "spo2", on.toordinal()), 3)
    return {
        "id": _id(person, "daily_spo2", on),
        "day": on.isoformat(),
        "spo2_percentage": {"average": min(99.5, average)} if night.asleep_seconds >= SPO2_FROM_SECONDS else None,
        "breathing_disturbance_index": int(12 * draw(person.seed, "disturbances", on.toordinal()) ** 2),
    }


def ring_configuration(person: Person, set_up_at: datetime) -> Document:
    """The person's one ring."""
    stamp = set_up_at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {
        "id": _id(person, "ring"),
        "color": "brushed_silver",
        "design": "horizon",
        "firmware_version": "3.4.2",
        "hardware_type": "gen3" if draw(person.seed, "ring") < 0.5 else "gen4",
        "set_up_at": stamp,
        "size": 6 + int(7 * draw(person.seed, "finger")),
    }


def person_id(person: Person) -> str:
    """The person's id at the vendor."""
    return _id(person, "person")


def object_id(person: Person, kind: str, on: date) -> str:
    """The id of a day's document of a kind."""
    if kind == "ring_configuration":
        return _id(person, "ring")
    return _id(person, "sleep-0" if kind == "sleep" else kind, on)


def heart_rate_point(at: int, bpm: int, source: str) -> Document:
    stamp = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {"timestamp": stamp, "timestamp_unix": at * 1000, "bpm": bpm, "source": source}


def _class_of(slot: Slot) -> str:
    if slot.kind == "off":
        return _OFF
    if slot.kind in {"sleep", "rest"}:
        return _REST
    if slot.met < LOW_MET:
        return _INACTIVE
    if slot.met < MEDIUM_MET:
        return _LOW
    return _MEDIUM if slot.met < HIGH_MET else _HIGH


def _met_minutes(slots: Iterable[Slot], classes: Iterable[str], wanted: str) -> int:
    within = (slot.met for slot, name in zip(slots, classes, strict=True) if name == wanted)
    return round(sum(within) * _SLOT_MINUTES)


def _sample(person: Person, at: int, interval_seconds: int, items: Sequence[float]) -> Document:
    return {"interval": float(interval_seconds), "items": items, "timestamp": _localized(person, at)}


def _localized(person: Person, instant: int) -> str:
    return local(person, instant).isoformat(timespec="milliseconds")


def _score(person: Person, on: date, name: str) -> int:
    return 55 + int(44 * draw(person.seed, name, on.toordinal()))


def _id(person: Person, label: str, on: date | None = None) -> str:
    text = f"{person.seed}|{label}|{on.isoformat() if on else ''}"
    return str(UUID(bytes=blake2b(text.encode(), digest_size=16).digest(), version=4))
