"""Password and e-mail logins in one generic shape, for every vendor that takes a name and a password or an address.

What a login comes to is told by the part of the name before the `@` (and before a `+`), see `KNOWN_LOGINS`; any other
name logs in with the published password.
"""

import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Final

import orjson

from simulator.catalogue import PASSWORD, vendor_of
from simulator.grants import GrantRefusedError, TokenPair, demo_issue, refresh
from simulator.person import user_id_of
from simulator.store import Store, digest
from simulator.web import Request, Response, Route, json_response

#: The second factor of every login that asks for one.
MFA_CODE: Final = "123456"
MFA_ATTEMPTS: Final = 5
MFA_SECONDS: Final = 600
#: Tokens of these logins belong to the vendor's own client.
_CLIENT: Final = "password"
_NAME_MAXIMUM_CHARACTERS: Final = 200
_RETRY_AFTER_SECONDS: Final = 30
_REGION: Final = re.compile(r"[a-z]{0,8}")


@dataclass(frozen=True, slots=True)
class KnownLogin:
    """What becomes of a login: a refusal with its status, or a code sent by `mfa_method`. `words` for the tables."""

    words: str
    status: int = 200
    error: str = ""
    mfa_method: str = ""
    mfa_hint: str = ""


#: By the name before the `@`.
KNOWN_LOGINS: Final[Mapping[str, KnownLogin]] = {
    "mfa-sms": KnownLogin("a code by text message", mfa_method="sms", mfa_hint="*** *** 4821"),
    "mfa-email": KnownLogin("a code by e-mail", mfa_method="email", mfa_hint="m***@e***.com"),
    "wrong-password": KnownLogin("the password is wrong", 401, "invalid_credentials"),
    "expired-password": KnownLogin("the password has to be renewed at the vendor", 403, "password_expired"),
    "wrong-region": KnownLogin("the account is kept in another region", 421, "unsupported_region"),
    "not-shared": KnownLogin("the account exists and shares nothing", 403, "not_shared"),
    "vendor-down": KnownLogin("the vendor is down", 503, "unavailable"),
    "vendor-busy": KnownLogin("too many requests", 429, "rate_limited"),
}

_WRONG: Final = KnownLogin("", 401, "invalid_credentials")
_ANYBODY: Final = KnownLogin("")


class _MalformedError(Exception):
    """The body is not what the endpoint takes; the text names the field."""


