"""ActivitySummary elements, and the heart rates of a day, as daily activity summaries.

The element carries energy, exercise minutes and stand hours. Only energy has a field in the API's activity; steps
and distance are not in the element and are left to the samples. Apple works the day out over all of a person's
devices and names none, so the source is `multiple_sources`. The resting and the walking heart rate, which Apple
works out once a day too, have no timeseries and are fields of the day.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date

from aggregation.apple_health.elements import Attributes
from aggregation.apple_health.instants import parse_day
from aggregation.apple_health.quantities import parse_number
from aggregation.apple_health.raw import RawShelf, raw_of
from aggregation.apple_health.record import Record
from aggregation.apple_health.sources import PROVIDER
from aggregation.apple_health.tally import RefusalReason
from aggregation.apple_health.unit_texts import ENERGY_KILOCALORIES
from aggregation.catalogue import ACTIVITY
from aggregation.records import DataSource, SummaryRecord
from healthsvc.kernel.typing import JSONValue

RESOURCE = ACTIVITY.slug
ELEMENT = "ActivitySummary"
ACTIVITY_SOURCE = DataSource(provider=PROVIDER, type="multiple_sources")

#: Activity rings came with the first Apple Watch in 2015; exports hold rows of 1969 for days without any.
_FIRST_RINGS_ON = date(2015, 1, 1)
_LAST_ON = date(2100, 1, 1)
_CALORIES = next(one for one in ACTIVITY.fields if one.name == "calories_active")


@dataclass(slots=True)
class _Day:
    calories_kcal: float | None = None
    #: By field of the day's heart rate: when the latest was taken, and its value.
    heart_rate: dict[str, tuple[int, float]] = field(default_factory=dict)
    #: The elements the day is made of, by name or type.
    raws: dict[str, bytes] = field(default_factory=dict)


class ActivityBuffer:
    """Holds days until the export ends, no more than `max_days`."""

    def __init__(self, max_days: int, max_raw_bytes: int) -> None:
        self._max_days = max_days
        self._raws = RawShelf(max_raw_bytes)
        self._days: dict[date, _Day] = {}

    def add_rings(self, attributes: Attributes) -> RefusalReason | None:
        """Keep an ActivitySummary; a later row of the same day replaces it."""
        on = parse_day(attributes.get("dateComponents"))
        if on is None:
            return RefusalReason.BAD_DATE
        if not _FIRST_RINGS_ON <= on < _LAST_ON:
            return RefusalReason.OUT_OF_RANGE
        convert = ENERGY_KILOCALORIES.get(attributes.get("activeEnergyBurnedUnit", ""))
        if convert is None:
            return RefusalReason.UNKNOWN_UNIT
        energy = parse_number(attributes.get("activeEnergyBurned"))
        if energy is None:
            return RefusalReason.BAD_VALUE
        calories_kcal = convert(energy)
        if not _CALORIES.lowest <= calories_kcal <= _CALORIES.highest:
            return RefusalReason.OUT_OF_RANGE
        day = self._day(on)
        if day is None:
            return RefusalReason.TOO_MANY
        day.calories_kcal = calories_kcal
        self._raws.put(day.raws, ELEMENT, attributes)
        return None

    def add_heart_rate(self, field_name: str, record: Record, bpm: float) -> bool:
        """Keep the day's resting or walking heart rate, the latest of a day; False where there is no room."""
        day = self._day(record.end.local_on())
        if day is None:
            return False
        if field_name not in day.heart_rate or day.heart_rate[field_name][0] <= record.end.utc_us:
            day.heart_rate[field_name] = (record.end.utc_us, bpm)
            self._raws.put(day.raws, record.attributes["type"], record.attributes, record.children)
        return True

    def _day(self, on: date) -> _Day | None:
        day = self._days.get(on)
        if day is None and len(self._days) < self._max_days:
            day = self._days[on] = _Day()
        return day

    def items(self) -> Iterator[SummaryRecord]:
        """Every day, in order. The day is its identity. Empties the buffer."""
        days, self._days = self._days, {}
        for on, day in sorted(days.items()):
            fields: dict[str, JSONValue] = {}
            if day.calories_kcal is not None:
                fields["calories_active"] = day.calories_kcal
            if day.heart_rate:
                fields["heart_rate"] = {name: bpm for name, (_, bpm) in sorted(day.heart_rate.items())}
            yield SummaryRecord(
                resource=RESOURCE,
                source=ACTIVITY_SOURCE,
                external_id=on.isoformat(),
                calendar_date=on,
                starts_at=None,
                ends_at=None,
                timezone_offset_seconds=None,
                fields=fields,
                raw=raw_of(day.raws),
            )
