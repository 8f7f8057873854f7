"""The authorisation pages: a request checked, a person logged in, a consent given, a redirect sent."""

import hmac
import re
import secrets
import sqlite3
from urllib.parse import urlencode, urlsplit

import orjson

from simulator.catalogue import PASSWORD, Vendor, vendor_of
from simulator.grants import code_issue
from simulator.pages import consent_page, failure_page, login_page
from simulator.store import Store, digest
from simulator.web import Request, Response, redirect

COOKIE = "simulator_browser"
SIGN_IN_SECONDS = 3600

_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,200}")
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
_LOST = ("This page has expired", "Go back to where you came from and start again.")


class _RefusedError(Exception):
    """An authorisation request that is answered by a redirect with an OAuth error code."""

    def __init__(self, error: str, description: str) -> None:
        super().__init__(error)
        self.error = error
        self.description = description


class SignIn:
    """The pages of every vendor, over one store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def authorize(self, request: Request) -> Response:
        """GET /{slug}/oauth/authorize: check the client's request, then show the login page."""
        vendor = vendor_of(request.slug)
        client_id = request.query.get("client_id", "")
        redirect_uri = request.query.get("redirect_uri", "")
        if not 1 <= len(client_id) <= 200:
            return failure_page(vendor.name, "Unknown application", "The client_id is missing.", 400)
        if not _is_redirectable(redirect_uri):
            text = "The redirect_uri is missing, or is not a plain http or https address."
            return failure_page(vendor.name, "Unknown return address", text, 400)
        try:
            scopes = _checked_scopes(request, vendor)
        except _RefusedError as refusal:
            return _redirect_back(
                redirect_uri,
                error=refusal.error,
                error_description=refusal.description,
                state=request.query.get("state", ""),
            )
        return self._begin(request, vendor, scopes)

    def _begin(self, request: Request, vendor: Vendor, scopes: tuple[str, ...]) -> Response:
        browser = request.cookies.get(COOKIE) or secrets.token_urlsafe(18)
        sign_in, form_token = secrets.token_urlsafe(18), secrets.token_urlsafe(18)
        now = self._store.now()
        with self._store.writing() as connection:
            connection.execute("DELETE FROM sign_in WHERE expires_at <= ?", (now,))
            connection.execute(
                "INSERT INTO sign_in VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', ?)",
                (
                    sign_in,
                    digest(browser),
                    digest(form_token),
                    request.slug,
                    request.query["client_id"],
                    request.query["redirect_uri"],
                    request.query["state"],
                    orjson.dumps(scopes).decode(),
                    request.query.get("code_challenge", ""),
                    request.query.get("person", "")[:200],
                    now + SIGN_IN_SECONDS,
                ),
            )
        shown = login_page(
            slug=request.slug,
            vendor_name=vendor.name,
            sign_in=sign_in,
            form_token=form_token,
            account=request.query.get("login_hint", "")[:254],
            problem="",
        )
        cookie = f"{COOKIE}={browser}; Path=/{request.slug}/oauth; HttpOnly; SameSite=Lax"
        return shown.with_headers(("Set-Cookie", cookie))

    def login(self, request: Request) -> Response:
        """POST /{slug}/oauth/login: right password → consent page, anything else → the form again."""
        vendor = vendor_of(request.slug)
        row = self._own_row(request, check_form=True)
        if row is None:
            return failure_page(vendor.name, *_LOST, 400)
        account = request.field("email").strip()[:254]
        known = "@" in account[1:-1]
        if not (known and hmac.compare_digest(request.field("password").encode(), PASSWORD.encode())):
            return login_page(
                slug=request.slug,
                vendor_name=vendor.name,
                sign_in=row["id"],
                form_token=self._new_form_token(row["id"]),
                account=account,
                problem="The e-mail address or the password is wrong.",
            )
        with self._store.writing() as connection:
            connection.execute("UPDATE sign_in SET account = ? WHERE id = ?", (account, row["id"]))
        return redirect(f"/{request.slug}/oauth/consent?" + urlencode({"sign_in": row["id"]}))

    def consent(self, request: Request) -> Response:
        """GET /{slug}/oauth/consent: what is asked for, one checkbox a scope."""
        row = self._own_row(request, check_form=False)
        if row is None or not row["account"]:
            return failure_page(vendor_of(request.slug).name, *_LOST, 400)
        return self._consent(row, problem="")

    def _consent(self, row: sqlite3.Row, problem: str) -> Response:
        vendor = vendor_of(row["slug"])
        scopes = [
            (scope, vendor.scopes.get(scope, scope), scope not in vendor.fixed_scopes)
            for scope in orjson.loads(row["scopes"])
        ]
        return consent_page(
            slug=row["slug"],
            vendor_name=vendor.name,
            client=urlsplit(row["redirect_uri"]).netloc,
            account=row["account"],
            sign_in=row["id"],
            form_token=self._new_form_token(row["id"]),
            scopes=scopes,
            problem=problem,
        )

    def decide(self, request: Request) -> Response:
        """POST /{slug}/oauth/consent: Allow → a code, Deny → access_denied; either way back to the client."""
        vendor = vendor_of(request.slug)
        row = self._own_row(request, check_form=True)
        if row is None or not row["account"]:
            return failure_page(vendor.name, *_LOST, 400)
        asked: tuple[str, ...] = tuple(orjson.loads(row["scopes"]))
        ticked = {*request.fields.get("scope", ()), *vendor.fixed_scopes}
        granted = tuple(scope for scope in asked if scope in ticked)
        allow = request.field("decision") == "allow"
        if allow and asked and not granted:
            return self._consent(row, problem="Tick at least one line, or choose Deny.")
        with self._store.writing() as connection:
            gone = connection.execute("DELETE FROM sign_in WHERE id = ?", (row["id"],)).rowcount
        if gone != 1:
            return failure_page(vendor.name, *_LOST, 400)
        if not allow:
            denied = "The user denied the request."
            return _redirect_back(
                row["redirect_uri"], error="access_denied", error_description=denied, state=row["state"]
            )
        code = code_issue(
            self._store,
            slug=row["slug"],
            client_id=row["client_id"],
            account=row["account"],
            seed=person_seed(row["slug"], row["account"], row["person"]),
            scopes=granted,
            redirect_uri=row["redirect_uri"],
            code_challenge=row["code_challenge"],
        )
        scope = vendor.scope_separator.join(granted)
        return _redirect_back(row["redirect_uri"], code=code, scope=scope, state=row["state"])

    def _own_row(self, request: Request, *, check_form: bool) -> sqlite3.Row | None:
        """The sign-in that a request names, if this browser began it and, for a POST, this form was shown."""
        row = self._store.row(
            "SELECT * FROM sign_in WHERE id = ? AND slug = ? AND expires_at > ?",
            (request.field("sign_in"), request.slug, self._store.now()),
        )
        if row is None:
            return None
        if not hmac.compare_digest(row["browser_hash"], digest(request.cookies.get(COOKIE, ""))):
            return None
        if check_form and not hmac.compare_digest(row["form_hash"], digest(request.field("form_token"))):
            return None
        return row

    def _new_form_token(self, sign_in: str) -> str:
        form_token = secrets.token_urlsafe(18)
        with self._store.writing() as connection:
            connection.execute("UPDATE sign_in SET form_hash = ? WHERE id = ?", (digest(form_token), sign_in))
        return form_token


