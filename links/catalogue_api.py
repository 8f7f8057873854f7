"""The provider catalogue over HTTP: everything there is, what a person can connect, and where an OAuth login begins."""

from django.conf import settings
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from healthsvc.kernel.api import Access, ServiceViewSet
from healthsvc.kernel.principal import PrincipalKind
from links import selectors
from links.brand import team_logo_url
from links.callers import link_caller, link_refused, provider_wanted, token_refused
from links.catalogue import LoginKind, catalogue
from links.catalogue_serializers import (
    LinkConfigAnswer,
    ProviderAnswer,
    ProvidersQuery,
    SourceAnswer,
    SourceLinkAnswer,
)
from links.catalogue_shapes import provider_detailed_json, source_json, source_link_json
from links.constants import LinkErrorType
from links.models import LinkToken
from links.services.tokens import link_token_problem
from management import selectors as management_selectors

_REFUSALS = (
    "No login can begin like this; `detail` is `{error_type, error_message}`: MISSING_LINK_TOKEN, INVALID_PROVIDER,"
    " token_expired or token_consumed."
)


class ProviderViewSet(ServiceViewSet):
    """The catalogue."""

    access = Access.TEAM

    @extend_schema(
        operation_id="get_all_providers",
        summary="List all providers",
        parameters=[ProvidersQuery],
        responses=ProviderAnswer(many=True),
        tags=["Providers"],
    )
    def list(self, request: Request) -> Response:
        """Every provider there is, by name, with what it gives and whether it can be connected with this key."""
        wanted = self.query(ProvidersQuery).get("source_type")
        available = {provider.slug for provider in selectors.providers_available(self.team)}
        found = [one for one in catalogue().values() if wanted is None or one.source_type == wanted]
        return Response([provider_detailed_json(one, available=one.slug in available) for one in found])


class LinkProviderViewSet(ServiceViewSet):
    """What a custom widget needs in place of the hosted page."""

    access = Access.LINK_OR_TEAM

    @extend_schema(
        operation_id="get_all_link_providers",
        summary="List the providers that a person can connect",
        responses=SourceLinkAnswer(many=True),
        tags=["Link"],
    )
    def list(self, request: Request) -> Response:
        """With a link token what its hosted page lists, in that order; with a team key what the team can connect."""
        shown, token = _shown_token(self, request)
        found = selectors.providers_listed(token) if token else selectors.providers_connectable(self.team)
        return Response([source_link_json(one, self.team.environment, shown) for one in found])

    @extend_schema(
        operation_id="get_link_config",
        summary="How the team's hosted page looks",
        responses=LinkConfigAnswer,
        tags=["Link"],
    )
    def config(self, request: Request) -> Response:
        """The team's name, colour and logo, and what its page lists."""
        shown, token = _shown_token(self, request)
        found = selectors.providers_listed(token) if token else selectors.providers_chosen(self.team)
        return Response(
            {
                "team_id": str(self.team.team_id),
                "name": selectors.team_name(self.team),
                "color": management_selectors.team_settings(self.team).brand_color or None,
                "logo_url": team_logo_url(self.team),
                "providers": [source_link_json(one, self.team.environment, shown) for one in found],
            }
        )


class OAuthLinkViewSet(ServiceViewSet):
    """Where an OAuth login begins."""

    access = Access.LINK_ANY_OR_TEAM

    @extend_schema(
        operation_id="generate_oauth_link",
        summary="Begin an OAuth provider's login",
        responses={200: SourceAnswer, 400: OpenApiResponse(description=_REFUSALS)},
        tags=["Link"],
    )
    def retrieve(self, request: Request, oauth_provider: str) -> Response:
        """The provider, with the address to send the person to. The token's filter limits the hosted page only."""
        caller = link_caller(request, self.principal, None, names_users=False)
        if caller.link_token is None:
            raise link_refused("MISSING_LINK_TOKEN", "Send the link token of the user in its header.")
        problem = link_token_problem(caller.link_token)
        # The page that the address opens is what validates a new one.
        if problem not in (None, LinkErrorType.TOKEN_NOT_VALIDATED):
            raise token_refused(problem)
        provider = provider_wanted(caller.team, oauth_provider, (LoginKind.OAUTH,), caller.link_token)
        return Response(source_json(provider, _token_text(request)))


def _shown_token(view: ServiceViewSet, request: Request) -> tuple[str, LinkToken | None]:
    """The link token of a call, as text and as row; '' and None where only a team key was shown."""
    if view.principal.kind is not PrincipalKind.LINK_TOKEN:
        return "", None
    return _token_text(request), link_caller(request, view.principal, None, names_users=False).link_token


def _token_text(request: Request) -> str:
    return next((text for name in settings.LINK_TOKEN_HEADERS if (text := request.headers.get(name))), "").strip()
