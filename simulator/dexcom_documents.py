"""The records of Dexcom's API v3, field by field, made from simulated days."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Final, TypeAlias
from uuid import UUID

from simulator.day import Day, local
from simulator.draws import hexadecimal, identifier
from simulator.glucose import glucose_at
from simulator.meals import meals_of
from simulator.person import Person
from simulator.sleep import SLOT_SECONDS

Document: TypeAlias = Mapping[str, object]

_HOUR_SECONDS: Final = 3600
#: A sensor lasts so long; a new one tells nothing while it warms up.
_SENSOR_DAYS: Final = 10
_WARM_UP_SECONDS: Final = 1800


def user_id(person: Person) -> str:
    """Dexcom's name of the account."""
    return hexadecimal(person.seed, "dexcom user", 32)


def egvs(person: Person, day: Day) -> Iterator[tuple[int, Document]]:
    """Each reading of the day with its instant: every five minutes, some seconds past them."""
    changed_at = day.starts_at + 10 * _HOUR_SECONDS if day.on.toordinal() % _SENSOR_DAYS == 0 else None
    late = identifier(person.seed, "sensor") % 60
    before: float | None = None
    for slot in range(day.starts_at, day.ends_at, SLOT_SECONDS):
        if changed_at is not None and changed_at <= slot < changed_at + _WARM_UP_SECONDS:
            before = None
            continue
        sensor = day.on.toordinal() // _SENSOR_DAYS - (changed_at is not None and slot < changed_at)
        value = round(glucose_at(person, day, slot))
        rate = None if before is None else round((value - before) / 5, 1)
        before = value
        yield (
            slot + late,
            {
                **_head(person, "egv", slot + late, slot),
                "transmitterId": hexadecimal(person.seed, f"transmitter {sensor}", 32),
                "transmitterTicks": slot % (_SENSOR_DAYS * 86_400),
                "value": value,
                "status": "low" if value < 40 else "high" if value > 400 else "ok",
                "trend": _trend(rate),
                "trendRate": rate,
                "unit": "mg/dL",
                "rateUnit": "mg/dL/min",
                "displayDevice": "iOS",
                "transmitterGeneration": "g7",
            },
        )


def _trend(rate: float | None) -> str:
    if rate is None:
        return "notComputable"
    for bound, up, down in (
        (1.0, "flat", "flat"),
        (2.0, "fortyFiveUp", "fortyFiveDown"),
        (3.0, "singleUp", "singleDown"),
    ):
        if abs(rate) <= bound:
            return up if rate > 0 else down
    return "doubleUp" if rate > 0 else "doubleDown"


def events(person: Person, day: Day) -> Iterator[tuple[int, Document]]:
    """Each entry of the day with its instant: meals with their doses, the evening's dose, and a walk."""
    for meal in meals_of(person, day):
        yield meal.at, _event(person, day, meal.at, "carbs", None, str(round(meal.carbohydrate_gram)), "grams")
        dose = f"{round(meal.carbohydrate_gram / 12, 1)}"
        yield meal.at, _event(person, day, meal.at, "insulin", "fastActing", dose, "units")
    evening = day.ends_at - 2 * _HOUR_SECONDS
    dose = f"{round(person.weight_kilogram * 0.22)}"
    yield evening, _event(person, day, evening, "insulin", "longActing", dose, "units")
    if day.workout:
        minutes = (day.workout.ends_at - day.workout.starts_at) // 60
        at = day.workout.starts_at
        yield at, _event(person, day, at, "exercise", "medium", str(minutes), "minutes")


def _event(person: Person, day: Day, at: int, kind: str, sub: str | None, value: str, unit: str) -> Document:
    return {
        **_head(person, f"{kind} {sub}", at, at),
        "eventStatus": "created",
        "eventType": kind,
        "eventSubType": sub,
        "value": value,
        "unit": unit,
        "transmitterId": hexadecimal(person.seed, f"transmitter {day.on.toordinal() // _SENSOR_DAYS}", 32),
        "transmitterGeneration": "g7",
        "displayDevice": "iOS",
    }


def device(person: Person, now: float) -> Document:
    """The telephone that shows the readings."""
    number = local(person, now).date().toordinal() // _SENSOR_DAYS
    return {
        "lastUploadDate": datetime.fromtimestamp(int(now), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "transmitterId": hexadecimal(person.seed, f"transmitter {number}", 32),
        "transmitterGeneration": "g7",
        "displayDevice": "iOS",
        "displayApp": "G7iOS",
        "alertSchedules": [],
    }


def moment(person: Person, at: float) -> Document:
    """An instant by both clocks."""
    return {
        "systemTime": datetime.fromtimestamp(int(at), UTC).isoformat(),
        "displayTime": local(person, int(at)).isoformat(),
    }


def _head(person: Person, label: str, at: int, place: int) -> dict[str, object]:
    digest = blake2b(f"dexcom|{person.seed}|{label}|{place}".encode(), digest_size=16).digest()
    return {"recordId": str(UUID(bytes=digest, version=4)), **moment(person, at)}
