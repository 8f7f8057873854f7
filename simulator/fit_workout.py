"""The FIT file that a device makes of a simulated workout: the same course that every vendor tells of."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from functools import lru_cache
from itertools import pairwise
from typing import Final

from simulator.day import local, midnight
from simulator.fit import ACTIVITY, FILE_ID, RECORD, SESSION, FitWriter, fit_time, semicircles
from simulator.person import Person
from simulator.strava_documents import Course, course_of
from simulator.workout import SPORTS, Workout, workout_of

#: Simulated sport → FIT's `sport` and `sub_sport`.
_FIT_SPORTS: Final[Mapping[str, tuple[int, int]]] = {
    "running": (1, 0),
    "cycling": (2, 7),
    "walking": (11, 0),
    "strength": (10, 20),
    "yoga": (10, 43),
    "swimming": (5, 17),
}
_FILE_ACTIVITY: Final = 4


@lru_cache(maxsize=64)
def fit_file(person: Person, on: date, manufacturer: int) -> bytes:
    """The file of the day's workout, which there must be."""
    workout = workout_of(person, on, midnight(person, on))
    if workout is None:
        raise ValueError("There is no workout on this day.")
    course = course_of(person, on)
    writer = FitWriter()
    writer.write(
        FILE_ID,
        {
            "type": _FILE_ACTIVITY,
            "manufacturer": manufacturer,
            "product": 1,
            "serial_number": person.user_id,
            "time_created": fit_time(workout.starts_at),
        },
    )
    for place in range(len(course.seconds)):
        writer.write(RECORD, _record(workout, course, place))
    writer.write(SESSION, _session(person, workout, course))
    offset = local(person, workout.starts_at).utcoffset()
    ended = fit_time(workout.ends_at)
    writer.write(
        ACTIVITY,
        {
            "timestamp": ended,
            "total_timer_time": workout.ends_at - workout.starts_at,
            "num_sessions": 1,
            "type": 0,
            "event": 26,
            "event_type": 1,
            "local_timestamp": ended + (int(offset.total_seconds()) if offset else 0),
        },
    )
    return writer.file()


def climbed_metres(course: Course) -> float:
    """Upward steps of the course."""
    return round(sum(max(0.0, after - before) for before, after in pairwise(course.altitude)), 1)


def _record(workout: Workout, course: Course, place: int) -> dict[str, float | None]:
    values: dict[str, float | None] = {
        "timestamp": fit_time(workout.starts_at + course.seconds[place]),
        "heart_rate": course.bpm[place],
    }
    if course.distance[-1] > 0:
        values |= {"distance": course.distance[place], "speed": course.velocity[place]}
    if course.places:
        latitude, longitude = course.places[place]
        values |= {
            "position_lat": semicircles(latitude),
            "position_long": semicircles(longitude),
            "altitude": course.altitude[place],
            "temperature": course.temperature,
        }
    if course.strides:
        values["cadence"] = course.strides[place]
    if course.watts:
        values["power"] = course.watts[place]
    return values


def _session(person: Person, workout: Workout, course: Course) -> dict[str, float | None]:
    seconds = workout.ends_at - workout.starts_at
    sport, sub_sport = _FIT_SPORTS[workout.sport]
    values: dict[str, float | None] = {
        "timestamp": fit_time(workout.ends_at),
        "event": 8,
        "event_type": 1,
        "start_time": fit_time(workout.starts_at),
        "sport": sport,
        "sub_sport": sub_sport,
        "total_elapsed_time": seconds,
        "total_timer_time": seconds,
        "total_calories": total_kilocalories(person, workout),
        "avg_heart_rate": round(sum(course.bpm) / len(course.bpm)),
        "max_heart_rate": max(course.bpm),
    }
    if course.distance[-1] > 0:
        values |= {
            "total_distance": workout.distance_metre,
            "avg_speed": workout.distance_metre / seconds,
            "max_speed": max(course.velocity),
        }
    if course.altitude:
        values |= {
            "total_ascent": climbed_metres(course),
            "max_altitude": max(course.altitude),
            "min_altitude": min(course.altitude),
        }
    if course.watts:
        average = sum(course.watts) / len(course.watts)
        values |= {"avg_power": average, "max_power": max(course.watts), "normalized_power": average}
    return values


def total_kilocalories(person: Person, workout: Workout) -> int:
    """Energy of a workout with what rest would have cost."""
    return round(SPORTS[workout.sport].met * person.weight_kilogram * (workout.ends_at - workout.starts_at) / 3600)
