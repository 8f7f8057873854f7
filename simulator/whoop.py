"""WHOOP's developer API v2 answered for a simulated person: pages of records, newest first, and notices it sends.

Read from WHOOP's API reference, not compared with a live account.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final, TypeAlias

import orjson

from simulator import whoop_documents as documents
from simulator.catalogue import CLIENT_SECRET
from simulator.day import day_of, local
from simulator.grants import Grant, grant_of, token_revoke
from simulator.hooks import HOOK_MAKERS, Happening, HookRequest, Subscription
from simulator.person import WORN_SINCE, Person, person_of
from simulator.store import Store
from simulator.web import Request, Response, Route, json_response

SLUG: Final = "whoop_v2"
_BASE: Final = f"/{SLUG}/developer/v2"
#: What WHOOP gives at once where nothing is asked, and at most.
_PAGE_DEFAULT, _PAGE_MAXIMUM = 10, 25

#: (person, day, now) → records of the day with the instant each began, in any order.
Records: TypeAlias = Callable[[Person, date, float], Iterator[tuple[int, documents.Document]]]


class _AnswerError(Exception):
    """An error answer."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


@dataclass(frozen=True, slots=True)
class _Span:
    """Records that were going on from `start` up to before `end`, epoch seconds, `skip` of them passed over."""

    start: float
    end: float
    limit: int
    skip: int


class Whoop:
    """The `/developer/v2` endpoints."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def cycles(self, request: Request) -> Response:
        """GET /developer/v2/cycle."""
        return self._records(request, "read:cycles", _cycles)

    def recoveries(self, request: Request) -> Response:
        """GET /developer/v2/recovery."""
        return self._records(request, "read:recovery", _recoveries)

    def sleeps(self, request: Request) -> Response:
        """GET /developer/v2/activity/sleep."""
        return self._records(request, "read:sleep", _sleeps)

    def workouts(self, request: Request) -> Response:
        """GET /developer/v2/activity/workout."""
        return self._records(request, "read:workout", _workouts)

    def profile(self, request: Request) -> Response:
        """GET /developer/v2/user/profile/basic."""
        return self._single(request, "read:profile", lambda person, grant: documents.profile(person, grant.account))

    def body_measurement(self, request: Request) -> Response:
        """GET /developer/v2/user/measurement/body."""
        today = datetime.fromtimestamp(self._store.now(), UTC).date()
        return self._single(
            request, "read:body_measurement", lambda person, _: documents.body_measurement(person, today)
        )

    def revoke(self, request: Request) -> Response:
        """DELETE /developer/v2/user/access: the member's grant ends."""
        if not token_revoke(self._store, SLUG, request.bearer):
            return json_response({"message": "Authorization was not valid"}, 401)
        return Response(204)

    def _single(self, request: Request, scope: str, make: Callable[[Person, Grant], documents.Document]) -> Response:
        try:
            grant = self._grant(request, scope)
        except _AnswerError as error:
            return json_response({"message": error.detail}, error.status)
        return json_response(make(person_of(grant.seed), grant))

    def _records(self, request: Request, scope: str, of_day: Records) -> Response:
        try:
            grant = self._grant(request, scope)
            now = self._store.now()
            span = _span(request, now)
        except _AnswerError as error:
            return json_response({"message": error.detail}, error.status)
        person = person_of(grant.seed)
        found: list[documents.Document] = []
        passed = 0
        for on in _days_back(person, span):
            for starts_at, record in sorted(of_day(person, on, now), key=lambda one: -one[0]):
                if span.start <= starts_at < span.end:
                    passed += 1
                    if passed > span.skip:
                        found.append(record)
            if len(found) > span.limit:
                break
        token = _token(request, span.skip + span.limit) if len(found) > span.limit else None
        return json_response({"records": found[: span.limit], "next_token": token})

    def _grant(self, request: Request, scope: str) -> Grant:
        grant = grant_of(self._store, SLUG, request.bearer)
        if grant is None:
            raise _AnswerError(401, "Authorization was not valid")
        if scope not in grant.scopes:
            raise _AnswerError(403, "The member did not grant this scope")
        return grant


def _cycles(person: Person, on: date, now: float) -> Iterator[tuple[int, documents.Document]]:
    starts_at, _ = documents.cycle_bounds(person, on)
    if starts_at <= now:
        yield starts_at, documents.cycle(person, on, now)


def _recoveries(person: Person, on: date, now: float) -> Iterator[tuple[int, documents.Document]]:
    night = day_of(person, on).night
    if night.ends_at <= now:
        yield night.starts_at, documents.recovery(person, on, night)


