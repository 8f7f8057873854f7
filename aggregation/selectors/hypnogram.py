"""Stages of sleep as samples, for older clients: made of the sleep cycles, which are what is kept."""

import hashlib
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Final
from uuid import UUID

import numpy as np

from aggregation.catalogue import SLEEP_CYCLE
from aggregation.codec import BlockColumns
from aggregation.constants import UNGROUPED_SAMPLES_MAXIMUM
from aggregation.models import Summary
from aggregation.records import OFFSET_UNKNOWN, DataSource
from aggregation.selectors.samples import Position, SamplePage, SampleQuery, page_flat, within
from aggregation.selectors.summaries import source_of, summaries_of_days
from aggregation.store.columns import block_join, block_take
from aggregation.store.days import SECOND_US, instant_of_us, us_of_instant
from healthsvc.kernel.principal import TeamContext

#: A stage begins at most this far from its session's calendar date: a long session, and offsets from UTC.
_SLACK: Final = timedelta(days=8)


def hypnogram_page(team: TeamContext, query: SampleQuery, *, after: Position | None, limit: int) -> SamplePage:
    """At most `limit` stages after a position, source by source. Costs one statement and what it reads."""
    groups: list[tuple[DataSource, BlockColumns]] = []
    last: Position | None = None
    room = limit
    for series_id, source, block in _by_source(cycles_of(team, query)):
        if after is not None and series_id < after.series_id:
            continue
        found = within(block, query, after if after is not None and after.series_id == series_id else None)
        if not len(found):
            continue
        if not room:
            return SamplePage(groups, last)
        taken = block_take(found, slice(0, room))
        groups.append((source, taken))
        last = Position(series_id, int(taken.start_us[-1]))
        if len(found) > room:
            return SamplePage(groups, last)
        room -= len(found)
    return SamplePage(groups, None)


def hypnogram_flat(team: TeamContext, query: SampleQuery) -> BlockColumns | None:
    """All stages of a query in order of time; 422 where they are too many for one answer."""
    return page_flat(hypnogram_page(team, query, after=None, limit=UNGROUPED_SAMPLES_MAXIMUM))


def cycles_of(team: TeamContext, query: SampleQuery) -> list[Summary]:
    """The sleep cycles that may have a stage in the query's window, in order of days."""
    first_us, last_us = query.window.utc_bounds_us()
    return summaries_of_days(
        team,
        query.user.pk,
        SLEEP_CYCLE.slug,
        start_on=_day(first_us, -_SLACK),
        end_on=_day(last_us, _SLACK),
        provider=query.provider,
    )


def _day(at_us: int, slack: timedelta) -> date:
    return (instant_of_us(at_us) + slack).date()


def _by_source(cycles: Sequence[Summary]) -> list[tuple[int, DataSource, BlockColumns]]:
    """Each source's stages in order of time, under a number that stays the same from page to page."""
    blocks: dict[DataSource, list[BlockColumns]] = {}
    for cycle in cycles:
        block = stages_of(cycle)
        if block is not None:
            blocks.setdefault(source_of(cycle), []).append(block)
    found = [(_number(source), source, _ordered(block_join(listed))) for source, listed in blocks.items()]
    return sorted(found, key=lambda one: one[0])


def _number(source: DataSource) -> int:
    return int.from_bytes(hashlib.sha256(repr(source).encode()).digest()[:7], "big")


def _ordered(block: BlockColumns) -> BlockColumns:
    """In order of time; of stages that begin together, which are two tellings of one night, the later one's."""
    last_first = len(block) - 1 - np.unique(block.start_us[::-1], return_index=True)[1]
    return block_take(block, last_first)


def stages_of(cycle: Summary) -> BlockColumns | None:
    """The stages of a sleep cycle in its own order; None where it has none."""
    payload = cycle.payload
    starts, ends, stages = (
        payload.get(name) or [] for name in ("stage_start_offset_second", "stage_end_offset_second", "stage_type")
    )
    size = min(len(starts), len(ends), len(stages))
    if cycle.starts_at is None or not size:
        return None
    begun_us = us_of_instant(cycle.starts_at)
    offset = OFFSET_UNKNOWN if cycle.timezone_offset_seconds is None else cycle.timezone_offset_seconds
    return BlockColumns(
        start_us=begun_us + np.array(starts[:size], np.int64) * SECOND_US,
        end_us=begun_us + np.array(ends[:size], np.int64) * SECOND_US,
        value=np.array(stages[:size], np.float64),
        offset_seconds=np.full(size, offset, np.int32),
    )


def stages_of_night(cycles: Sequence[Summary], sleep_id: UUID) -> BlockColumns | None:
    """The stages of those cycles that are of this sleep; None where there are none."""
    found = [stages_of(cycle) for cycle in cycles if cycle.payload.get("sleep_id") == str(sleep_id)]
    blocks = [block for block in found if block is not None]
    return _ordered(block_join(blocks)) if blocks else None
