"""The rows one query works on: columns built when asked for, whatever series or summary rows they come from."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from aggregation.query.columns import (
    Column,
    Ints,
    Mask,
    Rows,
    concatenated,
    constant_text,
    empty_column,
    float_column,
    labels_column,
    table_column,
)
from aggregation.query.priorities import SourceOrder
from aggregation.query.reader import FieldValues, Labels, SeriesArrays, TableArrays
from aggregation.query.resolved import INDEX, ColumnRef
from aggregation.query.schema import ColumnType
from aggregation.records import OFFSET_UNKNOWN


class Frame(Protocol):
    """Rows of one table."""

    @property
    def rows(self) -> int:
        """How many."""

    @property
    def instant_us(self) -> Ints:
        """What orders the rows in time."""

    def column(self, ref: ColumnRef) -> Column:
        """One value a row."""

    def source_ranks(self, order: SourceOrder) -> Ints | None:
        """Per row, 0 for the source that counts first; None where all rows have one rank."""

    def parts(self) -> tuple[int, Ints | None]:
        """How many resources are mixed, and which one each row is of; None where there is one."""


class SeriesFrame:
    """Samples of one or several timeseries resources, one below the other."""

    def __init__(self, series: Mapping[str, Sequence[SeriesArrays]]) -> None:
        self._resources = list(series)
        self._series = [one for listed in series.values() for one in listed]
        self._part_rows = [sum(map(len, listed)) for listed in series.values()]
        self.rows = sum(self._part_rows)
        self.instant_us = _joined([one.start_us for one in self._series])
        self._columns: dict[tuple[str, ColumnType], Column] = {}

    def column(self, ref: ColumnRef) -> Column:
        key = (ref.name, ref.type)
        if key not in self._columns:
            self._columns[key] = self._build(ref.name, ref.type)
        column = self._columns[key]
        _, part_of = self.parts()
        if ref.resource is None or part_of is None:
            return column
        return column.masked(part_of == self._resources.index(ref.resource))

    def parts(self) -> tuple[int, Ints | None]:
        count = len(self._resources)
        if count == 1:
            return count, None
        return count, np.repeat(np.arange(count, dtype=np.int64), self._part_rows)

    def source_ranks(self, order: SourceOrder) -> Ints | None:
        keys = [order.rank_key(one.source.provider, one.source.type) for one in self._series]
        ranks = {key: rank for rank, key in enumerate(sorted(set(keys)))}
        if len(ranks) < 2:
            return None
        return np.repeat(np.array([ranks[key] for key in keys], np.int64), [len(one) for one in self._series])

    def _build(self, name: str, column_type: ColumnType) -> Column:
        if name == INDEX:
            return Column(column_type, _joined([one.local_us for one in self._series]))
        if not self._series:
            return empty_column(column_type, 0)
        return concatenated([_series_column(one, name, column_type) for one in self._series])


def _joined(arrays: Sequence[Ints]) -> Ints:
    if len(arrays) == 1:
        return arrays[0]
    return np.concatenate(arrays) if arrays else np.zeros(0, np.int64)


def _series_column(series: SeriesArrays, name: str, column_type: ColumnType) -> Column:
    rows = len(series)
    source = series.source
    constants = {
        "source_provider": source.provider,
        "source_type": source.type,
        "source_app_id": source.app_id,
        "source_workout_id": source.workout_id,
        "source_sport": source.sport,
    }
    if name in series.fields:
        return _field_column(series.fields[name], column_type)
    if name in constants:
        return constant_text(constants[name], rows)
    if name == "timezone_offset":
        offsets = series.timezone_offset_seconds
        known = offsets != OFFSET_UNKNOWN
        return Column(column_type, offsets.astype(np.int64), None if known.all() else known)
    if name == "type" and series.type is not None:
        return labels_column(series.type)
    if name == "value" and series.value is not None:
        return float_column(series.value)
    if name == "duration" and series.duration_seconds is not None:
        return float_column(series.duration_seconds)
    return empty_column(column_type, rows)


def _field_column(values: FieldValues, column_type: ColumnType) -> Column:
    if isinstance(values, np.ndarray):
        if column_type is not ColumnType.FLOAT64:
            raise TypeError("a reader gave numbers in a column of texts")
        return float_column(values)
    return labels_column(values)


def series_within(series: SeriesArrays, start_us: int, end_us: int) -> SeriesArrays:
    """The samples whose floating local time lies in the window; the arrays themselves where all do."""
    if not len(series):
        return series
    if series.local_us.min() >= start_us and series.local_us.max() < end_us:
        return series
    rows = np.flatnonzero((series.local_us >= start_us) & (series.local_us < end_us))
    return replace(
        series,
        local_us=series.local_us[rows],
        start_us=series.start_us[rows],
        timezone_offset_seconds=series.timezone_offset_seconds[rows],
        value=None if series.value is None else series.value[rows],
        duration_seconds=None if series.duration_seconds is None else series.duration_seconds[rows],
        type=None if series.type is None else _labels_at(series.type, rows),
        fields={name: _field_at(values, rows) for name, values in series.fields.items()},
    )


def _labels_at(labels: Labels | Sequence[str | None], rows: Rows) -> Labels | Sequence[str | None]:
    if isinstance(labels, Labels):
        return Labels(labels.codes[rows], labels.names)
    return [labels[row] for row in rows.tolist()]


def _field_at(values: FieldValues, rows: Rows) -> FieldValues:
    return values[rows] if isinstance(values, np.ndarray) else _labels_at(values, rows)


class TableFrame:
    """Rows of one summary table whose index lies in the window."""

    def __init__(self, arrays: TableArrays, start_us: int, end_us: int) -> None:
        within: Mask = (arrays.index_us >= start_us) & (arrays.index_us < end_us)
        self._kept: Rows | None = None if within.all() else np.flatnonzero(within)
        self._arrays = arrays
        self.instant_us: Ints = arrays.index_us if self._kept is None else arrays.index_us[self._kept]
        self.rows = len(self.instant_us)
        self._columns: dict[str, Column] = {}

    def column(self, ref: ColumnRef) -> Column:
        if ref.name == INDEX:
            return Column(ref.type, self.instant_us)
        if ref.name not in self._columns:
            cells = self._arrays.columns[ref.name]
            self._columns[ref.name] = table_column(ref.type, cells, len(self._arrays)).take(self._kept)
        return self._columns[ref.name]

    def parts(self) -> tuple[int, Ints | None]:
        return 1, None

    def source_ranks(self, order: SourceOrder) -> Ints | None:
        providers = self._texts("source_provider")
        types = self._texts("source_type")
        keys = [order.rank_key(provider, source_type) for provider, source_type in zip(providers, types, strict=True)]
        ranks = {key: rank for rank, key in enumerate(sorted(set(keys)))}
        return None if len(ranks) < 2 else np.array([ranks[key] for key in keys], np.int64)

    def _texts(self, name: str) -> list[str]:
        column = self.column(ColumnRef(name, ColumnType.STRING))
        names = [*column.categories, ""]
        missing = len(column.categories)
        codes = column.values if column.valid is None else np.where(column.valid, column.values, missing)
        return [names[int(code)] for code in codes]