def _sleeps(person: Person, on: date, now: float) -> Iterator[tuple[int, documents.Document]]:
    for one in day_of(person, on).sleeps:
        if one.ends_at <= now:
            yield one.starts_at, documents.sleep(person, on, one)


def _workouts(person: Person, on: date, now: float) -> Iterator[tuple[int, documents.Document]]:
    one = day_of(person, on).workout
    if one and one.ends_at <= now:
        yield one.starts_at, documents.workout(person, on, one)


def _days_back(person: Person, span: _Span) -> Iterator[date]:
    """Days whose records may begin within the span, the last first: a night begins the evening before its day."""
    on = local(person, span.end).date() + timedelta(days=1)
    first = max(WORN_SINCE, local(person, span.start).date() - timedelta(days=1))
    while on >= first:
        yield on
        on -= timedelta(days=1)


def _span(request: Request, now: float) -> _Span:
    limit = _whole(request, "limit", _PAGE_DEFAULT)
    if not 1 <= limit <= _PAGE_MAXIMUM:
        raise _AnswerError(400, f"limit must be from 1 to {_PAGE_MAXIMUM}")
    worn_since = datetime.combine(WORN_SINCE, datetime.min.time(), UTC).timestamp()
    start = _instant(request, "start", worn_since)
    end = _instant(request, "end", now)
    return _Span(max(start, worn_since), min(end, now), limit, _place(request))


def _whole(request: Request, name: str, default: int) -> int:
    text = request.query.get(name, "")
    if not text:
        return default
    if not text.isdecimal() or len(text) > 4:
        raise _AnswerError(400, f"{name} is not a number")
    return int(text)


def _instant(request: Request, name: str, default: float) -> float:
    text = request.query.get(name)
    if not text:
        return default
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise _AnswerError(400, f"{name} is not an instant") from error
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _question(request: Request) -> str:
    return "|".join([request.path, request.query.get("start", ""), request.query.get("end", "")])


def _token(request: Request, place: int) -> str:
    return base64.urlsafe_b64encode(orjson.dumps([place, _question(request)])).decode()


def _place(request: Request) -> int:
    """How many records earlier pages held. A token is good only for the very question it came with."""
    token = request.query.get("nextToken")
    if not token:
        return 0
    try:
        place, question = orjson.loads(base64.b64decode(token, altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, TypeError) as error:
        raise _AnswerError(400, "nextToken is not valid") from error
    if question != _question(request) or not isinstance(place, int) or not 0 <= place < 1_000_000:
        raise _AnswerError(400, "nextToken belongs to another request")
    return place


def notice_make(subscription: Subscription, happening: Happening) -> HookRequest | None:
    """`{user_id, id, type, trace_id}`, signed: base64 of HMAC-SHA256 over the instant and the body.

    `resource` is WHOOP's type without its ending: workout, sleep or recovery. WHOOP tells nothing of a grant that ends.
    """
    if happening.kind == "deregistered":
        return None
    person, resource = person_of(happening.seed), happening.resource or "sleep"
    identity = (
        documents.workout_id(person, happening.day)
        if resource == "workout"
        else documents.sleep_id(person, happening.day, is_nap=False)
    )
    body = orjson.dumps(
        {"user_id": person.user_id, "id": identity, "type": f"{resource}.updated", "trace_id": identity[::-1]}
    ).decode()
    signed_at = str(int(happening.signed_at * 1000))
    digest = hmac.new(CLIENT_SECRET.encode(), (signed_at + body).encode(), hashlib.sha256).digest()
    headers = {
        "Content-Type": "application/json",
        "X-WHOOP-Signature": base64.b64encode(digest).decode(),
        "X-WHOOP-Signature-Timestamp": signed_at,
    }
    return HookRequest("POST", subscription.callback_url, headers, body)


HOOK_MAKERS[SLUG] = notice_make


def routes(store: Store) -> tuple[Route, ...]:
    """WHOOP's routes."""
    whoop = Whoop(store)
    return (
        Route("GET", f"{_BASE}/cycle", whoop.cycles),
        Route("GET", f"{_BASE}/recovery", whoop.recoveries),
        Route("GET", f"{_BASE}/activity/sleep", whoop.sleeps),
        Route("GET", f"{_BASE}/activity/workout", whoop.workouts),
        Route("GET", f"{_BASE}/user/profile/basic", whoop.profile),
        Route("GET", f"{_BASE}/user/measurement/body", whoop.body_measurement),
        Route("DELETE", f"{_BASE}/user/access", whoop.revoke),
    )
