"""Samples in the generic shape: one value at an instant or over a stretch of time, from a simulated day."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import time
from math import exp, sin
from typing import Final, TypeAlias

from simulator.day import Day, active_kilocalories, instant_of, local, walked_metres
from simulator.draws import bell, between, draw
from simulator.meals import meals_of
from simulator.person import Person
from simulator.sleep import SLOT_SECONDS

#: A row and the instant from which it is known, epoch seconds.
Row: TypeAlias = tuple[int, Mapping[str, object]]
Rows: TypeAlias = Callable[[Person, Day], Iterator[Row]]

KILOJOULE_A_KILOCALORIE: Final = 4.184
_GLUCOSE_SECONDS: Final = 900
_HOUR_SECONDS: Final = 3600


@dataclass(frozen=True, slots=True)
class SeriesResource:
    """A resource of samples, and the unit its values are told in."""

    unit: str
    rows: Rows


def _stamp(person: Person, at: int) -> str:
    return local(person, at).isoformat()


def _instant(person: Person, at: int, value: float) -> Row:
    return at, {"at": _stamp(person, at), "value": value}


def _stretch(person: Person, starts_at: int, ends_at: int, value: float) -> Row:
    return ends_at, {"start": _stamp(person, starts_at), "end": _stamp(person, ends_at), "value": value}


def heartrate(person: Person, day: Day) -> Iterator[Row]:
    """Every five minutes in which the device was worn."""
    return (_instant(person, slot.starts_at, slot.bpm) for slot in day.slots if slot.bpm is not None)


def hrv(person: Person, day: Day) -> Iterator[Row]:
    """Every five minutes of the night."""
    for index, rmssd in enumerate(day.night.rmssd_ms):
        yield _instant(person, day.night.starts_at + index * SLOT_SECONDS, rmssd)


def respiratory_rate(person: Person, day: Day) -> Iterator[Row]:
    """Once an hour of the night."""
    for at in range(day.night.starts_at, day.night.ends_at, _HOUR_SECONDS):
        yield _instant(person, at, round(day.night.breaths_per_minute + bell(person.seed, "breaths", at) / 2, 1))


def steps(person: Person, day: Day) -> Iterator[Row]:
    """Five minutes with steps each."""
    for slot in day.slots:
        if slot.steps:
            yield _stretch(person, slot.starts_at, slot.starts_at + SLOT_SECONDS, slot.steps)


def distance(person: Person, day: Day) -> Iterator[Row]:
    """What the steps came to."""
    for slot in day.slots:
        if slot.steps:
            kilometre = round(walked_metres(person, slot.steps) / 1000, 5)
            yield _stretch(person, slot.starts_at, slot.starts_at + SLOT_SECONDS, kilometre)


def calories_active(person: Person, day: Day) -> Iterator[Row]:
    """Energy above rest of five minutes each."""
    for slot in day.slots:
        kilojoule = round(active_kilocalories(person, [slot]) * KILOJOULE_A_KILOCALORIE, 3)
        if kilojoule:
            yield _stretch(person, slot.starts_at, slot.starts_at + SLOT_SECONDS, kilojoule)


def floors_climbed(person: Person, day: Day) -> Iterator[Row]:
    """Five minutes with a floor each."""
    for slot in day.slots:
        if slot.steps and draw(person.seed, "floor", slot.starts_at // SLOT_SECONDS) < 0.06:
            yield _stretch(person, slot.starts_at, slot.starts_at + SLOT_SECONDS, 1)


def glucose(person: Person, day: Day) -> Iterator[Row]:
    """Every quarter of an hour: a base of one's own, dawn, and a wave after each meal."""
    base = between(84, 98, draw(person.seed, "glucose"))
    meals = meals_of(person, day)
    for at in range(day.starts_at, day.ends_at, _GLUCOSE_SECONDS):
        waves = sum(_wave(at - meal.at, meal.carbohydrate_gram) for meal in meals)
        dawn = 6 * exp(-(((at - day.night.ends_at) / 5400) ** 2))
        value = base + dawn + waves + 3 * bell(person.seed, "glucose", at // _GLUCOSE_SECONDS)
        yield _instant(person, at, round(value))


def _wave(seconds: float, carbohydrate_gram: float) -> float:
    """mg/dL above the base: the top comes fifty minutes after the meal."""
    if seconds <= 0:
        return 0.0
    share = seconds / 3000
    return 0.85 * carbohydrate_gram * share * exp(1 - share)


def insulin_injection(person: Person, day: Day) -> Iterator[Row]:
    """A bolus with each meal, and the long-acting dose of the evening."""
    for meal in meals_of(person, day):
        dose = {"at": _stamp(person, meal.at), "value": round(meal.carbohydrate_gram / 12, 1)}
        yield meal.at, {**dose, "type": "rapid_acting", "purpose": "meal"}
    at = day.ends_at - 2 * _HOUR_SECONDS
    units = round(person.weight_kilogram * 0.22)
    yield at, {"at": _stamp(person, at), "value": units, "type": "long_acting", "purpose": None}


def carbohydrates(person: Person, day: Day) -> Iterator[Row]:
    """What each meal held."""
    for meal in meals_of(person, day):
        yield _stretch(person, meal.at, meal.at + 900, meal.carbohydrate_gram)


def water(person: Person, day: Day) -> Iterator[Row]:
    """A glass now and then."""
    for hour in range(8, 21, 2):
        at = day.starts_at + hour * _HOUR_SECONDS
        if draw(person.seed, "glass", at) < 0.75:
            yield _stretch(person, at, at + 60, 150 + 50 * int(4 * draw(person.seed, "sip", at)))


def scale_at(person: Person, day: Day) -> int | None:
    """When the person stood on the scale: most mornings."""
    return day.night.ends_at + 900 if draw(person.seed, "scale", day.on.toordinal()) < 0.7 else None


def weight_gram(person: Person, day: Day) -> int:
    """What a scale says that morning."""
    number = day.on.toordinal()
    drift = 0.012 * sin(number / 40 + 6 * draw(person.seed, "drift"))
    return round(1000 * person.weight_kilogram * (1 + drift + 0.006 * bell(person.seed, "weight", number)))


def fat_fraction(person: Person, day: Day) -> float:
    """The share of fat that morning."""
    return round(person.fat_fraction + 0.006 * bell(person.seed, "fat", day.on.toordinal()), 4)


def weight(person: Person, day: Day) -> Iterator[Row]:
    """The scale's word."""
    at = scale_at(person, day)
    if at is not None:
        yield _instant(person, at, weight_gram(person, day))


def fat(person: Person, day: Day) -> Iterator[Row]:
    """The scale's word."""
    at = scale_at(person, day)
    if at is not None:
        yield _instant(person, at, fat_fraction(person, day))


def lean_body_mass(person: Person, day: Day) -> Iterator[Row]:
    """What is left of the weight."""
    at = scale_at(person, day)
    if at is not None:
        yield _instant(person, at, round(weight_gram(person, day) * (1 - fat_fraction(person, day))))


def blood_pressure(person: Person, day: Day) -> Iterator[Row]:
    """The cuff on most mornings."""
    number = day.on.toordinal()
    if draw(person.seed, "cuff", number) < 0.6:
        at = day.night.ends_at + 1500
        systolic = round(118 + 10 * bell(person.seed, "systolic", number))
        diastolic = round(76 + 7 * bell(person.seed, "diastolic", number))
        yield at, {"at": _stamp(person, at), "systolic": systolic, "diastolic": diastolic}


def blood_oxygen(person: Person, day: Day) -> Iterator[Row]:
    """Once an hour of the night."""
    for at in range(day.night.starts_at, day.night.ends_at, _HOUR_SECONDS):
        yield _instant(person, at, round(0.965 + 0.015 * bell(person.seed, "oxygen", at), 3))


def body_temperature(person: Person, day: Day) -> Iterator[Row]:
    """Once each morning, in degrees Fahrenheit."""
    at = day.night.ends_at + 600
    celsius = 36.5 + 0.3 * bell(person.seed, "temperature", day.on.toordinal())
    yield _instant(person, at, round(celsius * 9 / 5 + 32, 2))


def vo2_max(person: Person, day: Day) -> Iterator[Row]:
    """After a workout."""
    if day.workout:
        fitness = 62 - 0.35 * person.age_years(day.on) - 0.2 * (person.resting_bpm - 55)
        yield _instant(person, day.workout.ends_at, round(fitness + bell(person.seed, "vo2", day.on.toordinal()), 1))


def stress_level(person: Person, day: Day) -> Iterator[Row]:
    """Once an hour of the day."""
    for hour in range(8, 22):
        at = day.starts_at + hour * _HOUR_SECONDS
        yield _instant(person, at, round(35 + 25 * bell(person.seed, "stress", at)))


def electrocardiogram_at(person: Person, day: Day) -> int | None:
    """When the person recorded an electrocardiogram: about twice a week, in the evening."""
    if draw(person.seed, "electrocardiogram", day.on.toordinal()) >= 0.3:
        return None
    return instant_of(person, day.on, time(19, 30))


SERIES: Final[Mapping[str, SeriesResource]] = {
    "heartrate": SeriesResource("bpm", heartrate),
    "hrv": SeriesResource("ms", hrv),
    "respiratory_rate": SeriesResource("/min", respiratory_rate),
    "steps": SeriesResource("count", steps),
    "distance": SeriesResource("km", distance),
    "calories_active": SeriesResource("kJ", calories_active),
    "floors_climbed": SeriesResource("count", floors_climbed),
    "glucose": SeriesResource("mg/dL", glucose),
    "insulin_injection": SeriesResource("U", insulin_injection),
    "carbohydrates": SeriesResource("g", carbohydrates),
    "water": SeriesResource("mL", water),
    "weight": SeriesResource("g", weight),
    "fat": SeriesResource("fraction", fat),
    "lean_body_mass": SeriesResource("g", lean_body_mass),
    "blood_pressure": SeriesResource("mmHg", blood_pressure),
    "blood_oxygen": SeriesResource("fraction", blood_oxygen),
    "body_temperature": SeriesResource("degF", body_temperature),
    "vo2_max": SeriesResource("mL/kg/min", vo2_max),
    "stress_level": SeriesResource("percent", stress_level),
}
