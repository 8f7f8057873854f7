"""OAuth 2.0 with a provider over Authlib: where to send a person, the token endpoint, and taking a grant back.

Authlib speaks the protocol; a transport of ours carries it, so that the address guard, the timeout and the size limits
of the kernel's client hold. Vendors' oddities are compliance hooks, chosen by the catalogue. Sandbox keys reach the
simulator and production keys the vendor, through the same code. Sources: RFC 6749, RFC 7009, RFC 7636.
"""

import base64
import math
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import quote, urlencode
from uuid import UUID

from authlib.oauth2.auth import ClientAuth
from authlib.oauth2.client import OAuth2Client
from django.conf import settings

from healthsvc.env import env_secret
from healthsvc.kernel import clock
from healthsvc.kernel.http import HttpReply, OutboundError, fetch
from healthsvc.kernel.principal import Environment
from healthsvc.kernel.typing import JSONValue
from links.catalogue import OAuthConfiguration, Provider, TokenEnvelope
from links.catalogue.shapes import ClientAuthentication
from links.connectors.envelopes import body_of
from links.connectors.failures import FailureKind, GrantRefused, ProviderFailure
from links.connectors.wire import failure_of, json_object, no_reply
from links.constants import (
    PROVIDER_TIMEOUT_SECONDS,
    SIMULATOR_CLIENT_ID,
    SIMULATOR_CLIENT_SECRET,
    TOKEN_ANSWER_MAXIMUM_BYTES,
    ConnectionErrorType,
)

#: Where a token endpoint names no lifetime.
_EXPIRES_DEFAULT_SECONDS: Final = 3600
_EXPIRES_MAXIMUM_SECONDS: Final = 10**9
_SCOPES_MAXIMUM: Final = 100
_SCOPE_MAXIMUM_CHARACTERS: Final = 200
_ACCOUNT_MAXIMUM_CHARACTERS: Final = 200

#: Refusals that are about the registration or the request, not about the person's grant (RFC 6749, 5.2).
_OURS: Final = frozenset({"unsupported_grant_type", "unsupported_token_type", "invalid_scope"})
_DOWN: Final = frozenset({"server_error", "temporarily_unavailable"})
#: What some vendors say in the place of a plain `invalid_grant`.
_TOLD: Final[Mapping[str, ConnectionErrorType]] = {
    "user_not_found": ConnectionErrorType.USER_NOT_FOUND,
    "invalid_user": ConnectionErrorType.USER_NOT_FOUND,
    "access_denied": ConnectionErrorType.DEREGISTERED_PER_PROVIDER,
    "consent_required": ConnectionErrorType.DEREGISTERED_PER_PROVIDER,
}
#: Where a revocation is refused with these, there was nothing left to revoke.
_ENDED: Final = frozenset({"invalid_token", "invalid_grant"})
_REVOKED: Final = (200, 202, 204)
#: Statuses that a refused grant comes with; what has another one says nothing of the grant.
_REFUSED: Final = (200, 400, 401, 403)


@dataclass(frozen=True, slots=True)
class Application:
    """A registration with a provider, and the provider's addresses in one environment.

    `application_id` is the team's own registration; None for the operator's, and for the simulator's. `revoke_url` is
    empty where the provider has none.
    """

    provider: Provider
    oauth: OAuthConfiguration
    client_id: str
    client_secret: str
    authorize_url: str
    token_url: str
    api_url: str
    revoke_url: str = ""
    application_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Tokens:
    """What a token endpoint gave. `scopes` is None where it named none; `refresh_token` is '' where there is none."""

    access_token: str
    refresh_token: str
    expires_at: datetime
    scopes: tuple[str, ...] | None
    external_user_id: str


