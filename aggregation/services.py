"""Writes of the aggregation app: the one door by which health data enter the store."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import chain, groupby
from typing import TypeAlias
from uuid import UUID

from django.db import connection, transaction

from aggregation import selectors
from aggregation.catalogue import DEVICE, SERIES_BY_SLUG
from aggregation.constants import NO_WORKOUT
from aggregation.events import HealthEvent, historical_event, series_events, stream_event, summary_events
from aggregation.models import Summary
from aggregation.records import SeriesBatch, StoreResult, StreamRecord, SummaryRecord
from aggregation.store import statements
from aggregation.store.checking import Ingestion, Refusals
from aggregation.store.columns import Counts
from aggregation.store.incoming import samples_gather
from aggregation.store.streams import StreamChange, streams_gather
from aggregation.store.summaries import SummariesWritten, summaries_write
from aggregation.store.tail import LivePost, live_post, tail_append, tails_due, tails_fold
from aggregation.store.workouts import workouts_find
from aggregation.store.write import SeriesChange, series_write
from healthsvc.kernel.errors import not_found
from healthsvc.kernel.postgres.statements import rows_of
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from webhooks.registry import provider_channel
from webhooks.services import events_emit

#: Which changes of a write are told: all, none, or those of the named resources and of devices.
Told: TypeAlias = bool | Collection[str]


@dataclass(frozen=True, slots=True)
class _Person:
    """What a write needs to know of a user it holds."""

    client_user_id: str
    fallback_time_zone: str | None
    ingestion_start_on: date | None
    ingestion_end_on: date | None


def health_data_store(
    *,
    team: TeamContext,
    user_id: UUID,
    series: Sequence[SeriesBatch] = (),
    summaries: Sequence[SummaryRecord] = (),
    streams: Sequence[StreamRecord] = (),
    emit: Told = True,
) -> StoreResult:
    """Store samples, summaries and streams of a living user; 404 for any other. All, or after an error nothing.

    The latest received value of a timestamp wins, in every column; the latest received version of a summary too.
    What can't be stored is refused by resource and reason and takes nothing else down. Counts are those of the
    records as if they had come one after another, so created + changed + unchanged + refused is what was given; those
    of a stream are of its moments. A workout that samples or a stream name may be among the summaries.
    With `emit` the events `daily.data.<resource>.created` and `.updated` become true with the data; it may name the
    resources that are told.

    Safe under concurrent writers: the summaries are locked first, then the series, both in one order. Holds the user
    against erasure. A small post of new samples is one statement beside the transaction's own.
    """
    post = None if summaries or streams else live_post(series)
    if post is not None:
        result = _live_stored(team, user_id, post, emit=_is_told(emit, post.key.resource))
        if result is not None:
            return result
    with transaction.atomic():
        person = _person_hold(team, user_id)
        ingestion = Ingestion(person.ingestion_start_on, person.ingestion_end_on, person.fallback_time_zone)
        refusals = Refusals()
        summarised = summaries_write(team, user_id, summaries, ingestion, refusals)
        named = {(batch.source.provider, batch.workout) for batch in series if batch.workout}
        workouts = workouts_find(user_id, named | {(one.source.provider, one.workout) for one in streams})
        incoming = samples_gather(series, workouts, ingestion, refusals) | streams_gather(streams, workouts, refusals)
        written = series_write(team, user_id, incoming, changes=emit is not False)
        if emit is not False:
            told = [change for change in written.changes if _is_told(emit, change.resource)]
            events = chain(_series_events(team, user_id, told), summary_events(_told_of(summarised, emit)))
            _emit(team, user_id, person.client_user_id, events)
        return _result({**written.counts, **summarised.counts}, refusals)


def _live_stored(team: TeamContext, user_id: UUID, post: LivePost, *, emit: bool) -> StoreResult | None:
    """A small post of samples newer than what is stored; None where it has to be stored as any other."""
    if emit and not connection.in_atomic_block:
        with transaction.atomic():
            return _live_stored(team, user_id, post, emit=emit)
    client_user_id = tail_append(team, user_id, post)
    if client_user_id is None:
        return None
    key, samples = post.key, post.samples
    if emit:
        change = SeriesChange(key.resource, key.source, samples, None, key.workout_id, is_new=False)
        _emit(team, user_id, client_user_id, series_events(user_id, change))
    return StoreResult(created={key.resource: len(samples)})


def _is_told(emit: Told, resource: str) -> bool:
    return emit if isinstance(emit, bool) else resource in emit or resource == DEVICE.slug


def _told_of(written: SummariesWritten, emit: Told) -> SummariesWritten:
    created = {key: row for key, row in written.created.items() if _is_told(emit, row.resource)}
    changed = {key: row for key, row in written.changed.items() if _is_told(emit, row.resource)}
    return replace(written, created=created, changed=changed)


def _series_events(team: TeamContext, user_id: UUID, changes: Sequence[SeriesChange]) -> Iterable[HealthEvent]:
    for change in changes:
        if change.resource in SERIES_BY_SLUG:
            yield from series_events(user_id, change)
    for stream in _stream_changes(team, user_id, changes):
        yield stream_event(user_id, stream)


def _stream_changes(team: TeamContext, user_id: UUID, changes: Sequence[SeriesChange]) -> list[StreamChange]:
    """The changes that are streams', each with its workout: one statement where there is one."""
    streams = [change for change in changes if change.workout_id != NO_WORKOUT]
    if not streams:
        return []
    found = Summary.objects.for_team(team).filter(user_id=user_id, id__in={change.workout_id for change in streams})
    workouts = {row.id: replace(selectors.summary_row(row), external_id=row.external_id) for row in found.defer("raw")}
    return [StreamChange(change.resource, workouts[change.workout_id], created=change.is_new) for change in streams]


