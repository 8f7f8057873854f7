"""The documents of Wahoo's cloud API, field by field, made from a simulated day. Its numbers are decimals in texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Final, TypeAlias

from simulator.day import instant_of, midnight
from simulator.draws import draw, identifier
from simulator.fit_workout import climbed_metres, total_kilocalories
from simulator.person import WORN_SINCE, Person
from simulator.strava_documents import course_of
from simulator.workout import Workout, workout_of

Document: TypeAlias = Mapping[str, object]

#: Wahoo among FIT's manufacturers.
MANUFACTURER: Final = 32
#: Simulated sport → `workout_type_id`; strength is "workout", which only the file says more of.
_TYPE_IDS: Final[Mapping[str, int]] = {
    "running": 1,
    "cycling": 15,
    "walking": 6,
    "strength": 42,
    "yoga": 66,
    "swimming": 25,
}


@dataclass(frozen=True, slots=True)
class Recorded:
    """A workout as Wahoo keeps it. `manual`: typed in, and so without a file. Not every device tells its zone."""

    on: date
    workout: Workout
    manual: bool
    tells_zone: bool


def recorded_on(person: Person, on: date) -> Recorded | None:
    """The day's workout, where the person did one."""
    workout = workout_of(person, on, midnight(person, on))
    if workout is None:
        return None
    number = on.toordinal()
    return Recorded(
        on=on,
        workout=workout,
        manual=draw(person.seed, "wahoo-manual", number) < 0.1,
        tells_zone=draw(person.seed, "wahoo-zone", number) < 0.6,
    )


@lru_cache(maxsize=256)
def days_of(person: Person, last: date) -> tuple[date, ...]:
    """The days with a workout up to a date, the latest first."""
    days = (last - timedelta(days=back) for back in range((last - WORN_SINCE).days + 1))
    return tuple(on for on in days if workout_of(person, on, midnight(person, on)) is not None)


def user(person: Person, email: str) -> Document:
    """Who the user is."""
    return {
        "id": person.user_id,
        "height": f"{person.height_metre:.2f}",
        "weight": f"{person.weight_kilogram:.1f}",
        "first": "Sim",
        "last": "Ulated",
        "email": email,
        "birth": f"{person.birth_year}-06-15",
        "gender": 1 if person.sex == "female" else 0,
        "created_at": "2024-01-01T08:00:00.000Z",
        "updated_at": "2024-01-01T08:00:00.000Z",
    }


def workout_of_day(person: Person, recorded: Recorded, file_url: str) -> Document:
    """A workout with its summary."""
    return {**_workout(person, recorded), "workout_summary": summary(person, recorded, file_url)}


def event(person: Person, recorded: Recorded, file_url: str, token: str) -> Document:
    """What a notice tells."""
    return {
        "event_type": "workout_summary",
        "webhook_token": token,
        "user": {"id": person.user_id},
        "workout_summary": {**summary(person, recorded, file_url), "workout": _workout(person, recorded)},
    }


def planned(person: Person, on: date) -> Document:
    """A workout that nobody has done yet, and so without a summary."""
    return {
        "id": workout_id(person, on) + 1,
        "starts": _zulu(instant_of(person, on, datetime.min.time().replace(hour=18))),
        "minutes": 45,
        "name": "Planned",
        "created_at": _zulu(midnight(person, on)),
        "updated_at": _zulu(midnight(person, on)),
        "plan_id": 7,
        "workout_token": "planned",
        "workout_type_id": 61,
        "workout_summary": None,
    }


def workout_id(person: Person, on: date) -> int:
    """Wahoo's number of a day's workout."""
    return (identifier(person.seed, "wahoo", on.toordinal()) % 100_000_000) * 2 + 2


def summary(person: Person, recorded: Recorded, file_url: str) -> Document:
    """What the device made of it."""
    workout, seconds = recorded.workout, recorded.workout.ends_at - recorded.workout.starts_at
    found: dict[str, object] = {
        "id": workout_id(person, recorded.on) + 5,
        "name": workout.sport.title(),
        "ascent_accum": None,
        "cadence_avg": None,
        "calories_accum": f"{total_kilocalories(person, workout):.2f}",
        "distance_accum": f"{workout.distance_metre:.2f}",
        "duration_active_accum": f"{seconds:.2f}",
        "duration_paused_accum": "0.00",
        "duration_total_accum": f"{seconds:.2f}",
        "heart_rate_avg": None,
        "power_bike_np_last": None,
        "power_bike_tss_last": None,
        "power_avg": None,
        "speed_avg": f"{workout.distance_metre / seconds:.2f}",
        "work_accum": None,
        "time_zone": person.zone if recorded.tells_zone else None,
        "manual": recorded.manual,
        "edited": False,
        "fitness_app_id": 1002,
        "file": None if recorded.manual else {"url": file_url},
        "created_at": _zulu(workout.ends_at + 60),
        "updated_at": _zulu(workout.ends_at + 60),
    }
    if not recorded.manual:
        course = course_of(person, recorded.on)
        found["heart_rate_avg"] = f"{sum(course.bpm) / len(course.bpm):.2f}"
        found["ascent_accum"] = f"{climbed_metres(course):.2f}" if course.altitude else None
        if course.watts:
            average = sum(course.watts) / len(course.watts)
            found |= {"power_avg": f"{average:.2f}", "power_bike_np_last": f"{average:.2f}"}
            found["work_accum"] = f"{average * seconds:.2f}"
    return found


def _workout(person: Person, recorded: Recorded) -> dict[str, object]:
    workout = recorded.workout
    return {
        "id": workout_id(person, recorded.on),
        "starts": _zulu(workout.starts_at),
        "minutes": (workout.ends_at - workout.starts_at) // 60,
        "name": workout.sport.title(),
        "created_at": _zulu(workout.ends_at + 60),
        "updated_at": _zulu(workout.ends_at + 60),
        "plan_id": None,
        "workout_token": f"ELEMNT {recorded.on.toordinal()}",
        "workout_type_id": _TYPE_IDS[workout.sport],
    }


def _zulu(instant: int) -> str:
    return datetime.fromtimestamp(instant, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
