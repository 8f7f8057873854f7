"""Meals and what was in them."""

from typing import Final

from aggregation.catalogue.kinds import FieldKind, FieldSpec, SummarySpec
from aggregation.catalogue.summaries import examples
from aggregation.catalogue.summaries.fields import instant, number, text

_GRAMS_MAXIMUM: Final = 100_000.0
_FOODS_MAXIMUM: Final = 500


def _grams(name: str, what: str) -> FieldSpec:
    return number(name, f"{what}, g.", highest=_GRAMS_MAXIMUM)


def _nutrients(name: str, meaning: str, *choices: str) -> FieldSpec:
    return FieldSpec(name, FieldKind.NUMBERS_BY_NAME, meaning, highest=1e7, choices=choices)


_ENERGY: Final = FieldSpec(
    "energy",
    FieldKind.OBJECT,
    "Energy.",
    members=(
        FieldSpec("unit", FieldKind.TEXT, "Always `kcal`.", required=True, choices=("kcal",), default="kcal"),
        number("value", "Energy, kcal.", highest=100_000.0, required=True),
    ),
)
_FATS: Final = FieldSpec(
    "fats",
    FieldKind.OBJECT,
    "Fat by kind.",
    default={},
    members=(
        _grams("saturated", "Saturated fat"),
        _grams("monounsaturated", "Monounsaturated fat"),
        _grams("polyunsaturated", "Polyunsaturated fat"),
        _grams("omega3", "Omega-3 fatty acids"),
        _grams("omega6", "Omega-6 fatty acids"),
        _grams("total", "All fat"),
    ),
)
_MACROS: Final = FieldSpec(
    "macros",
    FieldKind.OBJECT,
    "What it was made of.",
    members=(
        _grams("carbs", "Carbohydrates"),
        _grams("protein", "Protein"),
        _FATS,
        _grams("alcohol", "Alcohol"),
        _grams("water", "Water"),
        _grams("fibre", "Dietary fibre"),
        _grams("sugar", "Sugar"),
        _grams("cholesterol", "Cholesterol"),
    ),
)
_MICROS: Final = FieldSpec(
    "micros",
    FieldKind.OBJECT,
    "Minerals, trace elements and vitamins.",
    members=(
        _nutrients(
            "minerals",
            "Minerals, mg.",
            "sodium", "potassium", "calcium", "phosphorus", "magnesium", "iron", "zinc", "fluoride", "chloride",
        ),
        _nutrients(
            "trace_elements",
            "Trace elements, µg; copper and manganese, mg.",
            "chromium", "copper", "iodine", "manganese", "molybdenum", "selenium",
        ),
        _nutrients(
            "vitamins",
            "Vitamins, mg; biotin, folic acid, B12, D and K, µg.",
            "vitamin_a", "vitamin_b1", "riboflavin", "niacin", "pantothenic_acid", "vitamin_b6", "biotin",
            "vitamin_b12", "vitamin_c", "vitamin_d", "vitamin_e", "vitamin_k", "folic_acid",
        ),
    ),
)  # fmt: skip

MEAL = SummarySpec(
    slug="meal",
    path="meal",
    model="ClientFacingMeal",
    meaning="A meal.",
    definition="The API's MealInDBBase.",
    example=examples.LUNCH,
    starts_field="timestamp",
    dated=False,
    answer_key="meals",
    fields=(
        instant("timestamp", "When it was eaten, UTC."),
        text("name", "What it is called.", required=True),
        _ENERGY,
        _MACROS,
        _MICROS,
        FieldSpec(
            "data",
            FieldKind.OBJECTS_BY_NAME,
            "The foods of the meal by name.",
            members=(_ENERGY, _MACROS, _MICROS),
            maximum_items=_FOODS_MAXIMUM,
        ),
    ),
)
