"""Strava's push subscriptions, one a client, and the events it sends to them."""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import orjson

from simulator import strava_documents as documents
from simulator.catalogue import CLIENT_SECRET
from simulator.draws import identifier
from simulator.grants import grant_of, token_revoke
from simulator.hooks import (
    HOOK_MAKERS,
    Happening,
    HookRequest,
    Subscription,
    hook_send,
    subscription_add,
    subscription_find,
    subscription_remove,
    subscriptions_of,
)
from simulator.person import person_of
from simulator.tokens import client_of
from simulator.web import Request, Response, Route, json_response

if TYPE_CHECKING:
    from simulator.store import Store

_PATH = "/strava/api/v3/push_subscriptions"


def routes(store: Store) -> tuple[Route, ...]:
    """The `push_subscriptions` endpoints."""
    subscriptions = _Subscriptions(store)
    return (
        Route("POST", _PATH, subscriptions.make),
        Route("GET", _PATH, subscriptions.show),
        Route("DELETE", _PATH + "/{id}", subscriptions.end),
    )


def grant_end(store: Store, access_token: str) -> bool:
    """End the grant of a living access token; False where it opens nothing."""
    if grant_of(store, "strava", access_token) is None:
        return False
    return token_revoke(store, "strava", access_token)


class _Subscriptions:
    def __init__(self, store: Store) -> None:
        self._store = store

    def make(self, request: Request) -> Response:
        """POST: the address is asked for its echo before the answer, as the vendor does."""
        client = client_of(request)
        if client is None:
            return _refused("Application", "", "invalid", 401)
        url, token = request.field("callback_url"), request.field("verify_token")
        if not url or len(url) > 255 or not token:
            return _refused("PushSubscription", "callback url", "invalid")
        if subscriptions_of(self._store, slug="strava", client_id=client):
            return _refused("PushSubscription", "", "already exists")
        challenge = f"{identifier(url, 'challenge', int(self._store.now())):012x}"
        asked = {"hub.mode": "subscribe", "hub.challenge": challenge, "hub.verify_token": token}
        joint = "&" if "?" in url else "?"
        reply = hook_send(self._store, "strava", HookRequest("GET", f"{url}{joint}{urlencode(asked)}"))
        if reply.status != 200 or _echo(reply.body) != challenge:
            return _refused("PushSubscription", "callback url", "GET to callback URL does not return 200")
        subscription = subscription_add(
            self._store,
            slug="strava",
            external_id=str(identifier(url, "subscription", int(self._store.now())) % 1_000_000_000),
            client_id=client,
            callback_url=url,
            verify_token=token,
        )
        return json_response({"id": _number(subscription)}, 201)

    def show(self, request: Request) -> Response:
        """GET: the client's subscription in a list, or an empty one."""
        client = client_of(request)
        if client is None:
            return _refused("Application", "", "invalid", 401)
        found = subscriptions_of(self._store, slug="strava", client_id=client)
        return json_response([{"id": _number(one), "callback_url": one.callback_url} for one in found])

    def end(self, request: Request) -> Response:
        """DELETE /{id}."""
        client = client_of(request)
        if client is None:
            return _refused("Application", "", "invalid", 401)
        found = subscription_find(self._store, slug="strava", client_id=client, external_id=request.id)
        if found is None:
            return _refused("PushSubscription", "id", "not found", 404)
        subscription_remove(self._store, found)
        return Response(status=204)


def _number(subscription: Subscription) -> int:
    """The vendor's number of a subscription; of one that was made through the controls, any."""
    return int(subscription.external_id) if subscription.external_id.isdigit() else subscription.id


def _echo(body: bytes) -> object:
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return document.get("hub.challenge") if isinstance(document, dict) else None


def _refused(resource: str, field: str, code: str, status: int = 400) -> Response:
    message = "Authorization Error" if status == 401 else "Record Not Found" if status == 404 else "Bad Request"
    return json_response({"message": message, "errors": [{"resource": resource, "field": field, "code": code}]}, status)


def _made(subscription: Subscription, happening: Happening) -> HookRequest | None:
    """An event of the day's activity, `resource` its aspect; or of the athlete, who took the grant back."""
    person = person_of(happening.seed)
    gone = happening.kind == "deregistered"
    event = {
        "object_type": "athlete" if gone else "activity",
        "object_id": person.user_id if gone else documents.activity_id(person, happening.day),
        "aspect_type": "update" if gone else happening.resource or "create",
        "updates": {"authorized": "false"} if gone else {},
        "owner_id": person.user_id,
        "subscription_id": _number(subscription),
        "event_time": int(happening.signed_at),
    }
    body, signed_at = orjson.dumps(event), str(int(happening.signed_at))
    signature = hmac.new(CLIENT_SECRET.encode(), signed_at.encode() + b"." + body, hashlib.sha256).hexdigest()
    headers = {"Content-Type": "application/json", "X-Strava-Signature": f"t={signed_at},v1={signature}"}
    return HookRequest("POST", subscription.callback_url, headers, body.decode())


HOOK_MAKERS["strava"] = _made
