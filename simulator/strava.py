"""Strava's API v3 as its reference describes it, answered for a simulated person.

An activity appears when it is over. A private one is told only to a token with `activity:read_all`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeAlias

import orjson

from simulator import strava_documents as documents
from simulator import strava_hooks
from simulator.day import local
from simulator.grants import Grant, GrantRefusedError, TokenPair, code_exchange, grant_of, refresh
from simulator.person import WORN_SINCE, Person, person_of
from simulator.tokens import client_of
from simulator.web import Request, Response, Route, json_response

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simulator.store import Store

#: However many a client asks for: the vendor warns that pages may be short, and only an empty one is the last.
ACTIVITIES_A_PAGE: Final = 4
ACTIVITIES_A_PAGE_MAXIMUM: Final = 200
ACTIVITIES_A_PAGE_DEFAULT: Final = 30
QUARTER_SECONDS: Final = 900
DAY_SECONDS: Final = 86_400
#: Requests of one client in a quarter of an hour and in a day. A hundred times the vendor's: all sandboxes are one
#: client.
LIMITS: Final = (20_000, 200_000)

_READ, _READ_ALL = "activity:read", "activity:read_all"


@dataclass(frozen=True, slots=True)
class _Question:
    """A request by a person's token at an instant."""

    request: Request
    grant: Grant
    person: Person
    now: float

    def number(self, name: str, default: int) -> int:
        text = self.request.query.get(name, "")
        if not text:
            return default
        if not text.isdigit() or len(text) > 12:
            raise _AnswerError(400, "Bad Request", "Activity", name, "invalid")
        return int(text)

    def sees(self, activity: documents.Activity) -> bool:
        return activity.workout.ends_at <= self.now and (not activity.private or _READ_ALL in self.grant.scopes)


_Answerer: TypeAlias = Callable[[_Question], object]


class _AnswerError(Exception):
    """An error answer in the vendor's form."""

    def __init__(self, status: int, message: str, resource: str, field: str, code: str) -> None:
        super().__init__(message)
        self.status = status
        self.document = {"message": message, "errors": [{"resource": resource, "field": field, "code": code}]}


def routes(store: Store) -> tuple[Route, ...]:
    """The vendor's addresses; before the plain token endpoint, which answers otherwise."""
    strava = Strava(store)
    api = "/strava/api/v3"
    return (
        Route("POST", "/strava/oauth/token", strava.token),
        Route("POST", api + "/oauth/token", strava.token),
        Route("POST", "/strava/oauth/deauthorize", strava.deauthorize),
        Route("GET", api + "/athlete", strava.athlete),
        Route("GET", api + "/athlete/activities", strava.activities),
        Route("GET", api + "/activities/{id}", strava.activity),
        Route("GET", api + "/activities/{id}/streams", strava.streams),
        Route("POST", "/_control/strava/limits", strava.limits),
        *strava_hooks.routes(store),
    )


