"""Pulls that nobody asks for: every connection's last days, hour by hour, for years.

`next_pull_at` in a connection's row is what is owed; the periodic task finds what is due. A run takes a batch of
connections by moving that instant a little (so that another run, at the same time or after a crash, finds the rest),
then owes their pulls one connection at a time: what goes wrong with one is told and keeps nobody else waiting.
"""

from collections.abc import Collection
from datetime import date, timedelta

import structlog
from django.db import transaction

from healthsvc.kernel import clock
from healthsvc.kernel.jobs import is_interruption
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from links import selectors
from links.connection_selectors import SECRET_FIELDS, ingestion_over, resources_resting
from links.constants import (
    CONNECTION_BATCHES_A_RUN,
    CONNECTIONS_A_BATCH,
    SCHEDULE_CLAIM_SECONDS,
    PullKind,
)
from links.models import Connection, Pull
from links.services.connection_rows import users_lock
from links.services.pace import paces_of, registration_of
from links.services.pull_rows import pulls_schedule
from links.services.pull_times import connections_called, next_pull_after
from links.states import ConnectionStatus
from management.closed import of_living_team
from users.models import User

log = structlog.get_logger(__name__)


def pulls_schedule_due() -> int:
    """Owe the pulls of every connection that is due; how many connections that were."""
    taken = 0
    for _ in range(CONNECTION_BATCHES_A_RUN):
        batch = connections_take()
        with system_scope(SystemScope.DELIVERY):
            called = connections_called(batch)
        paces = paces_of(batch)
        for connection in batch:
            shortest_seconds = paces.get(registration_of(connection), 0)
            _schedule(connection, is_called=connection.pk in called, shortest_seconds=shortest_seconds)
        taken += len(batch)
        if len(batch) < CONNECTIONS_A_BATCH:
            break
    return taken


def connections_take() -> list[Connection]:
    """Connections of every team that are due, the longest first, for this run alone; without what opens them."""
    now = clock.now()
    with system_scope(SystemScope.DELIVERY), transaction.atomic():
        due = Connection.objects.filter(
            of_living_team(), status=ConnectionStatus.CONNECTED, disconnected_at=None, next_pull_at__lte=now
        ).order_by("next_pull_at")
        found = list(due.defer(*SECRET_FIELDS).select_for_update(skip_locked=True)[:CONNECTIONS_A_BATCH])
        claimed_until = now + timedelta(seconds=SCHEDULE_CLAIM_SECONDS)
        Connection.objects.filter(pk__in=[one.pk for one in found]).update(next_pull_at=claimed_until)
    return found


def pulls_owe(
    *,
    connection: Connection,
    resources: Collection[str] | None = None,
    start_on: date | None = None,
    end_on: date | None = None,
) -> list[Pull]:
    """Owe a refresh of one connection, if it still gives data; nothing otherwise. Days as `pulls_schedule` has them.

    Locks the user and the connection, so what ends or breaks it at the same moment comes before or after. Runs in the
    connection's team.
    """
    with transaction.atomic():
        held = _hold(connection)
        if held is None:
            return []
        kept, user = held
        return pulls_schedule(
            connections=[kept],
            kind=PullKind.REFRESH,
            user=user,
            resources=resources,
            start_on=start_on,
            end_on=end_on,
        )


def _schedule(connection: Connection, *, is_called: bool, shortest_seconds: int) -> None:
    try:
        with team_scope(connection.context), transaction.atomic():
            _owe(connection, is_called=is_called, shortest_seconds=shortest_seconds)
    except Exception as error:
        if is_interruption(error):
            raise
        # It comes due again when its claim is over; the others go on.
        log.exception("schedule_failed", connection_id=str(connection.pk), provider=connection.provider)


def _owe(connection: Connection, *, is_called: bool, shortest_seconds: int) -> None:
    held = _hold(connection)
    if held is None:
        return
    kept, user = held
    if not ingestion_over(user, clock.now().date()):
        resting = resources_resting(kept)
        given = selectors.resources_available(kept.provider, kept.scopes_granted, kept.context.environment)
        resources = [resource for resource in given if resource not in resting]
        pulls_schedule(connections=[kept], kind=PullKind.REFRESH, user=user, resources=resources, is_told=False)
    # A user whose bounds are over is looked at again: they may be moved.
    next_pull_at = next_pull_after(kept, is_called=is_called, shortest_seconds=shortest_seconds)
    Connection.objects.filter(pk=kept.pk).update(next_pull_at=next_pull_at)


def _hold(connection: Connection) -> tuple[Connection, User] | None:
    """The connection and its user, locked in that order; None where it gives no data any more."""
    user = users_lock(connection.context, [connection.user_id]).get(connection.user_id)
    rows = Connection.objects.filter(pk=connection.pk, status=ConnectionStatus.CONNECTED, disconnected_at=None)
    kept = rows.defer(*SECRET_FIELDS).select_for_update().first()
    if kept is None or user is None or user.deleted_at is not None:
        return None
    return kept, user
