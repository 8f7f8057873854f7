"""Our subscriptions to providers' notifications: wanted with the first connection, renewed in time, dropped at the end.

A row is what is owed. Subscribing and unsubscribing are calls to the provider, which one worker at a time makes outside
every transaction, by a lease in the row. Without a subscription data still come, by the schedule: a failure here breaks
no connection, and is shown in the admin.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from ipaddress import ip_address
from secrets import token_urlsafe
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from healthsvc.kernel import clock
from healthsvc.kernel.jobs import enqueue
from healthsvc.kernel.principal import Environment
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from links.applications import application_kept, application_of_connection, keys_of
from links.catalogue import catalogue, provider_find
from links.connectors.failures import LASTING, FailureKind, ProviderFailure
from links.connectors.hooks import ApplicationKeys, SubscriptionScope, TakesHooks
from links.connectors.oauth import Application, application_of
from links.connectors.registry import connector_of
from links.connectors.wire import Access
from links.constants import (
    HOOK_ATTEMPTS_MAXIMUM,
    HOOK_CHECK_SECONDS,
    HOOK_DROP_ATTEMPTS_MAXIMUM,
    HOOK_FAILED_WAIT_SECONDS,
    HOOK_LEASE_SECONDS,
    HOOKS_A_SWEEP,
    TOKEN_LEASE_WAIT_SECONDS,
)
from links.models import Connection, ProviderApplication, ProviderHook, Revocation
from links.services.budgets import access_held
from links.services.pull_rows import backoff_seconds
from links.services.refusals import ConnectionBroken, TokensBusy
from links.services.walk import walk
from links.states import HOOK_TRANSITIONS, ConnectionStatus, HookCommand, HookStatus, RevocationStatus
from management.closed import of_living_team

log = structlog.get_logger(__name__)

#: Statuses in which the provider is asked to call us.
_CALLING: Final = (HookStatus.WANTED, HookStatus.ACTIVE, HookStatus.FAILED)


class _Unreachable(Exception):  # noqa: N818 - reads as what happened
    """Nothing is left to call the provider with: the registration or the tokens are gone."""


@dataclass(frozen=True, slots=True)
class _Key:
    """Whose subscriptions: a registration's, or with `connection_id` one connection's."""

    provider: str
    environment: str
    application_id: UUID | None
    connection_id: UUID | None = None

    def rows(self) -> QuerySet[ProviderHook]:
        return ProviderHook.objects.filter(
            provider=self.provider,
            environment=self.environment,
            application_id=self.application_id,
            connection_id=self.connection_id,
        )


def hook_address(hook: ProviderHook) -> str:
    """Where the provider calls us."""
    return f"{settings.BASE_URL}/link/hook/{hook.provider}/{hook.pk}"


def taker_of(slug: str, environment: str) -> TakesHooks | None:
    """The provider's connector, where it takes notifications."""
    connector: object = connector_of(slug, Environment(environment))
    return connector if isinstance(connector, TakesHooks) else None


def connection_hooks_want(connection: Connection) -> None:
    """Want the subscriptions that a connection needs. Only writes rows, in the caller's transaction."""
    taker = taker_of(connection.provider, connection.environment)
    if taker is None:
        return
    key = _Key(connection.provider, connection.environment, connection.application_id)
    if taker.subscription_scope is SubscriptionScope.APPLICATION:
        _application_want(key, taker)
        return
    key = _Key(key.provider, key.environment, key.application_id, connection.pk)
    topics = frozenset(taker.hook_topics(frozenset(connection.scopes_granted)))
    # The tokens are new, and so may be the registration: what was subscribed to with others is asked for again.
    standing = ProviderHook.objects.filter(connection_id=connection.pk)
    _drop(standing.exclude(pk__in=key.rows().filter(topic__in=topics).values("pk")))
    _insert(key, topics)
    wanted = key.rows().filter(topic__in=topics)
    walk(wanted, HOOK_TRANSITIONS, HookCommand.WANT)
    wanted.update(not_before=clock.now(), attempts=0)
    _wake(wanted)


def connection_hooks_drop(connection: Connection) -> None:
    """Owe the end of a connection's own subscriptions. Only writes rows, in the caller's transaction."""
    _drop(ProviderHook.objects.filter(connection_id=connection.pk))


