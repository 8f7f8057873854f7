"""A reader over plain Python rows, and short ways to write bodies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import numpy as np

from aggregation.query import (
    Budget,
    Labels,
    Priorities,
    Reader,
    SeriesArrays,
    SeriesSource,
    Table,
    TableArrays,
    query_compile,
    query_parse,
    query_run,
)
from aggregation.query.reader import FieldValues, ListValues
from aggregation.query.schema import ELEMENT, LIST_TYPES
from aggregation.query_reader import SCHEMA

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def microseconds(moment: datetime) -> int:
    """Of a naive local time or an instant."""
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return (aware - EPOCH) // timedelta(microseconds=1)


@dataclass(frozen=True)
class Sample:
    """One sample; `instant` is aware, its local time is what the offset makes of it."""

    resource: str
    source: SeriesSource
    instant: datetime
    value: float | None
    offset_seconds: int = 0
    duration_seconds: float | None = None
    type: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def local(self) -> datetime:
        return (self.instant.astimezone(UTC) + timedelta(seconds=self.offset_seconds)).replace(tzinfo=None)


@dataclass
class MemoryReader:
    """Answers from lists; counts what it was asked."""

    samples: Sequence[Sample] = ()
    tables: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def read_series(self, resource: str, window_start_us: int, window_end_us: int) -> Sequence[SeriesArrays]:
        self.asked.append(resource)
        of_resource = [sample for sample in self.samples if sample.resource == resource]
        sources = list(dict.fromkeys(sample.source for sample in of_resource))
        return [_arrays(source, [one for one in of_resource if one.source == source]) for source in sources]

    def read_table(self, table: str, columns: Sequence[str], window_start_us: int, window_end_us: int) -> TableArrays:
        self.asked.append(table)
        rows = self.tables.get(table, ())
        index = np.array([_index_us(row["index"]) for row in rows], np.int64)
        return TableArrays(index, {name: _cells(table, name, [row.get(name) for row in rows]) for name in columns})


def _cells(table: str, name: str, cells: list[Any]) -> Any:
    schema = SCHEMA.table(table)
    if schema is not None and schema.columns.get(name) in LIST_TYPES:
        return list_values(cells, list(schema.lists[name]))
    return cells


def list_values(cells: Sequence[Any], fields: Sequence[str]) -> ListValues:
    """Lists of objects, or of texts under `element`; None where a row has no list."""
    lists = [[] if cell is None else list(cell) for cell in cells]
    elements = [{ELEMENT: one} if isinstance(one, str) else one for listed in lists for one in listed]
    return ListValues(
        offsets=np.cumsum([0, *map(len, lists)], dtype=np.int64),
        fields={name: [element.get(name) for element in elements] for name in fields},
        present=np.array([cell is not None for cell in cells], np.bool_) if None in cells else None,
    )


def _index_us(index: object) -> int:
    if isinstance(index, datetime):
        return microseconds(index)
    assert isinstance(index, date)
    return microseconds(datetime.combine(index, time()))


def _labels(texts: Sequence[str | None]) -> Labels:
    names = sorted({text for text in texts if text is not None}, reverse=True)
    return Labels(np.array([-1 if text is None else names.index(text) for text in texts], np.int32), names)


def _numbers(values: Sequence[float | None]) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    return np.array([np.nan if value is None else value for value in values], np.float64)


def _field(name: str, values: Sequence[Any]) -> FieldValues:
    if name == "tags":
        return list_values(values, [ELEMENT])
    if any(isinstance(value, float) for value in values):
        return _numbers(values)
    return values


def _arrays(source: SeriesSource, samples: Sequence[Sample]) -> SeriesArrays:
    names = list(dict.fromkeys(name for sample in samples for name in sample.fields))
    return SeriesArrays(
        source=source,
        local_us=np.array([microseconds(sample.local) for sample in samples], np.int64),
        start_us=np.array([microseconds(sample.instant) for sample in samples], np.int64),
        timezone_offset_seconds=np.array([sample.offset_seconds for sample in samples], np.int32),
        value=None if all(sample.value is None for sample in samples) else _numbers([one.value for one in samples]),
        duration_seconds=_numbers([sample.duration_seconds for sample in samples]),
        type=_labels([sample.type for sample in samples]),
        fields={name: _field(name, [sample.fields.get(name) for sample in samples]) for name in names},
    )


def body(
    *queries: object,
    anchor: str = "2025-02-17",
    value: int = 1,
    unit: str = "day",
    overrides: object = None,
    mode: object = None,
) -> dict[str, object]:
    """A whole request body."""
    made: dict[str, object] = {
        "timeframe": {"type": "relative", "anchor": anchor, "past": {"value": value, "unit": unit}},
        "queries": list(queries),
    }
    config = {"provider_priority_overrides": overrides, "source_mode": mode}
    given = {key: value for key, value in config.items() if value is not None}
    if given:
        made["config"] = given
    return made


def aggregate(func: str, table: str = "heartrate", column: str = "value") -> dict[str, object]:
    return {"func": func, "arg": {table: column}}


def trunc(unit: str, value: int = 1, index: str = "heartrate") -> dict[str, object]:
    return {"date_trunc": {"value": value, "unit": unit}, "arg": {"index": index}}


def answered(
    request: object,
    reader: Reader,
    *,
    priorities: Priorities | None = None,
    budget: Budget | None = None,
    qualified_names: bool = False,
    now: datetime | None = None,
) -> list[Table]:
    """Parse, compile and run; `now` is the person's local time."""
    plan = query_compile(query_parse(request), SCHEMA, priorities, budget, qualified_names)
    return query_run(plan, reader, now_us=None if now is None else microseconds(now))
