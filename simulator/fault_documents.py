"""What a vendor's mistakes make of a good document: wrong units, halves of buckets, a clock that runs ahead.

The rules go by the names of fields, so that they hold for every vendor the simulator plays.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, TypeAlias

import orjson

from simulator.web import Response

JSONValue: TypeAlias = "bool | int | float | str | list[JSONValue] | dict[str, JSONValue] | None"
Change: TypeAlias = Callable[[str, JSONValue], JSONValue]

#: A value in a unit a thousand times smaller than the documented one.
WRONG_UNIT_FACTOR: Final = 1000
#: A vendor whose clock, or whose person's device, runs two days ahead.
CLOCK_AHEAD_SECONDS: Final = 2 * 24 * 3600

#: Fields that count up within a bucket, which a vendor may give before it is complete.
COUNTED: Final = frozenset(
    (
        "active_calories",
        "calories",
        "distance",
        "elevation",
        "kilojoule",
        "steps",
        "total_calories",
        "totalcalories",
    )
)
#: Fields that hold something measured.
MEASURED: Final = COUNTED | frozenset(
    (
        "average_heart_rate",
        "average_heartrate",
        "average_hrv",
        "bpm",
        "heart_rate",
        "heartrate",
        "hr_average",
        "hrv",
        "hrv_rmssd_milli",
        "resting_heart_rate",
        "value",
        "weight",
        "weight_kilogram",
    )
)
#: Fields that hold epoch seconds where their value is a large number.
_EPOCHS: Final = frozenset(("created", "date", "enddate", "modified", "startdate", "timestamp"))
_EPOCH_SMALLEST: Final = 1_000_000_000


def wrong_units(response: Response) -> Response:
    """Everything measured, in thousandths."""
    return _changed(response, _scaled(MEASURED, WRONG_UNIT_FACTOR))


def half_buckets(response: Response) -> Response:
    """Everything that counts up, half way through its bucket; asked again, it has been revised."""
    return _changed(response, _scaled(COUNTED, 0.5))


def clock_ahead(response: Response) -> Response:
    """Every instant, by a clock that runs ahead."""
    return _changed(response, _later)


def _changed(response: Response, change: Change) -> Response:
    try:
        document: JSONValue = orjson.loads(response.body)
    except orjson.JSONDecodeError:
        # A page for people has no values to get wrong.
        return response
    return replace(response, body=orjson.dumps(_walked("", document, change), option=orjson.OPT_NON_STR_KEYS))


def _walked(name: str, value: JSONValue, change: Change) -> JSONValue:
    """The value with `change` at its leaves; the leaves of a list, and of a list's `items`, have the list's name."""
    if isinstance(value, dict):
        return {
            _key(key, change): _walked(name if key in ("items", "data") and name in MEASURED else key, one, change)
            for key, one in value.items()
        }
    if isinstance(value, list):
        return [_walked(name, one, change) for one in value]
    return change(name, value)


def _key(key: str, change: Change) -> str:
    """Withings' intraday series have instants for keys."""
    moved = change("timestamp", int(key)) if key.isdecimal() and len(key) == 10 else key
    return str(moved)


def _scaled(names: frozenset[str], factor: float) -> Change:
    def scale(name: str, value: JSONValue) -> JSONValue:
        if name not in names or isinstance(value, bool) or not isinstance(value, int | float):
            return value
        scaled = value * factor
        return int(scaled) if isinstance(value, int) else scaled

    return scale


def _later(name: str, value: JSONValue) -> JSONValue:
    if isinstance(value, int) and not isinstance(value, bool) and name in _EPOCHS and value >= _EPOCH_SMALLEST:
        return value + CLOCK_AHEAD_SECONDS
    if isinstance(value, str) and len(value) > 10 and value[10:11] == "T":
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return value
        return (moment + timedelta(seconds=CLOCK_AHEAD_SECONDS)).isoformat()
    return value
