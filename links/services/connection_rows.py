"""Connections as rows: what is locked before one changes, how one begins, is renewed and ends.

Whoever changes a connection locks in one order, so that no two wait for each other: the vendor account, the users by
id, the connection, its pulls.
"""

from collections.abc import Collection
from hashlib import blake2b
from typing import Any, Final
from uuid import UUID

from django.db import connection as database

from healthsvc.kernel import clock
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.rows import team_values
from links.connection_selectors import SECRET_FIELDS
from links.device_selectors import DEVICE_LOGINS
from links.models import Connection, Pull
from links.services.grants import Grant
from links.services.hooks import connection_hooks_drop
from links.services.pull_rows import pulls_give_up
from links.services.revocations import revocation_owe
from links.services.walk import walk
from links.states import CONNECTION_TRANSITIONS, ConnectionCommand
from users.models import User

_ACCOUNT_LOCK: Final = "SELECT pg_advisory_xact_lock(%s)"


def account_lock(team: TeamContext, provider: str, external_user_id: str) -> None:
    """Until the transaction ends nobody else connects this account of the provider within the team."""
    name = f"{team.team_id}:{team.environment}:{provider}:{external_user_id}"
    number = int.from_bytes(blake2b(name.encode(), digest_size=8, person=b"link-account").digest(), signed=True)
    with database.cursor() as cursor:
        cursor.execute(_ACCOUNT_LOCK, [number])


def users_lock(team: TeamContext, user_ids: Collection[UUID]) -> dict[UUID, User]:
    """The users' rows, locked in the order of their ids; deleted ones too."""
    rows = User.objects.for_team(team).filter(pk__in=user_ids).order_by("pk").select_for_update()
    return {user.pk: user for user in rows}


def connection_lock(team: TeamContext, user_id: UUID, provider: str) -> Connection | None:
    """The user's living connection to a provider, locked. The caller holds the user."""
    living = Connection.objects.for_team(team).filter(user_id=user_id, provider=provider, disconnected_at=None)
    return living.select_for_update().first()


def holders_elsewhere(team: TeamContext, user_id: UUID, grant: Grant) -> list[Connection]:
    """Living connections of other living users to the same account. The caller holds the account."""
    rows = Connection.objects.for_team(team).filter(
        provider=grant.provider,
        external_user_id=grant.external_user_id,
        disconnected_at=None,
        user__deleted_at=None,
    )
    return list(rows.exclude(user_id=user_id).defer(*SECRET_FIELDS).order_by("pk"))


def connection_create(team: TeamContext, user: User, grant: Grant) -> Connection:
    """A first connection to an account."""
    now = clock.now()
    return Connection.objects.create(
        **team_values(team), user=user, provider=grant.provider, created_at=now, **_granted(grant)
    )


def connection_renew(found: Connection, grant: Grant) -> None:
    """The same account, let in again: errors and pauses end, and what an older pair of tokens does counts no more."""
    values = _granted(grant) | {"token_version": found.token_version + 1}
    told = (grant.external_user_id, found.external_user_id)
    # Of a person's telephones and meters the first one that had an id gives the connection its own, for good.
    first, second = reversed(told) if grant.login in DEVICE_LOGINS else told
    values["external_user_id"] = first or second
    walk(Connection.objects.filter(pk=found.pk), CONNECTION_TRANSITIONS, ConnectionCommand.RECONNECT, **values)
    found.refresh_from_db()


def connection_end(found: Connection) -> None:
    """Take a connection out of every list, give up what it owes, and owe the end of its grant at the provider.

    The caller holds the user and the connection. What was stored from it stays.
    """
    pulls_give_up(Pull.objects.filter(connection_id=found.pk), error_code="connection_ended")
    connection_hooks_drop(found)
    revocation_owe(found)
    Connection.objects.filter(pk=found.pk).update(
        disconnected_at=clock.now(),
        next_pull_at=None,
        token_version=found.token_version + 1,
        token_lease_until=None,
    )


def _granted(grant: Grant) -> dict[str, Any]:
    tokens = grant.tokens
    return {
        "login": grant.login,
        "region": grant.region,
        "application_id": grant.application_id,
        "external_user_id": grant.external_user_id,
        "connected_at": clock.now(),
        "expires_at": grant.expires_at,
        "next_pull_at": None,
        "access_token": tokens.access_token if tokens else "",
        "refresh_token": tokens.refresh_token if tokens else "",
        "access_expires_at": tokens.expires_at if tokens else None,
        "credentials": grant.credentials,
        "scopes_granted": list(grant.scopes_granted),
        "scopes_denied": list(grant.scopes_denied),
        "token_lease_until": None,
        "token_refusals": 0,
        "error_type": "",
        "errored_at": None,
    }
