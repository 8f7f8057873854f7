"""Body measurements gathered into the body summary of each day and source: the day's latest value of each."""

from collections.abc import Iterator, Mapping
from datetime import date
from types import MappingProxyType
from typing import Final

from aggregation.apple_health.identity import external_id
from aggregation.apple_health.quantities import PREFIX
from aggregation.apple_health.record import Record
from aggregation.apple_health.tally import RefusalReason
from aggregation.records import DataSource, SummaryRecord

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


class BodyBuffer:
    """Holds days until the export ends, no more than `max_days`."""

    def __init__(self, max_days: int) -> None:
        self._max_days = max_days
        self._days: dict[tuple[DataSource, date], dict[str, tuple[int, float]]] = {}

    def add(self, field_name: str, record: Record, value: float) -> RefusalReason | None:
        """Keep a value where it is its day's latest; a day too many has its timeseries all the same."""
        key = (record.source, record.start.local_on())
        if key not in self._days and len(self._days) >= self._max_days:
            return None
        held = self._days.setdefault(key, {})
        if field_name not in held or held[field_name][0] <= record.start.utc_us:
            held[field_name] = (record.start.utc_us, value)
        return None

    def items(self) -> Iterator[SummaryRecord]:
        """Every day, in the order in which they were first met. Empties the buffer."""
        while self._days:
            source, on = key = next(iter(self._days))
            values = self._days.pop(key)
            yield SummaryRecord(
                resource="body",
                source=source,
                external_id=external_id("body", source, on.isoformat()),
                calendar_date=on,
                starts_at=None,
                ends_at=None,
                timezone_offset_seconds=None,
                fields={name: value for name, (_, value) in sorted(values.items())},
            )
