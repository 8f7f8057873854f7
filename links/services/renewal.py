"""Fresh access tokens. Of many workers one renews, by a lease in the connection's row; no call runs in a transaction.

`token_lease_until` says that somebody is renewing; `token_version` counts pairs of tokens and is part of every
write's condition, so that a worker that was asleep can't put an older pair over a newer one. After a refusal the
lease is kept for a while as a pause, so that refusals in a row are apart in time. A worker that dies between the
provider's answer and its write leaves the old refresh token: it is tried again once the lease has run out, which
works where the provider rotates none, or takes the one before the last for a while.
"""

import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Any, Final
from uuid import UUID

import structlog
from django.db import InterfaceError, OperationalError
from django.db import connection as database
from django.db.models import F, Q

from healthsvc.kernel import clock
from links.applications import application_of_connection
from links.catalogue import LoginKind, Provider, provider_find
from links.connectors.failures import FailureKind, GrantRefused, ProviderFailure
from links.connectors.oauth import Application, tokens_refresh
from links.connectors.password_adapters import adapter_of, api_url_of
from links.connectors.passwords import LoginFailed
from links.connectors.wire import Access
from links.constants import (
    TOKEN_JITTER_SECONDS,
    TOKEN_LEASE_SECONDS,
    TOKEN_MARGIN_SECONDS,
    TOKEN_REFUSAL_PAUSES_SECONDS,
    TOKEN_REFUSALS_MAXIMUM,
    ConnectionErrorType,
    LinkErrorType,
)
from links.models import Connection
from links.services.budgets import access_held, budget_block
from links.services.connections import connection_break
from links.services.refusals import ConnectionBroken, TokensBusy
from links.services.revocations import revocation_owe_pair
from links.services.scope_losses import scopes_narrow
from links.states import ConnectionStatus

log = structlog.get_logger(__name__)

#: A fresh pair is gone for good where it can't be written: so a database that is away for a moment is waited for.
_WRITE_WAITS_SECONDS: Final = (0.2, 1.0, 3.0)
#: What a connection of a password provider is broken with. Every other failure says no more than "no".
_LOGIN_ERRORS: Final = {
    LinkErrorType.PROVIDER_CREDENTIAL_ERROR: ConnectionErrorType.PROVIDER_CREDENTIAL_ERROR,
    LinkErrorType.PROVIDER_PASSWORD_EXPIRED: ConnectionErrorType.PROVIDER_PASSWORD_EXPIRED,
}


@dataclass(frozen=True, slots=True)
class _Fresh:
    """What a renewal gave. `expires_at` None: until it is rejected. `scopes` None: as they were."""

    access_token: str
    refresh_token: str
    expires_at: datetime | None
    scopes: tuple[str, ...] | None = None
    credentials: str | None = None


def access_get(*, connection_id: UUID, rejected_version: int = 0) -> tuple[Access, int]:
    """An access token that should work, and its version. A version that the provider rejected is renewed first.

    ConnectionBroken, TokensBusy, ProviderFailure. Calls the network where the token must be renewed.
    """
    row = _living(connection_id)
    provider, application = provider_find(row.provider), application_of_connection(row)
    if row.login == LoginKind.OAUTH and application is None:
        raise ProviderFailure(FailureKind.REFUSED)
    rejected = row.token_version == rejected_version
    if rejected or _is_ending(row):
        row = _renewed(row, provider, application, rejected=rejected)
    environment = row.context.environment
    access = access_held(
        application,
        provider,
        environment,
        api_url=application.api_url if application else api_url_of(provider, environment),
        access_token=row.access_token,
        scopes=row.scopes_granted,
    )
    return access, row.token_version


def margin_seconds(connection_id: UUID) -> int:
    """How long before its end a connection's token is renewed: each connection at its own time."""
    return TOKEN_MARGIN_SECONDS + connection_id.int % TOKEN_JITTER_SECONDS


def _is_ending(row: Connection) -> bool:
    if row.access_expires_at is None:
        # A password provider that names no end is taken at its word until it rejects the token.
        return row.login == LoginKind.OAUTH
    return row.access_expires_at <= clock.now() + timedelta(seconds=margin_seconds(row.pk))


def _renewed(row: Connection, provider: Provider, application: Application | None, *, rejected: bool) -> Connection:
    now = clock.now()
    held = Connection.objects.filter(pk=row.pk, token_version=row.token_version, disconnected_at=None)
    free = Q(token_lease_until=None) | Q(token_lease_until__lt=now)
    if not held.filter(free).update(token_lease_until=now + timedelta(seconds=TOKEN_LEASE_SECONDS)):
        return _renewed_by_another(row, rejected=rejected)
    try:
        fresh = _fresh(row, provider, application)
    except GrantRefused as refused:
        raise _refusal(row, refused.error_type) from None
    except LoginFailed as failed:
        raise _refusal(row, _LOGIN_ERRORS.get(failed.error_type, ConnectionErrorType.TOKEN_REFRESH_FAILED)) from None
    except ProviderFailure as failure:
        held.update(token_lease_until=None)
        if failure.kind is FailureKind.RATE_LIMITED:
            budget_block(application, provider, row.context.environment, failure.retry_after_seconds)
        raise
    if not _written(row, fresh):
        _unwanted(row, fresh)
    elif fresh.scopes is not None:
        scopes_narrow(connection_id=row.pk, token_version=row.token_version + 1, scopes=fresh.scopes)
    return _living(row.pk)


