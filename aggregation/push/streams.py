"""Pushed streams as records: the course of a workout in parallel lists."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from aggregation.catalogue import StreamSpec
from aggregation.constants import EARLIEST_US, LATEST_US
from aggregation.push.envelope import RecordList
from aggregation.push.receipts import Place, RefusedList
from aggregation.push.records import external_id_good, records_read
from aggregation.records import DataSource, StreamRecord
from aggregation.store import checking
from aggregation.store.days import SECOND_US

#: Unix seconds beyond this are no time of anybody's life, and would overflow as microseconds.
_SECONDS_MAXIMUM = 1e11


@dataclass(frozen=True, slots=True)
class ReadStream:
    """A stream that could be read, and its place in its list."""

    place: Place
    index: int
    record: StreamRecord


@dataclass(frozen=True, slots=True)
class _Decoders:
    one: msgspec.json.Decoder[msgspec.Struct]
    many: msgspec.json.Decoder[list[msgspec.Struct]]


@lru_cache(maxsize=16)
def _decoders(spec: StreamSpec) -> _Decoders:
    names: list[tuple[str, Any, None]] = [("workout_id", str | None, None), ("provider_id", str | None, None)]
    channels: list[tuple[str, Any, None]] = [(one.name, list[float | None] | None, None) for one in spec.channels]
    made = msgspec.defstruct(
        f"Stream_{spec.slug}",
        [("time", list[float]), *names, *channels],
        forbid_unknown_fields=True,
        frozen=True,
    )
    return _Decoders(msgspec.json.Decoder(made), msgspec.json.Decoder(list[made]))  # type: ignore[valid-type]


def streams_read(given: RecordList, spec: StreamSpec, source: DataSource, refused: RefusedList) -> list[ReadStream]:
    """The streams of one list; what is wrong is refused by its place. Streams are counted by their moments."""
    decoders = _decoders(spec)
    read = records_read(given.place, given.records, decoders.one, decoders.many, refused)
    found: list[ReadStream] = []
    for index, one in zip(read.indexes.tolist(), read.records, strict=True):
        fault = _fault(spec, one)
        if fault is not None:
            refused.add_many(given.place, index, max(1, len(_times(one))), *fault)
            continue
        record = _record(spec, source, one)
        good = np.ones(len(record.time_us), np.bool_)
        for reason, loc, bad in _moment_problems(spec, record):
            bad &= good
            if bad.any():
                first = int(np.argmax(bad))
                refused.add_many(given.place, index, int(bad.sum()), reason, (loc, first))
                good &= ~bad
        if not good.all():
            channels = {name: values[good] for name, values in record.channels.items()}
            record = replace(record, time_us=record.time_us[good], channels=channels)
        found.append(ReadStream(given.place, index, record))
    return found


def _record(spec: StreamSpec, source: DataSource, one: msgspec.Struct) -> StreamRecord:
    channels = {channel.name: getattr(one, channel.name) for channel in spec.channels}
    return StreamRecord(
        resource=spec.slug,
        source=source,
        workout=_workout(one),
        time_us=_microseconds(_times(one)),
        channels={
            name: np.array(column, np.float64)
            for name, column in channels.items()
            if column is not None and set(column) != {None}
        },
    )


def _moment_problems(spec: StreamSpec, record: StreamRecord) -> Iterator[tuple[str, str, NDArray[np.bool_]]]:
    times = record.time_us
    yield checking.BAD_DATE, "time", (times < EARLIEST_US) | (times >= LATEST_US)
    empty = np.ones(len(times), np.bool_)
    for channel in spec.channels:
        values = record.channels.get(channel.name)
        if values is not None:
            empty &= np.isnan(values)
            yield checking.OUT_OF_RANGE, channel.name, (values < channel.lowest) | (values > channel.highest)
    yield checking.MISSING_FIELD, "time", empty


def _times(one: msgspec.Struct) -> Sequence[float]:
    times: Sequence[float] = one.time  # type: ignore[attr-defined]  # the struct is made of the catalogue
    return times


def _workout(one: msgspec.Struct) -> str:
    return one.workout_id or one.provider_id or ""  # type: ignore[attr-defined]


def _microseconds(seconds: Sequence[float]) -> NDArray[np.int64]:
    return np.round(np.array(seconds, np.float64) * SECOND_US).astype(np.int64)


def _fault(spec: StreamSpec, one: msgspec.Struct) -> tuple[str, tuple[str, ...]] | None:
    if not _workout(one):
        return checking.MISSING_FIELD, ("workout_id",)
    if not external_id_good(_workout(one)):
        return checking.BAD_VALUE, ("workout_id",)
    times = _times(one)
    if not times:
        return checking.MISSING_FIELD, ("time",)
    if any(abs(moment) > _SECONDS_MAXIMUM for moment in times):
        return checking.BAD_DATE, ("time",)
    for channel in spec.channels:
        column = getattr(one, channel.name)
        if column is not None and len(column) != len(times):
            return checking.BAD_VALUE, (channel.name,)
    return None
