"""Garmin's Health and Activity APIs answered for a simulated person: uploads of a day, and older data that come later.

A request for older data is taken with 202 and served at once, as an upload of that moment; Garmin takes minutes and
longer. Read from Garmin's specifications, not compared with a live account.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

import orjson

from simulator import garmin_documents as documents
from simulator.day import local
from simulator.grants import Grant, grant_of, token_revoke
from simulator.hooks import HOOK_MAKERS, Happening, HookRequest, Subscription, hook_send, subscriptions_of
from simulator.person import WORN_SINCE, Person, person_of
from simulator.web import Request, Response, Route, json_response

if TYPE_CHECKING:
    from simulator.store import Store

SLUG: Final = "garmin"
_DAY_SECONDS: Final = 86_400
#: The most that one request for older data may cover.
_BACKFILL_DAYS, _BACKFILL_DAYS_ACTIVITIES = 90, 30
_HISTORY: Final = "HISTORICAL_DATA_EXPORT"
#: Accounts whose names begin so share less than all.
_SHARES: Final = {
    "no-history": ("ACTIVITY_EXPORT", "HEALTH_EXPORT"),
    "no-health": ("ACTIVITY_EXPORT", _HISTORY),
}
_SHARES_ALL: Final = ("ACTIVITY_EXPORT", "HEALTH_EXPORT", _HISTORY)
#: What a notification calls a kind of summary, where that is another word.
_NOTICE_WORDS: Final = {"respiration": "allDayRespiration"}

#: Forgotten with the grant they belong to, whoever deletes it.
_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS garmin_backfill (grant_id INTEGER NOT NULL, kind TEXT NOT NULL, "
    "start_at INTEGER NOT NULL, end_at INTEGER NOT NULL, sent_at INTEGER NOT NULL)"
)
_FORGOTTEN: Final = (
    "CREATE TRIGGER IF NOT EXISTS garmin_backfill_forget AFTER DELETE ON access_grant BEGIN "
    "DELETE FROM garmin_backfill WHERE grant_id = OLD.id; END"
)


class _AnswerError(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class Garmin:
    """The endpoints below `/wellness-api/rest`, which is where the simulator's `/garmin` stands for."""

    def __init__(self, store: Store) -> None:
        self._store = store
        with store.writing() as connection:
            connection.execute(_TABLE)
            connection.execute(_FORGOTTEN)

    def summaries(self, kind: str) -> Callable[[Request], Response]:
        """GET /{kind} by the span of uploads, a day at most."""

        def handler(request: Request) -> Response:
            try:
                grant = self._grant(request, kind)
                first, last = _span(request, "upload", _DAY_SECONDS)
            except _AnswerError as error:
                return _error(error)
            found = {
                str(one.document["summaryId"]): one.document
                for one in (*self._sent(grant, kind, first, last), *self._sent_anew(grant, kind, first, last))
            }
            return json_response(list(found.values()))

        return handler

    def backfill(self, kind: str) -> Callable[[Request], Response]:
        """GET /backfill/{kind}: 202, and 409 for what was asked for before."""
        days = _BACKFILL_DAYS_ACTIVITIES if kind == "activities" else _BACKFILL_DAYS

        def handler(request: Request) -> Response:
            try:
                grant = self._grant(request, kind)
                if _HISTORY not in _shares(grant):
                    raise _AnswerError(412, "User permission missing")
                start_at, end_at = _span(request, "summary", days * _DAY_SECONDS)
            except _AnswerError as error:
                return _error(error)
            now = int(self._store.now())
            with self._store.writing() as connection:
                asked = connection.execute(
                    "SELECT 1 FROM garmin_backfill WHERE grant_id = ? AND kind = ? AND start_at = ? AND end_at = ?",
                    (grant.id, kind, start_at, end_at),
                ).fetchone()
                if asked is None:
                    values = (grant.id, kind, start_at, end_at, now)
                    connection.execute("INSERT INTO garmin_backfill VALUES (?, ?, ?, ?, ?)", values)
            if asked is not None:
                return json_response({"errorMessage": "Duplicate backfill request"}, 409)
            self._ping(grant, kind, now)
            return Response(202)

        return handler

    def user_id(self, request: Request) -> Response:
        """GET /user/id."""
        grant = grant_of(self._store, SLUG, request.bearer)
        if grant is None:
            return _error(_AnswerError(401, "Unauthorized"))
        return json_response({"userId": documents.user_id(person_of(grant.seed))})

    def permissions(self, request: Request) -> Response:
        """GET /user/permissions."""
        grant = grant_of(self._store, SLUG, request.bearer)
        if grant is None:
            return _error(_AnswerError(401, "Unauthorized"))
        return json_response(_shares(grant))

    def registration(self, request: Request) -> Response:
        """DELETE /user/registration."""
        if grant_of(self._store, SLUG, request.bearer) is None:
            return _error(_AnswerError(401, "Unauthorized"))
        token_revoke(self._store, SLUG, request.bearer)
        return Response(204)

    def _grant(self, request: Request, kind: str) -> Grant:
        grant = grant_of(self._store, SLUG, request.bearer)
        if grant is None:
            raise _AnswerError(401, "Unauthorized")
        if ("ACTIVITY_EXPORT" if kind == "activities" else "HEALTH_EXPORT") not in _shares(grant):
            raise _AnswerError(412, "User permission missing")
        return grant

    def _sent(self, grant: Grant, kind: str, first: int, last: int) -> Iterator[documents.Sent]:
        """What the watch itself sent in a span."""
        now = self._store.now()
        until = min(last - 1, int(now))
        for one in self._of_days(person_of(grant.seed), kind, first - 3 * _DAY_SECONDS, last):
            if documents.sync_after(max(one.first_at, first)) <= min(one.last_at, until):
                yield one

    def _sent_anew(self, grant: Grant, kind: str, first: int, last: int) -> Iterator[documents.Sent]:
        """What was asked for again and came in during a span."""
        rows = self._store.rows(
            "SELECT start_at, end_at FROM garmin_backfill WHERE grant_id = ? AND kind = ? AND sent_at >= ? "
            "AND sent_at < ? ORDER BY sent_at",
            (grant.id, kind, first, last),
        )
        for row in rows:
            for one in self._of_days(person_of(grant.seed), kind, row["start_at"], row["end_at"]):
                if row["start_at"] <= one.starts_at < row["end_at"]:
                    yield one

    def _of_days(self, person: Person, kind: str, first: int, last: int) -> Iterator[documents.Sent]:
        now = self._store.now()
        on = max(WORN_SINCE, local(person, max(first, 0)).date() - timedelta(days=1))
        end = min(local(person, last).date(), local(person, now).date()) + timedelta(days=1)
        while on <= end:
            yield from documents.sent_of_day(person, on, kind, now)
            on += timedelta(days=1)

    def _ping(self, grant: Grant, kind: str, at: int) -> None:
        for subscription in subscriptions_of(self._store, slug=SLUG, client_id=grant.client_id):
            hook_send(self._store, SLUG, _told(subscription, person_of(grant.seed), kind, at))


