"""WHOOP's data addresses: pages of records by the instant they began, newest first.

Read from WHOOP's developer API v2 reference, not exercised against a live account.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date, timedelta
from typing import Final

from healthsvc.kernel.typing import JSONValue
from links.connectors.base import Pulled, series_of, summaries_of
from links.connectors.failures import FailureKind, ProviderFailure
from links.connectors.whoop import convert
from links.connectors.whoop.hooks import WhoopHooks
from links.connectors.wire import Access

_API: Final = "/developer/v2"
_RECORDS_A_PAGE: Final = "25"
#: A listing that never ends would be a fault of the provider's.
_PAGES_MAXIMUM: Final = 200
_NOT_YET: Final = "not_scored_yet"


class WhoopConnector(WhoopHooks):
    """WHOOP's sleeps, cycles, workouts and recoveries."""

    window_days: Mapping[str, int] = {
        "sleep": 30,
        "activity": 30,
        "workouts": 30,
        "hrv": 30,
        "blood_oxygen": 30,
        # What WHOOP knows of the person has no days: one call tells all.
        "profile": 366,
    }

    def account_id(self, access: Access) -> str:
        """The member's number, by which notices name the account."""
        if "read:profile" not in access.scopes:
            return ""
        found = access.get(f"{_API}/user/profile/basic", {}).get("user_id")
        return str(found) if isinstance(found, int) and not isinstance(found, bool) else ""

    def pull(self, access: Access, resource: str, start_on: date, end_on: date) -> Pulled:
        """Records of the days from `start_on` to `end_on`, both included."""
        span = _span(start_on, end_on)
        if resource == "sleep":
            return _sleep(access, span)
        if resource == "activity":
            return _scored(summaries_of(map(convert.activity_from_cycle, _records(access, "cycle", span))))
        if resource == "workouts":
            records = _records(access, "activity/workout", span)
            return _scored(summaries_of(map(convert.workout_from_workout, records)))
        if resource in ("hrv", "blood_oxygen"):
            return _recovery_series(access, resource, span)
        if resource == "profile":
            measured = access.get(f"{_API}/user/measurement/body", {})
            return summaries_of([convert.profile_from_body_measurement(measured)])
        raise ProviderFailure(FailureKind.REFUSED)


def _sleep(access: Access, span: Mapping[str, str]) -> Pulled:
    """Sleeps, each with its recovery where the member shares those too."""
    may = "read:recovery" in access.scopes
    recoveries = convert.recoveries_by_sleep(_records(access, "recovery", span)) if may else {}
    sleeps = _records(access, "activity/sleep", span)
    return _scored(summaries_of(convert.sleep_from_sleep(one, recoveries=recoveries) for one in sleeps))


def _recovery_series(access: Access, resource: str, span: Mapping[str, str]) -> Pulled:
    sleeps = list(_records(access, "activity/sleep", span)) if "read:sleep" in access.scopes else []
    found = convert.series_from_recoveries(_records(access, "recovery", span), sleeps)
    return _scored(series_of([found], resource))


def _scored(pulled: Pulled) -> Pulled:
    """Without those that WHOOP has not scored yet: they are no mistakes, and come again once they are."""
    return replace(pulled, refusals=tuple(one for one in pulled.refusals if one.reason != _NOT_YET))


def _span(start_on: date, end_on: date) -> dict[str, str]:
    """A day more before: a night and its cycle begin on the evening before their day."""
    return {
        "start": f"{(start_on - timedelta(days=1)).isoformat()}T00:00:00.000Z",
        "end": f"{(end_on + timedelta(days=1)).isoformat()}T00:00:00.000Z",
    }


def _records(access: Access, name: str, span: Mapping[str, str]) -> Iterator[JSONValue]:
    """Every record of every page."""
    query = {**span, "limit": _RECORDS_A_PAGE}
    following = query
    for _ in range(_PAGES_MAXIMUM):
        page = access.get(f"{_API}/{name}", following)
        rows, token = page.get("records"), page.get("next_token")
        if not isinstance(rows, list):
            raise ProviderFailure(FailureKind.TRANSPORT)
        yield from rows
        if not isinstance(token, str) or not token:
            return
        following = {**query, "nextToken": token}
    raise ProviderFailure(FailureKind.REFUSED)