def application_of(provider: Provider, environment: Environment) -> Application | None:
    """The operator's registration; None where the provider has no OAuth, or the operator has not registered."""
    oauth = provider.oauth
    if oauth is None:
        return None
    if environment is Environment.SANDBOX:
        base = f"{settings.SIMULATOR_URL}/{provider.slug}"
        return Application(
            provider=provider,
            oauth=oauth,
            client_id=SIMULATOR_CLIENT_ID,
            client_secret=SIMULATOR_CLIENT_SECRET,
            authorize_url=f"{base}/oauth/authorize",
            token_url=f"{base}{oauth.simulator_token_path}",
            api_url=base,
            revoke_url=f"{base}/oauth/revoke" if oauth.revoke_url else "",
        )
    client_id = env_secret(f"PROVIDER_{provider.slug.upper()}_CLIENT_ID", "")
    client_secret = env_secret(f"PROVIDER_{provider.slug.upper()}_CLIENT_SECRET", "")
    if not client_id or not client_secret:
        return None
    return vendor_application(provider, oauth, client_id=client_id, client_secret=client_secret)


def vendor_application(
    provider: Provider,
    oauth: OAuthConfiguration,
    *,
    client_id: str,
    client_secret: str,
    application_id: UUID | None = None,
) -> Application:
    """A registration at the vendor's own addresses."""
    return Application(
        provider=provider,
        oauth=oauth,
        client_id=client_id,
        client_secret=client_secret,
        authorize_url=oauth.authorize_url,
        token_url=oauth.token_url,
        api_url=oauth.api_url,
        revoke_url=oauth.revoke_url,
        application_id=application_id,
    )


def callback_url(provider: Provider) -> str:
    """The address that is registered with the provider."""
    return f"{settings.BASE_URL}/link/callback/{provider.slug}"


def verifier_make(application: Application) -> str:
    """A PKCE verifier of 256 bits; '' where the provider takes none."""
    return secrets.token_urlsafe(32) if application.oauth.pkce else ""


def authorize_address(
    application: Application, *, state: str, verifier: str, scopes: tuple[str, ...] | None = None
) -> str:
    """Where a person logs in and consents. `scopes` None: every scope that any resource takes."""
    asked = application.provider.scopes if scopes is None else scopes
    address: str
    address, _ = _client(application).create_authorization_url(
        application.authorize_url,
        state=state,
        code_verifier=verifier or None,
        scope=application.oauth.scope_separator.join(asked),
        **application.oauth.authorize_parameters,
    )
    return address


def code_exchange(application: Application, *, code: str, verifier: str) -> Tokens:
    """Trade an authorisation code for tokens. GrantRefused, ProviderFailure."""
    return _tokens(
        _client(application).fetch_token(
            application.token_url,
            body=urlencode(application.oauth.token_parameters),
            grant_type="authorization_code",
            code=code,
            code_verifier=verifier,
        )
    )


def tokens_refresh(application: Application, *, refresh_token: str) -> Tokens:
    """Trade a refresh token for new tokens; the old one stays where no new one came. GrantRefused, ProviderFailure."""
    return _tokens(
        _client(application).refresh_token(
            application.token_url,
            refresh_token=refresh_token,
            body=urlencode(application.oauth.token_parameters),
        )
    )


def token_revoke(application: Application, *, access_token: str, refresh_token: str) -> None:
    """Take a grant back at the provider's `revoke_url`; nothing where it has ended already. ProviderFailure."""
    by_access = application.oauth.revoke_parameter == "access_token" or not refresh_token
    answer: _Answer = _client(application).revoke_token(
        application.revoke_url,
        token=access_token if by_access else refresh_token,
        token_type_hint="access_token" if by_access else "refresh_token",
    )
    if answer.status_code in _REVOKED:
        return
    refusal = _refusal(answer)
    if isinstance(refusal, ProviderFailure):
        raise refusal
    if answer.status_code != 401 and not _said(answer.json()) & _ENDED:
        raise ProviderFailure(FailureKind.REFUSED)


