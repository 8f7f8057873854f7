"""What a simulated person eats: three meals a day, of which glucose, insulin and the diary all tell."""

from dataclasses import dataclass
from typing import Final

from simulator.day import Day
from simulator.draws import between, draw
from simulator.person import Person

_HOUR_SECONDS: Final = 3600
#: Name, hours after local midnight, and the share of the day's energy.
_MEALS: Final = (("Breakfast", 8.0, 0.25), ("Lunch", 12.75, 0.35), ("Dinner", 19.0, 0.40))


@dataclass(frozen=True, slots=True)
class Meal:
    """One meal. `at` is epoch seconds."""

    name: str
    at: int
    energy_kilocalorie: float
    carbohydrate_gram: float
    protein_gram: float
    fat_gram: float
    fibre_gram: float


def meals_of(person: Person, day: Day) -> tuple[Meal, ...]:
    """The meals of a day. Energy is what carbohydrate, protein and fat come to (4, 4 and 9 kcal a gram)."""
    found = []
    daily = person.basal_kilocalories(day.on) * 1.35
    for number, (name, hours, share) in enumerate(_MEALS):
        seed = f"{person.seed}|meal|{day.on.isoformat()}"
        wanted = daily * share * between(0.8, 1.2, draw(seed, "size", number))
        carbohydrate = round(wanted * between(0.42, 0.54, draw(seed, "carbohydrate", number)) / 4, 1)
        protein = round(wanted * between(0.15, 0.22, draw(seed, "protein", number)) / 4, 1)
        fat = round((wanted - 4 * (carbohydrate + protein)) / 9, 1)
        found.append(
            Meal(
                name=name,
                at=day.starts_at + round(hours * _HOUR_SECONDS) + 300 * int(6 * draw(seed, "late", number)),
                energy_kilocalorie=round(4 * (carbohydrate + protein) + 9 * fat, 1),
                carbohydrate_gram=carbohydrate,
                protein_gram=protein,
                fat_gram=fat,
                fibre_gram=round(carbohydrate * 0.1, 1),
            )
        )
    return tuple(found)
