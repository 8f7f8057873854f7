"""Authorisation codes, access and refresh tokens: issued once, used once, rotated, expired, revoked."""

import base64
import hashlib
import hmac
import secrets
import sqlite3
from dataclasses import dataclass

import orjson

from simulator.catalogue import Vendor, vendor_of
from simulator.store import Store, digest


@dataclass(frozen=True, slots=True)
class Grant:
    """What one person allowed one client at one vendor. `seed` names the simulated person."""

    id: int
    slug: str
    client_id: str
    account: str
    seed: str
    scopes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TokenPair:
    """A fresh pair of tokens and what they open."""

    grant: Grant
    access_token: str
    refresh_token: str
    expires_in_seconds: int


class GrantRefusedError(Exception):
    """A code or refresh token that does not work; `what` names which, never its value."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


def code_issue(
    store: Store,
    *,
    slug: str,
    client_id: str,
    account: str,
    seed: str,
    scopes: tuple[str, ...],
    redirect_uri: str,
    code_challenge: str,
) -> str:
    """Record what the person allowed and return a code that works once and not for long."""
    code = secrets.token_urlsafe(24)
    expires_at = store.now() + vendor_of(slug).code_seconds
    with store.writing() as connection:
        grant = connection.execute(
            "INSERT INTO access_grant (slug, client_id, account, seed, scopes) VALUES (?, ?, ?, ?, ?)",
            (slug, client_id, account, seed, orjson.dumps(scopes).decode()),
        )
        connection.execute(
            "INSERT INTO code (hash, grant_id, redirect_uri, code_challenge, expires_at) VALUES (?, ?, ?, ?, ?)",
            (digest(code), grant.lastrowid, redirect_uri, code_challenge, expires_at),
        )
    return code


def code_exchange(
    store: Store, *, slug: str, client_id: str, code: str, redirect_uri: str, code_verifier: str
) -> TokenPair:
    """Trade a code for tokens. A code used a second time also revokes what it first gave (RFC 6749, 4.1.2)."""
    now = store.now()
    reused = False
    with store.writing() as connection:
        row = connection.execute(
            "SELECT code.*, slug, client_id, account, seed, scopes, revoked, access_grant.id AS id "
            "FROM code JOIN access_grant ON access_grant.id = grant_id WHERE hash = ?",
            (digest(code),),
        ).fetchone()
        if row is None or (row["slug"], row["client_id"]) != (slug, client_id):
            raise GrantRefusedError("code")
        reused = bool(row["used"])
        if reused:
            connection.execute("UPDATE access_grant SET revoked = 1 WHERE id = ?", (row["id"],))
        else:
            connection.execute("UPDATE code SET used = 1 WHERE hash = ?", (digest(code),))
    if reused or row["revoked"] or row["expires_at"] <= now:
        raise GrantRefusedError("code")
    if row["redirect_uri"] != redirect_uri:
        raise GrantRefusedError("redirect_uri")
    if not _verifier_fits(row["code_challenge"], code_verifier):
        raise GrantRefusedError("code_verifier")
    return _tokens_issue(store, _grant(row), refresh_token=None)


def demo_issue(
    store: Store, *, slug: str, client_id: str, account: str, scopes: tuple[str, ...], access_seconds: int
) -> TokenPair:
    """A grant that no person gave, with tokens whose first one lasts as long as is asked."""
    seed = f"{slug}:{account.lower()}"
    with store.writing() as connection:
        row = connection.execute(
            "INSERT INTO access_grant (slug, client_id, account, seed, scopes) VALUES (?, ?, ?, ?, ?)",
            (slug, client_id, account, seed, orjson.dumps(scopes).decode()),
        )
    grant = Grant(int(row.lastrowid or 0), slug, client_id, account, seed, scopes)
    return _tokens_issue(store, grant, refresh_token=None, access_seconds=access_seconds)


def refresh(store: Store, *, slug: str, client_id: str, refresh_token: str) -> TokenPair:
    """Trade a refresh token for a new access token, and for a new refresh token where the vendor rotates."""
    vendor = vendor_of(slug)
    now = store.now()
    with store.writing() as connection:
        row = _token_row(connection, refresh_token, "refresh", now)
        if row is None or (row["slug"], row["client_id"]) != (slug, client_id):
            raise GrantRefusedError("refresh_token")
        rotates = vendor.refresh_rotates or _is_late(connection, row, vendor, now)
        if rotates:
            until = min(row["expires_at"], now + vendor.previous_refresh_seconds)
            connection.execute("UPDATE token SET expires_at = ? WHERE hash = ?", (until, digest(refresh_token)))
    kept = None if rotates else refresh_token
    return _tokens_issue(store, _grant(row), refresh_token=kept)


def _is_late(connection: sqlite3.Connection, row: sqlite3.Row, vendor: Vendor, now: float) -> bool:
    """Whether a grant's newest access token is so old that its refresh token is changed too."""
    after_seconds = vendor.refresh_rotates_after_seconds
    if after_seconds is None:
        return False
    newest = connection.execute(
        "SELECT max(expires_at) AS expires_at FROM token WHERE grant_id = ? AND kind = 'access'", (row["id"],)
    ).fetchone()["expires_at"]
    return bool(now >= newest - vendor.access_seconds + after_seconds)


