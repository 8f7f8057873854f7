"""Aligning: the empty buckets of each line of time are put in, and take their values from buckets beside them."""

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from aggregation.query.buckets import bucket_numbers, bucket_starts, shifted
from aggregation.query.columns import Column, Ints, Mask, Rows
from aggregation.query.groups import dense_codes, group_rows
from aggregation.query.nodes import Align, CarryMode, Period
from aggregation.query.resolved import Key, KeyTrunc
from aggregation.query.schema import ColumnType

#: Buckets are put in from the year 1 on, where the calendar begins.
_BEGINNING_US = int(datetime(1, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000


class Spine:
    """Every bucket of every line, a line being the groups that are alike in all keys but the bucket.

    A line runs from its first bucket to its last one, and as far beyond as a capped value may be carried; not into
    the future, though. `rows` is how many buckets that makes, which is known before they are made.
    """

    def __init__(
        self, align: Align, keys: Sequence[Key], columns: Sequence[Column], bucket: KeyTrunc, now_us: int
    ) -> None:
        self._align, self._period = align, bucket.period
        self._columns = list(columns)
        self._bucket_at = list(keys).index(bucket)
        others = [column for place, column in enumerate(columns) if place != self._bucket_at]
        group_starts_us = columns[self._bucket_at].values.astype(np.int64, copy=False)
        self._line_of, self._lines, _ = group_rows(others, len(group_starts_us))
        if len(group_starts_us) == 0:
            self._lines = 0
        self._numbers = bucket_numbers(group_starts_us, self._period)
        self._first, last = self._reach(now_us)
        self._sizes: Ints = last - self._first + 1
        self.rows = int(self._sizes.sum())

    def _reach(self, now_us: int) -> tuple[Ints, Ints]:
        """The first and the last bucket of each line."""
        first = np.full(self._lines, np.iinfo(np.int64).max)
        last = np.full(self._lines, np.iinfo(np.int64).min)
        np.minimum.at(first, self._line_of, self._numbers)
        np.maximum.at(last, self._line_of, self._numbers)
        cap, mode = self._align.limit, self._align.mode
        if cap is None or self._lines == 0:
            return first, last
        earliest, latest = first, last
        if mode is not CarryMode.FORWARD:
            back_us = np.maximum(shifted(bucket_starts(first, self._period), cap, back=True), _BEGINNING_US)
            earliest = np.minimum(first, _not_before(back_us, self._period))
        if mode is not CarryMode.BACKWARD:
            on_us = np.minimum(shifted(bucket_starts(last, self._period), cap), now_us)
            latest = np.maximum(last, bucket_numbers(on_us, self._period))
        return earliest, latest

    def filled(self, columns: Sequence[Column]) -> tuple[list[Column], list[Column]]:
        """The keys and these columns (one value a group) in every bucket, in the order of the keys."""
        line = np.repeat(np.arange(self._lines), self._sizes)
        begins = np.cumsum(self._sizes) - self._sizes
        numbers = np.arange(self.rows) - np.repeat(begins - self._first, self._sizes)
        starts_us = bucket_starts(numbers, self._period)
        group = np.full(self.rows, -1, np.int64)
        group[begins[self._line_of] + self._numbers - self._first[self._line_of]] = np.arange(len(self._numbers))
        bounds = (np.repeat(begins, self._sizes), np.repeat(begins + self._sizes, self._sizes))
        carried = [self._carried(column, group, starts_us, bounds) for column in columns]
        keys = self._keys(line, starts_us)
        order = self._order(keys)
        return [column.take(order) for column in keys], [column.take(order) for column in carried]

    def _keys(self, line: Ints, starts_us: Ints) -> list[Column]:
        example = np.zeros(self._lines, np.intp)
        example[self._line_of] = np.arange(len(self._line_of))
        keys = [column.take(example[line]) for column in self._columns]
        keys[self._bucket_at] = Column(ColumnType.LOCAL_DATETIME, starts_us)
        return keys

    def _order(self, keys: Sequence[Column]) -> Rows | None:
        if self._bucket_at == len(keys) - 1:
            return None  # line by line is the order of the keys already
        return np.lexsort([dense_codes(key)[0] for key in reversed(keys)])

    def _carried(self, column: Column, group: Ints, starts_us: Ints, bounds: tuple[Ints, Ints]) -> Column:
        """The value of each bucket: its own, or one within reach in its line."""
        own: Mask = group >= 0
        if column.valid is not None:
            own = own & column.valid[group]
        place = np.arange(self.rows)
        before = np.maximum.accumulate(np.where(own, place, -1))
        after = np.minimum.accumulate(np.where(own, place, self.rows)[::-1])[::-1]
        has_before, has_after = before >= bounds[0], after < bounds[1]
        before, after = np.where(has_before, before, place), np.where(has_after, after, place)
        past_us, coming_us = starts_us[before], starts_us[after]
        cap, mode = self._align.limit, self._align.mode
        if cap is not None:
            has_before &= shifted(past_us, cap) >= starts_us
            has_after &= shifted(coming_us, cap, back=True) <= starts_us
        if mode is CarryMode.FORWARD:
            takes_before, found = has_before, has_before
        elif mode is CarryMode.BACKWARD:
            takes_before, found = np.zeros(self.rows, np.bool_), has_after
        else:
            takes_before = has_before & (~has_after | (starts_us - past_us <= coming_us - starts_us))
            found = has_before | has_after
        origin = group[np.where(takes_before, before, after)]
        taken = Column(column.type, column.values[np.where(found, origin, 0)], None, column.categories)
        return taken if found.all() else taken.masked(found)


def _not_before(local_us: Ints, period: Period) -> Ints:
    """The first bucket that begins at each time or later."""
    numbers = bucket_numbers(local_us, period)
    return numbers + (bucket_starts(numbers, period) < local_us)
