"""ActivitySummary elements as daily activity summaries.

The element carries energy, exercise minutes and stand hours. Only energy has a field in the API's activity; steps
and distance are not in the element and are left to the samples. Apple works the day out over all of a person's
devices and names none, so the source is `multiple_sources`.
"""

from datetime import date

from aggregation.apple_health.elements import Attributes
from aggregation.apple_health.instants import parse_day
from aggregation.apple_health.quantities import ENERGY_KILOCALORIES, parse_number
from aggregation.apple_health.sources import PROVIDER
from aggregation.apple_health.tally import RefusalReason
from aggregation.records import DataSource, SummaryRecord

ACTIVITY_SOURCE = DataSource(provider=PROVIDER, type="multiple_sources")

#: Activity rings came with the first Apple Watch in 2015; exports hold rows of 1969 for days without any.
_FIRST_RINGS_ON = date(2015, 1, 1)
_LAST_ON = date(2100, 1, 1)
_MAX_KILOCALORIES = 30_000.0


def activity_summary(attributes: Attributes) -> SummaryRecord | RefusalReason:
    """The day, or why it can't be stored. The day is its identity: a later row of the same day replaces it."""
    day = parse_day(attributes.get("dateComponents"))
    if day is None:
        return RefusalReason.BAD_DATE
    if not _FIRST_RINGS_ON <= day < _LAST_ON:
        return RefusalReason.OUT_OF_RANGE
    convert = ENERGY_KILOCALORIES.get(attributes.get("activeEnergyBurnedUnit", ""))
    if convert is None:
        return RefusalReason.UNKNOWN_UNIT
    energy = parse_number(attributes.get("activeEnergyBurned"))
    if energy is None:
        return RefusalReason.BAD_VALUE
    calories_kcal = convert(energy)
    if not 0.0 <= calories_kcal <= _MAX_KILOCALORIES:
        return RefusalReason.OUT_OF_RANGE
    return SummaryRecord(
        resource="activity",
        source=ACTIVITY_SOURCE,
        external_id=day.isoformat(),
        calendar_date=day,
        starts_at=None,
        ends_at=None,
        timezone_offset_seconds=None,
        fields={"calories_active": calories_kcal},
    )
