"""A simulated person's glucose at any instant, the same curve whoever measures it."""

from math import exp
from typing import Final

from simulator.day import Day
from simulator.draws import bell, between, draw
from simulator.meals import meals_of
from simulator.person import Person

_QUARTER_HOUR_SECONDS: Final = 900
#: The top of the wave after a meal comes so long after it.
_TOP_SECONDS: Final = 3000
_DAWN_SECONDS: Final = 5400


def glucose_at(person: Person, day: Day, at: int) -> float:
    """mg/dL: a base of one's own, dawn, a wave after each meal, and unrest between the quarters of an hour."""
    base = between(84, 98, draw(person.seed, "glucose"))
    waves = sum(_wave(at - meal.at, meal.carbohydrate_gram) for meal in meals_of(person, day))
    dawn = 6 * exp(-(((at - day.night.ends_at) / _DAWN_SECONDS) ** 2))
    quarter, within = divmod(at, _QUARTER_HOUR_SECONDS)
    unrest = between(
        bell(person.seed, "glucose", quarter), bell(person.seed, "glucose", quarter + 1), within / _QUARTER_HOUR_SECONDS
    )
    return base + dawn + waves + 3 * unrest


def _wave(seconds: float, carbohydrate_gram: float) -> float:
    """mg/dL above the base."""
    if seconds <= 0:
        return 0.0
    share = seconds / _TOP_SECONDS
    return 0.85 * carbohydrate_gram * share * exp(1 - share)
