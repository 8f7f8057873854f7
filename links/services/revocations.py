"""Taking grants back at the provider: owed as a row in the transaction that ends the connection, tried until it holds.

A row holds the tokens until it has ended, and no longer. A grant that somebody else's living connection rests on is
left alone: most vendors know one grant for an account and an application, whoever asked for it.
"""

from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Any, Final
from uuid import UUID

import structlog
from django.db import connection as database
from django.db import transaction
from django.db.models import F, Q, QuerySet, Value
from django.db.models.functions import Greatest

from healthsvc.kernel import clock
from healthsvc.kernel.jobs import enqueue
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.rows import team_values
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from links.applications import application_kept, keys_of
from links.catalogue import LoginKind, provider_find
from links.connectors.failures import FailureKind, GrantRefused, ProviderFailure
from links.connectors.hooks import Revokes
from links.connectors.oauth import Application, token_revoke, tokens_refresh
from links.connectors.registry import connector_of
from links.constants import (
    REVOCATION_BACKOFF_SECONDS,
    REVOCATION_GIVE_UP_SECONDS,
    REVOCATION_KEPT_SECONDS,
    REVOCATION_LEASE_SECONDS,
    REVOCATION_TRIED_SECONDS,
    REVOCATIONS_A_SWEEP,
    TOKEN_MARGIN_SECONDS,
    LinkErrorType,
)
from links.models import Connection, Revocation
from links.services.budgets import access_held
from links.services.grants import Grant
from links.services.purging import rows_purge
from links.services.refusals import LinkRefused
from links.services.walk import walk
from links.states import REVOCATION_TRANSITIONS, RevocationCommand, RevocationStatus
from users.models import User

log = structlog.get_logger(__name__)

#: Why nothing had to be revoked.
NOT_SUPPORTED = "not_supported"
GRANT_SHARED = "grant_shared"
GRANT_ENDED = "grant_ended"

#: Those that ended without the vendor ending the grant.
NOT_REVOKED: Final = Q(status=RevocationStatus.GIVEN_UP) | Q(status=RevocationStatus.DONE, error_code=NOT_SUPPORTED)

_GRANT_LOCK: Final = "SELECT pg_advisory_xact_lock(%s)"


class _Needless(Exception):  # noqa: N818 - reads as what happened
    """Somebody logged in meanwhile, with the grant that was to be taken back."""


def revocation_owe(connection: Connection) -> None:
    """Move a connection's tokens to where they wait to be revoked. In the caller's transaction, which holds the row."""
    if connection.login == LoginKind.OAUTH and (connection.access_token or connection.refresh_token):
        _owe(connection, connection.access_token, connection.refresh_token, connection.access_expires_at)
    Connection.objects.filter(pk=connection.pk).update(access_token="", refresh_token="", credentials=None)


def revocation_owe_pair(connection: Connection, *, access_token: str, refresh_token: str) -> None:
    """A pair of tokens that came after its connection had ended."""
    _owe(connection, access_token, refresh_token, None)


def revocation_owe_grant(*, team: TeamContext, user_id: UUID, grant: Grant) -> None:
    """A grant that a login gave and that is not kept."""
    if grant.login is not LoginKind.OAUTH or grant.tokens is None:
        return
    now = clock.now()
    row = Revocation.objects.create(
        **team_values(team),
        user_id=user_id,
        provider=grant.provider,
        application_id=grant.application_id,
        external_user_id=grant.external_user_id,
        access_token=grant.tokens.access_token,
        refresh_token=grant.tokens.refresh_token,
        access_expires_at=grant.tokens.expires_at,
        not_before=now,
        created_at=now,
    )
    enqueue("links.revocation_run", revocation_id=row.pk)


def revocation_run(*, revocation_id: UUID) -> None:
    """Try one that is due, outside every transaction. Safe to call at any time, by anyone."""
    row = _claim(revocation_id)
    if row is None:
        return
    shared = _is_shared(row)
    with team_scope(row.context):
        try:
            note = GRANT_SHARED if shared else _revoke(row)
        except _Needless:
            _done(row, GRANT_SHARED)
        except GrantRefused:
            _done(row, GRANT_ENDED)
        except ProviderFailure as failure:
            _failed(row, str(failure.kind), failure.retry_after_seconds)
        except Exception:
            _failed(row, "unexpected_error", 0)
            raise
        else:
            _done(row, note)


def grant_lock(environment: str, provider: str, external_user_id: str) -> None:
    """Until the transaction ends nobody else begins or ends a grant of this account, in any team: those that share a
    registration share the vendor's grant.
    """
    name = f"{environment}:{provider}:{external_user_id}"
    number = int.from_bytes(blake2b(name.encode(), digest_size=8, person=b"vendor-grant").digest(), signed=True)
    with database.cursor() as cursor:
        cursor.execute(_GRANT_LOCK, [number])


