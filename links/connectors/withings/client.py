"""Withings' data addresses: actions posted as forms, answered in an envelope, paged by offset.

Read from Withings' public API reference, not exercised against a live account.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import date, timedelta
from typing import Final

from aggregation.records import Refusal, SummaryRecord
from healthsvc.kernel.typing import JSONValue
from links.connectors.base import Pulled, series_of, summaries_of
from links.connectors.envelopes import body_posted
from links.connectors.failures import FailureKind, ProviderFailure
from links.connectors.payload import epoch_seconds_of_day
from links.connectors.wire import Access
from links.connectors.withings import convert, nights
from links.connectors.withings.devices import device_from_device
from links.connectors.withings.hooks import WithingsHooks

_PAGES_MAXIMUM: Final = 500

#: Fields that Withings leaves out unless they are asked for, by action.
_FIELDS: Final[Mapping[str, str]] = {
    "getactivity": "steps,distance,elevation,soft,moderate,intense,calories,totalcalories,hr_average,hr_min,hr_max",
    "getworkouts": "calories,distance,steps,hr_average,hr_max,manual_calories,manual_distance,pause_duration,"
    "algo_pause_duration",
    "getsummary": "total_sleep_time,asleepduration,lightsleepduration,remsleepduration,deepsleepduration,"
    "sleep_efficiency,sleep_latency,wakeupduration,sleep_score,hr_average,hr_min,rr_average",
}
_INTRADAY_FIELDS: Final[Mapping[str, str]] = {
    "heartrate": "heart_rate",
    "steps": "steps,duration",
    "distance": "distance,duration",
    "calories_active": "calories,duration",
    "floors_climbed": "elevation,duration",
}
_NIGHT_FIELDS: Final = "hr,rmssd,sdnn_1"
#: Numbers of the measures that make up a resource.
_MEASURES: Final[Mapping[str, str]] = {
    "weight": "1",
    "fat": "6",
    "lean_body_mass": "5",
    "body": "1,5,6,8,76,77,88,170",
    "blood_pressure": "9,10",
    "blood_oxygen": "54",
    "body_temperature": "71",
    "heartrate": "11",
}


#: Resources that are listed day by day: path, action, the list's name in the answer, and the converter of a row.
_LISTINGS: Final[Mapping[str, tuple[str, str, str, Callable[[JSONValue], SummaryRecord | Refusal]]]] = {
    "activity": ("/v2/measure", "getactivity", "activities", convert.activity_from_activity),
    "workouts": ("/v2/measure", "getworkouts", "series", convert.workout_from_workout),
    "sleep": ("/v2/sleep", "getsummary", "series", convert.sleep_from_summary),
}


class WithingsConnector(WithingsHooks):
    """Withings' Measure, Sleep and User services."""

    window_days: Mapping[str, int] = {
        "sleep": 30,
        # Each night is a call of its own.
        "sleep_cycle": 7,
        "hrv": 7,
        "activity": 30,
        "workouts": 30,
        "heartrate": 7,
        "steps": 7,
        "distance": 7,
        "calories_active": 7,
        "floors_climbed": 7,
        "weight": 30,
        "fat": 30,
        "lean_body_mass": 30,
        "body": 30,
        "blood_pressure": 30,
        "blood_oxygen": 30,
        "body_temperature": 30,
        # The account's devices have no days: one call tells all.
        "device": 366,
    }

    def account_id(self, access: Access) -> str:
        """The token endpoint has told it already."""
        return ""

    def pull(self, access: Access, resource: str, start_on: date, end_on: date) -> Pulled:
        """The person's days from `start_on` to `end_on`, both included."""
        days = {"startdateymd": start_on.isoformat(), "enddateymd": end_on.isoformat()}
        if resource in _LISTINGS:
            path, action, name, converted = _LISTINGS[resource]
            rows = list(_rows(access, path, action, name, days))
            return replace(summaries_of(converted(row) for row in rows), time_zone=_time_zone(rows))
        if resource == "sleep_cycle":
            return _stages(access, days)
        if resource == "hrv":
            return _in_nights(access, days, resource)
        if resource == "heartrate":
            return _heartrate(access, start_on, end_on)
        if resource in _INTRADAY_FIELDS:
            return _intraday(access, resource, start_on, end_on)
        if resource == "device":
            devices = body_posted(access, "/v2/user", {"action": "getdevice"}).get("devices")
            return summaries_of(map(device_from_device, devices if isinstance(devices, list) else ()))
        if resource in _MEASURES:
            return _measures(access, resource, start_on, end_on)
        raise ProviderFailure(FailureKind.REFUSED)


