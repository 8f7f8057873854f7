"""Reads of the links app."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, LiteralString
from uuid import UUID

from django.conf import settings
from django.templatetags.static import static

from aggregation.registry import ProviderName
from healthsvc.kernel.postgres.statements import rows_of
from healthsvc.kernel.principal import Environment, TeamContext
from links.catalogue import (
    LoginKind,
    Provider,
    ProviderState,
    ResourceOffer,
    ResourceScopes,
    catalogue,
    catalogue_shipped,
    provider_find,
)
from links.connection_selectors import SECRET_FIELDS
from links.connectors.oauth import application_of
from links.connectors.registry import connector_of
from links.models import Connection, LinkToken, ProviderApplication
from links.states import ConnectionStatus
from management import selectors as management_selectors
from management.models import Team
from users.registry import ConnectedSource

#: Logins that a page can take a person through; the others need a telephone, or nothing at all.
_BROWSER_LOGINS = (LoginKind.OAUTH, LoginKind.PASSWORD, LoginKind.EMAIL)
#: The mark of a provider without one. No slug begins like that.
_FALLBACK_MARK = "_provider"
#: Asked with every user that is shown: prepared, since building the query would take longer than answering it.
_SOURCES: Final[LiteralString] = """
SELECT user_id, provider, created_at FROM links_connection
WHERE team_id = %(team_id)s AND environment = %(environment)s AND user_id = ANY(%(user_ids)s)
    AND disconnected_at IS NULL
ORDER BY created_at, id
"""


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether a resource can be had, and which of its scopes the person gave and refused."""

    available: bool
    granted: ResourceScopes
    denied: ResourceScopes


def logo_path(slug: str) -> str:
    """The service's own mark for a provider, among the static files. A provider of the operator's own has none."""
    return f"links/logos/{slug if slug in catalogue_shipped() else _FALLBACK_MARK}.svg"


def logo_url(slug: str) -> str:
    """The address of a provider's mark."""
    return f"{settings.BASE_URL}{static(logo_path(slug))}"


def provider_name(slug: str) -> ProviderName | None:
    """How other apps show a provider of ours; None for a slug we don't know."""
    return ProviderName(provider_find(slug).name, logo_url(slug)) if slug in catalogue() else None


def provider_slugs_scoped() -> list[str]:
    """The slugs of providers whose login asks a person for scopes."""
    return [slug for slug, provider in catalogue().items() if provider.asks_for_scopes]


def provider_works(provider: Provider, environment: Environment, registered: Collection[str] = ()) -> bool:
    """Whether a person can log in to it in a browser, here and now. `registered`: where the team itself is registered.

    The simulator plays every login in the sandbox. A vendor needs a connector, and a registration or an adapter; one
    that has closed lets nobody in.
    """
    if provider.login not in _BROWSER_LOGINS or not provider.resources:
        return False
    connector = connector_of(provider.slug, environment)
    if environment is Environment.SANDBOX:
        played = connector is not None and application_of(provider, environment) is not None
        return played if provider.login is LoginKind.OAUTH else True
    if provider.state is ProviderState.CLOSED or connector is None:
        return False
    return bool(provider.password_adapter) or _is_registered(provider, environment, registered)


def refusal_of(provider: Provider) -> str:
    """Why a provider can't be connected here; of one that has closed, what its file says to do instead."""
    refusal = "This provider can't be connected here."
    return f"{refusal} {provider.note}" if provider.state is ProviderState.CLOSED and provider.note else refusal


def provider_connectable(team: TeamContext, provider: Provider) -> bool:
    """Whether a person of this team can log in to it. A query in production, none in the sandbox."""
    return provider_works(provider, team.environment, _registrations(team))


def providers_connectable(team: TeamContext) -> list[Provider]:
    """Everything that people of this team can log in to, what is asked for most first. A query in production."""
    registered = _registrations(team)
    found = [one for one in catalogue().values() if provider_works(one, team.environment, registered)]
    return sorted(found, key=lambda one: (one.rank, one.name.casefold()))


def providers_available(team: TeamContext) -> list[Provider]:
    """Everything that people of this team can connect in any way; a telephone may send with every key."""
    by_telephone = [
        one for one in catalogue().values() if one.login not in _BROWSER_LOGINS and one.state is ProviderState.OPEN
    ]
    return [*providers_connectable(team), *by_telephone]


def providers_listed(token: LinkToken) -> list[Provider]:
    """What the hosted page shows for a token, in the page's order: what can be connected of the team's choice and
    within the token's filter, or the one provider that the token is for."""
    if token.provider:
        alone = catalogue().get(token.provider)
        return [alone] if alone and provider_connectable(token.context, alone) else []
    wanted = token.filter_on_providers
    return [one for one in providers_chosen(token.context) if not wanted or one.slug in wanted]