def tails_fold_due(*, limit: int) -> int:
    """Fold the tails that have waited long enough, of at most `limit` series; of how many series there were any.

    Safe to repeat, to run side by side and to be killed.
    """
    with system_scope(SystemScope.DELIVERY):
        due = tails_due(limit=limit)
    folded = 0
    for one in due:
        with team_scope(one.team):
            folded += tails_fold(one.team, one.user_id, one.series_id) > 0
    return folded


def historical_announce(
    *, team: TeamContext, user_id: UUID, provider: str, resources: Sequence[str], start: datetime, end: datetime
) -> None:
    """Emit `historical.data.<resource>.created`, which carries no data, for each resource of a finished backfill."""
    with transaction.atomic():
        person = _person_hold(team, user_id)
        events = (historical_event(user_id, provider, resource, start, end) for resource in resources)
        _emit(team, user_id, person.client_user_id, events)


def user_hold(team: TeamContext, user_id: UUID) -> None:
    """Keep a living user from being erased before the current transaction ends; 404 otherwise."""
    _person_hold(team, user_id)


def _person_hold(team: TeamContext, user_id: UUID) -> _Person:
    parameters = {"user_id": user_id, "team_id": team.team_id, "environment": str(team.environment)}
    rows = rows_of(statements.USER_HOLD, parameters)
    if not rows:
        raise not_found()
    return _Person(*rows[0])


def _emit(team: TeamContext, user_id: UUID, client_user_id: str, events: Iterable[HealthEvent]) -> None:
    """One statement for those of one provider, which mostly are all."""
    for provider, some in groupby(events, key=lambda event: event.provider):
        events_emit(
            team=team,
            events=((event.type, event.data) for event in some),
            user_id=user_id,
            client_user_id=client_user_id,
            channels=(provider_channel(provider),),
        )


def _result(counts: Mapping[str, Counts], refusals: Refusals) -> StoreResult:
    return StoreResult(
        created={resource: one.created for resource, one in counts.items() if one.created},
        changed={resource: one.changed for resource, one in counts.items() if one.changed},
        unchanged={resource: one.unchanged for resource, one in counts.items() if one.unchanged},
        refused=refusals.listed(),
    )
