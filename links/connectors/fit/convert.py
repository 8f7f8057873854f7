"""What a FIT file recorded as a workout's fields and its course: pure functions, units converted here only."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np
from numpy.typing import NDArray

from aggregation.records import DataSource, StreamRecord
from healthsvc.kernel.typing import JSONValue
from links.connectors.fit.reader import FIT_EPOCH_SECONDS, FitActivity, Message
from links.connectors.fit.sports import STRIDING, sport_of
from links.connectors.payload import OFFSET_LIMIT_SECONDS, MalformedError, in_order, nearest_whole

_QUARTER_SECONDS: Final = 900
#: FIT's clock has 32 bits.
_FIT_TIME_MAXIMUM: Final = 2**32
#: No workout lasts longer.
_ELAPSED_MAXIMUM_SECONDS: Final = 7 * 86_400
#: Columns of one number a moment → channel; the first that the device wrote counts.
_CHANNELS: Final = (
    ("altitude", ("enhanced_altitude", "altitude")),
    ("velocity_smooth", ("enhanced_speed", "speed")),
    ("heartrate", ("heart_rate",)),
    ("distance", ("distance",)),
    ("power", ("power",)),
    ("resistance", ("resistance",)),
    ("temperature", ("temperature",)),
)


def degrees_from_semicircles(semicircles: NDArray[np.float64]) -> NDArray[np.float64]:
    """2^31 semicircles are 180 degrees, exact."""
    return semicircles * (180.0 / 2**31)


def steps_from_strides(strides: NDArray[np.float64]) -> NDArray[np.float64]:
    """A stride is two steps, exact."""
    return strides * 2.0


def instant_of(fit_seconds: float) -> datetime:
    """FIT's clock counts seconds since 1989-12-31T00:00Z."""
    return datetime.fromtimestamp(fit_seconds + FIT_EPOCH_SECONDS, UTC)


def span_of(found: FitActivity) -> tuple[datetime, datetime]:
    """Start and end. MalformedError where nothing tells them."""
    starts = [value for one in found.sessions if (value := _number(one, "start_time")) is not None]
    if not starts and not len(found.seconds):
        raise MalformedError("fit_no_times")
    start = min(starts) if starts else float(found.seconds[0])
    elapsed = _sum(found.sessions, "total_elapsed_time")
    if elapsed is None:
        elapsed = float(found.seconds[-1]) - start if len(found.seconds) else 0.0
    if not 0 <= start < _FIT_TIME_MAXIMUM or not 0 < elapsed <= _ELAPSED_MAXIMUM_SECONDS:
        raise MalformedError("fit_no_times")
    began = instant_of(start)
    ended = began + timedelta(seconds=elapsed)
    in_order(began, ended)
    return began, ended


def offset_seconds_of(found: FitActivity) -> int | None:
    """Seconds east of UTC where the device was, to the quarter of an hour; None where it did not tell."""
    at, local = _number(found.activity, "timestamp"), _number(found.activity, "local_timestamp")
    if at is None or local is None:
        return None
    seconds = round((local - at) / _QUARTER_SECONDS) * _QUARTER_SECONDS
    return seconds if abs(seconds) <= OFFSET_LIMIT_SECONDS else None


def sport_in(found: FitActivity) -> str:
    """The sport slug; of several sports in one file, triathlon."""
    told = {_words(one) for one in found.sessions if one.get("sport") != "transition"}
    if len({sport for sport, _ in told}) > 1:
        return "triathlon"
    return sport_of(*sorted(told)[0]) if told else "other"


