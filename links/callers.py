"""Who calls an operation that a link token alone opens, or a team's key with a user named."""

from dataclasses import dataclass
from uuid import UUID

from rest_framework.request import Request

from healthsvc.kernel.errors import ErrorCode, ServiceError
from healthsvc.kernel.principal import Principal, PrincipalKind, TeamContext
from links.models import LinkToken
from management.authentication import TeamKeyAuthentication
from users import selectors as user_selectors


@dataclass(frozen=True, slots=True)
class LinkCaller:
    """The team, the one user that is linked, and the link token where one was shown, in any state."""

    team: TeamContext
    user_id: UUID
    link_token: LinkToken | None


def link_refused(error_type: str, message: str) -> ServiceError:
    """A 400 in the form that clients of these operations read."""
    return ServiceError(ErrorCode.LINK_REFUSED, {"error_type": error_type, "error_message": message})


def link_caller(request: Request, principal: Principal, user_id: UUID | None) -> LinkCaller:
    """The caller of a view with LINK_ANY_OR_TEAM. `user_id` is the one that the request names, if it does.

    A team's key must name the user: 400 where it doesn't, 404 where there is no such user. Where both credentials are
    shown they must be of one team in one environment: 401 otherwise.
    """
    if principal.team is None:
        raise ServiceError(ErrorCode.NOT_ALLOWED)
    if principal.kind is not PrincipalKind.LINK_TOKEN:
        if user_id is None:
            raise link_refused("MISSING_LINK_TOKEN", "Send a link token, or name the user_id with a team key.")
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