def application_hooks_drop(application_ids: QuerySet[Any, Any]) -> None:
    """Owe the end of every subscription of these registrations. Only writes rows, in the caller's transaction."""
    _drop(ProviderHook.objects.filter(application_id__in=application_ids))


def hooks_reconcile() -> int:
    """Want what the catalogue's topics lack, and wake every subscription that is due; how many those were."""
    standing = ProviderHook.objects.filter(connection_id=None).exclude(status=HookStatus.UNWANTED)
    for values in standing.values_list("provider", "environment", "application_id").distinct():
        key = _Key(*values)
        taker = taker_of(key.provider, key.environment)
        if taker is not None and taker.subscription_scope is SubscriptionScope.APPLICATION:
            with transaction.atomic():
                _application_want(key, taker)
    now = clock.now()
    due = ProviderHook.objects.filter(Q(lease_until=None) | Q(lease_until__lt=now), not_before__lte=now)
    if not _reachable(Environment.PRODUCTION):
        due = due.exclude(environment=Environment.PRODUCTION, status__in=_CALLING)
    with system_scope(SystemScope.DELIVERY):
        due = due.exclude(_of_deleted_team(), status__in=_CALLING)
        found = list(due.order_by("not_before").values_list("pk", flat=True)[:HOOKS_A_SWEEP])
    for hook_id in found:
        enqueue("links.hook_run", hook_id=hook_id)
    return len(found)


def hook_run(*, hook_id: UUID) -> None:
    """Subscribe, renew or unsubscribe what is due. Safe to call at any time, by anyone."""
    hook = _claim(hook_id)
    if hook is None:
        return
    try:
        if hook.status == HookStatus.UNWANTED:
            _unsubscribe(hook)
        else:
            _subscribe(hook)
    except TokensBusy:
        _rest(hook, error_code="resource_contention", wait_seconds=TOKEN_LEASE_WAIT_SECONDS)
    except ConnectionBroken:
        # It comes back with the person's next login, which wants its subscriptions anew.
        _rest(hook, error_code="connection_broken", wait_seconds=HOOK_FAILED_WAIT_SECONDS)
    except _Unreachable:
        _unreachable(hook)
    except ProviderFailure as failure:
        _failed(hook, failure)
    except Exception:
        _failed(hook, ProviderFailure(FailureKind.REFUSED))
        raise


def hook_keys(hook: ProviderHook) -> ApplicationKeys | None:
    """The registration that a subscription belongs to; None where it is gone."""
    found = _application(hook)
    return keys_of(found) if found else None


def _application_want(key: _Key, taker: TakesHooks) -> None:
    """Every topic of a registration once. What has failed is left to its own next try."""
    topics = frozenset(taker.hook_topics(_scopes_of(key.provider)))
    _drop(key.rows().exclude(topic__in=topics))
    _insert(key, topics)
    again = key.rows().filter(topic__in=topics, status=HookStatus.UNWANTED)
    walk(again, HOOK_TRANSITIONS, HookCommand.WANT, not_before=clock.now(), attempts=0)
    _wake(key.rows().filter(topic__in=topics, attempts=0))


def _of_deleted_team() -> Q:
    """Subscriptions of a deleted team's registration or connection: they end, but are not asked for again."""
    applications = ProviderApplication.objects.filter(pk=OuterRef("application_id")).exclude(of_living_team())
    connections = Connection.objects.filter(pk=OuterRef("connection_id")).exclude(of_living_team())
    return Q(Exists(applications)) | Q(Exists(connections))


def _scopes_of(slug: str) -> frozenset[str]:
    """Everything that the provider may be asked for."""
    provider = provider_find(slug) if slug in catalogue() else None
    if provider is None or provider.oauth is None:
        return frozenset()
    offers = provider.resources.values()
    return frozenset(provider.oauth.base_scopes).union(*(set(one.required) | set(one.optional) for one in offers))


def _insert(key: _Key, topics: Collection[str]) -> None:
    known = set(key.rows().filter(topic__in=topics).values_list("topic", flat=True))
    now = clock.now()
    rows = [
        ProviderHook(
            provider=key.provider,
            environment=key.environment,
            application_id=key.application_id,
            connection_id=key.connection_id,
            topic=topic,
            verify_token=token_urlsafe(32),
            not_before=now,
            created_at=now,
        )
        for topic in sorted(set(topics) - known)
    ]
    ProviderHook.objects.bulk_create(rows, ignore_conflicts=True)


