"""Strava's data addresses: activities listed by their start, each with an address of its own for detail and streams.

Read from Strava's API v3 reference, not exercised against a live account.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Final

from aggregation.records import Refusal, StreamRecord, SummaryRecord
from healthsvc.kernel import clock
from healthsvc.kernel.http import HttpReply
from healthsvc.kernel.typing import JSONValue
from links.connectors.base import Pulled, summaries_of
from links.connectors.failures import FailureKind, ProviderFailure
from links.connectors.payload import MalformedError, counted, document, epoch_seconds_of_day
from links.connectors.strava import convert
from links.connectors.strava.hooks import API, StravaHooks
from links.connectors.strava.limits import wait_seconds
from links.connectors.wire import Access, document_of, json_object, list_of

#: The most that Strava gives at once. A page may hold fewer and yet not be the last: only an empty one is.
_ACTIVITIES_A_PAGE: Final = 200
#: A listing that never ends would be a fault of the provider's.
_PAGES_MAXIMUM: Final = 100
_GONE: Final = (404, 410)


class StravaConnector(StravaHooks):
    """Strava's activities and athlete.

    Each activity costs a request for its detail, which alone tells the calories, and one for its streams; the pull of
    the one makes none of the other's. A week is a window that loses little when it is cut off, and seldom has more
    pages than one and the empty one after it.
    """

    window_days: Mapping[str, int] = {
        "workouts": 7,
        "workout_stream": 7,
        # What Strava knows of the person has no days: one call tells all.
        "profile": 366,
    }

    def account_id(self, access: Access) -> str:
        """The athlete's id, by which notices name the account."""
        if not access.scopes & {"read", "profile:read_all"}:
            return ""
        try:
            return convert.identity_of(_athlete(access))
        except MalformedError:
            # A connection without its account's id still gives data.
            return ""

    def pull(self, access: Access, resource: str, start_on: date, end_on: date) -> Pulled:
        """The activities that start from `start_on` to `end_on`, days of UTC, both included."""
        if resource == "workouts":
            return _workouts(access, start_on, end_on)
        if resource == "workout_stream":
            return _streams(access, start_on, end_on)
        if resource == "profile":
            return summaries_of([convert.profile_from_athlete(_athlete(access))])
        raise ProviderFailure(FailureKind.REFUSED)


@dataclass(frozen=True, slots=True)
class _Listing:
    """The activities of a window by their ids, each once, for pages move while they are read."""

    activities: Mapping[str, JSONValue]
    refusals: tuple[Refusal, ...]
    time_zone: str | None


def _workouts(access: Access, start_on: date, end_on: date) -> Pulled:
    listing = _listing(access, start_on, end_on)
    details = (_detail(access, identity) for identity in listing.activities)
    pulled = summaries_of(convert.workout_from_activity(one) for one in details if one is not None)
    return replace(pulled, refusals=listing.refusals + pulled.refusals, time_zone=listing.time_zone)


def _streams(access: Access, start_on: date, end_on: date) -> Pulled:
    """Streams with their workouts as they are listed, for a stream is kept only where one is; the pulls run apart."""
    listing = _listing(access, start_on, end_on)
    workouts: list[SummaryRecord] = []
    streams: list[StreamRecord] = []
    refusals = list(listing.refusals)
    asked = {"keys": ",".join(convert.STREAM_KEYS), "key_by_type": "true"}
    for identity, listed in listing.activities.items():
        found = _asked(access, f"/activities/{identity}/streams", asked) if convert.may_have_streams(listed) else None
        if found is None:
            continue
        workout, course = convert.workout_from_activity(listed), convert.course_from_streams(found, listed)
        refusals += course.refusals
        if isinstance(workout, Refusal):
            refusals.append(workout)
        elif course.stream is not None:
            workouts.append(workout)
            streams.append(course.stream)
    return Pulled(
        workouts=tuple(workouts), streams=tuple(streams), refusals=tuple(refusals), time_zone=listing.time_zone
    )


def _listing(access: Access, start_on: date, end_on: date) -> _Listing:
    activities: dict[str, JSONValue] = {}
    reasons: list[str] = []
    for activity in _rows(access, start_on, end_on):
        try:
            activities[convert.identity_of(document(activity))] = activity
        except MalformedError as error:
            reasons.append(error.reason)
    return _Listing(activities, counted("activity", reasons), convert.time_zone_of(activities.values()))


def _rows(access: Access, start_on: date, end_on: date) -> Iterator[JSONValue]:
    """Every row of every page. Private activities are among them only with `activity:read_all`."""
    span = {
        # Both ends are exclusive.
        "after": str(epoch_seconds_of_day(start_on) - 1),
        "before": str(epoch_seconds_of_day(end_on + timedelta(days=1))),
        "per_page": str(_ACTIVITIES_A_PAGE),
    }
    for page in range(1, _PAGES_MAXIMUM + 1):
        rows = list_of(_called(access, "/athlete/activities", {**span, "page": str(page)}))
        if not rows:
            return
        yield from rows
    raise ProviderFailure(FailureKind.REFUSED)


def _detail(access: Access, identity: str) -> Mapping[str, JSONValue] | None:
    return _asked(access, f"/activities/{identity}", {"include_all_efforts": "false"})


def _asked(access: Access, path: str, query: Mapping[str, str]) -> Mapping[str, JSONValue] | None:
    """What a listed activity's address answers; None where it is gone meanwhile, or has none of that."""
    reply = _called(access, path, query)
    return None if reply.status in _GONE else document_of(reply)


def _athlete(access: Access) -> Mapping[str, JSONValue]:
    return document_of(_called(access, "/athlete", {}))


def _called(access: Access, path: str, query: Mapping[str, str]) -> HttpReply:
    """A call whose refusals say more than their status.

    Under 401 that the token lacks a scope, which no new token mends; under 429 which window is used up.
    """
    reply = access.call("GET", f"{API}{path}", query=query)
    if reply.status == 429 and "Retry-After" not in reply.headers:
        seconds = wait_seconds(reply.headers, clock.now())
        access.after_limited(seconds)
        raise ProviderFailure(FailureKind.RATE_LIMITED, retry_after_seconds=seconds)
    if reply.status == 401 and _lacks_scope(reply.body):
        raise ProviderFailure(FailureKind.SCOPE_MISSING)
    return reply


def _lacks_scope(body: bytes) -> bool:
    errors = json_object(body).get("errors")
    named = [one for one in errors if isinstance(one, Mapping)] if isinstance(errors, list) else []
    return any(one.get("code") == "missing" and str(one.get("field")).endswith("_permission") for one in named)
