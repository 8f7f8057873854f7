"""Columns of keys → groups, and the order of rows by group."""

from collections.abc import Sequence
from typing import cast

import numpy as np

from aggregation.query.columns import (
    Column,
    Ints,
    Rows,
    Values,
    ascends,
    concatenated,
    empty_column,
    run_starts,
    values_at,
)
from aggregation.query.schema import ColumnType

#: A key whose values span at most this many numbers is made dense by a table instead of a sort.
_TABLE_SPAN = 1 << 22


def dense_codes(column: Column) -> tuple[Ints, Column]:
    """A code per row, growing with the value and last where there is none, and the value of each code."""
    if column.valid is None:
        codes, distinct = _dense(column)
        return codes, Column(column.type, distinct, None, column.categories)
    present = np.flatnonzero(column.valid)
    codes_present, distinct = _dense(column.take(present))
    codes = np.full(len(column), len(distinct), np.int64)
    codes[present] = codes_present
    if len(present) == len(column):
        return codes, Column(column.type, distinct, None, column.categories)
    found = Column(column.type, distinct, None, column.categories)
    return codes, concatenated([found, empty_column(column.type, 1)])


def _dense(column: Column) -> tuple[Ints, Values]:
    values = column.values
    if len(values) == 0:
        return np.zeros(0, np.int64), values
    if ascends(values):
        starts = run_starts(values)
        sizes = np.diff(starts, append=len(values))
        return np.repeat(np.arange(len(starts), dtype=np.int64), sizes), values_at(values, starts)
    if column.type is not ColumnType.FLOAT64:
        first = int(values.min())
        span = int(values.max()) - first + 1
        if span <= _TABLE_SPAN:
            shifted = values.astype(np.int64, copy=False) - first
            present = np.zeros(span, np.bool_)
            present[shifted] = True
            lookup = np.cumsum(present, dtype=np.int64) - 1
            return lookup[shifted], np.flatnonzero(present).astype(np.int64) + first
    distinct, codes = np.unique(values, return_inverse=True)
    return codes.astype(np.int64, copy=False), cast("Values", distinct)


def group_rows(keys: Sequence[Column], rows: int) -> tuple[Ints, int, tuple[Column, ...]]:
    """The group of each row, how many groups there are, and their keys; groups are in the order of their keys.

    Without keys all rows are one group, which is there even where there are no rows.
    """
    if not keys:
        return np.zeros(rows, np.int64), 1, ()
    combined, first = dense_codes(keys[0])
    distinct = [first]
    if len(keys) == 1:
        return combined, len(first), (first,)
    for key in keys[1:]:
        codes, values = dense_codes(key)
        distinct.append(values)
        pairs = Column(ColumnType.INT64, combined * max(len(values), 1) + codes)
        combined, _ = dense_codes(pairs)
    count = int(combined.max()) + 1 if rows else 0
    example = np.zeros(count, np.intp)
    example[combined] = np.arange(rows)
    return combined, count, tuple(_at(key, example) for key in keys)


def _at(key: Column, example: Rows) -> Column:
    return key.take(example) if len(example) else empty_column(key.type, 0)


def best_sources(of_row: Ints, count: int, ranks: Ints, parts: int, part_of: Ints | None) -> Rows:
    """The rows whose source has the best (lowest) rank in its group, among the rows of its own resource."""
    cell = of_row if part_of is None else of_row * parts + part_of
    best = np.full(count * parts, np.iinfo(np.int64).max, np.int64)
    np.minimum.at(best, cell, ranks)
    return np.flatnonzero(ranks == best[cell])


def sorted_rows(of_row: Ints, instants_us: Ints) -> Rows | None:
    """The order by group, then time, then the reader's order; None where the rows already have it."""
    if ascends(of_row) and ascends(instants_us):
        return None
    by_time = np.argsort(instants_us, kind="stable")
    return by_time[np.argsort(of_row[by_time], kind="stable")]
