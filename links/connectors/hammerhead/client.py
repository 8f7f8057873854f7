"""Hammerhead's data addresses: a list of activities by the day they came in, and the FIT file of each.

Read from Hammerhead's API reference, not exercised against a live account.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from urllib.parse import quote

from aggregation.records import Refusal, StreamRecord, SummaryRecord
from healthsvc.kernel.typing import JSONValue
from links.connectors.base import Pulled
from links.connectors.failures import FailureKind, ProviderFailure
from links.connectors.fit.download import file_fetch
from links.connectors.fit.reader import activity_read
from links.connectors.hammerhead import convert
from links.connectors.hammerhead.hooks import HammerheadHooks
from links.connectors.payload import MalformedError, counted, document
from links.connectors.wire import Access

_API: Final = "/v1/api"
_ACTIVITIES_A_PAGE: Final = "100"
#: A listing that never ends would be a fault of the provider's.
_PAGES_MAXIMUM: Final = 200


class HammerheadConnector(HammerheadHooks):
    """Hammerhead's rides.

    Each costs a request for its file, which alone tells when it was and what it came to. A week is a window that loses
    little when it is cut off.
    """

    window_days: Mapping[str, int] = {"workouts": 7, "workout_stream": 7}

    def account_id(self, access: Access) -> str:
        """Nothing is asked: the token answer names the account (`user_id`), and no address of its own does."""
        del access
        return ""

    def pull(self, access: Access, resource: str, start_on: date, end_on: date) -> Pulled:
        """The activities that came in from `start_on` to `end_on`, days of UTC, both included."""
        if resource not in self.window_days:
            raise ProviderFailure(FailureKind.REFUSED)
        found = _found(access, start_on, end_on)
        if resource == "workouts":
            return replace(found, streams=())
        # A stream is kept only where its workout is, and the two pulls run apart.
        named = {stream.workout for stream in found.streams}
        return replace(found, summaries=tuple(one for one in found.summaries if one.external_id in named))


@dataclass(frozen=True, slots=True)
class _Listing:
    """The activities of a window by their ids, each once, for pages move while they are read."""

    activities: Mapping[str, JSONValue]
    refusals: tuple[Refusal, ...]


def _found(access: Access, start_on: date, end_on: date) -> Pulled:
    listing = _listing(access, start_on, end_on)
    summaries: list[SummaryRecord] = []
    streams: list[StreamRecord] = []
    refusals = list(listing.refusals)
    for identity, activity in listing.activities.items():
        try:
            content = file_fetch(access, f"{access.api_url}{_API}/activities/{quote(identity, safe='')}/file")
            if content is None:
                raise MalformedError("file_missing")
            file = activity_read(content)
            stream = convert.stream_from_file(file, activity)
        except MalformedError as error:
            refusals += counted("file", [error.reason])
            continue
        workout = convert.workout_from_activity(activity, file=file)
        if isinstance(workout, Refusal):
            refusals.append(workout)
            continue
        summaries.append(workout)
        if stream is not None:
            streams.append(stream)
    return Pulled(summaries=tuple(summaries), streams=tuple(streams), refusals=tuple(refusals))


def _listing(access: Access, start_on: date, end_on: date) -> _Listing:
    first, after = _midnight(start_on), _midnight(end_on + timedelta(days=1))
    activities: dict[str, JSONValue] = {}
    reasons: list[str] = []
    for activity in _rows(access, start_on):
        try:
            item = document(activity)
            if first <= convert.created_at(item) < after:
                activities[convert.identity_of(item)] = activity
        except MalformedError as error:
            reasons.append(error.reason)
    return _Listing(activities, counted("activity", reasons))


def _rows(access: Access, start_on: date) -> Iterator[JSONValue]:
    """Every row since the day before: whether the filter goes by a ride's start is not told. It has no other end."""
    query = {"perPage": _ACTIVITIES_A_PAGE, "startDate": (start_on - timedelta(days=1)).isoformat()}
    for page in range(1, _PAGES_MAXIMUM + 1):
        answer = access.get(f"{_API}/activities", {**query, "page": str(page)})
        rows, pages = answer.get("data"), answer.get("totalPages")
        if not isinstance(rows, list):
            raise ProviderFailure(FailureKind.TRANSPORT)
        yield from rows
        if not rows or (isinstance(pages, int) and page >= pages):
            return
    raise ProviderFailure(FailureKind.REFUSED)


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
