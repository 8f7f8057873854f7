"""OAuth 2.0 with a provider: where to send a person, and the token endpoint.

Sandbox keys reach the simulator and production keys the vendor, through the same code. Sources: RFC 6749, RFC 7636.
"""

import base64
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import quote

from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from django.conf import settings

from healthsvc.env import env_secret
from healthsvc.kernel import clock
from healthsvc.kernel.http import OutboundError, fetch
from healthsvc.kernel.principal import Environment
from healthsvc.kernel.typing import JSONValue
from links.catalogue import OAuthConfiguration, Provider, TokenEnvelope
from links.catalogue.shapes import ClientAuthentication
from links.connectors.envelopes import body_of
from links.connectors.failures import FailureKind, GrantRefused, ProviderFailure
from links.connectors.wire import json_object, no_reply, retry_after_seconds
from links.constants import (
    PROVIDER_TIMEOUT_SECONDS,
    SIMULATOR_CLIENT_ID,
    SIMULATOR_CLIENT_SECRET,
    TOKEN_ANSWER_MAXIMUM_BYTES,
)

#: Where a token endpoint names no lifetime.
_EXPIRES_DEFAULT_SECONDS: Final = 3600
_SCOPES_MAXIMUM: Final = 100


@dataclass(frozen=True, slots=True)
class Application:
    """The service's registration with a provider, and the provider's addresses in one environment."""

    provider: Provider
    oauth: OAuthConfiguration
    client_id: str
    client_secret: str
    authorize_url: str
    token_url: str
    api_url: str


@dataclass(frozen=True, slots=True)
class Tokens:
    """What a token endpoint gave. `scopes` is None where it named none; `refresh_token` is '' where it gave none."""

    access_token: str
    refresh_token: str
    expires_at: datetime
    scopes: tuple[str, ...] | None
    external_user_id: str


def application_of(provider: Provider, environment: Environment) -> Application | None:
    """The registration to use; None where the provider has no OAuth, or the operator has not registered."""
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
        )
    client_id = env_secret(f"PROVIDER_{provider.slug.upper()}_CLIENT_ID", "")
    client_secret = env_secret(f"PROVIDER_{provider.slug.upper()}_CLIENT_SECRET", "")
    if not client_id or not client_secret:
        return None
    return Application(
        provider=provider,
        oauth=oauth,
        client_id=client_id,
        client_secret=client_secret,
        authorize_url=oauth.authorize_url,
        token_url=oauth.token_url,
        api_url=oauth.api_url,
    )


def callback_url(provider: Provider) -> str:
    """The address that is registered with the provider."""
    return f"{settings.BASE_URL}/link/callback/{provider.slug}"


def verifier_make(application: Application) -> str:
    """A PKCE verifier of 256 bits; '' where the provider takes none."""
    return secrets.token_urlsafe(32) if application.oauth.pkce else ""


def authorize_address(application: Application, *, state: str, verifier: str) -> str:
    """Where a person logs in and consents."""
    parameters = {"code_challenge": create_s256_code_challenge(verifier), "code_challenge_method": "S256"}
    address: str = prepare_grant_uri(
        application.authorize_url,
        client_id=application.client_id,
        response_type="code",
        redirect_uri=callback_url(application.provider),
        scope=application.oauth.scope_separator.join(application.provider.scopes),
        state=state,
        **(parameters if verifier else {}),
    )
    return address


def code_exchange(application: Application, *, code: str, verifier: str) -> Tokens:
    """Trade an authorisation code for tokens. GrantRefused, ProviderFailure."""
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": callback_url(application.provider),
        **({"code_verifier": verifier} if verifier else {}),
    }
    return _tokens(application, form)


def tokens_refresh(application: Application, *, refresh_token: str) -> Tokens:
    """Trade a refresh token for new tokens. GrantRefused, ProviderFailure."""
    return _tokens(application, {"grant_type": "refresh_token", "refresh_token": refresh_token})


def scopes_read(application: Application, text: str) -> tuple[str, ...]:
    """The scopes that a text names, by the provider's separator or a space."""
    found = text.replace(application.oauth.scope_separator, " ").split()
    return tuple(dict.fromkeys(found))[:_SCOPES_MAXIMUM]


def _tokens(application: Application, form: Mapping[str, str]) -> Tokens:
    asked_at = clock.now()
    headers, credentials = _client(application)
    sent = {**application.oauth.token_parameters, **form, **credentials}
    try:
        reply = fetch(
            "POST",
            application.token_url,
            timeout_seconds=PROVIDER_TIMEOUT_SECONDS,
            headers={"Accept": "application/json", **headers},
            form=sent,
            maximum_bytes=TOKEN_ANSWER_MAXIMUM_BYTES,
        )
    except OutboundError as error:
        raise no_reply(error) from None
    if reply.status == 429:
        raise ProviderFailure(FailureKind.RATE_LIMITED, retry_after_seconds=retry_after_seconds(reply))
    if reply.status >= 500 or reply.status == 408:
        raise ProviderFailure(FailureKind.UNAVAILABLE)
    answer = json_object(reply.body)
    if reply.status != 200:
        raise _refusal(str(answer.get("error", "")))
    return _read(application, _unwrapped(application.oauth, answer), asked_at)


def _refusal(error: str) -> ProviderFailure | GrantRefused:
    """A refusal of our own registration is the operator's to mend; no person's grant is lost by it."""
    return ProviderFailure(FailureKind.REFUSED) if "client" in error else GrantRefused()


def _client(application: Application) -> tuple[dict[str, str], dict[str, str]]:
    """The client's secret, as a header or as fields of the form."""
    if application.oauth.client_authentication is ClientAuthentication.BASIC:
        pair = f"{quote(application.client_id, safe='')}:{quote(application.client_secret, safe='')}"
        return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}, {}
    return {}, {"client_id": application.client_id, "client_secret": application.client_secret}


def _unwrapped(oauth: OAuthConfiguration, answer: Mapping[str, JSONValue]) -> Mapping[str, JSONValue]:
    if oauth.token_envelope is TokenEnvelope.PLAIN:
        return answer
    try:
        return body_of(answer)
    except ProviderFailure as failure:
        if failure.kind in (FailureKind.REFUSED, FailureKind.TOKEN_REJECTED, FailureKind.SCOPE_MISSING):
            raise _refusal(str(answer.get("error", ""))) from None
        raise


def _read(application: Application, answer: Mapping[str, JSONValue], asked_at: datetime) -> Tokens:
    access, refresh = answer.get("access_token"), answer.get("refresh_token", "")
    if not isinstance(access, str) or not access or not isinstance(refresh, str):
        raise ProviderFailure(FailureKind.TRANSPORT)
    seconds, scope, user = answer.get("expires_in"), answer.get("scope"), answer.get("userid")
    plain_number = isinstance(seconds, int) and not isinstance(seconds, bool) and 0 < seconds < 10**9
    lasts = seconds if plain_number and isinstance(seconds, int) else _EXPIRES_DEFAULT_SECONDS
    return Tokens(
        access_token=access,
        refresh_token=refresh,
        expires_at=asked_at + timedelta(seconds=lasts),
        scopes=(scopes_read(application, scope) or None) if isinstance(scope, str) else None,
        external_user_id=str(user)[:200] if isinstance(user, str | int) else "",
    )
