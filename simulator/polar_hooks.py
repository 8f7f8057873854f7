"""Polar's webhooks, one a client, and the events it sends to them."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final
from uuid import uuid4

import orjson

from simulator.hooks import (
    HOOK_MAKERS,
    HookRequest,
    hook_send,
    subscription_add,
    subscription_find,
    subscription_remove,
    subscriptions_of,
)
from simulator.person import person_of
from simulator.polar_documents import exercise_id
from simulator.tokens import client_of
from simulator.web import Request, Response, Route, json_response

if TYPE_CHECKING:
    from simulator.hooks import Happening, Subscription
    from simulator.store import Store

_PATH: Final = "/polar/v3/webhooks"
_EVENTS: Final = frozenset(
    (
        "EXERCISE",
        "SLEEP",
        "CONTINUOUS_HEART_RATE",
        "SLEEP_WISE_CIRCADIAN_BEDTIME",
        "SLEEP_WISE_ALERTNESS",
        "ACTIVITY_SUMMARY",
        "PHYSICAL_INFORMATION",
    )
)


def routes(store: Store) -> tuple[Route, ...]:
    """The `/v3/webhooks` endpoints, asked with the client's id and secret by Basic."""
    webhooks = _Webhooks(store)
    return (
        Route("POST", _PATH, webhooks.make),
        Route("GET", _PATH, webhooks.show),
        Route("DELETE", _PATH + "/{id}", webhooks.end),
    )


class _Webhooks:
    def __init__(self, store: Store) -> None:
        self._store = store

    def make(self, request: Request) -> Response:
        """POST: the address is pinged before it stands, with the key that the answer tells, once."""
        client = _client(request)
        if client is None:
            return refused(401, "Unauthorized")
        if subscriptions_of(self._store, slug="polar", client_id=client):
            return refused(409, "Webhook already exists")
        asked = _asked(request)
        if asked is None:
            return refused(400, "Webhook cannot be created")
        url, events = asked
        key = str(uuid4())
        ping: dict[str, object] = {"event": "PING", "timestamp": _instant(self._store.now())}
        if hook_send(self._store, "polar", _signed(url, ping, key)).status != 200:
            return refused(400, "Webhook cannot be created")
        made = subscription_add(
            self._store,
            slug="polar",
            external_id=secrets.token_hex(3),
            client_id=client,
            callback_url=url,
            topic=",".join(events),
            verify_token=key,
        )
        return json_response({"data": {**_document(made), "signature_secret_key": key}}, 201)

    def show(self, request: Request) -> Response:
        """GET: the client's webhook in a list, or an empty one."""
        client = _client(request)
        if client is None:
            return refused(401, "Unauthorized")
        found = subscriptions_of(self._store, slug="polar", client_id=client)
        return json_response({"data": [{**_document(one), "active": True} for one in found]})

    def end(self, request: Request) -> Response:
        """DELETE /{id}."""
        client = _client(request)
        if client is None:
            return refused(401, "Unauthorized")
        found = subscription_find(self._store, slug="polar", client_id=client, external_id=request.id)
        if found is None:
            return refused(404, "Webhook not found")
        subscription_remove(self._store, found)
        return Response(status=204)


def refused(status: int, message: str) -> Response:
    """Polar's error document."""
    kind = {400: "bad_request", 401: "unauthorized", 403: "forbidden", 404: "not_found", 409: "conflict"}[status]
    document = {"status": status, "errorType": kind, "message": message, "corrId": secrets.token_hex(8)}
    return json_response(document, status)


def _client(request: Request) -> str | None:
    """By Basic alone."""
    return client_of(request) if request.headers.get("authorization", "").lower().startswith("basic ") else None


def _asked(request: Request) -> tuple[str, list[str]] | None:
    try:
        document = orjson.loads(request.body)
    except orjson.JSONDecodeError:
        return None
    url, events = (document.get("url"), document.get("events")) if isinstance(document, dict) else (None, None)
    if not isinstance(url, str) or not url or not isinstance(events, list) or not events:
        return None
    return (url, events) if all(event in _EVENTS for event in events) else None


def _document(subscription: Subscription) -> dict[str, object]:
    return {
        "id": subscription.external_id,
        "events": subscription.topic.split(","),
        "url": subscription.callback_url,
    }


def _instant(at: float) -> str:
    return datetime.fromtimestamp(int(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _signed(url: str, event: dict[str, object], key: str) -> HookRequest:
    body = orjson.dumps(event)
    headers = {
        "Content-Type": "application/json",
        "Polar-Webhook-Event": str(event["event"]),
        "Polar-Webhook-Signature": hmac.new(key.encode(), body, hashlib.sha256).hexdigest(),
    }
    return HookRequest("POST", url, headers, body.decode())


def _made(subscription: Subscription, happening: Happening) -> HookRequest | None:
    """An event of one of Polar's types, sleep where none is named. Polar tells nothing of a grant that ends."""
    kind = happening.resource or "SLEEP"
    if happening.kind == "deregistered" or kind not in subscription.topic.split(","):
        return None
    person, day = person_of(happening.seed), happening.day.isoformat()
    event: dict[str, object] = {
        "event": kind,
        "user_id": person.user_id,
        "timestamp": _instant(happening.signed_at),
    }
    if kind == "EXERCISE":
        event["entity_id"] = exercise_id(person, happening.day)
        event["url"] = f"https://www.polaraccesslink.com/v3/exercises/{event['entity_id']}"
    else:
        event["date"] = day
        event["url"] = f"https://www.polaraccesslink.com/v3/users/{kind.lower()}/{day}"
    return _signed(subscription.callback_url, event, subscription.verify_token)


HOOK_MAKERS["polar"] = _made
