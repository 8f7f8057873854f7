"""Reads of the links app."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from uuid import UUID

from django.conf import settings
from django.db.models import Max
from django.templatetags.static import static

from aggregation.registry import ProviderName
from healthsvc.kernel.principal import Environment, TeamContext
from links.catalogue import Provider, ResourceOffer, ResourceScopes, catalogue, provider_find
from links.connectors.oauth import application_of
from links.connectors.registry import CONNECTORS
from links.models import Connection, LinkToken, Pull
from links.states import ConnectionStatus, PullStatus
from management import selectors as management_selectors
from management.models import Team
from users.registry import ConnectedSource

#: What a person and a developer read of a broken connection, by its error type.
ERROR_MESSAGES: Mapping[str, str] = {
    "token_refresh_failed": "The provider no longer accepts this connection. The person needs to connect again.",
    "deregistered_per_provider": "The provider ended this connection. The person needs to connect again.",
}
_ERROR_MESSAGE = "The connection stopped working. The person needs to connect again."


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether a resource can be had, and which of its scopes the person gave and refused."""

    available: bool
    granted: ResourceScopes
    denied: ResourceScopes


def logo_url(slug: str) -> str:
    """The service's own mark for a provider."""
    known = slug if slug in catalogue() else "manual"
    return f"{settings.BASE_URL}{static(f'links/logos/{known}.svg')}"


def provider_name(slug: str) -> ProviderName | None:
    """How other apps show a provider of ours; None for a slug we don't know."""
    return ProviderName(provider_find(slug).name, logo_url(slug)) if slug in catalogue() else None


def provider_works(provider: Provider, environment: Environment) -> bool:
    """Whether a person can connect it here and now: there is a connector, and the operator is registered."""
    return provider.slug in CONNECTORS and application_of(provider, environment) is not None


def providers_listed(token: LinkToken) -> list[Provider]:
    """What the hosted page shows for a token: what works, in the order of names, within the token's filter."""
    wanted = token.filter_on_providers
    return [
        provider
        for slug, provider in catalogue().items()
        if (not wanted or slug in wanted) and provider_works(provider, token.context.environment)
    ]


def availability_of(provider: str, scopes_granted: Sequence[str]) -> Mapping[str, Availability]:
    """Every resource a connector can pull: there when all the scopes it requires were granted."""
    granted = frozenset(scopes_granted)
    found: dict[str, Availability] = {}
    for name, needs in provider_find(provider).resources.items():
        given = _within(needs, granted)
        refused = _within(needs, frozenset((*needs.required, *needs.optional)) - granted)
        found[name] = Availability(not refused.required, given, refused)
    return found


def resources_available(provider: str, scopes_granted: Sequence[str]) -> list[str]:
    """The resources that can be pulled with these scopes."""
    pullable = CONNECTORS[provider].window_days if provider in CONNECTORS else {}
    found = availability_of(provider, scopes_granted)
    return [name for name, one in found.items() if one.available and name in pullable]


def team_name(team: TeamContext) -> str:
    """What the team calls itself to people."""
    company: str = management_selectors.team_settings(team).company_name
    return company or Team.objects.get(pk=team.team_id).name


def connections_of(team: TeamContext, user_id: UUID) -> list[Connection]:
    """A user's living connections, oldest first. One query."""
    rows = Connection.objects.for_team(team).filter(user_id=user_id, disconnected_at=None)
    return list(rows.defer("access_token", "refresh_token").order_by("created_at", "id"))


def error_message(connection: Connection) -> str:
    """What a broken connection's error type means."""
    return ERROR_MESSAGES.get(connection.error_type, _ERROR_MESSAGE)


def connected_sources(team: TeamContext, user_ids: Sequence[UUID]) -> Mapping[UUID, Sequence[ConnectedSource]]:
    """The providers that each of these users is connected to, broken connections too. One query for all."""
    rows = Connection.objects.for_team(team).filter(user_id__in=user_ids, disconnected_at=None)
    found: dict[UUID, list[ConnectedSource]] = {}
    for user_id, slug, created_at in rows.order_by("created_at", "id").values_list("user_id", "provider", "created_at"):
        source = ConnectedSource(provider_find(slug).name, slug, logo_url(slug), created_at)
        found.setdefault(user_id, []).append(source)
    return found


def pulled_until(connections: Sequence[Connection]) -> Mapping[tuple[UUID, str], date]:
    """The last day that each connection's resource was fetched to, where it ever was. One query."""
    ids = [connection.pk for connection in connections]
    rows = Pull.objects.filter(connection__in=ids, status=PullStatus.SUCCESS).order_by()
    last = rows.values_list("connection_id", "resource").annotate(until=Max("end_on"))
    return {(connection_id, resource): until for connection_id, resource, until in last}


def is_connected(connection: Connection) -> bool:
    """Whether data can be pulled over it."""
    return connection.status == ConnectionStatus.CONNECTED


def is_pullable(connection: Connection) -> bool:
    """Whether there is a connector that pulls from its provider, rather than data being sent to us."""
    return connection.provider in CONNECTORS


def _within(needs: ResourceOffer, scopes: frozenset[str]) -> ResourceScopes:
    return ResourceScopes(
        tuple(scope for scope in needs.required if scope in scopes),
        tuple(scope for scope in needs.optional if scope in scopes),
    )
