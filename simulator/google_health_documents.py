"""The data points of Google's Health API v4, field by field, made from simulated days.

A wristband measures, a scale weighs, a telephone counts some of the steps as well, and what is eaten is typed in.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import groupby
from typing import Final, TypeAlias

from simulator.day import Day, active_kilocalories, day_of, local, walked_metres
from simulator.draws import bell, between, draw, identifier
from simulator.generic_series import fat_fraction, scale_at, weight_gram
from simulator.meals import meals_of
from simulator.person import Person
from simulator.sleep import AWAKE, DEEP, LIGHT, REM, SLOT_SECONDS, Sleep
from simulator.workout import SPORTS, Workout

Document: TypeAlias = Mapping[str, object]

_BAND: Final = {
    "recordingMethod": "PASSIVELY_MEASURED",
    "device": {"displayName": "Charge 6", "formFactor": "FITNESS_BAND", "manufacturer": "Fitbit"},
    "platform": "FITBIT",
}
#: Google does not always say what a device looks like.
_SCALE: Final = {
    "recordingMethod": "ACTIVELY_MEASURED",
    "device": {"displayName": "Aria Air"},
    "platform": "FITBIT",
}
_PHONE: Final = {
    "recordingMethod": "PASSIVELY_MEASURED",
    "device": {"displayName": "Pixel 9", "formFactor": "PHONE"},
    "platform": "HEALTH_CONNECT",
    "application": {"packageName": "com.example.steps"},
}
_TYPED_IN: Final = {"recordingMethod": "MANUAL", "platform": "FITBIT"}
_OTHER_APP: Final = {
    "recordingMethod": "UNKNOWN",
    "platform": "HEALTH_CONNECT",
    "application": {"packageName": "com.example.lifting"},
}
_EXERCISES: Final = {
    "running": "RUNNING",
    "cycling": "OUTDOOR_BIKE",
    "walking": "WALKING",
    "strength": "STRENGTH_TRAINING",
    "yoga": "YOGA",
    "swimming": "SWIMMING_POOL",
}
_STAGES: Final = {DEEP: "DEEP", LIGHT: "LIGHT", REM: "REM", AWAKE: "AWAKE"}
#: Hours in which the telephone is carried.
_ON_THE_WAY: Final = (8, 17)
_OXYGEN_SECONDS: Final = 1800
_LIGHT_MET, _MODERATE_MET, _VIGOROUS_MET = 1.5, 3.0, 6.0


@dataclass(frozen=True, slots=True)
class Point:
    """A data point, the time that filters go by as the person's clock showed it, and when the point became known."""

    shown: str
    known_at: int
    document: Document


#: (person, day) → the points whose filtered time is on the day.
Maker: TypeAlias = Callable[[Person, date], Iterator[Point]]


def user_id(person: Person) -> str:
    """Google Health's id of the person."""
    return f"GH{person.user_id}"


