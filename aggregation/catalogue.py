"""The resources the service keeps: one frozen record each. Paths, events, validation and OpenAPI derive from it.

A new timeseries or summary is one record in `SERIES` or `SUMMARIES`, and nothing else.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from aggregation.constants import BUCKET_SECONDS
from healthsvc.kernel import units

Conversion: TypeAlias = Callable[[NDArray[np.float64]], NDArray[np.float64]]


class SeriesKind(StrEnum):
    """Whether a sample is of an instant or of a stretch of time."""

    DISCRETE = "discrete"
    INTERVAL = "interval"


class AddsUp(StrEnum):
    """What makes one number of several samples: steps are summed, heart rates are averaged."""

    SUM = "sum"
    MEAN = "mean"


@dataclass(frozen=True, slots=True, eq=False)
class SeriesSpec:
    """A timeseries resource, equal only to itself.

    slug: its name in events and in the store. path: its name in addresses. model: its name in OpenAPI.
    unit: the one that is stored and answered, as the API writes it. accepted: other units to their exact conversion.
    lowest, highest: the plausible range in `unit`, inclusive; what lies outside is refused. definition: where the
    resource is defined.
    """

    slug: str
    path: str
    model: str
    kind: SeriesKind
    unit: str
    adds_up: AddsUp
    lowest: float
    highest: float
    meaning: str
    definition: str
    accepted: Mapping[str, Conversion] = field(default_factory=dict)
    bucket_seconds: int = BUCKET_SECONDS


class FieldKind(StrEnum):
    """The JSON form of a summary's field."""

    NUMBER = "number"
    WHOLE = "whole"
    TEXT = "text"
    INSTANT = "instant"
    FLAG = "flag"
    SPORT = "sport"
    WHOLES = "wholes"
    OBJECT = "object"


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """A field of a summary. `choices` closes a text; `members` are an object's own fields, all optional."""

    name: str
    kind: FieldKind
    meaning: str
    required: bool = False
    lowest: float = 0.0
    highest: float = 1e9
    choices: tuple[str, ...] = ()
    members: tuple["FieldSpec", ...] = ()


@dataclass(frozen=True, slots=True)
class SummarySpec:
    """A summary resource. `starts_field` and `ends_field` name the fields that tell when it was, "" for a whole day.

    `dated` summaries also answer the older field `date`, midnight UTC of the calendar date.
    """

    slug: str
    path: str
    model: str
    meaning: str
    definition: str
    fields: tuple[FieldSpec, ...]
    starts_field: str = ""
    ends_field: str = ""
    dated: bool = True


ResourceSpec: TypeAlias = SeriesSpec | SummarySpec

HEARTRATE = SeriesSpec(
    slug="heartrate",
    path="heartrate",
    model="HeartRate",
    kind=SeriesKind.DISCRETE,
    unit="bpm",
    adds_up=AddsUp.MEAN,
    lowest=1.0,
    highest=400.0,
    meaning="Heart rate, beats a minute.",
    definition="The API's ClientFacingHeartRateTimeseries; LOINC 8867-4.",
    accepted=MappingProxyType({"count/min": np.copy, "Hz": units.per_minute_from_per_second}),
)
STEPS = SeriesSpec(
    slug="steps",
    path="steps",
    model="Steps",
    kind=SeriesKind.INTERVAL,
    unit="count",
    adds_up=AddsUp.SUM,
    lowest=0.0,
    highest=1_000_000.0,
    meaning="Steps walked or run between start and end.",
    definition="The API's ClientFacingStepsTimeseries; LOINC 55423-8.",
)
GLUCOSE = SeriesSpec(
    slug="glucose",
    path="glucose",
    model="Glucose",
    kind=SeriesKind.DISCRETE,
    unit="mmol/L",
    adds_up=AddsUp.MEAN,
    lowest=0.1,
    highest=150.0,
    meaning="Glucose in blood or interstitial fluid.",
    definition="The API's ClientFacingGlucoseTimeseries; LOINC 15074-8.",
    accepted=MappingProxyType({"mg/dL": units.mmol_per_litre_glucose_from_mg_per_dl}),
)

