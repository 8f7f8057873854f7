"""Tails: small live posts wait in rows beside their block, so that a block is not written anew for every sample.

A row of a tail lies over the block and the rows before it: later received wins, here too. Every read includes tails.
A post that finds a tail full folds it in (`aggregation.store.write`); what has gone quiet is folded by a task.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

from django.db import transaction

from aggregation.catalogue import SERIES_BY_SLUG
from aggregation.codec import BlockColumns, block_decode, block_encode
from aggregation.constants import NO_WORKOUT, TAIL_AGE_SECONDS, TAIL_POST_SAMPLES, TAIL_ROWS
from aggregation.records import SeriesBatch
from aggregation.store import checking, statements
from aggregation.store.checking import Ingestion, Refusals
from aggregation.store.columns import block_layer, is_ascending
from aggregation.store.days import SECOND_US
from aggregation.store.incoming import SeriesKey, columns_of, series_key
from aggregation.store.write import Writes, layers_fetch
from healthsvc.kernel import clock
from healthsvc.kernel.postgres.statements import rows_of
from healthsvc.kernel.principal import Environment, TeamContext

#: Blocks that one transaction folds, and rows of tails that a look for old ones goes through.
_FOLDED_AT_ONCE: Final = 64
_DUE_ROWS: Final = 50_000


@dataclass(frozen=True, slots=True)
class LivePost:
    """Samples that may go to a tail without a look at what is stored: few, good, in order, all of one block."""

    key: SeriesKey
    samples: BlockColumns
    bucket: int
    bucket_seconds: int


def live_post(batches: Sequence[SeriesBatch]) -> LivePost | None:
    """What was sent as a live post; None where it is none."""
    if len(batches) != 1 or batches[0].workout or not 0 < len(batches[0].samples) <= TAIL_POST_SAMPLES:
        return None
    (batch,) = batches
    spec = SERIES_BY_SLUG.get(batch.resource)
    if spec is None or not checking.source_good(batch.source):
        return None
    if not checking.samples_good(spec, batch.samples, Ingestion(), Refusals()).all():
        return None
    samples = columns_of(spec, batch.samples)
    width_us = spec.bucket_seconds * SECOND_US
    bucket = int(samples.start_us[0]) // width_us
    if len(samples) > 1 and not (is_ascending(samples) and int(samples.start_us[-1]) // width_us == bucket):
        return None
    return LivePost(series_key(batch.resource, batch.source), samples, bucket, spec.bucket_seconds)


def tail_append(team: TeamContext, user_id: UUID, post: LivePost) -> str | None:
    """Append samples that are newer than all that is stored of their block; the person's client_user_id.

    One statement, which is all of a transaction. None where they are not, or that is not known: then nothing was
    stored, and `series_write` finds out.
    """
    source, samples = post.key.source, post.samples
    rows = rows_of(
        statements.TAIL_APPEND,
        {
            "user_id": user_id,
            "team_id": team.team_id,
            "environment": str(team.environment),
            "resource": post.key.resource,
            "provider": source.provider,
            "source_type": source.type,
            "app_id": source.app_id or "",
            "device_id": source.device_id or "",
            "workout_id": NO_WORKOUT,
            "bucket_seconds": post.bucket_seconds,
            "bucket": post.bucket,
            "size": len(samples),
            "first_us": int(samples.start_us[0]),
            "last_us": int(samples.start_us[-1]),
            "data": block_encode(samples),
            "now": clock.now(),
            "tail_rows": TAIL_ROWS,
        },
    )
    return str(rows[0][0]) if rows else None


@dataclass(frozen=True, slots=True)
class TailDue:
    """A series with a tail that has waited long enough."""

    team: TeamContext
    user_id: UUID
    series_id: int


def tails_due(*, limit: int) -> list[TailDue]:
    """Series whose tails are to be folded in, the oldest of each team first, the teams in turn. In delivery scope."""
    before = clock.now() - timedelta(seconds=TAIL_AGE_SECONDS)
    rows = rows_of(statements.TAILS_DUE, {"before": before, "rows": _DUE_ROWS, "limit": limit})
    return [
        TailDue(TeamContext(team_id, Environment(environment)), user_id, series_id)
        for team_id, environment, user_id, series_id in rows
    ]


def tails_fold(team: TeamContext, user_id: UUID, series_id: int) -> int:
    """Fold the tails of a series into its blocks; how many blocks were written. In the team's scope.

    In transactions of some blocks each, each of them under the series' lock: safe to repeat, to run beside writers and
    to be killed. A person who is on the way out is left alone.
    """
    folded = 0
    while True:
        with transaction.atomic():
            buckets = _folded(team, user_id, series_id)
        folded += len(buckets)
        if len(buckets) < _FOLDED_AT_ONCE:
            return folded


def _folded(team: TeamContext, user_id: UUID, series_id: int) -> list[int]:
    owner = {"user_id": user_id, "team_id": team.team_id, "environment": str(team.environment)}
    series = {"user_id": user_id, "series_id": series_id}
    if not rows_of(statements.USER_HOLD, owner) or not rows_of(statements.SERIES_RAISE, owner | series):
        return []
    buckets = [bucket for (bucket,) in rows_of(statements.TAIL_BUCKETS, {**series, "limit": _FOLDED_AT_ONCE})]
    if not buckets:
        return []
    writes = Writes()
    for place, layers in layers_fetch(user_id, [(series_id, bucket) for bucket in buckets]).items():
        writes.block(place, block_layer([block_decode(data) for data in layers]), folds=True)
    writes.run(team, user_id)
    return buckets
