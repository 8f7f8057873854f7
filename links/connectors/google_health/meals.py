"""Google Health's nutrition log as meals: what was eaten, and what was in it.

Shapes: the reference of Google's Health API v4. Read, not exercised against a live account. Each food that was logged
is a meal of its own: the log has no name for what was eaten together.
"""

from collections.abc import Mapping
from datetime import UTC
from typing import Final

from aggregation.records import SummaryRecord
from healthsvc.kernel.typing import JSONValue
from links.connectors.google_health.points import (
    identity_of,
    interval_moments,
    member,
    optional_member,
    source_of,
)
from links.connectors.payload import document, number, optional_number, optional_text, refusing, text, utc_text

#: Nutrient → macro of the API, grams.
_MACROS: Final[Mapping[str, str]] = {
    "PROTEIN": "protein",
    "DIETARY_FIBER": "fibre",
    "SUGAR": "sugar",
    "CHOLESTEROL": "cholesterol",
}
_FATS: Final[Mapping[str, str]] = {
    "SATURATED_FAT": "saturated",
    "MONOUNSATURATED_FAT": "monounsaturated",
    "POLYUNSATURATED_FAT": "polyunsaturated",
}
#: Nutrient → the API's group and name, and whether it counts it in micrograms.
_MICROS: Final[Mapping[str, tuple[str, str, bool]]] = {
    "CALCIUM": ("minerals", "calcium", False),
    "CHLORIDE": ("minerals", "chloride", False),
    "IRON": ("minerals", "iron", False),
    "MAGNESIUM": ("minerals", "magnesium", False),
    "PHOSPHORUS": ("minerals", "phosphorus", False),
    "POTASSIUM": ("minerals", "potassium", False),
    "SODIUM": ("minerals", "sodium", False),
    "ZINC": ("minerals", "zinc", False),
    "CHROMIUM": ("trace_elements", "chromium", True),
    "COPPER": ("trace_elements", "copper", False),
    "IODINE": ("trace_elements", "iodine", True),
    "MANGANESE": ("trace_elements", "manganese", False),
    "MOLYBDENUM": ("trace_elements", "molybdenum", True),
    "SELENIUM": ("trace_elements", "selenium", True),
    "BIOTIN": ("vitamins", "biotin", True),
    "FOLIC_ACID": ("vitamins", "folic_acid", True),
    "NIACIN": ("vitamins", "niacin", False),
    "PANTOTHENIC_ACID": ("vitamins", "pantothenic_acid", False),
    "RIBOFLAVIN": ("vitamins", "riboflavin", False),
    "THIAMIN": ("vitamins", "vitamin_b1", False),
    "VITAMIN_A": ("vitamins", "vitamin_a", False),
    "VITAMIN_B12": ("vitamins", "vitamin_b12", True),
    "VITAMIN_B6": ("vitamins", "vitamin_b6", False),
    "VITAMIN_C": ("vitamins", "vitamin_c", False),
    "VITAMIN_D": ("vitamins", "vitamin_d", True),
    "VITAMIN_E": ("vitamins", "vitamin_e", False),
    "VITAMIN_K": ("vitamins", "vitamin_k", True),
}


def milligrams_from_grams(grams: float) -> float:
    """Gram = 1000 mg, exact (SI prefix)."""
    return grams * 1000.0


def micrograms_from_grams(grams: float) -> float:
    """Gram = 1 000 000 µg, exact (SI prefix)."""
    return grams * 1_000_000.0


@refusing("nutrition-log")
def meal_from_point(payload: JSONValue) -> SummaryRecord:
    """One food of the log, under the day on which it was eaten."""
    point = document(payload)
    value = member(point, "nutritionLog")
    start, _ = interval_moments(value)
    nutrients = _nutrients(value)
    macros: dict[str, JSONValue] = {name: nutrients[word] for word, name in _MACROS.items() if word in nutrients}
    fats: dict[str, JSONValue] = {name: nutrients[word] for word, name in _FATS.items() if word in nutrients}
    carbohydrate = _grams(value, "totalCarbohydrate", nutrients.get("CARBOHYDRATES"))
    if carbohydrate is not None:
        macros["carbs"] = carbohydrate
    fat = _grams(value, "totalFat", None)
    if fat is not None:
        fats["total"] = fat
    energy = optional_number(optional_member(value, "energy"), "kcal")
    return SummaryRecord(
        resource="meal",
        source=source_of(point),
        external_id=identity_of(point, start.at),
        calendar_date=start.day,
        starts_at=start.at.astimezone(UTC),
        ends_at=None,
        timezone_offset_seconds=start.known_offset_seconds,
        fields={
            "timestamp": utc_text(start.at),
            "name": optional_text(value, "foodDisplayName") or _named_by_meal(value),
            "energy": None if energy is None else {"unit": "kcal", "value": energy},
            "macros": {**macros, "fats": fats} if macros or fats else None,
            "micros": _micros(nutrients),
        },
        raw=point,
    )


def _nutrients(value: Mapping[str, JSONValue]) -> dict[str, float]:
    """Grams of each nutrient."""
    listed = value.get("nutrients")
    found: dict[str, float] = {}
    for payload in listed if isinstance(listed, list) else []:
        nutrient = document(payload)
        found[text(nutrient, "nutrient")] = number(member(nutrient, "quantity"), "grams")
    return found


def _grams(value: Mapping[str, JSONValue], name: str, otherwise: float | None) -> float | None:
    given = optional_number(optional_member(value, name), "grams")
    return otherwise if given is None else given


def _micros(nutrients: Mapping[str, float]) -> dict[str, JSONValue] | None:
    groups: dict[str, dict[str, JSONValue]] = {}
    for word, (group, name, in_micrograms) in _MICROS.items():
        grams = nutrients.get(word)
        if grams is not None:
            amount = micrograms_from_grams(grams) if in_micrograms else milligrams_from_grams(grams)
            groups.setdefault(group, {})[name] = amount
    return dict(groups) or None


def _named_by_meal(value: Mapping[str, JSONValue]) -> str:
    """What a food without a name is called: `Before lunch`, or `Meal`."""
    written = value.get("mealType")
    known = isinstance(written, str) and written not in ("", "MEAL_TYPE_UNSPECIFIED", "ANYTIME")
    return str(written).replace("_", " ").capitalize() if known else "Meal"
