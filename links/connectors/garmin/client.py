"""Garmin's data addresses: summaries by when a watch sent them, and requests for older ones, which arrive later.

Read from Garmin's Health API and Activity API specifications, not exercised against a live account. What only that
would show: how long an upload can be asked for (a week is taken), whether Garmin allows pulls that no ping asked for
beyond their occasion, and how long older data take to arrive.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from healthsvc.kernel import clock
from healthsvc.kernel.http import HttpReply
from healthsvc.kernel.typing import JSONValue
from links.connectors.base import Pulled, series_of, summaries_of
from links.connectors.failures import FailureKind, ProviderFailure
from links.connectors.garmin import convert, series
from links.connectors.garmin.catalogue import BACKFILL_DAYS, BACKFILL_DAYS_OTHERS, SUMMARIES
from links.connectors.garmin.hooks import GarminHooks
from links.connectors.wire import Access, document_of, failure_of, list_of

#: The longest span of uploads that Garmin answers at once.
_SLICE: Final = timedelta(days=1)
#: Garmin forgets what it has to tell after a week; what is older is asked for anew.
_UPLOADS_KEPT: Final = timedelta(days=7)
_HISTORY: Final = "HISTORICAL_DATA_EXPORT"
_NOT_SHARED: Final = 412
#: A request for older data that was made before, or that is taken, or that the person does not share.
_ASKED: Final = (200, 202, 409, 403, _NOT_SHARED)


class GarminConnector(GarminHooks):
    """Garmin's summaries.

    They are found by when they were uploaded, not by their own days: a window gives what came in during it, which is
    the same once whichever windows are asked for. A window of more than a week can't be served so: it asks Garmin to
    send its days anew. That is taken with 202, and the data come in as uploads of some later moment, told by a ping.
    """

    window_days: Mapping[str, int] = dict.fromkeys(SUMMARIES, 90)

    def account_id(self, access: Access) -> str:
        """The user's id, by which notifications name the account."""
        found = document_of(_called(access, "/user/id", {})).get("userId")
        return found if isinstance(found, str) else ""

    def pull(self, access: Access, resource: str, start_on: date, end_on: date) -> Pulled:
        """What was uploaded from `start_on` to `end_on`, days of UTC, both included; older days are asked for anew."""
        kind = SUMMARIES.get(resource)
        if kind is None:
            raise ProviderFailure(FailureKind.REFUSED)
        now = clock.now()
        first, after = _midnight(start_on), min(_midnight(end_on + timedelta(days=1)), now + timedelta(seconds=1))
        kept_from = _midnight(now.date()) - _UPLOADS_KEPT
        if first < kept_from:
            _backfill(access, kind, first, after)
        return _converted(resource, kind, list(_uploads(access, kind, max(first, kept_from), after)))


def _converted(resource: str, kind: str, rows: Sequence[JSONValue]) -> Pulled:
    if resource == "activity":
        return summaries_of(map(convert.activity_from_daily, convert.newest(rows, "calendarDate")))
    if resource in ("sleep", "sleep_cycle"):
        return _sleeps(rows, stages=resource == "sleep_cycle")
    if resource == "workouts":
        whole = [row for row in convert.newest(rows, "summaryId") if not convert.is_leg(row)]
        return summaries_of(map(convert.workout_from_activity, whole))
    if resource == "body":
        return summaries_of(map(convert.body_from_body_composition, convert.newest(rows, "summaryId")))
    if resource in ("weight", "fat"):
        return series_of([series.series_from_body_compositions(convert.newest(rows, "summaryId"))], resource)
    if resource == "blood_pressure":
        return series_of([series.series_from_blood_pressures(convert.newest(rows, "summaryId"))], resource)
    if resource in series.EPOCHS:
        return series_of([series.series_from_epochs(resource, rows)], resource)
    return series_of([series.series_from_maps(resource, kind, rows)], resource)


def _sleeps(rows: Sequence[JSONValue], *, stages: bool) -> Pulled:
    """Nights, or those that tell their stages with them, for stages are kept only where their night is."""
    nights = convert.newest(rows, "summaryId")
    if not stages:
        return summaries_of(map(convert.sleep_from_sleep, nights))
    staged = [night for night in nights if convert.has_stages(night)]
    return summaries_of(
        [*map(convert.sleep_from_sleep, staged), *(convert.sleep_cycle_from_sleep(one) for one in staged)]
    )


def _uploads(access: Access, kind: str, first: datetime, after: datetime) -> Iterator[JSONValue]:
    """Every summary that was uploaded in a span, the earliest upload first."""
    while first < after:
        last = min(first + _SLICE, after)
        query = {
            "uploadStartTimeInSeconds": str(int(first.timestamp())),
            "uploadEndTimeInSeconds": str(int(last.timestamp())),
        }
        yield from list_of(_called(access, f"/{kind}", query))
        first = last


def _backfill(access: Access, kind: str, first: datetime, after: datetime) -> None:
    """Ask for the days anew, where the person shares what was before. ProviderFailure where it is to be tried again."""
    if _HISTORY not in _permissions(access):
        return
    step = timedelta(days=BACKFILL_DAYS.get(kind, BACKFILL_DAYS_OTHERS))
    while first < after:
        last = min(first + step, after)
        query = {
            "summaryStartTimeInSeconds": str(int(first.timestamp())),
            "summaryEndTimeInSeconds": str(int(last.timestamp())),
        }
        reply = access.call("GET", f"/backfill/{kind}", query=query)
        if reply.status not in _ASKED:
            raise failure_of(reply)
        first = last


def _permissions(access: Access) -> frozenset[str]:
    """What the person shares."""
    found = list_of(_called(access, "/user/permissions", {}))
    return frozenset(one for one in found if isinstance(one, str))


def _called(access: Access, path: str, query: Mapping[str, str]) -> HttpReply:
    """A call whose 412 means that the person does not share this."""
    reply = access.call("GET", path, query=query)
    if reply.status == _NOT_SHARED:
        raise ProviderFailure(FailureKind.SCOPE_MISSING)
    return reply


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
