"""Oura's webhook subscriptions and notices, as its OpenAPI document 1.35 and its webhook page describe them."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode
from uuid import uuid4

import orjson

from simulator.catalogue import CLIENT_SECRET
from simulator.hooks import (
    HOOK_MAKERS,
    HookRequest,
    hook_send,
    subscription_add,
    subscription_find,
    subscription_remove,
    subscription_renew,
    subscriptions_of,
)
from simulator.oura_documents import object_id, person_id
from simulator.person import person_of
from simulator.web import Request, Response, Route, json_response

if TYPE_CHECKING:
    from simulator.hooks import Happening, Subscription
    from simulator.store import Store

_PATH: Final = "/oura/v2/webhook/subscription"
_CHANGES: Final = ("create", "update", "delete")
_KINDS: Final = frozenset(
    (
        "tag",
        "enhanced_tag",
        "workout",
        "session",
        "sleep",
        "daily_sleep",
        "daily_readiness",
        "daily_activity",
        "daily_spo2",
        "sleep_time",
        "rest_mode_period",
        "ring_configuration",
        "daily_stress",
        "daily_resilience",
        "daily_cardiovascular_age",
        "vO2_max",
    )
)
#: How long a subscription lasts. The vendor says that they end, and not after how long.
SUBSCRIPTION_SECONDS: Final = 90 * 86_400


def routes(store: Store) -> tuple[Route, ...]:
    """The `/v2/webhook/subscription` endpoints, asked with the client's id and secret as headers."""
    hooks = OuraHooks(store)
    return (
        Route("GET", _PATH, hooks.listed),
        Route("POST", _PATH, hooks.create),
        Route("PUT", f"{_PATH}/renew/{{id}}", hooks.renew),
        Route("GET", f"{_PATH}/{{id}}", hooks.one),
        Route("DELETE", f"{_PATH}/{{id}}", hooks.remove),
    )


class OuraHooks:
    """Subscriptions of a client: one for each callback address, change and kind of document."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def listed(self, request: Request) -> Response:
        client = _client(request)
        if client is None:
            return _unauthorised()
        return json_response([_document(one) for one in subscriptions_of(self._store, slug="oura", client_id=client)])

    def create(self, request: Request) -> Response:
        """The callback must echo a challenge before the subscription stands."""
        client = _client(request)
        if client is None:
            return _unauthorised()
        try:
            asked = orjson.loads(request.body)
            url, token = str(asked["callback_url"]), str(asked["verification_token"])
            change, kind = asked["event_type"], asked["data_type"]
        except (orjson.JSONDecodeError, KeyError, TypeError):
            return json_response({"detail": "callback_url, verification_token, event_type and data_type."}, 422)
        if change not in _CHANGES or kind not in _KINDS:
            return json_response({"detail": "An unknown event_type or data_type."}, 422)
        challenge = secrets.token_hex(16)
        question = urlencode({"verification_token": token, "challenge": challenge})
        reply = hook_send(self._store, "oura", HookRequest("GET", f"{url}?{question}"))
        if reply.status != 200 or reply.body != orjson.dumps({"challenge": challenge}):
            return json_response({"detail": "The callback_url did not answer the challenge."}, 400)
        subscription = subscription_add(
            self._store,
            slug="oura",
            external_id=str(uuid4()),
            client_id=client,
            callback_url=url,
            topic=f"{change}.{kind}",
            verify_token=token,
            expires_at=self._store.now() + SUBSCRIPTION_SECONDS,
        )
        return json_response(_document(subscription), 201)

    def renew(self, request: Request) -> Response:
        found = self._found(request)
        if isinstance(found, Response):
            return found
        subscription_renew(self._store, found, expires_at=self._store.now() + SUBSCRIPTION_SECONDS)
        return self.one(request)

    def one(self, request: Request) -> Response:
        found = self._found(request)
        return found if isinstance(found, Response) else json_response(_document(found))

    def remove(self, request: Request) -> Response:
        found = self._found(request)
        if isinstance(found, Response):
            return found
        subscription_remove(self._store, found)
        return Response(204)

    def _found(self, request: Request) -> Subscription | Response:
        client = _client(request)
        if client is None:
            return _unauthorised()
        found = subscription_find(self._store, slug="oura", client_id=client, external_id=request.id)
        return found or json_response({"detail": "Not found."}, 404)


def notice(subscription: Subscription, happening: Happening) -> HookRequest | None:
    """An event, signed with the client's secret. Oura tells of documents alone: nobody is told of a grant that ended.

    `resource` of what happened is `<change>.<kind of document>`, or a kind alone for an update.
    """
    change, _, kind = happening.resource.rpartition(".")
    if happening.kind != "data" or subscription.topic != f"{change or 'update'}.{kind}":
        return None
    person = person_of(happening.seed)
    body = orjson.dumps(
        {
            "event_type": change or "update",
            "data_type": kind,
            "object_id": object_id(person, kind, happening.day),
            "event_time": datetime.fromtimestamp(happening.signed_at, UTC).isoformat(),
            "user_id": person_id(person),
        }
    )
    stamp = str(int(happening.signed_at))
    signature = hmac.new(CLIENT_SECRET.encode(), stamp.encode() + body, hashlib.sha256).hexdigest().upper()
    headers = {"Content-Type": "application/json", "x-oura-signature": signature, "x-oura-timestamp": stamp}
    return HookRequest("POST", subscription.callback_url, headers, body.decode())


HOOK_MAKERS["oura"] = notice


def _document(subscription: Subscription) -> dict[str, object]:
    change, _, kind = subscription.topic.partition(".")
    until = datetime.fromtimestamp(subscription.expires_at or 0, UTC)
    return {
        "id": subscription.external_id,
        "callback_url": subscription.callback_url,
        "event_type": change,
        "data_type": kind,
        "expiration_time": until.isoformat(),
    }


def _client(request: Request) -> str | None:
    secret = request.headers.get("x-client-secret", "")
    return request.headers.get("x-client-id") if hmac.compare_digest(secret.encode(), CLIENT_SECRET.encode()) else None


def _unauthorised() -> Response:
    return json_response({"detail": "The client id or secret is not valid."}, 401)
