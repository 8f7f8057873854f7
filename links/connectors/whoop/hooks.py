"""WHOOP's notifications, whose address is entered once at its developer site, and the end of a grant.

Source: WHOOP's webhooks reference. Read, not exercised against a live account.
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from typing import Final

from healthsvc.kernel import clock
from healthsvc.kernel.typing import JSONValue
from links.connectors.failures import ProviderFailure
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
from links.connectors.wire import Access, failure_of, json_object
from links.constants import HOOK_SIGNATURE_SECONDS

#: What each event is read as. A deletion changes nothing, for what is stored stays.
_RESOURCES: Final[Mapping[str, tuple[str, ...]]] = {
    "sleep.updated": ("sleep", "activity"),
    "recovery.updated": ("sleep", "hrv", "blood_oxygen"),
    "workout.updated": ("workouts", "activity"),
}
_REVOKED: Final = (200, 204, 401, 404)


class WhoopHooks:
    """What `TakesHooks` and `Revokes` ask of a connector."""

    subscription_scope = SubscriptionScope.APPLICATION

    def hook_topics(self, scopes: frozenset[str]) -> Sequence[str]:
        """One address is told of every member and everything."""
        del scopes
        return ("",)

    def hook_answer(self, call: HookCall, secrets: HookSecrets) -> HookAnswer:
        """A signed event. HookRefused where the signature is another's or old."""
        if call.method != "POST":
            return HookAnswer()
        _signature_check(call, secrets.client_secret)
        try:
            event = json_object(call.body)
        except ProviderFailure:
            raise HookRefused from None
        return HookAnswer(notices=_notices(event))

    def hook_subscribe(
        self, keys: ApplicationKeys, access: Access | None, *, topic: str, callback_url: str, verify_token: str
    ) -> Subscribed:
        """Nothing is called: WHOOP has no interface for it. The operator enters the address at WHOOP's site."""
        del keys, access, topic, callback_url, verify_token
        return Subscribed("")

    def hook_unsubscribe(
        self, keys: ApplicationKeys, access: Access | None, *, topic: str, external_id: str, callback_url: str
    ) -> None:
        """Nothing is called; the operator takes the address out at WHOOP's site."""
        del keys, access, topic, external_id, callback_url

    def revoke(self, keys: ApplicationKeys, access: Access, *, refresh_token: str, external_user_id: str) -> None:
        """End the member's grant, which ends its notifications too. A token that works no more had none to end."""
        del keys, refresh_token, external_user_id
        reply = access.call("DELETE", "/developer/v2/user/access")
        if reply.status not in _REVOKED:
            raise failure_of(reply)


def _signature_check(call: HookCall, client_secret: str) -> None:
    """Base64 of HMAC-SHA256 over the instant's text, milliseconds since the epoch, and the body."""
    given = call.headers.get("x-whoop-signature", "")
    signed_at = call.headers.get("x-whoop-signature-timestamp", "")
    if not (signed_at.isascii() and signed_at.isdigit() and len(signed_at) <= 15):
        raise HookRefused
    digest = hmac.new(client_secret.encode(), signed_at.encode() + call.body, hashlib.sha256).digest()
    fresh = abs(clock.now().timestamp() - int(signed_at) / 1000) <= HOOK_SIGNATURE_SECONDS
    if not hmac.compare_digest(base64.b64encode(digest), given.encode()) or not fresh:
        raise HookRefused


def _notices(event: Mapping[str, JSONValue]) -> tuple[Notice, ...]:
    """The event names a record, not its day: the last days are read."""
    user_id, kind = event.get("user_id"), event.get("type")
    resources = _RESOURCES.get(kind) if isinstance(kind, str) else None
    if resources is None or isinstance(user_id, bool) or not isinstance(user_id, int):
        return ()
    return (Notice(str(user_id), resources=resources),)
