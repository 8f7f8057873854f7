"""Dietary records gathered into meals: what one source wrote down for one moment is one meal.

A nutrient record stands by itself, and once more inside the Food correlation it may be part of. A meal's totals are
the sums of the records that stand by themselves, so nothing counts twice; a correlation names a food and says which
share was its. Where a meal's records stand in correlations only, its foods make the totals. Water and caffeine alone
are no meal: they are timeseries.
"""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field

from aggregation.apple_health.elements import Attributes
from aggregation.apple_health.identity import external_id
from aggregation.apple_health.instants import Instant
from aggregation.apple_health.nutrients import NUTRIENTS, PATHS, Nutrient
from aggregation.apple_health.record import Record, quantity_of
from aggregation.apple_health.tally import RefusalReason
from aggregation.records import DataSource, SummaryRecord
from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.typing import JSONObject, JSONValue

RESOURCE = "meal"
FOOD_CORRELATION = "HKCorrelationTypeIdentifierFood"
_FOOD_NAME = "HKFoodType"
_UNNAMED = "Meal"
_NAME_MAXIMUM_CHARACTERS = 100
#: Foods of one moment; more are counted in the totals and not named.
_FOODS_MAXIMUM = 50


@dataclass(slots=True)
class _Amounts:
    """Nutrients by index, as two short arrays: most foods have a handful of the forty."""

    indexes: "array[int]" = field(default_factory=lambda: array("b"))
    values: "array[float]" = field(default_factory=lambda: array("d"))

    def add(self, index: int, value: float) -> None:
        try:
            self.values[self.indexes.index(index)] += value
        except ValueError:
            self.indexes.append(index)
            self.values.append(value)

    def add_all(self, others: "_Amounts") -> None:
        for index, value in zip(others.indexes, others.values, strict=True):
            self.add(index, value)

    def as_json(self) -> JSONObject:
        """Energy, macros and micros as the API nests them."""
        shown: JSONObject = {}
        for index, value in zip(self.indexes, self.values, strict=True):
            _set(shown, PATHS[index], value)
        if "energy" in shown:
            _set(shown, ("energy", "unit"), "kcal")
        return shown


def _set(shown: JSONObject, path: tuple[str, ...], value: JSONValue) -> None:
    """Put a value into nested objects, made where they are not there yet."""
    group, *below = path
    if not below:
        shown[group] = value
        return
    inner = shown.setdefault(group, {})
    if isinstance(inner, dict):
        _set(inner, tuple(below), value)


@dataclass(slots=True)
class _Meal:
    offset_seconds: int
    totals: _Amounts = field(default_factory=_Amounts)
    foods: dict[str, _Amounts] = field(default_factory=dict)


class MealBuffer:
    """Holds meals until the export ends, no more than `max_meals`."""

    def __init__(self, max_meals: int) -> None:
        self._max_meals = max_meals
        self._meals: dict[tuple[DataSource, int], _Meal] = {}

    def add(self, nutrient: Nutrient, record: Record, amount: float) -> bool:
        """Keep an amount of one nutrient, in its own unit; False where there is no room."""
        meal = self._meal(record)
        if meal is None:
            return False
        meal.totals.add(nutrient.index, amount)
        return True

    def add_food(self, record: Record) -> bool:
        """Keep a Food correlation, False where there is no room; what can't be read of it is named where its records
        stand by themselves."""
        amounts = _Amounts()
        for name, child in record.children:
            if name == "Record":
                _add_nested(amounts, child)
        if not amounts.indexes:
            return True
        meal = self._meal(record)
        if meal is None:
            return False
        food = " ".join((record.metadata(_FOOD_NAME) or _UNNAMED).split())[:_NAME_MAXIMUM_CHARACTERS] or _UNNAMED
        if food in meal.foods:
            meal.foods[food].add_all(amounts)
        elif len(meal.foods) < _FOODS_MAXIMUM:
            meal.foods[food] = amounts
        return True

    def _meal(self, record: Record) -> _Meal | None:
        key = (record.source, record.start.utc_us)
        meal = self._meals.get(key)
        if meal is None and len(self._meals) < self._max_meals:
            meal = self._meals[key] = _Meal(record.start.offset_seconds)
        return meal

    def items(self) -> Iterator[SummaryRecord]:
        """Every meal, in the order in which they were first met. Empties the buffer."""
        while self._meals:
            key = next(iter(self._meals))
            yield _summary(*key, self._meals.pop(key))


def _add_nested(amounts: _Amounts, attributes: Attributes) -> None:
    nutrient = NUTRIENTS.get(attributes.get("type", ""))
    if nutrient is not None:
        measure = nutrient.measure
        amount = quantity_of(attributes, measure.accepted, measure.lowest, measure.highest)
        if not isinstance(amount, RefusalReason):
            amounts.add(nutrient.index, amount)


def _summary(source: DataSource, start_us: int, meal: _Meal) -> SummaryRecord:
    at = Instant(start_us, meal.offset_seconds)
    if not meal.totals.indexes:
        for food in meal.foods.values():
            meal.totals.add_all(food)
    foods: dict[str, JSONValue] = {name: amounts.as_json() for name, amounts in meal.foods.items()}
    fields: dict[str, JSONValue] = {
        "timestamp": utc_text(at.as_datetime()),
        "name": ", ".join(name for name in meal.foods if name != _UNNAMED)[: 2 * _NAME_MAXIMUM_CHARACTERS] or _UNNAMED,
        **meal.totals.as_json(),
        "data": foods,
    }
    return SummaryRecord(
        resource=RESOURCE,
        source=source,
        external_id=external_id(RESOURCE, source, start_us),
        calendar_date=at.local_on(),
        starts_at=at.as_datetime(),
        ends_at=at.as_datetime(),
        timezone_offset_seconds=meal.offset_seconds,
        fields=fields,
    )
