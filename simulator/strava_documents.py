"""The documents of Strava's API v3, field by field, made from a simulated day."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache
from itertools import pairwise
from math import cos, pi, radians, sin
from typing import TypeAlias

from simulator.day import local, midnight
from simulator.draws import bell, between, draw
from simulator.person import Person
from simulator.workout import SPORTS, Workout, workout_of

Document: TypeAlias = Mapping[str, object]

POINT_SECONDS = 10
#: An activity's id is the athlete's number times this, plus the ordinal of its day.
DAYS_MAXIMUM = 1_000_000
#: Metres of a degree of latitude, and of longitude at the equator.
DEGREE_METRES = 111_320

#: Simulated sport → `sport_type`.
_SPORT_TYPES: Mapping[str, str] = {
    "running": "Run",
    "cycling": "Ride",
    "walking": "Walk",
    "strength": "WeightTraining",
    "yoga": "Yoga",
    "swimming": "Swim",
}
_OVER_LAND = frozenset({"running", "cycling", "walking"})
_HOMES: Mapping[str, tuple[float, float]] = {
    "America/New_York": (40.78, -73.96),
    "America/Los_Angeles": (34.05, -118.36),
    "Europe/London": (51.53, -0.15),
    "Europe/Berlin": (52.52, 13.37),
    "Europe/Helsinki": (60.18, 24.93),
}


@dataclass(frozen=True, slots=True)
class Activity:
    """A workout as Strava keeps it. `manual`: typed in, and so without streams."""

    id: int
    on: date
    workout: Workout
    private: bool
    manual: bool


def activity_id(person: Person, on: date) -> int:
    """The id of a day's activity."""
    return person.user_id * DAYS_MAXIMUM + on.toordinal()


def activity_of(person: Person, on: date) -> Activity | None:
    """The day's activity, where the person worked out."""
    workout = workout_of(person, on, midnight(person, on))
    if workout is None:
        return None
    number = on.toordinal()
    return Activity(
        id=activity_id(person, on),
        on=on,
        workout=workout,
        private=draw(person.seed, "private", number) < 0.15,
        manual=draw(person.seed, "manual", number) < 0.1,
    )


def athlete(person: Person, today: date, *, detailed: bool) -> Document:
    """The athlete; what they weigh only where the scope allows it."""
    summary = {
        "id": person.user_id,
        "username": None,
        "resource_state": 3 if detailed else 2,
        "firstname": "Sim",
        "lastname": "Person",
        "city": person.zone.partition("/")[2].replace("_", " "),
        "state": None,
        "country": None,
        "sex": "F" if person.sex == "female" else "M",
        "premium": False,
        "summit": False,
        "created_at": "2024-01-01T08:00:00Z",
        "updated_at": f"{today.isoformat()}T00:00:00Z",
        "badge_type_id": 0,
        "profile_medium": "avatar/athlete/medium.png",
        "profile": "avatar/athlete/large.png",
    }
    if not detailed:
        return summary
    return {
        **summary,
        "friend_count": 0,
        "follower_count": 0,
        "mutual_friend_count": 0,
        "measurement_preference": "meters",
        "weight": person.weight_kilogram,
        "ftp": None,
        "bikes": [],
        "shoes": [],
    }


