"""Operations over columns of samples: joining, picking rows, comparing rows to the bit, and merging."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aggregation.codec import BlockColumns, ExtraColumn, LabelColumn, blocks_decode
from aggregation.records import FieldColumn, SampleColumns

Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]


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


def block_of(samples: SampleColumns, *, interval: bool, fields: Collection[str] | None = None) -> BlockColumns:
    """Samples on their way in as a block. An interval without an end is as long as an instant.

    `fields` are the resource's own; others are left out. A column in which no sample has anything is left out too.
    """
    end_us = samples.end_us if samples.end_us is not None else samples.start_us
    value = None if samples.value is None else np.asarray(samples.value, np.float64)
    extra = {name: _extra_of(column) for name, column in samples.fields.items() if fields is None or name in fields}
    return BlockColumns(
        start_us=np.asarray(samples.start_us, np.int64),
        offset_seconds=np.asarray(samples.offset_seconds, np.int32),
        value=None if value is None or np.isnan(value).all() else value,
        end_us=np.asarray(end_us, np.int64) if interval else None,
        type=labels_of(samples.type),
        extra={name: column for name, column in extra.items() if column is not None},
    )


def _extra_of(column: FieldColumn) -> ExtraColumn | None:
    if not isinstance(column, np.ndarray):
        return labels_of(column)
    absent = np.isnan(column)
    # One NaN for all, since columns are compared by their bits.
    return None if absent.all() else np.where(absent, np.nan, column)


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
    return blocks[0] if len(blocks) == 1 else blocks_decode(blocks)


def block_layer(blocks: Sequence[BlockColumns]) -> BlockColumns:
    """All samples in order of time; of equal timestamps that of the later block stands, in every column."""
    joined = block_join(blocks)
    if is_ascending(joined):
        return joined
    order = np.argsort(joined.start_us, kind="stable")
    times = joined.start_us[order]
    return block_take(joined, order[np.append(times[1:] != times[:-1], True)])


def is_ascending(block: BlockColumns) -> bool:
    """Whether each sample begins after the one before it."""
    return bool((block.start_us[1:] > block.start_us[:-1]).all())


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
    if (not stored_size or incoming.start_us[0] > both.start_us[stored_size - 1]) and is_ascending(incoming):
        # Nothing but new samples at the end, as most writes are: there is nothing to compare.
        is_new = np.arange(len(both)) >= stored_size
        return Merged(both, is_new, np.zeros(len(both), np.bool_), Counts(created=len(incoming)))
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
