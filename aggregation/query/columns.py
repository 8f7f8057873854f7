"""Columns of rows while a query runs: one float64 or int64 array each, with a mask of what has a value."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from aggregation.query.reader import Labels, TableValues
from aggregation.query.schema import TIME_TYPES, ColumnType

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Values: TypeAlias = Floats | Ints
Mask: TypeAlias = NDArray[np.bool_]
Rows: TypeAlias = NDArray[np.intp]

DAY_US = 86_400_000_000
_EPOCH_ON = date(1970, 1, 1)
_EPOCH = datetime.combine(_EPOCH_ON, time())
_EPOCH_UTC = datetime.combine(_EPOCH_ON, time(), tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Column:
    """Floats for float64, ints for everything else.

    Ints are numbers, truth values (0, 1), microseconds (of times; of a date's midnight), or for texts the positions
    in `categories`, which are sorted, so that positions compare as their texts do.
    valid: None where every row has a value; what `values` holds in rows without one means nothing.
    """

    type: ColumnType
    values: Values
    valid: Mask | None = None
    categories: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: Rows | None) -> "Column":
        """The column at these rows; None means all of them."""
        if rows is None:
            return self
        valid = None if self.valid is None else self.valid[rows]
        return Column(self.type, values_at(self.values, rows), valid, self.categories)

    def masked(self, keep: Mask) -> "Column":
        """The column with no value outside `keep`."""
        valid = keep if self.valid is None else self.valid & keep
        return Column(self.type, self.values, valid, self.categories)


def values_at(values: Values, rows: Rows) -> Values:
    """The values of some rows."""
    return values[rows]


def ascends(values: Values) -> bool:
    """Whether no value is smaller than the one before it."""
    return bool((values[1:] >= values[:-1]).all())


def run_starts(values: Values) -> Ints:
    """Where runs of equal values begin, of at least one value."""
    return np.append(np.zeros(1, np.int64), np.flatnonzero(values[1:] != values[:-1]) + 1)


def float_column(values: Floats) -> Column:
    """Numbers; NaN and infinities count as no value, so that they reach no result."""
    finite = np.isfinite(values)
    return Column(ColumnType.FLOAT64, values, None if finite.all() else finite)


def empty_column(column_type: ColumnType, rows: int) -> Column:
    """No value in any row."""
    values: Values = np.zeros(rows, np.int64)
    if column_type is ColumnType.FLOAT64:
        values = np.zeros(rows, np.float64)
    return Column(column_type, values, np.zeros(rows, np.bool_))


def labels_column(labels: Labels | Sequence[str | None]) -> Column:
    """Texts; equal names become one category."""
    if not isinstance(labels, Labels):
        names = list(dict.fromkeys(label for label in labels if label is not None))
        position = {name: index for index, name in enumerate(names)}
        codes = [-1 if label is None else position[label] for label in labels]
        labels = Labels(np.array(codes, np.int64), names)
    categories = tuple(sorted(set(labels.names)))
    position = {name: index for index, name in enumerate(categories)}
    mapping = np.array([*(position[name] for name in labels.names), 0], np.int64)
    valid = labels.codes >= 0
    return Column(ColumnType.STRING, mapping[labels.codes], None if valid.all() else valid, categories)


def constant_text(text: str | None, rows: int) -> Column:
    """The same text in every row."""
    if text is None:
        return empty_column(ColumnType.STRING, rows)
    return Column(ColumnType.STRING, np.zeros(rows, np.int64), None, (text,))


def table_column(column_type: ColumnType, cells: TableValues, rows: int) -> Column:
    """A summary column from the cells a reader gave."""
    if len(cells.codes if isinstance(cells, Labels) else cells) != rows:
        raise ValueError("a reader gave columns of unequal length")
    if isinstance(cells, Labels):
        return labels_column(cells)
    if column_type is ColumnType.STRING:
        return labels_column([None if cell is None else str(cell) for cell in cells])
    if column_type is ColumnType.FLOAT64:
        return float_column(np.array([np.nan if cell is None else cell for cell in cells], np.float64))
    present = np.array([cell is not None for cell in cells], np.bool_)
    if column_type in TIME_TYPES:
        ints = [0 if cell is None else _microseconds(cell) for cell in cells]
    else:
        ints = [0 if cell is None else _whole(cell) for cell in cells]
    return Column(column_type, np.array(ints, np.int64), None if present.all() else present)


def _whole(cell: object) -> int:
    if isinstance(cell, bool | int | np.integer | np.bool_):
        return int(cell)
    if isinstance(cell, float | np.floating) and float(cell).is_integer():
        return int(cell)
    raise TypeError("a reader gave a cell that is no whole number in a column of whole numbers")


def _microseconds(cell: object) -> int:
    if isinstance(cell, datetime):
        return (cell - (_EPOCH if cell.tzinfo is None else _EPOCH_UTC)) // _MICROSECOND
    if isinstance(cell, date):
        return (cell - _EPOCH_ON).days * DAY_US
    return _whole(cell)


def concatenated(columns: Sequence[Column]) -> Column:
    """Columns of one type, one below the other."""
    if len(columns) == 1:
        return columns[0]
    first = columns[0]
    valid: Mask | None = None
    if any(column.valid is not None for column in columns):
        masks = [np.ones(len(one), np.bool_) if one.valid is None else one.valid for one in columns]
        valid = np.concatenate(masks)
    if first.type is not ColumnType.STRING:
        return Column(first.type, np.concatenate([column.values for column in columns]), valid)
    categories = tuple(sorted({name for column in columns for name in column.categories}))
    codes = np.concatenate([recoded(column, categories) for column in columns])
    return Column(ColumnType.STRING, codes, valid, categories)


def recoded(column: Column, categories: tuple[str, ...]) -> Ints:
    """The positions of a text column's values in other categories that hold all of its own."""
    if column.categories == categories:
        return column.values.astype(np.int64, copy=False)
    position = {name: index for index, name in enumerate(categories)}
    mapping = np.array([*(position[name] for name in column.categories), 0], np.int64)
    codes = np.where(column.valid, column.values, -1) if column.valid is not None else column.values
    recoded_values: Ints = mapping[codes.astype(np.int64, copy=False)]
    return recoded_values
