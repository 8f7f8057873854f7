"""Reading samples: blocks by range of time, decoded into columns."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any, Final
from uuid import UUID

import numpy as np

from aggregation.codec import BlockColumns, block_decode, block_samples, blocks_decode
from aggregation.constants import NO_WORKOUT
from aggregation.records import DataSource
from aggregation.store import statements
from aggregation.store.columns import block_layer
from aggregation.store.days import SECOND_US
from healthsvc.kernel.postgres.statements import rows_of
from healthsvc.kernel.principal import TeamContext

#: Two years of days of one series: some 20 MB at a sample every 15 seconds.
_BLOCKS_FETCHED_UNCOUNTED: Final = 800


@dataclass(frozen=True, slots=True)
class SeriesRow:
    """A series as it is kept."""

    series_id: int
    source: DataSource
    bucket_seconds: int

    def bucket(self, at_us: int) -> int:
        """The block in which an instant falls."""
        return at_us // (self.bucket_seconds * SECOND_US)


@dataclass(frozen=True, slots=True)
class Span:
    """Blocks of one series, both ends included."""

    series: SeriesRow
    first_bucket: int
    last_bucket: int


def series_of(
    team: TeamContext, user_id: UUID, resource: str, provider: str = "", workout_id: UUID = NO_WORKOUT
) -> list[SeriesRow]:
    """The user's series of a resource, of one provider where one is named, in a fixed order.

    Streams belong to a workout: `workout_id` is its summary's id.
    """
    rows = rows_of(
        statements.SERIES_OF_USER,
        {
            "user_id": user_id,
            "team_id": team.team_id,
            "environment": str(team.environment),
            "resource": resource,
            "provider": provider,
            "workout_id": workout_id,
        },
    )
    return [
        SeriesRow(series_id, DataSource(slug, kind, app_id or None, device_id or None), bucket_seconds)
        for series_id, slug, kind, app_id, device_id, bucket_seconds in rows
    ]


def block_sizes(user_id: UUID, spans: Sequence[Span], *, limit: int) -> list[tuple[int, int, int]]:
    """(series_id, bucket, number of samples) of the first `limit` blocks in the spans, by series and time.

    Samples that were sent again and wait in the tail are counted twice: never fewer than there are.
    """
    if not spans:
        return []
    found = rows_of(statements.BLOCK_SIZES, {**_parameters(user_id, spans), "limit": limit})
    return [(series_id, bucket, size) for series_id, bucket, size in found]


def samples_count(user_id: UUID, spans: Sequence[Span]) -> int:
    """How many samples the blocks of the spans hold, those counted twice that were sent again and wait in the tail."""
    if not spans:
        return 0
    ((total,),) = rows_of(statements.BLOCKS_TOTAL, _parameters(user_id, spans))
    return int(total)


def samples_of(user_id: UUID, spans: Sequence[Span]) -> dict[int, BlockColumns]:
    """The samples of the spans by series_id, in order of time; a series without any is missing."""
    return blocks_layered(rows_of(statements.BLOCKS_BETWEEN, _parameters(user_id, spans))) if spans else {}


def samples_within(user_id: UUID, spans: Sequence[Span], *, samples_maximum: int) -> dict[int, BlockColumns] | None:
    """As `samples_of`; None where blocks and tails hold more than `samples_maximum`, without decoding any.

    A few blocks are fetched first and counted by their headers, which saves a statement; many are counted first.
    """
    if not spans:
        return {}
    if sum(span.last_bucket - span.first_bucket + 1 for span in spans) > _BLOCKS_FETCHED_UNCOUNTED:
        return None if samples_count(user_id, spans) > samples_maximum else samples_of(user_id, spans)
    rows = rows_of(statements.BLOCKS_BETWEEN, _parameters(user_id, spans))
    if sum(block_samples(row[3]) for row in rows) > samples_maximum:
        return None
    return blocks_layered(rows)


def blocks_layered(rows: list[tuple[Any, ...]]) -> dict[int, BlockColumns]:
    """Samples by the first column of the rows, which are: that, the block's number, 0 or the number of a row of its
    tail, and the bytes. In no order; sorts them in place.
    """
    rows.sort(key=itemgetter(0, 1, 2))
    return {series_id: blocks_decode(_layered(found)) for series_id, found in groupby(rows, key=itemgetter(0))}


def _layered(rows: Iterable[tuple[Any, ...]]) -> list[bytes | BlockColumns]:
    """The blocks of a series in order, those that have a tail with it laid over them."""
    layers: list[bytes | BlockColumns] = []
    for _bucket, found in groupby(rows, key=itemgetter(1)):
        datas = [row[3] for row in found]
        layers.append(datas[0] if len(datas) == 1 else block_layer([block_decode(data) for data in datas]))
    return layers


def _parameters(user_id: UUID, spans: Sequence[Span]) -> dict[str, object]:
    bounds = np.iinfo(np.int32)
    return {
        "user_id": user_id,
        "series_ids": [span.series.series_id for span in spans],
        "first_buckets": [max(bounds.min, span.first_bucket) for span in spans],
        "last_buckets": [min(bounds.max, span.last_bucket) for span in spans],
    }