def _drop(rows: QuerySet[ProviderHook]) -> None:
    ids = list(rows.exclude(status=HookStatus.UNWANTED).values_list("pk", flat=True))
    walk(
        ProviderHook.objects.filter(pk__in=ids), HOOK_TRANSITIONS, HookCommand.DROP, not_before=clock.now(), attempts=0
    )
    for hook_id in ids:
        enqueue("links.hook_run", hook_id=hook_id)


def _wake(rows: QuerySet[ProviderHook]) -> None:
    due = rows.filter(status=HookStatus.WANTED, not_before__lte=clock.now(), lease_until=None)
    for hook_id in due.values_list("pk", flat=True):
        enqueue("links.hook_run", hook_id=hook_id)


def _claim(hook_id: UUID) -> ProviderHook | None:
    """Take a subscription that is due for this worker; None where it is gone, must wait, or another works on it.

    What stands and what failed is wanted again.
    """
    now = clock.now()
    with system_scope(SystemScope.DELIVERY), transaction.atomic():
        rows = ProviderHook.objects.filter(pk=hook_id)
        if rows.filter(_of_deleted_team(), status__in=_CALLING).exists():
            return None
        free = rows.filter(Q(lease_until=None) | Q(lease_until__lt=now), not_before__lte=now)
        hook = free.select_for_update(skip_locked=True).first()
        if hook is None or (hook.status in _CALLING and not _reachable(Environment(hook.environment))):
            return None
        if hook.status in (HookStatus.ACTIVE, HookStatus.FAILED):
            walk(rows, HOOK_TRANSITIONS, HookCommand.WANT)
        rows.update(lease_until=now + timedelta(seconds=HOOK_LEASE_SECONDS))
        return rows.get()


def _subscribe(hook: ProviderHook) -> None:
    taker = taker_of(hook.provider, hook.environment)
    if taker is None:
        raise _Unreachable
    keys, access = _standing(hook)
    subscribed = taker.hook_subscribe(
        keys, access, topic=hook.topic, callback_url=hook_address(hook), verify_token=hook.verify_token
    )
    known = {"external_id": subscribed.external_id, "expires_at": subscribed.expires_at}
    activated = walk(
        _held(hook),
        HOOK_TRANSITIONS,
        HookCommand.ACTIVATE,
        **known,
        not_before=_looked_at_next(subscribed.expires_at),
        attempts=0,
        lease_until=None,
        error_code="",
    )
    if not activated:
        # Dropped meanwhile: whoever ends it needs to know its name.
        _held(hook).update(**known, lease_until=None)


def _unsubscribe(hook: ProviderHook) -> None:
    taker = taker_of(hook.provider, hook.environment)
    if taker is None:
        raise _Unreachable
    keys, access = _standing(hook)
    taker.hook_unsubscribe(
        keys, access, topic=hook.topic, external_id=hook.external_id, callback_url=hook_address(hook)
    )
    _gone(hook)


def _gone(hook: ProviderHook) -> None:
    """Forget a subscription that has ended; one that is wanted again meanwhile is made anew."""
    _held(hook).filter(status=HookStatus.UNWANTED).delete()
    _held(hook).update(lease_until=None)


def _looked_at_next(expires_at: datetime | None) -> datetime:
    """Half-way to its end, and within a week: a provider that gave up on us forgets a subscription without a word."""
    now = clock.now()
    check = timedelta(seconds=HOOK_CHECK_SECONDS)
    return now + (min(check, (expires_at - now) / 2) if expires_at and expires_at > now else check)


def _standing(hook: ProviderHook) -> tuple[ApplicationKeys, Access | None]:
    """What a call is made with. ConnectionBroken, TokensBusy, ProviderFailure where the tokens must be renewed."""
    if hook.connection_id is None:
        keys = hook_keys(hook)
        if keys is None:
            raise _Unreachable
        return keys, None
    with system_scope(SystemScope.DELIVERY):
        connection = Connection.objects.filter(pk=hook.connection_id).first()
    if connection is None:
        raise _Unreachable
    with team_scope(connection.context):
        application = application_of_connection(connection)
        if application is None:
            raise _Unreachable
        return keys_of(application), _access(connection, application)


