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
from aggregation.query.schema import ColumnType

#: Cells of the median's matrix for each value.
_MAX_PADDING = 4


@dataclass(frozen=True, slots=True)
class Segments:
    """The values of a column that are there, group by group in time order, of `count` groups.

    group: which groups have any; starts and sizes: where their values begin, and how many there are.
    """

    column: Column
    count: int
    group: Ints
    starts: Ints
    sizes: Ints


def segments(column: Column, of_row: Ints, count: int) -> Segments:
    """Cut a column whose rows are sorted by group; rows without a value are left out."""
    if column.valid is not None:
        present = np.flatnonzero(column.valid)
        column = Column(column.type, values_at(column.values, present), None, column.categories)
        of_row = of_row[present]
    if len(of_row) == 0:
        none = np.zeros(0, np.int64)
        return Segments(column, count, none, none, none)
    starts = run_starts(of_row)
    sizes = np.diff(starts, append=len(of_row))
    return Segments(column, count, of_row[starts], starts, sizes)


def reduced(function: Function, cut: Segments) -> Column:
    """One value a group."""
    if function is Function.COUNT:
        counts = np.zeros(cut.count, np.int64)
        counts[cut.group] = cut.sizes
        return Column(ColumnType.INT64, counts)
    if len(cut.group) == 0:
        return empty_column(_result_type(function, cut.column.type), cut.count)
    values = cut.column.values
    if function is Function.OLDEST:
        return _spread(cut, values[cut.starts])
    if function is Function.NEWEST:
        return _spread(cut, values[cut.starts + cut.sizes - 1])
    if function is Function.MIN:
        return _spread(cut, np.minimum.reduceat(values, cut.starts))
    if function is Function.MAX:
        return _spread(cut, np.maximum.reduceat(values, cut.starts))
    if function is Function.SUM:
        return _sum(cut)
    return _spread_floats(cut, _statistic(function, cut))


def _result_type(function: Function, column_type: ColumnType) -> ColumnType:
    if function in {Function.MEAN, Function.MEDIAN, Function.STDDEV}:
        return ColumnType.FLOAT64
    return ColumnType.INT64 if function is Function.SUM and column_type is ColumnType.INT16 else column_type


def _sum(cut: Segments) -> Column:
    with np.errstate(over="ignore"):
        sums = np.add.reduceat(cut.column.values, cut.starts)
    if cut.column.type is ColumnType.FLOAT64:
        return _spread_floats(cut, sums.astype(np.float64, copy=False))
    return _spread(cut, sums, ColumnType.INT64)


def _statistic(function: Function, cut: Segments) -> Floats:
    values = cut.column.values.astype(np.float64, copy=False)
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


def _median(values: Floats, cut: Segments) -> Floats:
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


def _spread(cut: Segments, values: Values, column_type: ColumnType | None = None) -> Column:
    """The results of the groups that have any, among all groups."""
    kind = column_type or cut.column.type
    if len(cut.group) == cut.count:
        return Column(kind, values, None, cut.column.categories)
    everywhere = np.zeros(cut.count, values.dtype)
    everywhere[cut.group] = values
    valid: Mask = np.zeros(cut.count, np.bool_)
    valid[cut.group] = True
    return Column(kind, cast("Values", everywhere), valid, cut.column.categories)


def _spread_floats(cut: Segments, values: Floats) -> Column:
    everywhere = np.full(cut.count, np.nan)
    everywhere[cut.group] = values
    return float_column(everywhere)
