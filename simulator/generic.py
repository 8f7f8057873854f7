"""Data in one generic shape for every vendor whose own shape nobody plays: pages of rows by day.

`GET /{slug}/data/{resource}?start=YYYY-MM-DD&end=YYYY-MM-DD&cursor=` with a bearer token. The days are the person's
own, both included. Every answer tells what is left of the minute's calls.
"""

from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from itertools import islice
from typing import Final

from simulator.day import day_of, local
from simulator.generic_documents import DOCUMENTS, profile
from simulator.generic_series import SERIES, Row
from simulator.grants import Grant, grant_of
from simulator.person import WORN_SINCE, Person, person_of
from simulator.store import Store
from simulator.web import Handler, Request, Response, Route, json_response

SAMPLES_A_PAGE: Final = 500
DOCUMENTS_A_PAGE: Final = 20
#: Calls of one account a minute.
CALLS_A_MINUTE: Final = 600
_WINDOW_SECONDS: Final = 60
_DAYS_MAXIMUM: Final = 366


class _AnswerError(Exception):
    def __init__(self, status: int, error: str, headers: tuple[tuple[str, str], ...] = ()) -> None:
        super().__init__(error)
        self.status = status
        self.error = error
        self.headers = headers


class Generic:
    """The data endpoints, over one store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def resource(self, name: str) -> Handler:
        """The handler of one resource."""

        def handler(request: Request) -> Response:
            try:
                grant, headers = self._grant(request)
                page = self._page(name, person_of(grant.seed), request)
            except _AnswerError as error:
                return json_response({"error": error.error}, error.status, error.headers)
            return json_response(page, headers=headers)

        return handler

    def _grant(self, request: Request) -> tuple[Grant, tuple[tuple[str, str], ...]]:
        grant = grant_of(self._store, request.slug, request.bearer)
        if grant is None:
            raise _AnswerError(401, "invalid_token")
        now = int(self._store.now())
        window, elapsed = divmod(now, _WINDOW_SECONDS)
        with self._store.writing() as connection:
            connection.execute("DELETE FROM data_window WHERE grant_id = ? AND minute < ?", (grant.id, window))
            used = connection.execute(
                "INSERT INTO data_window VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET count = count + 1 RETURNING count",
                (grant.id, window),
            ).fetchone()["count"]
        reset = str(_WINDOW_SECONDS - elapsed)
        headers = (
            ("RateLimit-Limit", str(CALLS_A_MINUTE)),
            ("RateLimit-Remaining", str(max(0, CALLS_A_MINUTE - used))),
            ("RateLimit-Reset", reset),
        )
        if used > CALLS_A_MINUTE:
            raise _AnswerError(429, "rate_limited", (*headers, ("Retry-After", reset)))
        return grant, headers

    def _page(self, name: str, person: Person, request: Request) -> Mapping[str, object]:
        now = self._store.now()
        today = local(person, now).date()
        series = SERIES.get(name)
        answer: dict[str, object] = {"resource": name, "time_zone": person.zone}
        if series:
            answer["unit"] = series.unit
        if name == "profile":
            return {**answer, "data": [profile(person)], "next_cursor": None}
        start, end = _date(request, "start", today), _date(request, "end", today)
        if start > end or (end - start).days >= _DAYS_MAXIMUM:
            raise _AnswerError(400, "invalid_range")
        first, skip = _cursor(request, start)
        of_day = series.rows if series else DOCUMENTS[name]
        size = SAMPLES_A_PAGE if series else DOCUMENTS_A_PAGE

        def found() -> Iterator[tuple[str, object]]:
            on = max(first, WORN_SINCE)
            while on <= min(end, today):
                rows: Iterator[Row] = of_day(person, day_of(person, on))
                for place, (known_at, row) in enumerate(rows):
                    if known_at <= now and (on != first or place >= skip):
                        yield f"{on.isoformat()}.{place}", row
                on += timedelta(days=1)

        page = list(islice(found(), size + 1))
        following = page[size][0] if page[size:] else None
        return {**answer, "data": [row for _, row in page[:size]], "next_cursor": following}


def routes(store: Store) -> tuple[Route, ...]:
    """One route a resource."""
    generic = Generic(store)
    names = (*SERIES, *DOCUMENTS, "profile")
    return tuple(Route("GET", f"/{{slug}}/data/{name}", generic.resource(name)) for name in names)


def _date(request: Request, name: str, default: date) -> date:
    text = request.query.get(name, "")
    try:
        return date.fromisoformat(text) if text else default
    except ValueError:
        raise _AnswerError(400, f"invalid_{name}") from None


def _cursor(request: Request, start: date) -> tuple[date, int]:
    """The day and the place in it to go on from."""
    text = request.query.get("cursor", "")
    day, _, place = text.partition(".")
    if not text:
        return start, 0
    try:
        on = date.fromisoformat(day)
    except ValueError:
        raise _AnswerError(400, "invalid_cursor") from None
    if not (place.isascii() and place.isdigit()) or on < start:
        raise _AnswerError(400, "invalid_cursor")
    return on, int(place)
