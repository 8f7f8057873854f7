"""Google Health's data addresses: data points by type, filtered by the person's own clock, and roll-ups by day.

Read from the reference of Google's Health API v4, not exercised against a live account. Days are the person's own:
every point knows what their clock showed, and Google filters by that. Points are listed from every source, for the
reconciled stream does not say who recorded what; a day's totals are reconciled, for sources may not be added up.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date, timedelta
from typing import Final

from healthsvc.kernel.typing import JSONValue
from links.connectors.base import Pulled, series_of, summaries_of
from links.connectors.failures import FailureKind, ProviderFailure
from links.connectors.google_health import convert
from links.connectors.google_health.answers import document_read
from links.connectors.google_health.hooks import GoogleHealthHooks
from links.connectors.google_health.meals import meal_from_point
from links.connectors.google_health.series import SERIES, series_from_points
from links.connectors.wire import Access

_API: Final = "/v4/users/me"
_SCOPES: Final = "https://www.googleapis.com/auth/googlehealth."
METRICS_SCOPE: Final = f"{_SCOPES}health_metrics_and_measurements.readonly"
#: Google gives up to 10,000; half as many are some two megabytes.
_POINTS_A_PAGE: Final = 5_000
#: The most Google gives of nights and workouts.
_SESSIONS_A_PAGE: Final = 25
_SESSIONS: Final = ("sleep", "exercise")
#: A page token that never ends would be a fault of the provider's.
_PAGES_MAXIMUM: Final = 200
#: Data types of a day's totals. Heart rate needs the scope of health metrics.
_ROLLED_UP: Final = ("steps", "distance", "floors", "active-energy-burned", "total-calories", "active-minutes")
_BEATS: Final = "heart-rate"
#: Google rolls up two weeks of heart rate, energy and active minutes at once, and 90 days of the rest.
_ROLLED_UP_DAYS: Final = 14


class GoogleHealthConnector(GoogleHealthHooks):
    """Google Health's data points.

    A watch measures a pulse every few seconds: three days of it are a dozen pages. Samples of the other kinds come
    once a minute or more seldom.
    """

    window_days: Mapping[str, int] = {
        "sleep": 30,
        "sleep_cycle": 30,
        "activity": _ROLLED_UP_DAYS,
        "workouts": 30,
        "steps": 7,
        "distance": 7,
        "calories_active": 7,
        "floors_climbed": 30,
        "heartrate": 3,
        "hrv": 30,
        "blood_oxygen": 30,
        "respiratory_rate": 30,
        "body": 90,
        "weight": 90,
        "fat": 90,
        "meal": 30,
        "water": 30,
    }

    def account_id(self, access: Access) -> str:
        """The person's id at Google Health, by which notices name the account.

        A connection without it still gives data: of nutrition alone nobody may ask for it, and a Google account that
        no Fitbit was ever used with has none.
        """
        try:
            found = document_read(access.call("GET", f"{_API}/identity")).get("healthUserId")
        except ProviderFailure as failure:
            if failure.kind not in (FailureKind.SCOPE_MISSING, FailureKind.REFUSED):
                raise
            return ""
        return found if isinstance(found, str) else ""

    def pull(self, access: Access, resource: str, start_on: date, end_on: date) -> Pulled:
        """The person's own days from `start_on` to `end_on`, both included."""
        if resource in SERIES:
            kind = SERIES[resource]
            points = _points(access, kind.data_type, kind.filter_field, start_on, end_on)
            return series_of([series_from_points(points, kind)], resource)
        if resource in ("sleep", "sleep_cycle"):
            return _sleep(access, start_on, end_on, stages=resource == "sleep_cycle")
        if resource == "workouts":
            points = _points(access, "exercise", "interval.civil_start_time", start_on, end_on)
            return summaries_of(map(convert.workout_from_point, points))
        if resource == "activity":
            return _activity(access, start_on, end_on)
        if resource == "body":
            weights, fats = (
                _points(access, name, "sample_time.civil_time", start_on, end_on) for name in ("weight", "body-fat")
            )
            return summaries_of(convert.bodies_from_points(weights, fats))
        if resource == "meal":
            points = _points(access, "nutrition-log", "interval.civil_start_time", start_on, end_on)
            return summaries_of(map(meal_from_point, points))
        raise ProviderFailure(FailureKind.REFUSED)


