"""Samples of one user as the query engine takes them."""

from collections.abc import Sequence
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from aggregation.codec import BlockColumns, ExtraColumn, LabelColumn
from aggregation.query import Labels, ReadLimitError, SeriesArrays, SeriesSource
from aggregation.query.reader import FieldValues
from aggregation.query_reader.lists import tag_lists
from aggregation.records import DataSource
from aggregation.store import read
from aggregation.store.columns import block_take
from aggregation.store.days import SECOND_US, Moment, Window, local_us
from aggregation.store.read import SeriesRow, Span
from healthsvc.kernel.principal import TeamContext

#: A note's tags are kept as one text a sample.
_TAGS = "tags"


def spans_of(rows: Sequence[SeriesRow], window_start_us: int, window_end_us: int) -> list[Span]:
    """The blocks in which samples of a window of floating local time can lie."""
    window = Window(Moment(window_start_us, local=True), Moment(window_end_us - 1, local=True))
    first_us, last_us = window.utc_bounds_us()
    return [Span(row, row.bucket(first_us), row.bucket(last_us)) for row in rows]


def series_arrays(
    team: TeamContext,
    user_id: UUID,
    resource: str,
    *,
    window_start_us: int,
    window_end_us: int,
    fallback_time_zone: str | None,
    rows_maximum: int,
) -> list[SeriesArrays]:
    """Every series of the resource that has samples in the window; two statements, three for long windows."""
    rows = read.series_of(team, user_id, resource)
    spans = spans_of(rows, window_start_us, window_end_us)
    columns = read.samples_within(user_id, spans, samples_maximum=rows_maximum)
    if columns is None:
        raise ReadLimitError
    found = [
        _arrays(row.source, columns.pop(row.series_id), window_start_us, window_end_us, fallback_time_zone)
        for row in rows
        if row.series_id in columns
    ]
    return [one for one in found if len(one)]


def _arrays(
    source: DataSource, block: BlockColumns, window_start_us: int, window_end_us: int, zone: str | None
) -> SeriesArrays:
    local = local_us(block.start_us, block.offset_seconds, zone)
    within = _within(local, window_start_us, window_end_us)
    if within is not None:
        block, local = block_take(block, within), local[within]
    duration_us = None if block.end_us is None else block.end_us - block.start_us
    return SeriesArrays(
        source=SeriesSource(source.provider, source.type, source.app_id, device_id=source.device_id),
        local_us=local,
        start_us=block.start_us,
        timezone_offset_seconds=block.offset_seconds,
        value=block.value,
        duration_seconds=None if duration_us is None else duration_us / SECOND_US,
        type=None if block.type is None else Labels(block.type.codes, block.type.names),
        fields={name: _field(name, column) for name, column in block.extra.items()},
    )


def _within(local_us: NDArray[np.int64], start_us: int, end_us: int) -> slice | NDArray[np.bool_] | None:
    """Which samples lie in the window, None for all. A slice where local times ascend, as it copies nothing."""
    if (local_us[1:] >= local_us[:-1]).all():
        first, end = np.searchsorted(local_us, [start_us, end_us]).tolist()
        return None if (first, end) == (0, len(local_us)) else slice(first, end)
    within: NDArray[np.bool_] = (local_us >= start_us) & (local_us < end_us)
    return None if within.all() else within


def _field(name: str, column: ExtraColumn) -> FieldValues:
    if not isinstance(column, LabelColumn):
        return column
    return tag_lists(column) if name == _TAGS else Labels(column.codes, column.names)
