"""Authenticators for team keys and management keys. Each reads its own headers and takes only its own keys."""

from typing import Final, NoReturn

from django.conf import settings
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from healthsvc.kernel.principal import Principal
from management import services
from management.constants import ACCESS_TOKEN_PREFIX
from management.keys import ShownKey, is_management, key_read

_BEARER: Final = "bearer"


def _shown(request: Request, headers: list[str]) -> ShownKey | None:
    """The key in the first of `headers` that is there; None where none is; 401 where it is no key."""
    for header in headers:
        text = request.headers.get(header)
        if text is not None:
            return key_read(text.strip()) or _refuse()
    return None


def _refuse() -> NoReturn:
    raise AuthenticationFailed


class TeamKeyAuthentication(BaseAuthentication):
    """A team key in one of TEAM_KEY_HEADERS."""

    def authenticate(self, request: Request) -> tuple[Principal, None] | None:
        """The team and environment the key opens."""
        shown = _shown(request, settings.TEAM_KEY_HEADERS)
        if shown is None:
            return None
        principal = None if is_management(shown) else services.team_key_use(shown=shown)
        return (principal or _refuse(), None)


class AccessTokenAuthentication(BaseAuthentication):
    """A team's access token as `Authorization: Bearer …` (RFC 6750). What has another form is left to others.

    It counts before a team key that is sent too: it is the one that ends soon.
    """

    def authenticate(self, request: Request) -> tuple[Principal, None] | None:
        """The team and environment the token opens; 401 for one that is unknown or over."""
        scheme, _, text = request.headers.get("Authorization", "").strip().partition(" ")
        token = text.strip()
        if scheme.lower() != _BEARER or not token.startswith(ACCESS_TOKEN_PREFIX):
            return None
        return (services.access_token_use(token) or _refuse(), None)


class ManagementKeyAuthentication(BaseAuthentication):
    """A management key in one of MANAGEMENT_KEY_HEADERS."""

    def authenticate(self, request: Request) -> tuple[Principal, None] | None:
        """The organisation the key opens."""
        shown = _shown(request, settings.MANAGEMENT_KEY_HEADERS)
        if shown is None:
            return None
        principal = services.management_key_use(shown=shown) if is_management(shown) else None
        return (principal or _refuse(), None)
