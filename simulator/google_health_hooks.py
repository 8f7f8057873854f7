"""Google Health's subscribers, each verified by two calls before it stands, and the notices that they get."""

from __future__ import annotations

import hmac
from datetime import UTC, datetime
from secrets import token_hex
from typing import TYPE_CHECKING, Final

import orjson

from simulator import google_health_documents as documents
from simulator.catalogue import CLIENT_SECRET
from simulator.day import midnight
from simulator.hooks import (
    HOOK_MAKERS,
    Happening,
    HookRequest,
    Subscription,
    hook_send,
    subscription_add,
    subscriptions_of,
)
from simulator.person import person_of
from simulator.web import Request, Response, Route, json_response

if TYPE_CHECKING:
    from simulator.store import Store

_SLUG: Final = "google_health"
_VERIFICATION: Final = '{"type":"verification"}'
_JSON: Final = {"Content-Type": "application/json"}


def routes(store: Store) -> tuple[Route, ...]:
    """The `projects/*/subscribers` endpoints. The project is the client whose people it is told of."""
    subscribers = _Subscribers(store)
    path = f"/{_SLUG}/v4/projects/{{id}}/subscribers"
    return (Route("POST", path, subscribers.make), Route("GET", path, subscribers.show))


class _Subscribers:
    """Made by the operator, whose own Google Cloud login the published secret stands for here."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def make(self, request: Request) -> Response:
        """POST: verified with the secret and without it, as Google does."""
        if not _is_operator(request):
            return _refused(401, "UNAUTHENTICATED")
        try:
            payload = orjson.loads(request.body)
            url, secret = payload["endpointUri"], payload["endpointAuthorization"]["secret"]
            types = [name for one in payload["subscriberConfigs"] for name in one["dataTypes"]]
        except (orjson.JSONDecodeError, KeyError, TypeError):
            return _refused(400, "INVALID_ARGUMENT")
        if not all(isinstance(one, str) and one for one in (url, secret, *types)):
            return _refused(400, "INVALID_ARGUMENT")
        known = hook_send(
            self._store, _SLUG, HookRequest("POST", url, {**_JSON, "Authorization": secret}, _VERIFICATION)
        )
        unknown = hook_send(self._store, _SLUG, HookRequest("POST", url, _JSON, _VERIFICATION))
        if known.status != 201 or unknown.status not in (401, 403):
            return _refused(400, "FAILED_PRECONDITION")
        made = subscription_add(
            self._store,
            slug=_SLUG,
            external_id=token_hex(16),
            client_id=request.id,
            callback_url=url,
            topic=",".join(types),
            verify_token=secret,
        )
        return json_response({"done": True, "response": _shown(made)})

    def show(self, request: Request) -> Response:
        """GET: without their secrets."""
        if not _is_operator(request):
            return _refused(401, "UNAUTHENTICATED")
        found = subscriptions_of(self._store, slug=_SLUG, client_id=request.id)
        return json_response({"subscribers": [_shown(one) for one in found]} if found else {})


def _is_operator(request: Request) -> bool:
    return hmac.compare_digest(request.bearer.encode(), CLIENT_SECRET.encode())


def _shown(one: Subscription) -> dict[str, object]:
    return {
        "name": f"projects/{one.client_id}/subscribers/{one.external_id}",
        "endpointUri": one.callback_url,
        "endpointAuthorization": {"secretSet": True},
        "subscriberConfigs": [{"dataTypes": one.topic.split(","), "subscriptionCreatePolicy": "AUTOMATIC"}],
        "state": "ACTIVE",
    }


def _refused(code: int, status: str) -> Response:
    return json_response({"error": {"code": code, "message": status.capitalize(), "status": status}}, code)


def notice_make(subscription: Subscription, happening: Happening) -> HookRequest | None:
    """What changed, without the data; `resource` is Google's data type. Of a grant that ends nothing is told."""
    data_type = happening.resource or "sleep"
    if happening.kind == "deregistered" or data_type not in subscription.topic.split(","):
        return None
    person = person_of(happening.seed)
    start, end = midnight(person, happening.day), midnight(person, documents.day_after(happening.day))
    instants = (datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") for at in (start, end))
    civil = (f"{on.isoformat()}T00:00:00" for on in (happening.day, documents.day_after(happening.day)))
    names = ("startTime", "endTime")
    data = {
        "version": "1",
        "clientProvidedSubscriptionName": "",
        "healthUserId": documents.user_id(person),
        "operation": "UPSERT",
        "dataType": data_type,
        "intervals": [
            {
                "physicalTimeInterval": dict(zip(names, instants, strict=True)),
                "civilIso8601TimeInterval": dict(zip(names, civil, strict=True)),
            }
        ],
    }
    headers = {**_JSON, "Authorization": subscription.verify_token}
    return HookRequest("POST", subscription.callback_url, headers, orjson.dumps([{"data": data}]).decode())


HOOK_MAKERS[_SLUG] = notice_make
