"""The nine functions over the groups of a column, without a loop over groups or rows.

A function sees the values that are there; a group without any has no result, and a count of 0. `stddev` is the sample
standard deviation (n - 1), so it needs two values.
"""

from dataclasses import dataclass
from typing import cast

import numpy as np

from aggregation.query.columns import (
    Column,
    Floats,
    Ints,
    Mask,
    Values,
    empty_column,
    float_column,
    run_starts,
    values_at,
)
from aggregation.query.nodes import Function
from aggregation.query.resolved import result_type
from aggregation.query.schema import ColumnType

#: Cells of the median's matrix for each value.
_MAX_PADDING = 4


@dataclass(frozen=True, slots=True)
class Cut:
    """Where rows that are sorted by group begin to be of another one of `count` groups.

    group: which groups have any rows; starts and sizes: where they begin, and how many there are.
    """

    count: int
    group: Ints
    starts: Ints
    sizes: Ints

    def of_row(self) -> Ints:
        """The group of each row."""
        of_row: Ints = np.repeat(self.group, self.sizes)
        return of_row


@dataclass(frozen=True, slots=True)
class Segments:
    """The values of a column that are there, cut into groups, in time order within one."""

    column: Column
    cut: Cut


def cut_of(of_row: Ints, count: int) -> Cut:
    """The cut of rows whose groups never decrease."""
    if len(of_row) == 0:
        none = np.zeros(0, np.int64)
        return Cut(count, none, none, none)
    starts = run_starts(of_row)
    return Cut(count, of_row[starts], starts, np.diff(starts, append=len(of_row)))


def segments(column: Column, cut: Cut) -> Segments:
    """Cut a column; rows without a value are left out."""
    if column.valid is None:
        return Segments(column, cut)
    present = np.flatnonzero(column.valid)
    values = Column(column.type, values_at(column.values, present), None, column.categories)
    return Segments(values, cut_of(cut.of_row()[present], cut.count))


def reduced(function: Function, data: Segments) -> Column:
    """One value a group."""
    column, cut = data.column, data.cut
    if function is Function.COUNT:
        counts = np.zeros(cut.count, np.int64)
        counts[cut.group] = cut.sizes
        return Column(ColumnType.INT64, counts)
    if len(cut.group) == 0:
        return empty_column(result_type(function, column.type), cut.count)
    values = column.values
    if function is Function.OLDEST:
        return _spread(data, values[cut.starts])
    if function is Function.NEWEST:
        return _spread(data, values[cut.starts + cut.sizes - 1])
    if function is Function.MIN:
        return _spread(data, np.minimum.reduceat(values, cut.starts))
    if function is Function.MAX:
        return _spread(data, np.maximum.reduceat(values, cut.starts))
    if function is Function.SUM:
        return _sum(data)
    return _spread_floats(cut, _statistic(function, data))


def _sum(data: Segments) -> Column:
    with np.errstate(over="ignore"):
        sums = np.add.reduceat(data.column.values, data.cut.starts)
    if data.column.type is ColumnType.FLOAT64:
        return _spread_floats(data.cut, sums.astype(np.float64, copy=False))
    return _spread(data, sums, ColumnType.INT64)


def _statistic(function: Function, data: Segments) -> Floats:
    values, cut = data.column.values.astype(np.float64, copy=False), data.cut
    with np.errstate(over="ignore", invalid="ignore"):
        if function is Function.MEDIAN:
            return _median(values, cut)
        means: Floats = np.add.reduceat(values, cut.starts) / cut.sizes
        if function is Function.MEAN:
            return means
        deviations = values - np.repeat(means, cut.sizes)
        squares = np.add.reduceat(deviations * deviations, cut.starts)
        alone = cut.sizes < 2
        deviation: Floats = np.sqrt(squares / np.where(alone, 1, cut.sizes - 1))
        deviation[alone] = np.nan
        return deviation


def _median(values: Floats, cut: Cut) -> Floats:
    group = np.repeat(np.arange(len(cut.group)), cut.sizes)
    widest = int(cut.sizes.max())
    if len(cut.group) * widest <= _MAX_PADDING * len(values):
        # Groups of like size: one short sort a row of a matrix, much cheaper than one sort of all values.
        matrix = np.full((len(cut.group), widest), np.inf)
        matrix[group, np.arange(len(values)) - cut.starts[group]] = values
        matrix.sort(axis=1)
        ordered, first = matrix.ravel(), np.arange(len(cut.group)) * widest
    else:
        ordered, first = values[np.lexsort((values, group))], cut.starts
    middle: Floats = (ordered[first + (cut.sizes - 1) // 2] + ordered[first + cut.sizes // 2]) / 2
    return middle


def _spread(data: Segments, values: Values, column_type: ColumnType | None = None) -> Column:
    """The results of the groups that have any, among all groups."""
    cut, kind = data.cut, column_type or data.column.type
    if len(cut.group) == cut.count:
        return Column(kind, values, None, data.column.categories)
    everywhere = np.zeros(cut.count, values.dtype)
    everywhere[cut.group] = values
    valid: Mask = np.zeros(cut.count, np.bool_)
    valid[cut.group] = True
    return Column(kind, cast("Values", everywhere), valid, data.column.categories)


def _spread_floats(cut: Cut, values: Floats) -> Column:
    everywhere = np.full(cut.count, np.nan)
    everywhere[cut.group] = values
    return float_column(everywhere)
