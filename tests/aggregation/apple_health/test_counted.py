"""Whatever is read is handed on, refused or left out: one of these, once."""

import pytest

from aggregation.apple_health.limits import ExportLimits
from aggregation.apple_health.nutrients import NUTRIENTS
from aggregation.apple_health.quantities import QUANTITIES
from tests.aggregation.apple_health.reading import EXPORT_XML, Reading, document, read

Q = "HKQuantityTypeIdentifier"
NO_ROOM = ExportLimits(max_days=0, max_meals=0, max_cycle_entries=0, max_pairs=0)


def quantity(name: str, value: str, unit: str, at: str = "2024-03-12 08:00:00 +0000") -> str:
    return f'<Record type="{Q}{name}" sourceName="App" unit="{unit}" startDate="{at}" endDate="{at}" value="{value}"/>'


def unaccounted(reading: Reading) -> dict[str, int]:
    """By resource, how many records of the quantities that become it are neither a sample of it nor named."""
    found: dict[str, int] = {}
    for kind, rule in QUANTITIES.items():
        named = sum(count for (name, _), count in (reading.refused() | reading.left_out()).items() if name == kind)
        found[rule.resource] = found.get(rule.resource, 0) + reading.tally.read[kind] - named
    for batch in reading.batches:
        if batch.resource in found:
            found[batch.resource] -= len(batch.samples)
    return {resource: count for resource, count in found.items() if count}


def test_a_sample_whose_summary_has_no_room_is_not_refused() -> None:
    records = (
        quantity("BodyMass", "80", "kg"),
        quantity("BasalBodyTemperature", "36.5", "degC"),
        quantity("DietaryCarbohydrates", "30", "g"),
        quantity("DietaryCarbohydrates", "31", "g", "2024-03-12 09:00:00 +0000"),
    )
    reading = read(document(*records), NO_ROOM)
    assert reading.values("weight") == [80.0]
    assert reading.values("basal_body_temperature") == [36.5]
    assert reading.values("carbohydrates") == [30.0, 31.0]
    assert reading.summaries == []
    assert reading.refused() == {}
    assert reading.left_out() == {
        (Q + "BodyMass.body", "too_many"): 1,
        (Q + "BasalBodyTemperature.menstrual_cycle", "too_many"): 1,
        (Q + "DietaryCarbohydrates.meal", "too_many"): 2,
    }
    assert unaccounted(reading) == {}


def test_what_no_sample_is_made_of_is_refused_where_there_is_no_room() -> None:
    records = (
        quantity("RestingHeartRate", "58", "count/min"),
        quantity("DietaryProtein", "30", "g"),
        quantity("BloodPressureSystolic", "118", "mmHg"),
    )
    reading = read(document(*records), NO_ROOM)
    assert reading.left_out() == {}
    assert reading.refused() == {
        (Q + "RestingHeartRate", "too_many"): 1,
        (Q + "DietaryProtein", "too_many"): 1,
        (Q + "BloodPressureSystolic", "too_many"): 1,
    }


@pytest.mark.parametrize("limits", [ExportLimits(), NO_ROOM])
def test_the_counts_of_a_whole_export_add_up(limits: ExportLimits) -> None:
    reading = read(EXPORT_XML, limits)
    assert unaccounted(reading) == {}
    for kind, count in reading.tally.read.items():
        named = [one.count for one in (*reading.tally.refusals(), *reading.tally.omissions()) if one.kind == kind]
        assert sum(named) <= count, kind
    assert {one.kind for one in (*reading.tally.refusals(), *reading.tally.omissions())} <= set(reading.tally.read)


def test_a_quantity_of_both_tables_has_the_same_units_in_both() -> None:
    both = set(QUANTITIES) & set(NUTRIENTS)
    assert both == {Q + "DietaryCarbohydrates"}
    assert all(QUANTITIES[kind].accepted is NUTRIENTS[kind].measure.accepted for kind in both)
