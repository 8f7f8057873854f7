"""Oura's API v2 as its OpenAPI document (version 1.35) describes it, answered for a simulated person.

Daily documents and nights appear when they are over, heart rate points up to the present: what was once
answered for a date is answered the same for ever.
"""

import base64
import binascii
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice

import orjson

from simulator import oura_documents as documents
from simulator.day import day_of, instant_of, local, midnight
from simulator.grants import Grant, grant_of
from simulator.person import WORN_SINCE, Person, person_of
from simulator.store import Store
from simulator.web import Request, Response, json_response

#: Page sizes are the vendor's own affair; these are small enough that a month needs several pages.
DOCUMENTS_A_PAGE = 12
POINTS_A_PAGE = 1000
#: A place in a listing of documents is the day's ordinal times this, plus the number within the day.
PLACES_A_DAY = 10
#: Oura's activity day runs from 4 a.m. to 4 a.m.
ACTIVITY_DAY_STARTS_AT = time(4)


class _AnswerError(Exception):
    """An error answer in the vendor's form."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


class Oura:
    """The `/oura/v2/usercollection` endpoints."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def personal_info(self, request: Request) -> Response:
        try:
            grant = self._grant(request, "personal")
        except _AnswerError as error:
            return _error(error)
        person = person_of(grant.seed)
        today = local(person, self._store.now()).date()
        email = grant.account if "email" in grant.scopes else None
        return json_response(documents.personal_info(person, today, email))

    def daily_activity(self, request: Request) -> Response:
        return self._documents(request, "daily", self._daily_activity)

    def daily_sleep(self, request: Request) -> Response:
        return self._documents(request, "daily", self._daily_sleep)

    def sleep(self, request: Request) -> Response:
        return self._documents(request, "daily", self._sleep)

    def daily_spo2(self, request: Request) -> Response:
        return self._documents(request, "spo2", self._daily_spo2)

    def ring_configuration(self, request: Request) -> Response:
        """The rings, which have no day: one page holds them."""
        try:
            person = person_of(self._grant(request, "ring_configuration").seed)
        except _AnswerError as error:
            return _error(error)
        set_up_at = datetime.fromtimestamp(midnight(person, WORN_SINCE), UTC)
        return _answer(request, [documents.ring_configuration(person, set_up_at)], None)

    def workout(self, request: Request) -> Response:
        return self._documents(request, "workout", self._workout)

    def heartrate(self, request: Request) -> Response:
        """Five-minute points, each minute in workouts; `start_datetime` ≤ point < `end_datetime`."""
        try:
            grant = self._grant(request, "heartrate")
            now = self._store.now()
            end = _instant(request, "end_datetime", now)
            start = _instant(request, "start_datetime", end - 86_400)
            if start > end:
                raise _AnswerError(400, "start_datetime is after end_datetime.")
            place = _place(request)
            points = _points(person_of(grant.seed), start if place is None else place, min(end, now))
            page = list(islice(points, POINTS_A_PAGE + 1))
            return _answer(request, page[:POINTS_A_PAGE], page[POINTS_A_PAGE].at if page[POINTS_A_PAGE:] else None)
        except _AnswerError as error:
            return _error(error)

    def _documents(
        self,
        request: Request,
        scope: str,
        of_day: Callable[[Person, date, float], Iterator[documents.Document]],
    ) -> Response:
        """Documents whose `day` lies from start_date to end_date, both included, in pages."""
        try:
            grant = self._grant(request, scope)
            person, now = person_of(grant.seed), self._store.now()
            today = local(person, now).date()
            end = _date(request, "end_date", today)
            start = _date(request, "start_date", end - timedelta(days=1))
            if start > end:
                raise _AnswerError(400, "start_date is after end_date.")
            place = _place(request)
            skip = 0
            if place is not None:
                start, skip = date.fromordinal(max(1, place // PLACES_A_DAY)), place % PLACES_A_DAY
            found: list[tuple[int, documents.Document]] = []
            for on in _days(max(start, WORN_SINCE), min(end, today)):
                for index, document in enumerate(of_day(person, on, now)):
                    if index >= skip:
                        found.append((on.toordinal() * PLACES_A_DAY + index, document))
                skip = 0
                if len(found) > DOCUMENTS_A_PAGE:
                    break
            following = found[DOCUMENTS_A_PAGE][0] if found[DOCUMENTS_A_PAGE:] else None
            return _answer(request, [document for _, document in found[:DOCUMENTS_A_PAGE]], following)
        except _AnswerError as error:
            return _error(error)

    def _grant(self, request: Request, scope: str) -> Grant:
        grant = grant_of(self._store, "oura", request.bearer)
        if grant is None:
            raise _AnswerError(401, "The access token is expired, malformed or revoked.")
        if scope not in grant.scopes:
            raise _AnswerError(403, f"The access token lacks the scope {scope}.")
        return grant

    @staticmethod
    def _daily_activity(person: Person, on: date, now: float) -> Iterator[documents.Document]:
        starts_at = instant_of(person, on, ACTIVITY_DAY_STARTS_AT)
        ends_at = instant_of(person, on + timedelta(days=1), ACTIVITY_DAY_STARTS_AT)
        if ends_at <= now:
            slots = day_of(person, on).slots + day_of(person, on + timedelta(days=1)).slots
            within = [slot for slot in slots if starts_at <= slot.starts_at < ends_at]
            yield documents.daily_activity(person, on, within)

    @staticmethod
    def _daily_sleep(person: Person, on: date, now: float) -> Iterator[documents.Document]:
        night = day_of(person, on).night
        if night.ends_at <= now:
            yield documents.daily_sleep(person, on, night)

    @staticmethod
    def _daily_spo2(person: Person, on: date, now: float) -> Iterator[documents.Document]:
        night = day_of(person, on).night
        if night.ends_at <= now:
            yield documents.daily_spo2(person, on, night)

    @staticmethod
    def _sleep(person: Person, on: date, now: float) -> Iterator[documents.Document]:
        for period, sleep in enumerate(day_of(person, on).sleeps):
            if sleep.ends_at <= now:
                yield documents.sleep(person, on, sleep, period)

    @staticmethod
    def _workout(person: Person, on: date, now: float) -> Iterator[documents.Document]:
        workout = day_of(person, on).workout
        if workout and workout.ends_at <= now:
            yield documents.workout(person, on, workout)


@dataclass(frozen=True, slots=True)
class _Point:
    """A heart rate point and its instant, epoch seconds."""

    at: int
    document: documents.Document


def _days(first: date, last: date) -> Iterator[date]:
    for number in range(first.toordinal(), last.toordinal() + 1):
        yield date.fromordinal(number)


def _points(person: Person, start: float, end: float) -> Iterator[_Point]:
    on = max(local(person, start).date(), WORN_SINCE)
    while midnight(person, on) < end:
        day = day_of(person, on)
        for slot in day.slots:
            if slot.kind == "workout" and day.workout:
                minute = (slot.starts_at - day.workout.starts_at) // 60
                values: Sequence[int | None] = day.workout.bpm[minute : minute + 5]
            else:
                values = (slot.bpm,)
            for index, bpm in enumerate(values):
                at = slot.starts_at + 60 * index
                if bpm is not None and start <= at < end:
                    yield _Point(at, documents.heart_rate_point(at, bpm, slot.kind))
        on += timedelta(days=1)


def _answer(request: Request, chosen: Sequence[documents.Document | _Point], following: int | None) -> Response:
    """One page. `following` is the place at which the next one begins, None on the last."""
    rows = [item.document if isinstance(item, _Point) else item for item in chosen]
    fields = [name for name in request.query.get("fields", "").split(",") if name]
    if fields:
        rows = [{name: row[name] for name in ("id", *fields) if name in row} for row in rows]
    token = None if following is None else _token(request, following)
    return json_response({"data": rows, "next_token": token})


def _question(request: Request) -> str:
    names = ("start_date", "end_date", "start_datetime", "end_datetime")
    return "|".join([request.path, *(request.query.get(name, "") for name in names)])


def _token(request: Request, place: int) -> str:
    return base64.urlsafe_b64encode(orjson.dumps([place, _question(request)])).decode()


def _place(request: Request) -> int | None:
    """Where a page begins. A token is good only for the very question it came with."""
    token = request.query.get("next_token")
    if not token:
        return None
    try:
        place, question = orjson.loads(base64.b64decode(token, altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, TypeError) as error:
        raise _AnswerError(400, "next_token is not valid.") from error
    if question != _question(request) or not isinstance(place, int) or not 0 <= place < 2**33:
        raise _AnswerError(400, "next_token belongs to another request.")
    return place


def _date(request: Request, name: str, default: date) -> date:
    text = request.query.get(name)
    if not text:
        return default
    try:
        return date.fromisoformat(text) if len(text) == len("2026-01-31") else datetime.fromisoformat(text).date()
    except ValueError as error:
        raise _AnswerError(400, f"{name} is not a date.") from error


def _instant(request: Request, name: str, default: float) -> float:
    text = request.query.get(name)
    if not text:
        return default
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise _AnswerError(400, f"{name} is not a date and time.") from error
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _error(error: _AnswerError) -> Response:
    return json_response({"detail": error.detail}, error.status)
