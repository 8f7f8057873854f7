"""The simulated person: who a seed is, for ever."""

from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from simulator.draws import between, draw, identifier

#: No data are older: the day everybody's device arrived.
WORN_SINCE = date(2024, 1, 1)

_ZONES = ("America/New_York", "America/Los_Angeles", "Europe/London", "Europe/Berlin", "Europe/Helsinki")
_SPORTS = ("running", "cycling", "walking", "strength", "yoga", "swimming")


@dataclass(frozen=True, slots=True)
class Person:
    """Traits that hold on every day. `step_factor` and the rates scale the day's chance events."""

    seed: str
    user_id: int
    sex: str
    birth_year: int
    height_metre: float
    weight_kilogram: float
    fat_fraction: float
    resting_bpm: int
    zone: str
    step_factor: float
    workout_share: float
    sports: tuple[str, str]
    bedtime_minute: int
    time_in_bed_minutes: int
    rmssd_ms: float

    def age_years(self, on: date) -> int:
        return on.year - self.birth_year

    def maximum_bpm(self, on: date) -> float:
        """Tanaka's estimate from age."""
        return 208 - 0.7 * self.age_years(on)

    def basal_kilocalories(self, on: date) -> float:
        """A day's basal metabolism after Mifflin and St Jeor."""
        base = 10 * self.weight_kilogram + 625 * self.height_metre - 5 * self.age_years(on)
        return base + (5 if self.sex == "male" else -161)


def user_id_of(seed: str) -> int:
    """The vendor's own number for the person, as Withings names its users."""
    return identifier(seed, "user") % 90_000_000 + 10_000_000


@lru_cache(maxsize=256)
def person_of(seed: str) -> Person:
    """The person behind a seed."""
    sex = "female" if draw(seed, "sex") < 0.5 else "male"
    height = between(1.55, 1.78, draw(seed, "height")) + (0.09 if sex == "male" else 0)
    first = _SPORTS[int(draw(seed, "sport", 1) * len(_SPORTS))]
    others = [sport for sport in _SPORTS if sport != first]
    return Person(
        seed=seed,
        user_id=user_id_of(seed),
        sex=sex,
        birth_year=int(between(1960, 2001, draw(seed, "birth"))),
        height_metre=round(height, 2),
        weight_kilogram=round(between(20.5, 29.0, draw(seed, "bmi")) * height**2, 1),
        fat_fraction=round(between(0.15, 0.27, draw(seed, "fat")) + (0.07 if sex == "female" else 0), 3),
        resting_bpm=int(between(48, 66, draw(seed, "resting"))),
        zone=_ZONES[int(draw(seed, "zone") * len(_ZONES))],
        step_factor=between(0.7, 1.5, draw(seed, "steps")),
        workout_share=between(0.25, 0.65, draw(seed, "workouts")),
        sports=(first, others[int(draw(seed, "sport", 2) * len(others))]),
        bedtime_minute=int(between(-95, 10, draw(seed, "bedtime"))),
        time_in_bed_minutes=int(between(420, 510, draw(seed, "in_bed"))),
        rmssd_ms=between(28, 75, draw(seed, "rmssd")),
    )
