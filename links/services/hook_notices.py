"""Calls that providers make to us: checked by the connector, and turned into owed pulls before they are answered.

A notification is a wake-up that carries no data: what changed is asked for, in the name of every connection it is
about. So a copy of an earlier one costs a few calls and changes nothing.
"""

from collections.abc import Iterator
from datetime import date, timedelta
from uuid import UUID

import structlog
from django.db import transaction

from healthsvc.kernel import clock
from healthsvc.kernel.errors import ErrorCode, ServiceError
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from links.connectors.hooks import HookAnswer, HookCall, HookSecrets, Notice
from links.constants import NOTICE_CONNECTIONS_A_BATCH, NOTICE_DAYS_MAXIMUM, ConnectionErrorType, PullKind
from links.models import Connection, ProviderHook
from links.services.connections import connection_break
from links.services.hooks import hook_keys, taker_of
from links.services.pull_rows import pulls_schedule
from links.states import ConnectionStatus, HookStatus
from management.closed import of_living_team
from users import selectors as user_selectors

log = structlog.get_logger(__name__)

#: As long as a connection keeps it.
_ACCOUNT_MAXIMUM_CHARACTERS = 200
_LIVING = (ConnectionStatus.CONNECTED, ConnectionStatus.PAUSED)


def hook_answer(*, provider: str, hook_id: UUID, call: HookCall) -> HookAnswer:
    """What the provider is answered; what it told is owed and committed by then.

    ServiceError NOT_FOUND for an address that is none of a subscription; HookRefused where the call is not the
    provider's. Calls no network.
    """
    hook = ProviderHook.objects.filter(pk=hook_id, provider=provider).exclude(status=HookStatus.UNWANTED).first()
    taker = taker_of(hook.provider, hook.environment) if hook else None
    keys = hook_keys(hook) if hook and taker else None
    if hook is None or taker is None or keys is None:
        raise ServiceError(ErrorCode.NOT_FOUND)
    answer = taker.hook_answer(call, HookSecrets(hook.verify_token, keys.client_secret, hook.external_id))
    for notice in dict.fromkeys(answer.notices):
        _take(hook, notice)
    if answer.notices:
        ProviderHook.objects.filter(pk=hook.pk).update(called_at=clock.now())
    return answer


def _take(hook: ProviderHook, notice: Notice) -> None:
    """Carry out one notice for every living connection of its account, whichever team it is of."""
    days = _days(notice)
    if not _is_account(notice.external_user_id) or days is None:
        return
    taken = 0
    for connection in _connections(hook, notice.external_user_id):
        taken += 1
        with team_scope(connection.context):
            if notice.deregistered:
                _deregister(connection, notice)
            else:
                _refresh(connection, notice, days)
    log.info("hook_notice", hook_id=str(hook.pk), provider=hook.provider, connections=taken)


def _is_account(external_user_id: str) -> bool:
    """Whether anybody can be called so: what the database takes for no text, or keeps no longer one of, is nobody."""
    return 0 < len(external_user_id) <= _ACCOUNT_MAXIMUM_CHARACTERS and external_user_id.isprintable()


def _connections(hook: ProviderHook, external_user_id: str) -> Iterator[Connection]:
    """The connections that a subscription may speak of: its own one, or those of its registration."""
    rows = Connection.objects.filter(
        of_living_team(),
        provider=hook.provider,
        environment=hook.environment,
        application_id=hook.application_id,
        external_user_id=external_user_id,
        disconnected_at=None,
        status__in=_LIVING,
    )
    if hook.connection_id is not None:
        rows = rows.filter(pk=hook.connection_id)
    last = None
    while True:
        with system_scope(SystemScope.DELIVERY):
            following = rows.filter(pk__gt=last) if last else rows
            found = list(following.order_by("pk")[:NOTICE_CONNECTIONS_A_BATCH])
        yield from found
        if len(found) < NOTICE_CONNECTIONS_A_BATCH:
            return
        last = found[-1].pk


def _refresh(connection: Connection, notice: Notice, days: tuple[date | None, date | None]) -> None:
    with transaction.atomic():
        try:
            user = user_selectors.user_get(connection.context, connection.user_id, lock=True)
        except ServiceError:
            return  # deleted meanwhile: nothing of theirs is fetched any more
        living = Connection.objects.filter(
            pk=connection.pk, status=ConnectionStatus.CONNECTED, disconnected_at=None
        ).first()
        if living is not None:
            pulls_schedule(
                connections=[living],
                kind=PullKind.REFRESH,
                user=user,
                resources=notice.resources or None,
                start_on=days[0],
                end_on=days[1],
            )


def _deregister(connection: Connection, notice: Notice) -> None:
    if notice.occurred_at is not None and notice.occurred_at < connection.connected_at:
        return
    connection_break(
        connection_id=connection.pk,
        token_version=connection.token_version,
        error_type=ConnectionErrorType.DEREGISTERED_PER_PROVIDER,
    )


def _days(notice: Notice) -> tuple[date | None, date | None] | None:
    """The days to read, within what a notification may ask for; None where all of them are too old or to come."""
    if notice.start_on is None or notice.end_on is None:
        return None, None
    today = clock.now().date()
    first = max(notice.start_on, today - timedelta(days=NOTICE_DAYS_MAXIMUM))
    last = min(notice.end_on, today + timedelta(days=1))
    return (first, last) if first <= last else None
