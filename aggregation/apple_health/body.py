"""Body measurements gathered into the body summary of each day and source: the day's latest value of each."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from types import MappingProxyType
from typing import Final

from aggregation.apple_health.identity import external_id
from aggregation.apple_health.quantities import PREFIX
from aggregation.apple_health.raw import RawShelf, raw_of
from aggregation.apple_health.record import Record
from aggregation.records import DataSource, SummaryRecord

RESOURCE: Final = "body"
#: HealthKit's quantity to the summary's field. The values are timeseries as well.
BODY_FIELDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        PREFIX + "BodyMass": "weight",
        PREFIX + "BodyFatPercentage": "fat",
        PREFIX + "BodyMassIndex": "body_mass_index",
        PREFIX + "LeanBodyMass": "lean_body_mass_kilogram",
        PREFIX + "WaistCircumference": "waist_circumference_centimeter",
    }
)


@dataclass(slots=True)
class _Day:
    #: By field: when the latest was taken, and its value.
    values: dict[str, tuple[int, float]] = field(default_factory=dict)
    #: Their records, by type.
    raws: dict[str, bytes] = field(default_factory=dict)


class BodyBuffer:
    """Holds days until the export ends, no more than `max_days`."""

    def __init__(self, max_days: int, max_raw_bytes: int) -> None:
        self._max_days = max_days
        self._raws = RawShelf(max_raw_bytes)
        self._days: dict[tuple[DataSource, date], _Day] = {}

    def add(self, field_name: str, record: Record, value: float) -> bool:
        """Keep a value where it is its day's latest; False where there is no room for one more day."""
        key = (record.source, record.start.local_on())
        if key not in self._days and len(self._days) >= self._max_days:
            return False
        day = self._days.setdefault(key, _Day())
        if field_name not in day.values or day.values[field_name][0] <= record.start.utc_us:
            day.values[field_name] = (record.start.utc_us, value)
            self._raws.put(day.raws, record.attributes["type"], record.attributes, record.children)
        return True

    def items(self) -> Iterator[SummaryRecord]:
        """Every day, in the order in which they were first met. Empties the buffer."""
        while self._days:
            source, on = key = next(iter(self._days))
            day = self._days.pop(key)
            yield SummaryRecord(
                resource=RESOURCE,
                source=source,
                external_id=external_id(RESOURCE, source, on.isoformat()),
                calendar_date=on,
                starts_at=None,
                ends_at=None,
                timezone_offset_seconds=None,
                fields={name: value for name, (_, value) in sorted(day.values.items())},
                raw=raw_of(day.raws),
            )
