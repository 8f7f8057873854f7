"""What a data point of Google Health has: its name, who recorded it, and when, by the instant and the person's clock.

Shapes: the reference of Google's Health API v4. Read, not exercised against a live account. Google writes 64-bit whole
numbers and spans as texts, and may leave out what is nought.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Final

from aggregation.constants import SOURCE_TEXT_MAXIMUM_CHARACTERS
from aggregation.records import OFFSET_UNKNOWN, DataSource
from healthsvc.kernel.typing import JSONValue
from links.connectors.payload import (
    OFFSET_LIMIT_SECONDS,
    MalformedError,
    local_instant,
    number,
    text,
    utc_text,
    whole,
)

SLUG: Final = "google_health"
#: What `source.app_id` says of data that a Fitbit, or the app of that name, brought. See docs/decisions/0010.
FITBIT: Final = "fitbit"

_FITBIT_PLATFORMS: Final = ("FITBIT", "FITBIT_WEB_API")
_TYPES: Final[Mapping[str, str]] = {
    "FITNESS_BAND": "watch",
    "WATCH": "watch",
    "PHONE": "phone",
    "RING": "ring",
    "CHEST_STRAP": "chest_strap",
    "SCALE": "scale",
}
_MEASURED: Final = ("PASSIVELY_MEASURED", "ACTIVELY_MEASURED")
_INT64: Final = re.compile(r"-?\d{1,18}")
_SECONDS: Final = re.compile(r"(-?)(\d{1,9})(\.\d{1,9})?s")


@dataclass(frozen=True, slots=True)
class Moment:
    """An instant, and how far the person's clock was east of UTC then; OFFSET_UNKNOWN where nothing tells."""

    at: datetime
    offset_seconds: int

    @property
    def day(self) -> date:
        """The person's own day; UTC's where their clock is not known."""
        return self.at.astimezone(timezone(timedelta(seconds=self.known_offset_seconds or 0))).date()

    @property
    def known_offset_seconds(self) -> int | None:
        """The offset, None where nothing tells it."""
        return None if self.offset_seconds == OFFSET_UNKNOWN else self.offset_seconds


def member(item: Mapping[str, JSONValue], name: str) -> Mapping[str, JSONValue]:
    """A field that must hold an object."""
    value = item.get(name)
    if value is None:
        raise MalformedError(f"missing_field:{name}")
    if not isinstance(value, Mapping):
        raise MalformedError(f"wrong_type:{name}")
    return value


def optional_member(item: Mapping[str, JSONValue], name: str) -> Mapping[str, JSONValue]:
    """An object; an empty one where it is left out."""
    return {} if item.get(name) is None else member(item, name)


def int64(item: Mapping[str, JSONValue], name: str) -> int:
    """A whole number of 64 bits: Google writes it as a text, and its own tools as a number."""
    value = item.get(name)
    if isinstance(value, str):
        if not (value.isascii() and _INT64.fullmatch(value)):
            raise MalformedError(f"wrong_type:{name}")
        return int(value)
    return whole(item, name)


def optional_int64(item: Mapping[str, JSONValue], name: str) -> int | None:
    """The same, None where it is left out."""
    return None if item.get(name) is None else int64(item, name)


def optional_positive(item: Mapping[str, JSONValue], name: str) -> float | None:
    """A number above nought; None where it is left out, or nought for "not measured"."""
    if item.get(name) is None:
        return None
    value = number(item, name)
    return value if value > 0 else None


def optional_span_seconds(item: Mapping[str, JSONValue], name: str) -> int | None:
    """A span such as `1800s`, in whole seconds; None where it is left out."""
    return None if item.get(name) is None else round(_span_seconds(item, name))


def sample_moment(value: Mapping[str, JSONValue]) -> Moment:
    """When a sample was measured."""
    times = member(value, "sampleTime")
    at = local_instant(times, "physicalTime")
    return Moment(at, _offset_seconds(times, "utcOffset", "civilTime", at))


def interval_moments(value: Mapping[str, JSONValue]) -> tuple[Moment, Moment]:
    """When what went on for a while began and ended; one that ends before it began is refused."""
    times = member(value, "interval")
    start, end = local_instant(times, "startTime"), local_instant(times, "endTime")
    if end < start:
        raise MalformedError("ends_before_start")
    return (
        Moment(start, _offset_seconds(times, "startUtcOffset", "civilStartTime", start)),
        Moment(end, _offset_seconds(times, "endUtcOffset", "civilEndTime", end)),
    )


def civil_day(item: Mapping[str, JSONValue], name: str = "date") -> date:
    """A `{year, month, day}`."""
    parts = member(item, name)
    try:
        return date(whole(parts, "year"), whole(parts, "month"), whole(parts, "day"))
    except ValueError as error:
        raise MalformedError(f"bad_time:{name}") from error


def identity_of(point: Mapping[str, JSONValue], start: datetime) -> str:
    """What names a point: the last part of its name, or when it began where Google gives it none."""
    if not point.get("name"):
        return utc_text(start)
    return text(point, "name").rsplit("/", 1)[-1]


def source_of(point: Mapping[str, JSONValue], *, device_type: str = "watch") -> DataSource:
    """Who recorded a point. The provider is whom the person connected; a Fitbit is named by `app_id`.

    `device_type` is taken for a device that measured and of which Google tells no form: Fitbit makes trackers and
    scales. Google gives devices no identity, only a name that every device of a model has.
    """
    source = optional_member(point, "dataSource")
    fitbit = source.get("platform") in _FITBIT_PLATFORMS
    package = optional_member(source, "application").get("packageName")
    app_id = FITBIT if fitbit else package if isinstance(package, str) and package else None
    device = optional_member(source, "device")
    form = device.get("formFactor")
    if isinstance(form, str) and form in _TYPES:
        kind = _TYPES[form]
    elif fitbit and device.get("displayName") and source.get("recordingMethod") in _MEASURED:
        kind = device_type
    else:
        kind = "app" if app_id and not device else "unknown"
    return DataSource(provider=SLUG, type=kind, app_id=app_id and app_id[:SOURCE_TEXT_MAXIMUM_CHARACTERS])


def _span_seconds(item: Mapping[str, JSONValue], name: str) -> float:
    written = text(item, name)
    found = _SECONDS.fullmatch(written) if written.isascii() else None
    if found is None:
        raise MalformedError(f"wrong_type:{name}")
    return float(written[:-1])


def _offset_seconds(times: Mapping[str, JSONValue], name: str, civil_name: str, at: datetime) -> int:
    """The offset as it is written; else what the person's clock showed tells it."""
    if times.get(name) is not None:
        seconds = round(_span_seconds(times, name))
    elif times.get(civil_name) is not None:
        shown = _civil_time(member(times, civil_name), civil_name)
        seconds = round((shown - at.replace(microsecond=0)).total_seconds())
    else:
        return OFFSET_UNKNOWN
    if abs(seconds) > OFFSET_LIMIT_SECONDS:
        raise MalformedError(f"bad_time:{name}")
    return seconds


def _civil_time(item: Mapping[str, JSONValue], name: str) -> datetime:
    """What the person's clock showed, to the second, as if it were UTC's; midnight's parts are left out."""
    day, shown = civil_day(item), optional_member(item, "time")
    hours, minutes, seconds = (
        0 if shown.get(part) is None else whole(shown, part) for part in ("hours", "minutes", "seconds")
    )
    try:
        return datetime.combine(day, time(hours, minutes, seconds), UTC)
    except ValueError as error:
        raise MalformedError(f"bad_time:{name}") from error
