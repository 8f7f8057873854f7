"""Workout elements as workout summaries, of the old form (totals as attributes) and the new (WorkoutStatistics).

iOS 16 moved the totals from the element's attributes into children. A statistic wins over the attribute of the same
meaning. Distances of all kinds (run, ride, swim …) add up, which is what a triathlon needs. Statistics of the parts
of a workout (WorkoutActivity) repeat the whole's and are not read. A statistic that can't be read costs the field,
not the workout. A route gives the map, the highest and lowest point and the course.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from aggregation.apple_health import polylines
from aggregation.apple_health.activity_types import sport_slug
from aggregation.apple_health.elements import Attributes, Child
from aggregation.apple_health.identity import external_id
from aggregation.apple_health.instants import MICROSECONDS, parse_instant
from aggregation.apple_health.quantities import parse_number
from aggregation.apple_health.raw import element_raw
from aggregation.apple_health.record import METADATA, Record
from aggregation.apple_health.routes import Route
from aggregation.apple_health.tally import RefusalReason
from aggregation.apple_health.unit_texts import (
    COUNT,
    DURATION_SECONDS,
    ENERGY_KILOCALORIES,
    LENGTH_METRES,
    POWER_WATTS,
    RATE_PER_MINUTE,
    SPEED_METRES_PER_SECOND,
    Accepted,
)
from aggregation.catalogue import WORKOUT_STREAM, WORKOUTS
from aggregation.records import StreamRecord, SummaryRecord
from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.typing import JSONValue

RESOURCE, STREAM_RESOURCE = WORKOUTS.slug, WORKOUT_STREAM.slug
ELEMENT = "Workout"
STATISTICS_KIND = "WorkoutStatistics"

#: Longer than a workout can be: a timer never stopped.
MAX_WORKOUT_SECONDS = 7 * 24 * 3600

_PREFIX = "HKQuantityTypeIdentifier"
_DISTANCE_PREFIX = _PREFIX + "Distance"
_INDOOR_KEY = "HKIndoorWorkout"
_BRAND_KEY = "HKWorkoutBrandName"
_PAUSE, _RESUME = "HKWorkoutEventTypePause", "HKWorkoutEventTypeResume"
_MAX_TITLE_CHARACTERS = 200

#: Fields the API gives as integers: bpm, count, seconds.
_WHOLE_NUMBERS = frozenset({"average_hr", "max_hr", "steps", "moving_time"})
_HIGHEST: Mapping[str, float] = {field.name: field.highest for field in WORKOUTS.fields}
#: Statistics: which of their numbers goes to which field, by quantity.
_SPEEDS = (("average", "average_speed"), ("maximum", "max_speed"))
_POWERS = (("average", "average_watts"), ("maximum", "max_watts"))
_STATISTICS: Mapping[str, tuple[Accepted, tuple[tuple[str, str], ...]]] = {
    "ActiveEnergyBurned": (ENERGY_KILOCALORIES, (("sum", "calories"),)),
    "StepCount": (COUNT, (("sum", "steps"),)),
    "HeartRate": (RATE_PER_MINUTE, (("average", "average_hr"), ("maximum", "max_hr"))),
    **{f"{sport}Speed": (SPEED_METRES_PER_SECOND, _SPEEDS) for sport in ("Cycling", "Running", "Rowing")},
    **{f"{sport}Power": (POWER_WATTS, _POWERS) for sport in ("Cycling", "Running")},
}
#: Metadata with a number and its unit.
_METADATA: Mapping[str, tuple[Accepted, str]] = {
    "HKElevationAscended": (LENGTH_METRES, "total_elevation_gain"),
    "HKAverageSpeed": (SPEED_METRES_PER_SECOND, "average_speed"),
    "HKMaximumSpeed": (SPEED_METRES_PER_SECOND, "max_speed"),
}

Totals: TypeAlias = dict[str, float]


@dataclass(frozen=True, slots=True)
class _Reading:
    """One total of a workout as written, and the field it goes to."""

    field_name: str
    text: str | None
    unit: str | None
    accepted: Accepted


def route_paths(children: Sequence[Child]) -> list[str]:
    """The files of the workout's routes, as the export names them."""
    return [child.get("path", "") for name, child in children if name == "FileReference"]


