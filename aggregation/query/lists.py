"""Scalar subqueries over list columns: the elements of all rows at once, cut where one row's elements end."""

from collections.abc import Sequence
from typing import cast

import numpy as np

from aggregation.query.columns import Column, Ints, Rows, table_column
from aggregation.query.filter import condition_mask
from aggregation.query.reader import Labels, ListValues, TableValues
from aggregation.query.reduce import cut_of, reduced, segments
from aggregation.query.resolved import ColumnRef, SubqueryRef
from aggregation.query.schema import ColumnType


def subquery_column(ref: SubqueryRef, lists: object, rows: int) -> Column:
    """One value a row; none where a row has no list, and the function of no elements where it has an empty one."""
    if not isinstance(lists, ListValues):
        raise TypeError("a reader gave something else than lists in a list column")
    if len(lists) != rows:
        raise ValueError("a reader gave columns of unequal length")
    of_row: Ints = np.repeat(np.arange(rows, dtype=np.int64), np.diff(lists.offsets))
    elements_count = len(of_row)

    def column_of(field: ColumnRef) -> Column:
        return table_column(field.type, lists.fields[field.name], elements_count)

    elements = Column(ColumnType.INT64, of_row) if ref.field is None else column_of(ref.field)
    if ref.where is not None:
        kept = np.flatnonzero(condition_mask(ref.where, column_of))
        of_row, elements = of_row[kept], elements.take(kept)
    result = reduced(ref.function, segments(elements, cut_of(of_row, rows)))
    return result if lists.present is None else result.masked(lists.present)


def lists_at(lists: ListValues, rows: Rows) -> ListValues:
    """The lists of these rows."""
    sizes = np.diff(lists.offsets)[rows]
    offsets = np.append(np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64))
    elements = np.repeat(lists.offsets[:-1][rows] - offsets[:-1], sizes) + np.arange(offsets[-1])
    present = None if lists.present is None else lists.present[rows]
    return ListValues(offsets, {name: _cells_at(cells, elements) for name, cells in lists.fields.items()}, present)


def _cells_at(cells: TableValues, places: Rows) -> TableValues:
    if isinstance(cells, Labels):
        return Labels(cells.codes[places], cells.names)
    if isinstance(cells, np.ndarray):
        return cast("TableValues", cells[places])
    listed: Sequence[object] = cells
    return cast("TableValues", [listed[place] for place in places.tolist()])