def _span(request: Request, name: str, maximum_seconds: int) -> tuple[int, int]:
    ends = [request.query.get(f"{name}{end}TimeInSeconds", "") for end in ("Start", "End")]
    if not all(text.isdecimal() and len(text) <= 10 for text in ends):
        raise _AnswerError(400, f"Missing {name} time range")
    first, last = map(int, ends)
    if not first < last <= first + maximum_seconds:
        raise _AnswerError(400, "Time range is not valid")
    return first, last


def _shares(grant: Grant) -> tuple[str, ...]:
    return next((shared for name, shared in _SHARES.items() if grant.account.startswith(name)), _SHARES_ALL)


def _error(error: _AnswerError) -> Response:
    return json_response({"errorMessage": error.message}, error.status)


def _told(subscription: Subscription, person: Person, kind: str, at: int) -> HookRequest:
    """A ping of what came in during the hour up to an instant."""
    span = {"uploadStartTimeInSeconds": at - documents.SYNC_SECONDS, "uploadEndTimeInSeconds": at + 1, "token": "pull"}
    address = f"https://apis.garmin.com/wellness-api/rest/{kind}?{urlencode(span)}"
    word = _NOTICE_WORDS.get(kind, kind)
    return _request(subscription, {word: [{"userId": documents.user_id(person), "callbackURL": address}]})


def _request(subscription: Subscription, told: dict[str, object]) -> HookRequest:
    headers = {"Content-Type": "application/json", "garmin-client-id": subscription.client_id}
    return HookRequest("POST", subscription.callback_url, headers, orjson.dumps(told).decode())


def notice_make(subscription: Subscription, happening: Happening) -> HookRequest | None:
    """A ping of one kind of summary, `resource` its word; of shared data that changed; or of a user who is gone."""
    person, kind = person_of(happening.seed), happening.resource or "dailies"
    if happening.kind == "deregistered":
        return _request(subscription, {"deregistrations": [{"userId": documents.user_id(person)}]})
    if kind == "userPermissionsChange":
        change = {"userId": documents.user_id(person), "permissions": ["ACTIVITY_EXPORT"]}
        return _request(subscription, {kind: [{**change, "changeTimeInSeconds": int(happening.signed_at)}]})
    return _told(subscription, person, kind, int(happening.signed_at))


HOOK_MAKERS[SLUG] = notice_make


def routes(store: Store) -> tuple[Route, ...]:
    """Garmin's addresses."""
    garmin = Garmin(store)
    return (
        *(Route("GET", f"/{SLUG}/{kind}", garmin.summaries(kind)) for kind in documents.KINDS),
        *(Route("GET", f"/{SLUG}/backfill/{kind}", garmin.backfill(kind)) for kind in documents.KINDS),
        Route("GET", f"/{SLUG}/user/id", garmin.user_id),
        Route("GET", f"/{SLUG}/user/permissions", garmin.permissions),
        Route("DELETE", f"/{SLUG}/user/registration", garmin.registration),
    )
