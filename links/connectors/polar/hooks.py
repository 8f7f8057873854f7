"""Polar's notifications, one subscription for the whole application, and the end of a grant.

Sources: Polar's AccessLink API v3 documentation, webhooks and users. Read, not exercised against a live account.
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Final
from urllib.parse import quote

import orjson

from healthsvc.kernel.crypto import DecryptionError, seal, unseal
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
from links.connectors.payload import MalformedError, calendar_day
from links.connectors.wire import Access, failure_of, json_object, no_reply
from links.constants import PROVIDER_TIMEOUT_SECONDS, TOKEN_ANSWER_MAXIMUM_BYTES

_WEBHOOKS: Final = "/v3/webhooks"
#: What each event is read as.
_RESOURCES: Final[Mapping[str, tuple[str, ...]]] = {
    "EXERCISE": ("workouts", "workout_stream"),
    "SLEEP": ("sleep", "sleep_cycle", "hrv", "respiratory_rate"),
    "CONTINUOUS_HEART_RATE": ("heartrate",),
    "ACTIVITY_SUMMARY": ("activity", "steps"),
}
_PING: Final = "PING"
#: The signing key is sealed for this place.
_KEY_PLACE: Final = "polar.signature_secret_key"
_ENDED: Final = (200, 204, 401, 404)


class PolarHooks:
    """What `TakesHooks` and `Revokes` ask of a connector.

    Polar makes the key that it signs with, and tells it once, when the subscription is made. It is kept with the
    subscription's id, sealed. A subscription that stands is replaced by a new one: its key can't be asked for again.
    """

    subscription_scope = SubscriptionScope.APPLICATION

    def hook_topics(self, scopes: frozenset[str]) -> Sequence[str]:
        """One subscription tells of everybody and everything."""
        del scopes
        return ("",)

    def hook_answer(self, call: HookCall, secrets: HookSecrets) -> HookAnswer:
        """A signed event. HookRefused where the signature is another's.

        A ping, which tells nothing, is answered unchecked: the first comes before anybody but Polar knows the key.
        """
        if call.method != "POST":
            return HookAnswer()
        try:
            event = json_object(call.body)
        except ProviderFailure:
            raise HookRefused from None
        if event.get("event") == _PING:
            return HookAnswer()
        _signature_check(call, _key_of(secrets.external_id))
        return HookAnswer(notices=_notices(event))

    def hook_subscribe(
        self, keys: ApplicationKeys, access: Access | None, *, topic: str, callback_url: str, verify_token: str
    ) -> Subscribed:
        """Subscribe, in the place of what stood.

        Polar lets an application have one. Another of this service's (the address differs in its last part alone) is
        replaced; somebody else's is left alone, and the call is refused.
        """
        del access, topic, verify_token
        wanted: Mapping[str, JSONValue] = {"events": list(_RESOURCES), "url": callback_url}
        reply = _called(keys, "POST", _WEBHOOKS, wanted)
        if reply.status == 409:
            standing = _standing(keys)
            if standing is None or standing[1].rpartition("/")[0] != callback_url.rpartition("/")[0]:
                raise ProviderFailure(FailureKind.REFUSED)
            _deleted(keys, standing[0])
            reply = _called(keys, "POST", _WEBHOOKS, wanted)
        if reply.status not in (200, 201):
            raise _refusal(reply)
        made = json_object(reply.body).get("data")
        found = made if isinstance(made, Mapping) else {}
        identity, key = found.get("id"), found.get("signature_secret_key")
        if not (isinstance(identity, str) and isinstance(key, str) and identity and key):
            raise ProviderFailure(FailureKind.TRANSPORT)
        return Subscribed(f"{identity}:{_sealed(key)}")

    def hook_unsubscribe(
        self, keys: ApplicationKeys, access: Access | None, *, topic: str, external_id: str, callback_url: str
    ) -> None:
        """End the subscription; nothing where it is gone already."""
        del access, topic, callback_url
        identity = external_id.partition(":")[0]
        if identity:
            _deleted(keys, identity)

    def revoke(self, keys: ApplicationKeys, access: Access, *, refresh_token: str, external_user_id: str) -> None:
        """Take the person's registration back, which ends the token too. A token that works no more had ended."""
        del keys, refresh_token
        if not external_user_id.isdecimal():
            raise ProviderFailure(FailureKind.REFUSED)
        reply = access.call("DELETE", f"/v3/users/{external_user_id}")
        if reply.status not in _ENDED:
            raise failure_of(reply)