def _sleep(access: Access, start_on: date, end_on: date, *, stages: bool) -> Pulled:
    """Nights that ended on the days; with `stages` each with its stages, which are kept only where their night is."""
    points = list(_points(access, "sleep", "interval.civil_end_time", start_on, end_on))
    nights = [convert.sleep_from_point(one) for one in points]
    if stages:
        nights += [convert.sleep_cycle_from_point(one) for one in points if convert.has_stages(one)]
    pulled = summaries_of(nights)
    # Without those that Google has not worked out yet: they are no mistakes, and come again once they are.
    worked_out = tuple(one for one in pulled.refusals if one.reason != convert.NOT_PROCESSED_YET)
    return replace(pulled, refusals=worked_out)


def _activity(access: Access, start_on: date, end_on: date) -> Pulled:
    """Days with their heart rate, where the person shares that too."""
    measured = METRICS_SCOPE in access.scopes
    names = (*_ROLLED_UP, _BEATS) if measured else _ROLLED_UP
    rollups = (point for name in names for point in _rollups(access, name, start_on, end_on))
    resting = _points(access, "daily-resting-heart-rate", "date", start_on, end_on) if measured else ()
    return summaries_of(convert.activities_from_rollups(rollups, resting))


def _points(access: Access, data_type: str, field: str, start_on: date, end_on: date) -> Iterator[JSONValue]:
    """Every point of every page; a filter names the type with underscores, an address with hyphens."""
    name = f"{data_type.replace('-', '_')}.{field}"
    until = end_on + timedelta(days=1)
    size = _SESSIONS_A_PAGE if data_type in _SESSIONS else _POINTS_A_PAGE
    query = {
        "filter": f'{name} >= "{start_on.isoformat()}" AND {name} < "{until.isoformat()}"',
        "pageSize": str(size),
        "prettyPrint": "false",
    }
    token = ""
    for _ in range(_PAGES_MAXIMUM):
        asked = {**query, "pageToken": token} if token else query
        reply = access.call("GET", f"{_API}/dataTypes/{data_type}/dataPoints", query=asked)
        points, token = _page(document_read(reply), "dataPoints")
        yield from points
        if not token:
            return
    raise ProviderFailure(FailureKind.REFUSED)


def _rollups(access: Access, data_type: str, start_on: date, end_on: date) -> Iterator[JSONValue]:
    """One point a day, of days that have data."""
    asked: dict[str, JSONValue] = {
        "range": {"start": _midnight(start_on), "end": _midnight(end_on + timedelta(days=1))},
        "windowSizeDays": 1,
    }
    token = ""
    for _ in range(_PAGES_MAXIMUM):
        document = {**asked, "pageToken": token} if token else asked
        reply = access.call("POST", f"{_API}/dataTypes/{data_type}/dataPoints:dailyRollUp", document=document)
        points, token = _page(document_read(reply), "rollupDataPoints")
        yield from points
        if not token:
            return
    raise ProviderFailure(FailureKind.REFUSED)


def _page(page: Mapping[str, JSONValue], name: str) -> tuple[list[JSONValue], str]:
    """The points of a page and the next one's token; Google leaves an empty list out."""
    points, token = page.get(name, []), page.get("nextPageToken", "")
    if not isinstance(points, list) or not isinstance(token, str):
        raise ProviderFailure(FailureKind.TRANSPORT)
    return points, token


def _midnight(day: date) -> dict[str, JSONValue]:
    return {"date": {"year": day.year, "month": day.month, "day": day.day}}
