"""Polar's AccessLink API v3 answered for a simulated person.

A person is registered with a client before anything of theirs is told. A token lasts a year, and nothing renews it.
A real client is told of no exercise from before the registration; this one tells of the last thirty days at once.
Read from Polar's API documentation, not compared with a live account.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Final, TypeAlias

import orjson

from simulator import polar_documents as documents
from simulator import polar_hooks
from simulator.day import Day, day_of, local
from simulator.grants import Grant, GrantRefusedError, code_exchange, grant_of, token_revoke
from simulator.person import WORN_SINCE, Person, person_of
from simulator.polar_hooks import refused
from simulator.tokens import client_of
from simulator.web import Request, Response, Route, json_response

if TYPE_CHECKING:
    from simulator.store import Store

SLUG: Final = "polar"
_API: Final = f"/{SLUG}/v3"
_SCOPE: Final = "accesslink.read_all"
_REACH_DAYS, _EXERCISE_DAYS, _ACTIVITY_DAYS = 28, 30, 365
_USERS: Final = (
    "CREATE TABLE IF NOT EXISTS polar_user "
    "(client_id TEXT NOT NULL, seed TEXT NOT NULL, member_id TEXT NOT NULL, PRIMARY KEY (client_id, seed))"
)


class _AnswerError(Exception):
    """An error answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


#: (person, day, now) → the day's document, None where there is none yet.
_Told: TypeAlias = Callable[[Person, Day, float], documents.Document | None]


class Polar:
    """The token endpoint and the `/v3` endpoints."""

    def __init__(self, store: Store) -> None:
        self._store = store
        with store.writing() as connection:
            connection.execute(_USERS)

    def token(self, request: Request) -> Response:
        """POST /v2/oauth2/token, the client by Basic, for a code alone."""
        basic = request.headers.get("authorization", "").lower().startswith("basic ")
        client = client_of(request) if basic else None
        if client is None:
            return json_response({"error": "invalid_client"}, 401, [("WWW-Authenticate", "Basic")])
        if request.field("grant_type") != "authorization_code":
            return json_response({"error": "unsupported_grant_type"}, 400)
        try:
            pair = code_exchange(
                self._store,
                slug=SLUG,
                client_id=client,
                code=request.field("code"),
                redirect_uri=request.field("redirect_uri"),
                code_verifier=request.field("code_verifier"),
            )
        except GrantRefusedError:
            return json_response({"error": "invalid_grant"}, 400)
        return json_response(
            {
                "access_token": pair.access_token,
                "token_type": "bearer",
                "expires_in": pair.expires_in_seconds,
                "x_user_id": person_of(pair.grant.seed).user_id,
            }
        )

    def register(self, request: Request) -> Response:
        """POST /v3/users with a name of the client's own for the person."""
        try:
            grant = self._grant(request)
            member_id = _member_id(request)
        except _AnswerError as error:
            return refused(error.status, error.message)
        with self._store.writing() as connection:
            made = connection.execute(
                "INSERT INTO polar_user VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                (grant.client_id, grant.seed, member_id),
            ).rowcount
        if not made:
            return refused(409, "User already registered")
        return json_response(self._user(grant, member_id))

    def user(self, request: Request) -> Response:
        """GET /v3/users/{id}."""
        try:
            grant = self._registered(request)
        except _AnswerError as error:
            return refused(error.status, error.message)
        if request.id != str(person_of(grant.seed).user_id):
            return Response(status=204)
        return json_response(self._user(grant, ""))

    def deregister(self, request: Request) -> Response:
        """DELETE /v3/users/{id}: the person is the client's no longer, and the token is dead."""
        try:
            grant = self._grant(request)
        except _AnswerError as error:
            return refused(error.status, error.message)
        if request.id != str(person_of(grant.seed).user_id):
            return refused(403, "Another user's token")
        with self._store.writing() as connection:
            connection.execute("DELETE FROM polar_user WHERE client_id = ? AND seed = ?", (grant.client_id, grant.seed))
        token_revoke(self._store, SLUG, request.bearer)
        return Response(status=204)

    def nights(self, request: Request) -> Response:
        """GET /v3/users/sleep: the last 28 days."""
        return self._listed(request, "nights", _night)

    def recharges(self, request: Request) -> Response:
        """GET /v3/users/nightly-recharge: the last 28 days."""
        return self._listed(request, "recharges", _recharge)

    def heart_rates(self, request: Request) -> Response:
        """GET /v3/users/continuous-heart-rate/{date}."""
        try:
            person = person_of(self._registered(request).seed)
            on = _date(request.id)
        except _AnswerError as error:
            return refused(error.status, error.message)
        now = self._store.now()
        today = local(person, now).date()
        if not max(WORN_SINCE, today - timedelta(days=_REACH_DAYS)) <= on <= today:
            return refused(404, "No data found for date")
        return json_response(documents.heart_rates(person, day_of(person, on), now))

    def activities(self, request: Request) -> Response:
        """GET /v3/users/activities: a stretch of at most 28 days, none older than a year."""
        try:
            person = person_of(self._registered(request).seed)
            now = self._store.now()
            today = local(person, now).date()
            start = _date(request.query.get("from", (today - timedelta(days=_REACH_DAYS)).isoformat()))
            end = _date(request.query.get("to", today.isoformat()))
            if (today - start).days > _ACTIVITY_DAYS or (end - start).days > _REACH_DAYS:
                raise _AnswerError(400, "Invalid or too old date")
        except _AnswerError as error:
            return refused(error.status, error.message)
        steps, zones = (request.query.get(name) == "true" for name in ("steps", "activity_zones"))
        return json_response(
            [
                documents.activity(person, day_of(person, on), now, steps=steps, zones=zones)
                for on in _days(max(start, WORN_SINCE), min(end, today))
                if day_of(person, on).starts_at + 3600 <= now
            ]
        )

    def exercises(self, request: Request) -> Response:
        """GET /v3/exercises: those of the last 30 days."""
        try:
            person = person_of(self._registered(request).seed)
        except _AnswerError as error:
            return refused(error.status, error.message)
        return json_response([one for _, one in self._exercises(person, request)])

    def exercise(self, request: Request) -> Response:
        """GET /v3/exercises/{id}."""
        try:
            person = person_of(self._registered(request).seed)
        except _AnswerError as error:
            return refused(error.status, error.message)
        found = [one for identity, one in self._exercises(person, request) if identity == request.id]
        return json_response(found[0]) if found else refused(404, "Exercise not found")

    def _exercises(self, person: Person, request: Request) -> Iterator[tuple[str, documents.Document]]:
        now = self._store.now()
        today = local(person, now).date()
        parts = [name for name in ("zones", "samples", "route") if request.query.get(name) == "true"]
        for on in _days(max(WORN_SINCE, today - timedelta(days=_EXERCISE_DAYS)), today):
            one = day_of(person, on).workout
            if one and one.ends_at <= now:
                yield documents.exercise_id(person, on), documents.exercise(person, on, one, parts=parts)

    def _listed(self, request: Request, name: str, told: _Told) -> Response:
        try:
            person = person_of(self._registered(request).seed)
        except _AnswerError as error:
            return refused(error.status, error.message)
        now = self._store.now()
        today = local(person, now).date()
        days = _days(max(WORN_SINCE, today - timedelta(days=_REACH_DAYS - 1)), today)
        found = [told(person, day_of(person, on), now) for on in days]
        return json_response({name: [one for one in found if one is not None]})

    def _grant(self, request: Request) -> Grant:
        grant = grant_of(self._store, SLUG, request.bearer)
        if grant is None:
            raise _AnswerError(401, "Unauthorized")
        if _SCOPE not in grant.scopes:
            raise _AnswerError(403, "User has not accepted all mandatory consents")
        return grant

    def _registered(self, request: Request) -> Grant:
        grant = self._grant(request)
        asked = "SELECT 1 FROM polar_user WHERE client_id = ? AND seed = ?"
        if self._store.row(asked, (grant.client_id, grant.seed)) is None:
            raise _AnswerError(403, "User is not registered")
        return grant

    def _user(self, grant: Grant, member_id: str) -> documents.Document:
        person = person_of(grant.seed)
        return {
            "polar-user-id": person.user_id,
            "member-id": member_id,
            "registration-date": datetime.fromtimestamp(int(self._store.now()), UTC).isoformat(),
            "first-name": "Sim",
            "last-name": "Ulated",
            "birthdate": f"{person.birth_year}-06-15",
            "gender": person.sex.upper(),
            "weight": person.weight_kilogram,
            "height": person.height_metre * 100,
        }


