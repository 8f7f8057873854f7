"""The controls a test holds over the vendors' notices: let something happen, subscribe by hand, see what was sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date
from secrets import token_hex
from typing import TYPE_CHECKING, Final

import orjson

from simulator.configuration import origin_allowed
from simulator.day import local
from simulator.hooks import HOOK_MAKERS, Happening, hook_calls, hook_send, requests_make, subscription_add
from simulator.person import person_of
from simulator.web import Request, Response, Route, json_response

if TYPE_CHECKING:
    import sqlite3

    from simulator.hooks import HookRequest
    from simulator.store import Store

#: What can happen to an account.
_KINDS: Final = ("data", "deregistered")


class _InvalidControlError(Exception):
    """A control request that says something the simulator cannot do."""


@dataclass(frozen=True, slots=True)
class _Event:
    """A control request to let something happen. Day None: the person's own today."""

    slug: str
    account: str
    resource: str
    day: date | None
    kind: str
    deliver: bool
    signed_seconds_ago: int


def routes(store: Store) -> tuple[Route, ...]:
    """The `/_control` endpoints of notices."""
    control = HookControl(store)
    return (
        Route("POST", "/_control/notify", control.notify),
        Route("POST", "/_control/subscriptions", control.subscribe),
        Route("GET", "/_control/hooks", control.hooks),
    )


class HookControl:
    """The `/_control/notify`, `/_control/subscriptions` and `/_control/hooks` endpoints."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def notify(self, request: Request) -> Response:
        """POST /_control/notify: tell the clients what happened to an account, and answer what was sent.

        With `deliver` false nothing is sent: the caller gets the signed requests, to send them when and how often it
        likes. `deregistered` takes every grant of the account back first, as the person did.
        """
        try:
            event = _event(_document(request))
        except _InvalidControlError as error:
            return json_response({"detail": str(error)}, 422)
        made: dict[tuple[str, str], HookRequest] = {}
        for grant in self._grants(event):
            for one in requests_make(self._store, self._happening(event, grant)):
                # Two grants of one account are one account to a subscription that serves the whole client.
                made.setdefault((one.url, one.body), one)
        sent = [asdict(one) for one in made.values()]
        if not event.deliver:
            return json_response({"requests": sent, "replies": []})
        replies = [hook_send(self._store, event.slug, one) for one in made.values()]
        told = [{"status": one.status, "failure": one.failure} for one in replies]
        return json_response({"requests": sent, "replies": told})

    def subscribe(self, request: Request) -> Response:
        """POST /_control/subscriptions: what developers do by hand where a vendor has no API for it."""
        try:
            document = _document(request)
            slug, url = _text(document, "slug"), _text(document, "callback_url")
            if not origin_allowed(url, self._store.callback_origins):
                raise _InvalidControlError("callback_url is at none of SIMULATOR_CALLBACK_ORIGINS.")
            subscription = subscription_add(
                self._store,
                slug=slug,
                external_id=token_hex(16),
                client_id=_text(document, "client_id"),
                callback_url=url,
                topic=_text(document, "topic", ""),
                verify_token=_text(document, "verify_token", ""),
            )
        except _InvalidControlError as error:
            return json_response({"detail": str(error)}, 422)
        return json_response({"id": subscription.external_id}, 201)

    def hooks(self, request: Request) -> Response:
        """GET /_control/hooks: subscriptions without their tokens, and the calls that were made."""
        del request
        rows = self._store.rows(
            "SELECT slug, client_id, grant_id, topic, callback_url, expires_at FROM hook_subscription ORDER BY id"
        )
        return json_response({"subscriptions": [dict(row) for row in rows], "calls": hook_calls(self._store)})

    def _grants(self, event: _Event) -> list[sqlite3.Row]:
        """The account's living grants; what is deregistered lives no longer afterwards."""
        parameters = (event.slug, event.account)
        with self._store.writing() as connection:
            found = connection.execute(
                "SELECT * FROM access_grant WHERE slug = ? AND account = ? AND NOT revoked ORDER BY id", parameters
            ).fetchall()
            if event.kind == "deregistered":
                connection.execute("UPDATE access_grant SET revoked = 1 WHERE slug = ? AND account = ?", parameters)
        return list(found)

    def _happening(self, event: _Event, grant: sqlite3.Row) -> Happening:
        now = self._store.now()
        return Happening(
            slug=event.slug,
            client_id=grant["client_id"],
            account=event.account,
            seed=grant["seed"],
            grant_id=grant["id"],
            kind=event.kind,
            resource=event.resource,
            day=event.day or local(person_of(grant["seed"]), now).date(),
            signed_at=now - event.signed_seconds_ago,
        )


def _document(request: Request) -> Mapping[str, object]:
    if request.headers["content-type"].partition(";")[0].strip() != "application/json":
        raise _InvalidControlError("Send JSON.")
    try:
        document = orjson.loads(request.body)
    except orjson.JSONDecodeError as error:
        raise _InvalidControlError("The body is not JSON.") from error
    if not isinstance(document, dict):
        raise _InvalidControlError("The body is not an object.")
    return document


def _event(document: Mapping[str, object]) -> _Event:
    slug, kind = _text(document, "slug"), _text(document, "kind", "data")
    if slug not in HOOK_MAKERS:
        raise _InvalidControlError("This vendor sends no notices.")
    if kind not in _KINDS:
        raise _InvalidControlError("kind must be one of " + ", ".join(_KINDS))
    ago = document.get("signed_seconds_ago", 0)
    if isinstance(ago, bool) or not isinstance(ago, int):
        raise _InvalidControlError("signed_seconds_ago must be a whole number.")
    return _Event(
        slug=slug,
        account=_text(document, "account"),
        resource=_text(document, "resource", ""),
        day=_day(_text(document, "day", "")),
        kind=kind,
        deliver=document.get("deliver", True) is True,
        signed_seconds_ago=ago,
    )


def _text(document: Mapping[str, object], name: str, default: str | None = None) -> str:
    value = document.get(name, default)
    if not isinstance(value, str) or (default is None and not value):
        raise _InvalidControlError(f"{name} must be a text.")
    return value


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError as error:
        raise _InvalidControlError("day must be a date.") from error
