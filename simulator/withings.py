"""Withings' data API as its developer documentation describes it, answered for a simulated person.

Everything travels under HTTP 200; `status` is 0 or an error number. Fields that the documentation marks
"use data_fields to request this" are left out unless they are asked for, as the vendor does.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TypeAlias

from simulator import withings_documents as documents
from simulator.day import Day, day_of, local, midnight
from simulator.grants import grant_of
from simulator.person import WORN_SINCE, Person, person_of
from simulator.sleep import SLOT_SECONDS
from simulator.store import Store
from simulator.tokens import withings_error
from simulator.web import Request, Response, json_response

DAY_SECONDS = 86_400
#: Page sizes are the vendor's own affair; these are small enough that a month needs several pages.
ROWS_A_PAGE = 20
MEASURE_GROUPS_A_PAGE = 25
PLACES_A_DAY = 10

INVALID_PARAMS = 503
UNAUTHORIZED_TOKEN = 401
UNAUTHORIZED_SCOPE = 214


class _AnswerError(Exception):
    """An error answer in the vendor's envelope."""

    def __init__(self, status: int, error: str) -> None:
        super().__init__(error)
        self.status = status
        self.error = error


@dataclass(frozen=True, slots=True)
class _Question:
    """A request by a person's token at an instant."""

    request: Request
    person: Person
    now: float

    def whole(self, name: str) -> int | None:
        text = self.request.field(name)
        if not text:
            return None
        if not text.isdigit() or len(text) > 12:
            raise _AnswerError(INVALID_PARAMS, f"Invalid Params: invalid {name}")
        return int(text)

    @property
    def wanted(self) -> frozenset[str]:
        return frozenset(self.request.field("data_fields").split(","))


_Action: TypeAlias = Callable[[_Question], Mapping[str, object]]


