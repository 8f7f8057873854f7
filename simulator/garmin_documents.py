"""Garmin's summaries, field by field, made from a simulated day, each with the hours in which the watch sends it.

The watch synchronises on every hour. What is of a whole day is sent again with each, as far as the day has come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, time
from typing import Final, TypeAlias

from simulator.day import Day, Slot, active_kilocalories, day_of, instant_of, local, walked_metres
from simulator.draws import bell, between, draw, hexadecimal
from simulator.fit_workout import climbed_metres, total_kilocalories
from simulator.generic_series import weight_gram
from simulator.person import Person
from simulator.sleep import AWAKE, DEEP, LIGHT, REM, SLOT_SECONDS, Sleep
from simulator.strava_documents import course_of

Document: TypeAlias = Mapping[str, object]

SYNC_SECONDS: Final = 3600
_EPOCH_SECONDS: Final = 900
_STRESS_SECONDS: Final = 180
_HEART_SECONDS: Final = 60
_ACTIVITY_TYPES: Final[Mapping[str, str]] = {
    "running": "RUNNING",
    "cycling": "CYCLING",
    "walking": "WALKING",
    "strength": "STRENGTH_TRAINING",
    "yoga": "YOGA",
    "swimming": "LAP_SWIMMING",
}
_STAGE_NAMES: Final[Mapping[str, str]] = {DEEP: "deep", LIGHT: "light", REM: "rem", AWAKE: "awake"}
#: What Garmin writes for stress where there is none to tell.
_OFF_WRIST, _LARGE_MOTION = -1, -2


@dataclass(frozen=True, slots=True)
class Sent:
    """A summary with the first and the last instant at which it was sent, and when what it tells of began."""

    first_at: int
    last_at: int
    starts_at: int
    document: Document


def user_id(person: Person) -> str:
    """Garmin's id of a user."""
    return hexadecimal(person.seed, "garmin-user", 16)


