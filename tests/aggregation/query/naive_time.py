"""Buckets, calendar numbers and periods of the query language with Python's own calendar."""

import calendar
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from typing import Any

WIDTHS = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
}


def midnight(year: int, month: int, day: int) -> datetime:
    """The beginning of a day on the person's clock."""
    return datetime.combine(date(year, month, day), time())


#: The ends of the calendar.
FIRST, LAST = midnight(1, 1, 1), midnight(9999, 12, 31)


def bucket(local: datetime, unit: str, value: int) -> datetime:
    if unit == "year":
        return midnight(max(local.year // value * value, 1), 1, 1)
    if unit == "month":
        return midnight(local.year, (local.month - 1) // value * value + 1, 1)
    width = WIDTHS[unit] * value
    origin = midnight(2001, 1, 1)
    whole: int = (local - origin) // width
    return origin + whole * width


def next_bucket(start: datetime, unit: str, value: int) -> datetime:
    """The bucket after one; the end of the calendar where there is none."""
    if unit == "year":
        year = (start.year // value + 1) * value
        return midnight(year, 1, 1) if year < 9999 else LAST
    return shifted(start, {"unit": unit, "value": value}, 1)


def shifted(local: datetime, period: Mapping[str, Any], sign: int) -> datetime:
    """A period later or earlier; what lies outside the calendar is its end."""
    unit, value = period["unit"], period.get("value", 1)
    try:
        if unit in WIDTHS:
            width: timedelta = WIDTHS[unit] * value * sign
            return local + width
        months = local.year * 12 + local.month - 1 + sign * value * (12 if unit == "year" else 1)
        year, month = divmod(months, 12)
        day = min(local.day, calendar.monthrange(year, month + 1)[1])
        return local.replace(year=year, month=month + 1, day=day)
    except (OverflowError, ValueError):
        return LAST if sign > 0 else FIRST


def part(local: datetime, name: str) -> int:
    iso = local.isocalendar()
    return {
        "minute": local.minute,
        "hour": local.hour,
        "day": local.day,
        "week": iso.week,
        "week_of_year": iso.week,
        "month": local.month,
        "year": local.year,
        "weekday": iso.weekday,
        "day_of_year": local.timetuple().tm_yday,
    }[name]
