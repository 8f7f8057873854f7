"""One element of the export with what every kind needs of it: when it was, from whom, and its metadata."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from aggregation.apple_health.elements import Attributes, Child
from aggregation.apple_health.instants import EARLIEST_US, LATEST_US, Instant, parse_instant, zone_named
from aggregation.apple_health.quantities import parse_number
from aggregation.apple_health.sources import Device, data_source
from aggregation.apple_health.tally import RefusalReason
from aggregation.apple_health.unit_texts import Accepted, converter
from aggregation.records import DataSource

METADATA = "MetadataEntry"


@dataclass(slots=True)
class Record:
    """A Record, Correlation or Workout whose times are sound. Times are in the zone it was made in, where it says."""

    source: DataSource
    device: Device | None
    start: Instant
    end: Instant
    attributes: Attributes
    children: list[Child]

    def metadata(self, key: str) -> str | None:
        """The value of the metadata entry `key`."""
        return next(
            (child.get("value") for name, child in self.children if name == METADATA and child.get("key") == key), None
        )


#: Takes a record in, or says why not.
Taker: TypeAlias = Callable[[Record], RefusalReason | None]


def record_of(attributes: Attributes, children: list[Child]) -> Record | RefusalReason:
    """The element with its times and source, or what is wrong with its times."""
    span = _span(attributes, children)
    if isinstance(span, RefusalReason):
        return span
    source, device = data_source(attributes.get("sourceName"), attributes.get("device"))
    return Record(source, device, span[0], span[1], attributes, children)


def quantity_of(
    attributes: Mapping[str, str], accepted: Accepted, lowest: float, highest: float
) -> float | RefusalReason:
    """The value in the unit of `accepted`, or what is wrong with it."""
    convert = converter(accepted, attributes.get("unit"))
    if convert is None:
        return RefusalReason.UNKNOWN_UNIT
    number = parse_number(attributes.get("value"))
    if number is None:
        return RefusalReason.BAD_VALUE
    value = convert(number)
    return value if lowest <= value <= highest else RefusalReason.OUT_OF_RANGE


def _span(attributes: Attributes, children: list[Child]) -> tuple[Instant, Instant] | RefusalReason:
    """Start and end of an element, or what is wrong with them.

    An export writes every date with the offset the exporting phone had at that moment. Where the record says in
    which zone it was made (`HKTimeZone`), that zone gives the offset, for a person's day follows their travels.
    """
    start_text, end_text = attributes.get("startDate"), attributes.get("endDate")
    start = parse_instant(start_text)
    end = start if end_text == start_text else parse_instant(end_text)
    if start is None or end is None:
        return RefusalReason.BAD_DATE
    if not EARLIEST_US <= start.utc_us < LATEST_US or not EARLIEST_US <= end.utc_us < LATEST_US:
        return RefusalReason.OUT_OF_RANGE
    if end.utc_us < start.utc_us:
        return RefusalReason.END_BEFORE_START
    for name, child in children:
        if name == METADATA and child.get("key") == "HKTimeZone":
            zone = zone_named(child.get("value", ""))
            return start.in_zone(zone), end.in_zone(zone)
    return start, end
