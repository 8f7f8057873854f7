"""Link codes, sign-in tokens and device sessions over HTTP."""

from typing import Final
from uuid import UUID

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from healthsvc.kernel import clock, hooks
from healthsvc.kernel.api import Access, ServiceViewSet
from healthsvc.kernel.errors import ErrorCode, Problem, ServiceError, invalid, not_found
from healthsvc.kernel.principal import Principal, PrincipalKind
from healthsvc.kernel.scope import team_scope
from healthsvc.kernel.typing import JSONObject
from links.constants import ACCESS_TOKEN_SECONDS, REFRESH_TOKEN_SECONDS
from links.models import DeviceSession
from links.services import sessions
from links.services.link_codes import link_code_create, link_code_exchange
from links.session_selectors import session_expires_at, session_get, session_page, standing_json
from links.session_serializers import (
    LinkCodeAnswer,
    LinkCodeExchangeAnswer,
    LinkCodeExchangeBody,
    LinkCodeQuery,
    RefreshTokenBody,
    SessionAnswer,
    SessionExchangeBody,
    SessionsAnswer,
    SessionsEndedAnswer,
    SessionsQuery,
    SessionTokensAnswer,
    SignInTokenAnswer,
    SuccessAnswer,
)
from management.selectors import team_settings
from users import selectors as user_selectors

_SIGN_IN_GRANT: Final = "sign_in_token"
#: Older apps asked for a team's key with it, which no device may hold.
_KEY_GRANT: Final = "api_key"
_TAG: Final = "Device sessions"
_SIGN_IN_AGAIN: Final = "The token is no good any more: the person signs in again."


class LinkCodeViewSet(ServiceViewSet):
    """Making link codes. A kept reply would keep the code; one more does no harm."""

    access = Access.TEAM
    keeps_replies = False

    @extend_schema(
        operation_id="create_link_code",
        summary="Create a link code",
        parameters=[LinkCodeQuery],
        request=None,
        responses={200: LinkCodeAnswer},
        tags=[_TAG],
    )
    def create(self, request: Request) -> Response:
        """A short code with which a person's own telephone signs in, once."""
        made = link_code_create(team=self.team, **self.query(LinkCodeQuery))
        return Response(
            {"code": made.code, "exchange_url": made.exchange_url, "expires_at": clock.utc_text(made.expires_at)}
        )


class LinkCodeExchangeViewSet(ServiceViewSet):
    """Trading link codes: open to everyone, for the code is the credential."""

    access = Access.PUBLIC

    @extend_schema(
        operation_id="exchange_link_code",
        summary="Exchange a link code for a sign-in token",
        parameters=[LinkCodeExchangeBody],
        request=LinkCodeExchangeBody,
        responses={
            200: LinkCodeExchangeAnswer,
            400: OpenApiResponse(description="A grant type that is gone."),
            404: OpenApiResponse(description="The code is unknown, used or out of time."),
            429: OpenApiResponse(description="Too many codes were tried that nobody made; Retry-After says how long."),
        },
        tags=[_TAG],
        auth=[],
    )
    def create(self, request: Request) -> Response:
        """The code and the grant type come in the body, or in the query as older apps send them.

        400 for a grant type that is gone, 404 for a code that is unknown, used or out of time, 429 for whoever tries
        too many codes that nobody made.
        """
        given = self.body(LinkCodeExchangeBody) if request.data else self.query(LinkCodeExchangeBody)
        _check_grant(given.get("grant_type", _SIGN_IN_GRANT))
        if "code" not in given:
            raise invalid([Problem(("body", "code"), "This field is required.", "missing")])
        found = link_code_exchange(code=given["code"], address=hooks.client_address(request._request))
        with team_scope(found.team):
            standing = standing_json(found.team, found.user_id)
            caller = Principal(
                kind=PrincipalKind.LINK_TOKEN, key_id=found.code_id, team=found.team, user_id=found.user_id
            )
            action, ids = f"{request.method} {self._route(request)}", {"user_id": str(found.user_id)}
            hooks.audit_writer()(request=request, principal=caller, action=action, ids=ids)
        return Response({"sign_in_token": found.sign_in_token, **standing})


class SignInTokenViewSet(ServiceViewSet):
    """Making sign-in tokens. A kept reply would keep the token; one more does no harm."""

    access = Access.TEAM
    keeps_replies = False

    @extend_schema(
        operation_id="create_sign_in_token",
        summary="Create a sign-in token",
        request=None,
        responses={200: SignInTokenAnswer},
        tags=[_TAG],
    )
    def create(self, request: Request, user_id: UUID) -> Response:
        """A token with which one device of the user signs in, once, within the hour."""
        token = sessions.sign_in_token_create(team=self.team, user_id=user_id)
        return Response({"user_id": str(user_id), "sign_in_token": token})


