"""Polar's data addresses, none of which has pages: lists of the last weeks, and days by their date.

Before anything is read the person is registered with the application. A login does not do it, and registering twice
is an error: so it is done when Polar refuses, and then the question is asked again.
Read from Polar's AccessLink API v3 documentation, not exercised against a live account.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import Final
from urllib.parse import quote
from uuid import uuid4

from aggregation.records import Refusal, StreamRecord, SummaryRecord
from healthsvc.kernel import clock
from healthsvc.kernel.http import HttpReply
from healthsvc.kernel.typing import JSONValue
from links.connectors.base import Pulled, series_of, summaries_of
from links.connectors.failures import FailureKind, ProviderFailure
from links.connectors.payload import MalformedError
from links.connectors.polar import convert, samples
from links.connectors.polar.clock import KnownOffset, exercise_start, known_offsets, named
from links.connectors.polar.hooks import PolarHooks
from links.connectors.wire import Access, document_of, failure_of, list_of

#: Days of activity older than a year are not told, and asking for them is an error.
_ACTIVITY_DAYS: Final = 364
_NOTHING: Final = (204, 404)


class PolarConnector(PolarHooks):
    """Polar's nights, days, exercises and what the watch recorded through them."""

    window_days: Mapping[str, int] = {
        "sleep": 28,
        "sleep_cycle": 28,
        "activity": 28,
        "workouts": 28,
        # An exercise, or a day, costs a request.
        "workout_stream": 7,
        "heartrate": 7,
        "hrv": 28,
        "respiratory_rate": 28,
        "steps": 7,
    }

    def account_id(self, access: Access) -> str:
        """Polar's number of the person, where the token's answer left it out; '' where they were registered before."""
        return _registered(access)

    def pull(self, access: Access, resource: str, start_on: date, end_on: date) -> Pulled:
        """The days from `start_on` to `end_on`, the person's own, both included."""
        if resource == "sleep":
            return _nights(access, start_on, end_on, stages=False)
        if resource == "sleep_cycle":
            return _nights(access, start_on, end_on, stages=True)
        if resource == "activity":
            return summaries_of(map(convert.activity_from_summary, _activities(access, start_on, end_on)))
        if resource == "workouts":
            exercises = _exercises(access, start_on, end_on, {"zones": "true"})
            return summaries_of(map(convert.workout_from_exercise, exercises))
        if resource == "workout_stream":
            return _streams(access, start_on, end_on)
        if resource in ("hrv", "respiratory_rate"):
            nights = convert.by_date(_list(access, "/v3/users/sleep", "nights"))
            recharges = _within(_list(access, "/v3/users/nightly-recharge", "recharges"), start_on, end_on)
            return series_of([samples.series_from_recharges(resource, recharges, nights)], resource)
        if resource == "heartrate":
            days = list(_heart_rates(access, start_on, end_on))
            return series_of([samples.heartrate_from_days(days, _offsets(access))], resource)
        if resource == "steps":
            activities = _activities(access, start_on, end_on)
            return series_of([samples.steps_from_summaries(activities, _offsets(access))], resource)
        raise ProviderFailure(FailureKind.REFUSED)


def _nights(access: Access, start_on: date, end_on: date, *, stages: bool) -> Pulled:
    """Nights with their Nightly Recharge; with `stages` each with its stages, which are kept only where it is."""
    nights = _within(_list(access, "/v3/users/sleep", "nights"), start_on, end_on)
    recharges = convert.by_date(_list(access, "/v3/users/nightly-recharge", "recharges"))
    converted = [convert.sleep_from_night(one, recharges=recharges) for one in nights]
    if stages:
        converted += [convert.sleep_cycle_from_night(one) for one in nights if convert.has_stages(one)]
    return summaries_of(converted)


