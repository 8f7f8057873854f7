"""Strava's activities, streams and athlete as the service's records: pure functions, units converted here only.

Shapes: Strava API v3 reference, models DetailedActivity, StreamSet and DetailedAthlete. Read, not exercised against a
live account.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from types import NoneType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from aggregation.records import UNDATED, DataSource, Refusal, StreamRecord, SummaryRecord
from healthsvc.kernel.typing import JSONValue
from links.connectors.payload import (
    OFFSET_LIMIT_SECONDS,
    MalformedError,
    counted,
    document,
    in_order,
    local_instant,
    microseconds,
    nearest_whole,
    optional_number,
    optional_text,
    optional_whole,
    refusing,
    text,
    utc_text,
    whole,
)
from links.connectors.strava.catalogue import STRIDING, sport_of

#: Strava tells what people upload from whatever they wear; which kind of device that was, it does not say.
SOURCE: Final = DataSource(provider="strava", type="app")

#: Parts of an activity that are large, or of other people.
_NOT_KEPT: Final = frozenset(
    ("segment_efforts", "best_efforts", "photos", "similar_activities", "highlighted_kudosers", "embed_token")
)
#: What of an athlete is about the body, and not who they are.
_PROFILE_KEPT: Final = frozenset(
    ("id", "resource_state", "sex", "weight", "ftp", "measurement_preference", "created_at", "updated_at")
)
#: Longer ones are no routes to the store; the whole workout would be refused for them.
_POLYLINE_MAXIMUM_CHARACTERS: Final = 200_000
#: No activity lasts longer.
_ELAPSED_MAXIMUM_SECONDS: Final = 366 * 86_400
_SEXES: Final[Mapping[str, str]] = {"F": "female", "M": "male"}
_TIME_ZONE: Final = re.compile(r"\(GMT[+-]\d{2}:\d{2}\) (\S+)")

#: Streams of one number a moment → channel. `cadence` and `latlng` are read apart.
_CHANNELS: Final[Mapping[str, str]] = {
    "altitude": "altitude",
    "velocity_smooth": "velocity_smooth",
    "heartrate": "heartrate",
    "distance": "distance",
    "watts": "power",
    "temp": "temperature",
}
#: What to ask the streams' address for.
STREAM_KEYS: Final = ("time", "latlng", "cadence", *_CHANNELS)


@dataclass(frozen=True, slots=True)
class Course:
    """The course of one workout, None where its streams tell nothing, and what was left out."""

    stream: StreamRecord | None
    refusals: tuple[Refusal, ...]


def steps_from_strides(strides_a_minute: NDArray[np.float64]) -> NDArray[np.float64]:
    """A stride is two steps, exact."""
    return strides_a_minute * 2.0


@refusing("activity")
def workout_from_activity(payload: JSONValue) -> SummaryRecord:
    """One detailed activity. Calories of 0 and an average speed of nothing travelled are what nobody measured."""
    item = document(payload)
    identity = identity_of(item)
    start, elapsed_seconds = _start(item), whole(item, "elapsed_time")
    if elapsed_seconds > _ELAPSED_MAXIMUM_SECONDS:
        raise MalformedError("out_of_range:elapsed_time")
    end = start + timedelta(seconds=max(0, elapsed_seconds))
    in_order(start, end)
    offset_seconds = _offset_seconds(item, start)
    watts = optional_number(item, "average_watts")
    return SummaryRecord(
        resource="workouts",
        source=SOURCE,
        external_id=identity,
        calendar_date=_local_day(item, start, offset_seconds),
        starts_at=start,
        ends_at=end,
        timezone_offset_seconds=offset_seconds,
        fields={
            "time_start": utc_text(start),
            "time_end": utc_text(end),
            "timezone_offset": offset_seconds,
            "title": optional_text(item, "name"),
            "sport": _sport(item),
            "average_hr": nearest_whole(optional_number(item, "average_heartrate")),
            "max_hr": nearest_whole(optional_number(item, "max_heartrate")),
            "calories": optional_number(item, "calories") or None,
            "distance": optional_number(item, "distance") or None,
            "moving_time": optional_whole(item, "moving_time"),
            "total_elevation_gain": optional_number(item, "total_elevation_gain"),
            "elev_high": optional_number(item, "elev_high"),
            "elev_low": optional_number(item, "elev_low"),
            "average_speed": optional_number(item, "average_speed") or None,
            "max_speed": optional_number(item, "max_speed") or None,
            "average_watts": watts,
            # True where a power meter measured them; otherwise Strava estimated.
            "device_watts": watts if item.get("device_watts") is True else None,
            "max_watts": optional_number(item, "max_watts"),
            "weighted_average_watts": optional_number(item, "weighted_average_watts"),
            "map": _map(item),
            "provider_id": identity,
        },
        raw={name: value for name, value in item.items() if name not in _NOT_KEPT},
    )


def course_from_streams(payload: JSONValue, activity: JSONValue) -> Course:
    """The streams of an activity, keyed by type; times in them count seconds from the activity's start.

    A stream that can't be read is left out and said to be; the others stand.
    """
    try:
        item, streams = document(activity), document(payload)
        identity, start_us = identity_of(item), microseconds(_start(item))
        seconds = _numbers(_data(streams, "time"), "time")
        if np.isnan(seconds).any():
            raise MalformedError("wrong_type:time")
        if seconds.min() < 0 or seconds.max() > _ELAPSED_MAXIMUM_SECONDS:
            raise MalformedError("out_of_range:time")
        striding = _sport_type(item) in STRIDING
    except MalformedError as error:
        return Course(None, (Refusal(kind="streams", reason=error.reason),))
    channels: dict[str, NDArray[np.float64]] = {}
    reasons: list[str] = []
    for name in STREAM_KEYS[1:]:
        try:
            channels |= _channels(streams, name, len(seconds), striding=striding)
        except MalformedError as error:
            reasons.append(error.reason)
    record = StreamRecord(
        resource="workout_stream",
        source=SOURCE,
        workout=identity,
        time_us=start_us + np.round(seconds * 1_000_000).astype(np.int64),
        channels=channels,
    )
    return Course(record if channels else None, counted("streams", reasons))


@refusing("athlete")
def profile_from_athlete(payload: JSONValue) -> SummaryRecord:
    """What Strava knows of the body: the sex as the person gave it. Names, pictures and places are left there.

    The weight is typed in at no told time: it is no measurement, and stays in the raw form.
    """
    item = document(payload)
    identity_of(item)
    sex = optional_text(item, "sex")
    return SummaryRecord(
        resource="profile",
        source=SOURCE,
        external_id="profile",
        calendar_date=UNDATED,
        starts_at=None,
        ends_at=None,
        timezone_offset_seconds=None,
        fields={"sex": None if sex is None else _SEXES.get(sex, "other")},
        raw={name: value for name, value in item.items() if name in _PROFILE_KEPT},
    )


def identity_of(item: Mapping[str, JSONValue]) -> str:
    """The 64-bit `id` of an activity or athlete, as the service writes it."""
    identity = item.get("id")
    if identity is None:
        raise MalformedError("missing_field:id")
    if isinstance(identity, bool) or not isinstance(identity, int) or not 0 < identity < 2**63:
        raise MalformedError("wrong_type:id")
    return str(identity)


def may_have_streams(activity: JSONValue) -> bool:
    """Whether an activity was recorded. What was typed in has no streams, and asking for them costs a request."""
    return isinstance(activity, Mapping) and activity.get("manual") is not True


def time_zone_of(activities: Iterable[JSONValue]) -> str | None:
    """The IANA time zone that the last activity names, out of `(GMT-08:00) America/Los_Angeles`."""
    found: str | None = None
    for activity in activities:
        named = activity.get("timezone") if isinstance(activity, Mapping) else None
        matched = _TIME_ZONE.fullmatch(named) if isinstance(named, str) else None
        found = matched[1] if matched else found
    return found


def _sport_type(item: Mapping[str, JSONValue]) -> str:
    """`sport_type`, or the older and coarser `type`."""
    return optional_text(item, "sport_type") or text(item, "type")


def _sport(item: Mapping[str, JSONValue]) -> str:
    return sport_of(_sport_type(item), trainer=item.get("trainer") is True)


def _offset_seconds(item: Mapping[str, JSONValue], start: datetime) -> int | None:
    """Seconds east of UTC at the start. `start_date_local` is the local clock, wrongly marked as UTC."""
    seconds = optional_number(item, "utc_offset")
    if seconds is None and item.get("start_date_local"):
        seconds = (local_instant(item, "start_date_local") - start).total_seconds()
    if seconds is None:
        return None
    if not seconds.is_integer() or abs(seconds) > OFFSET_LIMIT_SECONDS:
        raise MalformedError("out_of_range:utc_offset")
    return int(seconds)


def _local_day(item: Mapping[str, JSONValue], start: datetime, offset_seconds: int | None) -> date:
    if item.get("start_date_local"):
        return local_instant(item, "start_date_local").date()
    return (start + timedelta(seconds=offset_seconds or 0)).date()


def _map(item: Mapping[str, JSONValue]) -> JSONValue:
    """The route's two polylines; None where there is none, as of what was done indoors."""
    route = item.get("map")
    if not isinstance(route, Mapping):
        return None
    lines = {name: optional_text(route, name) for name in ("polyline", "summary_polyline")}
    kept = {name: line for name, line in lines.items() if line and len(line) <= _POLYLINE_MAXIMUM_CHARACTERS}
    return dict(kept) or None


