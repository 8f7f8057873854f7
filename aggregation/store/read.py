"""Reading samples: blocks by range of time, decoded into columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from aggregation.codec import BlockColumns, block_decode
from aggregation.records import DataSource
from aggregation.store import statements
from aggregation.store.columns import block_join
from aggregation.store.days import SECOND_US
from aggregation.store.statements import rows_of
from healthsvc.kernel.principal import TeamContext


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


def series_of(team: TeamContext, user_id: UUID, resource: str, provider: str = "") -> list[SeriesRow]:
    """The user's series of a resource, of one provider where one is named, in a fixed order."""
    rows = rows_of(
        statements.SERIES_OF_USER,
        {
            "user_id": user_id,
            "team_id": team.team_id,
            "environment": str(team.environment),
            "resource": resource,
            "provider": provider,
        },
    )
    return [
        SeriesRow(series_id, DataSource(slug, kind, app_id or None, device_id or None), bucket_seconds)
        for series_id, slug, kind, app_id, device_id, bucket_seconds in rows
    ]


def block_sizes(user_id: UUID, spans: Sequence[Span], *, limit: int) -> list[tuple[int, int, int]]:
    """(series_id, bucket, number of samples) of the first `limit` blocks in the spans, by series and time."""
    if not spans:
        return []
    found = rows_of(statements.BLOCK_SIZES, {**_parameters(user_id, spans), "limit": limit})
    return [(series_id, bucket, size) for series_id, bucket, size in found]


def samples_count(user_id: UUID, spans: Sequence[Span]) -> int:
    """How many samples the blocks of the spans hold."""
    if not spans:
        return 0
    ((total,),) = rows_of(statements.BLOCKS_TOTAL, _parameters(user_id, spans))
    return int(total)


def samples_of(user_id: UUID, spans: Sequence[Span]) -> dict[int, BlockColumns]:
    """The samples of the spans by series_id, in order of time; a series without any is missing."""
    if not spans:
        return {}
    blocks: dict[int, list[BlockColumns]] = {}
    for series_id, _bucket, data in rows_of(statements.BLOCKS_BETWEEN, _parameters(user_id, spans)):
        blocks.setdefault(series_id, []).append(block_decode(data))
    return {series_id: block_join(listed) for series_id, listed in blocks.items()}


def _parameters(user_id: UUID, spans: Sequence[Span]) -> dict[str, object]:
    bounds = np.iinfo(np.int32)
    return {
        "user_id": user_id,
        "series_ids": [span.series.series_id for span in spans],
        "first_buckets": [max(bounds.min, span.first_bucket) for span in spans],
        "last_buckets": [min(bounds.max, span.last_bucket) for span in spans],
    }