def _night(person: Person, day: Day, now: float) -> documents.Document | None:
    return documents.night(person, day) if day.night.ends_at <= now else None


def _recharge(person: Person, day: Day, now: float) -> documents.Document | None:
    return documents.recharge(person, day) if day.night.ends_at <= now else None


def _days(first: date, last: date) -> Iterator[date]:
    for number in range(first.toordinal(), last.toordinal() + 1):
        yield date.fromordinal(number)


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise _AnswerError(400, "Invalid date") from error


def _member_id(request: Request) -> str:
    try:
        document = orjson.loads(request.body)
    except orjson.JSONDecodeError as error:
        raise _AnswerError(400, "Not JSON") from error
    found = document.get("member-id") if isinstance(document, dict) else None
    if not isinstance(found, str) or not found:
        raise _AnswerError(400, "member-id is missing")
    return found


def routes(store: Store) -> tuple[Route, ...]:
    """Polar's routes."""
    polar = Polar(store)
    return (
        Route("POST", f"/{SLUG}/v2/oauth2/token", polar.token),
        Route("POST", f"{_API}/users", polar.register),
        Route("GET", f"{_API}/users/sleep", polar.nights),
        Route("GET", f"{_API}/users/nightly-recharge", polar.recharges),
        Route("GET", f"{_API}/users/activities", polar.activities),
        Route("GET", f"{_API}/users/continuous-heart-rate/{{id}}", polar.heart_rates),
        Route("GET", f"{_API}/users/{{id}}", polar.user),
        Route("DELETE", f"{_API}/users/{{id}}", polar.deregister),
        Route("GET", f"{_API}/exercises", polar.exercises),
        Route("GET", f"{_API}/exercises/{{id}}", polar.exercise),
        *polar_hooks.routes(store),
    )