class Strava:
    """The token endpoint and the `/strava/api/v3` endpoints."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def token(self, request: Request) -> Response:
        """POST /strava/oauth/token. The scope is told in the redirect alone, and the athlete with a code alone."""
        client = client_of(request)
        if client is None:
            return _error(_AnswerError(401, "Authorization Error", "Application", "", "invalid"))
        by_code = request.field("grant_type") == "authorization_code"
        if not by_code and request.field("grant_type") != "refresh_token":
            return _error(_AnswerError(400, "Bad Request", "OAuth", "grant_type", "invalid"))
        try:
            pair = self._pair(request, client)
        except GrantRefusedError as refusal:
            resource = "RefreshToken" if refusal.what == "refresh_token" else "AuthorizationCode"
            return _error(_AnswerError(400, "Bad Request", resource, refusal.what, "invalid"))
        answer: dict[str, object] = {
            "token_type": "Bearer",
            "expires_at": int(self._store.now()) + pair.expires_in_seconds,
            "expires_in": pair.expires_in_seconds,
            "refresh_token": pair.refresh_token,
            "access_token": pair.access_token,
        }
        if by_code:
            person = person_of(pair.grant.seed)
            answer["athlete"] = documents.athlete(person, local(person, self._store.now()).date(), detailed=False)
        return json_response(answer)

    def _pair(self, request: Request, client_id: str) -> TokenPair:
        if request.field("grant_type") == "refresh_token":
            token = request.field("refresh_token")
            return refresh(self._store, slug="strava", client_id=client_id, refresh_token=token)
        # Strava asks for no redirect address here; the simulator wants the one that the code was made for.
        return code_exchange(
            self._store,
            slug="strava",
            client_id=client_id,
            code=request.field("code"),
            redirect_uri=request.field("redirect_uri"),
            code_verifier=request.field("code_verifier"),
        )

    def deauthorize(self, request: Request) -> Response:
        """POST /strava/oauth/deauthorize: the older way, by an access token that must be alive."""
        token = request.field("access_token") or request.bearer
        if not strava_hooks.grant_end(self._store, token):
            return _error(_AnswerError(401, "Authorization Error", "Athlete", "access_token", "invalid"))
        return json_response({"access_token": token})

    def limits(self, request: Request) -> Response:
        """POST /_control/strava/limits `{quarter_hour, day}`: requests that one client has."""
        try:
            document = orjson.loads(request.body)
            given = (int(document["quarter_hour"]), int(document["day"]))
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
            return json_response({"detail": "Send JSON with quarter_hour and day."}, 422)
        with self._store.writing() as connection:
            connection.execute("DELETE FROM strava_limit")
            connection.execute("INSERT INTO strava_limit VALUES (?, ?)", given)
        return json_response({"quarter_hour": given[0], "day": given[1]})

    def athlete(self, request: Request) -> Response:
        """GET /athlete: all of it with `profile:read_all`."""
        return self._answer(request, _athlete, {"read", "profile:read_all"}, "read_permission")

    def activities(self, request: Request) -> Response:
        """GET /athlete/activities: those that start after `after` and before `before`, in short pages."""
        return self._answer(request, _activities, {_READ, _READ_ALL}, "activity:read_permission")

    def activity(self, request: Request) -> Response:
        """GET /activities/{id}."""
        return self._answer(request, _activity, {_READ, _READ_ALL}, "activity:read_permission")

    def streams(self, request: Request) -> Response:
        """GET /activities/{id}/streams with `keys`, keyed by type."""
        return self._answer(request, _streams, {_READ, _READ_ALL}, "activity:read_permission")

    def _answer(self, request: Request, answerer: _Answerer, scopes: set[str], permission: str) -> Response:
        grant = grant_of(self._store, "strava", request.bearer)
        if grant is None:
            return _error(_AnswerError(401, "Authorization Error", "Athlete", "access_token", "invalid"))
        usage, headers = self._counted(grant.client_id)
        try:
            if not usage:
                raise _AnswerError(429, "Rate Limit Exceeded", "Application", "rate limit", "exceeded")
            if not scopes & set(grant.scopes):
                # 401, where others have 403.
                raise _AnswerError(401, "Authorization Error", "AccessToken", permission, "missing")
            found = answerer(_Question(request, grant, person_of(grant.seed), self._store.now()))
        except _AnswerError as error:
            return _error(error).with_headers(*headers)
        return json_response(found, headers=headers)

    def _counted(self, client_id: str) -> tuple[bool, list[tuple[str, str]]]:
        """Whether a client may ask once more, and what it is told of its limits."""
        now = self._store.now()
        used: list[int] = []
        with self._store.writing() as connection:
            row = connection.execute("SELECT quarter_hour, day FROM strava_limit").fetchone()
            limits = (row["quarter_hour"], row["day"]) if row else LIMITS
            for seconds in (QUARTER_SECONDS, DAY_SECONDS):
                # Windows begin with the clock's quarters and days. A request too many counts all the same.
                window = int(now // seconds)
                connection.execute(
                    "INSERT INTO strava_usage VALUES (?, ?, ?, 1) ON CONFLICT DO UPDATE SET used = used + 1",
                    (client_id, seconds, window),
                )
                found = connection.execute(
                    "SELECT used FROM strava_usage WHERE client_id = ? AND seconds = ? AND window = ?",
                    (client_id, seconds, window),
                ).fetchone()
                used.append(found["used"])
        told = {"Limit": limits, "Usage": tuple(used)}
        headers = [
            (f"X-{kind}-{name}", ",".join(map(str, values)))
            for kind in ("RateLimit", "ReadRateLimit")
            for name, values in told.items()
        ]
        return all(count <= limit for count, limit in zip(used, limits, strict=True)), headers


def _athlete(question: _Question) -> object:
    today = local(question.person, question.now).date()
    return documents.athlete(question.person, today, detailed="profile:read_all" in question.grant.scopes)


def _activities(question: _Question) -> object:
    page, size = question.number("page", 1), question.number("per_page", ACTIVITIES_A_PAGE_DEFAULT)
    if page < 1 or not 1 <= size <= ACTIVITIES_A_PAGE_MAXIMUM:
        raise _AnswerError(400, "Bad Request", "Activity", "per_page", "invalid")
    size = min(size, ACTIVITIES_A_PAGE)
    after, before = question.number("after", 0), question.number("before", int(question.now) + 1)
    person = question.person
    # Without `after` the latest comes first.
    days = _days(person, after, min(before, question.now), backwards="after" not in question.request.query)
    found = (
        activity
        for on in days
        if (activity := documents.activity_of(person, on)) is not None
        and after < activity.workout.starts_at < before
        and question.sees(activity)
    )
    return [documents.summary(person, activity) for activity in islice(found, (page - 1) * size, page * size)]


def _activity(question: _Question) -> object:
    return documents.detail(question.person, _seen(question))


def _streams(question: _Question) -> object:
    activity = _seen(question)
    if activity.manual:
        raise _not_found()
    keys = [key for key in question.request.query.get("keys", "").split(",") if key]
    if not keys or question.request.query.get("key_by_type") != "true":
        raise _AnswerError(400, "Bad Request", "Activity", "keys", "invalid")
    return documents.streams(question.person, activity, keys)


def _seen(question: _Question) -> documents.Activity:
    """The activity of the path, where the person has it and the token may see it."""
    text = question.request.id
    athlete, ordinal = divmod(int(text) if text.isdigit() and len(text) <= 18 else 0, documents.DAYS_MAXIMUM)
    known = athlete == question.person.user_id and 0 < ordinal <= date.max.toordinal()
    on = date.fromordinal(ordinal) if known else None
    activity = documents.activity_of(question.person, on) if on is not None and on >= WORN_SINCE else None
    if activity is None or not question.sees(activity):
        raise _not_found()
    return activity


def _days(person: Person, start: float, end: float, *, backwards: bool) -> Iterator[date]:
    """The person's days that have a part in a span of epoch seconds."""
    first = max(local(person, max(start, 0)).date(), WORN_SINCE).toordinal()
    last = local(person, max(end, 0)).date().toordinal()
    ordinals = range(first, last + 1)
    return map(date.fromordinal, reversed(ordinals) if backwards else ordinals)


def _not_found() -> _AnswerError:
    return _AnswerError(404, "Record Not Found", "Activity", "id", "not found")


def _error(error: _AnswerError) -> Response:
    document: Mapping[str, object] = error.document
    return json_response(document, error.status)