_BPM_MAXIMUM = 400.0
_DAY_SECONDS = 7 * 86_400.0
_TIMEZONE_OFFSET = FieldSpec(
    "timezone_offset", FieldKind.WHOLE, "Offset from UTC, seconds.", lowest=-64_800.0, highest=64_800.0
)


def _number(name: str, meaning: str, lowest: float = 0.0, highest: float = 1e9) -> FieldSpec:
    return FieldSpec(name, FieldKind.NUMBER, meaning, lowest=lowest, highest=highest)


def _whole(name: str, meaning: str, lowest: float = 0.0, highest: float = 1e9, *, required: bool = False) -> FieldSpec:
    return FieldSpec(name, FieldKind.WHOLE, meaning, required=required, lowest=lowest, highest=highest)


def _seconds(name: str, meaning: str) -> FieldSpec:
    return _whole(name, f"{meaning}, seconds.", highest=_DAY_SECONDS, required=True)


SLEEP = SummarySpec(
    slug="sleep",
    path="sleep",
    model="ClientFacingSleep",
    meaning="A night or a nap.",
    definition="The API's ClientFacingSleep.",
    starts_field="bedtime_start",
    ends_field="bedtime_stop",
    fields=(
        FieldSpec("bedtime_start", FieldKind.INSTANT, "When the sleep period began, UTC.", required=True),
        FieldSpec("bedtime_stop", FieldKind.INSTANT, "When the sleep period ended, UTC.", required=True),
        FieldSpec(
            "type",
            FieldKind.TEXT,
            "`long_sleep` is 3 hours and more.",
            required=True,
            choices=("long_sleep", "short_sleep", "acknowledged_nap", "unknown"),
        ),
        FieldSpec("state", FieldKind.TEXT, "Whether the provider may revise it.", choices=("tentative", "confirmed")),
        _TIMEZONE_OFFSET,
        _seconds("duration", "From bedtime_start to bedtime_stop"),
        _seconds("total", "Asleep"),
        _seconds("awake", "Awake"),
        _seconds("light", "Light sleep"),
        _seconds("rem", "REM sleep"),
        _seconds("deep", "Deep sleep"),
        _whole("score", "How well the user slept, 1 to 100.", highest=100.0),
        _whole("recovery_readiness_score", "The provider's recovery or readiness, 0 to 100.", highest=100.0),
        _whole("hr_lowest", "Lowest heart rate (5-minute average), bpm.", highest=_BPM_MAXIMUM),
        _whole("hr_average", "Average heart rate, bpm.", highest=_BPM_MAXIMUM),
        _whole("hr_resting", "Resting heart rate, bpm.", highest=_BPM_MAXIMUM),
        _number("efficiency", "Share of the period spent asleep, percent.", highest=100.0),
        _whole("latency", "From bedtime_start to persistent sleep, seconds.", highest=_DAY_SECONDS),
        _number("temperature_delta", "Skin temperature against the long-term average, °C.", -30.0, 30.0),
        _number("skin_temperature", "Skin temperature, °C.", 10.0, 50.0),
        _number("hr_dip", "Fall of the heart rate against waking, percent.", -100.0, 100.0),
        _number("average_hrv", "Average heart rate variability (RMSSD), ms.", highest=1_000.0),
        _number("respiratory_rate", "Average breaths a minute.", highest=120.0),
    ),
)
ACTIVITY = SummarySpec(
    slug="activity",
    path="activity",
    model="ClientFacingActivity",
    meaning="A day of activity.",
    definition="The API's ClientFacingActivity.",
    fields=(
        _number("calories_total", "Energy spent in the day, basal included, kcal.", highest=50_000.0),
        _number("calories_active", "Energy spent by activity, kcal.", highest=50_000.0),
        _whole("steps", "Steps of the day.", highest=1_000_000.0),
        _number("daily_movement", "The day's activity as metres walked (deprecated).", highest=1e7),
        _number("distance", "Distance travelled, m.", highest=1e7),
        _number("low", "Low-intensity activity, minutes.", highest=1_500.0),
        _number("medium", "Medium-intensity activity, minutes.", highest=1_500.0),
        _number("high", "High-intensity activity, minutes.", highest=1_500.0),
        _whole("floors_climbed", "Floors climbed.", highest=100_000.0),
        FieldSpec("time_zone", FieldKind.TEXT, "IANA time zone."),
        _TIMEZONE_OFFSET,
        FieldSpec(
            "heart_rate",
            FieldKind.OBJECT,
            "The day's heart rate.",
            members=(
                _number("avg_bpm", "Average, bpm.", highest=_BPM_MAXIMUM),
                _number("min_bpm", "Minimum, bpm.", highest=_BPM_MAXIMUM),
                _number("max_bpm", "Maximum, bpm.", highest=_BPM_MAXIMUM),
                _number("resting_bpm", "Resting, bpm.", highest=_BPM_MAXIMUM),
                _number("avg_walking_bpm", "Average while walking, bpm.", highest=_BPM_MAXIMUM),
            ),
        ),
        FieldSpec("wheelchair_use", FieldKind.FLAG, "True where a wheelchair was used."),
        _whole("wheelchair_push", "Pushes of a wheelchair.", highest=1_000_000.0),
    ),
)
WORKOUTS = SummarySpec(
    slug="workouts",
    path="workouts",
    model="ClientFacingWorkout",
    meaning="A workout.",
    definition="The API's ClientFacingWorkout.",
    starts_field="time_start",
    ends_field="time_end",
    dated=False,
    fields=(
        FieldSpec("title", FieldKind.TEXT, "The workout's title."),
        _TIMEZONE_OFFSET,
        _whole("average_hr", "Average heart rate, bpm.", highest=_BPM_MAXIMUM),
        _whole("max_hr", "Highest heart rate, bpm.", highest=_BPM_MAXIMUM),
        _number("distance", "Distance, m.", highest=1e7),
        FieldSpec("time_start", FieldKind.INSTANT, "Start, UTC.", required=True),
        FieldSpec("time_end", FieldKind.INSTANT, "End, UTC.", required=True),
        _number("calories", "Energy, kcal.", highest=100_000.0),
        FieldSpec("sport", FieldKind.SPORT, "The sport.", required=True),
        FieldSpec("hr_zones", FieldKind.WHOLES, "Seconds in each of six heart-rate zones.", highest=_DAY_SECONDS),
        _whole("moving_time", "Time in motion, seconds.", highest=_DAY_SECONDS),
        _number("total_elevation_gain", "Climbed, m.", highest=100_000.0),
        _number("elev_high", "Highest point, m.", -1_000.0, 10_000.0),
        _number("elev_low", "Lowest point, m.", -1_000.0, 10_000.0),
        _number("average_speed", "Average speed, m/s.", highest=1_000.0),
        _number("max_speed", "Highest speed, m/s.", highest=1_000.0),
        _number("average_watts", "Average power, W.", highest=5_000.0),
        _number("device_watts", "Power as the device measured it, W.", highest=5_000.0),
        _number("max_watts", "Highest power, W.", highest=10_000.0),
        _number("weighted_average_watts", "Weighted average power, W.", highest=5_000.0),
        _whole("steps", "Steps.", highest=1_000_000.0),
        FieldSpec(
            "map",
            FieldKind.OBJECT,
            "The route.",
            members=(
                FieldSpec("polyline", FieldKind.TEXT, "The route as an encoded polyline."),
                FieldSpec("summary_polyline", FieldKind.TEXT, "The same, coarser."),
            ),
        ),
        FieldSpec("provider_id", FieldKind.TEXT, "What the provider calls the workout.", required=True),
    ),
)

SERIES: Final = (HEARTRATE, STEPS, GLUCOSE)
SUMMARIES: Final = (SLEEP, ACTIVITY, WORKOUTS)
RESOURCES: Final[tuple[ResourceSpec, ...]] = (*SERIES, *SUMMARIES)

SERIES_BY_SLUG: Final[Mapping[str, SeriesSpec]] = MappingProxyType({spec.slug: spec for spec in SERIES})
SUMMARY_BY_SLUG: Final[Mapping[str, SummarySpec]] = MappingProxyType({spec.slug: spec for spec in SUMMARIES})


def canonical_values(spec: SeriesSpec, values: NDArray[np.float64], unit: str) -> NDArray[np.float64] | None:
    """`values` in the resource's own unit; None where `unit` is not taken."""
    if unit == spec.unit:
        return values
    convert = spec.accepted.get(unit)
    return None if convert is None else convert(values)