def _start(item: Mapping[str, JSONValue]) -> datetime:
    start = local_instant(item, "start_date").astimezone(UTC)
    if not 1990 <= start.year < 2100:
        raise MalformedError("bad_time:start_date")
    return start


def _channels(
    streams: Mapping[str, JSONValue], name: str, length: int, *, striding: bool
) -> dict[str, NDArray[np.float64]]:
    """The channels that one stream tells; none where it was not recorded."""
    if streams.get(name) is None:
        return {}
    data = _data(streams, name)
    if len(data) != length:
        raise MalformedError(f"wrong_length:{name}")
    if name == "latlng":
        return _places(data)
    values = _numbers(data, name)
    if np.isnan(values).all():
        return {}
    if name == "cadence":
        return {"cadence": steps_from_strides(values) if striding else values}
    return {_CHANNELS[name]: values}


def _data(streams: Mapping[str, JSONValue], name: str) -> Sequence[JSONValue]:
    stream = streams.get(name)
    if stream is None:
        raise MalformedError(f"missing_field:{name}")
    data = stream.get("data") if isinstance(stream, Mapping) else None
    if not isinstance(data, list | tuple) or not data:
        raise MalformedError(f"wrong_type:{name}")
    return data


def _numbers(data: Sequence[JSONValue], name: str) -> NDArray[np.float64]:
    """One number a moment, NaN where there is null. A text or a truth value among them is refused, not guessed at."""
    if not {type(value) for value in data} <= {int, float, NoneType}:
        raise MalformedError(f"wrong_type:{name}")
    return np.array(data, dtype=np.float64)


def _places(pairs: Sequence[JSONValue]) -> dict[str, NDArray[np.float64]]:
    """Latitudes and longitudes, of pairs of degrees."""
    nowhere = (None, None)
    known = [nowhere if pair is None else pair for pair in pairs]
    if not all(isinstance(pair, list | tuple) and len(pair) == len(nowhere) for pair in known):
        raise MalformedError("wrong_type:latlng")
    columns = {
        channel: _numbers([pair[place] for pair in known if isinstance(pair, list | tuple)], "latlng")
        for place, channel in enumerate(("lat", "lng"))
    }
    return {} if all(np.isnan(degrees).all() for degrees in columns.values()) else columns
