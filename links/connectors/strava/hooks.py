"""Strava's notifications, one subscription for the whole application, and the end of a grant.

Sources: Strava's webhook events reference, and RFC 7009 for the revocation; `X-Strava-Signature` is known from others
who receive it. Read, not exercised against a live account.
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from urllib.parse import quote, urlencode

import orjson

from healthsvc.kernel import clock
from healthsvc.kernel.http import HttpReply, OutboundError, fetch
from healthsvc.kernel.typing import JSONValue
from links.connectors.failures import FailureKind, ProviderFailure
from links.connectors.hooks import (
    ApplicationKeys,
    HookAnswer,
    HookCall,
    HookRefused,
    HookSecrets,
    Notice,
    Subscribed,
    SubscriptionScope,
)
from links.connectors.payload import MalformedError, epoch_instant
from links.connectors.wire import Access, failure_of, json_object, list_of, no_reply
from links.constants import HOOK_SIGNATURE_SECONDS, PROVIDER_TIMEOUT_SECONDS, TOKEN_ANSWER_MAXIMUM_BYTES

API: Final = "/api/v3"
_SUBSCRIPTIONS: Final = f"{API}/push_subscriptions"
#: What an activity that was made or changed is read as.
_OF_AN_ACTIVITY: Final = ("workouts", "workout_stream")


class StravaHooks:
    """What `TakesHooks` and `Revokes` ask of a connector."""

    subscription_scope = SubscriptionScope.APPLICATION

    def hook_topics(self, scopes: frozenset[str]) -> Sequence[str]:
        """One subscription tells of every athlete and everything."""
        del scopes
        return ("",)

    def hook_answer(self, call: HookCall, secrets: HookSecrets) -> HookAnswer:
        """The address is proven by echoing a challenge; later calls are events, one each. HookRefused."""
        if call.method == "GET":
            return _challenged(call, secrets)
        signature = call.headers.get("x-strava-signature")
        if signature is not None:
            _signature_check(signature, call.body, secrets.client_secret)
        event = _event(call.body)
        if secrets.external_id and str(event.get("subscription_id")) != secrets.external_id:
            raise HookRefused
        return HookAnswer(notices=_notices(event, is_signed=signature is not None))

    def hook_subscribe(
        self, keys: ApplicationKeys, access: Access | None, *, topic: str, callback_url: str, verify_token: str
    ) -> Subscribed:
        """Subscribe, or find the subscription that stands.

        Strava lets an application have one. Another of this service's (the address differs in its last part alone)
        is replaced; somebody else's is left alone, and the call is refused.
        """
        del access, topic
        form = {**_client(keys), "callback_url": callback_url, "verify_token": verify_token}
        reply = _called(keys, "POST", _SUBSCRIPTIONS, form=form)
        if reply.status == 400:
            standing = _standing(keys)
            if standing is None or standing[1].rpartition("/")[0] != callback_url.rpartition("/")[0]:
                raise ProviderFailure(FailureKind.REFUSED)
            if standing[1] == callback_url:
                return Subscribed(standing[0])
            _deleted(keys, standing[0])
            reply = _called(keys, "POST", _SUBSCRIPTIONS, form=form)
        if reply.status not in (200, 201):
            raise _refusal(reply)
        return Subscribed(_number(json_object(reply.body).get("id")))

    def hook_unsubscribe(
        self, keys: ApplicationKeys, access: Access | None, *, topic: str, external_id: str, callback_url: str
    ) -> None:
        """End the subscription; nothing where it is gone already."""
        del access, topic, callback_url
        _deleted(keys, external_id)

    def revoke(self, keys: ApplicationKeys, access: Access, *, refresh_token: str, external_user_id: str) -> None:
        """End the grant by its refresh token, with it every access token. A token that is gone is answered as well."""
        del external_user_id
        pair = f"{quote(keys.client_id, safe='')}:{quote(keys.client_secret, safe='')}"
        reply = _called(
            keys,
            "POST",
            "/oauth/revoke",
            form={"token": refresh_token or access.access_token},
            headers={"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"},
        )
        if reply.status != 200:
            raise _refusal(reply)


def _challenged(call: HookCall, secrets: HookSecrets) -> HookAnswer:
    token, challenge = call.query.get("hub.verify_token", ""), call.query.get("hub.challenge", "")
    known = hmac.compare_digest(token.encode(), secrets.verify_token.encode())
    if not known or call.query.get("hub.mode") != "subscribe" or not challenge:
        raise HookRefused
    return HookAnswer(body=orjson.dumps({"hub.challenge": challenge}))


def _signature_check(signature: str, body: bytes, client_secret: str) -> None:
    """`t=<epoch seconds>,v1=<hex>`: HMAC-SHA256 of `<t>.<body>` under the application's secret."""
    parts = dict(part.strip().partition("=")[::2] for part in signature.split(","))
    signed_at, given = parts.get("t", ""), parts.get("v1", "")
    if not (signed_at.isascii() and signed_at.isdigit() and len(signed_at) <= 12):
        raise HookRefused
    made = hmac.new(client_secret.encode(), signed_at.encode() + b"." + body, hashlib.sha256).hexdigest()
    fresh = abs(clock.now().timestamp() - int(signed_at)) <= HOOK_SIGNATURE_SECONDS
    if not hmac.compare_digest(made.encode(), given.encode()) or not fresh:
        raise HookRefused


