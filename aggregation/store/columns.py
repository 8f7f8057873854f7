"""Operations over columns of samples: joining, picking rows, comparing rows to the bit, and merging."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aggregation.codec import BlockColumns, ExtraColumn, LabelColumn
from aggregation.records import SampleColumns

Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]

_NO_LABELS = LabelColumn(np.zeros(0, np.int32), ())


def labels_of(texts: Sequence[str | None] | None) -> LabelColumn | None:
    """Texts as codes into a dictionary; None where no sample has one."""
    if texts is None or not any(text is not None for text in texts):
        return None
    codes: dict[str, int] = {}
    column = [-1 if text is None else codes.setdefault(text, len(codes)) for text in texts]
    return LabelColumn(np.array(column, np.int32), tuple(codes))


def label_texts(labels: LabelColumn | None, size: int) -> list[str | None]:
    """One text a sample."""
    if labels is None:
        return [None] * size
    names = (*labels.names, None)  # a code of -1 finds the None
    return [names[code] for code in labels.codes.tolist()]


def block_of(samples: SampleColumns, *, interval: bool) -> BlockColumns:
    """Samples on their way in as a block. An interval without an end is as long as an instant."""
    end_us = samples.end_us if samples.end_us is not None else samples.start_us
    return BlockColumns(
        start_us=np.asarray(samples.start_us, np.int64),
        offset_seconds=np.asarray(samples.offset_seconds, np.int32),
        value=np.asarray(samples.value, np.float64),
        end_us=np.asarray(end_us, np.int64) if interval else None,
        type=labels_of(samples.type),
    )


def block_take(block: BlockColumns, rows: Rows | slice | Mask) -> BlockColumns:
    """Some of the samples."""
    return BlockColumns(
        start_us=block.start_us[rows],
        offset_seconds=block.offset_seconds[rows],
        value=None if block.value is None else block.value[rows],
        end_us=None if block.end_us is None else block.end_us[rows],
        type=_labels_take(block.type, rows),
        unit=_labels_take(block.unit, rows),
        extra={name: _extra_take(column, rows) for name, column in block.extra.items()},
    )


def _labels_take(labels: LabelColumn | None, rows: Rows | slice | Mask) -> LabelColumn | None:
    """Without the names that are no longer used, so that a dictionary never outgrows its block."""
    if labels is None:
        return None
    used, codes = np.unique(labels.codes[rows], return_inverse=True)
    names = tuple(labels.names[code] for code in used.tolist() if code >= 0)
    if not names:
        return None
    return LabelColumn((codes - (used[0] < 0)).astype(np.int32), names)


def _extra_take(column: ExtraColumn, rows: Rows | slice | Mask) -> ExtraColumn:
    if isinstance(column, LabelColumn):
        return _labels_take(column, rows) or LabelColumn(column.codes[rows], ())
    return column[rows]


def block_join(blocks: Sequence[BlockColumns]) -> BlockColumns:
    """The samples of all blocks, one below the other. A column that only some have is empty for the others."""
    if len(blocks) == 1:
        return blocks[0]
    sizes = [len(block) for block in blocks]
    names = dict.fromkeys(name for block in blocks for name in block.extra)
    has_end = any(block.end_us is not None for block in blocks)
    return BlockColumns(
        start_us=np.concatenate([block.start_us for block in blocks]),
        offset_seconds=np.concatenate([block.offset_seconds for block in blocks]),
        value=_floats_join([block.value for block in blocks], sizes),
        end_us=np.concatenate([block.start_us if block.end_us is None else block.end_us for block in blocks])
        if has_end
        else None,
        type=_labels_join([block.type for block in blocks], sizes),
        unit=_labels_join([block.unit for block in blocks], sizes),
        extra={name: _extra_join([block.extra.get(name) for block in blocks], sizes) for name in names},
    )


def _floats_join(columns: Sequence[NDArray[np.float64] | None], sizes: Sequence[int]) -> NDArray[np.float64] | None:
    if all(column is None for column in columns):
        return None
    return np.concatenate(
        [np.full(size, np.nan) if column is None else column for column, size in zip(columns, sizes, strict=True)]
    )


def _labels_join(columns: Sequence[LabelColumn | None], sizes: Sequence[int]) -> LabelColumn | None:
    if all(column is None for column in columns):
        return None
    codes: dict[str, int] = {}
    pieces = []
    for column, size in zip(columns, sizes, strict=True):
        if column is None:
            pieces.append(np.full(size, -1, np.int32))
            continue
        ours = [codes.setdefault(name, len(codes)) for name in column.names]
        pieces.append(np.array([*ours, -1], np.int32)[column.codes])
    return LabelColumn(np.concatenate(pieces), tuple(codes))


def _extra_join(columns: Sequence[ExtraColumn | None], sizes: Sequence[int]) -> ExtraColumn:
    labels = [column for column in columns if isinstance(column, LabelColumn)]
    if labels:
        texts = [column if isinstance(column, LabelColumn) else None for column in columns]
        return _labels_join(texts, sizes) or _NO_LABELS
    joined = _floats_join([None if isinstance(column, LabelColumn) else column for column in columns], sizes)
    return joined if joined is not None else np.zeros(0)


def rows_equal(block: BlockColumns, left: Rows, right: Rows) -> Mask:
    """Whether two samples each are the same in every column, to the bit (0.0 is not -0.0)."""
    equal: Mask = block.offset_seconds[left] == block.offset_seconds[right]
    for column in _bits(block):
        equal &= column[left] == column[right]
    return equal


def _bits(block: BlockColumns) -> Iterable[NDArray[np.int64] | NDArray[np.int32]]:
    if block.end_us is not None:
        yield block.end_us
    if block.value is not None:
        yield block.value.view(np.int64)
    for column in (block.type, block.unit, *block.extra.values()):
        if isinstance(column, LabelColumn):
            yield column.codes
        elif column is not None:
            yield column.view(np.int64)


@dataclass(frozen=True, slots=True)
class Counts:
    """What came of samples on their way in, counted as if they had come one after another."""

    created: int = 0
    changed: int = 0
    unchanged: int = 0

    def plus(self, more: "Counts") -> "Counts":
        """The sums."""
        return Counts(self.created + more.created, self.changed + more.changed, self.unchanged + more.unchanged)


@dataclass(frozen=True, slots=True)
class Merged:
    """The outcome of a merge: `samples` in order of time, and which of them are new or have another content."""

    samples: BlockColumns
    created: Mask
    changed: Mask
    counts: Counts


def block_merge(stored: BlockColumns | None, incoming: BlockColumns) -> Merged:
    """Lay `incoming` over `stored`: of equal timestamps the last received counts, in every column."""
    stored_size = 0 if stored is None else len(stored)
    both = incoming if stored is None else block_join([stored, incoming])
    # Stable: of equal times the stored one comes first, then the incoming ones in their order.
    order = np.argsort(both.start_us, kind="stable")
    times = both.start_us[order]
    again = np.zeros(len(times), np.bool_)
    again[1:] = times[1:] == times[:-1]
    incoming_rows = order >= stored_size
    same_as_before = np.zeros(len(times), np.bool_)
    same_as_before[1:] = again[1:] & rows_equal(both, order[1:], order[:-1])
    first = np.flatnonzero(~again)
    last = np.append(first[1:], len(times)) - 1
    was_stored = ~incoming_rows[first]
    kept = order[last]
    differs = ~rows_equal(both, order[first], kept)
    received = int(incoming_rows.sum())
    created = int((incoming_rows & ~again).sum())
    unchanged = int((incoming_rows & same_as_before).sum())
    return Merged(
        samples=block_take(both, kept),
        created=~was_stored,
        changed=was_stored & differs,
        counts=Counts(created, received - created - unchanged, unchanged),
    )