def revocations_take(*, team: TeamContext, user_id: UUID, grant: Grant) -> None:
    """End what is still to be taken back of the grant that a login rests on. The caller holds the grant and the user.

    LinkRefused where a call has gone to the provider since the login was given its grant, or is under way: nobody knows
    whether the grant outlives it, and the person may log in again in a moment.
    """
    if grant.login is not LoginKind.OAUTH:
        return
    now = clock.now()
    same = Q(external_user_id=grant.external_user_id)
    untold = Q(team_id=team.team_id, user_id=user_id) & (Q() if not grant.external_user_id else Q(external_user_id=""))
    with system_scope(SystemScope.DELIVERY):
        rows = Revocation.objects.filter(
            (same & ~Q(external_user_id="")) | untold,
            provider=grant.provider,
            environment=team.environment,
            application_id=grant.application_id,
        )
        calling = Q(status=RevocationStatus.OWED, called_at__isnull=False, lease_until__gt=now)
        if grant.obtained_at is not None:
            calling |= Q(called_at__gte=grant.obtained_at)
        if rows.filter(calling).exists():
            raise LinkRefused(LinkErrorType.PROVIDER_API_ERROR)
        walk(rows, REVOCATION_TRANSITIONS, RevocationCommand.COMPLETE, **_ending(GRANT_SHARED))


def revocations_wake() -> int:
    """Send every revocation that is due to a worker; how many that were."""
    now = clock.now()
    with system_scope(SystemScope.DELIVERY):
        rows = Revocation.objects.filter(_free(now), status=RevocationStatus.OWED, not_before__lte=now)
        due = list(rows.order_by("not_before").values_list("pk", flat=True)[:REVOCATIONS_A_SWEEP])
    for revocation_id in due:
        enqueue("links.revocation_run", revocation_id=revocation_id)
    return len(due)


def revocations_last_call(rows: QuerySet[Revocation]) -> None:
    """Their person or team is erased: one more attempt at once, and others only where it was not tried for days.

    Once for each of `rows`; safe to call again. In the purge scope and the caller's transaction.
    """
    now = clock.now()
    owed = rows.filter(status=RevocationStatus.OWED, give_up_at=None)
    ids = list(owed.values_list("pk", flat=True))
    tried = F("created_at") + timedelta(seconds=REVOCATION_TRIED_SECONDS)
    owed.filter(pk__in=ids).update(give_up_at=Greatest(Value(now), tried), not_before=now)
    for revocation_id in ids:
        enqueue("links.revocation_run", revocation_id=revocation_id)


def revocations_purge() -> int:
    """Remove those that ended long ago; how many that were. They hold no tokens any more."""
    kept_since = clock.now() - timedelta(seconds=REVOCATION_KEPT_SECONDS)
    with system_scope(SystemScope.DELIVERY):
        return rows_purge(Revocation.objects.filter(ended_at__lt=kept_since))


def _owe(connection: Connection, access_token: str, refresh_token: str, expires_at: datetime | None) -> None:
    now = clock.now()
    row = Revocation.objects.create(
        **team_values(connection.context),
        connection_id=connection.pk,
        user_id=connection.user_id,
        provider=connection.provider,
        application_id=connection.application_id,
        external_user_id=connection.external_user_id,
        access_token=access_token,
        refresh_token=refresh_token,
        access_expires_at=expires_at,
        not_before=now,
        created_at=now,
    )
    enqueue("links.revocation_run", revocation_id=row.pk)


def _free(now: datetime) -> Q:
    return Q(lease_until=None) | Q(lease_until__lt=now)


def _claim(revocation_id: UUID) -> Revocation | None:
    """Take one that is due; None where it has ended, must wait, or another's lease runs."""
    now = clock.now()
    lease_until = now + timedelta(seconds=REVOCATION_LEASE_SECONDS)
    with system_scope(SystemScope.DELIVERY):
        rows = Revocation.objects.filter(pk=revocation_id)
        due = rows.filter(_free(now), status=RevocationStatus.OWED, not_before__lte=now)
        if not due.update(lease_until=lease_until, attempts=F("attempts") + 1, called_at=None):
            return None
        return rows.filter(lease_until=lease_until).first()


def _is_shared(row: Revocation) -> bool:
    """Whether a living connection, of any team that shares the registration, rests on the same grant.

    Where a login told no account, the user's own next connection to the provider is taken for the same one.
    """
    with system_scope(SystemScope.DELIVERY):
        living = Connection.objects.filter(
            provider=row.provider,
            environment=row.environment,
            application_id=row.application_id,
            login=LoginKind.OAUTH,
            disconnected_at=None,
        )
        own = Q(team_id=row.team_id, user_id=row.user_id)
        if not row.external_user_id:
            return living.filter(own).exists()
        same = living.filter(external_user_id=row.external_user_id)
        return same.exists() or living.filter(own, external_user_id="").exists()


