"""Writing samples: lock the series, decode the blocks they fall into, merge, and write what differs.

Few samples for a block that is there go to its tail, in a row of their own; many, or those that find the tail full,
make the block anew and take the tail in (see `aggregation.store.tail`).
"""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, TypeAlias
from uuid import UUID

import numpy as np

from aggregation.catalogue import SERIES_BY_SLUG, STREAM_BY_SLUG
from aggregation.codec import BlockColumns, block_decode, block_encode
from aggregation.constants import TAIL_BLOCK_SAMPLES, TAIL_POST_SAMPLES, TAIL_ROWS
from aggregation.records import DataSource
from aggregation.store import statements
from aggregation.store.columns import Counts, Merged, block_join, block_layer, block_merge, block_take
from aggregation.store.days import SECOND_US
from aggregation.store.incoming import SeriesKey
from healthsvc.kernel import clock
from healthsvc.kernel.postgres.statements import rows_of
from healthsvc.kernel.principal import TeamContext

#: Blocks that are in memory at once; a wide batch is written in several rounds of the same transaction.
_BLOCKS_AT_ONCE: Final = 512

#: A series and the number of one of its blocks.
Place: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class SeriesChange:
    """The samples of one series that a write made, and those it gave another content; either may be None."""

    resource: str
    source: DataSource
    created: BlockColumns | None
    changed: BlockColumns | None
    workout_id: UUID
    #: Whether the series was not there before.
    is_new: bool


@dataclass(slots=True)
class Written:
    """What a write did: counts by resource, and the samples behind them where they were asked for."""

    counts: dict[str, Counts] = field(default_factory=dict)
    changes: list[SeriesChange] = field(default_factory=list)


def series_write(
    team: TeamContext, user_id: UUID, incoming: Mapping[SeriesKey, Sequence[BlockColumns]], *, changes: bool
) -> Written:
    """Merge samples into the store, in the current transaction, which must hold the user.

    Costs one statement for the locks, two or three for every 512 blocks that are touched, and one where a series got
    new samples or a small post, whatever the number of series. `changes` says whether the samples themselves are wanted
    back, which holds them all in memory.
    """
    written = Written()
    if not incoming:
        return written
    keys = sorted(incoming, key=SeriesKey.lock_order)
    held = _series_lock(team, user_id, keys)
    works = [_SeriesWork(key, held[key], block_join(incoming[key]), keep=changes) for key in keys]
    places = iter([(work, bucket) for work in works for bucket in work.buckets])
    while chunk := list(islice(places, _BLOCKS_AT_ONCE)):
        _write_chunk(team, user_id, chunk)
    _note(user_id, works)
    for work in works:
        resource = work.key.resource
        written.counts[resource] = written.counts.get(resource, Counts()).plus(work.counts)
        if work.created or work.changed:
            written.changes.append(work.change())
    return written


@dataclass(frozen=True, slots=True)
class _Held:
    """A series whose lock is ours; `rev` is its number of writes, this one included."""

    series_id: int
    bucket_seconds: int
    rev: int


def _series_lock(team: TeamContext, user_id: UUID, keys: Sequence[SeriesKey]) -> Mapping[SeriesKey, _Held]:
    """Each series, made where it was not there; other writers of these series now wait for us."""
    rows = rows_of(
        statements.SERIES_LOCK,
        {
            "user_id": user_id,
            "team_id": team.team_id,
            "environment": str(team.environment),
            "series_ids": [secrets.randbits(62) for _ in keys],
            "resources": [key.resource for key in keys],
            "providers": [key.source.provider for key in keys],
            "source_types": [key.source.type for key in keys],
            "app_ids": [key.source.app_id or "" for key in keys],
            "device_ids": [key.source.device_id or "" for key in keys],
            "workout_ids": [key.workout_id for key in keys],
            "bucket_seconds": [_bucket_seconds(key.resource) for key in keys],
        },
    )
    return {
        SeriesKey(resource, DataSource(provider, kind, app_id or None, device_id or None), workout_id): _Held(*rest)
        for resource, provider, kind, app_id, device_id, workout_id, *rest in rows
    }


def _bucket_seconds(resource: str) -> int:
    spec = SERIES_BY_SLUG.get(resource) or STREAM_BY_SLUG[resource]
    return spec.bucket_seconds


@dataclass(frozen=True, slots=True)
class _Live:
    """A block with the start of its last sample, its tail's included, and how many rows the tail has."""

    bucket: int
    last_us: int
    tail_rows: int


_NOT_LIVE: Final = _Live(0, 0, 0)


class _SeriesWork:
    """The samples that came for one series, cut by block, and what has become of them so far."""

    def __init__(self, key: SeriesKey, held: _Held, incoming: BlockColumns, *, keep: bool) -> None:
        self.key = key
        self.held = held
        self._keep = keep
        self.buckets = _cut(incoming, held.bucket_seconds)
        self.first_us = int(incoming.start_us.min())
        self.last_us = int(incoming.start_us.max())
        self.counts = Counts()
        self.created: list[BlockColumns] = []
        self.changed: list[BlockColumns] = []
        #: The last block, where live posts may go to its tail from now on.
        self.live: _Live | None = None

    def merge(self, bucket: int, stored: BlockColumns | None) -> Merged:
        """Lay what came over what is stored, and remember what came of it."""
        merged = block_merge(stored, self.buckets[bucket])
        self.counts = self.counts.plus(merged.counts)
        if self._keep and merged.created.any():
            self.created.append(block_take(merged.samples, merged.created))
        if self._keep and merged.changed.any():
            self.changed.append(block_take(merged.samples, merged.changed))
        return merged

    def change(self) -> SeriesChange:
        """The samples made and changed, in order of time within a block."""
        created = block_join(self.created) if self.created else None
        changed = block_join(self.changed) if self.changed else None
        key = self.key
        return SeriesChange(key.resource, key.source, created, changed, key.workout_id, self.held.rev == 1)


