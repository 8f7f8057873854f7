"""Workout elements as workout summaries, of the old form (totals as attributes) and the new (WorkoutStatistics).

iOS 16 moved the totals from the element's attributes into children. A statistic wins over the attribute of the same
meaning. Distances of all kinds (run, ride, swim …) add up, which is what a triathlon needs. Statistics of the parts
of a workout (WorkoutActivity) repeat the whole's and are not read. A statistic that can't be read costs the field,
not the workout.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from aggregation.apple_health.activity_types import sport_slug
from aggregation.apple_health.elements import Attributes, Child
from aggregation.apple_health.identity import external_id
from aggregation.apple_health.instants import Instant
from aggregation.apple_health.quantities import (
    COUNT,
    DURATION_SECONDS,
    ENERGY_KILOCALORIES,
    LENGTH_METRES,
    RATE_PER_MINUTE,
    Convert,
    parse_number,
)
from aggregation.apple_health.tally import RefusalReason
from aggregation.records import DataSource, SummaryRecord
from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.typing import JSONValue

STATISTICS_KIND = "WorkoutStatistics"

#: Longer than a workout can be: a timer never stopped.
MAX_WORKOUT_SECONDS = 7 * 24 * 3600

_DISTANCE_PREFIX = "HKQuantityTypeIdentifierDistance"
_ENERGY_TYPE = "HKQuantityTypeIdentifierActiveEnergyBurned"
_HEART_RATE_TYPE = "HKQuantityTypeIdentifierHeartRate"
_STEPS_TYPE = "HKQuantityTypeIdentifierStepCount"
_ELEVATION_KEY = "HKElevationAscended"

#: Fields the API gives as integers: bpm, count, seconds.
_WHOLE_NUMBERS = frozenset({"average_hr", "max_hr", "steps", "moving_time"})

Totals: TypeAlias = dict[str, float]


@dataclass(frozen=True, slots=True)
class _Reading:
    """One total of a workout as written: the field it goes to and the largest value that can be meant."""

    field_name: str
    text: str | None
    unit: str | None
    accepted: Mapping[str, Convert]
    highest: float


def workout_summary(
    attributes: Attributes,
    children: Iterable[Child],
    source: DataSource,
    start: Instant,
    end: Instant,
    problems: list[RefusalReason],
) -> SummaryRecord:
    """The workout; its dates are checked already. Why a total was left out is appended to `problems`."""
    activity_type = attributes.get("workoutActivityType", "")
    totals: Totals = {}
    for child_name, child in children:
        for reading in _child_readings(child_name, child):
            _add(totals, reading, problems)
    for reading in _attribute_readings(attributes):
        if reading.text is not None and reading.field_name not in totals:
            _add(totals, reading, problems)
    identity = external_id("workouts", source, start.utc_us, end.utc_us, activity_type)
    fields: dict[str, JSONValue] = {
        "time_start": utc_text(start.as_datetime()),
        "time_end": utc_text(end.as_datetime()),
        "timezone_offset": start.offset_seconds,
        "sport": sport_slug(activity_type),
        "provider_id": identity,
    }
    for name, value in totals.items():
        fields[name] = round(value) if name in _WHOLE_NUMBERS else value
    return SummaryRecord(
        resource="workouts",
        source=source,
        external_id=identity,
        calendar_date=start.local_on(),
        starts_at=start.as_datetime(),
        ends_at=end.as_datetime(),
        timezone_offset_seconds=start.offset_seconds,
        fields=fields,
    )


def _child_readings(name: str, child: Attributes) -> list[_Reading]:
    if name == "MetadataEntry":
        if child.get("key") != _ELEVATION_KEY:
            return []
        climbed, _, length_unit = child.get("value", "").partition(" ")
        return [_Reading("total_elevation_gain", climbed, length_unit, LENGTH_METRES, 100_000.0)]
    quantity, unit, total = child.get("type", ""), child.get("unit"), child.get("sum")
    if quantity.startswith(_DISTANCE_PREFIX):
        return [_Reading("distance", total, unit, LENGTH_METRES, 10_000_000.0)]
    if quantity == _ENERGY_TYPE:
        return [_Reading("calories", total, unit, ENERGY_KILOCALORIES, 100_000.0)]
    if quantity == _STEPS_TYPE:
        return [_Reading("steps", total, unit, COUNT, 1_000_000.0)]
    if quantity == _HEART_RATE_TYPE:
        return [
            _Reading("average_hr", child.get("average"), unit, RATE_PER_MINUTE, 400.0),
            _Reading("max_hr", child.get("maximum"), unit, RATE_PER_MINUTE, 400.0),
        ]
    return []


def _attribute_readings(attributes: Attributes) -> list[_Reading]:
    get = attributes.get
    return [
        _Reading("distance", get("totalDistance"), get("totalDistanceUnit"), LENGTH_METRES, 10_000_000.0),
        _Reading("calories", get("totalEnergyBurned"), get("totalEnergyBurnedUnit"), ENERGY_KILOCALORIES, 100_000.0),
        _Reading("moving_time", get("duration"), get("durationUnit"), DURATION_SECONDS, float(MAX_WORKOUT_SECONDS)),
    ]


def _add(totals: Totals, reading: _Reading, problems: list[RefusalReason]) -> None:
    convert = reading.accepted.get(reading.unit or "")
    if convert is None:
        problems.append(RefusalReason.UNKNOWN_UNIT)
        return
    number = parse_number(reading.text)
    if number is None:
        problems.append(RefusalReason.BAD_VALUE)
        return
    value = convert(number)
    if not 0.0 <= value <= reading.highest:
        problems.append(RefusalReason.OUT_OF_RANGE)
        return
    totals[reading.field_name] = totals.get(reading.field_name, 0.0) + value
