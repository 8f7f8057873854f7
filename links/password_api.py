"""The team API's password and e-mail logins, and the older operations that do the same."""

from datetime import UTC, datetime
from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from healthsvc.kernel.api import Access, Deprecation, ServiceViewSet
from healthsvc.kernel.errors import ErrorCode, ServiceError
from healthsvc.kernel.typing import JSONObject
from links.callers import LinkCaller, link_caller, link_refused, provider_wanted
from links.catalogue import LoginKind
from links.password_serializers import (
    EmailLoginBody,
    LinkOutcomeAnswer,
    MfaCodeBody,
    OlderEmailLoginBody,
    OlderPasswordLoginBody,
    PasswordLoginBody,
)
from links.services.password_logins import (
    LinkOutcome,
    OutcomeState,
    email_login,
    password_login,
    password_mfa_complete,
)

#: `detail` of a 400 is an object: clients of these operations read it.
_ANSWERS = {
    200: LinkOutcomeAnswer,
    400: OpenApiResponse(
        description="No login can begin like this; `detail` is `{error_type, error_message}`: MISSING_LINK_TOKEN,"
        " INVALID_PROVIDER or INVALID_USER_ID."
    ),
}
_OLDER = Deprecation(since=datetime(2026, 1, 1, tzinfo=UTC))


class _LoginViewSet(ServiceViewSet):
    """What these views share: a link token alone suffices, and a kept reply would keep what a secret opened."""

    access = Access.LINK_ANY_OR_TEAM
    calls_network = True
    #: A password leaves no trace, not even the digest of a body by which repeats are told; and a login that is sent
    #: again is a new one, counted as such.
    keeps_replies = False

    def caller(self, request: Request, body: dict[str, Any]) -> LinkCaller:
        """Who logs in."""
        return link_caller(request, self.principal, body.get("user_id"))

    def log_in(self, request: Request, provider: str, body: dict[str, Any]) -> Response:
        """A password login's answer."""
        caller = self.caller(request, body)
        outcome = password_login(
            team=caller.team,
            user_id=caller.user_id,
            provider=provider_wanted(caller.team, provider, (LoginKind.PASSWORD,), caller.link_token),
            username=body["username"],
            password=body["password"],
            region=body.get("region"),
            link_token=caller.link_token,
        )
        return _answer(outcome)

    def connect(self, request: Request, provider: str, email: str, body: dict[str, Any]) -> Response:
        """An e-mail login's answer."""
        caller = self.caller(request, body)
        outcome = email_login(
            team=caller.team,
            user_id=caller.user_id,
            provider=provider_wanted(caller.team, provider, (LoginKind.EMAIL,), caller.link_token),
            email=email,
            region=body.get("region"),
            link_token=caller.link_token,
        )
        return _answer(outcome)


class PasswordLinkViewSet(_LoginViewSet):
    """Providers that take a name and a password."""

    @extend_schema(
        operation_id="connect_password_provider",
        summary="Connect a password provider",
        request=PasswordLoginBody,
        responses=_ANSWERS,
        tags=["Link"],
    )
    def create(self, request: Request, provider: str) -> Response:
        """Log in. What the provider refuses is answered with 200 and state error."""
        body = self.body(PasswordLoginBody)
        return self.log_in(request, provider, body)

    @extend_schema(
        operation_id="complete_password_provider_mfa",
        summary="Give a password provider's code",
        request=MfaCodeBody,
        responses=_ANSWERS,
        tags=["Link"],
    )
    def complete_mfa(self, request: Request, provider: str) -> Response:
        """Finish a login that answered pending_provider_mfa, within ten minutes and five codes."""
        body = self.body(MfaCodeBody)
        caller = self.caller(request, body)
        outcome = password_mfa_complete(
            team=caller.team,
            user_id=caller.user_id,
            provider=provider_wanted(caller.team, provider, (LoginKind.PASSWORD,), caller.link_token),
            code=body["mfa_code"],
            link_token=caller.link_token,
        )
        return _answer(outcome)


class EmailLinkViewSet(_LoginViewSet):
    """Providers that know an account by its e-mail address."""

    @extend_schema(
        operation_id="connect_email_auth_provider",
        summary="Connect an e-mail provider",
        request=EmailLoginBody,
        responses=_ANSWERS,
        tags=["Link"],
    )
    def create(self, request: Request, provider: str) -> Response:
        """Ask for the account that is shared with the service under this address."""
        body = self.body(EmailLoginBody)
        return self.connect(request, provider, body["email"], body)


class OlderLinkViewSet(_LoginViewSet):
    """The same logins as older clients call them."""

    deprecation = {"password": _OLDER, "email": _OLDER}

    @extend_schema(
        operation_id="password_auth",
        summary="Connect a password provider (older)",
        request=OlderPasswordLoginBody,
        responses=_ANSWERS,
        tags=["Link"],
        deprecated=True,
    )
    def password(self, request: Request) -> Response:
        """As `POST /v2/link/provider/password/{provider}`; with auth_type email the username is the address."""
        body = self.body(OlderPasswordLoginBody)
        if body["auth_type"] == "oauth":
            raise link_refused("INVALID_PROVIDER", "Use GET /v2/link/provider/oauth/{provider}.")
        if body["auth_type"] == "email":
            return self.connect(request, body["provider"], body["username"], body)
        return self.log_in(request, body["provider"], body)

    @extend_schema(
        operation_id="email_auth",
        summary="Connect an e-mail provider (older)",
        request=OlderEmailLoginBody,
        responses=_ANSWERS,
        tags=["Link"],
        deprecated=True,
    )
    def email(self, request: Request) -> Response:
        """As `POST /v2/link/provider/email/{provider}`."""
        body = self.body(OlderEmailLoginBody)
        return self.connect(request, body["provider"], body["email"], body)


def _answer(outcome: LinkOutcome) -> Response:
    if outcome.retry_after_seconds:
        raise ServiceError(ErrorCode.RATE_LIMITED, outcome.error, retry_after_seconds=outcome.retry_after_seconds)
    return Response(outcome_json(outcome))


def outcome_json(outcome: LinkOutcome) -> JSONObject:
    """An outcome with every field of the interface."""
    mfa = outcome.mfa
    return {
        "state": str(outcome.state),
        "redirect_url": outcome.redirect_url,
        "error_type": str(outcome.error_type) if outcome.error_type else None,
        "error": outcome.error,
        "provider_mfa": {"method": str(mfa.method), "hint": mfa.hint} if mfa else None,
        "provider": outcome.provider,
        "connected": outcome.state is OutcomeState.SUCCESS,
        "provider_id": outcome.external_user_id,
    }
