"""Pages of samples, by source and time."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from aggregation import cursors
from aggregation.catalogue import SeriesSpec
from aggregation.codec import BlockColumns
from aggregation.constants import UNGROUPED_SAMPLES_MAXIMUM
from aggregation.records import DataSource
from aggregation.store import read
from aggregation.store.columns import Mask, block_join, block_take
from aggregation.store.days import SECOND_US, Window
from aggregation.store.read import Span
from healthsvc.kernel.errors import ErrorCode, Problem, ServiceError, invalid
from healthsvc.kernel.principal import TeamContext
from users.models import User

_CURSOR: Final = struct.Struct(">qq")
#: What of a request asks for samples, where nothing else does.
ASKED: Final = ("query", "start_date")
#: A page goes through so many times the samples that fit, at most.
_SCANNED_TIMES: Final = 20


@dataclass(frozen=True, slots=True)
class SampleQuery:
    """Which samples are wanted: of a living user, one resource, a window, one provider and type or ("") all."""

    user: User
    spec: SeriesSpec
    window: Window
    provider: str = ""
    type: str = ""

    def words(self) -> tuple[object, ...]:
        """What tells this query from others, so that a cursor can't be carried from one to another."""
        zone = self.user.fallback_time_zone
        return (self.user.pk, self.spec.slug, self.window, self.provider, self.type, zone)


@dataclass(frozen=True, slots=True)
class Position:
    """How far a page goes: a series, and a start up to which its samples are on this page or those before."""

    series_id: int
    start_us: int


@dataclass(frozen=True, slots=True)
class SamplePage:
    """Samples by source, each in order of time, and where the next page goes on or None."""

    groups: Sequence[tuple[DataSource, BlockColumns]]
    next: Position | None


def cursor_make(query: SampleQuery, position: Position) -> str:
    """A position as clients carry it."""
    return cursors.cursor_make(query.words(), _CURSOR.pack(position.series_id, position.start_us))


def cursor_read(query: SampleQuery, cursor: str) -> Position:
    """The position of a cursor that this very query gave; 422 for any other."""
    return Position(*cursors.cursor_read(query.words(), cursor, _CURSOR))


def sample_page(team: TeamContext, query: SampleQuery, *, after: Position | None, limit: int) -> SamplePage:
    """At most `limit` samples after a position, series by series; `next` is None where nothing is left.

    The blocks at the edges of a window hold much that is outside of it, and a type may be rare in all of them: blocks
    are read, about `limit` samples at a time, until the page is full. One that would take more than twenty times that
    ends early, so that it holds fewer samples, or none, and still has a next one. Costs two statements and one for
    each time.
    """
    spans = _spans(team, query, after)
    sizes = read.block_sizes(query.user.pk, list(spans.values()), limit=limit + 1)
    page = _Page(query, after, limit)
    waiting, scanned = list(sizes), 0
    while waiting and not page.is_full and scanned < limit * _SCANNED_TIMES:
        wanted, size = _taken(spans, waiting, limit)
        page.add(wanted, read.samples_of(query.user.pk, wanted))
        scanned += size
    if page.is_full or (not waiting and len(sizes) <= limit):
        return page.done()
    series_id, bucket, _ = sizes[len(sizes) - len(waiting) - 1]
    return page.broken_off(Position(series_id, (bucket + 1) * spans[series_id].series.bucket_seconds * SECOND_US - 1))


def _spans(team: TeamContext, query: SampleQuery, after: Position | None) -> dict[int, Span]:
    """The blocks in which samples of a query may lie, by series, from a position on."""
    first_us, last_us = query.window.utc_bounds_us()
    spans = {}
    for series in read.series_of(team, query.user.pk, query.spec.slug, query.provider):
        if after is None or series.series_id >= after.series_id:
            goes_on = after is not None and series.series_id == after.series_id
            begin_us = max(first_us, after.start_us + 1) if after is not None and goes_on else first_us
            spans[series.series_id] = Span(series, series.bucket(begin_us), series.bucket(last_us))
    return spans


