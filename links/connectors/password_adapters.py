"""Adapters of password and e-mail providers: one generic shape in the sandbox, an operator's own in production.

The service ships no credentials that belong to a vendor's own app, and so no adapter for production: an operator's
catalogue file names one as `password_adapter = "module:Class"`. The sandbox's shape is the simulator's
(docs/simulator.md, "Password and e-mail logins"): JSON by POST, refusals as `{"error": code}`.
"""

from collections.abc import Mapping
from datetime import timedelta
from functools import lru_cache
from typing import Any, Final, NoReturn

import orjson
from django.conf import settings
from django.utils.module_loading import import_string

from healthsvc.kernel import clock
from healthsvc.kernel.http import HttpReply, OutboundError, fetch
from healthsvc.kernel.principal import Environment
from healthsvc.kernel.typing import JSONValue
from links.catalogue import LoginKind, Provider, catalogue
from links.connectors.failures import FailureKind, GrantRefused, ProviderFailure
from links.connectors.passwords import EmailAdapter, LoggedIn, LoginFailed, MfaAsked, MfaMethod, PasswordAdapter
from links.connectors.wire import json_object, no_reply, retry_after_seconds
from links.constants import PROVIDER_TIMEOUT_SECONDS, TOKEN_ANSWER_MAXIMUM_BYTES, LinkErrorType

#: What a refusal's code means to the person. A refused refresh token is told apart: nobody logs in at that moment.
_REFUSALS: Final[Mapping[str, LinkErrorType]] = {
    "invalid_credentials": LinkErrorType.PROVIDER_CREDENTIAL_ERROR,
    "not_shared": LinkErrorType.PROVIDER_CREDENTIAL_ERROR,
    "challenge_ended": LinkErrorType.PROVIDER_CREDENTIAL_ERROR,
    "password_expired": LinkErrorType.PROVIDER_PASSWORD_EXPIRED,
    "unsupported_region": LinkErrorType.UNSUPPORTED_REGION,
    "incorrect_mfa_code": LinkErrorType.INCORRECT_MFA_CODE,
}
_TOKEN_REFUSED: Final = "invalid_refresh_token"  # noqa: S105 - the name of an error
_ACCOUNT_MAXIMUM_CHARACTERS: Final = 200
_LASTS_MAXIMUM_SECONDS: Final = 10 * 365 * 24 * 3600


class GenericAdapter:
    """The generic shape of password and e-mail logins that the simulator answers for every slug."""

    def login(self, api_url: str, *, username: str, password: str, region: str) -> LoggedIn | MfaAsked:
        """Log in with a name and a password."""
        body = {"username": username, "password": password, "region": region}
        answer = _answer(f"{api_url}/password/login", body)
        return _challenge(answer) if answer.get("status") == "mfa_required" else _logged_in(answer)

    def mfa_complete(self, api_url: str, *, challenge: Mapping[str, str], code: str, region: str) -> LoggedIn:
        """Give the code that the vendor sent."""
        body = {"challenge": challenge.get("challenge", ""), "code": code, "region": region}
        return _logged_in(_answer(f"{api_url}/password/mfa", body))

    def renew(self, api_url: str, *, refresh_token: str, credentials: str, region: str) -> LoggedIn:
        """Trade the refresh token for fresh tokens."""
        del credentials
        return _logged_in(_answer(f"{api_url}/password/refresh", {"refresh_token": refresh_token, "region": region}))

    def connect(self, api_url: str, *, email: str, region: str) -> LoggedIn:
        """Ask for the account that is known by this address."""
        return _logged_in(_answer(f"{api_url}/email/connect", {"email": email, "region": region}))


_GENERIC: Final = GenericAdapter()


def adapter_of(slug: str, environment: Environment) -> PasswordAdapter | None:
    """Who logs in at this provider and renews its tokens; None where nobody can. For password and e-mail slugs."""
    provider = catalogue().get(slug)
    if provider is None or provider.login not in (LoginKind.PASSWORD, LoginKind.EMAIL):
        return None
    if environment is Environment.SANDBOX:
        return _GENERIC
    adapter: PasswordAdapter | None = _named(provider.password_adapter, "login")
    return adapter


def email_adapter_of(slug: str, environment: Environment) -> EmailAdapter | None:
    """Who connects accounts known by their e-mail address; None where nobody can."""
    provider = catalogue().get(slug)
    if provider is None or provider.login is not LoginKind.EMAIL:
        return None
    if environment is Environment.SANDBOX:
        return _GENERIC
    adapter: EmailAdapter | None = _named(provider.password_adapter, "connect")
    return adapter


def api_url_of(provider: Provider, environment: Environment) -> str:
    """What the provider's addresses begin with; '' in production where the adapter itself knows them by region."""
    if environment is Environment.SANDBOX:
        return f"{settings.SIMULATOR_URL}/{provider.slug}"
    return provider.oauth.api_url if provider.oauth else ""


@lru_cache(maxsize=64)
def _named(path: str, method: str) -> Any:
    """An instance of the class that a catalogue file names, where it has the method asked for."""
    if not path:
        return None
    adapter = import_string(path.replace(":", "."))()
    return adapter if callable(getattr(adapter, method, None)) else None


def _answer(url: str, body: Mapping[str, str]) -> Mapping[str, JSONValue]:
    try:
        reply = fetch(
            "POST",
            url,
            timeout_seconds=PROVIDER_TIMEOUT_SECONDS,
            headers={"Accept": "application/json", "Content-Type": "application/json"},
            body=orjson.dumps(body),
            maximum_bytes=TOKEN_ANSWER_MAXIMUM_BYTES,
        )
    except OutboundError as error:
        raise no_reply(error) from None
    if reply.status != 200:
        _refuse(reply)
    return json_object(reply.body)


def _refuse(reply: HttpReply) -> NoReturn:
    if reply.status == 429:
        raise ProviderFailure(FailureKind.RATE_LIMITED, retry_after_seconds=retry_after_seconds(reply))
    if reply.status >= 500 or reply.status == 408:
        raise ProviderFailure(FailureKind.UNAVAILABLE)
    code = str(json_object(reply.body).get("error", ""))
    if code == _TOKEN_REFUSED:
        raise GrantRefused
    if code in _REFUSALS:
        raise LoginFailed(_REFUSALS[code])
    raise ProviderFailure(FailureKind.REFUSED)


def _challenge(answer: Mapping[str, JSONValue]) -> MfaAsked:
    challenge, method, hint = answer.get("challenge"), answer.get("method"), answer.get("hint")
    if not isinstance(challenge, str) or not challenge or not isinstance(hint, str) or method not in list(MfaMethod):
        raise ProviderFailure(FailureKind.TRANSPORT)
    return MfaAsked(MfaMethod(str(method)), hint, {"challenge": challenge})


def _logged_in(answer: Mapping[str, JSONValue]) -> LoggedIn:
    account, access, refresh = answer.get("account_id"), answer.get("access_token"), answer.get("refresh_token", "")
    lasts = answer.get("expires_in")
    if not isinstance(access, str) or not access or not isinstance(refresh, str) or not isinstance(account, str):
        raise ProviderFailure(FailureKind.TRANSPORT)
    told = isinstance(lasts, int) and not isinstance(lasts, bool) and 0 < lasts <= _LASTS_MAXIMUM_SECONDS
    return LoggedIn(
        external_user_id=account[:_ACCOUNT_MAXIMUM_CHARACTERS],
        access_token=access,
        refresh_token=refresh,
        expires_at=clock.now() + timedelta(seconds=lasts) if told and isinstance(lasts, int) else None,
    )