def _access(connection: Connection, application: Application) -> Access:
    from links.services.renewal import access_get  # renewal breaks connections, which drop their hooks

    if connection.disconnected_at is None:
        return access_get(connection_id=connection.pk)[0]
    # The tokens have moved to where they wait to be taken back.
    owed = Revocation.objects.filter(connection_id=connection.pk, status=RevocationStatus.OWED).order_by("-id").first()
    if owed is not None and owed.access_token:
        return access_held(
            application,
            application.provider,
            Environment(connection.environment),
            api_url=application.api_url,
            access_token=owed.access_token,
        )
    with system_scope(SystemScope.DELIVERY):
        # Or the grant is still used by somebody else who has the account, and will not be taken back.
        sharing = Connection.objects.filter(
            provider=connection.provider,
            environment=connection.environment,
            application_id=connection.application_id,
            external_user_id=connection.external_user_id,
            disconnected_at=None,
            status=ConnectionStatus.CONNECTED,
        )
        other = sharing.order_by("pk").first() if connection.external_user_id else None
    if other is None:
        raise _Unreachable
    with team_scope(other.context):
        return access_get(connection_id=other.pk)[0]


def _application(hook: ProviderHook) -> Application | None:
    if hook.provider not in catalogue():
        return None
    provider, environment = provider_find(hook.provider), Environment(hook.environment)
    if hook.application_id is None:
        return application_of(provider, environment)
    with system_scope(SystemScope.DELIVERY):
        own = ProviderApplication.objects.filter(pk=hook.application_id).first()
    if own is None:
        return None
    with team_scope(own.context):
        return application_kept(own.context, provider, own.pk)


def _unreachable(hook: ProviderHook) -> None:
    """Nobody can be asked any more. What is unwanted ends by itself: its address answers nobody."""
    if hook.status == HookStatus.UNWANTED:
        _gone(hook)
    else:
        _rest(hook, error_code="unreachable", wait_seconds=HOOK_FAILED_WAIT_SECONDS)


def _failed(hook: ProviderHook, failure: ProviderFailure) -> None:
    log.info("hook_failed", hook_id=str(hook.pk), provider=hook.provider, kind=str(failure.kind))
    if failure.kind is FailureKind.RATE_LIMITED:
        _rest(hook, error_code=failure.kind, wait_seconds=failure.retry_after_seconds)
        return
    attempts = hook.attempts + 1
    final = failure.kind in LASTING
    if hook.status == HookStatus.UNWANTED:
        if final or failure.kind is FailureKind.TOKEN_REJECTED or attempts >= HOOK_DROP_ATTEMPTS_MAXIMUM:
            _gone(hook)
            return
    elif final or attempts >= HOOK_ATTEMPTS_MAXIMUM:
        later = clock.now() + timedelta(seconds=HOOK_FAILED_WAIT_SECONDS)
        values = {"attempts": attempts, "error_code": failure.kind, "not_before": later, "lease_until": None}
        if walk(_held(hook), HOOK_TRANSITIONS, HookCommand.FAIL, **values):
            return
    _rest(
        hook,
        error_code=failure.kind,
        wait_seconds=max(failure.retry_after_seconds, backoff_seconds(attempts)),
        failures=1,
    )


def _rest(hook: ProviderHook, *, error_code: str, wait_seconds: int, failures: int = 0) -> None:
    """Give the lease back. What was dropped meanwhile is due at once, for the drop is another matter."""
    held = _held(hook)
    not_before = clock.now() + timedelta(seconds=wait_seconds)
    waiting = {"not_before": not_before, "error_code": error_code, "attempts": F("attempts") + failures}
    if not held.filter(status=hook.status).update(**waiting, lease_until=None):
        held.update(lease_until=None)


def _held(hook: ProviderHook) -> QuerySet[ProviderHook]:
    return ProviderHook.objects.filter(pk=hook.pk, lease_until=hook.lease_until)


def _reachable(environment: Environment) -> bool:
    """Whether a provider can call us: the simulator on this machine can, a vendor needs a public https address."""
    if environment is Environment.SANDBOX:
        return True
    return _is_public(settings.BASE_URL)


@lru_cache(maxsize=8)
def _is_public(base_url: str) -> bool:
    """Said once a process where it is not: then data come by the schedule alone."""
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    try:
        loopback = ip_address(host).is_private
    except ValueError:
        loopback = host == "localhost" or host.endswith(".localhost")
    if parts.scheme == "https" and host and not loopback:
        return True
    log.warning("hooks_need_a_public_https_address", setting="BASE_URL")
    return False