def _revoke(row: Revocation) -> str:
    """Ask the provider; why nothing had to be revoked, '' where it was. GrantRefused, ProviderFailure."""
    provider = provider_find(row.provider)
    if provider.oauth is None:
        return NOT_SUPPORTED
    connector: object = connector_of(row.provider, row.context.environment)
    if not isinstance(connector, Revokes) and not provider.oauth.revoke_url:
        return NOT_SUPPORTED
    application = application_kept(row.context, provider, row.application_id)
    if application is None:
        # The operator may mend it, so it is tried again.
        raise ProviderFailure(FailureKind.REFUSED)
    if isinstance(connector, Revokes):
        _revoke_by(connector, row, application)
    else:
        if provider.oauth.revoke_parameter == "access_token":
            _enliven(row, application)
        _calling(row)
        token_revoke(application, access_token=row.access_token, refresh_token=row.refresh_token)
    return ""


def _calling(row: Revocation) -> None:
    """Note, directly before it, that the provider is asked; _Needless where a login came first. What comes after sees
    the note (`revocations_take`).
    """
    with transaction.atomic():
        if row.external_user_id:
            grant_lock(row.environment, row.provider, row.external_user_id)
        list(User.objects.filter(pk=row.user_id).select_for_update(no_key=True).values_list("pk"))
        if _is_shared(row) or not _held(row).update(called_at=clock.now()):
            raise _Needless


def _revoke_by(connector: Revokes, row: Revocation, application: Application) -> None:
    """By the connector's own way, with a token that lives; one that is rejected all the same is renewed once."""
    renewed = _enliven(row, application)
    try:
        _revoke_with(connector, row, application)
    except ProviderFailure as failure:
        if failure.kind is not FailureKind.TOKEN_REJECTED or renewed:
            raise
        _renew(row, application)
        _revoke_with(connector, row, application)


def _revoke_with(connector: Revokes, row: Revocation, application: Application) -> None:
    _calling(row)
    access = access_held(
        application,
        application.provider,
        row.context.environment,
        api_url=application.api_url,
        access_token=row.access_token,
    )
    connector.revoke(
        keys_of(application), access, refresh_token=row.refresh_token, external_user_id=row.external_user_id
    )


def _enliven(row: Revocation, application: Application) -> bool:
    """Renew an access token that is at its end; whether it was."""
    soon = clock.now() + timedelta(seconds=TOKEN_MARGIN_SECONDS)
    if row.access_expires_at is not None and row.access_expires_at > soon:
        return False
    _renew(row, application)
    return True


def _renew(row: Revocation, application: Application) -> None:
    """A fresh pair, kept before it is used: the vendor may have rotated. GrantRefused where the grant is over."""
    if not row.refresh_token:
        raise GrantRefused
    tokens = tokens_refresh(application, refresh_token=row.refresh_token)
    row.access_token, row.refresh_token, row.access_expires_at = (
        tokens.access_token,
        tokens.refresh_token,
        tokens.expires_at,
    )
    _held(row).update(
        access_token=row.access_token,
        refresh_token=row.refresh_token,
        access_expires_at=row.access_expires_at,
    )


def _held(row: Revocation) -> QuerySet[Revocation]:
    # The number of attempts tells this worker's claim from a later one's.
    return Revocation.objects.filter(pk=row.pk, status=RevocationStatus.OWED, attempts=row.attempts)


def _done(row: Revocation, note: str) -> None:
    if walk(_held(row), REVOCATION_TRANSITIONS, RevocationCommand.COMPLETE, **_ending(note)):
        log.info("grant_revoked", revocation_id=str(row.pk), provider=row.provider, note=note)


def _failed(row: Revocation, error_code: str, retry_after_seconds: int) -> None:
    """Rest until the next attempt, or give up where that was the last one."""
    now = clock.now()
    log.info("revocation_failed", revocation_id=str(row.pk), provider=row.provider, error_code=error_code)
    # Their person's erasure may have begun since the attempt did.
    last_call = _held(row).values_list("give_up_at", flat=True).first()
    last = last_call or row.created_at + timedelta(seconds=REVOCATION_GIVE_UP_SECONDS)
    if now >= last:
        if walk(_held(row), REVOCATION_TRANSITIONS, RevocationCommand.GIVE_UP, **_ending(error_code)):
            log.warning("revocation_given_up", revocation_id=str(row.pk), provider=row.provider, error_code=error_code)
        return
    backoff = REVOCATION_BACKOFF_SECONDS[min(row.attempts, len(REVOCATION_BACKOFF_SECONDS)) - 1]
    not_before = min(now + timedelta(seconds=max(backoff, retry_after_seconds)), last)
    _held(row).update(not_before=not_before, lease_until=None, error_code=error_code)


def _ending(error_code: str) -> dict[str, Any]:
    """What every end writes: the tokens are wiped."""
    return {
        "ended_at": clock.now(),
        "lease_until": None,
        "access_token": "",
        "refresh_token": "",
        "error_code": error_code,
    }
