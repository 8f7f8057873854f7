"""Writing streams: the course of a workout, kept as samples with a channel a field."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from aggregation.catalogue import STREAM_BY_SLUG, StreamSpec
from aggregation.codec import BlockColumns
from aggregation.constants import EARLIEST_US, LATEST_US, UNKNOWN_SOURCE_TYPE
from aggregation.records import OFFSET_UNKNOWN, DataSource, StreamRecord
from aggregation.store import checking
from aggregation.store.checking import Refusals
from aggregation.store.columns import block_take
from aggregation.store.incoming import SeriesKey, series_key
from aggregation.store.summaries import SummaryRow
from aggregation.store.workouts import Workout, WorkoutName

UNKNOWN_WORKOUT: Final = "unknown_workout"

_Mask: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class StreamChange:
    """A stream that a write made (`created`) or gave another content, and the summary it belongs to.

    It comes from where its workout comes from.
    """

    resource: str
    workout: SummaryRow
    created: bool


def streams_gather(
    records: Sequence[StreamRecord], workouts: Mapping[WorkoutName, Workout], refusals: Refusals
) -> dict[SeriesKey, list[BlockColumns]]:
    """The moments that can be stored, by series; the others are counted one by one.

    A workout has one stream, whatever app and device told of it this time: its series names none. A stream belongs to
    its workout, which was let in by its day: its moments are not held against ingestion bounds.
    """
    found: dict[SeriesKey, list[BlockColumns]] = {}
    for record in records:
        spec = STREAM_BY_SLUG.get(record.resource)
        workout = workouts.get((record.source.provider, record.workout))
        reason = _record_problem(spec, record, workout)
        if reason is not None or spec is None or workout is None:
            refusals.add(record.resource, reason or UNKNOWN_WORKOUT, len(record.time_us))
            continue
        good = _moments_good(spec, record, refusals)
        if good.any():
            moments = block_take(_moments(record), good)
            found.setdefault(_key(record, workout), []).append(moments)
    return found


def _key(record: StreamRecord, workout: Workout) -> SeriesKey:
    return series_key(record.resource, DataSource(record.source.provider, UNKNOWN_SOURCE_TYPE), workout.id)


def _record_problem(spec: StreamSpec | None, record: StreamRecord, workout: Workout | None) -> str | None:
    """Why no moment of a stream can be stored."""
    if spec is None:
        return checking.UNKNOWN_RESOURCE
    if not checking.source_good(record.source):
        return checking.BAD_SOURCE
    if not {channel.name for channel in spec.channels}.issuperset(record.channels):
        return checking.UNKNOWN_FIELD
    if any(len(values) != len(record.time_us) for values in record.channels.values()):
        return checking.BAD_VALUE
    return None if workout else UNKNOWN_WORKOUT


def _moments_good(spec: StreamSpec, record: StreamRecord, refusals: Refusals) -> _Mask:
    """Which moments can be stored; each of the others is refused for the first reason that holds."""
    good = np.ones(len(record.time_us), np.bool_)
    for reason, bad in _problems(spec, record):
        refusals.add(record.resource, reason, int((good & bad).sum()))
        good &= ~bad
    return good


def _problems(spec: StreamSpec, record: StreamRecord) -> Iterator[tuple[str, _Mask]]:
    times = np.asarray(record.time_us, np.int64)
    yield checking.BAD_DATE, (times < EARLIEST_US) | (times >= LATEST_US)
    empty = np.ones(len(times), np.bool_)
    for channel in spec.channels:
        if channel.name in record.channels:
            values = np.asarray(record.channels[channel.name], np.float64)
            empty &= np.isnan(values)
            yield checking.BAD_VALUE, np.isinf(values)
            # False where a moment has no value.
            yield checking.OUT_OF_RANGE, (values < channel.lowest) | (values > channel.highest)
    yield checking.MISSING_FIELD, empty


def _moments(record: StreamRecord) -> BlockColumns:
    size = len(record.time_us)
    channels = {name: np.asarray(values, np.float64) for name, values in record.channels.items()}
    return BlockColumns(
        start_us=np.asarray(record.time_us, np.int64),
        offset_seconds=np.full(size, OFFSET_UNKNOWN, np.int32),
        # One NaN for all, since columns are compared by their bits.
        extra={name: np.where(np.isnan(values), np.nan, values) for name, values in channels.items()},
    )
