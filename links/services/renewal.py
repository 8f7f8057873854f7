"""Fresh access tokens. Of many workers one renews, by a lease in the connection's row; no call runs in a transaction.

`token_lease_until` says that somebody is renewing; `token_version` counts pairs of tokens and is part of every
write's condition, so that a worker that was asleep can't put an older pair over a newer one. After a refusal the
lease is kept for a while as a pause, so that refusals in a row are apart in time.
"""

from datetime import timedelta
from uuid import UUID

import structlog
from django.db.models import F, Q

from healthsvc.kernel import clock
from links.catalogue import provider_find
from links.connectors.failures import FailureKind, GrantRefused, ProviderFailure
from links.connectors.oauth import Application, application_of, tokens_refresh
from links.connectors.wire import Access
from links.constants import (
    TOKEN_LEASE_SECONDS,
    TOKEN_MARGIN_SECONDS,
    TOKEN_REFUSALS_MAXIMUM,
    ConnectionErrorType,
)
from links.models import Connection
from links.services.connections import connection_break
from links.services.pull_rows import backoff_seconds
from links.services.refusals import ConnectionBroken, TokensBusy
from links.states import ConnectionStatus

log = structlog.get_logger(__name__)


def access_get(*, connection_id: UUID, rejected_version: int = 0) -> tuple[Access, int]:
    """An access token that should work, and its version. A version that the provider rejected is renewed first.

    ConnectionBroken, TokensBusy, ProviderFailure. Calls the network where the token must be renewed.
    """
    row = _living(connection_id)
    application = application_of(provider_find(row.provider), row.context.environment)
    if application is None:
        raise ProviderFailure(FailureKind.REFUSED)
    soon = clock.now() + timedelta(seconds=TOKEN_MARGIN_SECONDS)
    rejected = row.token_version == rejected_version
    if rejected or row.access_expires_at is None or row.access_expires_at <= soon:
        row = _renewed(row, application, rejected=rejected)
    return Access(application.api_url, row.access_token, frozenset(row.scopes_granted)), row.token_version


def _renewed(row: Connection, application: Application, *, rejected: bool) -> Connection:
    now = clock.now()
    held = Connection.objects.filter(pk=row.pk, token_version=row.token_version)
    free = Q(token_lease_until=None) | Q(token_lease_until__lt=now)
    if not held.filter(free).update(token_lease_until=now + timedelta(seconds=TOKEN_LEASE_SECONDS)):
        return _renewed_by_another(row, rejected=rejected)
    try:
        if not row.refresh_token:
            raise GrantRefused
        tokens = tokens_refresh(application, refresh_token=row.refresh_token)
    except GrantRefused:
        raise _refusal(row) from None
    except ProviderFailure:
        held.update(token_lease_until=None)
        raise
    held.update(
        access_token=tokens.access_token,
        refresh_token=tokens.refresh_token or row.refresh_token,
        access_expires_at=tokens.expires_at,
        token_version=F("token_version") + 1,
        token_lease_until=None,
        token_refusals=0,
    )
    return _living(row.pk)


def _renewed_by_another(row: Connection, *, rejected: bool) -> Connection:
    """What another worker has written; else the old token while it lasts; else TokensBusy."""
    current = _living(row.pk)
    lasting = not rejected and current.access_expires_at is not None and current.access_expires_at > clock.now()
    if current.token_version != row.token_version or lasting:
        return current
    raise TokensBusy


def _refusal(row: Connection) -> ConnectionBroken | ProviderFailure | TokensBusy:
    """Count a refusal; after several in a row the connection is broken. A newer pair is not held to it."""
    refusals = row.token_refusals + 1
    log.info("token_refresh_refused", provider=row.provider, connection_id=str(row.pk), refusals=refusals)
    pause = clock.now() + timedelta(seconds=backoff_seconds(refusals))
    held = Connection.objects.filter(pk=row.pk, token_version=row.token_version)
    if not held.update(token_refusals=refusals, token_lease_until=pause):
        return TokensBusy()
    if refusals < TOKEN_REFUSALS_MAXIMUM:
        return ProviderFailure(FailureKind.TOKEN_REJECTED)
    error_type = ConnectionErrorType.TOKEN_REFRESH_FAILED
    if connection_break(connection_id=row.pk, token_version=row.token_version, error_type=error_type):
        return ConnectionBroken()
    return TokensBusy()


def _living(connection_id: UUID) -> Connection:
    row = Connection.objects.filter(pk=connection_id, status=ConnectionStatus.CONNECTED, disconnected_at=None).first()
    if row is None:
        raise ConnectionBroken
    return row