def workout_fields(found: FitActivity) -> dict[str, JSONValue]:
    """What the device measured, under the API's names. What it did not measure is None."""
    sessions = found.sessions
    seconds = _sum(sessions, "total_timer_time")
    watts = _mean(sessions, "avg_power")
    strides = _sum(sessions, "total_strides")
    high, low = _heights(found)
    return {
        "sport": sport_in(found),
        "average_hr": nearest_whole(_mean(sessions, "avg_heart_rate")),
        "max_hr": nearest_whole(_greatest(sessions, "max_heart_rate")),
        "calories": _sum(sessions, "total_calories") or None,
        "distance": _sum(sessions, "total_distance") or None,
        "moving_time": nearest_whole(seconds),
        "total_elevation_gain": _sum(sessions, "total_ascent"),
        "elev_high": high,
        "elev_low": low,
        "average_speed": _mean(sessions, "enhanced_avg_speed", "avg_speed") or None,
        "max_speed": _greatest(sessions, "enhanced_max_speed", "max_speed") or None,
        "average_watts": watts,
        # A FIT file has power from a meter alone.
        "device_watts": watts,
        "max_watts": _greatest(sessions, "max_power"),
        "weighted_average_watts": _mean(sessions, "normalized_power"),
        "steps": None if strides is None else round(float(steps_from_strides(np.array(strides)))),
    }


def stream_of(found: FitActivity, *, source: DataSource, workout: str) -> StreamRecord | None:
    """The course, moment by moment; None where nothing was recorded."""
    channels = _channels(found)
    if not channels:
        return None
    return StreamRecord(
        resource="workout_stream",
        source=source,
        workout=workout,
        time_us=(found.seconds + FIT_EPOCH_SECONDS) * 1_000_000,
        channels=channels,
    )


def _channels(found: FitActivity) -> dict[str, NDArray[np.float64]]:
    channels = {}
    for channel, names in _CHANNELS:
        column = next((found.columns[name] for name in names if name in found.columns), None)
        if column is not None and not np.isnan(column).all():
            channels[channel] = column
    cadence = found.columns.get("cadence")
    if cadence is not None and not np.isnan(cadence).all():
        whole = cadence + np.nan_to_num(found.columns.get("fractional_cadence", np.zeros(len(cadence))))
        channels["cadence"] = steps_from_strides(whole) if _strides(found) else whole
    latitude, longitude = found.columns.get("position_lat"), found.columns.get("position_long")
    if latitude is not None and longitude is not None and not np.isnan(latitude + longitude).all():
        channels["lat"] = degrees_from_semicircles(latitude)
        channels["lng"] = degrees_from_semicircles(longitude)
    return channels


def _strides(found: FitActivity) -> bool:
    told = {sport for sport, _ in map(_words, found.sessions)}
    return bool(told) and told <= STRIDING


def _heights(found: FitActivity) -> tuple[float | None, float | None]:
    """Highest and lowest point: as the session tells, or as was recorded."""
    high = _greatest(found.sessions, "enhanced_max_altitude", "max_altitude")
    low = _least(found.sessions, "enhanced_min_altitude", "min_altitude")
    column = found.columns.get("enhanced_altitude")
    if column is None or np.isnan(column).all():
        return high, low
    return (
        float(np.nanmax(column)) if high is None else high,
        float(np.nanmin(column)) if low is None else low,
    )


def _words(session: Message) -> tuple[str, str]:
    sport, sub_sport = session.get("sport"), session.get("sub_sport")
    return sport if isinstance(sport, str) else "generic", sub_sport if isinstance(sub_sport, str) else ""


def _number(message: Message, *names: str) -> float | None:
    """The first of these fields that holds a number."""
    for name in names:
        value = message.get(name)
        if isinstance(value, int | float):
            return float(value)
    return None


def _told(sessions: Iterable[Message], names: tuple[str, ...]) -> list[float]:
    return [value for one in sessions if (value := _number(one, *names)) is not None]


def _sum(sessions: Iterable[Message], *names: str) -> float | None:
    told = _told(sessions, names)
    return sum(told) if told else None


def _greatest(sessions: Iterable[Message], *names: str) -> float | None:
    return max(_told(sessions, names), default=None)


def _least(sessions: Iterable[Message], *names: str) -> float | None:
    return min(_told(sessions, names), default=None)


def _mean(sessions: Iterable[Message], *names: str) -> float | None:
    """The average over sessions by the time of each."""
    pairs = [
        (value, _number(one, "total_timer_time") or 1.0)
        for one in sessions
        if (value := _number(one, *names)) is not None
    ]
    seconds = sum(weight for _, weight in pairs)
    return sum(value * weight for value, weight in pairs) / seconds if pairs else None