def steps(person: Person, on: date) -> Iterator[Point]:
    """Five minutes with steps each; on the way to work and back the telephone counts too."""
    for slot in day_of(person, on).slots:
        if not slot.steps:
            continue
        yield _lasting(person, "steps", slot.starts_at, {"count": str(slot.steps)})
        if local(person, slot.starts_at).hour in _ON_THE_WAY and slot.steps > 9:
            yield _lasting(person, "steps", slot.starts_at, {"count": str(slot.steps * 9 // 10)}, _PHONE)


def distance(person: Person, on: date) -> Iterator[Point]:
    """What the band's steps came to."""
    for slot in day_of(person, on).slots:
        if slot.steps:
            yield _lasting(person, "distance", slot.starts_at, {"millimeters": str(_millimetres(person, slot.steps))})


def active_energy(person: Person, on: date) -> Iterator[Point]:
    """Energy above rest of five minutes each."""
    for slot in day_of(person, on).slots:
        kilocalories = round(active_kilocalories(person, [slot]), 3)
        if kilocalories:
            yield _lasting(person, "activeEnergyBurned", slot.starts_at, {"kcal": kilocalories})


def floors(person: Person, on: date) -> Iterator[Point]:
    """Five minutes with a floor each."""
    for at in _climbed(person, day_of(person, on)):
        yield _lasting(person, "floors", at, {"count": "1"})


def heart_rate(person: Person, on: date) -> Iterator[Point]:
    """The pulse of every five minutes in which the band was worn."""
    for slot in day_of(person, on).slots:
        if slot.bpm is not None:
            yield _sampled(person, "heartRate", slot.starts_at, {"beatsPerMinute": str(slot.bpm)})


def heart_rate_variability(person: Person, on: date) -> Iterator[Point]:
    """Every five minutes of a night."""
    for at, night, index in _slept(person, on):
        name = "rootMeanSquareOfSuccessiveDifferencesMilliseconds"
        yield _sampled(person, "heartRateVariability", at, {name: float(night.rmssd_ms[index])})


def oxygen_saturation(person: Person, on: date) -> Iterator[Point]:
    """Every half hour of a night."""
    for at, _, _ in _slept(person, on):
        if at % _OXYGEN_SECONDS == 0:
            percent = round(96.5 + 1.5 * bell(person.seed, "oxygen", at), 1)
            yield _sampled(person, "oxygenSaturation", at, {"percentage": percent})


def respiratory_rate(person: Person, on: date) -> Iterator[Point]:
    """A night's breathing, at its end; some stages have none."""
    night = day_of(person, on).night
    stats = {"breathsPerMinute": night.breaths_per_minute, "standardDeviation": 1.2, "signalToNoise": 9.8}
    fields = {"fullSleepStats": stats, "deepSleepStats": {"breathsPerMinute": 0.0}}
    yield _sampled(person, "respiratoryRateSleepSummary", night.ends_at, fields)


def resting_heart_rate(person: Person, on: date) -> Iterator[Point]:
    """The day's resting heart rate, once its night is over."""
    night = day_of(person, on).night
    value = {
        "date": civil_date(on),
        "beatsPerMinute": str(person.resting_bpm),
        "dailyRestingHeartRateMetadata": {"calculationMethod": "WITH_SLEEP"},
    }
    yield Point(on.isoformat(), night.ends_at, {"dataSource": _BAND, "dailyRestingHeartRate": value})


def sleep(person: Person, on: date) -> Iterator[Point]:
    """The night and the nap that end on the day."""
    for one in day_of(person, on).sleeps:
        value: dict[str, object] = {
            "interval": _interval(person, one.starts_at, one.ends_at),
            "type": "CLASSIC" if one.is_nap else "STAGES",
            "stages": _stages(person, one),
            "metadata": {"processed": True, "nap": one.is_nap, "stagesStatus": "SUCCEEDED"},
            "summary": {
                "minutesInSleepPeriod": str(one.in_bed_seconds // 60),
                "minutesToFallAsleep": str(one.latency_seconds // 60),
                "minutesAsleep": str(one.asleep_seconds // 60),
                "minutesAwake": str(one.seconds(AWAKE) // 60),
                "minutesAfterWakeUp": "0",
            },
            "createTime": _instant(one.ends_at + 120),
            "updateTime": _instant(one.ends_at + 300),
        }
        name = _name(person, "sleep", identifier(person.seed, "nap" if one.is_nap else "night", on.toordinal()))
        yield Point(_shown(person, one.ends_at), one.ends_at, {"name": name, "dataSource": _BAND, "sleep": value})


def exercise(person: Person, on: date) -> Iterator[Point]:
    """The day's workout; lifting is brought by another app, which measures nothing."""
    one = day_of(person, on).workout
    if one is None:
        return
    lifted = one.sport == "strength"
    value = {
        "interval": _interval(person, one.starts_at, one.ends_at),
        "exerciseType": _EXERCISES[one.sport],
        "displayName": _EXERCISES[one.sport].replace("_", " ").capitalize(),
        "activeDuration": f"{one.ends_at - one.starts_at}s",
        "metricsSummary": {"caloriesKcal": one.active_kilocalories} if lifted else _metrics(one),
        "exerciseMetadata": {"hasGps": SPORTS[one.sport].metres_a_second > 1},
    }
    name = _name(person, "exercise", identifier(person.seed, "exercise", on.toordinal()))
    source = _OTHER_APP if lifted else {**_BAND, "recordingMethod": "ACTIVELY_MEASURED"}
    document = {"name": name, "dataSource": source, "exercise": value}
    yield Point(_shown(person, one.starts_at), one.ends_at, document)


def weight(person: Person, on: date) -> Iterator[Point]:
    """The scale's word."""
    day = day_of(person, on)
    at = scale_at(person, day)
    if at is not None:
        yield _sampled(person, "weight", at, {"weightGrams": float(weight_gram(person, day))}, _SCALE)


def body_fat(person: Person, on: date) -> Iterator[Point]:
    """The scale's word, of the same instant."""
    day = day_of(person, on)
    at = scale_at(person, day)
    if at is not None:
        yield _sampled(person, "bodyFat", at, {"percentage": round(100 * fat_fraction(person, day), 2)}, _SCALE)


def hydration(person: Person, on: date) -> Iterator[Point]:
    """A glass now and then."""
    day = day_of(person, on)
    for hour in range(8, 21, 2):
        at = day.starts_at + 3600 * hour
        if draw(person.seed, "glass", at) < 0.75:
            amount = {
                "milliliters": 150.0 + 50 * int(4 * draw(person.seed, "sip", at)),
                "userProvidedUnit": "MILLILITER",
            }
            point = _lasting(person, "hydrationLog", at, {"amountConsumed": amount}, _TYPED_IN, seconds=60)
            yield _named(person, point, "hydration-log", at)


def nutrition(person: Person, on: date) -> Iterator[Point]:
    """The meals."""
    for meal in meals_of(person, day_of(person, on)):
        nutrients = (("PROTEIN", meal.protein_gram), ("DIETARY_FIBER", meal.fibre_gram), ("SODIUM", 0.8))
        fields = {
            "foodDisplayName": meal.name,
            "mealType": meal.name.upper(),
            "energy": {"kcal": meal.energy_kilocalorie, "userProvidedUnit": "KILOCALORIE"},
            "totalCarbohydrate": {"grams": meal.carbohydrate_gram},
            "totalFat": {"grams": meal.fat_gram},
            "nutrients": [{"nutrient": word, "quantity": {"grams": grams}} for word, grams in nutrients],
        }
        point = _lasting(person, "nutritionLog", meal.at, fields, _TYPED_IN, seconds=900)
        yield _named(person, point, "nutrition-log", meal.at)


def rollup(person: Person, on: date, data_type: str, now: float) -> Document | None:
    """A day's total of one data type so far; None where there is nothing of it."""
    day = day_of(person, on)
    slots = [slot for slot in day.slots if slot.starts_at + SLOT_SECONDS <= now]
    if not slots:
        return None
    walked = sum(slot.steps for slot in slots)
    beats = [slot.bpm for slot in slots if slot.bpm is not None]
    passed = len(slots) * SLOT_SECONDS / (day.ends_at - day.starts_at)
    active = active_kilocalories(person, slots)
    minutes = {
        "LIGHT": _minutes(day, _LIGHT_MET, _MODERATE_MET, now),
        "MODERATE": _minutes(day, _MODERATE_MET, _VIGOROUS_MET, now),
        "VIGOROUS": _minutes(day, _VIGOROUS_MET, 99.0, now),
    }
    by_level = [{"activityLevel": level, "activeMinutesSum": str(spent)} for level, spent in minutes.items() if spent]
    values: Mapping[str, tuple[str, Document]] = {
        "steps": ("steps", {"countSum": str(walked)}),
        "distance": ("distance", {"millimetersSum": str(sum(_millimetres(person, slot.steps) for slot in slots))}),
        "floors": ("floors", {"countSum": str(sum(at + SLOT_SECONDS <= now for at in _climbed(person, day)))}),
        "active-energy-burned": ("activeEnergyBurned", {"kcalSum": round(active, 3)}),
        "total-calories": ("totalCalories", {"kcalSum": round(active + person.basal_kilocalories(on) * passed, 3)}),
        "active-minutes": ("activeMinutes", {"activeMinutesRollupByActivityLevel": by_level}),
        "heart-rate": ("heartRate", _beats(beats)),
    }
    name, value = values[data_type]
    return {"civilStartTime": _civil_start(on), "civilEndTime": _civil_start(day_after(on)), name: value}


def day_after(on: date) -> date:
    """The following date."""
    return date.fromordinal(on.toordinal() + 1)


def civil_date(on: date) -> Document:
    """A date as Google writes it."""
    return {"year": on.year, "month": on.month, "day": on.day}


def _civil_start(on: date) -> Document:
    return {"date": civil_date(on), "time": {}}


def _beats(beats: list[int]) -> Document:
    if not beats:
        return {}
    return {
        "beatsPerMinuteAvg": round(sum(beats) / len(beats), 3),
        "beatsPerMinuteMin": float(min(beats)),
        "beatsPerMinuteMax": float(max(beats)),
    }


def _minutes(day: Day, low_met: float, high_met: float, now: float) -> int:
    slots = (slot for slot in day.slots if slot.starts_at + SLOT_SECONDS <= now)
    return sum(SLOT_SECONDS // 60 for slot in slots if low_met <= slot.met < high_met)


def _climbed(person: Person, day: Day) -> list[int]:
    return [
        slot.starts_at
        for slot in day.slots
        if slot.steps and draw(person.seed, "floor", slot.starts_at // SLOT_SECONDS) < 0.06
    ]


def _millimetres(person: Person, walked: int) -> int:
    return round(1000 * walked_metres(person, walked))


def _slept(person: Person, on: date) -> Iterator[tuple[int, Sleep, int]]:
    """Instants of a day that were slept through, each with its night; a night begins the evening before its day."""
    for night in (day_of(person, on).night, day_of(person, day_after(on)).night):
        for index in range(len(night.stages)):
            at = night.starts_at + index * SLOT_SECONDS
            if local(person, at).date() == on:
                yield at, night, index


def _stages(person: Person, one: Sleep) -> list[Document]:
    """Stretches of one stage; a nap is of the classic kind."""
    names = [("AWAKE" if code == AWAKE else "ASLEEP") if one.is_nap else _STAGES[code] for code in one.stages]
    found: list[Document] = []
    at = one.starts_at
    for name, same in groupby(names):
        until = at + len(list(same)) * SLOT_SECONDS
        found.append(
            {
                "startTime": _instant(at),
                "startUtcOffset": _offset(person, at),
                "endTime": _instant(until),
                "endUtcOffset": _offset(person, until),
                "type": name,
            }
        )
        at = until
    return found


def _metrics(one: Workout) -> Document:
    sport = SPORTS[one.sport]
    metrics: dict[str, object] = {
        "caloriesKcal": one.active_kilocalories,
        "averageHeartRateBeatsPerMinute": str(round(sum(one.bpm) / len(one.bpm))),
        "activeZoneMinutes": str(len(one.bpm)),
        "heartRateZoneDurations": {"moderateTime": f"{one.ends_at - one.starts_at}s"},
    }
    if sport.metres_a_second:
        speed = one.distance_metre / (one.ends_at - one.starts_at)
        metrics["distanceMillimeters"] = round(1000 * one.distance_metre, 1)
        metrics["averageSpeedMillimetersPerSecond"] = round(1000 * speed, 2)
        metrics["elevationGainMillimeters"] = round(between(0, 60_000, draw(one.sport, "climb", one.starts_at)))
    if sum(one.steps):
        metrics["steps"] = str(sum(one.steps))
    return metrics


def _lasting(
    person: Person,
    field: str,
    at: int,
    value: Document,
    source: Document = _BAND,
    *,
    seconds: int = SLOT_SECONDS,
) -> Point:
    document = {"dataSource": source, field: {"interval": _interval(person, at, at + seconds), **value}}
    return Point(_shown(person, at), at + seconds, document)


def _sampled(person: Person, field: str, at: int, value: Document, source: Document = _BAND) -> Point:
    times = {"physicalTime": _instant(at), "utcOffset": _offset(person, at), "civilTime": _civil(person, at)}
    return Point(_shown(person, at), at, {"dataSource": source, field: {"sampleTime": times, **value}})


def _named(person: Person, point: Point, data_type: str, at: int) -> Point:
    name = _name(person, data_type, identifier(person.seed, data_type, at))
    return Point(point.shown, point.known_at, {"name": name, **point.document})


def _name(person: Person, data_type: str, number: int) -> str:
    return f"users/{user_id(person)}/dataTypes/{data_type}/dataPoints/{number}"


def _interval(person: Person, start: int, end: int) -> Document:
    return {
        "startTime": _instant(start),
        "startUtcOffset": _offset(person, start),
        "endTime": _instant(end),
        "endUtcOffset": _offset(person, end),
        "civilStartTime": _civil(person, start),
        "civilEndTime": _civil(person, end),
    }


def _instant(at: int) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _shown(person: Person, at: int) -> str:
    return local(person, at).strftime("%Y-%m-%dT%H:%M:%S")


def _offset(person: Person, at: int) -> str:
    offset = local(person, at).utcoffset()
    return f"{int(offset.total_seconds()) if offset else 0}s"


def _civil(person: Person, at: int) -> Document:
    """Parts that are nought are left out."""
    shown = local(person, at)
    parts = {"hours": shown.hour, "minutes": shown.minute, "seconds": shown.second}
    return {"date": civil_date(shown.date()), "time": {name: part for name, part in parts.items() if part}}
