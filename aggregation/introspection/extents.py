"""How far the samples of many users reach, in two statements for all of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias
from uuid import UUID

from aggregation.codec import block_decode
from aggregation.store.statements import rows_of
from healthsvc.kernel.principal import TeamContext

#: User, provider, resource.
Key: TypeAlias = tuple[UUID, str, str]

#: Reads of blocks and of tails alike: a tail's samples belong to the block with its number.
_SERIES_HELD: Final = """
SELECT series.user_id, series.provider, series.resource, series.series_id, series.bucket_seconds,
    min(held.bucket), max(held.bucket), sum(held.n)::bigint
FROM aggregation_series AS series
JOIN (
    SELECT user_id, series_id, bucket, n FROM aggregation_block
    UNION ALL
    SELECT user_id, series_id, bucket, n FROM aggregation_tail
) AS held ON held.user_id = series.user_id AND held.series_id = series.series_id
WHERE series.user_id = ANY(%(user_ids)b::uuid[]) AND series.team_id = %(team_id)b
    AND series.environment = %(environment)b AND (%(provider)b = '' OR series.provider = %(provider)b)
GROUP BY series.user_id, series.provider, series.resource, series.series_id, series.bucket_seconds
"""

_BLOCKS_HELD: Final = """
SELECT held.user_id, held.series_id, held.data
FROM unnest(%(user_ids)b::uuid[], %(series_ids)b::bigint[], %(buckets)b::int[]) AS wanted (user_id, series_id, bucket)
JOIN (
    SELECT user_id, series_id, bucket, data FROM aggregation_block
    UNION ALL
    SELECT user_id, series_id, bucket, data FROM aggregation_tail
) AS held ON held.user_id = wanted.user_id AND held.series_id = wanted.series_id AND held.bucket = wanted.bucket
"""


@dataclass(frozen=True, slots=True)
class Extent:
    """The first and the last start of samples, microseconds since 1970, and how many there are.

    A sample that waits in a tail to replace one is counted beside it until it does.
    """

    oldest_us: int
    newest_us: int
    count: int


@dataclass(frozen=True, slots=True)
class _Held:
    """A series' first and last block."""

    user_id: UUID
    series_id: int
    bucket_seconds: int
    first_bucket: int
    last_bucket: int
    count: int

    @property
    def first_ends_seconds(self) -> int:
        return (self.first_bucket + 1) * self.bucket_seconds

    @property
    def last_begins_seconds(self) -> int:
        return self.last_bucket * self.bucket_seconds


def sample_extents(team: TeamContext, user_ids: Sequence[UUID], provider: str = "") -> dict[Key, Extent]:
    """By user, provider and resource. Only blocks in which the first or last sample can lie are opened."""
    held: dict[Key, list[_Held]] = {}
    parameters = {
        "user_ids": list(user_ids),
        "team_id": team.team_id,
        "environment": str(team.environment),
        "provider": provider,
    }
    for user_id, slug, resource, *rest in rows_of(_SERIES_HELD, parameters):
        held.setdefault((user_id, slug, resource), []).append(_Held(user_id, *rest))
    ends = _ends(held.values())
    found: dict[Key, Extent] = {}
    for key, listed in held.items():
        times = [ends[one.user_id, one.series_id] for one in listed if (one.user_id, one.series_id) in ends]
        if times:
            count = sum(one.count for one in listed)
            found[key] = Extent(min(first for first, _ in times), max(last for _, last in times), count)
    return found


def _ends(groups: Iterable[Sequence[_Held]]) -> Mapping[tuple[UUID, int], tuple[int, int]]:
    """First and last start in the blocks at the edges of each group, by user and series."""
    wanted = sorted({edge for listed in groups for edge in _edges(listed)})
    parameters = {
        "user_ids": [user_id for user_id, _, _ in wanted],
        "series_ids": [series_id for _, series_id, _ in wanted],
        "buckets": [bucket for _, _, bucket in wanted],
    }
    ends: dict[tuple[UUID, int], tuple[int, int]] = {}
    for user_id, series_id, data in rows_of(_BLOCKS_HELD, parameters):
        starts = block_decode(data).start_us
        first, last = int(starts.min()), int(starts.max())
        before = ends.get((user_id, series_id), (first, last))
        ends[user_id, series_id] = (min(before[0], first), max(before[1], last))
    return ends


def _edges(listed: Sequence[_Held]) -> Iterable[tuple[UUID, int, int]]:
    """Of the first blocks those that begin before any other has ended; of the last ones likewise."""
    first_ends = min(one.first_ends_seconds for one in listed)
    last_begins = max(one.last_begins_seconds for one in listed)
    for one in listed:
        if one.first_bucket * one.bucket_seconds < first_ends:
            yield one.user_id, one.series_id, one.first_bucket
        if (one.last_bucket + 1) * one.bucket_seconds > last_begins:
            yield one.user_id, one.series_id, one.last_bucket
