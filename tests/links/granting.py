"""Grants and connections without a provider behind them, for tests of what becomes of connections."""

from datetime import timedelta
from typing import Any

from healthsvc.kernel import clock
from healthsvc.kernel.scope import team_scope
from links.connectors.oauth import Tokens
from links.models import Connection, Pull
from links.services.connections import Grant, connection_store
from tests.factories import Tenant
from users.models import User

#: What the `daily` scope opens at Oura is among them, whatever else the catalogue gains.
SCOPES = ("personal", "daily", "heartrate", "workout")


def tokens_make(number: int = 1) -> Tokens:
    """A pair of tokens, told apart by a number."""
    return Tokens(f"access-{number}", f"refresh-{number}", clock.now() + timedelta(hours=1), SCOPES, "")


def grant_make(**values: Any) -> Grant:
    """What a login at Oura gave."""
    given: dict[str, Any] = {
        "provider": "oura",
        "tokens": tokens_make(),
        "scopes_granted": SCOPES,
        "external_user_id": "ring-1",
        **values,
    }
    return Grant(**given)


def stored(tenant: Tenant, user: User, **values: Any) -> Connection:
    """A connection that was made without a browser."""
    with team_scope(tenant.context):
        return connection_store(team=tenant.context, user_id=user.id, grant=grant_make(**values))


def open_pulls(tenant: Tenant, connection: Connection | None = None) -> dict[tuple[str, str], Pull]:
    """Pulls that still owe something, by resource and kind."""
    with team_scope(tenant.context):
        rows = Pull.objects.filter(status__in=["scheduled", "retrying", "in_progress"])
        if connection is not None:
            rows = rows.filter(connection=connection)
        return {(pull.resource, pull.kind): pull for pull in rows}


def pulls_done(connection: Connection, **values: Any) -> None:
    """Let every open pull of a connection have ended well, just now."""
    rows = Pull.objects.filter(connection=connection, status__in=["scheduled", "retrying", "in_progress"])
    rows.update(**{"status": "success", "ended_at": clock.now(), "lease_until": None, **values})
