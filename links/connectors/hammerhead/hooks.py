"""Hammerhead's notifications, whose address and secret are entered at its developer portal, and the end of a grant.

Source: Hammerhead's API reference, "Activity sync webhook" and "Deauthorize". Read, not exercised against a live
account: whether the portal takes a secret or gives one, and whether it signs in hex or base64, only that would show.
"""

import base64
import hashlib
import hmac
from collections.abc import Sequence
from typing import Final

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

_RESOURCES: Final = ("workouts", "workout_stream")
_REVOKED: Final = (200, 204, 400, 401, 404)
_USER_MAXIMUM_CHARACTERS: Final = 200


class HammerheadHooks:
    """What `TakesHooks` and `Revokes` ask of a connector."""

    subscription_scope = SubscriptionScope.APPLICATION

    def hook_topics(self, scopes: frozenset[str]) -> Sequence[str]:
        """One address is told of every rider's activities."""
        del scopes
        return ("",)

    def hook_answer(self, call: HookCall, secrets: HookSecrets) -> HookAnswer:
        """A signed `{activityId, userId}`. HookRefused where the signature is another's.

        It names no instant and so may be a copy: that costs a pull and changes nothing.
        """
        if call.method != "POST":
            return HookAnswer()
        given = call.headers.get("x-hmac-signature", "").removeprefix("sha256=")
        if not any(_signed(call.body, key, given) for key in (secrets.verify_token, secrets.client_secret) if key):
            raise HookRefused
        try:
            user_id = json_object(call.body).get("userId")
        except ProviderFailure:
            raise HookRefused from None
        named = isinstance(user_id, str) and 0 < len(user_id) <= _USER_MAXIMUM_CHARACTERS
        return HookAnswer(notices=(Notice(str(user_id), resources=_RESOURCES),) if named else ())

    def hook_subscribe(
        self, keys: ApplicationKeys, access: Access | None, *, topic: str, callback_url: str, verify_token: str
    ) -> Subscribed:
        """Nothing is called: the operator enters the address at Hammerhead's developer portal."""
        del keys, access, topic, callback_url, verify_token
        return Subscribed("")

    def hook_unsubscribe(
        self, keys: ApplicationKeys, access: Access | None, *, topic: str, external_id: str, callback_url: str
    ) -> None:
        """Nothing is called; the operator takes the address out at Hammerhead's developer portal."""
        del keys, access, topic, external_id, callback_url

    def revoke(self, keys: ApplicationKeys, access: Access, *, refresh_token: str, external_user_id: str) -> None:
        """End the rider's grant by its access token. One that works no more has ended."""
        del refresh_token, external_user_id
        form = {"client_id": keys.client_id, "client_secret": keys.client_secret, "token": access.access_token}
        reply = access.call("POST", "/v1/auth/oauth/deauthorize", form=form)
        if reply.status not in _REVOKED:
            raise failure_of(reply)


def _signed(body: bytes, key: str, given: str) -> bool:
    """HMAC-SHA256 of the body, in hex or in base64."""
    digest = hmac.new(key.encode(), body, hashlib.sha256)
    forms = (digest.hexdigest(), base64.b64encode(digest.digest()).decode())
    return any(hmac.compare_digest(form.encode(), given.encode()) for form in forms)