def _streams(access: Access, start_on: date, end_on: date) -> Pulled:
    """Courses with their workouts, without which they are not kept."""
    summaries: list[SummaryRecord] = []
    streams: list[StreamRecord] = []
    refusals: list[Refusal] = []
    for listed in _exercises(access, start_on, end_on, {"zones": "true"}):
        workout = convert.workout_from_exercise(listed)
        if isinstance(workout, Refusal):
            refusals.append(workout)
            continue
        path = f"/v3/exercises/{quote(workout.external_id, safe='')}"
        reply = _asked(access, path, {"samples": "true", "route": "true"})
        course = None if reply.status in _NOTHING else samples.stream_from_exercise(document_of(reply))
        if isinstance(course, Refusal):
            refusals.append(course)
        elif course is not None:
            summaries.append(workout)
            streams.append(course)
    return Pulled(summaries=tuple(summaries), streams=tuple(streams), refusals=tuple(refusals))


def _exercises(access: Access, start_on: date, end_on: date, query: Mapping[str, str]) -> list[JSONValue]:
    """The exercises that began on the days asked for. One whose start can't be read is left to its converter."""
    found: list[JSONValue] = []
    for one in _rows(_asked(access, "/v3/exercises", query)):
        try:
            began_on = exercise_start(named(one)).date()
        except MalformedError:
            began_on = start_on
        if start_on <= began_on <= end_on:
            found.append(one)
    return found


def _activities(access: Access, start_on: date, end_on: date) -> Sequence[JSONValue]:
    first = max(start_on, clock.now().date() - timedelta(days=_ACTIVITY_DAYS))
    if first > end_on:
        return ()
    span = {"from": first.isoformat(), "to": end_on.isoformat()}
    return _rows(_asked(access, "/v3/users/activities", {**span, "steps": "true", "activity_zones": "true"}))


def _heart_rates(access: Access, start_on: date, end_on: date) -> Iterator[JSONValue]:
    """Each day that has some."""
    for day in range((end_on - start_on).days + 1):
        on = start_on + timedelta(days=day)
        reply = _asked(access, f"/v3/users/continuous-heart-rate/{on.isoformat()}", {})
        if reply.status not in _NOTHING:
            yield document_of(reply)


def _offsets(access: Access) -> Sequence[KnownOffset]:
    """Where the person's clock stood, as everything of the last weeks tells that names it."""
    nights = _list(access, "/v3/users/sleep", "nights")
    return known_offsets(nights, _rows(_asked(access, "/v3/exercises", {})))


def _within(records: Sequence[JSONValue], start_on: date, end_on: date) -> list[JSONValue]:
    """Those of the days asked for. One whose date can't be read is left to its converter."""
    dated = {id(record): day for day, record in convert.by_date(records).items()}
    return [one for one in records if start_on <= dated.get(id(one), start_on) <= end_on]


def _list(access: Access, path: str, name: str) -> Sequence[JSONValue]:
    """The list under a name."""
    reply = _asked(access, path, {})
    if reply.status == 204:
        return ()
    listed = document_of(reply).get(name)
    if not isinstance(listed, list):
        raise ProviderFailure(FailureKind.TRANSPORT)
    return listed


def _rows(reply: HttpReply) -> Sequence[JSONValue]:
    return () if reply.status == 204 else list_of(reply)


def _asked(access: Access, path: str, query: Mapping[str, str]) -> HttpReply:
    """A question; asked once more where the person had to be registered first."""
    reply = access.call("GET", path, query=query)
    if reply.status != 403:
        return reply
    _registered(access)
    return access.call("GET", path, query=query)


def _registered(access: Access) -> str:
    """Register the person, under a name that means nothing. Polar's number of them; '' where they were already."""
    reply = access.call("POST", "/v3/users", document={"member-id": uuid4().hex})
    if reply.status in (204, 409):
        return ""
    if reply.status not in (200, 201):
        raise failure_of(reply)
    found = document_of(reply).get("polar-user-id")
    return str(found) if isinstance(found, int) and not isinstance(found, bool) else ""
