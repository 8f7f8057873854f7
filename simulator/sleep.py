"""Simulated nights and naps: stages in cycles, heart rate and its variability, breathing, a score."""

from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from simulator.draws import bell, between, draw
from simulator.person import Person

SLOT_SECONDS = 300
CYCLE_SLOTS = 18

DEEP, LIGHT, REM, AWAKE = "1", "2", "3", "4"


@dataclass(frozen=True, slots=True)
class Sleep:
    """A time in bed, epoch seconds. `stages` has one of DEEP, LIGHT, REM, AWAKE for each five minutes."""

    starts_at: int
    ends_at: int
    stages: str
    bpm: tuple[int, ...]
    rmssd_ms: tuple[int, ...]
    breaths_per_minute: float
    temperature_delta_celsius: float
    is_nap: bool

    def seconds(self, *stages: str) -> int:
        """Time in the given stages."""
        return sum(self.stages.count(stage) for stage in stages) * SLOT_SECONDS

    @property
    def in_bed_seconds(self) -> int:
        return self.ends_at - self.starts_at

    @property
    def asleep_seconds(self) -> int:
        return self.seconds(DEEP, LIGHT, REM)

    @property
    def latency_seconds(self) -> int:
        return (len(self.stages) - len(self.stages.lstrip(AWAKE))) * SLOT_SECONDS

    @property
    def score(self) -> int:
        """0 to 100 from time asleep, efficiency, deep and REM sleep."""
        hours = min(1.0, self.asleep_seconds / (8 * 3600))
        efficiency = self.asleep_seconds / self.in_bed_seconds
        restoring = min(1.0, self.seconds(DEEP, REM) / (0.42 * self.asleep_seconds))
        return max(1, min(99, round(100 * (0.5 * hours + 0.3 * efficiency + 0.2 * restoring)) - 3))


@lru_cache(maxsize=1024)
def night_of(person: Person, on: date, midnight_at: int) -> Sleep:
    """The night that ends on a date whose local midnight is given."""
    seed = f"{person.seed}|night|{on.isoformat()}"
    weekend_minutes = 35 if on.weekday() >= 5 else 0
    start_minutes = person.bedtime_minute + weekend_minutes + round(40 * bell(seed, "start"))
    slots = (person.time_in_bed_minutes + round(55 * bell(seed, "length"))) // 5
    starts_at = midnight_at + start_minutes // 5 * SLOT_SECONDS
    return _sleep(person, on, seed, starts_at, _night_stages(seed, slots), is_nap=False)


def nap_of(person: Person, on: date, midnight_at: int) -> Sleep | None:
    """An afternoon nap, on about one day in twelve."""
    seed = f"{person.seed}|nap|{on.isoformat()}"
    if draw(seed, "happens") >= 0.08:
        return None
    start_slots = int(between(162, 182, draw(seed, "start")))
    asleep = LIGHT * int(between(4, 9, draw(seed, "length")))
    return _sleep(person, on, seed, midnight_at + start_slots * SLOT_SECONDS, AWAKE + asleep + AWAKE, is_nap=True)


def _night_stages(seed: str, slots: int) -> str:
    latency = 1 + int(4 * draw(seed, "latency") ** 2)
    stages = [AWAKE] * latency
    for index in range(slots - latency - 1):
        cycle, within = divmod(index, CYCLE_SLOTS)
        place = (within + draw(seed, "drift", cycle) * 3) / CYCLE_SLOTS
        deep_until = 0.15 + max(0.0, 0.46 - 0.13 * cycle)
        rem_from = 0.96 - min(0.42, 0.1 + 0.08 * cycle)
        if draw(seed, "stir", index) < 0.045:
            stages.append(AWAKE)
        elif 0.15 <= place < deep_until:
            stages.append(DEEP)
        else:
            stages.append(REM if place >= rem_from else LIGHT)
    return "".join([*stages, AWAKE])


def _sleep(person: Person, on: date, seed: str, starts_at: int, stages: str, *, is_nap: bool) -> Sleep:
    strain = 4 * bell(seed, "strain")
    lift = {DEEP: -1.0, LIGHT: 1.0, REM: 3.5, AWAKE: 8.0}
    calm = {DEEP: 1.18, LIGHT: 1.0, REM: 0.9, AWAKE: 0.75}
    rmssd = person.rmssd_ms * (1 - strain / 16)
    bpm, variability = [], []
    for index, stage in enumerate(stages):
        # Heart rate sinks towards the second half of the night and comes up before waking.
        sinking = 5 * (2 * index / len(stages) - 1) ** 2
        beats = person.resting_bpm - 2 + strain / 2 + lift[stage] + sinking + 1.5 * bell(seed, "bpm", index)
        bpm.append(max(38, round(beats)))
        variability.append(max(8, round(rmssd * calm[stage] * (1 + 0.15 * bell(seed, "rmssd", index)))))
    return Sleep(
        starts_at=starts_at,
        ends_at=starts_at + len(stages) * SLOT_SECONDS,
        stages=stages,
        bpm=tuple(bpm),
        rmssd_ms=tuple(variability),
        breaths_per_minute=round(between(12.5, 16.5, draw(person.seed, "breath")) + bell(seed, "breath") / 2, 3),
        temperature_delta_celsius=round(0.45 * bell(seed, "temperature"), 2),
        is_nap=is_nap,
    )
