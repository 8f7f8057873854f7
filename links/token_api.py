"""Link tokens as custom widgets use them: is it good, what is it for, and what comes next."""

from typing import Final

from django.conf import settings
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from healthsvc.kernel import clock
from healthsvc.kernel.api import Access, ServiceViewSet
from healthsvc.kernel.principal import PrincipalKind
from healthsvc.kernel.scope import team_scope
from healthsvc.kernel.typing import JSONObject
from links import selectors
from links.callers import link_caller, link_refused, provider_wanted, token_refused
from links.catalogue import LoginKind
from links.catalogue_shapes import source_link_json
from links.constants import LinkErrorType
from links.device_selectors import MANUAL_LOGINS
from links.models import LinkToken
from links.services.tokens import link_token_find, link_token_problem, link_token_validate
from links.session_selectors import standing_json
from links.token_serializers import LinkStartAnswer, LinkStartBody, TokenBody, TokenStateAnswer, TokenValidAnswer

_REFUSALS: Final = (
    "`detail` is `{error_type, error_message}`: invalid_token, token_not_validated, token_expired, token_consumed, or"
    " INVALID_PROVIDER."
)


class LinkTokenCheckViewSet(ServiceViewSet):
    """Open to everyone: a widget in a browser has no key, and of a token only who holds it can ask."""

    access = Access.PUBLIC

    @extend_schema(
        operation_id="is_token_valid",
        summary="Is a link token good",
        request=TokenBody,
        responses={200: TokenValidAnswer},
        tags=["Link"],
        auth=[],
    )
    def create(self, request: Request) -> Response:
        """Whether a login can begin with it. A good token counts as validated from then on, as if it were opened."""
        token = link_token_find(self.body(TokenBody)["token"].strip())
        if token is None:
            return Response({"valid": False, "error_type": str(LinkErrorType.INVALID_TOKEN), "expires_at": None})
        with team_scope(token.context):
            problem = link_token_validate(token)
        expires_at = clock.utc_text(token.expires_at)
        return Response(
            {"valid": problem is None, "error_type": str(problem) if problem else None, "expires_at": expires_at}
        )


class LinkTokenStateViewSet(ServiceViewSet):
    """What a token is for. Nothing secret: its holder sees no more than the hosted page tells."""

    access = Access.LINK_ANY_OR_TEAM

    @extend_schema(
        operation_id="get_link_token_state",
        summary="The state of a link token",
        responses={200: TokenStateAnswer, 400: OpenApiResponse(description="MISSING_LINK_TOKEN.")},
        tags=["Link"],
    )
    def retrieve(self, request: Request) -> Response:
        """Where the token of the header is in its life, and what it was made for."""
        if self.principal.kind is not PrincipalKind.LINK_TOKEN:
            header = settings.LINK_TOKEN_HEADERS[0]
            raise link_refused("MISSING_LINK_TOKEN", f"Send the link token in the header {header}.")
        token = link_caller(request, self.principal, None, names_users=False).link_token
        if token is None:
            raise token_refused(LinkErrorType.INVALID_TOKEN)
        return Response(_state_json(token))


class LinkStartViewSet(ServiceViewSet):
    """Open to everyone: the link token in the body is the credential."""

    access = Access.PUBLIC

    @extend_schema(
        operation_id="start_connect",
        summary="What comes next for a provider",
        request=LinkStartBody,
        responses={200: LinkStartAnswer, 400: OpenApiResponse(description=_REFUSALS)},
        tags=["Link"],
        auth=[],
    )
    def create(self, request: Request) -> Response:
        """The address that begins an OAuth login, or the form of a password or e-mail login and where to post it.

        The token must have been validated: by `POST /v2/link/token/isValid`, or on the hosted page. Its filter limits
        the hosted page only.
        """
        body = self.body(LinkStartBody)
        text = body["link_token"].strip()
        token = link_token_find(text)
        if token is None:
            raise token_refused(LinkErrorType.INVALID_TOKEN)
        with team_scope(token.context):
            problem = link_token_problem(token)
            if problem:
                raise token_refused(problem)
            provider = provider_wanted(token.context, body["provider"], tuple(LoginKind), token)
            way = selectors.login_way(provider, token.context.environment)
            shown = source_link_json(provider, token.context.environment, text)
        next_path = None if way is LoginKind.OAUTH else f"/v2/link/provider/{_PATHS[way]}/{provider.slug}"
        return Response({**shown, "next_path": next_path})


#: The part of the address that takes each kind of login; a telephone's and values by hand need none.
_PATHS: Final = {
    LoginKind.PASSWORD: "password",
    LoginKind.EMAIL: "email",
    **dict.fromkeys(MANUAL_LOGINS, "manual"),
}


def _state_json(token: LinkToken) -> JSONObject:
    problem = link_token_problem(token)
    state = "expired" if problem is LinkErrorType.TOKEN_EXPIRED else token.status
    return {
        "state": state,
        "error_type": str(problem) if problem else None,
        "expires_at": clock.utc_text(token.expires_at),
        "provider": token.provider or None,
        "redirect_url": token.redirect_url or None,
        "filter_on_providers": list(token.filter_on_providers) or None,
        "on_error": "redirect" if token.redirects_on_error else None,
        "on_close": "redirect" if token.redirects_on_close else None,
        **standing_json(token.context, token.user_id),
    }
