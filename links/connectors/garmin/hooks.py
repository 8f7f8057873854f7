"""Garmin's notifications, whose address is entered in its endpoint configuration tool, and the end of a grant.

Sources: "Ping Service", "Deregistration" and "User Permissions" of Garmin's Health API specification. Read, not
exercised against a live account. They carry no signature: whoever knows the address is believed, a notification can
do no more than have data asked for, and a deregistration names an account that nobody else knows. Summaries are to be
set to "ping" there: a push carries the data, and more of them than the address takes.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Final
from urllib.parse import parse_qs, urlsplit

from healthsvc.kernel import clock
from healthsvc.kernel.typing import JSONValue
from links.connectors.failures import ProviderFailure
from links.connectors.garmin.catalogue import NOTICE_WORDS, SUMMARIES
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
from links.connectors.payload import MalformedError, instant_from_epoch_seconds
from links.connectors.wire import Access, failure_of, json_object

_DEREGISTRATIONS: Final = "deregistrations"
_PERMISSIONS: Final = "userPermissionsChange"
_REVOKED: Final = (200, 204, 401, 403, 404)
_USER_MAXIMUM_CHARACTERS: Final = 200


class GarminHooks:
    """What `TakesHooks` and `Revokes` ask of a connector."""

    subscription_scope = SubscriptionScope.APPLICATION

    def hook_topics(self, scopes: frozenset[str]) -> Sequence[str]:
        """One address is told of everybody and everything."""
        del scopes
        return ("",)

    def hook_answer(self, call: HookCall, secrets: HookSecrets) -> HookAnswer:
        """Lists of what came in, by kind of summary. HookRefused where the body is nothing of the sort."""
        del secrets
        if call.method != "POST":
            return HookAnswer()
        try:
            told = json_object(call.body)
        except ProviderFailure:
            raise HookRefused from None
        return HookAnswer(notices=_notices(told))

    def hook_subscribe(
        self, keys: ApplicationKeys, access: Access | None, *, topic: str, callback_url: str, verify_token: str
    ) -> Subscribed:
        """Nothing is called: the operator enters the address in Garmin's tool, for every kind of summary."""
        del keys, access, topic, callback_url, verify_token
        return Subscribed("")

    def hook_unsubscribe(
        self, keys: ApplicationKeys, access: Access | None, *, topic: str, external_id: str, callback_url: str
    ) -> None:
        """Nothing is called; the operator takes the address out in Garmin's tool."""
        del keys, access, topic, external_id, callback_url

    def revoke(self, keys: ApplicationKeys, access: Access, *, refresh_token: str, external_user_id: str) -> None:
        """End the user's registration, as Garmin asks of everybody who disconnects. One that is gone has ended."""
        del keys, refresh_token, external_user_id
        reply = access.call("DELETE", "/user/registration")
        if reply.status not in _REVOKED:
            raise failure_of(reply)


def _notices(told: Mapping[str, JSONValue]) -> tuple[Notice, ...]:
    """One notice for each account and span of uploads, with everything that came in during it."""
    kinds: dict[tuple[str, date, date], set[str]] = {}
    ended: list[Notice] = []
    for word, listed in told.items():
        for entry, user_id in _entries(listed):
            if word == _DEREGISTRATIONS:
                ended.append(Notice(user_id, deregistered=True))
            elif word == _PERMISSIONS:
                # What is shared is asked for as anew; what is no longer refuses itself.
                ended.append(Notice(user_id))
            else:
                kinds.setdefault((user_id, *_days(entry)), set()).add(NOTICE_WORDS.get(word, word))
    found = [
        Notice(user_id, resources=resources, start_on=start_on, end_on=end_on)
        for (user_id, start_on, end_on), of_kinds in kinds.items()
        if (resources := tuple(name for name, kind in SUMMARIES.items() if kind in of_kinds))
    ]
    return (*found, *ended)


def _entries(listed: JSONValue) -> Iterator[tuple[Mapping[str, JSONValue], str]]:
    for entry in listed if isinstance(listed, list) else ():
        user_id = entry.get("userId") if isinstance(entry, Mapping) else None
        if isinstance(entry, Mapping) and isinstance(user_id, str) and 0 < len(user_id) <= _USER_MAXIMUM_CHARACTERS:
            yield entry, user_id


def _days(entry: Mapping[str, JSONValue]) -> tuple[date, date]:
    """The days of the uploads that a ping's address names; of a push, which names none, yesterday and today.

    The address itself is not called: it is another's word, and its token would end with this pull.
    """
    today = clock.now().date()
    address = entry.get("callbackURL")
    try:
        query = parse_qs(urlsplit(address).query) if isinstance(address, str) else {}
        first, last = (_instant(query, f"upload{end}TimeInSeconds") for end in ("Start", "End"))
    except (MalformedError, ValueError):
        # The notice holds without its days.
        return today - timedelta(days=1), today
    return (first.date(), last.date()) if first <= last else (today - timedelta(days=1), today)


def _instant(query: Mapping[str, list[str]], name: str) -> datetime:
    text = query.get(name, [""])[0]
    if not (text.isascii() and text.isdigit() and len(text) <= 12):
        raise MalformedError(f"bad_time:{name}")
    return instant_from_epoch_seconds(int(text), name).astimezone(UTC)
