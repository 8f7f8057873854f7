"""Connections: made or renewed by any kind of login, broken by a provider, paused and ended by the customer.

Every change locks the user before the connection and the connection before its pulls (`connection_rows`).
"""

from collections.abc import Collection, Sequence
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from healthsvc.kernel import clock
from healthsvc.kernel.principal import TeamContext
from links.connection_selectors import SECRET_FIELDS
from links.constants import ConnectionErrorType, LinkErrorType, PullKind, SessionEnd
from links.device_selectors import DEVICE_LOGINS
from links.models import Connection, LinkSession, LinkToken, Pull
from links.services.announcing import connection_created_emit, connection_error_emit
from links.services.connection_rows import (
    account_lock,
    connection_create,
    connection_end,
    connection_lock,
    connection_renew,
    holders_elsewhere,
    users_lock,
)
from links.services.grants import Grant
from links.services.hooks import connection_hooks_want
from links.services.pull_rows import gaps_schedule, pulls_give_up, pulls_schedule
from links.services.pull_times import next_pull_first
from links.services.refusals import LinkRefused
from links.services.revocations import grant_lock, revocations_take
from links.services.sessions import sessions_revoke
from links.services.tokens import link_token_problem, link_tokens_end
from links.services.walk import walk
from links.states import CONNECTION_TRANSITIONS, TOKEN_TRANSITIONS, ConnectionCommand, ConnectionStatus, TokenCommand
from links.token_selectors import token_leads_to
from management import selectors as management_selectors
from management.closed import team_is_living
from users.models import User

__all__ = [
    "Grant",
    "connection_account_learn",
    "connection_break",
    "connection_close",
    "connection_disconnect",
    "connection_link",
    "connection_store",
    "connections_pause",
    "user_disconnect",
]

_MOVED_MESSAGE: Final = "The same account of the provider was connected to another user, who has it now."


def connection_link(*, session: LinkSession, grant: Grant) -> Connection:
    """Store what a browser's login gave, as `connection_store` does, and note on its session that it worked."""
    team = session.context
    with transaction.atomic():
        token = _token_take(team, session.link_token_id, grant.provider)
        connection = _connect(team, token.user_id, grant)
        LinkSession.objects.filter(pk=session.pk).update(provider=grant.provider, error_type="")
    return connection


def connection_store(
    *, team: TeamContext, user_id: UUID, grant: Grant, link_token: LinkToken | None = None
) -> Connection:
    """Store a connection, consume the link token, tell it, and owe its pulls: all of it or nothing.

    The same account again renews its connection: the row and its history stay, errors and pauses end, and the days
    since the last good pull are owed. Another account of the same provider ends the user's old connection. LinkRefused
    where the token or the user is gone by now or the token is for another provider, where the account is another
    user's and the team refuses that, or where an older grant of the account is being taken back at this moment.
    Runs in a transaction of its own: one that holds other locks already could wait for itself.
    """
    with transaction.atomic():
        if link_token is not None:
            token = _token_take(team, link_token.pk, grant.provider)
            if token.user_id != user_id:
                raise LinkRefused(LinkErrorType.INVALID_TOKEN)
        return _connect(team, user_id, grant)


def connection_account_learn(*, connection_id: UUID, token_version: int, external_user_id: str) -> bool:
    """Note the account of a connection that has told none; False where it has other tokens by now, or has ended.

    Where another user of the team has the account, the team's policy is made up for: `refuse` ends this connection,
    which came in unseen, and `move` that of whoever logged in earlier. The one who loses it is told.
    """
    with transaction.atomic():
        rows = Connection.objects.filter(pk=connection_id, token_version=token_version, disconnected_at=None)
        rows = rows.filter(external_user_id="")
        found = rows.defer(*SECRET_FIELDS).first()
        if found is None:
            return False
        team = found.context
        account_lock(team, found.provider, external_user_id)
        grant = Grant(found.provider, None, external_user_id=external_user_id)
        holders = holders_elsewhere(team, found.user_id, grant)
        policy = management_selectors.team_settings(team).duplicate_account_policy if holders else ""
        users = users_lock(team, [found.user_id, *(one.user_id for one in holders)])
        if not rows.update(external_user_id=external_user_id):
            return False
        losing = holders if policy == "move" else []
        if policy == "refuse" or any(one.connected_at > found.connected_at for one in losing):
            losing = [found]
        for one in losing:
            _moved_away(one, users[one.user_id])
    return True


