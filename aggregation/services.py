"""Writes of the aggregation app: the one door by which health data enter the store."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction

from aggregation.events import HealthEvent, historical_event, series_events, summary_events
from aggregation.records import SeriesBatch, StoreResult, SummaryRecord
from aggregation.store import statements
from aggregation.store.checking import Ingestion, Refusals
from aggregation.store.columns import Counts
from aggregation.store.statements import rows_of
from aggregation.store.summaries import summaries_write
from aggregation.store.write import series_write
from healthsvc.kernel.errors import not_found
from healthsvc.kernel.principal import TeamContext
from users import selectors as user_selectors
from users.models import User
from webhooks.services import event_emit


def health_data_store(
    *,
    team: TeamContext,
    user_id: UUID,
    series: Sequence[SeriesBatch] = (),
    summaries: Sequence[SummaryRecord] = (),
    emit: bool = True,
) -> StoreResult:
    """Store samples and summaries of a living user; 404 for any other. All of it, or after an error nothing.

    The latest received value of a timestamp wins, in every column; the latest received version of a summary too.
    What can't be stored is refused by resource and reason and takes nothing else down. Counts are those of the
    records as if they had come one after another, so created + changed + unchanged + refused is what was given.
    With `emit` the events `daily.data.<resource>.created` and `.updated` become true with the data.

    Safe under concurrent writers: each series is locked first, in one order. Holds the user against erasure.
    """
    with transaction.atomic():
        user = user_hold(team, user_id)
        ingestion = Ingestion(user.ingestion_start_on, user.ingestion_end_on, user.fallback_time_zone)
        refusals = Refusals()
        samples = series_write(team, user_id, series, ingestion, refusals, changes=emit)
        summarised = summaries_write(team, user_id, summaries, ingestion, refusals)
        if emit:
            for change in samples.changes:
                for event in series_events(user_id, change):
                    _emit(team, user, event)
            for event in summary_events(summarised):
                _emit(team, user, event)
        return _result({**samples.counts, **summarised.counts}, refusals)


def historical_announce(
    *, team: TeamContext, user_id: UUID, provider: str, resources: Sequence[str], start: datetime, end: datetime
) -> None:
    """Emit `historical.data.<resource>.created`, which carries no data, for each resource of a finished backfill."""
    with transaction.atomic():
        user = user_hold(team, user_id)
        for resource in resources:
            _emit(team, user, historical_event(user_id, provider, resource, start, end))


def user_hold(team: TeamContext, user_id: UUID) -> User:
    """A living user who can't be erased before the current transaction ends; 404 otherwise."""
    parameters = {"user_id": user_id, "team_id": team.team_id, "environment": str(team.environment)}
    if not rows_of(statements.USER_HOLD, parameters):
        raise not_found()
    return user_selectors.user_get(team, user_id)


def _emit(team: TeamContext, user: User, event: HealthEvent) -> None:
    event_emit(
        team=team,
        event_type=event.type,
        data=event.data,
        user_id=user.pk,
        client_user_id=user.client_user_id,
    )


def _result(counts: Mapping[str, Counts], refusals: Refusals) -> StoreResult:
    return StoreResult(
        created={resource: one.created for resource, one in counts.items() if one.created},
        changed={resource: one.changed for resource, one in counts.items() if one.changed},
        unchanged={resource: one.unchanged for resource, one in counts.items() if one.unchanged},
        refused=refusals.listed(),
    )
