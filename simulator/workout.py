"""Simulated workouts: one minute after the other, with the sport's own pace, pulse and steps."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from simulator.draws import bell, between, draw
from simulator.person import Person

SECONDS_A_MINUTE = 60


@dataclass(frozen=True, slots=True)
class Sport:
    """How a sport looks to a device, and what each vendor calls it."""

    met: float
    reserve_fraction: float
    metres_a_second: float
    steps_a_minute: int
    oura_activity: str
    withings_category: int


SPORTS: Mapping[str, Sport] = {
    "running": Sport(9.0, 0.68, 2.8, 164, "running", 2),
    "cycling": Sport(7.0, 0.58, 6.2, 0, "cycling", 6),
    "walking": Sport(4.2, 0.34, 1.45, 112, "walking", 1),
    "strength": Sport(5.0, 0.45, 0.0, 6, "strength_training", 16),
    "yoga": Sport(2.6, 0.22, 0.0, 2, "yoga", 28),
    "swimming": Sport(7.2, 0.56, 0.75, 0, "swimming", 7),
}


@dataclass(frozen=True, slots=True)
class Workout:
    """A workout, epoch seconds; `bpm` and `steps` have one value a minute."""

    starts_at: int
    ends_at: int
    sport: str
    bpm: tuple[int, ...]
    steps: tuple[int, ...]
    distance_metre: float
    active_kilocalories: float
    intensity: str


@lru_cache(maxsize=1024)
def workout_of(person: Person, on: date, midnight_at: int) -> Workout | None:
    """The day's workout, if there is one. Starts and ends on whole five minutes."""
    seed = f"{person.seed}|workout|{on.isoformat()}"
    if draw(seed, "happens") >= person.workout_share:
        return None
    name = person.sports[0] if draw(seed, "which") < 0.65 else person.sports[1]
    sport = SPORTS[name]
    hours = (10.0, 12.0, 17.5) if on.weekday() >= 5 else (12.0, 17.5, 17.5)
    start_minutes = round(60 * hours[int(3 * draw(seed, "when"))]) + 5 * int(3 * draw(seed, "late"))
    minutes = 5 * int(between(5, 14, draw(seed, "length")))
    effort = sport.reserve_fraction * between(0.9, 1.1, draw(seed, "effort"))
    reserve = person.maximum_bpm(on) - person.resting_bpm
    pulses = []
    for minute in range(minutes):
        warm = min(1.0, 0.45 + 0.09 * minute)
        pulses.append(round(person.resting_bpm + reserve * effort * warm + 4 * bell(seed, "bpm", minute)))
    cadence = tuple(
        max(0, round(sport.steps_a_minute * (1 + 0.06 * bell(seed, "cadence", minute)))) for minute in range(minutes)
    )
    pace = sport.metres_a_second * between(0.9, 1.1, draw(seed, "pace"))
    starts_at = midnight_at + start_minutes * SECONDS_A_MINUTE
    return Workout(
        starts_at=starts_at,
        ends_at=starts_at + minutes * SECONDS_A_MINUTE,
        sport=name,
        bpm=tuple(pulses),
        steps=cadence,
        distance_metre=round(pace * minutes * SECONDS_A_MINUTE, 1),
        active_kilocalories=round((sport.met - 1.5) * person.weight_kilogram * minutes / 60, 1),
        intensity="easy" if effort < 0.4 else "moderate" if effort < 0.62 else "hard",
    )
