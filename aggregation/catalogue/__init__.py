"""The resources the service keeps: one frozen record each. Paths, events, validation and OpenAPI derive from it.

A new timeseries or summary is one record in a module of `series` or `summaries`, and nothing else.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from aggregation.catalogue.kinds import (
    INSTANT_KINDS,
    VALUELESS_KINDS,
    AddsUp,
    Conversion,
    FieldKind,
    FieldSpec,
    ParentSpec,
    ResourceSpec,
    SampleField,
    SampleFieldKind,
    SeriesKind,
    SeriesSpec,
    StreamSpec,
    SummaryExample,
    SummarySpec,
    Typical,
)
from aggregation.catalogue.series import GLUCOSE, HEARTRATE, SERIES, STEPS
from aggregation.catalogue.streams import STREAMS, WORKOUT_STREAM
from aggregation.catalogue.summaries import ACTIVITY, DEVICE, PROFILE, SLEEP, SLEEP_CYCLE, SUMMARIES, WORKOUTS

__all__ = [
    "ACTIVITY",
    "DEVICE",
    "GLUCOSE",
    "HEARTRATE",
    "INSTANT_KINDS",
    "PROFILE",
    "RESOURCES",
    "SERIES",
    "SERIES_BY_SLUG",
    "SLEEP",
    "SLEEP_CYCLE",
    "STEPS",
    "STREAMS",
    "STREAM_BY_SLUG",
    "SUMMARIES",
    "SUMMARY_BY_SLUG",
    "VALUELESS_KINDS",
    "WORKOUTS",
    "WORKOUT_STREAM",
    "AddsUp",
    "Conversion",
    "FieldKind",
    "FieldSpec",
    "ParentSpec",
    "ResourceSpec",
    "SampleField",
    "SampleFieldKind",
    "SeriesKind",
    "SeriesSpec",
    "StreamSpec",
    "SummaryExample",
    "SummarySpec",
    "Typical",
    "canonical_values",
]

#: Every resource. Those of the API's events are these without the devices and what is_older.
RESOURCES: Final[tuple[ResourceSpec, ...]] = (*SERIES, *SUMMARIES, *STREAMS)

SERIES_BY_SLUG: Final[Mapping[str, SeriesSpec]] = MappingProxyType({spec.slug: spec for spec in SERIES})
SUMMARY_BY_SLUG: Final[Mapping[str, SummarySpec]] = MappingProxyType({spec.slug: spec for spec in SUMMARIES})
STREAM_BY_SLUG: Final[Mapping[str, StreamSpec]] = MappingProxyType({spec.slug: spec for spec in STREAMS})


def canonical_values(
    spec: SeriesSpec, values: NDArray[np.float64], unit: str, type_: str | None = None
) -> NDArray[np.float64] | None:
    """`values` in the resource's own unit; None where `unit` is not taken.

    `type_` is the samples' type. It decides where the resource has units `accepted_by_type`: samples of such a
    resource are converted by unit and type.
    """
    if unit == spec.unit:
        return values
    convert = spec.accepted.get(unit) or spec.accepted_by_type.get(type_ or "", {}).get(unit)
    return None if convert is None else convert(values)