def _event(body: bytes) -> Mapping[str, JSONValue]:
    try:
        return json_object(body)
    except ProviderFailure:
        raise HookRefused from None


def _notices(event: Mapping[str, JSONValue], *, is_signed: bool) -> tuple[Notice, ...]:
    """An activity's event names no day: its last days are read. A deletion changes nothing, for what is stored stays.

    The only event of an athlete is that they took the grant back. Without a signature anybody may have said so: then
    the athlete is asked for, and Strava's own answer tells.
    """
    owner = event.get("owner_id")
    if isinstance(owner, bool) or not isinstance(owner, int):
        return ()
    kind, aspect, updates = event.get("object_type"), event.get("aspect_type"), event.get("updates")
    if kind == "activity" and aspect in ("create", "update"):
        return (Notice(str(owner), resources=_OF_AN_ACTIVITY),)
    authorized = updates.get("authorized") if isinstance(updates, Mapping) else None
    if kind == "athlete" and authorized in ("false", False):
        if not is_signed:
            return (Notice(str(owner), resources=_OF_AN_ACTIVITY),)
        return (Notice(str(owner), deregistered=True, occurred_at=_occurred_at(event)),)
    return ()


def _occurred_at(event: Mapping[str, JSONValue]) -> datetime | None:
    try:
        return epoch_instant(event, "event_time")
    except MalformedError:
        # The notice holds without its time.
        return None


def _standing(keys: ApplicationKeys) -> tuple[str, str] | None:
    """Id and address of the application's subscription."""
    reply = _called(keys, "GET", f"{_SUBSCRIPTIONS}?{urlencode(_client(keys))}")
    if reply.status != 200:
        raise _refusal(reply)
    for one in list_of(reply):
        address = one.get("callback_url") if isinstance(one, Mapping) else None
        if isinstance(one, Mapping) and isinstance(address, str):
            return _number(one.get("id")), address
    return None


def _deleted(keys: ApplicationKeys, external_id: str) -> None:
    path = f"{_SUBSCRIPTIONS}/{quote(external_id, safe='')}?{urlencode(_client(keys))}"
    reply = _called(keys, "DELETE", path)
    if reply.status not in (200, 204, 404):
        raise _refusal(reply)


def _client(keys: ApplicationKeys) -> dict[str, str]:
    return {"client_id": keys.client_id, "client_secret": keys.client_secret}


def _number(identity: JSONValue) -> str:
    if isinstance(identity, bool) or not isinstance(identity, int):
        raise ProviderFailure(FailureKind.TRANSPORT)
    return str(identity)


def _called(
    keys: ApplicationKeys,
    method: str,
    path: str,
    *,
    form: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> HttpReply:
    """A call for the application, not for a person."""
    try:
        return fetch(
            method,
            f"{keys.api_url}{path}",
            timeout_seconds=PROVIDER_TIMEOUT_SECONDS,
            headers={"Accept": "application/json", **(headers or {})},
            form=form,
            maximum_bytes=TOKEN_ANSWER_MAXIMUM_BYTES,
        )
    except OutboundError as error:
        raise no_reply(error) from None


def _refusal(reply: HttpReply) -> ProviderFailure:
    """A refusal here is of our own registration: no person's token or scope is to blame."""
    failure = failure_of(reply)
    blamed = (FailureKind.TOKEN_REJECTED, FailureKind.SCOPE_MISSING)
    return ProviderFailure(FailureKind.REFUSED) if failure.kind in blamed else failure
