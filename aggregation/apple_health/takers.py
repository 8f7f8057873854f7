"""What takes a record of a kind in: quantities and categories as samples, quantities that only summaries hold."""

from collections.abc import Callable
from typing import TypeAlias

from aggregation.apple_health.categories import CategoryRule
from aggregation.apple_health.instants import MICROSECONDS
from aggregation.apple_health.quantities import Measure, QuantityRule, parse_number
from aggregation.apple_health.record import Record, Taker, quantity_of
from aggregation.apple_health.series import NO_FIELDS, SeriesBuffer
from aggregation.apple_health.tally import RefusalReason
from aggregation.catalogue import SeriesSpec

#: What else is done with a record's value: a body weight is a sample, and part of its day's summary.
Follow: TypeAlias = Callable[[Record, float], RefusalReason | None]

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


def quantity_taker(rule: QuantityRule, spec: SeriesSpec, series: SeriesBuffer, follow: Follow | None) -> Taker:
    """Takes records of a quantity as samples of `spec`, in its plausible range."""
    lowest, highest, label = spec.lowest, spec.highest, rule.label

    def take(record: Record) -> RefusalReason | None:
        value = quantity_of(record.attributes, rule.accepted, lowest, highest)
        if isinstance(value, RefusalReason):
            return value
        series.add(spec, record.source, record.start, record.end, value, label)
        return follow(record, value) if follow is not None else None

    def take_temperature(record: Record) -> RefusalReason | None:
        value = quantity_of(record.attributes, rule.accepted, lowest, highest)
        if isinstance(value, RefusalReason):
            return value
        location = rule.sensor_location or _location(record)
        fields = {"sensor_location": location} if location else NO_FIELDS
        series.add(spec, record.source, record.start, record.end, value, label, fields)
        return None

    def take_insulin(record: Record) -> RefusalReason | None:
        value = quantity_of(record.attributes, rule.accepted, lowest, highest)
        if isinstance(value, RefusalReason):
            return value
        mode = _DELIVERY_MODES.get(record.metadata("HKInsulinDeliveryReason") or "")
        # HealthKit does not name the insulin. A pump holds rapid-acting insulin only; by hand a basal dose is a
        # long-acting one.
        is_long = mode == "basal" and record.source.type != "insulin_pump"
        kind = "long_acting" if is_long else "rapid_acting"
        fields = {"delivery_mode": mode} if mode else NO_FIELDS
        series.add(spec, record.source, record.start, record.end, value, kind, fields)
        return None

    if spec.slug == _INSULIN:
        return take_insulin
    return take_temperature if any(one.name == "sensor_location" for one in spec.fields) else take


def measure_taker(measure: Measure, follow: Follow) -> Taker:
    """Takes records of a quantity that is no timeseries."""

    def take(record: Record) -> RefusalReason | None:
        value = quantity_of(record.attributes, measure.accepted, measure.lowest, measure.highest)
        return value if isinstance(value, RefusalReason) else follow(record, value)

    return take


def both(first: Taker, second: Taker) -> Taker:
    """Takes a record twice, as a nutrient is a sample and part of a meal; the first one's refusal counts."""

    def take(record: Record) -> RefusalReason | None:
        return first(record) or second(record)

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
