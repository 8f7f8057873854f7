"""Wahoo's workouts, with what their FIT files add, as the service's records: pure functions.

Shapes: Wahoo's cloud API documentation, "Workouts" and "Workout Summary". Read, not exercised against a live account.
"""

import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from aggregation.records import DataSource, StreamRecord, SummaryRecord
from healthsvc.kernel.typing import JSONValue
from links.connectors.fit import convert as fit
from links.connectors.fit.reader import FitActivity
from links.connectors.payload import (
    MalformedError,
    document,
    in_order,
    local_instant,
    nearest_whole,
    offset_seconds_of,
    optional_number,
    optional_text,
    optional_whole,
    refusing,
    utc_text,
    whole,
)
from links.connectors.wahoo.catalogue import sport_of

#: Cycling computers, watches and apps all send under Wahoo's name; it does not say which one did.
SOURCE: Final = DataSource(provider="wahoo", type="unknown")

#: What an answer about a workout tells that is no part of it: where its file can be had for a while.
_NOT_KEPT: Final = "file"
_DECIMAL: Final = re.compile(r"-?\d{1,12}(\.\d{1,12})?")
_TOTAL_MAXIMUM_SECONDS: Final = 7 * 86_400.0
_SECONDS_A_MINUTE: Final = 60.0


@refusing("workout")
def workout_from_workout(payload: JSONValue, *, file: FitActivity | None = None) -> SummaryRecord:
    """A workout that was done. Where Wahoo's own summary leaves something out, the file tells it."""
    item = document(payload)
    identity = identity_of(item)
    summary = document(item.get("workout_summary"))
    start = local_instant(item, "starts").astimezone(UTC)
    end = start + timedelta(seconds=_total_seconds(item, summary))
    in_order(start, end)
    offset_seconds = _offset_seconds(summary, start, file)
    known = {} if file is None else fit.workout_fields(file)
    told = _told(item, summary)
    fields = {**known, **{name: value for name, value in told.items() if value is not None}}
    return SummaryRecord(
        resource="workouts",
        source=SOURCE,
        external_id=identity,
        calendar_date=(start + timedelta(seconds=offset_seconds or 0)).date(),
        starts_at=start,
        ends_at=end,
        timezone_offset_seconds=offset_seconds,
        fields={
            **dict.fromkeys(told),
            **fields,
            "time_start": utc_text(start),
            "time_end": utc_text(end),
            "timezone_offset": offset_seconds,
            "sport": _sport(item, known),
            "provider_id": identity,
        },
        raw={**item, "workout_summary": {name: value for name, value in summary.items() if name != _NOT_KEPT}},
    )


def stream_from_file(file: FitActivity, payload: JSONValue) -> StreamRecord | None:
    """The course of a workout, out of its file."""
    return fit.stream_of(file, source=SOURCE, workout=identity_of(document(payload)))


def identity_of(item: Mapping[str, JSONValue]) -> str:
    """The number of a workout or a user, as the service writes it."""
    identity = whole(item, "id")
    if identity <= 0:
        raise MalformedError("wrong_type:id")
    return str(identity)


def file_address(payload: JSONValue) -> str | None:
    """Where the workout's file is; None where it has none, as one that was typed in."""
    summary = payload.get("workout_summary") if isinstance(payload, Mapping) else None
    found = summary.get("file") if isinstance(summary, Mapping) else None
    address = found.get("url") if isinstance(found, Mapping) else None
    return address if isinstance(address, str) and address else None


def is_done(payload: JSONValue) -> bool:
    """Whether a workout has a summary. One without was planned, or is still being sent."""
    return not isinstance(payload, Mapping) or payload.get("workout_summary") is not None


def started_at(payload: JSONValue) -> datetime | None:
    """When a listed workout began; None where it does not tell, which its own conversion refuses."""
    try:
        return local_instant(document(payload), "starts").astimezone(UTC)
    except MalformedError:
        # The workout itself is refused where it is converted.
        return None


def time_zone_of(workouts: Iterable[JSONValue]) -> str | None:
    """The time zone that the last workout names."""
    known = ((at, zone) for one in workouts if (at := started_at(one)) and (zone := _zone_in(one)))
    return max(known, default=(None, None))[1]


def decimal(item: Mapping[str, JSONValue], name: str) -> float | None:
    """A number that Wahoo writes as a text with decimals; None where it is missing."""
    value = item.get(name)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        return optional_number(item, name)
    if not _DECIMAL.fullmatch(value):
        raise MalformedError(f"wrong_type:{name}")
    return float(value)


def _told(item: Mapping[str, JSONValue], summary: Mapping[str, JSONValue]) -> dict[str, JSONValue]:
    """Wahoo's own totals: metres, metres a second, kilocalories, watts and seconds as they stand."""
    return {
        "title": optional_text(item, "name"),
        "average_hr": nearest_whole(decimal(summary, "heart_rate_avg") or None),
        "calories": decimal(summary, "calories_accum") or None,
        "distance": decimal(summary, "distance_accum") or None,
        "moving_time": nearest_whole(decimal(summary, "duration_active_accum")),
        "total_elevation_gain": decimal(summary, "ascent_accum"),
        "average_speed": decimal(summary, "speed_avg") or None,
        "average_watts": decimal(summary, "power_avg"),
        "weighted_average_watts": decimal(summary, "power_bike_np_last"),
    }


def _total_seconds(item: Mapping[str, JSONValue], summary: Mapping[str, JSONValue]) -> float:
    seconds = decimal(summary, "duration_total_accum")
    if seconds is None:
        minutes = optional_whole(item, "minutes")
        seconds = None if minutes is None else minutes * _SECONDS_A_MINUTE
    if seconds is None:
        raise MalformedError("missing_field:duration_total_accum")
    if not 0 < seconds <= _TOTAL_MAXIMUM_SECONDS or not math.isfinite(seconds):
        raise MalformedError("out_of_range:duration_total_accum")
    return seconds


def _sport(item: Mapping[str, JSONValue], known: Mapping[str, JSONValue]) -> JSONValue:
    sport = sport_of(optional_whole(item, "workout_type_id"))
    return known.get("sport", sport) if sport == "other" else sport


def _offset_seconds(summary: Mapping[str, JSONValue], start: datetime, file: FitActivity | None) -> int | None:
    zone = _zone_named(summary.get("time_zone"))
    if zone is not None:
        return offset_seconds_of(start.astimezone(zone))
    return None if file is None else fit.offset_seconds_of(file)


def _zone_in(payload: JSONValue) -> str | None:
    summary = payload.get("workout_summary") if isinstance(payload, Mapping) else None
    zone = _zone_named(summary.get("time_zone")) if isinstance(summary, Mapping) else None
    return zone.key if zone else None


def _zone_named(name: JSONValue) -> ZoneInfo | None:
    if not isinstance(name, str) or not name:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
