"""What takes a record of a kind in: quantities and categories as samples, quantities that only summaries hold."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from aggregation.apple_health.categories import CategoryRule
from aggregation.apple_health.instants import MICROSECONDS
from aggregation.apple_health.quantities import Measure, QuantityRule, parse_number
from aggregation.apple_health.record import Record, Taker, quantity_of
from aggregation.apple_health.series import NO_FIELDS, SeriesBuffer
from aggregation.apple_health.tally import RefusalReason
from aggregation.catalogue import SeriesSpec

#: Keeps a record's value for a summary; False where there is no room for it.
Keep: TypeAlias = Callable[[Record, float], bool]
#: What is done with the value of a record that is a sample already: a body weight is part of its day's summary, too.
Beside: TypeAlias = Callable[[Record, float], None]
#: The type and the fields of a sample.
_Described: TypeAlias = tuple[str | None, Mapping[str, str | float | None]]

#: HKBodyTemperatureSensorLocation from 1 on; 0 is "other".
_LOCATIONS = (
    "armpit", "body", "ear", "finger", "gastrointestinal", "mouth", "rectum", "toe", "eardrum", "temporal_artery",
    "forehead",
)  # fmt: skip
_INSULIN = "insulin_injection"
#: HKInsulinDeliveryReason.
_DELIVERY_MODES = {
    "1": "basal",
    "HKInsulinDeliveryReasonBasal": "basal",
    "2": "bolus",
    "HKInsulinDeliveryReasonBolus": "bolus",
}


def quantity_taker(rule: QuantityRule, spec: SeriesSpec, series: SeriesBuffer, beside: Beside | None) -> Taker:
    """Takes records of a quantity as samples of `spec`, in its plausible range; `beside` has no say in that."""
    lowest, highest, describe = spec.lowest, spec.highest, _describer(rule, spec)

    def take(record: Record) -> RefusalReason | None:
        value = quantity_of(record.attributes, rule.accepted, lowest, highest)
        if isinstance(value, RefusalReason):
            return value
        label, fields = describe(record)
        series.add(spec, record.source, record.start, record.end, value, label, fields)
        if beside is not None:
            beside(record, value)
        return None

    return take


def _describer(rule: QuantityRule, spec: SeriesSpec) -> Callable[[Record], _Described]:
    """What gives a record's sample its type and its fields."""
    plain = (rule.label, NO_FIELDS)

    def as_temperature(record: Record) -> _Described:
        location = rule.sensor_location or _location(record)
        return (rule.label, {"sensor_location": location}) if location else plain

    if spec.slug == _INSULIN:
        return _as_insulin
    has_location = any(field.name == "sensor_location" for field in spec.fields)
    return as_temperature if has_location else lambda _record: plain


def _as_insulin(record: Record) -> _Described:
    mode = _DELIVERY_MODES.get(record.metadata("HKInsulinDeliveryReason") or "")
    # HealthKit does not name the insulin. A pump holds rapid-acting insulin only; by hand a basal dose is a long-acting
    # one.
    is_long = mode == "basal" and record.source.type != "insulin_pump"
    return "long_acting" if is_long else "rapid_acting", {"delivery_mode": mode} if mode else NO_FIELDS


def measure_taker(measure: Measure, keep: Keep) -> Taker:
    """Takes records of a quantity that is no timeseries."""

    def take(record: Record) -> RefusalReason | None:
        value = quantity_of(record.attributes, measure.accepted, measure.lowest, measure.highest)
        if isinstance(value, RefusalReason):
            return value
        return None if keep(record, value) else RefusalReason.TOO_MANY

    return take


def category_taker(rule: CategoryRule, spec: SeriesSpec, series: SeriesBuffer) -> Taker:
    """Takes records of a category as samples of `spec`."""

    def take(record: Record) -> RefusalReason | None:
        label, value = rule.label, 1.0
        if rule.is_duration:
            value = (record.end.utc_us - record.start.utc_us) / (60 * MICROSECONDS)
        elif rule.by_value:
            found = rule.by_value.get(record.attributes.get("value", ""))
            if found is None:
                return RefusalReason.BAD_VALUE
            label, value = found
        if not spec.lowest <= value <= spec.highest:
            return RefusalReason.OUT_OF_RANGE
        series.add(spec, record.source, record.start, record.end, value, label)
        return None

    return take


def _location(record: Record) -> str | None:
    number = parse_number(record.metadata("HKBodyTemperatureSensorLocation"))
    index = int(number) - 1 if number is not None else -1
    return _LOCATIONS[index] if 0 <= index < len(_LOCATIONS) else None