def person_seed(slug: str, account: str, person: str) -> str:
    """What fixes a simulated person: the vendor and the login, unless the client named a person itself."""
    return f"person:{person}" if person else f"{slug}:{account.lower()}"


def _is_redirectable(address: str) -> bool:
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    plain = not parts.fragment and "@" not in parts.netloc and address.isascii() and address.isprintable()
    return plain and parts.scheme in {"http", "https"} and bool(parts.hostname) and len(address) <= 2000


def _checked_scopes(request: Request, vendor: Vendor) -> tuple[str, ...]:
    query = request.query
    if query.get("response_type") != "code":
        raise _RefusedError("unsupported_response_type", "response_type must be code.")
    if not 1 <= len(query.get("state", "")) <= 2000:
        raise _RefusedError("invalid_request", "state is missing.")
    challenge = query.get("code_challenge", "")
    if challenge and (query.get("code_challenge_method") != "S256" or not _CHALLENGE.fullmatch(challenge)):
        raise _RefusedError("invalid_request", "code_challenge_method must be S256.")
    if vendor.pkce_required and not challenge:
        raise _RefusedError("invalid_request", "code_challenge is required.")
    asked = query.get("scope", "").replace(vendor.scope_separator, " ").split()
    scopes = tuple(dict.fromkeys(asked)) or tuple(vendor.scopes)
    if any(not _SCOPE.fullmatch(scope) or (vendor.scopes and scope not in vendor.scopes) for scope in scopes):
        raise _RefusedError("invalid_scope", "A scope is unknown.")
    return scopes


def _redirect_back(redirect_uri: str, **parameters: str) -> Response:
    given = urlencode({name: value for name, value in parameters.items() if value})
    return redirect(redirect_uri + ("&" if urlsplit(redirect_uri).query else "?") + given)