class Passwords:
    """The endpoints, over one store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def login(self, request: Request) -> Response:
        """POST /{slug}/password/login with username, password and, where the vendor has them, region."""
        try:
            document = _document(request)
            username, password = _text(document, "username"), _text(document, "password")
            _region(document)
        except _MalformedError as error:
            return _malformed(error)
        right = hmac.compare_digest(password.encode(), PASSWORD.encode())
        known = _known(username) if right else _WRONG
        if known.status != 200:
            return _refused(known)
        if known.mfa_method:
            return self._challenge(request.slug, username, known)
        return self._tokens(request.slug, username)

    def mfa(self, request: Request) -> Response:
        """POST /{slug}/password/mfa with challenge and code: five codes in ten minutes, and one right one."""
        try:
            document = _document(request)
            challenge, code = _text(document, "challenge"), _text(document, "code")
        except _MalformedError as error:
            return _malformed(error)
        account = self._account_of(request.slug, challenge)
        if account is None:
            return json_response({"error": "challenge_ended"}, 403)
        if not hmac.compare_digest(code.encode(), MFA_CODE.encode()):
            return json_response({"error": "incorrect_mfa_code"}, 403)
        if not self._spent(challenge):
            return json_response({"error": "challenge_ended"}, 403)
        return self._tokens(request.slug, account)

    def refresh(self, request: Request) -> Response:
        """POST /{slug}/password/refresh with refresh_token; also for accounts connected by e-mail."""
        try:
            token = _text(_document(request), "refresh_token")
            pair = refresh(self._store, slug=request.slug, client_id=_CLIENT, refresh_token=token)
        except _MalformedError as error:
            return _malformed(error)
        except GrantRefusedError:
            return json_response({"error": "invalid_refresh_token"}, 401)
        return _pair_json(pair)

    def connect(self, request: Request) -> Response:
        """POST /{slug}/email/connect with email and region: the account that a practice shares with us."""
        try:
            document = _document(request)
            email = _text(document, "email")
            _region(document)
        except _MalformedError as error:
            return _malformed(error)
        known = _known(email)
        return _refused(known) if known.status != 200 else self._tokens(request.slug, email)

    def _tokens(self, slug: str, account: str) -> Response:
        pair = demo_issue(
            self._store,
            slug=slug,
            client_id=_CLIENT,
            account=account,
            scopes=(),
            access_seconds=vendor_of(slug).access_seconds,
        )
        return _pair_json(pair)

    def _challenge(self, slug: str, account: str, known: KnownLogin) -> Response:
        challenge = secrets.token_urlsafe(24)
        with self._store.writing() as connection:
            connection.execute(
                "INSERT INTO password_challenge (hash, slug, account, attempts, expires_at) VALUES (?, ?, ?, 0, ?)",
                (digest(challenge), slug, account, self._store.now() + MFA_SECONDS),
            )
        return json_response(
            {
                "status": "mfa_required",
                "challenge": challenge,
                "method": known.mfa_method,
                "hint": known.mfa_hint,
                "expires_in": MFA_SECONDS,
            }
        )

    def _account_of(self, slug: str, challenge: str) -> str | None:
        """The account that waits behind a challenge, one attempt counted; None where it has ended."""
        now = self._store.now()
        with self._store.writing() as connection:
            row = connection.execute(
                "UPDATE password_challenge SET attempts = attempts + 1 "
                "WHERE hash = ? AND slug = ? AND attempts < ? AND expires_at > ? RETURNING account",
                (digest(challenge), slug, MFA_ATTEMPTS, now),
            ).fetchone()
        return str(row["account"]) if row else None

    def _spent(self, challenge: str) -> bool:
        with self._store.writing() as connection:
            gone = connection.execute("DELETE FROM password_challenge WHERE hash = ?", (digest(challenge),))
            return gone.rowcount == 1


def routes(store: Store) -> tuple[Route, ...]:
    """The routes of password and e-mail logins."""
    passwords = Passwords(store)
    return (
        Route("POST", "/{slug}/password/login", passwords.login),
        Route("POST", "/{slug}/password/mfa", passwords.mfa),
        Route("POST", "/{slug}/password/refresh", passwords.refresh),
        Route("POST", "/{slug}/email/connect", passwords.connect),
    )


def known_logins_html() -> str:
    """The known logins as a table, for the start page."""
    rows = "\n".join(
        f'<tr><th scope="row">{escape(name)}@…</th><td>{escape(known.words)}</td></tr>'
        for name, known in KNOWN_LOGINS.items()
    )
    return (
        f"<h2>Password and e-mail logins</h2>\n<p>Any name with the password <strong>{PASSWORD}</strong>; these come to"
        f" something else. The code is always <strong>{MFA_CODE}</strong>.</p>\n<table>\n{rows}\n</table>"
    )


def _known(name: str) -> KnownLogin:
    return KNOWN_LOGINS.get(name.partition("@")[0].partition("+")[0].lower(), _ANYBODY)


def _refused(known: KnownLogin) -> Response:
    headers = [("Retry-After", str(_RETRY_AFTER_SECONDS))] if known.status == 429 else []
    return json_response({"error": known.error}, known.status, headers)


def _malformed(error: _MalformedError) -> Response:
    return json_response({"error": "invalid_request", "error_description": str(error)}, 400)


def _pair_json(pair: TokenPair) -> Response:
    return json_response(
        {
            "status": "ok",
            "account_id": str(user_id_of(pair.grant.seed)),
            "access_token": pair.access_token,
            "refresh_token": pair.refresh_token,
            "expires_in": pair.expires_in_seconds,
        }
    )


def _document(request: Request) -> Mapping[str, object]:
    try:
        document = orjson.loads(request.body)
    except orjson.JSONDecodeError as error:
        raise _MalformedError("The body is not JSON.") from error
    if not isinstance(document, dict):
        raise _MalformedError("The body is not an object.")
    return document


def _text(document: Mapping[str, object], name: str) -> str:
    value = document.get(name)
    if not isinstance(value, str) or not 1 <= len(value) <= _NAME_MAXIMUM_CHARACTERS:
        raise _MalformedError(f"{name} must be a text.")
    return value


def _region(document: Mapping[str, object]) -> None:
    region = document.get("region", "")
    if not isinstance(region, str) or not _REGION.fullmatch(region):
        raise _MalformedError("region must be a short text.")
