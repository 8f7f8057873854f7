"""Wahoo's data addresses: workouts listed newest first, each with a summary that names its FIT file.

Read from Wahoo's cloud API documentation, not exercised against a live account.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from aggregation.records import Refusal, StreamRecord, SummaryRecord
from healthsvc.kernel.http import HttpReply
from healthsvc.kernel.typing import JSONValue
from links.connectors.base import Pulled
from links.connectors.failures import FailureKind, ProviderFailure
from links.connectors.fit.download import file_fetch
from links.connectors.fit.reader import FitActivity, activity_read
from links.connectors.payload import MalformedError, counted
from links.connectors.wahoo import convert
from links.connectors.wahoo.catalogue import FILE_HOSTS
from links.connectors.wahoo.hooks import WahooHooks
from links.connectors.wahoo.limits import wait_seconds
from links.connectors.wire import Access, document_of

_WORKOUTS_A_PAGE: Final = "30"
#: A listing that never ends would be a fault of the provider's.
_PAGES_MAXIMUM: Final = 500


class WahooConnector(WahooHooks):
    """Wahoo's workouts.

    The listing has no filter by time: it is read from its newest page to the window's. Each workout costs one more
    request, for the file alone tells the highest values and the course. A week is a window that loses little.
    """

    window_days: Mapping[str, int] = {"workouts": 7, "workout_stream": 7}

    def account_id(self, access: Access) -> str:
        """The user's number, by which notices name the account."""
        if "user_read" not in access.scopes:
            return ""
        try:
            return convert.identity_of(document_of(_called(access, "/v1/user", {})))
        except MalformedError:
            # A connection without its account's id still gives data.
            return ""

    def pull(self, access: Access, resource: str, start_on: date, end_on: date) -> Pulled:
        """The workouts that began from `start_on` to `end_on`, days of UTC, both included."""
        if resource not in self.window_days:
            raise ProviderFailure(FailureKind.REFUSED)
        found = _found(access, start_on, end_on)
        if resource == "workouts":
            return replace(found, streams=())
        # A stream is kept only where its workout is, and the two pulls run apart.
        named = {stream.workout for stream in found.streams}
        return replace(found, summaries=tuple(one for one in found.summaries if one.external_id in named))


@dataclass(frozen=True, slots=True)
class _Taken:
    summary: SummaryRecord | Refusal
    stream: StreamRecord | None = None
    refusals: tuple[Refusal, ...] = ()


def _found(access: Access, start_on: date, end_on: date) -> Pulled:
    listed = {}
    refusals: list[Refusal] = []
    for workout in _rows(access, start_on, end_on):
        identity = workout.get("id") if isinstance(workout, Mapping) else None
        # A workout that is saved while pages are read moves the others down, and one comes twice.
        listed[str(identity)] = workout
    done = [workout for workout in listed.values() if convert.is_done(workout)]
    taken = [_taken(access, workout) for workout in done]
    for one in taken:
        refusals += one.refusals
        if isinstance(one.summary, Refusal):
            refusals.append(one.summary)
    return Pulled(
        summaries=tuple(one.summary for one in taken if isinstance(one.summary, SummaryRecord)),
        streams=tuple(one.stream for one in taken if one.stream is not None),
        refusals=tuple(refusals),
        time_zone=convert.time_zone_of(done),
    )


def _taken(access: Access, workout: JSONValue) -> _Taken:
    file, refusals = _file(access, workout)
    summary = convert.workout_from_workout(workout, file=file)
    if isinstance(summary, Refusal) or file is None:
        return _Taken(summary, None, refusals)
    return _Taken(summary, convert.stream_from_file(file, workout), refusals)


def _file(access: Access, workout: JSONValue) -> tuple[FitActivity | None, tuple[Refusal, ...]]:
    """What the device recorded. A file that can't be had or read leaves the workout without it."""
    address = convert.file_address(workout)
    if address is None:
        return None, ()
    try:
        content = file_fetch(access, address, hosts=FILE_HOSTS)
        return (None if content is None else activity_read(content)), ()
    except MalformedError as error:
        return None, counted("file", [error.reason])


def _rows(access: Access, start_on: date, end_on: date) -> Iterator[JSONValue]:
    """The window's rows. The listing is sorted by `starts`, the newest first, and goes on to the very first workout."""
    first, after = _midnight(start_on), _midnight(end_on + timedelta(days=1))
    for page in range(1, _PAGES_MAXIMUM + 1):
        answer = document_of(_called(access, "/v1/workouts", {"page": str(page), "per_page": _WORKOUTS_A_PAGE}))
        rows = answer.get("workouts")
        if not isinstance(rows, list):
            raise ProviderFailure(FailureKind.TRANSPORT)
        starts = [(convert.started_at(row), row) for row in rows]
        yield from (row for at, row in starts if at is None or first <= at < after)
        if not rows or all(at is not None and at < first for at, _ in starts):
            return
    raise ProviderFailure(FailureKind.REFUSED)


def _called(access: Access, path: str, query: Mapping[str, str]) -> HttpReply:
    reply = access.call("GET", path, query=query)
    if reply.status == 429:
        seconds = wait_seconds(reply)
        access.after_limited(seconds)
        raise ProviderFailure(FailureKind.RATE_LIMITED, retry_after_seconds=seconds)
    return reply


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
