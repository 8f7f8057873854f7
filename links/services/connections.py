"""Connections: made or renewed by a login, broken by a provider that refuses."""

from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from healthsvc.kernel import clock
from healthsvc.kernel.errors import ServiceError
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.rows import team_values
from links.connectors.oauth import Tokens
from links.constants import ConnectionErrorType, LinkErrorType, PullKind
from links.models import Connection, LinkSession, LinkToken, Pull
from links.services.announcing import connection_created_emit, connection_error_emit
from links.services.pull_rows import pulls_give_up, pulls_schedule
from links.services.refusals import LinkRefused
from links.services.tokens import link_token_problem
from links.services.walk import walk
from links.states import CONNECTION_TRANSITIONS, TOKEN_TRANSITIONS, ConnectionCommand, TokenCommand
from users import selectors as user_selectors
from users.models import User


@dataclass(frozen=True, slots=True)
class Grant:
    """What a provider gave after a login."""

    provider: str
    tokens: Tokens
    scopes_granted: tuple[str, ...]
    scopes_denied: tuple[str, ...]
    external_user_id: str


def connection_link(*, session: LinkSession, grant: Grant) -> Connection:
    """Store a connection, consume the link token, tell it, and owe its first pulls: all of it or nothing.

    A living connection of the same user and provider is renewed and keeps its history. LinkRefused where the
    token or the user is gone by now.
    """
    team = session.context
    with transaction.atomic():
        token = LinkToken.objects.for_team(team).select_for_update().get(pk=session.link_token_id)
        problem = link_token_problem(token)
        if problem:
            raise LinkRefused(problem)
        try:
            user = user_selectors.user_get(team, token.user_id, lock=True)
        except ServiceError:
            raise LinkRefused(LinkErrorType.INVALID_TOKEN) from None
        connection = _connection_write(team, user, grant)
        walk(LinkToken.objects.filter(pk=token.pk), TOKEN_TRANSITIONS, TokenCommand.CONSUME)
        LinkSession.objects.filter(pk=session.pk).update(provider=grant.provider, error_type="")
        connection_created_emit(connection, user.client_user_id)
        pulls_schedule(connections=[connection], kind=PullKind.BACKFILL, user=user)
    return connection


def connection_break(*, connection_id: UUID, token_version: int, error_type: ConnectionErrorType) -> bool:
    """Declare a connection broken and give up what it owes.

    False where it was broken already, or has other tokens by now than those that failed.
    """
    with transaction.atomic():
        rows = Connection.objects.filter(pk=connection_id, token_version=token_version, disconnected_at=None)
        now = clock.now()
        if not walk(rows, CONNECTION_TRANSITIONS, ConnectionCommand.BREAK, error_type=error_type, errored_at=now):
            return False
        connection = Connection.objects.get(pk=connection_id)
        pulls_give_up(Pull.objects.filter(connection_id=connection_id), error_code=error_type)
        connection_error_emit(connection, User.objects.get(pk=connection.user_id).client_user_id)
    return True


def _connection_write(team: TeamContext, user: User, grant: Grant) -> Connection:
    now = clock.now()
    values = {
        "external_user_id": grant.external_user_id,
        "access_token": grant.tokens.access_token,
        "refresh_token": grant.tokens.refresh_token,
        "access_expires_at": grant.tokens.expires_at,
        "scopes_granted": list(grant.scopes_granted),
        "scopes_denied": list(grant.scopes_denied),
        "connected_at": now,
        "token_lease_until": None,
        "token_refusals": 0,
        "error_type": "",
        "errored_at": None,
    }
    living = Connection.objects.for_team(team).filter(user_id=user.id, provider=grant.provider, disconnected_at=None)
    found = living.select_for_update().first()
    if found is None:
        return Connection.objects.create(
            **team_values(team), user=user, provider=grant.provider, created_at=now, **values
        )
    values["token_version"] = found.token_version + 1
    walk(living.filter(pk=found.pk), CONNECTION_TRANSITIONS, ConnectionCommand.RECONNECT, **values)
    found.refresh_from_db()
    return found
