"""Columns that several blocks fill one after the other."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from aggregation.codec.form import BlockColumns, Column, Floats, Ints, LabelColumn

_Pieces: TypeAlias = list[tuple[slice, LabelColumn]]


def _labels_joined(pieces: Iterable[tuple[slice, LabelColumn]], size: int) -> LabelColumn:
    """Labels of some rows of `size` as one column; the other rows have none."""
    joined = np.full(size, -1, np.int32)
    codes: dict[str, int] = {}
    for rows, piece in pieces:
        ours = [codes.setdefault(name, len(codes)) for name in piece.names]
        if ours == list(range(len(ours))):
            joined[rows] = piece.codes
        else:
            joined[rows] = np.array([*ours, -1], np.int32)[piece.codes]
    return LabelColumn(joined, tuple(codes))


class Sheet:
    """Columns as long as all blocks together, of which each block fills its rows. All must set start and offset."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.start_us: Ints = np.empty(size, np.int64)
        self._offset_seconds: NDArray[np.int32] = np.empty(size, np.int32)
        #: Stretches of rows with one offset, not written yet.
        self._offsets: list[tuple[slice, int]] = []
        self._value: Floats | None = None
        self._end_us: Ints | None = None
        self._valued_rows: list[slice] = []
        self._ended_rows: list[slice] = []
        self._floats: dict[str, Floats] = {}
        self._labels: dict[Column, _Pieces] = {}
        self._extra_labels: dict[str, _Pieces] = {}
        #: The columns of `extra` in the order in which they came.
        self._names: dict[str, None] = {}

    def offset(self, rows: slice, seconds: int) -> None:
        """The one offset of some rows. Most series have one for months."""
        if self._offsets:
            before, known = self._offsets[-1]
            if known == seconds and before.stop == rows.start:
                self._offsets[-1] = (slice(before.start, rows.stop), seconds)
                return
        self._offsets.append((rows, seconds))

    def offsets(self, rows: slice, seconds: NDArray[np.signedinteger]) -> None:
        """The offsets of some rows."""
        self._offset_seconds[rows] = seconds

    def values(self, rows: slice) -> Floats:
        """Where the values of some rows go."""
        if self._value is None:
            self._value = np.empty(self.size)
        self._valued_rows.append(rows)
        return self._value[rows]

    def ends(self, rows: slice) -> Ints:
        """Where the ends of some rows go."""
        if self._end_us is None:
            self._end_us = np.empty(self.size, np.int64)
        self._ended_rows.append(rows)
        return self._end_us[rows]

    def floats(self, name: str, rows: slice) -> Floats:
        """Where an extra column of numbers of some rows goes."""
        self._names.setdefault(name)
        if name not in self._floats:
            self._floats[name] = np.full(self.size, np.nan)
        return self._floats[name][rows]

    def labels(self, column: Column, rows: slice, labels: LabelColumn) -> None:
        """The types or units of some rows."""
        self._labels.setdefault(column, []).append((rows, labels))

    def extra_labels(self, name: str, rows: slice, labels: LabelColumn) -> None:
        """An extra column of texts of some rows."""
        self._names.setdefault(name)
        self._extra_labels.setdefault(name, []).append((rows, labels))

    def put(self, rows: slice, block: BlockColumns) -> None:
        """Samples that are decoded already."""
        self.start_us[rows] = block.start_us
        self._offset_seconds[rows] = block.offset_seconds
        if block.value is not None:
            self.values(rows)[:] = block.value
        if block.end_us is not None:
            self.ends(rows)[:] = block.end_us
        for column, labels in ((Column.TYPE, block.type), (Column.UNIT, block.unit)):
            if labels is not None:
                self.labels(column, rows, labels)
        for name, extra in block.extra.items():
            if isinstance(extra, LabelColumn):
                self.extra_labels(name, rows, extra)
            else:
                self.floats(name, rows)[:] = extra

    def block(self) -> BlockColumns:
        """All rows. A row without a value has NaN, one without an end has its start, where others have one."""
        for rows, seconds in self._offsets:
            self._offset_seconds[rows] = seconds
        if self._value is not None and (missing := self._missing(self._valued_rows)) is not None:
            self._value[missing] = np.nan
        if self._end_us is not None and (missing := self._missing(self._ended_rows)) is not None:
            self._end_us[missing] = self.start_us[missing]
        return BlockColumns(
            start_us=self.start_us,
            offset_seconds=self._offset_seconds,
            value=self._value,
            end_us=self._end_us,
            type=self._joined(self._labels.get(Column.TYPE)),
            unit=self._joined(self._labels.get(Column.UNIT)),
            extra={name: self._joined(self._extra_labels.get(name)) or self._floats[name] for name in self._names},
        )

    def _missing(self, filled: Sequence[slice]) -> NDArray[np.bool_] | None:
        """The rows that are not in `filled`; None where all are."""
        if sum(rows.stop - rows.start for rows in filled) == self.size:
            return None
        missing = np.ones(self.size, np.bool_)
        for rows in filled:
            missing[rows] = False
        return missing

    def _joined(self, pieces: _Pieces | None) -> LabelColumn | None:
        if pieces is None:
            return None
        rows, labels = pieces[0]
        return labels if rows.stop - rows.start == self.size else _labels_joined(pieces, self.size)
