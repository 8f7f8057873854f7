"""A reader over plain Python rows, and short ways to write bodies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta

import numpy as np

from aggregation.query import (
    DEFAULT_SCHEMA,
    Budget,
    Labels,
    Priorities,
    SeriesArrays,
    SeriesSource,
    Table,
    TableArrays,
    query_compile,
    query_parse,
    query_run,
)

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
    value: float
    offset_seconds: int = 0
    duration_seconds: float | None = None
    type: str | None = None

    @property
    def local(self) -> datetime:
        return (self.instant.astimezone(UTC) + timedelta(seconds=self.offset_seconds)).replace(tzinfo=None)


@dataclass
class MemoryReader:
    """Answers from lists; counts what it was asked."""

    samples: Sequence[Sample] = ()
    tables: Mapping[str, Sequence[Mapping[str, object]]] = field(default_factory=dict)
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
        cells = {name: [row.get(name) for row in rows] for name in columns}
        return TableArrays(index, cells)  # type: ignore[arg-type]  # cells of unlike tests


def _index_us(index: object) -> int:
    if isinstance(index, datetime):
        return microseconds(index)
    assert isinstance(index, date)
    return microseconds(datetime.combine(index, time()))


def _arrays(source: SeriesSource, samples: Sequence[Sample]) -> SeriesArrays:
    names = sorted({sample.type for sample in samples if sample.type is not None}, reverse=True)
    codes = [-1 if sample.type is None else names.index(sample.type) for sample in samples]
    durations = [np.nan if one.duration_seconds is None else one.duration_seconds for one in samples]
    return SeriesArrays(
        source=source,
        local_us=np.array([microseconds(sample.local) for sample in samples], np.int64),
        start_us=np.array([microseconds(sample.instant) for sample in samples], np.int64),
        timezone_offset_seconds=np.array([sample.offset_seconds for sample in samples], np.int32),
        value=np.array([sample.value for sample in samples], np.float64),
        duration_seconds=np.array(durations, np.float64),
        type=Labels(np.array(codes, np.int32), names),
    )


def body(
    *queries: object, anchor: str = "2025-02-17", value: int = 1, unit: str = "day", overrides: object = None
) -> dict[str, object]:
    """A whole request body."""
    made: dict[str, object] = {
        "timeframe": {"type": "relative", "anchor": anchor, "past": {"value": value, "unit": unit}},
        "queries": list(queries),
    }
    if overrides is not None:
        made["config"] = {"provider_priority_overrides": overrides}
    return made


def aggregate(func: str, table: str = "heartrate", column: str = "value") -> dict[str, object]:
    return {"func": func, "arg": {table: column}}


def trunc(unit: str, value: int = 1, index: str = "heartrate") -> dict[str, object]:
    return {"date_trunc": {"value": value, "unit": unit}, "arg": {"index": index}}


def answered(
    request: object,
    reader: MemoryReader,
    *,
    priorities: Priorities | None = None,
    budget: Budget | None = None,
    qualified_names: bool = False,
) -> list[Table]:
    """Parse, compile and run."""
    plan = query_compile(query_parse(request), DEFAULT_SCHEMA, priorities, budget, qualified_names)
    return query_run(plan, reader)