class SessionTokenViewSet(ServiceViewSet):
    """Beginning, refreshing and ending a session: open to everyone, for the token shown is the credential."""

    access = Access.PUBLIC

    @extend_schema(
        operation_id="exchange_sign_in_token",
        summary="Begin a device session",
        request=SessionExchangeBody,
        responses={200: SessionTokensAnswer, 401: OpenApiResponse(description=_SIGN_IN_AGAIN)},
        tags=[_TAG],
        auth=[],
    )
    def exchange(self, request: Request) -> Response:
        """Trade a sign-in token for a pair of tokens; 401 where it is no good."""
        return self._pair(request, sessions.session_begin(**self.body(SessionExchangeBody)))

    @extend_schema(
        operation_id="refresh_session",
        summary="Refresh a device session",
        request=RefreshTokenBody,
        responses={200: SessionTokensAnswer, 401: OpenApiResponse(description=_SIGN_IN_AGAIN)},
        tags=[_TAG],
        auth=[],
    )
    def refresh(self, request: Request) -> Response:
        """Trade the refresh token for the next pair; 401 where the session has ended. One used twice ends it."""
        return self._pair(request, sessions.session_refresh(**self.body(RefreshTokenBody)))

    @extend_schema(
        operation_id="revoke_session",
        summary="Sign a device out",
        request=RefreshTokenBody,
        responses={200: SuccessAnswer},
        tags=[_TAG],
        auth=[],
    )
    def revoke(self, request: Request) -> Response:
        """End the session at once. A token that is unknown is answered alike (RFC 7009)."""
        session = sessions.session_sign_out(**self.body(RefreshTokenBody))
        if session is not None:
            with team_scope(session.context):
                self._tell(request, session)
        return Response({"success": True})

    def _pair(self, request: Request, pair: sessions.SessionPair) -> Response:
        session = pair.session
        body: JSONObject = {
            "access_token": pair.access_token,
            "refresh_token": pair.refresh_token,
            "token_type": "Bearer",
            "expires_in": ACCESS_TOKEN_SECONDS,
            "refresh_expires_in": REFRESH_TOKEN_SECONDS,
            "session_id": str(session.pk),
        }
        with team_scope(session.context):
            body |= standing_json(session.context, session.user_id)
            self._tell(request, session)
        return Response(body)

    def _tell(self, request: Request, session: DeviceSession) -> None:
        principal = Principal(
            kind=PrincipalKind.DEVICE_SESSION, key_id=session.pk, team=session.context, user_id=session.user_id
        )
        action = f"{request.method} {self._route(request)}"
        ids = {"user_id": str(session.user_id), "session_id": str(session.pk)}
        hooks.audit_writer()(request=request, principal=principal, action=action, ids=ids)


class SessionViewSet(ServiceViewSet):
    """The session that a device is in."""

    access = Access.SESSION_OR_TEAM

    @extend_schema(
        operation_id="get_session",
        summary="Who is signed in",
        responses=SessionAnswer,
        tags=[_TAG],
        auth=[{"deviceSession": []}],  # type: ignore[list-item]  # the stub says names, the code takes requirements
    )
    def retrieve(self, request: Request) -> Response:
        """The user and team of the access token, and when the session ends. A team key is in no session: 403."""
        if self.principal.kind is not PrincipalKind.DEVICE_SESSION:
            raise ServiceError(ErrorCode.NOT_ALLOWED)
        session = session_get(self.team, self.principal.key_id)
        return Response(
            {
                "session_id": str(session.pk),
                "created_at": clock.utc_text(session.created_at),
                "expires_at": clock.utc_text(session_expires_at(session)),
                "sdk_per_device_activity_timeseries": team_settings(self.team).sdk_per_device_activity_timeseries,
                **standing_json(self.team, session.user_id),
            }
        )


class UserSessionViewSet(ServiceViewSet):
    """A user's devices, as the customer's own server sees and ends them."""

    access = Access.TEAM

    @extend_schema(
        operation_id="list_user_sessions",
        summary="List a user's device sessions",
        parameters=[SessionsQuery],
        responses=SessionsAnswer,
        tags=[_TAG],
    )
    def list(self, request: Request, user_id: UUID) -> Response:
        """The devices that are signed in, the newest first."""
        user_selectors.user_get(self.team, user_id)
        query = self.query(SessionsQuery)
        page = session_page(self.team, user_id, cursor=query.get("next_cursor"), size=query["page_size"])
        shown = [
            {
                "session_id": str(one.pk),
                "created_at": clock.utc_text(one.created_at),
                "last_used_at": clock.utc_text(one.last_used_at),
            }
            for one in page.sessions
        ]
        return Response({"sessions": shown, "next_cursor": str(page.next_cursor) if page.next_cursor else None})

    @extend_schema(
        operation_id="revoke_user_session",
        summary="End one of a user's device sessions",
        request=None,
        responses={200: SuccessAnswer},
        tags=[_TAG],
    )
    def revoke(self, request: Request, user_id: UUID, session_id: UUID) -> Response:
        """End it at once; 404 where there is none or it has ended."""
        user_selectors.user_get(self.team, user_id)
        if not sessions.session_revoke(team=self.team, user_id=user_id, session_id=session_id):
            raise not_found()
        return Response({"success": True})

    @extend_schema(
        operation_id="revoke_user_sessions",
        summary="End all of a user's device sessions",
        request=None,
        responses={200: SessionsEndedAnswer},
        tags=[_TAG],
    )
    def revoke_all(self, request: Request, user_id: UUID) -> Response:
        """End them at once, with every link code and sign-in token that is still unused."""
        user_selectors.user_get(self.team, user_id)
        ended = sessions.sessions_revoke(team=self.team, user_id=user_id)
        return Response({"success": True, "sessions_ended": ended})


class AppKeyRevocationViewSet(UserSessionViewSet):
    """The older name of ending all sessions."""

    @extend_schema(
        operation_id="revoke_app_api_key",
        summary="End all of a user's device sessions (older name)",
        request=None,
        responses={200: SessionsEndedAnswer},
        tags=[_TAG],
    )
    def create(self, request: Request, user_id: UUID) -> Response:
        """As `POST /v2/user/{user_id}/sessions/revoke`."""
        return self.revoke_all(request, user_id)


def _check_grant(grant_type: str) -> None:
    if grant_type == _KEY_GRANT:
        message = "A device gets no key of the team any more. Exchange the code with grant_type sign_in_token."
        raise ServiceError(ErrorCode.BAD_REQUEST, message)
    if grant_type != _SIGN_IN_GRANT:
        raise invalid([Problem(("body", "grant_type"), f"Must be {_SIGN_IN_GRANT}.", "enum")])