def summary(person: Person, activity: Activity) -> Document:
    """One row of an athlete's listing: all but the calories and the fine route."""
    workout, instant = activity.workout, local(person, activity.workout.starts_at)
    elapsed_seconds = workout.ends_at - workout.starts_at
    offset_seconds = _offset_seconds(instant)
    course = None if activity.manual else course_of(person, activity.on)
    sport_type = _SPORT_TYPES[workout.sport]
    return {
        "id": activity.id,
        "resource_state": 2,
        "athlete": {"id": person.user_id, "resource_state": 1},
        "external_id": None if activity.manual else f"simulated_{activity.id}.fit",
        "upload_id": None if activity.manual else activity.id + 1,
        "name": f"{_part_of_day(instant)} {sport_type}",
        "distance": workout.distance_metre,
        "moving_time": elapsed_seconds,
        "elapsed_time": elapsed_seconds,
        "total_elevation_gain": _climbed(course),
        "type": sport_type,
        "sport_type": sport_type,
        "start_date": _zulu(workout.starts_at),
        # The local clock, marked as UTC as the vendor does.
        "start_date_local": _zulu(workout.starts_at + offset_seconds),
        "timezone": f"(GMT{_standard_offset(person)}) {person.zone}",
        "utc_offset": float(offset_seconds),
        "manual": activity.manual,
        "private": activity.private,
        "visibility": "only_me" if activity.private else "everyone",
        "trainer": False,
        "commute": False,
        "flagged": False,
        "device_name": None if activity.manual else "Simulated Watch",
        "average_speed": round(workout.distance_metre / elapsed_seconds, 3),
        "max_speed": 0.0 if course is None else max(course.velocity, default=0.0),
        "has_heartrate": course is not None,
        "map": {
            "id": f"a{activity.id}",
            "summary_polyline": "" if course is None else polyline(course.places[::12]),
            "resource_state": 2,
        },
        **({} if course is None else _measured(course)),
    }


def detail(person: Person, activity: Activity) -> Document:
    """The activity at its own address."""
    row = summary(person, activity)
    workout = activity.workout
    hours = (workout.ends_at - workout.starts_at) / 3600
    course = None if activity.manual else course_of(person, activity.on)
    route = {
        "id": f"a{activity.id}",
        "polyline": "" if course is None else polyline(course.places),
        "summary_polyline": "" if course is None else polyline(course.places[::12]),
        "resource_state": 3,
    }
    return {
        **row,
        "resource_state": 3,
        "description": None,
        "calories": round(SPORTS[workout.sport].met * person.weight_kilogram * hours, 1),
        "map": route,
        "segment_efforts": [],
        "best_efforts": [],
        "photos": {"primary": None, "count": 0},
        "embed_token": "0" * 40,
    }


def streams(person: Person, activity: Activity, keys: Sequence[str]) -> Document:
    """The streams of `keys` that the activity has, each of one length."""
    course = course_of(person, activity.on)
    recorded: dict[str, Sequence[object]] = {"time": course.seconds, "heartrate": course.bpm}
    if course.distance[-1:] > (0.0,):
        recorded |= {"distance": course.distance, "velocity_smooth": course.velocity}
    if course.places:
        recorded |= {
            "latlng": [list(place) for place in course.places],
            "altitude": course.altitude,
            "temp": [course.temperature] * len(course.seconds),
        }
    if course.strides:
        recorded["cadence"] = course.strides
    if course.watts:
        recorded["watts"] = course.watts
    return {
        name: {"data": values, "series_type": "time", "original_size": len(values), "resolution": "high"}
        for name, values in recorded.items()
        if name in keys
    }


@dataclass(frozen=True, slots=True)
class Course:
    """A workout from point to point; what the sport has not is empty."""

    seconds: tuple[int, ...]
    bpm: tuple[int, ...]
    strides: tuple[int, ...]
    distance: tuple[float, ...]
    velocity: tuple[float, ...]
    places: tuple[tuple[float, float], ...]
    altitude: tuple[float, ...]
    watts: tuple[int, ...]
    temperature: int


