"""What Garmin's summaries share: an instant in UTC seconds, the offset that the watch showed, and maps by offset."""

from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta
from typing import Final

from aggregation.records import OFFSET_UNKNOWN, DataSource
from healthsvc.kernel.typing import JSONValue
from links.connectors.payload import (
    OFFSET_LIMIT_SECONDS,
    MalformedError,
    Sample,
    calendar_day,
    epoch_instant,
    microseconds,
    optional_whole,
)

WATCH: Final = DataSource(provider="garmin", type="watch")
SCALE: Final = DataSource(provider="garmin", type="scale")
CUFF: Final = DataSource(provider="garmin", type="cuff")

#: No summary is longer; a map's offset beyond it is a mistake.
_SUMMARY_MAXIMUM_SECONDS: Final = 2 * 86_400


def offset_seconds_in(item: Mapping[str, JSONValue], name: str = "startTimeOffsetInSeconds") -> int | None:
    """Seconds east of UTC by the person's watch, which is no time zone: they may have set it to anything."""
    seconds = optional_whole(item, name)
    if seconds is not None and abs(seconds) > OFFSET_LIMIT_SECONDS:
        raise MalformedError(f"out_of_range:{name}")
    return seconds


def day_of(item: Mapping[str, JSONValue], start: datetime, offset_seconds: int | None) -> date:
    """`calendarDate` where a summary has one, or the day its start is on by the watch."""
    if item.get("calendarDate") is not None:
        return calendar_day(item, "calendarDate")
    return (start + timedelta(seconds=offset_seconds or 0)).date()


def samples_in(item: Mapping[str, JSONValue], name: str) -> Iterator[Sample]:
    """The samples of a map from seconds after the start to values. What is not above nought was not measured.

    Garmin's stress has numbers below nought for why there is none, and other maps a nought.
    """
    found = item.get(name)
    if found is None:
        return
    if not isinstance(found, Mapping):
        raise MalformedError(f"wrong_type:{name}")
    start_us = microseconds(epoch_instant(item, "startTimeInSeconds"))
    offset_seconds = offset_seconds_in(item)
    shown = OFFSET_UNKNOWN if offset_seconds is None else offset_seconds
    for key, value in found.items():
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise MalformedError(f"wrong_type:{name}")
        if value > 0:
            yield Sample(start_us + _after_seconds(key, name) * 1_000_000, float(value), offset_seconds=shown)


def mean_in(item: Mapping[str, JSONValue], name: str) -> float | None:
    """The average of a map's values, to two places; None where it has none."""
    found = item.get(name)
    if not isinstance(found, Mapping):
        return None
    values = [float(one) for one in found.values() if isinstance(one, int | float) and not isinstance(one, bool)]
    known = [one for one in values if one > 0]
    return round(sum(known) / len(known), 2) if known else None


def _after_seconds(key: str, name: str) -> int:
    if not (key.isascii() and key.isdigit() and len(key) <= 6) or int(key) > _SUMMARY_MAXIMUM_SECONDS:
        raise MalformedError(f"out_of_range:{name}")
    return int(key)
