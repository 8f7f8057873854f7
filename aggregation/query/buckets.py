"""Buckets and calendar numbers of floating local times, vectorised through a small table of days.

Minutes, hours, days and weeks count from Monday 2001-01-01T00:00, months from January, years from year 0: 15 minutes
align to the hour, weeks are ISO weeks, quarters begin in January.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from aggregation.query.columns import DAY_US, Ints, run_starts
from aggregation.query.nodes import Part, Period, Unit

_OfDays: TypeAlias = Callable[[Ints], Ints]

_MINUTE_US = 60_000_000
_HOUR_US = 3_600_000_000
_WIDTH_US = {Unit.MINUTE: _MINUTE_US, Unit.HOUR: _HOUR_US, Unit.DAY: DAY_US, Unit.WEEK: 7 * DAY_US}
#: Monday 2001-01-01, the first day of a week, a month and a year at once.
_ORIGIN_US = 11_323 * DAY_US
#: 1970-01-01 was a Thursday: ISO weekday 4, counted from 0 as 3.
_EPOCH_WEEKDAY = 3
#: Buckets are looked for by their edges where they hold at least so many times on average.
_ROWS_PER_SEARCH = 8
#: Buckets of more years than the calendar has all begin in year 1.
_MAX_YEARS = 10_000


def bucket_numbers(local_us: Ints, period: Period) -> Ints:
    """Which bucket each time lies in, as a number that grows with time."""
    width_us = _WIDTH_US.get(period.unit)
    if width_us is not None:
        numbers: Ints = (local_us - _ORIGIN_US) // (width_us * period.value)
        return numbers
    if period.unit is Unit.MONTH:
        return _by_day(local_us, lambda days: _months(days) // period.value)
    return _by_day(local_us, lambda days: _years(days) // min(period.value, _MAX_YEARS))


def bucket_starts(numbers: Ints, period: Period) -> Ints:
    """When the buckets of these numbers begin, in local microseconds."""
    width_us = _WIDTH_US.get(period.unit)
    if width_us is not None:
        return numbers * (width_us * period.value) + _ORIGIN_US
    if period.unit is Unit.MONTH:
        months = numbers * period.value
    else:
        years = np.maximum(numbers * min(period.value, _MAX_YEARS), 1)
        months = (years - 1970) * 12
    return months.astype("M8[M]").astype("M8[us]").astype(np.int64)


def bucket_runs(ascending_us: Ints, period: Period) -> tuple[Ints, Ints]:
    """Where the runs of times of one bucket begin, and the buckets' numbers; of at least one time.

    Few wide buckets are found by looking for their edges, which leaves most of the times untouched.
    """
    ends = bucket_numbers(ascending_us[[0, -1]], period)
    first, last = int(ends[0]), int(ends[1])
    if (last - first + 1) * _ROWS_PER_SEARCH > len(ascending_us):
        numbers = bucket_numbers(ascending_us, period)
        starts = run_starts(numbers)
        return starts, numbers[starts]
    numbers = np.arange(first, last + 1, dtype=np.int64)
    edges_us = bucket_starts(numbers[1:], period)
    starts = np.append(np.zeros(1, np.int64), np.searchsorted(ascending_us, edges_us))
    has_rows = np.diff(starts, append=len(ascending_us)) > 0
    return starts[has_rows], numbers[has_rows]


def shifted(local_us: Ints, period: Period, *, back: bool = False) -> Ints:
    """Each time a period later or earlier; months and years keep the day, or take the last one of a shorter month."""
    sign = -1 if back else 1
    width_us = _WIDTH_US.get(period.unit)
    if width_us is not None:
        return local_us + sign * width_us * period.value
    days = local_us // DAY_US
    months = _dates(days).astype("M8[M]").astype(np.int64)
    day = days - _first_days(months)
    months = months + sign * min(period.value, _MAX_YEARS) * (12 if period.unit is Unit.YEAR else 1)
    first_days = _first_days(months)
    last_day = _first_days(months + 1) - first_days - 1
    moved: Ints = (first_days + np.minimum(day, last_day)) * DAY_US + local_us % DAY_US
    return moved


def _first_days(months: Ints) -> Ints:
    """The first day of each month since January 1970, in days since then."""
    first_days: Ints = months.astype("M8[M]").astype("M8[D]").astype(np.int64)
    return first_days


def date_parts(local_us: Ints, part: Part) -> Ints:
    """The calendar number of each time."""
    if part is Part.MINUTE:
        return local_us // _MINUTE_US % 60
    if part is Part.HOUR:
        return local_us // _HOUR_US % 24
    return _by_day(local_us, lambda days: _day_part(days, part))


def _by_day(local_us: Ints, of_days: _OfDays) -> Ints:
    """Computes once a day of the range, not once a row."""
    if len(local_us) == 0:
        return local_us
    days = local_us // DAY_US
    first, last = int(days.min()), int(days.max())
    table = of_days(np.arange(first, last + 1, dtype=np.int64))
    by_row: Ints = table[days - first]
    return by_row


def _dates(days: Ints) -> NDArray[np.datetime64]:
    return days.astype("M8[D]")


def _months(days: Ints) -> Ints:
    """Months since January 1970."""
    return _dates(days).astype("M8[M]").astype(np.int64)


def _years(days: Ints) -> Ints:
    return _dates(days).astype("M8[Y]").astype(np.int64) + 1970


def _day_part(days: Ints, part: Part) -> Ints:
    dates = _dates(days)
    weekdays = (days + _EPOCH_WEEKDAY) % 7
    if part is Part.WEEKDAY:
        return weekdays + 1
    if part is Part.YEAR:
        return _years(days)
    if part is Part.MONTH:
        return _months(days) % 12 + 1
    if part is Part.DAY:
        return days - dates.astype("M8[M]").astype("M8[D]").astype(np.int64) + 1
    if part is Part.DAY_OF_YEAR:
        return _day_of_year(days)
    return _day_of_year(days - weekdays + 3, zero_based=True) // 7 + 1  # the week's Thursday is in its ISO year


def _day_of_year(days: Ints, *, zero_based: bool = False) -> Ints:
    new_years: Ints = _dates(days).astype("M8[Y]").astype("M8[D]").astype(np.int64)
    return days - new_years + (0 if zero_based else 1)
