"""Dexcom's API v3 answered for a simulated person: records newest first, at most thirty days at once, an hour late.

Read from Dexcom's API reference, not compared with a live account.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Final, TypeAlias

from simulator import dexcom_documents as documents
from simulator.day import Day, day_of, local, midnight
from simulator.grants import grant_of
from simulator.person import WORN_SINCE, Person, person_of
from simulator.store import Store
from simulator.web import Request, Response, Route, json_response

SLUG: Final = "dexcom_v3"
_BASE: Final = f"/{SLUG}/v3/users/self"
_SPAN_MAXIMUM_SECONDS: Final = 30 * 86_400
#: Dexcom holds a telephone's readings back for so long.
DELAY_SECONDS: Final = 3600

#: (person, day) → records with their instants, in any order.
Records: TypeAlias = Callable[[Person, Day], Iterator[tuple[int, documents.Document]]]


class _AnswerError(Exception):
    """An error answer."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


class Dexcom:
    """The `/v3/users/self` endpoints."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def egvs(self, request: Request) -> Response:
        """GET /v3/users/self/egvs."""
        return self._spanned(request, "egv", documents.egvs)

    def events(self, request: Request) -> Response:
        """GET /v3/users/self/events."""
        return self._spanned(request, "event", documents.events)

    def devices(self, request: Request) -> Response:
        """GET /v3/users/self/devices."""
        try:
            person = self._person(request)
        except _AnswerError as error:
            return _refused(error)
        return _answer(person, "device", [documents.device(person, self._store.now())])

    def data_range(self, request: Request) -> Response:
        """GET /v3/users/self/dataRange."""
        try:
            person = self._person(request)
        except _AnswerError as error:
            return _refused(error)
        held = {
            "start": documents.moment(person, midnight(person, WORN_SINCE)),
            "end": documents.moment(person, self._store.now() - DELAY_SECONDS),
        }
        return json_response(
            {
                "recordType": "dataRange",
                "recordVersion": "3.0",
                "userId": documents.user_id(person),
                "calibrations": held,
                "egvs": held,
                "events": held,
            }
        )

    def _spanned(self, request: Request, kind: str, of_day: Records) -> Response:
        try:
            person = self._person(request)
            start, end = _instant(request, "startDate"), _instant(request, "endDate")
            if start > end or end - start > _SPAN_MAXIMUM_SECONDS:
                raise _AnswerError(400, "The time window must be at most 30 days.")
        except _AnswerError as error:
            return _refused(error)
        known_until = self._store.now() - DELAY_SECONDS
        found = [
            (at, record)
            for on in _days(person, start, end)
            for at, record in of_day(person, day_of(person, on))
            if start <= at < end and at <= known_until
        ]
        found.sort(key=lambda one: -one[0])
        return _answer(person, kind, [record for _, record in found])

    def _person(self, request: Request) -> Person:
        grant = grant_of(self._store, SLUG, request.bearer)
        if grant is None:
            raise _AnswerError(401, "The access token is invalid or has expired.")
        return person_of(grant.seed)


def _answer(person: Person, kind: str, records: Sequence[documents.Document]) -> Response:
    head = {"recordType": kind, "recordVersion": "3.0", "userId": documents.user_id(person)}
    return json_response({**head, "records": records})


def _refused(error: _AnswerError) -> Response:
    return json_response({"errors": [error.detail]}, error.status)


def _days(person: Person, start: float, end: float) -> Iterator[date]:
    on = max(WORN_SINCE, local(person, start).date())
    while on <= local(person, end).date():
        yield on
        on += timedelta(days=1)


def _instant(request: Request, name: str) -> float:
    """UTC, without an offset."""
    try:
        moment = datetime.fromisoformat(request.query.get(name, ""))
    except ValueError as error:
        raise _AnswerError(400, f"{name} is not a date and time.") from error
    if moment.tzinfo is not None or not 2000 <= moment.year < 2100:
        raise _AnswerError(400, f"{name} is not a date and time.")
    return moment.replace(tzinfo=UTC).timestamp()


def routes(store: Store) -> tuple[Route, ...]:
    """Dexcom's routes."""
    dexcom = Dexcom(store)
    return (
        Route("GET", f"{_BASE}/egvs", dexcom.egvs),
        Route("GET", f"{_BASE}/events", dexcom.events),
        Route("GET", f"{_BASE}/devices", dexcom.devices),
        Route("GET", f"{_BASE}/dataRange", dexcom.data_range),
    )