def scopes_read(application: Application, text: str) -> tuple[str, ...]:
    """The scopes that a text names, by the provider's separator or a space."""
    found = text.replace(application.oauth.scope_separator, " ").split()
    named = (scope for scope in found if scope.isprintable() and len(scope) <= _SCOPE_MAXIMUM_CHARACTERS)
    return tuple(dict.fromkeys(named))[:_SCOPES_MAXIMUM]


class _Answer:
    """A reply as Authlib reads it. A token endpoint's has been cleaned by `_cleaned` before Authlib looks."""

    def __init__(self, reply: HttpReply, document: Mapping[str, JSONValue] | None = None) -> None:
        self.status_code = reply.status
        self.reply = reply
        self._document = document

    def json(self) -> Mapping[str, JSONValue]:
        """The JSON object. ProviderFailure for anything else."""
        return json_object(self.reply.body) if self._document is None else self._document


class _Transport:
    """The session that Authlib's client calls: the kernel's client behind it. ProviderFailure where it is no answer."""

    def post(self, url: str, data: Mapping[str, str], headers: Mapping[str, str], auth: ClientAuth) -> _Answer:
        """POST a form with the client's secret on it."""
        # A copy, for Authlib writes the secret into its module's own default headers otherwise.
        url, signed, body = auth.prepare("POST", url, dict(headers), urlencode(data))
        try:
            reply = fetch(
                "POST",
                url,
                timeout_seconds=PROVIDER_TIMEOUT_SECONDS,
                headers={**signed, "Accept": "application/json"},
                body=body.encode(),
                maximum_bytes=TOKEN_ANSWER_MAXIMUM_BYTES,
            )
        except OutboundError as error:
            raise no_reply(error) from None
        if reply.status in (408, 429) or reply.status >= 500:
            raise failure_of(reply)
        return _Answer(reply)


def _client(application: Application) -> OAuth2Client:
    """Authlib's client with the vendor's oddities."""
    basic = application.oauth.client_authentication is ClientAuthentication.BASIC
    method = "client_secret_basic" if basic else "client_secret_post"
    client = OAuth2Client(
        _Transport(),
        client_id=application.client_id,
        client_secret=application.client_secret,
        token_endpoint_auth_method=method,
        revocation_endpoint_auth_method=method,
        redirect_uri=callback_url(application.provider),
        code_challenge_method="S256",
    )
    client.register_client_auth_method(("client_secret_basic", _basic))
    asked_at = clock.now()

    def cleaned(answer: _Answer) -> _Answer:
        return _cleaned(application, answer, asked_at)

    client.register_compliance_hook("access_token_response", cleaned)
    client.register_compliance_hook("refresh_token_response", cleaned)
    if application.oauth.revoke_parameter != "token":
        client.register_compliance_hook("revoke_token_request", _revoked_by_access_token)
    return client