@lru_cache(maxsize=256)
def course_of(person: Person, on: date) -> Course:
    """The course of a day's workout: its minutes' pulse and steps, and its distance to the last metre."""
    workout = workout_of(person, on, midnight(person, on))
    if workout is None:
        raise ValueError("There is no workout on this day.")
    seed = f"{person.seed}|course|{on.isoformat()}"
    seconds = tuple(range(0, workout.ends_at - workout.starts_at + 1, POINT_SECONDS))
    minutes = [min(second // 60, len(workout.bpm) - 1) for second in seconds]
    shares = list(_shares(seed, len(seconds)))
    distance = tuple(round(workout.distance_metre * share, 1) for share in shares)
    steps = [(after - before) / POINT_SECONDS for before, after in zip((0.0, *distance), distance, strict=False)]
    over_land = workout.sport in _OVER_LAND
    return Course(
        seconds=seconds,
        bpm=tuple(workout.bpm[minute] for minute in minutes),
        strides=tuple(_cadence(seed, workout, minute) for minute in minutes) if over_land else (),
        distance=distance,
        velocity=tuple(round(speed, 2) for speed in steps),
        places=tuple(_place(person, workout.distance_metre, share) for share in shares) if over_land else (),
        altitude=tuple(round(40 + 12 * sin(2 * pi * share), 1) for share in shares) if over_land else (),
        watts=tuple(_watts(person, seed, second) for second in seconds) if workout.sport == "cycling" else (),
        temperature=int(between(4, 26, draw(seed, "temperature"))),
    )


def _shares(seed: str, points: int) -> Iterator[float]:
    """How much of the way is done at each point, from 0 to 1."""
    paces = [1 + 0.12 * bell(seed, "pace", index) for index in range(points - 1)]
    total, done = sum(paces), 0.0
    yield 0.0
    for pace in paces:
        done += pace
        yield done / total


def _cadence(seed: str, workout: Workout, minute: int) -> int:
    """Strides of one leg a minute, or turns of the pedals."""
    if workout.sport == "cycling":
        return round(84 + 8 * bell(seed, "turns", minute))
    return round(workout.steps[minute] / 2)


def _watts(person: Person, seed: str, second: int) -> int:
    return round(person.weight_kilogram * (2.2 + 0.5 * bell(seed, "watts", second)))


def _place(person: Person, distance_metre: float, share: float) -> tuple[float, float]:
    """A round whose length is the distance."""
    latitude, longitude = _HOMES[person.zone]
    radius = distance_metre / (2 * pi)
    angle = 2 * pi * share
    north, east = radius * sin(angle), radius * (1 - cos(angle))
    return (
        round(latitude + north / DEGREE_METRES, 6),
        round(longitude + east / (DEGREE_METRES * cos(radians(latitude))), 6),
    )


def _measured(course: Course) -> dict[str, object]:
    """What a device adds to a row."""
    found: dict[str, object] = {
        "average_heartrate": round(sum(course.bpm) / len(course.bpm), 1),
        "max_heartrate": float(max(course.bpm)),
    }
    if course.altitude:
        found |= {"elev_high": max(course.altitude), "elev_low": min(course.altitude)}
        found |= {"start_latlng": list(course.places[0]), "end_latlng": list(course.places[-1])}
    if course.strides:
        found["average_cadence"] = round(sum(course.strides) / len(course.strides), 1)
    if course.watts:
        average = sum(course.watts) / len(course.watts)
        found |= {"average_watts": round(average, 1), "max_watts": max(course.watts), "device_watts": True}
        found |= {"weighted_average_watts": round(average), "kilojoules": round(average * course.seconds[-1] / 1000, 1)}
    return found


def _climbed(course: Course | None) -> float:
    heights = () if course is None else course.altitude
    return round(sum(max(0.0, after - before) for before, after in pairwise(heights)), 1)


def polyline(places: Sequence[tuple[float, float]]) -> str:
    """Google's encoded polyline: five decimals of a degree, each point the step from the last."""
    written: list[str] = []
    last = (0, 0)
    for place in places:
        rounded = (round(place[0] * 1e5), round(place[1] * 1e5))
        for before, after in zip(last, rounded, strict=True):
            step = after - before
            left = ~(step << 1) if step < 0 else step << 1
            while left >= 0x20:
                written.append(chr((0x20 | (left & 0x1F)) + 63))
                left >>= 5
            written.append(chr(left + 63))
        last = rounded
    return "".join(written)


def _zulu(instant: int) -> str:
    return datetime.fromtimestamp(instant, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _offset_seconds(instant: datetime) -> int:
    offset = instant.utcoffset()
    return 0 if offset is None else int(offset.total_seconds())


def _standard_offset(person: Person) -> str:
    """The zone's offset in January, as Strava writes it whatever the season."""
    written = local(person, datetime(2026, 1, 15, tzinfo=UTC).timestamp()).strftime("%z")
    return f"{written[:3]}:{written[3:]}"


def _part_of_day(instant: datetime) -> str:
    return "Morning" if instant.hour < 12 else "Lunch" if instant.hour < 15 else "Evening"