def _intraday(access: Access, resource: str, start_on: date, end_on: date) -> Pulled:
    """Day by day, for more than 24 hours after `startdate` are not answered."""
    days = {"startdateymd": start_on.isoformat(), "enddateymd": end_on.isoformat()}
    time_zone = _time_zone(_rows(access, "/v2/measure", "getactivity", "activities", days))
    found = []
    for offset in range((end_on - start_on).days + 1):
        start = epoch_seconds_of_day(start_on + timedelta(days=offset))
        form = {
            "action": "getintradayactivity",
            "startdate": str(start),
            "enddate": str(start + 86_400),
            "data_fields": _INTRADAY_FIELDS[resource],
        }
        body = body_posted(access, "/v2/measure", form)
        found.append(convert.series_from_intraday(body.get("series"), time_zone=time_zone))
    return replace(series_of(found, resource), time_zone=time_zone)


def _stages(access: Access, days: Mapping[str, str]) -> Pulled:
    """Nights, each with its stages, which are kept only where their night is. One that has none yet has none here."""
    rows = _summaries(access, days)
    converted: list[SummaryRecord | Refusal] = []
    for row in rows:
        converted.append(convert.sleep_from_summary(row))
        segments = _segments(access, row)
        if segments:
            converted.append(nights.sleep_cycle_from_segments(row, segments=segments))
    return replace(summaries_of(converted), time_zone=_time_zone(rows))


def _in_nights(access: Access, days: Mapping[str, str], resource: str) -> Pulled:
    """One of the series that are measured in bed."""
    rows = _summaries(access, days)
    found = []
    for row in rows:
        night = nights.night_of(row)
        if night is not None and (resource != "heartrate" or night.is_on_monitor):
            found.append(nights.series_from_segments(_segments(access, row), night))
    return replace(series_of(found, resource), time_zone=_time_zone(rows))


def _heartrate(access: Access, start_on: date, end_on: date) -> Pulled:
    """The beats of a watch through the day, of a mat through the night, of a cuff or a scale where it is allowed."""
    days = {"startdateymd": start_on.isoformat(), "enddateymd": end_on.isoformat()}
    found = [_intraday(access, "heartrate", start_on, end_on), _in_nights(access, days, "heartrate")]
    if "user.metrics" in access.scopes:
        found.append(_measures(access, "heartrate", start_on, end_on))
    zones = [one.time_zone for one in found if one.time_zone]
    return Pulled(
        series=tuple(batch for one in found for batch in one.series),
        refusals=tuple(refusal for one in found for refusal in one.refusals),
        time_zone=zones[-1] if zones else None,
    )


def _summaries(access: Access, days: Mapping[str, str]) -> list[JSONValue]:
    return list(_rows(access, "/v2/sleep", "getsummary", "series", days))


def _segments(access: Access, row: JSONValue) -> list[JSONValue]:
    """The rows of one night, which is never longer than the day that a call reads; none where it names no times."""
    night = nights.night_of(row)
    if night is None:
        return []
    form = {
        "action": "get",
        "startdate": str(int(night.starts_at.timestamp())),
        "enddate": str(int(night.ends_at.timestamp())),
        "data_fields": _NIGHT_FIELDS,
    }
    series = body_posted(access, "/v2/sleep", form).get("series")
    return series if isinstance(series, list) else []


def _measures(access: Access, resource: str, start_on: date, end_on: date) -> Pulled:
    span = {
        "startdate": str(epoch_seconds_of_day(start_on)),
        "enddate": str(epoch_seconds_of_day(end_on + timedelta(days=1))),
        "category": "1",
        "meastypes": _MEASURES[resource],
    }
    zones: list[JSONValue] = []
    groups = list(_rows(access, "/measure", "getmeas", "measuregrps", span, zones))
    time_zone = _time_zone(zones)
    if resource == "body":
        bodies = summaries_of(convert.body_from_measure_group(group, time_zone=time_zone) for group in groups)
        return replace(bodies, time_zone=time_zone)
    found = series_of([convert.series_from_measure_groups(groups, time_zone=time_zone)], resource)
    return replace(found, time_zone=time_zone)


def _time_zone(rows: Iterable[JSONValue]) -> str | None:
    """The last time zone that rows name."""
    found: str | None = None
    for row in rows:
        zone = row.get("timezone") if isinstance(row, dict) else None
        found = zone if isinstance(zone, str) and zone else found
    return found


def _rows(
    access: Access,
    path: str,
    action: str,
    name: str,
    form: Mapping[str, str],
    bodies: list[JSONValue] | None = None,
) -> Iterator[JSONValue]:
    """Every row of every page of an action; the pages themselves go to `bodies`."""
    asked = {"action": action, **form, **({"data_fields": _FIELDS[action]} if action in _FIELDS else {})}
    for _ in range(_PAGES_MAXIMUM):
        body = body_posted(access, path, asked)
        rows, offset = body.get(name), body.get("offset")
        if not isinstance(rows, list):
            raise ProviderFailure(FailureKind.TRANSPORT)
        if bodies is not None:
            bodies.append(body)
        yield from rows
        # A boolean in most actions, a number in getmeas.
        if not body.get("more") or not isinstance(offset, int):
            return
        asked = {**asked, "offset": str(offset)}
    raise ProviderFailure(FailureKind.REFUSED)