def workout_summary(record: Record, problems: list[RefusalReason]) -> SummaryRecord:
    """The workout; its dates are checked already. Why a total was left out is appended to `problems`."""
    activity_type = record.attributes.get("workoutActivityType", "")
    totals: Totals = {}
    for child_name, child in record.children:
        for reading in _child_readings(child_name, child):
            _add(totals, reading, problems)
    for reading in _attribute_readings(record.attributes):
        if reading.text is not None and reading.field_name not in totals:
            _add(totals, reading, problems)
    if "moving_time" not in totals:
        totals["moving_time"] = _unpaused_seconds(record)
    identity = external_id(RESOURCE, record.source, record.start.utc_us, record.end.utc_us, activity_type)
    fields: dict[str, JSONValue] = {
        "time_start": utc_text(record.start.as_datetime()),
        "time_end": utc_text(record.end.as_datetime()),
        "timezone_offset": record.start.offset_seconds,
        "sport": _sport(record, activity_type),
        "provider_id": identity,
    }
    brand = " ".join((record.metadata(_BRAND_KEY) or "").split())[:_MAX_TITLE_CHARACTERS]
    if brand:
        fields["title"] = brand
    for name, value in totals.items():
        fields[name] = round(value) if name in _WHOLE_NUMBERS else value
    return SummaryRecord(
        resource=RESOURCE,
        source=record.source,
        external_id=identity,
        calendar_date=record.start.local_on(),
        starts_at=record.start.as_datetime(),
        ends_at=record.end.as_datetime(),
        timezone_offset_seconds=record.start.offset_seconds,
        fields=fields,
        raw=element_raw(record.attributes, record.children),
    )


def with_route(workout: SummaryRecord, route: Route) -> SummaryRecord:
    """The workout with its map and its highest and lowest point."""
    fields: dict[str, JSONValue] = dict(workout.fields)
    fields["map"] = {
        "polyline": _polyline(route, polylines.FULL_POINTS),
        "summary_polyline": _polyline(route, polylines.COARSE_POINTS),
    }
    known = route.altitude_m[~np.isnan(route.altitude_m)]
    if len(known):
        fields["elev_high"], fields["elev_low"] = float(known.max()), float(known.min())
    return replace(workout, fields=fields)


def route_stream(workout: SummaryRecord, route: Route) -> StreamRecord:
    """The workout's course."""
    channels = {
        "lat": route.latitude,
        "lng": route.longitude,
        "altitude": route.altitude_m,
        "velocity_smooth": route.speed_m_per_s,
    }
    measured = {name: column for name, column in channels.items() if not np.isnan(column).all()}
    return StreamRecord(STREAM_RESOURCE, workout.source, workout.external_id, route.time_us, measured)


def _polyline(route: Route, points: int) -> str:
    return polylines.encoded(polylines.thinned(route.latitude, points), polylines.thinned(route.longitude, points))


def _sport(record: Record, activity_type: str) -> str:
    slug = sport_slug(activity_type)
    return "indoor_cycling" if slug == "cycling" and record.metadata(_INDOOR_KEY) == "1" else slug


def _unpaused_seconds(record: Record) -> float:
    """From start to end without the pauses, for workouts that don't say how long they lasted."""
    paused_us, paused_from_us = 0, None
    for name, child in record.children:
        at = parse_instant(child.get("date")) if name == "WorkoutEvent" else None
        if at is None or not record.start.utc_us <= at.utc_us <= record.end.utc_us:
            continue
        if child.get("type") == _PAUSE and paused_from_us is None:
            paused_from_us = at.utc_us
        elif child.get("type") == _RESUME and paused_from_us is not None:
            paused_us += max(0, at.utc_us - paused_from_us)
            paused_from_us = None
    if paused_from_us is not None:
        paused_us += record.end.utc_us - paused_from_us
    return max(0, record.end.utc_us - record.start.utc_us - paused_us) / MICROSECONDS


def _child_readings(name: str, child: Attributes) -> Iterator[_Reading]:
    if name == METADATA:
        row = _METADATA.get(child.get("key", ""))
        if row is not None:
            number, _, unit_text = child.get("value", "").partition(" ")
            yield _Reading(row[1], number, unit_text, row[0])
    elif name == STATISTICS_KIND:
        quantity, unit = child.get("type", ""), child.get("unit")
        if quantity.startswith(_DISTANCE_PREFIX):
            yield _Reading("distance", child.get("sum"), unit, LENGTH_METRES)
            return
        accepted, wanted = _STATISTICS.get(quantity.removeprefix(_PREFIX), (COUNT, ()))
        for number_name, field_name in wanted:
            yield _Reading(field_name, child.get(number_name), unit, accepted)


def _attribute_readings(attributes: Attributes) -> list[_Reading]:
    get = attributes.get
    return [
        _Reading("distance", get("totalDistance"), get("totalDistanceUnit"), LENGTH_METRES),
        _Reading("calories", get("totalEnergyBurned"), get("totalEnergyBurnedUnit"), ENERGY_KILOCALORIES),
        _Reading("moving_time", get("duration"), get("durationUnit"), DURATION_SECONDS),
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
    if not 0.0 <= value <= _HIGHEST[reading.field_name]:
        problems.append(RefusalReason.OUT_OF_RANGE)
        return
    # Only distances come in several kinds; of other totals the first stays (a statistic before the metadata's word).
    if reading.field_name == "distance":
        totals["distance"] = totals.get("distance", 0.0) + value
    else:
        totals.setdefault(reading.field_name, value)
