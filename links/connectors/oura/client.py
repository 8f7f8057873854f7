"""Oura's data addresses: paged documents by day, heart rate by instant.

Read from Oura's OpenAPI document 1.35, not exercised against a live account.
"""

from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from typing import Final

from healthsvc.kernel.typing import JSONValue
from links.connectors.base import Pulled, series_of, summaries_of
from links.connectors.failures import FailureKind, ProviderFailure
from links.connectors.oura import convert
from links.connectors.oura.hooks import OuraHooks
from links.connectors.wire import Access

_COLLECTION: Final = "/v2/usercollection/"
#: A page token that never ends would be a fault of the provider's.
_PAGES_MAXIMUM: Final = 500


class OuraConnector(OuraHooks):
    """Oura's `usercollection`."""

    window_days: Mapping[str, int] = {
        "sleep": 30,
        "sleep_cycle": 30,
        "activity": 30,
        "workouts": 30,
        "heartrate": 7,
        "hrv": 30,
        "blood_oxygen": 30,
        # What Oura knows of the person has no days: one call tells all.
        "profile": 366,
        "device": 366,
    }

    def account_id(self, access: Access) -> str:
        """The id of `personal_info`, where its scope was given."""
        if "personal" not in access.scopes:
            return ""
        found = access.get(f"{_COLLECTION}personal_info", {}).get("id")
        return found if isinstance(found, str) else ""

    def pull(self, access: Access, resource: str, start_on: date, end_on: date) -> Pulled:
        """The person's days from `start_on` to `end_on`, both included."""
        days = _days(start_on, end_on)
        if resource == "activity":
            documents = _documents(access, "daily_activity", days)
            return summaries_of(convert.activity_from_daily_activity(one) for one in documents)
        if resource == "workouts":
            return summaries_of(convert.workout_from_workout(one) for one in _documents(access, "workout", days))
        if resource in ("sleep", "sleep_cycle"):
            return _sleep(access, days, stages=resource == "sleep_cycle")
        if resource == "profile":
            return summaries_of([convert.profile_from_personal_info(access.get(f"{_COLLECTION}personal_info", {}))])
        if resource == "hrv":
            return series_of((convert.hrv_from_sleep(one) for one in _documents(access, "sleep", days)), resource)
        if resource == "heartrate":
            return _heartrate(access, start_on, end_on)
        if resource == "blood_oxygen":
            return _blood_oxygen(access, days)
        if resource == "device":
            rings = _documents(access, "ring_configuration", {})
            return summaries_of(convert.device_from_ring_configuration(one) for one in rings)
        raise ProviderFailure(FailureKind.REFUSED)


def _sleep(access: Access, days: Mapping[str, str], *, stages: bool) -> Pulled:
    """Nights; with `stages` each with its stages, which are kept only where their night is."""
    scores = convert.sleep_scores(_documents(access, "daily_sleep", days))
    documents = list(_documents(access, "sleep", days))
    nights = [convert.sleep_from_sleep(one, scores=scores) for one in documents]
    if not stages:
        return summaries_of(nights)
    staged = [one for one in documents if convert.has_stages(one)]
    return summaries_of([*nights, *(convert.sleep_cycle_from_sleep(one) for one in staged)])


def _heartrate(access: Access, start_on: date, end_on: date) -> Pulled:
    offsets = convert.known_offsets(
        _documents(access, "daily_activity", _days(start_on, end_on)) if "daily" in access.scopes else ()
    )
    span = {
        "start_datetime": f"{start_on.isoformat()}T00:00:00Z",
        "end_datetime": f"{(end_on + timedelta(days=1)).isoformat()}T00:00:00Z",
    }
    points = _documents(access, "heartrate", span)
    return series_of([convert.heartrate_from_points(points, offsets)], "heartrate")


def _blood_oxygen(access: Access, days: Mapping[str, str]) -> Pulled:
    """The average of each night. Nights tell when it ended; without their scope the day alone is known."""
    ends = convert.night_ends(_documents(access, "sleep", days)) if "daily" in access.scopes else None
    return series_of(
        [convert.blood_oxygen_from_daily_spo2(_documents(access, "daily_spo2", days), ends)], "blood_oxygen"
    )


def _days(start_on: date, end_on: date) -> dict[str, str]:
    return {"start_date": start_on.isoformat(), "end_date": end_on.isoformat()}


def _documents(access: Access, name: str, query: Mapping[str, str]) -> Iterator[JSONValue]:
    """Every document of every page."""
    following = dict(query)
    for _ in range(_PAGES_MAXIMUM):
        page = access.get(f"{_COLLECTION}{name}", following)
        rows, token = page.get("data"), page.get("next_token")
        if not isinstance(rows, list):
            raise ProviderFailure(FailureKind.TRANSPORT)
        yield from rows
        if not isinstance(token, str) or not token:
            return
        following = {**query, "next_token": token}
    raise ProviderFailure(FailureKind.REFUSED)