def sync_after(instant: float) -> int:
    """The first synchronisation at or after an instant."""
    return -int(-instant // SYNC_SECONDS) * SYNC_SECONDS


def sent_of_day(person: Person, on: date, kind: str, now: float) -> Iterator[Sent]:
    """The summaries of a kind that a day gives, as far as the watch has sent them."""
    known = int(now) // SYNC_SECONDS * SYNC_SECONDS
    for one in _KINDS[kind](person, day_of(person, on), known):
        if one.first_at <= known:
            yield one


def _dailies(person: Person, day: Day, known: int) -> Iterator[Sent]:
    ends_at = min(day.ends_at, known)
    slots = [slot for slot in day.slots if slot.starts_at + SLOT_SECONDS <= ends_at]
    if not slots:
        return
    beats = [slot.bpm for slot in slots if slot.bpm is not None]
    steps = sum(slot.steps for slot in slots)
    active = [slot for slot in slots if slot.met >= 1.5]
    document = {
        "summaryId": f"{user_id(person)[:6]}-{day.starts_at:x}-d",
        "calendarDate": day.on.isoformat(),
        "activityType": "GENERIC",
        "activeKilocalories": round(active_kilocalories(person, slots)),
        "bmrKilocalories": round(person.basal_kilocalories(day.on) * (ends_at - day.starts_at) / 86_400),
        "steps": steps,
        "pushes": 0,
        "distanceInMeters": round(_metres(person, day, slots), 1),
        "durationInSeconds": ends_at - day.starts_at,
        "activeTimeInSeconds": len(active) * SLOT_SECONDS,
        "startTimeInSeconds": day.starts_at,
        "startTimeOffsetInSeconds": _offset(person, day.starts_at),
        "moderateIntensityDurationInSeconds": sum(3 <= slot.met < 6 for slot in slots) * SLOT_SECONDS,
        "vigorousIntensityDurationInSeconds": sum(slot.met >= 6 for slot in slots) * SLOT_SECONDS,
        "floorsClimbed": steps // 1200,
        "minHeartRateInBeatsPerMinute": min(beats, default=0),
        "maxHeartRateInBeatsPerMinute": max(beats, default=0),
        "averageHeartRateInBeatsPerMinute": person.resting_bpm + 12,
        "restingHeartRateInBeatsPerMinute": person.resting_bpm,
        "timeOffsetHeartRateSamples": {
            str(slot.starts_at - day.starts_at + second): slot.bpm
            for slot in slots
            if slot.bpm is not None
            for second in range(0, SLOT_SECONDS, _HEART_SECONDS)
        },
        "source": "simulated",
    }
    yield Sent(sync_after(day.starts_at + SLOT_SECONDS), sync_after(day.ends_at), day.starts_at, document)


def _epochs(person: Person, day: Day, known: int) -> Iterator[Sent]:
    del known
    size = _EPOCH_SECONDS // SLOT_SECONDS
    for place in range(0, len(day.slots), size):
        slots = day.slots[place : place + size]
        starts_at = slots[0].starts_at
        steps = sum(slot.steps for slot in slots)
        document = {
            "summaryId": f"{user_id(person)[:6]}-{starts_at:x}-e",
            "activityType": "WALKING" if steps else "SEDENTARY",
            "activeKilocalories": round(active_kilocalories(person, slots)),
            "steps": steps,
            "distanceInMeters": round(_metres(person, day, slots), 2),
            "durationInSeconds": _EPOCH_SECONDS,
            "activeTimeInSeconds": sum(slot.met >= 1.5 for slot in slots) * SLOT_SECONDS,
            "met": round(sum(slot.met for slot in slots) / len(slots), 2),
            "intensity": "ACTIVE" if steps else "SEDENTARY",
            "startTimeInSeconds": starts_at,
            "startTimeOffsetInSeconds": _offset(person, starts_at),
        }
        at = sync_after(starts_at + _EPOCH_SECONDS)
        yield Sent(at, at, starts_at, document)


def _sleeps(person: Person, day: Day, known: int) -> Iterator[Sent]:
    """The night, told at the next synchronisation and again, as final, six hours later."""
    night = day.night
    first = sync_after(night.ends_at)
    final = known >= first + 6 * SYNC_SECONDS
    document = {
        "summaryId": f"{user_id(person)[:6]}-{night.starts_at:x}-s",
        "calendarDate": day.on.isoformat(),
        "startTimeInSeconds": night.starts_at,
        "startTimeOffsetInSeconds": _offset(person, night.starts_at),
        "durationInSeconds": night.asleep_seconds,
        "unmeasurableSleepInSeconds": 0,
        "deepSleepDurationInSeconds": night.seconds(DEEP),
        "lightSleepDurationInSeconds": night.seconds(LIGHT),
        "remSleepInSeconds": night.seconds(REM),
        "awakeDurationInSeconds": night.seconds(AWAKE),
        "sleepLevelsMap": _levels(night),
        "validation": "ENHANCED_FINAL" if final else "ENHANCED_TENTATIVE",
        "timeOffsetSleepRespiration": _breaths(person, day),
        "timeOffsetSleepSpo2": _oxygen(person, day),
        "overallSleepScore": {"value": night.score, "qualifierKey": "GOOD" if night.score >= 80 else "FAIR"},
    }
    yield Sent(first, first + 6 * SYNC_SECONDS, night.starts_at, document)


def _activities(person: Person, day: Day, known: int) -> Iterator[Sent]:
    del known
    workout = day.workout
    if workout is None:
        return
    seconds, course = workout.ends_at - workout.starts_at, course_of(person, day.on)
    identity = f"{person.user_id}{day.on.toordinal()}"
    document: dict[str, object] = {
        "summaryId": identity,
        "activityId": int(identity),
        "activityName": f"{workout.sport.title()} of the day",
        "activityType": _ACTIVITY_TYPES[workout.sport],
        "startTimeInSeconds": workout.starts_at,
        "startTimeOffsetInSeconds": _offset(person, workout.starts_at),
        "durationInSeconds": seconds,
        "averageHeartRateInBeatsPerMinute": round(sum(workout.bpm) / len(workout.bpm)),
        "maxHeartRateInBeatsPerMinute": max(workout.bpm),
        "activeKilocalories": total_kilocalories(person, workout),
        "deviceName": "Simulated Watch",
        "manual": False,
    }
    if workout.distance_metre > 0:
        document |= {
            "distanceInMeters": workout.distance_metre,
            "averageSpeedInMetersPerSecond": round(workout.distance_metre / seconds, 3),
            "maxSpeedInMetersPerSecond": max(course.velocity),
            "steps": sum(workout.steps),
        }
    if course.altitude:
        document |= {
            "totalElevationGainInMeters": climbed_metres(course),
            "startingLatitudeInDegree": course.places[0][0],
            "startingLongitudeInDegree": course.places[0][1],
        }
    at = sync_after(workout.ends_at)
    yield Sent(at, at, workout.starts_at, document)


def _body_comps(person: Person, day: Day, known: int) -> Iterator[Sent]:
    del known
    number = day.on.toordinal()
    if number % 3:
        return
    at = instant_of(person, day.on, time(7, 20))
    grams = weight_gram(person, day)
    document = {
        "summaryId": f"{user_id(person)[:6]}-{at:x}-b",
        "measurementTimeInSeconds": at,
        "measurementTimeOffsetInSeconds": _offset(person, at),
        "weightInGrams": grams,
        "bodyFatInPercent": round(100 * person.fat_fraction + 0.3 * bell(person.seed, "fat", number), 1),
        "bodyWaterInPercent": round(73 * (1 - person.fat_fraction), 1),
        "muscleMassInGrams": round(grams * (1 - person.fat_fraction) * 0.52),
        "boneMassInGrams": round(grams * 0.043),
        "bodyMassIndex": round(grams / 1000 / person.height_metre**2, 1),
    }
    yield Sent(sync_after(at), sync_after(at), at, document)


def _hrv(person: Person, day: Day, known: int) -> Iterator[Sent]:
    del known
    night = day.night
    values = {str(place * SLOT_SECONDS): value for place, value in enumerate(night.rmssd_ms)}
    document = {
        **_nightly(person, day, "h"),
        "lastNightAvg": round(sum(night.rmssd_ms) / len(night.rmssd_ms)),
        "lastNight5MinHigh": max(night.rmssd_ms),
        "hrvValues": values,
    }
    yield Sent(sync_after(night.ends_at), sync_after(night.ends_at), night.starts_at, document)


def _stress(person: Person, day: Day, known: int) -> Iterator[Sent]:
    ends_at = min(day.ends_at, known)
    if ends_at <= day.starts_at:
        return
    values = {}
    for at in range(day.starts_at, ends_at, _STRESS_SECONDS):
        slot = day.slots[(at - day.starts_at) // SLOT_SECONDS]
        values[str(at - day.starts_at)] = _stress_of(person, slot, at)
    document = {
        "summaryId": f"{user_id(person)[:6]}-{day.starts_at:x}-t",
        "calendarDate": day.on.isoformat(),
        "startTimeInSeconds": day.starts_at,
        "startTimeOffsetInSeconds": _offset(person, day.starts_at),
        "durationInSeconds": ends_at - day.starts_at,
        "timeOffsetStressLevelValues": values,
        "timeOffsetBodyBatteryValues": {},
    }
    yield Sent(sync_after(day.starts_at + _STRESS_SECONDS), sync_after(day.ends_at), day.starts_at, document)


def _pulseox(person: Person, day: Day, known: int) -> Iterator[Sent]:
    del known
    night = day.night
    document = {**_nightly(person, day, "o"), "timeOffsetSpo2Values": _oxygen(person, day), "onDemand": False}
    yield Sent(sync_after(night.ends_at), sync_after(night.ends_at), night.starts_at, document)


def _respiration(person: Person, day: Day, known: int) -> Iterator[Sent]:
    del known
    night = day.night
    document = {**_nightly(person, day, "r"), "timeOffsetEpochToBreaths": _breaths(person, day)}
    yield Sent(sync_after(night.ends_at), sync_after(night.ends_at), night.starts_at, document)


def _blood_pressures(person: Person, day: Day, known: int) -> Iterator[Sent]:
    del known
    number = day.on.toordinal()
    if number % 5:
        return
    at = instant_of(person, day.on, time(8, 5))
    document = {
        "summaryId": f"{user_id(person)[:6]}-{at:x}-p",
        "systolic": round(between(108, 134, draw(person.seed, "systolic", number))),
        "diastolic": round(between(66, 86, draw(person.seed, "diastolic", number))),
        "pulse": person.resting_bpm + 6,
        "sourceType": "MANUAL",
        "measurementTimeInSeconds": at,
        "measurementTimeOffsetInSeconds": _offset(person, at),
    }
    yield Sent(sync_after(at), sync_after(at), at, document)


_KINDS: Final[Mapping[str, Callable[[Person, Day, int], Iterator[Sent]]]] = {
    "dailies": _dailies,
    "epochs": _epochs,
    "sleeps": _sleeps,
    "activities": _activities,
    "bodyComps": _body_comps,
    "hrv": _hrv,
    "stressDetails": _stress,
    "pulseox": _pulseox,
    "respiration": _respiration,
    "bloodPressures": _blood_pressures,
}
KINDS: Final = tuple(_KINDS)


def _nightly(person: Person, day: Day, suffix: str) -> dict[str, object]:
    night = day.night
    return {
        "summaryId": f"{user_id(person)[:6]}-{night.starts_at:x}-{suffix}",
        "calendarDate": day.on.isoformat(),
        "startTimeInSeconds": night.starts_at,
        "startTimeOffsetInSeconds": _offset(person, night.starts_at),
        "durationInSeconds": night.in_bed_seconds,
    }


def _levels(night: Sleep) -> Mapping[str, list[Mapping[str, int]]]:
    """Spans of neighbouring slots of one stage."""
    found: dict[str, list[Mapping[str, int]]] = {name: [] for name in _STAGE_NAMES.values()}
    begun = 0
    for place in range(1, len(night.stages) + 1):
        if place == len(night.stages) or night.stages[place] != night.stages[begun]:
            span = (night.starts_at + begun * SLOT_SECONDS, night.starts_at + place * SLOT_SECONDS)
            found[_STAGE_NAMES[night.stages[begun]]].append(
                {"startTimeInSeconds": span[0], "endTimeInSeconds": span[1]}
            )
            begun = place
    return found


def _breaths(person: Person, day: Day) -> Mapping[str, float]:
    seed = f"{person.seed}|breaths|{day.on.isoformat()}"
    return {
        str(place * SLOT_SECONDS): round(day.night.breaths_per_minute + bell(seed, "rate", place), 2)
        for place in range(len(day.night.stages))
    }


def _oxygen(person: Person, day: Day) -> Mapping[str, int]:
    seed = f"{person.seed}|oxygen|{day.on.isoformat()}"
    return {
        str(place * SLOT_SECONDS): round(between(94, 98.4, draw(seed, "spo2", place)))
        for place in range(0, len(day.night.stages), 12)
    }


def _stress_of(person: Person, slot: Slot, at: int) -> int:
    if slot.bpm is None:
        return _OFF_WRIST
    if slot.kind == "workout":
        return _LARGE_MOTION
    lift = (slot.bpm - person.resting_bpm) * 1.6 + 6 * bell(person.seed, "stress", at)
    return max(1, min(99, round(14 + lift)))


def _metres(person: Person, day: Day, slots: tuple[Slot, ...] | list[Slot]) -> float:
    """What was walked, and the workout's share in these slots."""
    walked = walked_metres(person, sum(slot.steps for slot in slots if slot.kind != "workout"))
    workout = day.workout
    if workout is None:
        return walked
    seconds = sum(SLOT_SECONDS for slot in slots if slot.kind == "workout")
    return walked + workout.distance_metre * seconds / (workout.ends_at - workout.starts_at)


def _offset(person: Person, at: int) -> int:
    offset = local(person, at).utcoffset()
    return 0 if offset is None else int(offset.total_seconds())
