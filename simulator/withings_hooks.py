"""Withings' Notify and Signature services and the revocation of a grant, as its public API reference describes them."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from simulator.catalogue import CLIENT_SECRET
from simulator.day import midnight
from simulator.grants import grant_of
from simulator.hooks import (
    HOOK_MAKERS,
    HookRequest,
    hook_send,
    subscription_add,
    subscription_remove,
    subscriptions_of,
)
from simulator.person import person_of, user_id_of
from simulator.store import digest
from simulator.tokens import withings_error
from simulator.web import Request, Response, Route, json_response

if TYPE_CHECKING:
    from simulator.grants import Grant
    from simulator.hooks import Happening, Subscription
    from simulator.store import Store

_INVALID: Final = 503
_UNAUTHORISED: Final = 401
_WRONG_CALLBACK: Final = 2554
_NO_SUBSCRIPTION: Final = 286
_SCOPE: Final = 214
NONCE_SECONDS: Final = 1800
#: A signed request is taken as long after its timestamp.
_SIGNED_SECONDS: Final = 300

#: Category → the scope that opens it.
_CATEGORIES: Final[Mapping[str, str]] = {
    "1": "user.metrics",
    "2": "user.metrics",
    "4": "user.metrics",
    "16": "user.activity",
    "44": "user.activity",
    "46": "user.info",
    "50": "user.sleepevents",
    "51": "user.sleepevents",
    "54": "user.metrics",
}
_OF_THE_USER: Final = "46"
_ACTIVITY: Final = "16"


def routes(store: Store, token: Callable[[Request], Response]) -> tuple[Route, ...]:
    """The endpoints. `token` answers the token requests that share an address with the revocation."""
    hooks = WithingsHooks(store)
    return (
        Route("POST", "/withings/notify", hooks.notify),
        Route("POST", "/withings/v2/signature", hooks.signature),
        Route("POST", "/withings/v2/oauth2", lambda request: hooks.oauth2(request, token)),
    )


class WithingsHooks:
    """Subscriptions of a person, nonces of a client."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def notify(self, request: Request) -> Response:
        """POST /withings/notify: subscribe, revoke or list, for the person whose token it is."""
        grant = grant_of(self._store, "withings", request.bearer)
        if grant is None:
            return withings_error(_UNAUTHORISED, "XRequestID: Not provided invalid_token")
        action = request.field("action")
        if action == "subscribe":
            return self._subscribe(request, grant)
        if action == "revoke":
            return self._revoke(request, grant)
        if action == "list":
            profiles = [{"appli": int(one.topic), "callbackurl": one.callback_url} for one in self._of(grant)]
            return json_response({"status": 0, "body": {"profiles": profiles}})
        return withings_error(_INVALID, "Invalid Params: invalid action")

    def signature(self, request: Request) -> Response:
        """POST /withings/v2/signature: a number for one signed request."""
        stamp = request.field("timestamp")
        late = not stamp.isdecimal() or abs(self._store.now() - int(stamp[:12])) > _SIGNED_SECONDS
        if late or request.field("action") != "getnonce" or not _signed(request, "action", "client_id", "timestamp"):
            return withings_error(_INVALID, "Invalid Params: invalid signature")
        nonce = secrets.token_hex(20)
        with self._store.writing() as connection:
            connection.execute(
                "INSERT INTO nonce (hash, client_id, expires_at) VALUES (?, ?, ?)",
                (digest(nonce), request.field("client_id"), self._store.now() + NONCE_SECONDS),
            )
        return json_response({"status": 0, "body": {"nonce": nonce}})

    def oauth2(self, request: Request, token: Callable[[Request], Response]) -> Response:
        """POST /withings/v2/oauth2: `revoke` takes a person's grants to this client back, with their subscriptions."""
        if request.field("action") != "revoke":
            return token(request)
        client, account = request.field("client_id"), request.field("userid")
        if not _signed(request, "action", "client_id", "nonce") or not self._nonce_take(request.field("nonce"), client):
            return withings_error(_INVALID, "Invalid Params: invalid signature")
        with self._store.writing() as connection:
            rows = connection.execute(
                "SELECT id, seed FROM access_grant WHERE slug = 'withings' AND client_id = ? AND NOT revoked", (client,)
            ).fetchall()
            ended = [(row["id"],) for row in rows if str(user_id_of(row["seed"])) == account]
            connection.executemany("UPDATE access_grant SET revoked = 1 WHERE id = ?", ended)
            connection.executemany("DELETE FROM hook_subscription WHERE grant_id = ?", ended)
        return json_response({"status": 0, "body": {}})

    def _subscribe(self, request: Request, grant: Grant) -> Response:
        """The address must answer before the subscription stands."""
        category, url = request.field("appli"), request.field("callbackurl")
        scope = _CATEGORIES.get(category)
        if scope is None:
            return withings_error(_INVALID, "Invalid Params: invalid appli")
        if scope not in grant.scopes:
            return withings_error(_SCOPE, "Insufficient scope")
        if hook_send(self._store, "withings", HookRequest("HEAD", url)).status != 200:
            return withings_error(_WRONG_CALLBACK, "Wrong callback url")
        subscription_add(
            self._store,
            slug="withings",
            external_id=f"{grant.id}-{category}",
            client_id=grant.client_id,
            callback_url=url,
            topic=category,
            grant_id=grant.id,
        )
        return json_response({"status": 0, "body": {}})

    def _revoke(self, request: Request, grant: Grant) -> Response:
        found = [
            one
            for one in self._of(grant)
            if one.callback_url == request.field("callbackurl") and request.field("appli") in ("", one.topic)
        ]
        for one in found:
            subscription_remove(self._store, one)
        return json_response({"status": 0, "body": {}}) if found else withings_error(_NO_SUBSCRIPTION, "No such one")

    def _of(self, grant: Grant) -> list[Subscription]:
        """The person's subscriptions to this client, by whichever of their grants they were made."""
        rows = self._store.rows("SELECT id FROM access_grant WHERE slug = 'withings' AND seed = ?", (grant.seed,))
        own = {row["id"] for row in rows}
        found = subscriptions_of(self._store, slug="withings", client_id=grant.client_id)
        return [one for one in found if one.grant_id in own]

    def _nonce_take(self, nonce: str, client_id: str) -> bool:
        """Whether a nonce was given to this client and not used before."""
        with self._store.writing() as connection:
            taken = connection.execute(
                "DELETE FROM nonce WHERE hash = ? AND client_id = ? AND expires_at > ?",
                (digest(nonce), client_id, self._store.now()),
            )
            return taken.rowcount == 1


def notice(subscription: Subscription, happening: Happening) -> HookRequest | None:
    """A notice as a form, unsigned. `resource` of what happened is a category's number."""
    if subscription.grant_id != happening.grant_id:
        return None
    ended = happening.kind == "deregistered"
    if subscription.topic != (_OF_THE_USER if ended else happening.resource):
        return None
    person = person_of(happening.seed)
    form = {"userid": str(person.user_id), "appli": subscription.topic}
    if ended:
        form["action"] = "unlink"
    elif subscription.topic == _ACTIVITY:
        form["date"] = happening.day.isoformat()
    else:
        start, end = (midnight(person, happening.day + timedelta(days=days)) for days in (0, 1))
        form |= {"startdate": str(start), "enddate": str(end)}
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    return HookRequest("POST", subscription.callback_url, headers, urlencode(form))


HOOK_MAKERS["withings"] = notice


def _signed(request: Request, *names: str) -> bool:
    """HMAC-SHA256 by the client's secret over the values in the order of their names, joined by commas."""
    text = ",".join(request.field(name) for name in sorted(names))
    expected = hmac.new(CLIENT_SECRET.encode(), text.encode(), hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), request.field("signature").encode())
