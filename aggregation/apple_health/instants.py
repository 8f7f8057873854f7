"""Apple's date texts as UTC microseconds and offset; the zone a record was made in."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

MICROSECONDS = 1_000_000
_EPOCH_ON = date(1970, 1, 1).toordinal()
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

#: Instants outside are slips of a clock or a keyboard: 1900-01-01 to 2100-01-01.
EARLIEST_US = (date(1900, 1, 1).toordinal() - _EPOCH_ON) * 86_400 * MICROSECONDS
LATEST_US = (date(2100, 1, 1).toordinal() - _EPOCH_ON) * 86_400 * MICROSECONDS

_SIXTY = {f"{number:02d}": number for number in range(60)}
_HOUR = re.compile(r"(\d{4})-(\d\d)-(\d\d) ([01]\d|2[0-3]): ([+-])(\d\d)([0-5]\d)", re.ASCII)
_OLD_FORM = re.compile(r"(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)([+-]\d{4})", re.ASCII)
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_ZONE_NAME = re.compile(r"[A-Za-z]+(?:/[A-Za-z0-9_+\-]+){0,2}", re.ASCII)
_MAX_OFFSET_SECONDS = 18 * 3600


@dataclass(frozen=True, slots=True)
class Instant:
    """A moment and the sender's offset east of UTC."""

    utc_us: int
    offset_seconds: int

    def as_datetime(self) -> datetime:
        """The moment, aware, in UTC."""
        return datetime_from_us(self.utc_us)

    def local_on(self) -> date:
        """The person's own day."""
        return (self.as_datetime() + timedelta(seconds=self.offset_seconds)).date()

    def in_zone(self, zone: ZoneInfo | None) -> "Instant":
        """The same moment with the offset that `zone` had then; unchanged without a zone."""
        if zone is None:
            return self
        offset = self.as_datetime().astimezone(zone).utcoffset()
        return self if offset is None else Instant(self.utc_us, int(offset.total_seconds()))


def datetime_from_us(utc_us: int) -> datetime:
    """Microseconds since the epoch as an aware UTC datetime."""
    return _EPOCH + timedelta(microseconds=utc_us)


def parse_instant(text: str | None) -> Instant | None:
    """`2024-03-10 01:30:00 -0500`, or iOS 8's `20140919013000-0500`; None for anything else.

    A month of records shares few hours, so the calendar is worked out once an hour and cached.
    """
    if text is None:
        return None
    if len(text) != 25:
        old = _OLD_FORM.fullmatch(text)
        if old is None:
            return None
        year, month, day, hour, minute_text, second_text, offset = old.groups()
        text = f"{year}-{month}-{day} {hour}:{minute_text}:{second_text} {offset}"
    start = _hour_start(text[:14] + text[19:])
    minute = _SIXTY.get(text[14:16])
    second = _SIXTY.get(text[17:19])
    if start is None or minute is None or second is None or text[16] != ":":
        return None
    return Instant((start[0] + minute * 60 + second) * MICROSECONDS, start[1])


@lru_cache(maxsize=8192)
def _hour_start(text: str) -> tuple[int, int] | None:
    match = _HOUR.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, sign, offset_hours, offset_minutes = match.groups()
    offset_seconds = int(offset_hours) * 3600 + int(offset_minutes) * 60
    if offset_seconds > _MAX_OFFSET_SECONDS:
        return None
    if sign == "-":
        offset_seconds = -offset_seconds
    try:
        days = date(int(year), int(month), int(day)).toordinal() - _EPOCH_ON
    except ValueError:
        return None
    return days * 86_400 + int(hour) * 3600 - offset_seconds, offset_seconds


def parse_day(text: str | None) -> date | None:
    """`2024-03-10` as a date; None for anything else."""
    if text is None or not _DAY.fullmatch(text):
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


@lru_cache(maxsize=512)
def zone_named(name: str) -> ZoneInfo | None:
    """The IANA zone of that name, or None where this machine knows none."""
    if not _ZONE_NAME.fullmatch(name):
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
