"""The authenticator for link tokens: what a custom widget shows in place of a team key."""

from django.conf import settings
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from healthsvc.kernel.principal import Principal, PrincipalKind
from healthsvc.kernel.scope import team_scope
from links.constants import LinkErrorType
from links.models import LinkToken
from links.services.tokens import link_token_find, link_token_problem

#: A widget may call before anybody opened a page.
_GOOD = (None, LinkErrorType.TOKEN_NOT_VALIDATED)


class LinkTokenOfAnyStateAuthentication(BaseAuthentication):
    """A link token of ours in one of LINK_TOKEN_HEADERS, living or not: the view tells what is wrong with it."""

    def authenticate(self, request: Request) -> tuple[Principal, None] | None:
        """The team and the one user the token is for; 401 for a token that is unknown."""
        shown = next((text for name in settings.LINK_TOKEN_HEADERS if (text := request.headers.get(name))), None)
        if shown is None:
            return None
        token = link_token_find(shown.strip())
        if token is None:
            raise AuthenticationFailed
        self.permit(token)
        principal = Principal(kind=PrincipalKind.LINK_TOKEN, key_id=token.pk, team=token.context, user_id=token.user_id)
        return principal, None

    def permit(self, token: LinkToken) -> None:
        """Every state is good."""


class LinkTokenAuthentication(LinkTokenOfAnyStateAuthentication):
    """A living link token in one of LINK_TOKEN_HEADERS."""

    def permit(self, token: LinkToken) -> None:
        """401 for a token that is spent or out of time."""
        with team_scope(token.context):
            if link_token_problem(token) not in _GOOD:
                raise AuthenticationFailed