def _cut(samples: BlockColumns, bucket_seconds: int) -> dict[int, BlockColumns]:
    """The samples by block."""
    numbers = samples.start_us // (bucket_seconds * SECOND_US)
    if numbers[0] == numbers[-1] and (numbers == numbers[0]).all():
        return {int(numbers[0]): samples}
    order = np.argsort(numbers, kind="stable")
    numbers = numbers[order]
    cuts = np.flatnonzero(np.diff(numbers)) + 1
    return {int(numbers[rows[0]]): block_take(samples, order[rows]) for rows in np.split(np.arange(len(order)), cuts)}


class Writes:
    """Blocks and rows of tails to write, and tails to remove."""

    def __init__(self) -> None:
        self._blocks: list[tuple[Place, BlockColumns]] = []
        self._tails: list[tuple[Place, int, BlockColumns]] = []
        self._folded: list[Place] = []

    def block(self, place: Place, samples: BlockColumns, *, folds: bool) -> None:
        """A whole block, into which its tail goes where it has one."""
        self._blocks.append((place, samples))
        if folds:
            self._folded.append(place)

    def tail(self, place: Place, seq: int, samples: BlockColumns) -> None:
        """A row of a tail."""
        self._tails.append((place, seq, samples))

    def run(self, team: TeamContext, user_id: UUID) -> None:
        """Write; one statement for each kind there is."""
        owner = {"user_id": user_id, "team_id": team.team_id, "environment": str(team.environment)}
        if self._blocks:
            rows_of(statements.BLOCKS_WRITE, owner | _columns((place, block) for place, block in self._blocks))
        if self._folded:
            gone = {"series_ids": [place[0] for place in self._folded], "buckets": [place[1] for place in self._folded]}
            rows_of(statements.TAILS_REMOVE, {"user_id": user_id, **gone})
        if self._tails:
            more = {"seqs": [seq for _, seq, _ in self._tails], "now": clock.now()}
            rows_of(statements.TAILS_WRITE, owner | more | _columns((place, tail) for place, _, tail in self._tails))


def _columns(listed: Iterable[tuple[Place, BlockColumns]]) -> dict[str, Any]:
    rows = list(listed)
    return {
        "series_ids": [series_id for (series_id, _), _ in rows],
        "buckets": [bucket for (_, bucket), _ in rows],
        "sizes": [len(block) for _, block in rows],
        "datas": [block_encode(block) for _, block in rows],
    }


def layers_fetch(user_id: UUID, places: Sequence[Place]) -> dict[Place, list[bytes]]:
    """The block of each place and then the rows of its tail, in their order; no entry where there is nothing."""
    parameters = {
        "user_id": user_id,
        "series_ids": [series_id for series_id, _ in places],
        "buckets": [bucket for _, bucket in places],
    }
    found: dict[Place, list[tuple[int, bytes]]] = {}
    for series_id, bucket, seq, data in rows_of(statements.BLOCKS_FETCH, parameters):
        found.setdefault((series_id, bucket), []).append((seq, data))
    return {place: [data for _, data in sorted(layers)] for place, layers in found.items()}


def _write_chunk(team: TeamContext, user_id: UUID, chunk: Sequence[tuple[_SeriesWork, int]]) -> None:
    found = layers_fetch(user_id, [(work.held.series_id, bucket) for work, bucket in chunk])
    writes = Writes()
    for work, bucket in chunk:
        place = (work.held.series_id, bucket)
        layers = [block_decode(data) for data in found.get(place, ())]
        merged = work.merge(bucket, _stored(layers))
        differs = merged.created | merged.changed
        tail_rows = max(0, len(layers) - 1)
        if differs.any():
            if _fits_tail(layers, int(differs.sum())):
                writes.tail(place, work.held.rev, block_take(merged.samples, differs))
                tail_rows += 1
            else:
                writes.block(place, merged.samples, folds=tail_rows > 0)
                tail_rows = 0
        if len(work.buckets[bucket]) <= TAIL_POST_SAMPLES and len(merged.samples) >= TAIL_BLOCK_SAMPLES:
            work.live = _Live(bucket, int(merged.samples.start_us[-1]), tail_rows)
    writes.run(team, user_id)


def _stored(layers: Sequence[BlockColumns]) -> BlockColumns | None:
    return block_layer(layers) if len(layers) > 1 else next(iter(layers), None)


def _fits_tail(layers: Sequence[BlockColumns], size: int) -> bool:
    """Whether so few samples go to the tail: of a block that is there, is no trifle, and has no long tail yet."""
    return size <= TAIL_POST_SAMPLES and 0 < len(layers) <= TAIL_ROWS and len(layers[0]) >= TAIL_BLOCK_SAMPLES


def _note(user_id: UUID, works: Sequence[_SeriesWork]) -> None:
    """Note what series hold now, and where the next live posts may go where a small one came."""
    noted = [work for work in works if work.counts.created or work.live]
    if noted:
        lives = [work.live or _NOT_LIVE for work in noted]
        parameters = {
            "user_id": user_id,
            "series_ids": [work.held.series_id for work in noted],
            "created": [work.counts.created for work in noted],
            "firsts_us": [work.first_us for work in noted],
            "lasts_us": [work.last_us for work in noted],
            "are_live": [work.live is not None for work in noted],
            "live_buckets": [live.bucket for live in lives],
            "live_lasts_us": [live.last_us for live in lives],
            "live_rows": [live.tail_rows for live in lives],
        }
        rows_of(statements.SERIES_NOTE, parameters)
