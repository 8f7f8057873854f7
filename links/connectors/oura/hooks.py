"""Oura's notifications: one subscription a kind of document and change, for the whole application.

Sources: the webhook routes of Oura's OpenAPI document 1.35 and its webhook page. What its page leaves open is the unit
of `x-oura-timestamp`: seconds, milliseconds and ISO 8601 are taken. Read, not exercised against a live account.
"""

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

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
from links.connectors.wire import Access, document_of, failure_of, list_of, no_reply
from links.constants import HOOK_SIGNATURE_SECONDS, PROVIDER_TIMEOUT_SECONDS, TOKEN_ANSWER_MAXIMUM_BYTES

_SUBSCRIPTIONS: Final = "/v2/webhook/subscription"
#: A deletion leaves nothing to fetch.
_CHANGES: Final = ("create", "update")
#: Scope → the kinds of document that it opens.
_DOCUMENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "daily": ("daily_activity", "daily_sleep", "sleep"),
    "workout": ("workout",),
    "spo2": ("daily_spo2",),
    "ring_configuration": ("ring_configuration",),
}
#: What a kind of document is read as. Heart rate has no kind of its own, and comes with the others' syncs.
_RESOURCES: Final[Mapping[str, tuple[str, ...]]] = {
    "daily_activity": ("activity", "heartrate"),
    "daily_sleep": ("sleep",),
    "sleep": ("sleep", "sleep_cycle", "hrv", "heartrate"),
    "workout": ("workouts", "heartrate"),
    "daily_spo2": ("blood_oxygen",),
    "ring_configuration": ("device",),
}
_GONE: Final = (404, 410)
#: Epoch numbers above this are milliseconds: as seconds they would lie after the year 5000.
_MILLISECONDS_FROM: Final = 100_000_000_000


class OuraHooks:
    """What `TakesHooks` asks of a connector."""

    subscription_scope = SubscriptionScope.APPLICATION

    def hook_topics(self, scopes: frozenset[str]) -> Sequence[str]:
        """`<change>.<kind of document>`, for what the scopes open."""
        kinds = [kind for scope, opened in _DOCUMENTS.items() if scope in scopes for kind in opened]
        return tuple(f"{change}.{kind}" for kind in kinds for change in _CHANGES)

    def hook_answer(self, call: HookCall, secrets: HookSecrets) -> HookAnswer:
        """The address is proven by echoing a challenge; later calls are events, one each. HookRefused."""
        if call.method == "GET":
            return _challenged(call, secrets)
        _signature_check(call, secrets.client_secret)
        event = _object(call.body)
        if event is None:
            return HookAnswer(status=400)
        kind, account = event.get("data_type"), event.get("user_id")
        resources = _RESOURCES.get(kind) if isinstance(kind, str) else None
        if resources is None or not isinstance(account, str) or event.get("event_type") not in _CHANGES:
            return HookAnswer()
        return HookAnswer(notices=(Notice(account, resources),))

    def hook_subscribe(
        self, keys: ApplicationKeys, access: Access | None, *, topic: str, callback_url: str, verify_token: str
    ) -> Subscribed:
        """Renew the subscription of this address, or make it: an answer that was lost left one standing."""
        del access
        change, _, kind = topic.partition(".")
        wanted = {"callback_url": callback_url, "event_type": change, "data_type": kind}
        for standing in list_of(_good(_called(keys, "GET", _SUBSCRIPTIONS))):
            if isinstance(standing, dict) and all(standing.get(name) == text for name, text in wanted.items()):
                reply = _called(keys, "PUT", f"{_SUBSCRIPTIONS}/renew/{standing.get('id')}")
                if reply.status not in _GONE:
                    return _subscribed(document_of(_good(reply)))
        document = {**wanted, "verification_token": verify_token}
        return _subscribed(document_of(_good(_called(keys, "POST", _SUBSCRIPTIONS, document))))

    def hook_unsubscribe(
        self, keys: ApplicationKeys, access: Access | None, *, topic: str, external_id: str, callback_url: str
    ) -> None:
        """End the subscription; nothing where it is gone already, or was never made."""
        del access, topic, callback_url
        if not external_id:
            return
        reply = _called(keys, "DELETE", f"{_SUBSCRIPTIONS}/{external_id}")
        if reply.status not in (200, 204, *_GONE):
            raise _refusal(reply)


def _challenged(call: HookCall, secrets: HookSecrets) -> HookAnswer:
    given = call.query.get("verification_token", "").encode()
    challenge = call.query.get("challenge", "")
    if not challenge or not hmac.compare_digest(given, secrets.verify_token.encode()):
        raise HookRefused
    return HookAnswer(body=orjson.dumps({"challenge": challenge}))


def _signature_check(call: HookCall, client_secret: str) -> None:
    """Upper-case hex of HMAC-SHA256 over timestamp and body, by the client's secret."""
    signature, stamp = call.headers.get("x-oura-signature", ""), call.headers.get("x-oura-timestamp", "")
    expected = hmac.new(client_secret.encode(), stamp.encode() + call.body, hashlib.sha256).hexdigest().upper()
    if not client_secret or not hmac.compare_digest(signature.encode(), expected.encode()):
        raise HookRefused
    signed_at = _instant(stamp)
    if signed_at is None or abs((clock.now() - signed_at).total_seconds()) > HOOK_SIGNATURE_SECONDS:
        raise HookRefused


def _instant(stamp: str) -> datetime | None:
    try:
        if stamp.isdecimal():
            number = int(stamp[:20])
            return datetime.fromtimestamp(number / 1000 if number > _MILLISECONDS_FROM else number, UTC)
        moment = datetime.fromisoformat(stamp)
    except (ValueError, OverflowError, OSError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _object(body: bytes) -> Mapping[str, JSONValue] | None:
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None


def _subscribed(document: Mapping[str, JSONValue]) -> Subscribed:
    identity, until = document.get("id"), document.get("expiration_time")
    if not isinstance(identity, str) or not identity:
        raise ProviderFailure(FailureKind.TRANSPORT)
    return Subscribed(identity, _instant(until) if isinstance(until, str) else None)


def _called(
    keys: ApplicationKeys, method: str, path: str, document: Mapping[str, JSONValue] | None = None
) -> HttpReply:
    """A call for the application, not for a person."""
    headers = {"x-client-id": keys.client_id, "x-client-secret": keys.client_secret, "Accept": "application/json"}
    try:
        return fetch(
            method,
            f"{keys.api_url}{path}",
            timeout_seconds=PROVIDER_TIMEOUT_SECONDS,
            headers={**headers, "Content-Type": "application/json"} if document else headers,
            body=orjson.dumps(document) if document else None,
            maximum_bytes=TOKEN_ANSWER_MAXIMUM_BYTES,
        )
    except OutboundError as error:
        raise no_reply(error) from None


def _good(reply: HttpReply) -> HttpReply:
    if reply.status not in (200, 201):
        raise _refusal(reply)
    return reply


def _refusal(reply: HttpReply) -> ProviderFailure:
    """A refusal here is of our own registration: no person's token or scope is to blame."""
    failure = failure_of(reply)
    blamed = (FailureKind.TOKEN_REJECTED, FailureKind.SCOPE_MISSING)
    return ProviderFailure(FailureKind.REFUSED) if failure.kind in blamed else failure