def _sealed(key: str) -> str:
    return base64.urlsafe_b64encode(seal(key.encode(), place=_KEY_PLACE)).decode()


def _key_of(external_id: str) -> bytes:
    """The key that a subscription was made with. HookRefused where there is none yet, or it can't be opened."""
    sealed = external_id.partition(":")[2]
    if not sealed:
        raise HookRefused
    try:
        return unseal(base64.urlsafe_b64decode(sealed), place=_KEY_PLACE)
    except (DecryptionError, ValueError):
        # Such as after its key was retired: the next subscription, within a week, has a new one.
        raise HookRefused from None


def _signature_check(call: HookCall, key: bytes) -> None:
    """HMAC-SHA256 of the body, hexadecimal in either case."""
    given = call.headers.get("polar-webhook-signature", "").strip().lower()
    made = hmac.new(key, call.body, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(made.encode(), given.encode()):
        raise HookRefused


def _notices(event: Mapping[str, JSONValue]) -> tuple[Notice, ...]:
    """What is of a day names it. An exercise names itself alone: the last days are read."""
    user_id, kind = event.get("user_id"), event.get("event")
    resources = _RESOURCES.get(kind) if isinstance(kind, str) else None
    if resources is None or isinstance(user_id, bool) or not isinstance(user_id, int):
        return ()
    day = _day(event)
    return (Notice(str(user_id), resources=resources, start_on=day, end_on=day),)


def _day(event: Mapping[str, JSONValue]) -> date | None:
    try:
        return calendar_day(event, "date")
    except MalformedError:
        # The notice holds without its day.
        return None


def _standing(keys: ApplicationKeys) -> tuple[str, str] | None:
    """Id and address of the application's subscription."""
    reply = _called(keys, "GET", _WEBHOOKS)
    if reply.status != 200:
        raise _refusal(reply)
    listed = json_object(reply.body).get("data")
    for one in listed if isinstance(listed, list) else []:
        found = one if isinstance(one, Mapping) else {}
        identity, url = found.get("id"), found.get("url")
        if isinstance(identity, str) and isinstance(url, str):
            return identity, url
    return None


def _deleted(keys: ApplicationKeys, identity: str) -> None:
    reply = _called(keys, "DELETE", f"{_WEBHOOKS}/{quote(identity, safe='')}")
    if reply.status not in (200, 204, 404):
        raise _refusal(reply)


def _called(
    keys: ApplicationKeys, method: str, path: str, document: Mapping[str, JSONValue] | None = None
) -> HttpReply:
    """A call for the application, not for a person."""
    pair = f"{keys.client_id}:{keys.client_secret}"
    headers = {
        "Accept": "application/json",
        "Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}",
        **({} if document is None else {"Content-Type": "application/json"}),
    }
    try:
        return fetch(
            method,
            f"{keys.api_url}{path}",
            timeout_seconds=PROVIDER_TIMEOUT_SECONDS,
            headers=headers,
            body=None if document is None else orjson.dumps(document),
            maximum_bytes=TOKEN_ANSWER_MAXIMUM_BYTES,
        )
    except OutboundError as error:
        raise no_reply(error) from None


def _refusal(reply: HttpReply) -> ProviderFailure:
    """A refusal here is of our own registration: no person's token or scope is to blame."""
    failure = failure_of(reply)
    blamed = (FailureKind.TOKEN_REJECTED, FailureKind.SCOPE_MISSING)
    return ProviderFailure(FailureKind.REFUSED) if failure.kind in blamed else failure
