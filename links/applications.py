"""Which registration with a provider is used: a team's own before the operator's, and the simulator's for sandbox.

Tokens belong to the registration they were made with. So what a connection does later goes by the registration in its
row, whatever the team has registered since.
"""

from uuid import UUID

from healthsvc.kernel.principal import Environment, TeamContext
from links.catalogue import Provider, provider_find
from links.connectors.hooks import ApplicationKeys
from links.connectors.oauth import Application, application_of, vendor_application
from links.models import Connection, ProviderApplication


def application_find(team: TeamContext, provider: Provider) -> Application | None:
    """The registration for a new login; None where the provider has no OAuth, or nobody is registered there.

    Runs in the team's scope. No query for sandbox.
    """
    if provider.oauth is None or team.environment is Environment.SANDBOX:
        return application_of(provider, team.environment)
    own = ProviderApplication.objects.for_team(team).filter(provider=provider.slug, retired_at=None).first()
    return _own(provider, own) if own else application_of(provider, team.environment)


def application_kept(team: TeamContext, provider: Provider, application_id: UUID | None) -> Application | None:
    """The registration that something was made with; None where it is gone. Runs in the team's scope."""
    if application_id is None:
        return application_of(provider, team.environment)
    own = ProviderApplication.objects.for_team(team).filter(pk=application_id, provider=provider.slug).first()
    return _own(provider, own) if own else None


def application_of_connection(connection: Connection) -> Application | None:
    """The registration that a connection's tokens belong to; None where it has no OAuth, or it is gone."""
    return application_kept(connection.context, provider_find(connection.provider), connection.application_id)


def keys_of(application: Application) -> ApplicationKeys:
    """What calls in the registration's own name need."""
    return ApplicationKeys(application.client_id, application.client_secret, application.api_url)


def _own(provider: Provider, own: ProviderApplication) -> Application | None:
    if provider.oauth is None:
        return None
    return vendor_application(
        provider, provider.oauth, client_id=own.client_id, client_secret=own.client_secret, application_id=own.pk
    )