def providers_chosen(team: TeamContext) -> list[Provider]:
    """What can be connected of the team's choice, in the order it named them; all where it has chosen nothing."""
    chosen: list[str] = management_selectors.team_settings(team).link_providers
    found = providers_connectable(team)
    if not chosen:
        return found
    by_slug = {one.slug: one for one in found}
    return [by_slug[slug] for slug in dict.fromkeys(chosen) if slug in by_slug]


def login_way(provider: Provider, environment: Environment) -> LoginKind:
    """How a person logs in: a vendor's OAuth in the place of its password, where the vendor offers it."""
    stands_in = provider.login is LoginKind.PASSWORD and provider.oauth is not None and not provider.password_adapter
    return LoginKind.OAUTH if stands_in and environment is Environment.PRODUCTION else provider.login


def _registrations(team: TeamContext) -> frozenset[str]:
    """The providers that the team itself is registered with."""
    if team.environment is Environment.SANDBOX:
        return frozenset()
    living = ProviderApplication.objects.for_team(team).filter(retired_at=None)
    return frozenset(living.values_list("provider", flat=True))


def _is_registered(provider: Provider, environment: Environment, registered: Collection[str]) -> bool:
    if provider.oauth is None or not provider.oauth.authorize_url:
        return False
    return provider.slug in registered or application_of(provider, environment) is not None


def availability_of(provider: str, scopes_granted: Sequence[str]) -> Mapping[str, Availability]:
    """Every resource of the provider: there when all the scopes it requires were granted.

    A login without scopes (a password, a telephone, a meter) gives everything, and no scope is granted or denied.
    """
    found: dict[str, Availability] = {}
    known, granted = provider_find(provider), frozenset(scopes_granted)
    if known.login is not LoginKind.OAUTH and not granted:
        return {name: Availability(True, ResourceScopes(), ResourceScopes()) for name in known.resources}
    for name, needs in known.resources.items():
        given = _within(needs, granted)
        refused = _within(needs, frozenset((*needs.required, *needs.optional)) - granted)
        found[name] = Availability(not refused.required, given, refused)
    return found


def resources_available(provider: str, scopes_granted: Sequence[str], environment: Environment) -> list[str]:
    """The resources that can be pulled with these scopes."""
    connector = connector_of(provider, environment)
    pullable = connector.window_days if connector else {}
    found = availability_of(provider, scopes_granted)
    return [name for name, one in found.items() if one.available and name in pullable]


def scopes_useful(provider: Provider, scopes: Sequence[str], environment: Environment) -> bool:
    """Whether any data could be read. What everybody gives to log in at all tells who they are; data are wanted."""
    base = provider.oauth.base_scopes if provider.oauth else ()
    wanted = [scope for scope in scopes if scope not in base]
    return bool(resources_available(provider.slug, wanted, environment))


def team_name(team: TeamContext) -> str:
    """What the team calls itself to people."""
    company: str = management_selectors.team_settings(team).company_name
    return company or Team.objects.get(pk=team.team_id).name


def connections_of(team: TeamContext, user_id: UUID) -> list[Connection]:
    """A user's living connections, oldest first. One query."""
    rows = Connection.objects.for_team(team).filter(user_id=user_id, disconnected_at=None)
    return list(rows.defer(*SECRET_FIELDS).order_by("created_at", "id"))


def connected_sources(team: TeamContext, user_ids: Sequence[UUID]) -> Mapping[UUID, Sequence[ConnectedSource]]:
    """The providers that each of these users is connected to, broken connections too. One query for all."""
    owner = {"team_id": team.team_id, "environment": str(team.environment)}
    found: dict[UUID, list[ConnectedSource]] = {}
    for user_id, slug, created_at in rows_of(_SOURCES, {**owner, "user_ids": list(user_ids)}):
        source = ConnectedSource(provider_find(slug).name, slug, logo_url(slug), created_at)
        found.setdefault(user_id, []).append(source)
    return found


def is_connected(connection: Connection) -> bool:
    """Whether data can be pulled over it."""
    return connection.status == ConnectionStatus.CONNECTED


def is_pullable(connection: Connection) -> bool:
    """Whether there is a connector that pulls from its provider, rather than data being sent to us.

    Of what a telephone sends only a demonstration is pulled: it ends, and the simulator stands for the telephone.
    """
    sent = connection.login in (LoginKind.APP, LoginKind.DEVICE, LoginKind.NONE)
    if sent and connection.expires_at is None:
        return False
    return connector_of(connection.provider, Environment(connection.environment)) is not None


def _within(needs: ResourceOffer, scopes: frozenset[str]) -> ResourceScopes:
    return ResourceScopes(
        tuple(scope for scope in needs.required if scope in scopes),
        tuple(scope for scope in needs.optional if scope in scopes),
    )
