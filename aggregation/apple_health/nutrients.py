"""HealthKit's dietary quantities and the meal's fields they are: a table, one row a nutrient, in the API's units.

Minerals are in milligrams; of trace elements copper and manganese too, the others in micrograms; of vitamins biotin,
B12, D, K and folic acid in micrograms, the others in milligrams.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from aggregation.apple_health import unit_texts as texts
from aggregation.apple_health.quantities import PREFIX, Measure


@dataclass(frozen=True, slots=True)
class Nutrient:
    """One dietary quantity: its place in a meal's arrays, its path in the meal, its units and largest amount."""

    index: int
    path: tuple[str, ...]
    measure: Measure


_GRAMS: Final = Measure(texts.MASS_GRAMS, 0.0, 10_000.0)
_MILLIGRAMS: Final = Measure(texts.MASS_MILLIGRAMS, 0.0, 1_000_000.0)
_MICROGRAMS: Final = Measure(texts.MASS_MICROGRAMS, 0.0, 100_000_000.0)

_ROWS: Final[tuple[tuple[str, tuple[str, ...], Measure], ...]] = (
    ("EnergyConsumed", ("energy", "value"), Measure(texts.ENERGY_KILOCALORIES, 0.0, 50_000.0)),
    ("Carbohydrates", ("macros", "carbs"), _GRAMS),
    ("Protein", ("macros", "protein"), _GRAMS),
    ("Fiber", ("macros", "fibre"), _GRAMS),
    ("Sugar", ("macros", "sugar"), _GRAMS),
    ("Cholesterol", ("macros", "cholesterol"), _GRAMS),
    ("FatTotal", ("macros", "fats", "total"), _GRAMS),
    ("FatSaturated", ("macros", "fats", "saturated"), _GRAMS),
    ("FatMonounsaturated", ("macros", "fats", "monounsaturated"), _GRAMS),
    ("FatPolyunsaturated", ("macros", "fats", "polyunsaturated"), _GRAMS),
    ("Sodium", ("micros", "minerals", "sodium"), _MILLIGRAMS),
    ("Potassium", ("micros", "minerals", "potassium"), _MILLIGRAMS),
    ("Calcium", ("micros", "minerals", "calcium"), _MILLIGRAMS),
    ("Phosphorus", ("micros", "minerals", "phosphorus"), _MILLIGRAMS),
    ("Magnesium", ("micros", "minerals", "magnesium"), _MILLIGRAMS),
    ("Iron", ("micros", "minerals", "iron"), _MILLIGRAMS),
    ("Zinc", ("micros", "minerals", "zinc"), _MILLIGRAMS),
    ("Chloride", ("micros", "minerals", "chloride"), _MILLIGRAMS),
    ("Chromium", ("micros", "trace_elements", "chromium"), _MICROGRAMS),
    ("Copper", ("micros", "trace_elements", "copper"), _MILLIGRAMS),
    ("Iodine", ("micros", "trace_elements", "iodine"), _MICROGRAMS),
    ("Manganese", ("micros", "trace_elements", "manganese"), _MILLIGRAMS),
    ("Molybdenum", ("micros", "trace_elements", "molybdenum"), _MICROGRAMS),
    ("Selenium", ("micros", "trace_elements", "selenium"), _MICROGRAMS),
    ("VitaminA", ("micros", "vitamins", "vitamin_a"), _MILLIGRAMS),
    ("Thiamin", ("micros", "vitamins", "vitamin_b1"), _MILLIGRAMS),
    ("Riboflavin", ("micros", "vitamins", "riboflavin"), _MILLIGRAMS),
    ("Niacin", ("micros", "vitamins", "niacin"), _MILLIGRAMS),
    ("PantothenicAcid", ("micros", "vitamins", "pantothenic_acid"), _MILLIGRAMS),
    ("VitaminB6", ("micros", "vitamins", "vitamin_b6"), _MILLIGRAMS),
    ("Biotin", ("micros", "vitamins", "biotin"), _MICROGRAMS),
    ("VitaminB12", ("micros", "vitamins", "vitamin_b12"), _MICROGRAMS),
    ("VitaminC", ("micros", "vitamins", "vitamin_c"), _MILLIGRAMS),
    ("VitaminD", ("micros", "vitamins", "vitamin_d"), _MICROGRAMS),
    ("VitaminE", ("micros", "vitamins", "vitamin_e"), _MILLIGRAMS),
    ("VitaminK", ("micros", "vitamins", "vitamin_k"), _MICROGRAMS),
    ("Folate", ("micros", "vitamins", "folic_acid"), _MICROGRAMS),
)
NUTRIENTS: Final[Mapping[str, Nutrient]] = MappingProxyType(
    {f"{PREFIX}Dietary{name}": Nutrient(index, path, measure) for index, (name, path, measure) in enumerate(_ROWS)}
)
PATHS: Final = tuple(path for _, path, _ in _ROWS)
