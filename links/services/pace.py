"""How often a registration's connections may be pulled, all together, within the limits its provider sets.

A provider's limit holds for a registration, however many people connected through it: what leaves room for ten people
an hour leaves a thousand an hour none. So the interval grows with their number, and half of each limit is left for
backfills, notifications and whoever asks for a refresh.
"""

from collections.abc import Collection, Mapping, Sequence
from math import ceil
from typing import Final, TypeAlias
from uuid import UUID

from django.db.models import Count

from healthsvc.kernel.principal import Environment
from healthsvc.kernel.scope import SystemScope, system_scope
from links.catalogue import Provider, RateLimit, provider_find
from links.constants import SIMULATOR_BUDGET_FACTOR
from links.models import Connection
from links.states import ConnectionStatus

#: (provider, environment, the team's own registration or None for the operator's).
Registration: TypeAlias = tuple[str, str, UUID | None]

#: What one scheduled pull of one resource asks a provider, as `bench/syncs.py` counts it: between one and four.
CALLS_A_RESOURCE: Final = 3
#: The share of a limit that the schedule may use.
_SHARE: Final = 0.5


def registration_of(connection: Connection) -> Registration:
    """Whose limits a connection's calls are counted against."""
    return (connection.provider, connection.environment, connection.application_id)


def paces_of(connections: Sequence[Connection]) -> Mapping[Registration, int]:
    """The shortest interval in seconds of each registration that these connections belong to. One query at most."""
    limited = {registration_of(one) for one in connections if _limits(provider_find(one.provider))}
    if not limited:
        return {}
    counts = _connected(limited)
    return {one: _interval_seconds(provider_find(one[0]), one[1], counts.get(one, 1)) for one in limited}


def _connected(registrations: Collection[Registration]) -> Mapping[Registration, int]:
    """How many people are connected through each, over all teams."""
    providers = {provider for provider, _, _ in registrations}
    with system_scope(SystemScope.DELIVERY):
        rows = Connection.objects.filter(
            provider__in=providers, status=ConnectionStatus.CONNECTED, disconnected_at=None, next_pull_at__isnull=False
        )
        counted = rows.order_by().values_list("provider", "environment", "application_id").annotate(number=Count("pk"))
        return {(provider, environment, own): number for provider, environment, own, number in counted}


def _interval_seconds(provider: Provider, environment: str, connected: int) -> int:
    factor = SIMULATOR_BUDGET_FACTOR if environment == Environment.SANDBOX else 1
    calls = connected * len(provider.resources) * CALLS_A_RESOURCE
    return max(ceil(calls * limit.window_seconds / (limit.requests * factor * _SHARE)) for limit in _limits(provider))


def _limits(provider: Provider) -> tuple[RateLimit, ...]:
    return provider.oauth.rate_limits if provider.oauth else ()
