"""The rows one query works on: columns built when asked for, whatever series or summary rows they come from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
from aggregation.query.lists import lists_at, subquery_column
from aggregation.query.priorities import SourceOrder
from aggregation.query.reader import FieldValues, Labels, ListValues, SeriesArrays, TableArrays
from aggregation.query.resolved import INDEX, ColumnRef, Ref, SubqueryRef
from aggregation.query.schema import ColumnType
from aggregation.records import OFFSET_UNKNOWN

#: No sample lasts longer than a century.
_LONGEST_SECONDS = 36_525 * 86_400.0


class Frame(Protocol):
    """Rows of one table."""

    @property
    def rows(self) -> int:
        """How many."""

    @property
    def instant_us(self) -> Ints:
        """What orders the rows in time."""

    def column(self, ref: Ref) -> Column:
        """One value a row."""

    def sources(self, order: SourceOrder) -> "Sources":
        """Which source each row is of."""

    def parts(self) -> tuple[int, Ints | None]:
        """How many resources are mixed, and which one each row is of; None where there is one."""


@dataclass(frozen=True, slots=True)
class Sources:
    """names: (provider, source type), the one that counts first in front.

    ranks: per row the position in `names`; None where there are not two.
    """

    names: tuple[tuple[str, str], ...]
    ranks: Ints | None


@dataclass(frozen=True, slots=True)
class Recorders:
    """Who recorded each row: sources, told apart by app and device.

    ranks: per row the place of its recorder, 0 for the one that counts first. source_of: the place of each recorder's
    source in `names`, which are as in `Sources`.
    """

    names: tuple[tuple[str, str], ...]
    ranks: Ints
    source_of: Ints


class SeriesFrame:
    """Samples of one or several timeseries resources, one below the other."""

    def __init__(self, series: Mapping[str, Sequence[SeriesArrays]]) -> None:
        self.resources = tuple(series)
        self._series = [one for listed in series.values() for one in listed]
        self._part_rows = [sum(map(len, listed)) for listed in series.values()]
        self.rows = sum(self._part_rows)
        self.instant_us = _joined([one.start_us for one in self._series])
        self._columns: dict[tuple[str, ColumnType] | SubqueryRef, Column] = {}

    def column(self, ref: Ref) -> Column:
        key = ref if isinstance(ref, SubqueryRef) else (ref.name, ref.type)
        if key not in self._columns:
            self._columns[key] = self._build(ref)
        resource = ref.column.resource if isinstance(ref, SubqueryRef) else ref.resource
        _, part_of = self.parts()
        if resource is None or part_of is None:
            return self._columns[key]
        return self._columns[key].masked(part_of == self.resources.index(resource))

    def parts(self) -> tuple[int, Ints | None]:
        count = len(self.resources)
        if count == 1:
            return count, None
        return count, np.repeat(np.arange(count, dtype=np.int64), self._part_rows)

    def sources(self, order: SourceOrder) -> Sources:
        ranks, names = _ranked([(one.source.provider, one.source.type) for one in self._series], order)
        if len(names) < 2:
            return Sources(names, None)
        return Sources(names, np.repeat(np.array(ranks, np.int64), [len(one) for one in self._series]))

    def recorders(self, order: SourceOrder) -> Recorders:
        """Who recorded each row, in the order in which they are merged."""
        keys = [
            order.recorder_key(one.provider, one.type, one.app_id, one.device_id)
            for one in (series.source for series in self._series)
        ]
        places, names = _ranked([(one.source.provider, one.source.type) for one in self._series], order)
        ordered = sorted(set(keys))
        source_of = dict(zip(keys, places, strict=True))
        rank = {key: number for number, key in enumerate(ordered)}
        ranks = np.repeat(np.array([rank[key] for key in keys], np.int64), [len(one) for one in self._series])
        return Recorders(names, ranks, np.array([source_of[key] for key in ordered], np.int64))

    def lengths_us(self) -> Ints:
        """How long each sample lasted, 0 for one of an instant."""
        return _joined([_lengths_us(one) for one in self._series])

    def _build(self, ref: Ref) -> Column:
        if isinstance(ref, ColumnRef) and ref.name == INDEX:
            return Column(ref.type, _joined([one.local_us for one in self._series]))
        if not self._series:
            return empty_column(ref.type, 0)
        return concatenated([_series_values(one, ref) for one in self._series])


def _ranked(sources: Sequence[tuple[str, str]], order: SourceOrder) -> tuple[list[int], tuple[tuple[str, str], ...]]:
    """The place of each (provider, source type) in their order, and the order."""
    names = tuple(sorted(set(sources), key=lambda source: order.rank_key(*source)))
    rank = {source: place for place, source in enumerate(names)}
    return [rank[source] for source in sources], names


def _lengths_us(series: SeriesArrays) -> Ints:
    if series.duration_seconds is None:
        return np.zeros(len(series), np.int64)
    seconds = np.nan_to_num(series.duration_seconds, nan=0.0, posinf=0.0, neginf=0.0)
    return np.rint(np.clip(seconds, 0.0, _LONGEST_SECONDS) * 1e6).astype(np.int64)


def _series_values(series: SeriesArrays, ref: Ref) -> Column:
    if isinstance(ref, ColumnRef):
        return _series_column(series, ref.name, ref.type)
    lists = series.fields.get(ref.column.name)
    if lists is None:
        return empty_column(ref.type, len(series))
    return subquery_column(ref, lists, len(series))


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
    if isinstance(values, ListValues):
        raise TypeError("a list is read through a subquery only")
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
    if isinstance(values, ListValues):
        return lists_at(values, rows)
    return values[rows] if isinstance(values, np.ndarray) else _labels_at(values, rows)


class TableFrame:
    """Rows of one summary table whose index lies in the window."""

    def __init__(self, arrays: TableArrays, start_us: int, end_us: int) -> None:
        within: Mask = (arrays.index_us >= start_us) & (arrays.index_us < end_us)
        self._kept: Rows | None = None if within.all() else np.flatnonzero(within)
        self._arrays = arrays
        self.instant_us: Ints = arrays.index_us if self._kept is None else arrays.index_us[self._kept]
        self.rows = len(self.instant_us)
        self._columns: dict[Ref, Column] = {}

    def column(self, ref: Ref) -> Column:
        if ref not in self._columns:
            self._columns[ref] = self._build(ref)
        return self._columns[ref]

    def _build(self, ref: Ref) -> Column:
        rows = len(self._arrays)
        if isinstance(ref, SubqueryRef):
            return subquery_column(ref, self._arrays.columns[ref.column.name], rows).take(self._kept)
        if ref.name == INDEX:
            return Column(ref.type, self.instant_us)
        cells = self._arrays.columns[ref.name]
        if isinstance(cells, ListValues):
            raise TypeError("a list column is read through a subquery only")
        return table_column(ref.type, cells, rows).take(self._kept)

    def parts(self) -> tuple[int, Ints | None]:
        return 1, None

    def sources(self, order: SourceOrder) -> Sources:
        listed = list(zip(self._texts("source_provider"), self._texts("source_type"), strict=True))
        ranks, names = _ranked(listed, order)
        return Sources(names, None if len(names) < 2 else np.array(ranks, np.int64))

    def _texts(self, name: str) -> list[str]:
        column = self.column(ColumnRef(name, ColumnType.STRING))
        names = [*column.categories, ""]
        missing = len(column.categories)
        codes = column.values if column.valid is None else np.where(column.valid, column.values, missing)
        return [names[int(code)] for code in codes]