def grant_of(store: Store, slug: str, access_token: str) -> Grant | None:
    """The grant behind an access token, or None where it is unknown, expired, revoked or another vendor's."""
    row = _token_row(store, access_token, "access", store.now())
    return _grant(row) if row is not None and row["slug"] == slug else None


def token_revoke(store: Store, slug: str, token: str) -> bool:
    """Revoke the whole grant behind an access or refresh token; False where the token is unknown."""
    with store.writing() as connection:
        changed = connection.execute(
            "UPDATE access_grant SET revoked = 1 WHERE slug = ? AND id = (SELECT grant_id FROM token WHERE hash = ?)",
            (slug, digest(token)),
        )
        return changed.rowcount == 1


def token_expire(store: Store, access_token: str) -> None:
    """Let one access token run out now; its refresh token still works."""
    with store.writing() as connection:
        connection.execute(
            "UPDATE token SET expires_at = 0 WHERE hash = ? AND kind = 'access'", (digest(access_token),)
        )


def _token_row(source: Store | sqlite3.Connection, token: str, kind: str, now: float) -> sqlite3.Row | None:
    statement = (
        "SELECT slug, client_id, account, seed, scopes, expires_at, access_grant.id AS id "
        "FROM token JOIN access_grant ON access_grant.id = grant_id "
        "WHERE hash = ? AND kind = ? AND expires_at > ? AND NOT revoked"
    )
    parameters = (digest(token), kind, now)
    if isinstance(source, Store):
        return source.row(statement, parameters)
    found: sqlite3.Row | None = source.execute(statement, parameters).fetchone()
    return found


def _tokens_issue(
    store: Store, grant: Grant, refresh_token: str | None, access_seconds: int | None = None
) -> TokenPair:
    vendor: Vendor = vendor_of(grant.slug)
    now = store.now()
    lasts = vendor.access_seconds if access_seconds is None else access_seconds
    access = secrets.token_urlsafe(32)
    issued = [(digest(access), grant.id, "access", now + lasts)]
    if refresh_token is None:
        refresh_token = secrets.token_urlsafe(32)
        issued.append((digest(refresh_token), grant.id, "refresh", now + vendor.refresh_seconds))
    with store.writing() as connection:
        connection.executemany("INSERT INTO token (hash, grant_id, kind, expires_at) VALUES (?, ?, ?, ?)", issued)
    return TokenPair(grant, access, refresh_token, lasts)


def _grant(row: sqlite3.Row) -> Grant:
    return Grant(
        id=row["id"],
        slug=row["slug"],
        client_id=row["client_id"],
        account=row["account"],
        seed=row["seed"],
        scopes=tuple(orjson.loads(row["scopes"])),
    )


def _verifier_fits(code_challenge: str, code_verifier: str) -> bool:
    if not code_challenge:
        return not code_verifier
    hashed = hashlib.sha256(code_verifier.encode()).digest()
    expected = base64.urlsafe_b64encode(hashed).rstrip(b"=").decode()
    return hmac.compare_digest(expected, code_challenge)
