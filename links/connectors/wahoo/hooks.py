"""Wahoo's notifications, whose address and token are entered at its developer portal, and the end of a grant.

Source: "Webhooks" and "Permissions" of Wahoo's cloud API documentation. Read, not exercised against a live account.
"""

import hmac
from collections.abc import Mapping, Sequence
from datetime import UTC, date
from typing import Final

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
from links.connectors.payload import MalformedError, local_instant
from links.connectors.wire import Access, failure_of, json_object

_RESOURCES: Final = ("workouts", "workout_stream")
_REVOKED: Final = (200, 204, 401, 404)


class WahooHooks:
    """What `TakesHooks` and `Revokes` ask of a connector."""

    subscription_scope = SubscriptionScope.APPLICATION

    def hook_topics(self, scopes: frozenset[str]) -> Sequence[str]:
        """One address is told of every user who gave `offline_data`, and of workouts alone."""
        del scopes
        return ("",)

    def hook_answer(self, call: HookCall, secrets: HookSecrets) -> HookAnswer:
        """A workout's summary, with the token that was entered beside our address. HookRefused for another token."""
        if call.method != "POST":
            return HookAnswer()
        try:
            event = json_object(call.body)
        except ProviderFailure:
            raise HookRefused from None
        token = event.get("webhook_token")
        if not isinstance(token, str) or not hmac.compare_digest(token.encode(), secrets.verify_token.encode()):
            raise HookRefused
        return HookAnswer(notices=_notices(event))

    def hook_subscribe(
        self, keys: ApplicationKeys, access: Access | None, *, topic: str, callback_url: str, verify_token: str
    ) -> Subscribed:
        """Nothing is called: the operator enters address and token at Wahoo's developer portal."""
        del keys, access, topic, callback_url, verify_token
        return Subscribed("")

    def hook_unsubscribe(
        self, keys: ApplicationKeys, access: Access | None, *, topic: str, external_id: str, callback_url: str
    ) -> None:
        """Nothing is called; the operator takes the address out at Wahoo's developer portal."""
        del keys, access, topic, external_id, callback_url

    def revoke(self, keys: ApplicationKeys, access: Access, *, refresh_token: str, external_user_id: str) -> None:
        """End the user's grant, with every token of it: ten may live at once. One that works no more has ended."""
        del keys, refresh_token, external_user_id
        reply = access.call("DELETE", "/v1/permissions")
        if reply.status not in _REVOKED:
            raise failure_of(reply)


def _notices(event: Mapping[str, JSONValue]) -> tuple[Notice, ...]:
    """The day on which the workout began; where it is not told, the last days are read."""
    user, summary = event.get("user"), event.get("workout_summary")
    user_id = user.get("id") if isinstance(user, Mapping) else None
    if event.get("event_type") != "workout_summary" or isinstance(user_id, bool) or not isinstance(user_id, int):
        return ()
    workout = summary.get("workout") if isinstance(summary, Mapping) else None
    day = _day(workout) if isinstance(workout, Mapping) else None
    return (Notice(str(user_id), resources=_RESOURCES, start_on=day, end_on=day),)


def _day(workout: Mapping[str, JSONValue]) -> date | None:
    try:
        return local_instant(workout, "starts").astimezone(UTC).date()
    except (MalformedError, OverflowError):
        # The notice holds without its day.
        return None
