"""Connections without a login: a telephone's own store of health data, a meter that it reads, values by hand.

There is nothing to renew and nothing to pull. What such a connection stands for is the person's consent: while it is
there, the person's signed-in device may push.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction

from aggregation.services import historical_announce
from healthsvc.kernel import clock
from healthsvc.kernel.errors import ErrorCode, ServiceError, not_found
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.rows import team_values
from links.catalogue import catalogue
from links.device_selectors import DAILY, DEVICE_LOGINS, HISTORICAL
from links.models import Connection, DeviceSync, LinkToken
from links.services.connection_rows import account_lock, connection_lock, holders_elsewhere, users_lock
from links.services.connections import connection_store
from links.services.grants import Grant
from links.services.refusals import LinkRefused
from links.services.tokens import link_token_validate
from links.states import ConnectionStatus


def device_connect(
    *, team: TeamContext, user_id: UUID, provider: str, provider_id: str = "", link_token: LinkToken | None = None
) -> Connection:
    """Connect a provider that asks for no login, and tell it once.

    Connecting again what is connected changes and tells nothing, except with a link token, which is used up by a
    connection. `provider_id` is the sender's own id of the account or meter; a person's second telephone or meter is
    the same connection, and the first id stays. LinkRefused as of `connection_store`.
    """
    grant = Grant(provider=provider, tokens=None, external_user_id=provider_id, login=catalogue()[provider].login)
    if link_token is not None:
        problem = link_token_validate(link_token)
        if problem:
            raise LinkRefused(problem)
        return connection_store(team=team, user_id=user_id, grant=grant, link_token=link_token)
    with transaction.atomic():
        holders: list[Connection] = []
        if provider_id:
            account_lock(team, provider, provider_id)
            holders = holders_elsewhere(team, user_id, grant)
        users_lock(team, [user_id, *(holder.user_id for holder in holders)])
        found = connection_lock(team, user_id, provider)
        if found is not None and _stands(found, provider_id):
            return found
        return connection_store(team=team, user_id=user_id, grant=grant)


def sync_complete(
    *,
    team: TeamContext,
    user_id: UUID,
    provider: str,
    resources: Sequence[str],
    stage: str,
    start: datetime,
    end: datetime,
) -> list[str]:
    """Note that a device has sent everything of these resources for a stretch of time; which are announced by that.

    The first `historical` note of a resource sends `historical.data.<resource>.created`, and from then on pushes send
    events of their own; a repeated one changes and tells nothing. Holds the user, so that no push runs meanwhile that
    still takes the backfill for unfinished. 404 for a user who is gone, 403 where the provider is not connected.
    """
    with transaction.atomic():
        user = users_lock(team, [user_id]).get(user_id)
        if user is None or user.deleted_at is not None:
            raise not_found()
        connection = connection_lock(team, user_id, provider)
        if connection is None or connection.status != ConnectionStatus.CONNECTED:
            raise ServiceError(ErrorCode.NOT_ALLOWED, "The person has not connected this provider, or it is paused.")
        if stage == DAILY:
            _sync_write(connection, DAILY, resources, start, end)
            return []
        known = DeviceSync.objects.filter(connection=connection, stage=HISTORICAL).values_list("resource", flat=True)
        announced = [resource for resource in dict.fromkeys(resources) if resource not in set(known)]
        _sync_write(connection, HISTORICAL, announced, start, end)
        historical_announce(team=team, user_id=user_id, provider=provider, resources=announced, start=start, end=end)
    return announced


def _stands(found: Connection, provider_id: str) -> bool:
    """Whether a connection is what was asked for already."""
    works = found.status == ConnectionStatus.CONNECTED and found.expires_at is None
    if found.login in DEVICE_LOGINS and found.external_user_id:
        return works
    return works and provider_id in ("", found.external_user_id)


def _sync_write(connection: Connection, stage: str, resources: Sequence[str], start: datetime, end: datetime) -> None:
    now = clock.now()
    DeviceSync.objects.bulk_create(
        [
            DeviceSync(
                **team_values(connection.context),
                connection=connection,
                user_id=connection.user_id,
                resource=resource,
                stage=stage,
                start_at=start,
                end_at=end,
                completed_at=now,
            )
            for resource in dict.fromkeys(resources)
        ],
        update_conflicts=True,
        unique_fields=["connection", "resource", "stage"],
        update_fields=["start_at", "end_at", "completed_at"],
    )
