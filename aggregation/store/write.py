"""Writing samples: lock the series, decode the blocks they fall into, merge, encode, write back."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, TypeAlias
from uuid import UUID

import numpy as np

from aggregation.catalogue import SERIES_BY_SLUG, SeriesKind
from aggregation.codec import BlockColumns, block_decode, block_encode
from aggregation.records import DataSource, SeriesBatch
from aggregation.store import checking, statements
from aggregation.store.checking import Ingestion, Refusals
from aggregation.store.columns import Counts, block_join, block_merge, block_of, block_take
from aggregation.store.days import SECOND_US
from aggregation.store.statements import rows_of
from healthsvc.kernel.principal import TeamContext

#: Blocks that are in memory at once; a wide batch is written in several rounds of the same transaction.
_BLOCKS_AT_ONCE: Final = 512

SeriesKey: TypeAlias = tuple[str, DataSource]
_Place: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class SeriesChange:
    """The samples of one series that a write made, and those it gave another content; either may be None."""

    resource: str
    source: DataSource
    created: BlockColumns | None
    changed: BlockColumns | None


@dataclass(slots=True)
class Written:
    """What a write did: counts by resource, and the samples behind them where they were asked for."""

    counts: dict[str, Counts] = field(default_factory=dict)
    changes: list[SeriesChange] = field(default_factory=list)


def series_write(
    team: TeamContext,
    user_id: UUID,
    batches: Sequence[SeriesBatch],
    ingestion: Ingestion,
    refusals: Refusals,
    *,
    changes: bool,
) -> Written:
    """Merge samples into the store, in the current transaction, which must hold the user.

    Costs one statement for the locks and two for every 512 blocks that are touched, whatever the number of series.
    `changes` says whether the samples themselves are wanted back, which holds them all in memory.
    """
    incoming = _gathered(batches, ingestion, refusals)
    written = Written()
    if not incoming:
        return written
    held = _series_lock(team, user_id, list(incoming))
    works = [_SeriesWork(key, *held[key], incoming[key], keep=changes) for key in incoming]
    places = iter([(work, bucket) for work in works for bucket in work.buckets])
    while chunk := list(islice(places, _BLOCKS_AT_ONCE)):
        _write_chunk(team, user_id, chunk)
    for work in works:
        resource = work.key[0]
        written.counts[resource] = written.counts.get(resource, Counts()).plus(work.counts)
        if work.created or work.changed:
            written.changes.append(work.change())
    return written


def _gathered(
    batches: Sequence[SeriesBatch], ingestion: Ingestion, refusals: Refusals
) -> dict[SeriesKey, BlockColumns]:
    """The samples that can be stored, joined a series, in an order of series that all writers share."""
    pieces: dict[SeriesKey, list[BlockColumns]] = {}
    for batch in batches:
        spec = SERIES_BY_SLUG.get(batch.resource)
        if spec is None or not checking.source_good(batch.source):
            reason = checking.UNKNOWN_RESOURCE if spec is None else checking.BAD_SOURCE
            refusals.add(batch.resource, reason, len(batch.samples))
            continue
        good = checking.samples_good(spec, batch.samples, ingestion, refusals)
        if good.any():
            block = block_of(batch.samples, interval=spec.kind is SeriesKind.INTERVAL)
            pieces.setdefault((batch.resource, _named(batch.source)), []).append(
                block if good.all() else block_take(block, good)
            )
    return {key: block_join(pieces[key]) for key in sorted(pieces, key=_lock_order)}


def _named(source: DataSource) -> DataSource:
    """Empty texts name nothing, as None does."""
    return DataSource(source.provider, source.type, source.app_id or None, source.device_id or None)


def _lock_order(key: SeriesKey) -> tuple[str, ...]:
    resource, source = key
    return (resource, source.provider, source.type, source.app_id or "", source.device_id or "")


def _series_lock(team: TeamContext, user_id: UUID, keys: Sequence[SeriesKey]) -> Mapping[SeriesKey, tuple[int, int]]:
    """The id and the width of blocks, seconds, of each series; other writers of these series now wait for us."""
    rows = rows_of(
        statements.SERIES_LOCK,
        {
            "user_id": user_id,
            "team_id": team.team_id,
            "environment": str(team.environment),
            "series_ids": [secrets.randbits(62) for _ in keys],
            "resources": [resource for resource, _ in keys],
            "providers": [source.provider for _, source in keys],
            "source_types": [source.type for _, source in keys],
            "app_ids": [source.app_id or "" for _, source in keys],
            "device_ids": [source.device_id or "" for _, source in keys],
            "bucket_seconds": [SERIES_BY_SLUG[resource].bucket_seconds for resource, _ in keys],
        },
    )
    return {
        (resource, DataSource(provider, kind, app_id or None, device_id or None)): (series_id, bucket_seconds)
        for resource, provider, kind, app_id, device_id, series_id, bucket_seconds in rows
    }


class _SeriesWork:
    """The samples that came for one series, cut by block, and what has become of them so far."""

    def __init__(
        self, key: SeriesKey, series_id: int, bucket_seconds: int, incoming: BlockColumns, *, keep: bool
    ) -> None:
        self.key = key
        self._keep = keep
        self.series_id = series_id
        numbers = incoming.start_us // (bucket_seconds * SECOND_US)
        order = np.argsort(numbers, kind="stable")
        numbers = numbers[order]
        cuts = np.flatnonzero(np.diff(numbers)) + 1
        self.buckets: dict[int, BlockColumns] = {
            int(numbers[rows[0]]): block_take(incoming, order[rows]) for rows in np.split(np.arange(len(order)), cuts)
        }
        self.counts = Counts()
        self.created: list[BlockColumns] = []
        self.changed: list[BlockColumns] = []

    def merge(self, bucket: int, stored: BlockColumns | None) -> BlockColumns | None:
        """The block as it must be written now, or None where it stays as it is."""
        merged = block_merge(stored, self.buckets[bucket])
        self.counts = self.counts.plus(merged.counts)
        if self._keep and merged.created.any():
            self.created.append(block_take(merged.samples, merged.created))
        if self._keep and merged.changed.any():
            self.changed.append(block_take(merged.samples, merged.changed))
        return merged.samples if merged.created.any() or merged.changed.any() else None

    def change(self) -> SeriesChange:
        """The samples made and changed, in order of time within a block."""
        created = block_join(self.created) if self.created else None
        changed = block_join(self.changed) if self.changed else None
        return SeriesChange(self.key[0], self.key[1], created, changed)


def _write_chunk(team: TeamContext, user_id: UUID, chunk: Sequence[tuple[_SeriesWork, int]]) -> None:
    found = rows_of(
        statements.BLOCKS_FETCH,
        {
            "user_id": user_id,
            "series_ids": [work.series_id for work, _ in chunk],
            "buckets": [bucket for _, bucket in chunk],
        },
    )
    stored: dict[_Place, bytes] = {(series_id, bucket): data for series_id, bucket, data in found}
    places: list[_Place] = []
    blocks: list[BlockColumns] = []
    for work, bucket in chunk:
        data = stored.get((work.series_id, bucket))
        block = work.merge(bucket, None if data is None else block_decode(data))
        if block is not None:
            places.append((work.series_id, bucket))
            blocks.append(block)
    if not blocks:
        return
    rows_of(
        statements.BLOCKS_WRITE,
        {
            "user_id": user_id,
            "team_id": team.team_id,
            "environment": str(team.environment),
            "series_ids": [series_id for series_id, _ in places],
            "buckets": [bucket for _, bucket in places],
            "sizes": [len(block) for block in blocks],
            "datas": [block_encode(block) for block in blocks],
        },
    )
