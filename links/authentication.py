"""The authenticators for what people hold: link tokens of custom widgets, and the access tokens of their devices."""

from typing import Final

from django.conf import settings
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from healthsvc.kernel.principal import Principal, PrincipalKind
from healthsvc.kernel.scope import team_scope
from links.constants import LinkErrorType
from links.models import LinkToken
from links.services.sessions import session_use
from links.services.tokens import link_token_find, link_token_problem

#: A widget may call before anybody opened a page.
_GOOD = (None, LinkErrorType.TOKEN_NOT_VALIDATED)
_BEARER: Final = "bearer"


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


class DeviceSessionAuthentication(BaseAuthentication):
    """A session's access token as `Authorization: Bearer …` (RFC 6750). Other schemes are left to others.

    It counts before a team key that is sent too: of two credentials the one that may do less.
    """

    def authenticate(self, request: Request) -> tuple[Principal, None] | None:
        """The team and the one user who is signed in; 401 for a token that is unknown, ended or out of time."""
        scheme, _, text = request.headers.get("Authorization", "").strip().partition(" ")
        if scheme.lower() != _BEARER:
            return None
        session = session_use(text.strip())
        if session is None:
            raise AuthenticationFailed
        principal = Principal(
            kind=PrincipalKind.DEVICE_SESSION, key_id=session.pk, team=session.context, user_id=session.user_id
        )
        return principal, None