class Withings:
    """POST /withings/measure, /withings/v2/{measure,sleep,user}, told apart by `action`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def measure(self, request: Request) -> Response:
        return self._answer(request, "user.metrics", {"getmeas": _getmeas})

    def measure_v2(self, request: Request) -> Response:
        actions: Mapping[str, _Action] = {
            "getactivity": _getactivity,
            "getintradayactivity": _getintradayactivity,
            "getworkouts": _getworkouts,
        }
        return self._answer(request, "user.activity", actions)

    def sleep_v2(self, request: Request) -> Response:
        return self._answer(request, "user.activity", {"get": _getsleep, "getsummary": _getsummary})

    def user_v2(self, request: Request) -> Response:
        return self._answer(request, "user.info", {"getdevice": _getdevice})

    def _answer(self, request: Request, scope: str, actions: Mapping[str, _Action]) -> Response:
        grant = grant_of(self._store, "withings", request.bearer)
        if grant is None:
            error = "XRequestID: Not provided invalid_token: The access token provided is invalid"
            return withings_error(UNAUTHORIZED_TOKEN, error)
        action = actions.get(request.field("action"))
        if action is None:
            return withings_error(INVALID_PARAMS, "Invalid Params: invalid action")
        if scope not in grant.scopes:
            return withings_error(UNAUTHORIZED_SCOPE, "Insufficient scope")
        try:
            body = action(_Question(request, person_of(grant.seed), self._store.now()))
        except _AnswerError as error:
            return withings_error(error.status, error.error)
        return json_response({"status": 0, "body": body})


def _getmeas(question: _Question) -> Mapping[str, object]:
    person = question.person
    start, end = _span(question)
    types = {int(text) for text in question.request.field("meastypes").split(",") if text.isdigit()}
    single = question.whole("meastype")
    types |= {single} if single is not None else set()

    def rows(day: Day) -> Iterator[documents.Row]:
        for group in documents.measure_groups(person, day, types):
            if start <= group.at <= end and group.at <= question.now:
                yield group.document

    first = local(person, start).date() - timedelta(days=1)
    last = local(person, min(end, question.now)).date()
    page, offset = _page(question, first, last, rows, MEASURE_GROUPS_A_PAGE)
    # Alone among the paged actions, getmeas says `more` as a number.
    paging = {"more": 1, "offset": offset} if offset else {}
    stamp = {"updatetime": int(question.now), "timezone": person.zone}
    return {**stamp, "measuregrps": page, **paging}


def _getactivity(question: _Question) -> Mapping[str, object]:
    def rows(day: Day) -> Iterator[documents.Row]:
        if day.ends_at <= question.now:
            yield documents.activity(question.person, day, question.wanted)

    return _listing(question, "activities", rows)


def _getworkouts(question: _Question) -> Mapping[str, object]:
    def rows(day: Day) -> Iterator[documents.Row]:
        if day.workout and day.workout.ends_at <= question.now:
            yield documents.workout(question.person, day, day.workout, question.wanted)

    return _listing(question, "series", rows)


def _getsummary(question: _Question) -> Mapping[str, object]:
    def rows(day: Day) -> Iterator[documents.Row]:
        for sleep in day.sleeps:
            if sleep.ends_at <= question.now:
                yield documents.sleep_summary(question.person, day, sleep, question.wanted)

    return _listing(question, "series", rows)


def _listing(question: _Question, key: str, rows: Callable[[Day], Iterator[documents.Row]]) -> Mapping[str, object]:
    first, last = _days_asked(question)
    page, offset = _page(question, first, last, rows, ROWS_A_PAGE)
    return {key: page, "more": offset > 0, "offset": offset}


def _getintradayactivity(question: _Question) -> Mapping[str, object]:
    start, end = _window_of_a_day(question)
    series = {
        str(at): entry
        for day in _days(question, start, end)
        for at, entry in documents.intraday(question.person, day, question.wanted)
        if start <= at < end and at + SLOT_SECONDS <= question.now
    }
    # The vendor writes an empty object as an empty list.
    return {"series": series or []}


def _getsleep(question: _Question) -> Mapping[str, object]:
    if question.whole("startdate") is None or question.whole("enddate") is None:
        raise _AnswerError(INVALID_PARAMS, "Invalid Params: startdate and enddate are required")
    start, end = _window_of_a_day(question)
    segments = [
        segment
        for day in _days(question, start - DAY_SECONDS, end + DAY_SECONDS)
        for sleep in day.sleeps
        if sleep.ends_at <= question.now
        for segment in documents.sleep_segments(sleep, question.wanted)
        if start <= segment.starts_at < end
    ]
    return {"series": [segment.document for segment in segments], "model": documents.TRACKER}


def _getdevice(question: _Question) -> Mapping[str, object]:
    return {"devices": documents.devices(question.person, int(question.now))}


def _span(question: _Question) -> tuple[int, int]:
    start, end = question.whole("startdate"), question.whole("enddate")
    since = question.whole("lastupdate")
    if since is not None:
        return since, int(question.now)
    start, end = start or 0, int(question.now) if end is None else end
    if start > end:
        raise _AnswerError(INVALID_PARAMS, "Invalid Params: startdate is after enddate")
    return start, end


def _window_of_a_day(question: _Question) -> tuple[int, int]:
    """Of what lies more than 24 hours after startdate nothing is answered, without a word, as documented."""
    end = question.whole("enddate")
    start = question.whole("startdate")
    end = int(question.now) if end is None else end
    start = end - DAY_SECONDS if start is None else start
    if start > end:
        raise _AnswerError(INVALID_PARAMS, "Invalid Params: startdate is after enddate")
    return start, min(end, start + DAY_SECONDS)


def _days(question: _Question, start: int, end: int) -> Iterator[Day]:
    """The days that have a part in a span of epoch seconds, from the first day worn to the present."""
    person = question.person
    on = max(local(person, max(start, 0)).date(), WORN_SINCE)
    while midnight(person, on) < min(end, question.now):
        yield day_of(person, on)
        on += timedelta(days=1)


def _days_asked(question: _Question) -> tuple[date, date]:
    """The first and last day from startdateymd to enddateymd, or since lastupdate."""
    since = question.whole("lastupdate")
    today = local(question.person, question.now).date()
    if since is not None:
        return local(question.person, since).date() - timedelta(days=1), today
    return _ymd(question, "startdateymd"), min(_ymd(question, "enddateymd"), today)


def _ymd(question: _Question, name: str) -> date:
    try:
        return date.fromisoformat(question.request.field(name))
    except ValueError as error:
        raise _AnswerError(INVALID_PARAMS, f"Invalid Params: invalid {name}") from error


def _page(
    question: _Question, first: date, last: date, rows: Callable[[Day], Iterator[documents.Row]], size: int
) -> tuple[Sequence[documents.Row], int]:
    """One page of the rows of some days, and the offset of the next, 0 where there is none.

    To the client an offset is a number to send back. Here it is the day's number times ten, plus the number
    within the day, so that a late page costs no more than the first.
    """
    first = max(first, WORN_SINCE)
    day_number, skip = divmod(question.whole("offset") or 0, PLACES_A_DAY)
    found: list[tuple[int, documents.Row]] = []
    for number in range(day_number, (last - first).days + 1):
        day = day_of(question.person, first + timedelta(days=number))
        found += [(number * PLACES_A_DAY + index, row) for index, row in enumerate(rows(day)) if index >= skip]
        skip = 0
        if len(found) > size:
            break
    return [row for _, row in found[:size]], found[size][0] if found[size:] else 0
