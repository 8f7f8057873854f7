"""When a connection is pulled next."""

import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Q

from healthsvc.kernel import clock
from links import selectors
from links.constants import (
    HOOK_TRUSTED_SECONDS,
    PULL_INTERVAL_JITTER_PERCENT,
    PULL_INTERVAL_SECONDS,
    PULL_INTERVAL_WITH_HOOKS_SECONDS,
)
from links.models import Connection, ProviderHook
from links.states import HookStatus


def next_pull_first(connection: Connection) -> datetime | None:
    """The first scheduled pull after somebody connected; None where the data are sent to us."""
    return _after(PULL_INTERVAL_SECONDS) if selectors.is_pullable(connection) else None


def next_pull_after(connection: Connection, *, is_called: bool, shortest_seconds: int = 0) -> datetime | None:
    """The next scheduled pull; later where the provider calls us when data change, and where its limits ask for it."""
    if not selectors.is_pullable(connection):
        return None
    usual_seconds = PULL_INTERVAL_WITH_HOOKS_SECONDS if is_called else PULL_INTERVAL_SECONDS
    return _after(max(usual_seconds, shortest_seconds))


def connections_called(connections: Sequence[Connection]) -> set[UUID]:
    """Those whose provider has called us lately, so that nothing waits for the next scheduled pull. One query.

    A provider names accounts in its calls: one whose id we don't know is not called.
    """
    since = clock.now() - timedelta(seconds=HOOK_TRUSTED_SECONDS)
    wanted = Q(pk__in=[])
    for provider, environment in {(one.provider, one.environment) for one in connections}:
        wanted |= Q(provider=provider, environment=environment)
    rows = ProviderHook.objects.filter(wanted, status=HookStatus.ACTIVE, called_at__gte=since)
    rows = rows.filter(Q(connection_id=None) | Q(connection_id__in=[one.pk for one in connections]))
    found = set(rows.values_list("provider", "environment", "application_id", "connection_id"))
    return {
        one.pk
        for one in connections
        if one.external_user_id
        and found & {(one.provider, one.environment, one.application_id, pk) for pk in (None, one.pk)}
    }


def _after(seconds: int) -> datetime:
    """So many seconds from now, a little more or less, so that those who connected together drift apart."""
    spread = seconds * PULL_INTERVAL_JITTER_PERCENT // 100
    return clock.now() + timedelta(seconds=seconds - spread + secrets.randbelow(2 * spread + 1))
