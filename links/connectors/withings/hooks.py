"""Withings' notifications: one subscription a person and category, posted as unsigned forms; and the end of a grant.

Sources: Withings' public API reference (operations `notify-subscribe`, `notify-revoke`, `oauth2-revoke`,
`signaturev2-getnonce`), its page of notification categories and its page on signed requests. Nothing is signed by
Withings: the address, which holds 122 random bits, is the secret, and it speaks of its own connection alone.
Read, not exercised against a live account.
"""

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Final
from urllib.parse import parse_qs

from healthsvc.kernel import clock
from links.connectors.envelopes import body_posted
from links.connectors.failures import FailureKind, ProviderFailure
from links.connectors.hooks import (
    ApplicationKeys,
    HookAnswer,
    HookCall,
    HookSecrets,
    Notice,
    Subscribed,
    SubscriptionScope,
)
from links.connectors.wire import Access

#: Scope → the categories (`appli`) that it opens.
_CATEGORIES: Final[Mapping[str, tuple[str, ...]]] = {
    "user.metrics": ("1", "2", "4"),
    "user.activity": ("16", "44"),
    "user.info": ("46",),
}
#: What has changed, by category.
_RESOURCES: Final[Mapping[str, tuple[str, ...]]] = {
    "1": ("weight", "fat", "lean_body_mass", "body"),
    "2": ("body_temperature",),
    "4": ("blood_pressure", "blood_oxygen", "heartrate"),
    "16": ("activity", "workouts", "heartrate", "steps", "distance", "calories_active", "floors_climbed"),
    "44": ("sleep", "sleep_cycle", "hrv", "heartrate"),
}
_OF_THE_USER: Final = "46"
#: `action` of a notice of the user: they ended their account, or took the grant back.
_ENDINGS: Final = ("delete", "unlink")
#: A person's date may be that of another instant's in UTC: the world's clocks go from 12 hours behind to 14 before.
_BEHIND: Final = timedelta(hours=12)
_BEFORE: Final = timedelta(hours=14)
_FIELDS_MAXIMUM: Final = 50


class WithingsHooks:
    """What `TakesHooks` and `Revokes` ask of a connector."""

    subscription_scope = SubscriptionScope.CONNECTION

    def hook_topics(self, scopes: frozenset[str]) -> Sequence[str]:
        """The numbers of the categories that the scopes open."""
        return tuple(number for scope, opened in _CATEGORIES.items() if scope in scopes for number in opened)

    def hook_answer(self, call: HookCall, secrets: HookSecrets) -> HookAnswer:
        """Withings looks whether anybody answers at the address; later calls are notices, one each."""
        del secrets
        if call.method == "GET":
            return HookAnswer()
        try:
            fields = parse_qs(call.body.decode(), max_num_fields=_FIELDS_MAXIMUM)
        except (UnicodeDecodeError, ValueError):
            return HookAnswer(status=400)
        form = {name: values[0] for name, values in fields.items()}
        return HookAnswer(notices=_notices(form))

    def hook_subscribe(
        self, keys: ApplicationKeys, access: Access | None, *, topic: str, callback_url: str, verify_token: str
    ) -> Subscribed:
        """Subscribe; the same subscription again is the same subscription. It has no end of its own."""
        del keys, verify_token
        if access is None:
            raise ProviderFailure(FailureKind.REFUSED)
        body_posted(access, "/notify", {"action": "subscribe", "callbackurl": callback_url, "appli": topic})
        return Subscribed(topic)

    def hook_unsubscribe(
        self, keys: ApplicationKeys, access: Access | None, *, topic: str, external_id: str, callback_url: str
    ) -> None:
        """End the subscription. One that is gone already is refused, which says as much."""
        del keys, external_id
        if access is None:
            raise ProviderFailure(FailureKind.REFUSED)
        body_posted(access, "/notify", {"action": "revoke", "callbackurl": callback_url, "appli": topic})

    def revoke(self, keys: ApplicationKeys, access: Access, *, refresh_token: str, external_user_id: str) -> None:
        """End the grant by the account's number, with a signature over a number that is used once."""
        del refresh_token
        if not external_user_id:
            raise ProviderFailure(FailureKind.REFUSED)
        stamp = str(int(clock.now().timestamp()))
        asked = {"action": "getnonce", "client_id": keys.client_id, "timestamp": stamp}
        nonce = body_posted(access, "/v2/signature", _signed(asked, keys.client_secret)).get("nonce")
        if not isinstance(nonce, str) or not nonce:
            raise ProviderFailure(FailureKind.TRANSPORT)
        ending = {"action": "revoke", "client_id": keys.client_id, "nonce": nonce}
        body_posted(access, "/v2/oauth2", {**_signed(ending, keys.client_secret), "userid": external_user_id})


def _signed(parameters: Mapping[str, str], client_secret: str) -> dict[str, str]:
    """With `signature`: HMAC-SHA256 over the values in the order of their names, joined by commas."""
    text = ",".join(parameters[name] for name in sorted(parameters))
    return {**parameters, "signature": hmac.new(client_secret.encode(), text.encode(), hashlib.sha256).hexdigest()}


def _notices(form: Mapping[str, str]) -> tuple[Notice, ...]:
    account, category = form.get("userid", ""), form.get("appli", "")
    if not account:
        return ()
    if category == _OF_THE_USER:
        return (Notice(account, deregistered=True),) if form.get("action") in _ENDINGS else ()
    resources = _RESOURCES.get(category)
    if resources is None:
        return ()
    start_on, end_on = _days(form)
    return (Notice(account, resources, start_on, end_on),)


def _days(form: Mapping[str, str]) -> tuple[date | None, date | None]:
    """The days that a notice may be about, wherever the person is; None, None where it names none."""
    start, end = _instant(form.get("startdate", "")), _instant(form.get("enddate", ""))
    if start is not None and end is not None and start <= end:
        return (start - _BEHIND).date(), (end + _BEFORE).date()
    try:
        on = date.fromisoformat(form.get("date", ""))
        return on - timedelta(days=1), on + timedelta(days=1)
    except (ValueError, OverflowError):
        return None, None


def _instant(text: str) -> datetime | None:
    try:
        moment = datetime.fromtimestamp(int(text), UTC) if text.isdecimal() and len(text) <= 12 else None
    except (ValueError, OverflowError, OSError):
        return None
    return moment if moment is not None and 1990 <= moment.year < 2100 else None
