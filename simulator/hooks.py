"""The calls that simulated vendors make to their clients: who subscribed to what, and notices signed their way.

A vendor's module keeps its subscriptions here, and puts the maker of its notices into `HOOK_MAKERS`.
`POST /_control/notify` lets something happen to an account: every subscription that covers it is told.
"""

from __future__ import annotations

import http.client
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import urlsplit

from simulator.configuration import origin_allowed

if TYPE_CHECKING:
    import sqlite3

    from simulator.store import Store

#: Vendors give a client a few seconds to answer.
SEND_TIMEOUT_SECONDS: Final = 5
#: More of an answer than this is not read.
ANSWER_MAXIMUM_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a client asked to be told. `grant_id` is 0 where the subscription serves the whole client.

    `expires_at` is epoch seconds, None for a subscription without an end.
    """

    id: int
    slug: str
    external_id: str
    client_id: str
    grant_id: int
    topic: str
    callback_url: str
    verify_token: str
    created_at: float
    expires_at: float | None


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that happened to an account: data of a day came in, or the person took the grant back.

    `resource` is in the vendor's own words (a data type, a topic, a number), empty for whatever the maker takes as
    its own. `signed_at` is the instant a signature names, epoch seconds.
    """

    slug: str
    client_id: str
    account: str
    seed: str
    grant_id: int
    kind: str
    resource: str
    day: date
    signed_at: float


@dataclass(frozen=True, slots=True)
class HookRequest:
    """A request to a client's address, ready to send."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""


@dataclass(frozen=True, slots=True)
class HookReply:
    """What a client answered; status 0 where no answer came, and then `failure` says why."""

    status: int
    body: bytes = b""
    failure: str = ""


#: Makes the vendor's document for one subscription; None where the subscription does not cover what happened.
HookMaker: TypeAlias = "Callable[[Subscription, Happening], HookRequest | None]"

#: Slug → the maker of its notices. Each vendor's module puts in its own.
HOOK_MAKERS: Final[dict[str, HookMaker]] = {}


def subscription_add(
    store: Store,
    *,
    slug: str,
    external_id: str,
    client_id: str,
    callback_url: str,
    topic: str = "",
    verify_token: str = "",
    grant_id: int = 0,
    expires_at: float | None = None,
) -> Subscription:
    """Keep a subscription. The same client, grant, topic and address again is the same subscription, renewed."""
    with store.writing() as connection:
        connection.execute("DELETE FROM hook_subscription WHERE expires_at <= ?", (store.now(),))
        connection.execute(
            "INSERT INTO hook_subscription (slug, external_id, client_id, grant_id, topic, callback_url, verify_token, "
            "created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (slug, client_id, grant_id, topic, callback_url) DO UPDATE SET "
            "verify_token = excluded.verify_token, expires_at = excluded.expires_at",
            (slug, external_id, client_id, grant_id, topic, callback_url, verify_token, store.now(), expires_at),
        )
        row = connection.execute(
            "SELECT * FROM hook_subscription "
            "WHERE slug = ? AND client_id = ? AND grant_id = ? AND topic = ? AND callback_url = ?",
            (slug, client_id, grant_id, topic, callback_url),
        ).fetchone()
    return _subscription(row)


def subscription_find(store: Store, *, slug: str, client_id: str, external_id: str) -> Subscription | None:
    """A client's subscription by the vendor's own name of it; None where it is gone or has ended."""
    found = [one for one in subscriptions_of(store, slug=slug, client_id=client_id) if one.external_id == external_id]
    return found[0] if found else None


def subscriptions_of(
    store: Store, *, slug: str, client_id: str = "", grant_id: int | None = None
) -> list[Subscription]:
    """Subscriptions that stand, the oldest first; of every client where none is named."""
    rows = store.rows(
        "SELECT * FROM hook_subscription WHERE slug = ? AND (expires_at IS NULL OR expires_at > ?) ORDER BY id",
        (slug, store.now()),
    )
    return [
        one
        for one in map(_subscription, rows)
        if client_id in ("", one.client_id) and (grant_id is None or one.grant_id == grant_id)
    ]


def subscription_renew(store: Store, subscription: Subscription, *, expires_at: float) -> None:
    """Let a subscription last until another instant."""
    with store.writing() as connection:
        connection.execute("UPDATE hook_subscription SET expires_at = ? WHERE id = ?", (expires_at, subscription.id))


def subscription_remove(store: Store, subscription: Subscription) -> None:
    """Forget a subscription."""
    with store.writing() as connection:
        connection.execute("DELETE FROM hook_subscription WHERE id = ?", (subscription.id,))


def requests_make(store: Store, happening: Happening) -> list[HookRequest]:
    """What the vendor sends to the subscriptions that cover something that happened."""
    maker = HOOK_MAKERS.get(happening.slug)
    if maker is None:
        return []
    covering = [
        one
        for one in subscriptions_of(store, slug=happening.slug, client_id=happening.client_id)
        if one.grant_id in (0, happening.grant_id)
    ]
    made = (maker(one, happening) for one in covering)
    return [one for one in made if one is not None]


def hook_send(store: Store, slug: str, request: HookRequest) -> HookReply:
    """Send a request to a client that we are told of, and note its answer. Never raises for what the client does."""
    allowed = origin_allowed(request.url, store.callback_origins)
    reply = _sent(request) if allowed else HookReply(0, failure="origin_not_allowed")
    with store.writing() as connection:
        connection.execute(
            "INSERT INTO hook_call (slug, method, path, status, failure, sent_at) VALUES (?, ?, ?, ?, ?, ?)",
            (slug, request.method, urlsplit(request.url).path, reply.status, reply.failure, store.now()),
        )
    return reply


def hook_calls(store: Store) -> list[dict[str, object]]:
    """Every call that was made and how it was answered; without queries, which hold tokens."""
    return [dict(row) for row in store.rows("SELECT slug, method, path, status, failure FROM hook_call ORDER BY id")]


def _sent(request: HookRequest) -> HookReply:
    parts = urlsplit(request.url)
    opened = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = opened(parts.hostname or "", parts.port, timeout=SEND_TIMEOUT_SECONDS)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        connection.request(request.method, target, request.body.encode(), dict(request.headers))
        reply = connection.getresponse()
        return HookReply(reply.status, reply.read(ANSWER_MAXIMUM_BYTES))
    except TimeoutError:
        return HookReply(0, failure="timeout")
    except (OSError, http.client.HTTPException):
        return HookReply(0, failure="no_answer")
    finally:
        connection.close()


def _subscription(row: sqlite3.Row) -> Subscription:
    return Subscription(
        id=row["id"],
        slug=row["slug"],
        external_id=row["external_id"],
        client_id=row["client_id"],
        grant_id=row["grant_id"],
        topic=row["topic"],
        callback_url=row["callback_url"],
        verify_token=row["verify_token"],
        created_at=row["created_at"],
        expires_at=row["expires_at"],
    )
