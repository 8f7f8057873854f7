"""Google Health's notices of changed data: a subscriber that the operator makes once, and what it is told.

Source: the webhooks guide and the reference of Google's Health API v4. Read, not exercised against a live account.

A subscriber is made with the rights of the Google Cloud project, which no registration of ours has: the operator makes
it, with what `manage.py google_health_subscriber` prints. Google then shows that it calls the right place: with the
secret it must be answered 201, without it 403. Every later call carries the secret in its `Authorization` header, and
that is what a call is checked by. Google signs the body too (ECDSA, with keys that it publishes and changes). The
signature is not looked at: checking it would call the network, and as no call brings data, a false one could only have
days read again.

Google tells nothing of a grant that the person takes back: the next renewal of the tokens is refused.
"""

import hmac
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

import orjson

from healthsvc.kernel.typing import JSONValue
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
from links.connectors.wire import Access

#: Data type that Google gives notice of → what is read again. Energy has no notices of its own, and comes with steps.
RESOURCES: Final[Mapping[str, tuple[str, ...]]] = {
    "active-zone-minutes": ("activity",),
    "body-fat": ("fat", "body"),
    "daily-heart-rate-variability": ("hrv",),
    "daily-oxygen-saturation": ("blood_oxygen",),
    "daily-respiratory-rate": ("respiratory_rate",),
    "daily-resting-heart-rate": ("activity",),
    "distance": ("distance", "activity"),
    "exercise": ("workouts",),
    "floors": ("floors_climbed", "activity"),
    "heart-rate": ("heartrate", "activity"),
    "heart-rate-variability": ("hrv",),
    "hydration-log": ("water",),
    "nutrition-log": ("meal",),
    "respiratory-rate-sleep-summary": ("respiratory_rate",),
    "sleep": ("sleep", "sleep_cycle"),
    "steps": ("steps", "calories_active", "activity"),
    "weight": ("weight", "body"),
}
#: Nobody's clock is further from UTC.
_FARTHEST: Final = timedelta(hours=14)
_VERIFICATION: Final = "verification"


def authorization_of(verify_token: str) -> str:
    """The `Authorization` header that Google is told to send."""
    return f"Bearer {verify_token}"


class GoogleHealthHooks:
    """What `TakesHooks` asks of a connector. A grant is revoked at the `revoke_url` of the catalogue (RFC 7009)."""

    subscription_scope = SubscriptionScope.APPLICATION

    def hook_topics(self, scopes: frozenset[str]) -> Sequence[str]:
        """One subscriber is told of every person who consented."""
        del scopes
        return ("",)

    def hook_answer(self, call: HookCall, secrets: HookSecrets) -> HookAnswer:
        """A verification or notices. HookRefused where the secret is missing or another."""
        given = call.headers.get("authorization", "")
        right = authorization_of(secrets.verify_token)
        known = bool(secrets.verify_token)
        if call.method != "POST" or not known or not hmac.compare_digest(given.encode(), right.encode()):
            raise HookRefused
        told = _told(call.body)
        if any(one.get("type") == _VERIFICATION for one in told):
            return HookAnswer(status=201)
        notices = (_notice(one.get("data")) for one in told)
        return HookAnswer(status=204, notices=tuple(one for one in notices if one is not None))

    def hook_subscribe(
        self, keys: ApplicationKeys, access: Access | None, *, topic: str, callback_url: str, verify_token: str
    ) -> Subscribed:
        """Nothing is called: the operator makes the subscriber."""
        del keys, access, topic, callback_url, verify_token
        return Subscribed("")

    def hook_unsubscribe(
        self, keys: ApplicationKeys, access: Access | None, *, topic: str, external_id: str, callback_url: str
    ) -> None:
        """Nothing is called; the operator takes the subscriber away."""
        del keys, access, topic, external_id, callback_url


def _told(body: bytes) -> list[Mapping[str, JSONValue]]:
    """What a call tells: one object, or a list of them."""
    try:
        found: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise HookRefused from None
    return [one for one in (found if isinstance(found, list) else [found]) if isinstance(one, dict)]


def _notice(data: JSONValue) -> Notice | None:
    """What one notice has read again. What was deleted changes nothing, for what is stored stays."""
    if not isinstance(data, Mapping) or data.get("operation") == "DELETE":
        return None
    user_id, data_type = data.get("healthUserId"), data.get("dataType")
    resources = RESOURCES.get(data_type) if isinstance(data_type, str) else None
    if resources is None or not isinstance(user_id, str) or not user_id:
        return None
    days = _days(data.get("intervals"))
    return Notice(user_id, resources, days[0], days[1]) if days else Notice(user_id, resources)


def _days(intervals: JSONValue) -> tuple[date, date] | None:
    """The days that instants may have been of, wherever the person was; None where no interval can be read."""
    found: list[datetime] = []
    for interval in intervals if isinstance(intervals, list) else []:
        physical = interval.get("physicalTimeInterval") if isinstance(interval, Mapping) else None
        for name in ("startTime", "endTime"):
            moment = _moment(physical.get(name)) if isinstance(physical, Mapping) else None
            if moment is not None:
                found.append(moment)
    if not found:
        return None
    return (min(found) - _FARTHEST).date(), (max(found) + _FARTHEST).date()


def _moment(value: JSONValue) -> datetime | None:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    sound = moment is not None and moment.tzinfo is not None and 1970 < moment.year < 2200
    return moment.astimezone(UTC) if moment is not None and sound else None