def connection_break(*, connection_id: UUID, token_version: int, error_type: ConnectionErrorType) -> bool:
    """Declare a connection broken and give up what it owes.

    False where it was broken already, or has other tokens by now than those that failed.
    """
    with transaction.atomic():
        found = Connection.objects.filter(pk=connection_id).defer(*SECRET_FIELDS).first()
        if found is None:
            return False
        user = users_lock(found.context, [found.user_id])[found.user_id]
        rows = Connection.objects.filter(pk=connection_id, token_version=token_version, disconnected_at=None)
        return _broken(rows, user, error_type)


def connection_disconnect(*, team: TeamContext, user_id: UUID, provider: str) -> bool:
    """End a user's connection and owe the end of its grant at the provider. False where there is none."""
    with transaction.atomic():
        users_lock(team, [user_id])
        found = connection_lock(team, user_id, provider)
        if found is not None:
            connection_end(found)
    return found is not None


def connection_close(connection: Connection, *, only_if_over: bool = False) -> bool:
    """End this very connection, whatever took its place meanwhile; with `only_if_over` only a demonstration whose time
    is over by now. False where there is nothing to end. Runs in the connection's team.
    """
    with transaction.atomic():
        users_lock(connection.context, [connection.user_id])
        rows = Connection.objects.for_team(connection.context).filter(pk=connection.pk, disconnected_at=None)
        if only_if_over:
            rows = rows.filter(expires_at__lte=clock.now())
        found = rows.select_for_update().first()
        if found is not None:
            connection_end(found)
    return found is not None


def user_disconnect(team: TeamContext, user_id: UUID) -> int:
    """End every connection of a user, deleted or not, and their link tokens and devices' sessions, with whatever could
    begin one; how many connections there were.
    """
    with transaction.atomic():
        users_lock(team, [user_id])
        sessions_revoke(team=team, user_id=user_id, reason=SessionEnd.USER_DELETED)
        link_tokens_end(team=team, user_id=user_id)
        rows = Connection.objects.for_team(team).filter(user_id=user_id, disconnected_at=None)
        found = list(rows.order_by("pk").select_for_update())
        for connection in found:
            connection_end(connection)
    return len(found)


def connections_pause(*, team: TeamContext, user_ids: Collection[UUID], provider: str) -> int:
    """Pull no more from these users' connections until they are refreshed or connected again; how many that were.

    Locks every user named: callers with many give them in portions.
    """
    with transaction.atomic():
        users_lock(team, user_ids)
        living = Connection.objects.for_team(team).filter(user_id__in=user_ids, provider=provider, disconnected_at=None)
        ids = list(living.order_by("pk").select_for_update().values_list("pk", flat=True))
        rows = Connection.objects.filter(pk__in=ids)
        paused = walk(rows, CONNECTION_TRANSITIONS, ConnectionCommand.PAUSE, next_pull_at=None)
        paused_ids = Connection.objects.filter(pk__in=ids, status=ConnectionStatus.PAUSED).values("pk")
        pulls_give_up(Pull.objects.filter(connection__in=paused_ids), error_code="connection_paused")
    return paused


def connections_resume(connections: Sequence[Connection]) -> None:
    """End the pause of those that are paused. The caller holds their user."""
    ids = [connection.pk for connection in connections]
    paused = Connection.objects.filter(pk__in=ids, status=ConnectionStatus.PAUSED, disconnected_at=None)
    for connection in paused.select_for_update().order_by("pk"):
        at = next_pull_first(connection)
        own = Connection.objects.filter(pk=connection.pk)
        walk(own, CONNECTION_TRANSITIONS, ConnectionCommand.RECONNECT, next_pull_at=at)


