"""Merging sources: what the better ones left open is filled with the next, and the answer tells who gave how much.

Apps and devices of one source are merged like sources, as they write down the same walk.

A sample covers the time from its start to its end, at least a microsecond. Where samples add up (steps), a sample of
the next source counts in proportion to the part of it that no better one covers, so that nothing is counted twice.
Of the others (heart rate) a sample covers `NEAR_US` more on both sides, and one of the next source counts, whole,
where more than half of it is not covered.
"""

from dataclasses import dataclass

import numpy as np

from aggregation.query.columns import Column, Floats, Ints, ascends, float_column
from aggregation.query.schema import ColumnType

#: How far a sample that does not add up speaks for its surroundings: ten minutes.
NEAR_US = 600_000_000
#: How much time is laid on one line, half of what a number holds.
_AXIS_US = float(1 << 61)


@dataclass(frozen=True, slots=True)
class Samples:
    """When samples were, who recorded each (0 for the best), and what they are merged within."""

    start_us: Ints
    length_us: Ints
    ranks: Ints
    cells: Ints


@dataclass(frozen=True, slots=True)
class _Coverage:
    """Stretches that do not overlap, in order; `before` is how long all earlier ones are together."""

    starts: Ints
    ends: Ints
    before: Ints

    def until(self, positions: Ints) -> Ints:
        """How much is covered up to each position."""
        last = np.searchsorted(self.starts, positions, side="right") - 1
        covered = self.before[last] + np.minimum(positions, self.ends[last]) - self.starts[last]
        return np.where(last < 0, 0, covered)


def counted_shares(samples: Samples, *, adds_up: bool) -> Floats:
    """How much of each sample counts, from 0 (left out) to 1 (whole)."""
    shares = np.ones(len(samples.ranks), np.float64)
    if len(samples.ranks) == 0 or (samples.ranks == samples.ranks[0]).all():
        return shares
    near = 0 if adds_up else NEAR_US
    lengths = np.maximum(samples.length_us, 1)
    positions, axes = _positions(samples, lengths, near)
    for axis in range(int(axes.max()) + 1):
        rows = np.flatnonzero(axes == axis)
        shares[rows] = _shares(positions[rows], lengths[rows], samples.ranks[rows], near, adds_up=adds_up)
    return shares


def _positions(samples: Samples, lengths: Ints, near: int) -> tuple[Ints, Ints]:
    """Where each sample begins on a line on which the cells lie one after another, and on which line that is.

    One line is enough for 70,000 years of cells.
    """
    cells = int(samples.cells.max()) + 1
    first = np.full(cells, np.iinfo(np.int64).max)
    last = np.full(cells, np.iinfo(np.int64).min)
    np.minimum.at(first, samples.cells, samples.start_us - near)
    np.maximum.at(last, samples.cells, samples.start_us + lengths + near)
    extents = np.where(last > first, last - first, 0)
    axis_of = (np.cumsum(extents, dtype=np.float64) // _AXIS_US).astype(np.int64)
    # The sums wrap around where there are several lines; differences within one line are right all the same.
    bases = np.cumsum(extents) - extents
    line_starts = bases[np.searchsorted(axis_of, axis_of, side="left")]
    return (bases - line_starts - first)[samples.cells] + samples.start_us, axis_of[samples.cells]


def _shares(starts: Ints, lengths: Ints, ranks: Ints, near: int, *, adds_up: bool) -> Floats:
    shares = np.ones(len(ranks), np.float64)
    covering = np.zeros(0, np.intp)
    for rank in np.unique(ranks).tolist():
        rows = np.flatnonzero(ranks == rank)
        if len(covering):
            coverage = _coverage(starts[covering] - near, starts[covering] + lengths[covering] + near)
            begin, length = starts[rows], lengths[rows]
            uncovered = length - coverage.until(begin + length) + coverage.until(begin)
            shares[rows] = uncovered / length if adds_up else 2 * uncovered > length
        covering = np.concatenate([covering, rows[shares[rows] > 0]])
    return shares


def _coverage(starts: Ints, ends: Ints) -> _Coverage:
    """The union of stretches, of at least one."""
    if not ascends(starts):
        order = np.argsort(starts, kind="stable")
        starts, ends = starts[order], ends[order]
    reached = np.maximum.accumulate(ends)
    first = np.flatnonzero(np.append(True, starts[1:] > reached[:-1]))
    starts, ends = starts[first], reached[np.append(first[1:], len(reached)) - 1]
    lengths = ends - starts
    return _Coverage(starts, ends, np.cumsum(lengths) - lengths)


def lineage_columns(of_row: Ints, count: int, ranks: Ints, weights: Floats) -> dict[int, Column]:
    """What share of each group's weight every source has, by its rank, in their order.

    Where a group's samples weigh nothing together, their number decides; a group without samples has no share.
    """
    found = np.unique(ranks)
    place = np.searchsorted(found, ranks)
    cells = of_row * len(found) + place
    size = count * len(found)
    numbers = np.bincount(cells, minlength=size).reshape(count, len(found)).astype(np.float64)
    weighed = np.bincount(cells, weights, minlength=size).reshape(count, len(found))
    table = np.where(weighed.sum(axis=1, keepdims=True) > 0, weighed, numbers)
    total = table.sum(axis=1, keepdims=True)
    shares = np.divide(table, total, out=np.full_like(table, np.nan), where=total > 0)
    return {rank: float_column(np.ascontiguousarray(shares[:, at])) for at, rank in enumerate(found.tolist())}


def weighted(column: Column, shares: Floats) -> Column:
    """The parts of values that count."""
    return Column(ColumnType.FLOAT64, column.values * shares, column.valid)
