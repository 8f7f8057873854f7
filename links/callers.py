"""Who calls an operation that a link token alone opens, or a team's key with a user named."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.conf import settings
from rest_framework.request import Request

from healthsvc.kernel.errors import ErrorCode, ServiceError
from healthsvc.kernel.principal import Principal, PrincipalKind, TeamContext
from links.catalogue import LoginKind, Provider, provider_find
from links.constants import LinkErrorType
from links.models import LinkToken
from links.token_selectors import provider_refusal
from management.authentication import TeamKeyAuthentication
from users import selectors as user_selectors

#: What a developer reads of a token that no login can begin with.
TOKEN_TEXTS: Final = {
    LinkErrorType.INVALID_TOKEN: "The link token is not one that was made here.",
    LinkErrorType.TOKEN_NOT_VALIDATED: "The link token was not opened yet. Post it to /v2/link/token/isValid first.",
    LinkErrorType.TOKEN_EXPIRED: "The link token is older than an hour.",
    LinkErrorType.TOKEN_CONSUMED: "The link token has been used already.",
}


@dataclass(frozen=True, slots=True)
class LinkCaller:
    """The team, the one user that is linked, and the link token where one was shown, in any state."""

    team: TeamContext
    user_id: UUID
    link_token: LinkToken | None


def link_refused(error_type: str, message: str) -> ServiceError:
    """A 400 in the form that clients of these operations read."""
    return ServiceError(ErrorCode.LINK_REFUSED, {"error_type": error_type, "error_message": message})


def token_refused(problem: LinkErrorType) -> ServiceError:
    """What is wrong with a link token, in that form."""
    return link_refused(str(problem), TOKEN_TEXTS[problem])


def provider_wanted(
    team: TeamContext, slug: str, ways: Collection[LoginKind], link_token: LinkToken | None
) -> Provider:
    """The provider that a caller asks for, where one of these logins connects it; 400 with what stands against it."""
    refusal = provider_refusal(team, slug, ways, link_token)
    if refusal:
        raise link_refused("INVALID_PROVIDER", refusal)
    return provider_find(slug)


def link_caller(
    request: Request, principal: Principal, user_id: UUID | None, *, names_users: bool = True
) -> LinkCaller:
    """The caller of a view with LINK_ANY_OR_TEAM. `user_id` is the one that the request names, if it does.

    `names_users` False: the operation takes no user's name, so that only a link token says whom it is for.

    A team's key must name the user: 400 where it doesn't, 404 where there is no such user. Where both credentials are
    shown they must be of one team in one environment: 401 otherwise.
    """
    if principal.team is None:
        raise ServiceError(ErrorCode.NOT_ALLOWED)
    if principal.kind is not PrincipalKind.LINK_TOKEN:
        if user_id is None:
            header = settings.LINK_TOKEN_HEADERS[0]
            either = ", or `user_id` in the body with a team key" if names_users else ""
            raise link_refused("MISSING_LINK_TOKEN", f"Send the user's link token in the header {header}{either}.")
        return LinkCaller(principal.team, user_selectors.user_get(principal.team, user_id).pk, None)
    _check_team_key(request, principal.team)
    token = LinkToken.objects.for_team(principal.team).get(pk=principal.key_id)
    if user_id not in (None, token.user_id):
        raise link_refused("INVALID_USER_ID", "The link token is for another user.")
    return LinkCaller(principal.team, token.user_id, token)


def _check_team_key(request: Request, team: TeamContext) -> None:
    shown = TeamKeyAuthentication().authenticate(request)
    if shown is not None and shown[0].team != team:
        raise ServiceError(ErrorCode.NOT_AUTHENTICATED)