def _basic(
    client: ClientAuth, method: str, url: str, headers: dict[str, str], body: str
) -> tuple[str, dict[str, str], str]:
    """HTTP Basic with both parts form-encoded first (RFC 6749, 2.3.1), as Authlib's own is not."""
    del method
    pair = f"{quote(client.client_id, safe='')}:{quote(client.client_secret, safe='')}"
    return url, {**headers, "Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}, body


def _revoked_by_access_token(url: str, headers: Mapping[str, str], body: str) -> tuple[str, Mapping[str, str], str]:
    """The token under the name that the vendor reads; in the body, so that it stands in no address."""
    return url, headers, body.replace("token=", "access_token=", 1)


def _cleaned(application: Application, answer: _Answer, asked_at: datetime) -> _Answer:
    """A token endpoint's answer, unwrapped and checked, with those fields alone that `_tokens` reads."""
    document = answer.json()
    plain = application.oauth.token_envelope is TokenEnvelope.PLAIN
    if answer.status_code != 200 or (plain and "error" in document):
        raise _refusal(answer)
    document = _unwrapped(application.oauth, answer, document)
    access, refresh = document.get("access_token"), document.get("refresh_token") or ""
    if not isinstance(access, str) or not access or not isinstance(refresh, str):
        raise ProviderFailure(FailureKind.TRANSPORT)
    clean: dict[str, JSONValue] = {
        "access_token": access,
        "expires_at": int(_expires_at(document, asked_at).timestamp()),
        "scopes": _scopes(application, document.get("scope")),
        "account": _account(application.oauth.account_field, document),
    }
    # Without a new one, Authlib keeps the old.
    return _Answer(answer.reply, {**clean, "refresh_token": refresh} if refresh else clean)


def _unwrapped(
    oauth: OAuthConfiguration, answer: _Answer, document: Mapping[str, JSONValue]
) -> Mapping[str, JSONValue]:
    if oauth.token_envelope is TokenEnvelope.PLAIN:
        return document
    try:
        return body_of(document)
    except ProviderFailure as failure:
        if failure.kind in (FailureKind.REFUSED, FailureKind.TOKEN_REJECTED, FailureKind.SCOPE_MISSING):
            raise _refusal(answer) from None
        raise


def _refusal(answer: _Answer) -> ProviderFailure | GrantRefused:
    """A refusal of our own registration or request is the operator's to mend; no person's grant is lost by it."""
    if answer.status_code not in _REFUSED:
        return ProviderFailure(FailureKind.REFUSED)
    said = _said(answer.json())
    if said & _OURS or any("client" in text or "application" in text for text in said):
        return ProviderFailure(FailureKind.REFUSED)
    if said & _DOWN:
        return ProviderFailure(FailureKind.UNAVAILABLE)
    told = [error_type for text, error_type in _TOLD.items() if text in said]
    return GrantRefused(*told[:1])


def _said(document: Mapping[str, JSONValue]) -> frozenset[str]:
    """What a refusal names: `error`, or as Strava has it a list of `errors` with a resource and a field each."""
    found = [document.get("error")]
    listed = document.get("errors")
    for one in listed if isinstance(listed, list) else []:
        if isinstance(one, dict):
            found += [one.get("resource"), one.get("field")]
    return frozenset(text.lower() for text in found if isinstance(text, str))


def _expires_at(document: Mapping[str, JSONValue], asked_at: datetime) -> datetime:
    """By the lifetime, which our own clock measures; else by the instant the provider names; else an hour."""
    lasts = _whole(document.get("expires_in"))
    if lasts is None:
        until = _whole(document.get("expires_at"))
        lasts = None if until is None else until - int(asked_at.timestamp())
    sound = lasts is not None and 0 < lasts < _EXPIRES_MAXIMUM_SECONDS
    return asked_at + timedelta(seconds=lasts if sound and lasts else _EXPIRES_DEFAULT_SECONDS)


def _whole(value: JSONValue) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 12:
        return int(value)
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return int(value) if number and isinstance(value, int | float) else None


def _scopes(application: Application, scope: JSONValue) -> list[str]:
    named = [one for one in scope if isinstance(one, str)] if isinstance(scope, list) else [scope]
    return list(scopes_read(application, " ".join(one for one in named if isinstance(one, str))))


def _account(path: str, document: Mapping[str, JSONValue]) -> str:
    """The account's id at the place that the catalogue names; '' where it is not there."""
    found: JSONValue = document
    for name in path.split(".") if path else []:
        found = found.get(name) if isinstance(found, dict) else None
    known = bool(path) and isinstance(found, str | int) and not isinstance(found, bool)
    text = str(found) if known else ""
    return text[:_ACCOUNT_MAXIMUM_CHARACTERS] if text.isprintable() else ""


def _tokens(found: Mapping[str, Any]) -> Tokens:
    return Tokens(
        access_token=found["access_token"],
        refresh_token=found.get("refresh_token", ""),
        expires_at=datetime.fromtimestamp(found["expires_at"], UTC),
        scopes=tuple(found["scopes"]) or None,
        external_user_id=found["account"],
    )