def _taken(spans: Mapping[int, Span], waiting: list[tuple[int, int, int]], limit: int) -> tuple[list[Span], int]:
    """Takes the next blocks, which together hold `limit` samples or a little more; and how many they hold."""
    wanted: dict[int, Span] = {}
    total = count = 0
    for series_id, bucket, size in waiting:
        if total >= limit:
            break
        first = wanted[series_id].first_bucket if series_id in wanted else bucket
        wanted[series_id] = Span(spans[series_id].series, first, bucket)
        total += size
        count += 1
    del waiting[:count]
    return list(wanted.values()), total


class _Page:
    """A page on its way: what was found, one sample more than fits where there is one."""

    def __init__(self, query: SampleQuery, after: Position | None, limit: int) -> None:
        self._query = query
        self._after = after
        self._limit = limit
        self._size = 0
        self._blocks: dict[int, list[BlockColumns]] = {}
        self._sources: dict[int, DataSource] = {}

    @property
    def is_full(self) -> bool:
        """Whether there is more than fits."""
        return self._size > self._limit

    def add(self, spans: Sequence[Span], columns: Mapping[int, BlockColumns]) -> None:
        """What is wanted of the samples of some blocks. A series that an erasure has taken meanwhile has none."""
        for span in spans:
            series_id = span.series.series_id
            if series_id not in columns or self.is_full:
                continue
            after = self._after
            found = within(columns[series_id], self._query, after if after and after.series_id == series_id else None)
            found = block_take(found, slice(0, self._limit + 1 - self._size))
            if len(found):
                self._size += len(found)
                self._blocks.setdefault(series_id, []).append(found)
                self._sources[series_id] = span.series.source

    def done(self) -> SamplePage:
        """All there is, or of more than fits all that fits."""
        if not self.is_full:
            return self.broken_off(None)
        series_id = list(self._blocks)[-1]
        last = self._blocks[series_id][-1]
        if len(last) > 1:
            self._blocks[series_id][-1] = block_take(last, slice(0, -1))
        else:
            self._blocks[series_id].pop()
        return self.broken_off(Position(series_id, int(last.start_us[-1]) - 1))

    def broken_off(self, position: Position | None) -> SamplePage:
        """What was found so far, to go on at a position."""
        groups = [(self._sources[one], block_join(blocks)) for one, blocks in self._blocks.items() if blocks]
        return SamplePage(groups, position)


def within(block: BlockColumns, query: SampleQuery, after: Position | None) -> BlockColumns:
    """Those of a source's samples that a query asks for, after a position in that source where one is given."""
    kept = query.window.holds(block.start_us, block.offset_seconds, query.user.fallback_time_zone)
    if after is not None:
        kept &= block.start_us > after.start_us
    if query.type:
        kept &= _of_type(block, query.type)
    return block if kept.all() else block_take(block, kept)


def _of_type(block: BlockColumns, name: str) -> Mask:
    if block.type is None or name not in block.type.names:
        return np.zeros(len(block), np.bool_)
    found: Mask = block.type.codes == block.type.names.index(name)
    return found


def samples_flat(team: TeamContext, query: SampleQuery, asked: Sequence[str] = ASKED) -> BlockColumns | None:
    """All samples of a query in order of time, whatever their source; 422 where they are too many for one answer.

    `asked` names what of the request asks for them.
    """
    blocks: list[BlockColumns] = []
    room, after = UNGROUPED_SAMPLES_MAXIMUM, None
    while True:
        page = sample_page(team, query, after=after, limit=room + 1)
        blocks += [block for _, block in page.groups]
        room -= sum(len(block) for _, block in page.groups)
        if room < 0:
            raise _too_many(asked)
        if page.next is None:
            return _in_order(blocks)
        after = page.next


def page_flat(page: SamplePage) -> BlockColumns | None:
    """The samples of a page, which must be all there are, in order of time; None where there are none."""
    if page.next is not None:
        raise _too_many(ASKED)
    return _in_order([block for _, block in page.groups])


def _in_order(blocks: Sequence[BlockColumns]) -> BlockColumns | None:
    if not blocks:
        return None
    joined = block_join(blocks)
    return block_take(joined, joined.start_us.argsort(kind="stable"))


def _too_many(asked: Sequence[str]) -> ServiceError:
    message = f"More than {UNGROUPED_SAMPLES_MAXIMUM} samples; use the grouped read, which has pages."
    return invalid([Problem(tuple(asked), message, "too_many")], ErrorCode.QUERY_BUDGET_EXCEEDED)
