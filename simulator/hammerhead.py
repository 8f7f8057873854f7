"""Hammerhead's API answered for a simulated person: activities by the day they came in, and their FIT files.

A rider's computer records whatever the person does. Ids have hyphens where Hammerhead has dots. Read from
Hammerhead's API reference, not compared with a live account.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from hashlib import blake2b
from typing import TYPE_CHECKING, Final
from uuid import UUID

import orjson

from simulator.day import local, midnight
from simulator.fit_workout import fit_file
from simulator.grants import Grant, grant_of, token_revoke
from simulator.hooks import HOOK_MAKERS, Happening, HookRequest, Subscription
from simulator.person import WORN_SINCE, Person, person_of
from simulator.tokens import client_of
from simulator.web import Request, Response, Route, json_response
from simulator.workout import Workout, workout_of

if TYPE_CHECKING:
    from simulator.store import Store

SLUG: Final = "hammerhead"
#: Hammerhead among FIT's manufacturers.
MANUFACTURER: Final = 289
#: An activity comes in so long after its end, and its file is ready so long after that.
SENT_SECONDS, READY_SECONDS = 120, 60
_API: Final = f"/{SLUG}/v1/api"
_SCOPE: Final = "activity:read"
_PAGE_DEFAULT, _PAGE_MAXIMUM = 10, 100
_TOO_EARLY: Final = 425


class Hammerhead:
    """The `/v1/api` endpoints and the end of a grant."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def activities(self, request: Request) -> Response:
        """GET /v1/api/activities: the newest first, from `startDate` on."""
        grant = grant_of(self._store, SLUG, request.bearer)
        if grant is None or not _may(grant):
            return _refused(grant)
        page, size = _number(request, "page", 1), _number(request, "perPage", _PAGE_DEFAULT)
        since = _date(request.query.get("startDate", ""))
        if page < 1 or not 1 <= size <= _PAGE_MAXIMUM or since is None:
            return json_response({"message": "Bad Request"}, 400)
        person, now = person_of(grant.seed), self._store.now()
        first = datetime.combine(since, datetime.min.time(), UTC).timestamp()
        found = []
        on = local(person, now).date()
        while on >= max(WORN_SINCE, since - timedelta(days=1)):
            workout = _workout(person, on)
            if workout is not None and first <= created_at(workout) <= now:
                found.append(_summary(person, on, workout))
            on -= timedelta(days=1)
        answer = {
            "totalItems": len(found),
            "totalPages": -(-len(found) // size),
            "perPage": size,
            "currentPage": page,
            "data": found[(page - 1) * size : page * size],
        }
        return json_response(answer)

    def file(self, request: Request) -> Response:
        """GET /v1/api/activities/{id}/file."""
        grant = grant_of(self._store, SLUG, request.bearer)
        if grant is None or not _may(grant):
            return _refused(grant)
        person, now = person_of(grant.seed), self._store.now()
        on = _day_of(person, request.id)
        workout = _workout(person, on) if on else None
        if on is None or workout is None or created_at(workout) > now:
            return json_response({"message": "Not Found"}, 404)
        if created_at(workout) + READY_SECONDS > now:
            return json_response({"message": "Not ready"}, _TOO_EARLY)
        headers = (("Content-Type", "application/vnd.ant.fit"),)
        return Response(body=fit_file(person, on, MANUFACTURER), headers=headers)

    def deauthorize(self, request: Request) -> Response:
        """POST /v1/auth/oauth/deauthorize with `token`."""
        if client_of(request) is None:
            return json_response({"error": "invalid_client"}, 401)
        if not token_revoke(self._store, SLUG, request.field("token")):
            return json_response({"error": "invalid_token"}, 400)
        return json_response({})


def activity_id(person: Person, on: date) -> str:
    """Hammerhead's name of a day's activity. Its UUID ends with the day's ordinal, in hexadecimal."""
    digest = blake2b(f"hammerhead|{person.seed}".encode(), digest_size=10).hexdigest()
    return f"{person.user_id}-activity-{UUID(f'{digest}{on.toordinal():012x}')}"


def created_at(workout: Workout) -> int:
    """When an activity came in, epoch seconds."""
    return workout.ends_at + SENT_SECONDS


def _day_of(person: Person, identity: str) -> date | None:
    tail = identity[-12:]
    known = tail.isalnum() and all(character in "0123456789abcdef" for character in tail)
    ordinal = int(tail, 16) if known else 0
    on = date.fromordinal(ordinal) if WORN_SINCE.toordinal() <= ordinal <= date.max.toordinal() else None
    return on if on is not None and activity_id(person, on) == identity else None


def _workout(person: Person, on: date) -> Workout | None:
    return workout_of(person, on, midnight(person, on))


def _summary(person: Person, on: date, workout: Workout) -> Mapping[str, object]:
    return {
        "id": activity_id(person, on),
        "name": f"{workout.sport.title()} on {on:%A}",
        "createdAt": datetime.fromtimestamp(created_at(workout), UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z"),
        "duration": (workout.ends_at - workout.starts_at) * 1000,
        "distance": workout.distance_metre,
    }


def _may(grant: Grant) -> bool:
    """A login by password opens everything and names no scopes."""
    return not grant.scopes or _SCOPE in grant.scopes


def _refused(grant: Grant | None) -> Response:
    return json_response({"message": "Unauthorized"}, 401) if grant is None else json_response({}, 403)


def _number(request: Request, name: str, default: int) -> int:
    text = request.query.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 7 else default


def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else WORN_SINCE
    except ValueError:
        return None


def notice_make(subscription: Subscription, happening: Happening) -> HookRequest | None:
    """`{activityId, userId}`, signed with the secret of the address. Hammerhead tells nothing of a grant that ends."""
    if happening.kind == "deregistered":
        return None
    person = person_of(happening.seed)
    told = {"activityId": activity_id(person, happening.day), "userId": str(person.user_id)}
    body = orjson.dumps(told).decode()
    signature = hmac.new(subscription.verify_token.encode(), body.encode(), hashlib.sha256).hexdigest()
    headers = {"Content-Type": "application/json", "X-Hmac-Signature": signature}
    return HookRequest("POST", subscription.callback_url, headers, body)


HOOK_MAKERS[SLUG] = notice_make


def routes(store: Store) -> tuple[Route, ...]:
    """Hammerhead's addresses."""
    hammerhead = Hammerhead(store)
    return (
        Route("GET", f"{_API}/activities", hammerhead.activities),
        Route("GET", f"{_API}/activities/{{id}}/file", hammerhead.file),
        Route("POST", f"/{SLUG}/v1/auth/oauth/deauthorize", hammerhead.deauthorize),
    )
