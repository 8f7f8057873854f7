"""One simulated day: five-minute slots of movement and heart rate that agree with its nights and workouts.

Everything is a function of the person and the date, so a day is the same in every process and every year.
A day runs from local midnight to local midnight: 276 or 300 slots where the clocks change.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from simulator.draws import bell, between, draw
from simulator.person import Person
from simulator.sleep import SLOT_SECONDS, Sleep, nap_of, night_of
from simulator.workout import SPORTS, Workout, workout_of

#: MET from which minutes count as inactive, low, medium and high, the bounds of Oura's five classes.
INACTIVE_MET, LOW_MET, MEDIUM_MET, HIGH_MET = 1.05, 1.5, 3.0, 6.0


@dataclass(frozen=True, slots=True)
class Slot:
    """Five minutes. `bpm` is None while the device is off; `kind` is sleep, rest, awake, workout or off."""

    starts_at: int
    kind: str
    steps: int
    met: float
    bpm: int | None


@dataclass(frozen=True, slots=True)
class Day:
    """A day from local midnight to local midnight, epoch seconds; `night` is the one that ends on it."""

    on: date
    starts_at: int
    ends_at: int
    slots: tuple[Slot, ...]
    night: Sleep
    nap: Sleep | None
    workout: Workout | None

    @property
    def sleeps(self) -> tuple[Sleep, ...]:
        return (self.night, self.nap) if self.nap else (self.night,)


def instant_of(person: Person, on: date, at: time) -> int:
    """The instant at which the person's clock shows a time of a date, in epoch seconds."""
    return int(datetime.combine(on, at, ZoneInfo(person.zone)).timestamp())


def midnight(person: Person, on: date) -> int:
    """The instant of local midnight, in epoch seconds."""
    return instant_of(person, on, time())


def local(person: Person, instant: float) -> datetime:
    """An instant as the person's clock shows it, with its offset."""
    return datetime.fromtimestamp(instant, ZoneInfo(person.zone))


def active_kilocalories(person: Person, slots: Sequence[Slot]) -> float:
    """Energy above rest: MET above 1.5 times body mass times hours."""
    hours = SLOT_SECONDS / 3600
    return sum((slot.met - LOW_MET) * hours for slot in slots if slot.met > LOW_MET) * person.weight_kilogram


def walked_metres(person: Person, steps: int) -> float:
    """Distance from steps by a stride of 0.415 of body height."""
    return steps * 0.415 * person.height_metre


@lru_cache(maxsize=1024)
def day_of(person: Person, on: date) -> Day:
    """The day itself. Costs about two milliseconds the first time."""
    starts_at, ends_at = midnight(person, on), midnight(person, on + timedelta(days=1))
    night = night_of(person, on, starts_at)
    next_night = night_of(person, on + timedelta(days=1), ends_at)
    workout = workout_of(person, on, starts_at)
    nap = nap_of(person, on, starts_at)
    sleeps = (night, next_night, nap) if nap else (night, next_night)
    slots = tuple(
        _slot(person, on, index, starts_at + index * SLOT_SECONDS, sleeps, workout)
        for index in range((ends_at - starts_at) // SLOT_SECONDS)
    )
    return Day(on, starts_at, ends_at, slots, night, nap, workout)


def _slot(person: Person, on: date, index: int, at: int, sleeps: Sequence[Sleep], workout: Workout | None) -> Slot:
    for sleep in sleeps:
        if sleep.starts_at <= at < sleep.ends_at:
            return Slot(at, "sleep", 0, 0.9, sleep.bpm[(at - sleep.starts_at) // SLOT_SECONDS])
    if workout and workout.starts_at <= at < workout.ends_at:
        minute = (at - workout.starts_at) // 60
        sport = SPORTS[workout.sport]
        return Slot(at, "workout", sum(workout.steps[minute : minute + 5]), sport.met, workout.bpm[minute])
    seed = f"{person.seed}|{on.isoformat()}"
    hour = local(person, at).hour
    if hour == 20 and index % 12 < 3 and draw(seed, "charging") < 0.7:
        return Slot(at, "off", 0, 1.0, None)
    steps = _steps(person, on, seed, index, hour)
    met = round(1.02 + 0.22 * draw(seed, "still", index) + steps / 160, 2)
    bpm = person.resting_bpm + 7 + 15 * (met - 1.0) + 5 * bell(seed, "bpm", index) + (3 if 9 <= hour < 19 else 0)
    kind = "rest" if met < INACTIVE_MET else "awake"
    return Slot(at, kind, steps, met, round(min(bpm, 0.9 * person.maximum_bpm(on))))


def _steps(person: Person, on: date, seed: str, index: int, hour: int) -> int:
    """Steps of five waking minutes: often none, more on the way to work, at noon and in the evening."""
    if draw(seed, "moves", index) < 0.42:
        return 0
    busy = {7: 1.3, 8: 1.8, 12: 1.9, 13: 1.4, 17: 2.0, 18: 1.7}.get(hour, 0.9)
    mood = between(0.6, 1.45, draw(seed, "mood"))
    weekend = 0.85 if on.weekday() >= 5 else 1.0
    share = draw(seed, "pace", index) ** 2
    return min(560, round(230 * share * busy * mood * weekend * person.step_factor))