def _fresh(row: Connection, provider: Provider, application: Application | None) -> _Fresh:
    """Ask the provider. GrantRefused, LoginFailed, ProviderFailure."""
    if application is not None and row.login == LoginKind.OAUTH:
        if not row.refresh_token:
            raise GrantRefused
        tokens = tokens_refresh(application, refresh_token=row.refresh_token)
        return _Fresh(tokens.access_token, tokens.refresh_token, tokens.expires_at, tokens.scopes)
    environment = row.context.environment
    adapter = adapter_of(provider.slug, environment)
    if adapter is None:
        raise ProviderFailure(FailureKind.REFUSED)
    logged_in = adapter.renew(
        api_url_of(provider, environment),
        refresh_token=row.refresh_token,
        credentials=row.credentials or "",
        region=row.region,
    )
    return _Fresh(
        access_token=logged_in.access_token,
        refresh_token=logged_in.refresh_token or row.refresh_token,
        expires_at=logged_in.expires_at,
        credentials=logged_in.credentials or row.credentials,
    )


def _written(row: Connection, fresh: _Fresh) -> bool:
    """Keep a fresh pair; False where the connection has another by now, or has ended."""
    values: dict[str, Any] = {
        "access_token": fresh.access_token,
        "refresh_token": fresh.refresh_token,
        "access_expires_at": fresh.expires_at,
        "token_version": F("token_version") + 1,
        "token_lease_until": None,
        "token_refusals": 0,
    }
    if fresh.credentials is not None:
        values["credentials"] = fresh.credentials
    held = Connection.objects.filter(pk=row.pk, token_version=row.token_version, disconnected_at=None)
    for wait_seconds in _WRITE_WAITS_SECONDS:
        try:
            return bool(held.update(**values))
        except (OperationalError, InterfaceError) as error:
            if database.in_atomic_block:
                raise
            log.warning("token_write_again", connection_id=str(row.pk), error=type(error).__name__)
            database.close()
            time.sleep(wait_seconds)
    return bool(held.update(**values))


def _unwanted(row: Connection, fresh: _Fresh) -> None:
    """A pair that came too late: of a connection that has ended meanwhile it is what must be revoked."""
    ended = Connection.objects.filter(pk=row.pk).exclude(disconnected_at=None).first()
    if ended is not None and row.login == LoginKind.OAUTH:
        revocation_owe_pair(ended, access_token=fresh.access_token, refresh_token=fresh.refresh_token)


def _renewed_by_another(row: Connection, *, rejected: bool) -> Connection:
    """What another worker has written; else the old token while it lasts; else TokensBusy."""
    current = _living(row.pk)
    lasting = not rejected and current.access_expires_at is not None and current.access_expires_at > clock.now()
    if current.token_version != row.token_version or lasting:
        return current
    raise TokensBusy(_refused_for_seconds(current))


def _refused_for_seconds(row: Connection) -> int:
    """How long a connection whose tokens were refused rests; nothing while they are being renewed."""
    if not row.token_refusals or row.token_lease_until is None:
        return 0
    return max(0, ceil((row.token_lease_until - clock.now()).total_seconds()))


def _refusal(row: Connection, error_type: ConnectionErrorType) -> ConnectionBroken | ProviderFailure | TokensBusy:
    """Count a refusal; after several in a row the connection is broken. A newer pair is not held to it."""
    refusals = row.token_refusals + 1
    log.info("token_refresh_refused", provider=row.provider, connection_id=str(row.pk), refusals=refusals)
    pauses = TOKEN_REFUSAL_PAUSES_SECONDS
    pause = clock.now() + timedelta(seconds=pauses[min(refusals, len(pauses)) - 1])
    held = Connection.objects.filter(pk=row.pk, token_version=row.token_version)
    if not held.update(token_refusals=refusals, token_lease_until=pause):
        return TokensBusy()
    if refusals < TOKEN_REFUSALS_MAXIMUM:
        return ProviderFailure(FailureKind.TOKEN_REJECTED)
    if connection_break(connection_id=row.pk, token_version=row.token_version, error_type=error_type):
        return ConnectionBroken()
    return TokensBusy()


def _living(connection_id: UUID) -> Connection:
    row = Connection.objects.filter(pk=connection_id, status=ConnectionStatus.CONNECTED, disconnected_at=None).first()
    if row is None:
        raise ConnectionBroken
    return row