def _token_take(team: TeamContext, token_id: UUID, provider: str) -> LinkToken:
    """Use up a link token; LinkRefused where that is not possible any more, or never was for this provider."""
    token = LinkToken.objects.for_team(team).select_for_update().get(pk=token_id)
    problem = link_token_problem(token)
    if problem:
        raise LinkRefused(problem)
    if not token_leads_to(token, provider):
        raise LinkRefused(LinkErrorType.INVALID_TOKEN)
    walk(LinkToken.objects.filter(pk=token.pk), TOKEN_TRANSITIONS, TokenCommand.CONSUME)
    return token


def _connect(team: TeamContext, user_id: UUID, grant: Grant) -> Connection:
    holders: list[Connection] = []
    if grant.external_user_id:
        account_lock(team, grant.provider, grant.external_user_id)
        grant_lock(team.environment, grant.provider, grant.external_user_id)
        holders = holders_elsewhere(team, user_id, grant)
    policy = management_selectors.team_settings(team).duplicate_account_policy if holders else ""
    if policy == "refuse":
        raise LinkRefused(LinkErrorType.DUPLICATE_CONNECTION)
    moved = holders if policy == "move" else []
    users = users_lock(team, [user_id, *(one.user_id for one in moved)])
    user = users.get(user_id)
    if user is None or user.deleted_at is not None or not team_is_living(team.team_id):
        raise LinkRefused(LinkErrorType.INVALID_TOKEN)
    _demo_check(team, user, grant)
    revocations_take(team=team, user_id=user_id, grant=grant)
    for one in moved:
        _moved_away(one, users[one.user_id])
    return _written(team, user, grant)


def _written(team: TeamContext, user: User, grant: Grant) -> Connection:
    found = connection_lock(team, user.pk, grant.provider)
    if found is not None and not _same_account(found, grant):
        connection_end(found)
        found = None
    if found is None:
        connection = connection_create(team, user, grant)
        pulls_schedule(connections=[connection], kind=PullKind.BACKFILL, user=user, is_urgent=grant.is_urgent)
    else:
        connection = found
        connection_renew(connection, grant)
        gaps_schedule(connections=[connection], user=user, is_urgent=grant.is_urgent)
    connection.next_pull_at = next_pull_first(connection)
    connection.save(update_fields=["next_pull_at"])
    connection_hooks_want(connection)
    connection_created_emit(connection, user.client_user_id)
    return connection


def _same_account(found: Connection, grant: Grant) -> bool:
    """Where one login told no account, there is nothing that says they differ; but a demo is nobody's account. What a
    telephone or a meter is connected by is one connection of its person, however many of them there are.
    """
    if grant.is_demo != (found.expires_at is not None):
        return False
    if grant.login in DEVICE_LOGINS:
        return True
    told = grant.external_user_id and found.external_user_id
    return not told or grant.external_user_id == found.external_user_id


def _demo_check(team: TeamContext, user: User, grant: Grant) -> None:
    """A user with a real connection gets no demo. The caller holds the user, so none can come in between."""
    real = Connection.objects.for_team(team).filter(user=user, disconnected_at=None, expires_at=None)
    if grant.is_demo and real.exists():
        raise LinkRefused(LinkErrorType.DUPLICATE_CONNECTION)


def _moved_away(holder: Connection, user: User) -> None:
    """The account is another user's from now on; the one who had it is told, and ended."""
    found = connection_lock(holder.context, user.pk, holder.provider)
    if found is None or found.pk != holder.pk:
        return
    _broken(Connection.objects.filter(pk=found.pk), user, ConnectionErrorType.UNKNOWN, _MOVED_MESSAGE)
    connection_end(found)


def _broken(
    rows: QuerySet[Connection], user: User, error_type: ConnectionErrorType, message: str | None = None
) -> bool:
    """Break the one of `rows` that works, once, and tell it. The caller holds the user."""
    now = clock.now()
    values = {"error_type": error_type, "errored_at": now, "next_pull_at": None}
    if not walk(rows, CONNECTION_TRANSITIONS, ConnectionCommand.BREAK, **values):
        return False
    connection = rows.defer(*SECRET_FIELDS).get()
    pulls_give_up(Pull.objects.filter(connection_id=connection.pk), error_code=error_type)
    connection_error_emit(connection, user.client_user_id, message)
    return True
