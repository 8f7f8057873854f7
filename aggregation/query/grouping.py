"""Rows of a frame → groups: their keys, the sources that count in each, and the rows in order."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aggregation.query.buckets import bucket_numbers, bucket_runs, bucket_starts, date_parts
from aggregation.query.columns import Column, Floats, Ints, Rows, ascends
from aggregation.query.compile import QueryPlan
from aggregation.query.frame import Frame, Recorders, SeriesFrame, Sources
from aggregation.query.groups import best_sources, group_rows, sorted_rows
from aggregation.query.merge import Samples, counted_shares
from aggregation.query.priorities import SourceOrder
from aggregation.query.reduce import Cut, cut_of
from aggregation.query.resolved import INDEX, ColumnRef, Key, KeyColumn, KeyTrunc
from aggregation.query.schema import ColumnType


@dataclass(frozen=True, slots=True)
class Merged:
    """Of each row of merged sources: the place of its source in `names`, and how much of it counts."""

    names: tuple[tuple[str, str], ...]
    ranks: Ints
    shares: Floats


@dataclass(frozen=True, slots=True)
class Groups:
    """Rows in the order of their groups, every group with at least one row (or one group of all rows).

    rows: positions in the frame, group by group, in time order within one; None means the frame's own order.
    keys: one column a group key, one value a group. merged: parallel to `rows`, where sources were merged.
    """

    rows: Rows | None
    cut: Cut
    keys: tuple[Column, ...]
    merged: Merged | None = None


def grouped(plan: QueryPlan, order: SourceOrder, frame: Frame, rows: Rows | None) -> Groups:
    """The groups of a frame's rows, or of some of them."""
    sources = frame.sources(order) if plan.keeps_best_source else Sources((), None)
    if sources.ranks is None and not plan.merges_sources:
        quick = _in_order(plan.query.keys, frame, rows)
        if quick is not None:
            return quick
    keys = [_key_column(key, frame).take(rows) for key in plan.query.keys]
    of_row, count, values = group_rows(keys, frame.rows if rows is None else len(rows))
    if isinstance(frame, SeriesFrame) and plan.merges_sources:
        return _merged(plan, frame, rows, keys, of_row, frame.recorders(order))
    if sources.ranks is not None:
        parts, part_of = frame.parts()
        of_part = None if part_of is None else at(part_of, rows)
        best = best_sources(of_row, count, at(sources.ranks, rows), parts, of_part)
        of_row, rows = of_row[best], composed(rows, best)
    in_time = sorted_rows(of_row, at(frame.instant_us, rows))
    if in_time is not None:
        of_row, rows = of_row[in_time], composed(rows, in_time)
    return Groups(rows, cut_of(of_row, count), _answered(plan.query.keys, values))


def _in_order(keys: Sequence[Key], frame: Frame, rows: Rows | None) -> Groups | None:
    """The buckets of rows that are in order already, which is how one source's samples come: nothing is sorted."""
    if len(keys) != 1 or not isinstance(keys[0], KeyTrunc):
        return None
    index_us = at(_index_us(frame), rows)
    if len(index_us) == 0 or not ascends(index_us):
        return None
    instants_us = at(frame.instant_us, rows)
    if instants_us is not index_us and not ascends(instants_us):
        return None
    starts, numbers = bucket_runs(index_us, keys[0].period)
    count = len(starts)
    cut = Cut(count, np.arange(count, dtype=np.int64), starts, np.diff(starts, append=len(index_us)))
    return Groups(rows, cut, _answered(keys, [Column(ColumnType.INT64, numbers)]))


def _merged(
    plan: QueryPlan, frame: SeriesFrame, rows: Rows | None, keys: Sequence[Column], of_row: Ints, recorders: Recorders
) -> Groups:
    """Gaps of the better recorders are filled; a group of which nothing counts is none."""
    ranks = at(recorders.ranks, rows)
    shares = np.ones(len(of_row), np.float64)
    if len(recorders.source_of) > 1:
        shares = _shares(plan, frame, rows, keys, of_row, ranks)
        kept = np.flatnonzero(shares > 0)
        keys, rows = [key.take(kept) for key in keys], composed(rows, kept)
        ranks, shares = ranks[kept], shares[kept]
    of_row, count, values = group_rows(keys, len(shares))
    in_time = sorted_rows(of_row, at(frame.instant_us, rows))
    if in_time is not None:
        of_row, rows = of_row[in_time], composed(rows, in_time)
        ranks, shares = ranks[in_time], shares[in_time]
    merged = Merged(recorders.names, recorders.source_of[ranks], shares)
    return Groups(rows, cut_of(of_row, count), _answered(plan.query.keys, values), merged)


def _shares(
    plan: QueryPlan, frame: SeriesFrame, rows: Rows | None, keys: Sequence[Column], of_row: Ints, ranks: Ints
) -> Floats:
    """How much of each row counts. What adds up is merged along the whole time line, so that hours make up days."""
    shares = np.ones(len(ranks), np.float64)
    starts_us, lengths_us = at(frame.instant_us, rows), at(frame.lengths_us(), rows)
    timeless = [column for key, column in zip(plan.query.keys, keys, strict=True) if isinstance(key, KeyColumn)]
    of_line, _, _ = group_rows(timeless, len(ranks))
    _, part_of = frame.parts()
    for place, resource in enumerate(frame.resources):
        adds_up = resource in plan.query.adds_up
        mine = np.arange(len(ranks)) if part_of is None else np.flatnonzero(at(part_of, rows) == place)
        cells = (of_line if adds_up else of_row)[mine]
        samples = Samples(starts_us[mine], lengths_us[mine], ranks[mine], cells)
        shares[mine] = counted_shares(samples, adds_up=adds_up)
    return shares


def at(values: Ints, rows: Rows | None) -> Ints:
    """The values of some rows; None means all of them."""
    return values if rows is None else values[rows]


def composed(rows: Rows | None, picked: Rows | None) -> Rows | None:
    """`picked` of `rows`, where None is all of them as they are."""
    if rows is None or picked is None:
        return picked if rows is None else rows
    return rows[picked]


def _index_us(frame: Frame) -> Ints:
    return frame.column(ColumnRef(INDEX, ColumnType.LOCAL_DATETIME)).values.astype(np.int64, copy=False)


def _key_column(key: Key, frame: Frame) -> Column:
    if isinstance(key, KeyColumn):
        return frame.column(key.ref)
    if isinstance(key, KeyTrunc):
        return Column(ColumnType.INT64, bucket_numbers(_index_us(frame), key.period))
    return Column(ColumnType.INT64, date_parts(_index_us(frame), key.part))


def _answered(keys: Sequence[Key], columns: Sequence[Column]) -> tuple[Column, ...]:
    return tuple(_key_values(key, column) for key, column in zip(keys, columns, strict=True))


def _key_values(key: Key, column: Column) -> Column:
    """What a key is answered as: a bucket by its start."""
    if not isinstance(key, KeyTrunc):
        return column
    numbers = column.values.astype(np.int64, copy=False)
    return Column(ColumnType.LOCAL_DATETIME, bucket_starts(numbers, key.period))
