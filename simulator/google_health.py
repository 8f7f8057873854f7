"""Google's Health API v4 answered for a simulated person: points newest first in pages, and roll-ups by day.

Read from Google's reference, not compared with a live account.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Final

import orjson

from simulator import google_health_documents as documents
from simulator import google_health_hooks
from simulator.day import local
from simulator.grants import Grant, grant_of
from simulator.person import WORN_SINCE, Person, person_of
from simulator.tokens import Tokens
from simulator.web import Request, Response, Route, json_response

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simulator.store import Store

SLUG: Final = "google_health"
_ME: Final = f"/{SLUG}/v4/users/me"
_SCOPES: Final = "https://www.googleapis.com/auth/googlehealth."
ACTIVITY: Final = f"{_SCOPES}activity_and_fitness.readonly"
METRICS: Final = f"{_SCOPES}health_metrics_and_measurements.readonly"
SLEEP: Final = f"{_SCOPES}sleep.readonly"
NUTRITION: Final = f"{_SCOPES}nutrition.readonly"
SETTINGS: Final = f"{_SCOPES}settings.readonly"

_PAGE_DEFAULT, _PAGE_MAXIMUM, _SESSIONS_MAXIMUM = 1440, 10_000, 25
_SESSIONS: Final = ("sleep", "exercise")
_TERM: Final = re.compile(r'([a-z0-9_.]+) (>=|<) "([0-9T:-]{10,19})"')


@dataclass(frozen=True, slots=True)
class _DataType:
    """What makes the points of a data type, which scope opens it, and which field a filter may name."""

    maker: documents.Maker
    scope: str
    field: str


_LASTING, _SAMPLED = "interval.civil_start_time", "sample_time.civil_time"
_TYPES: Final[Mapping[str, _DataType]] = {
    "steps": _DataType(documents.steps, ACTIVITY, _LASTING),
    "distance": _DataType(documents.distance, ACTIVITY, _LASTING),
    "active-energy-burned": _DataType(documents.active_energy, ACTIVITY, _LASTING),
    "floors": _DataType(documents.floors, ACTIVITY, _LASTING),
    "exercise": _DataType(documents.exercise, ACTIVITY, _LASTING),
    "heart-rate": _DataType(documents.heart_rate, METRICS, _SAMPLED),
    "heart-rate-variability": _DataType(documents.heart_rate_variability, METRICS, _SAMPLED),
    "oxygen-saturation": _DataType(documents.oxygen_saturation, METRICS, _SAMPLED),
    "respiratory-rate-sleep-summary": _DataType(documents.respiratory_rate, METRICS, _SAMPLED),
    "daily-resting-heart-rate": _DataType(documents.resting_heart_rate, METRICS, "date"),
    "weight": _DataType(documents.weight, METRICS, _SAMPLED),
    "body-fat": _DataType(documents.body_fat, METRICS, _SAMPLED),
    "sleep": _DataType(documents.sleep, SLEEP, "interval.civil_end_time"),
    "hydration-log": _DataType(documents.hydration, NUTRITION, _LASTING),
    "nutrition-log": _DataType(documents.nutrition, NUTRITION, _LASTING),
}
#: Data type that is rolled up → its scope and how many days at once.
_ROLLED_UP: Final[Mapping[str, tuple[str, int]]] = {
    "steps": (ACTIVITY, 90),
    "distance": (ACTIVITY, 90),
    "floors": (ACTIVITY, 90),
    "active-energy-burned": (ACTIVITY, 90),
    "total-calories": (ACTIVITY, 14),
    "active-minutes": (ACTIVITY, 14),
    "heart-rate": (METRICS, 14),
}


class _AnswerError(Exception):
    """An error in Google's form."""

    def __init__(self, code: int, status: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.document = {
            "error": {
                "code": code,
                "message": reason.replace("_", " ").capitalize(),
                "status": status,
                "details": [
                    {
                        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                        "reason": reason,
                        "domain": "health.googleapis.com",
                    }
                ],
            }
        }

    @property
    def response(self) -> Response:
        return json_response(self.document, self.code)


@dataclass(frozen=True, slots=True)
class _Span:
    """What a filter lets through, as the person's clock showed it: from `start` up to before `end`."""

    start: str
    end: str


class GoogleHealth:
    """The `/v4/users/me` endpoints."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def token(self, request: Request) -> Response:
        """POST /google_health/oauth/token: a refresh gives no refresh token, for the old one goes on."""
        answer = Tokens(self._store).token(request)
        if answer.status != 200 or request.field("grant_type") != "refresh_token":
            return answer
        document = orjson.loads(answer.body)
        del document["refresh_token"]
        return json_response(document)

    def identity(self, request: Request) -> Response:
        """GET /v4/users/me/identity: any scope but that of nutrition opens it."""
        try:
            grant = self._grant(request)
            if not {ACTIVITY, METRICS, SLEEP, SETTINGS} & set(grant.scopes):
                raise _missing()
        except _AnswerError as error:
            return error.response
        identity = {"name": "users/me/identity", "healthUserId": documents.user_id(person_of(grant.seed))}
        return json_response(identity)

    def points(self, request: Request) -> Response:
        """GET /v4/users/me/dataTypes/{id}/dataPoints."""
        try:
            grant = self._grant(request)
            kind = _TYPES.get(request.id)
            if kind is None:
                raise _invalid("INVALID_PARENT_DATA_TYPE_COLLECTION")
            if kind.scope not in grant.scopes:
                raise _missing()
            person, now = person_of(grant.seed), self._store.now()
            span = _span(request, kind, local(person, now).date())
            page = self._page(request, kind, person, span, now)
        except _AnswerError as error:
            return error.response
        return json_response(page)

    def roll_up(self, request: Request) -> Response:
        """POST /v4/users/me/dataTypes/{id}/dataPoints:dailyRollUp."""
        try:
            grant = self._grant(request)
            if request.id not in _ROLLED_UP:
                raise _invalid("INVALID_PARENT_DATA_TYPE_COLLECTION")
            scope, days_maximum = _ROLLED_UP[request.id]
            if scope not in grant.scopes:
                raise _missing()
            start, end = _range(request, days_maximum)
        except _AnswerError as error:
            return error.response
        person, now = person_of(grant.seed), self._store.now()
        found = []
        on = max(start, WORN_SINCE)
        while on < end and on <= local(person, now).date():
            point = documents.rollup(person, on, request.id, now)
            if point is not None:
                found.append(point)
            on = documents.day_after(on)
        return json_response({"rollupDataPoints": found} if found else {})

    def _grant(self, request: Request) -> Grant:
        grant = grant_of(self._store, SLUG, request.bearer)
        if grant is None:
            raise _AnswerError(401, "UNAUTHENTICATED", "ACCESS_TOKEN_EXPIRED")
        return grant

    def _page(self, request: Request, kind: _DataType, person: Person, span: _Span, now: float) -> dict[str, object]:
        size, skip = _size(request), _place(request)
        found: list[documents.Document] = []
        passed = 0
        for point in _newest_first(kind, person, span):
            if span.start <= point.shown < span.end and point.known_at <= now:
                passed += 1
                if passed > skip:
                    found.append(point.document)
                if len(found) > size:
                    break
        page: dict[str, object] = {"dataPoints": found[:size]} if found else {}
        if len(found) > size:
            page["nextPageToken"] = _token(request, skip + size)
        return page


def _newest_first(kind: _DataType, person: Person, span: _Span) -> Iterator[documents.Point]:
    on = date.fromisoformat(span.end[:10])
    first = max(WORN_SINCE, date.fromisoformat(span.start[:10]))
    while on >= first:
        yield from sorted(kind.maker(person, on), key=lambda one: one.shown, reverse=True)
        on -= timedelta(days=1)


def _span(request: Request, kind: _DataType, today: date) -> _Span:
    start, end = WORN_SINCE.isoformat(), (today + timedelta(days=1)).isoformat()
    text = request.query.get("filter", "")
    field = f"{request.id.replace('-', '_')}.{kind.field}"
    for term in text.split(" AND ") if text else []:
        read = _TERM.fullmatch(term)
        if read is None or read[1] != field:
            raise _invalid("INVALID_DATA_POINT_FILTER")
        try:
            datetime.fromisoformat(read[3])
        except ValueError:
            raise _invalid("INVALID_DATA_POINT_FILTER_SYNTAX") from None
        start, end = (read[3], end) if read[2] == ">=" else (start, min(end, read[3]))
    return _Span(start, end)


def _size(request: Request) -> int:
    text = request.query.get("pageSize", "")
    sessions = request.id in _SESSIONS
    size = int(text) if text.isdecimal() and len(text) < 9 else 0
    wanted = size or (_SESSIONS_MAXIMUM if sessions else _PAGE_DEFAULT)
    return min(wanted, _SESSIONS_MAXIMUM if sessions else _PAGE_MAXIMUM)


def _question(request: Request) -> str:
    return "|".join([request.path, request.query.get("filter", ""), request.query.get("pageSize", "")])


def _token(request: Request, place: int) -> str:
    return base64.urlsafe_b64encode(orjson.dumps([place, _question(request)])).decode()


def _place(request: Request) -> int:
    """How many points earlier pages held. A token is good only for the very question it came with."""
    token = request.query.get("pageToken", "")
    if not token:
        return 0
    try:
        place, question = orjson.loads(base64.b64decode(token, altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, TypeError):
        raise _invalid("INVALID_PAGE_TOKEN") from None
    if question != _question(request) or not isinstance(place, int) or not 0 <= place < 10_000_000:
        raise _invalid("INVALID_PAGE_TOKEN")
    return place


def _range(request: Request, days_maximum: int) -> tuple[date, date]:
    try:
        asked = orjson.loads(request.body)["range"]
        start, end = (date(**asked[name]["date"]) for name in ("start", "end"))
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        raise _invalid("INVALID_ROLLUP_RANGE") from None
    if not 0 < (end - start).days <= days_maximum:
        raise _invalid("INVALID_ROLLUP_RANGE")
    return start, end


def _invalid(reason: str) -> _AnswerError:
    return _AnswerError(400, "INVALID_ARGUMENT", reason)


def _missing() -> _AnswerError:
    return _AnswerError(403, "PERMISSION_DENIED", "ACCESS_TOKEN_SCOPE_INSUFFICIENT")


def routes(store: Store) -> tuple[Route, ...]:
    """Google's routes; before the plain token endpoint, which answers otherwise."""
    google = GoogleHealth(store)
    points = f"{_ME}/dataTypes/{{id}}/dataPoints"
    return (
        Route("POST", f"/{SLUG}/oauth/token", google.token),
        Route("GET", f"{_ME}/identity", google.identity),
        Route("GET", points, google.points),
        Route("POST", f"{points}:dailyRollUp", google.roll_up),
        *google_health_hooks.routes(store),
    )
