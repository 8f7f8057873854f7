"""ISO 8601 texts as columns of microseconds, many at once: about 0.1 microseconds a text."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from aggregation.records import OFFSET_UNKNOWN
from aggregation.store.days import SECOND_US

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
#: Wide enough for the figures of a date, and half the memory of int64.
Figures = NDArray[np.int32]

#: The forms that are taken, each digit written as 0. A fraction is cut to microseconds.
_FORM: Final = re.compile(
    r"0000-00-00[Tt ]00:00(?P<second>:00(?:[.,](?P<fraction>0{1,9}))?)?(?P<zone>[Zz]|[+-]00:?00)?"
)
_DIGITS_TO_ZERO: Final = str.maketrans("123456789", "000000000")
_LENGTH_MAXIMUM: Final = 40
_MONTH_DAYS: Final = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31], np.int32)
#: Written for a clock without a zone.
_NAIVE: Final = np.iinfo(np.int64).min
#: Zones change their offset at whole quarters of an hour.
_QUARTER_SECONDS: Final = 900


@dataclass(frozen=True, slots=True)
class Clocks:
    """What texts say: the clock on the wall as microseconds since 1970, and its offset from UTC.

    `naive`: the text names no offset. `good`: the text is a time at all; the others hold zeros.
    """

    wall_us: Ints
    offset_seconds: Ints
    naive: Mask
    good: Mask


def clocks_read(texts: Sequence[str | None]) -> Clocks:
    """Every text read; None and what is no time is not good."""
    size = len(texts)
    wall_us, offsets = np.zeros(size, np.int64), np.zeros(size, np.int64)
    naive, good = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
    for rows, form, matrix in _by_form(texts):
        found_us, found_offsets, valid = _read(form, matrix)
        is_naive = form["zone"] is None
        wall_us[rows] = np.where(valid, found_us, 0)
        offsets[rows] = np.where(valid, found_offsets, 0)
        naive[rows], good[rows] = is_naive, valid
    return Clocks(wall_us, offsets, naive, good)


def _by_form(texts: Sequence[str | None]) -> list[tuple[Ints | slice, re.Match[str], NDArray[np.uint8]]]:
    """Texts of one form each, as a table of characters. Nearly always there is one form, and this is fast."""
    first = texts[0] if len(texts) else None
    if first is not None:
        form, length = _FORM.fullmatch(first.translate(_DIGITS_TO_ZERO)), len(first)
        if form and None not in texts and set(map(len, texts)) == {length}:  # type: ignore[arg-type]
            joined = "".join(texts)  # type: ignore[arg-type]
            if joined.isascii():
                matrix = np.frombuffer(joined.encode(), np.uint8).reshape(len(texts), length)
                if _same_form(matrix, form.string):
                    return [(slice(None), form, matrix)]
    groups: dict[str, list[int]] = {}
    for row, text in enumerate(texts):
        if text is not None and len(text) <= _LENGTH_MAXIMUM and text.isascii():
            groups.setdefault(text.translate(_DIGITS_TO_ZERO), []).append(row)
    found: list[tuple[Ints | slice, re.Match[str], NDArray[np.uint8]]] = []
    for template, rows in groups.items():
        form = _FORM.fullmatch(template)
        if form:
            joined = "".join(texts[row] or "" for row in rows)
            matrix = np.frombuffer(joined.encode(), np.uint8).reshape(len(rows), len(template))
            found.append((np.array(rows, np.int64), form, matrix))
    return found


def _same_form(matrix: NDArray[np.uint8], template: str) -> bool:
    characters = np.frombuffer(template.encode(), np.uint8)
    digits = characters == ord("0")
    fixed = matrix[:, ~digits] == characters[~digits]
    # Below "0" the difference wraps around to a large number.
    return bool(fixed.all() and (matrix[:, digits] - np.uint8(ord("0")) <= 9).all())


def _read(form: re.Match[str], matrix: NDArray[np.uint8]) -> tuple[Ints, Ints, Mask]:
    # One row a character, so that every step runs over contiguous memory.
    figures = np.ascontiguousarray(matrix.T).astype(np.int32) - np.int32(ord("0"))

    def number(start: int, width: int) -> Figures:
        total: Figures = figures[start]
        for place in range(start + 1, start + width):
            total = total * 10 + figures[place]
        return total

    zero = np.zeros(len(matrix), np.int32)
    year, month, day, hour, minute = number(0, 4), number(5, 2), number(8, 2), number(11, 2), number(14, 2)
    second = number(17, 2) if form["second"] else zero
    valid = (month >= 1) & (month <= 12) & (day >= 1) & (hour <= 23) & (minute <= 59) & (second <= 59)
    valid &= (year >= 1) & (day <= _days_of(year, np.where(valid, month, 1)))
    fraction_us: Figures = zero
    if form["fraction"]:
        width = min(len(form["fraction"]), 6)
        fraction_us = number(form.start("fraction"), width) * np.int32(10 ** (6 - width))
    of_day = hour * 3_600 + minute * 60 + second
    wall_us: Ints = (
        _days_since_1970(year, month, day).astype(np.int64) * 86_400 + of_day
    ) * SECOND_US + fraction_us.astype(np.int64)
    offset = zero
    if form["zone"] and form["zone"] not in "Zz":
        begin, end = form.span("zone")
        minutes = number(end - 2, 2)
        valid &= minutes <= 59
        offset = (number(begin + 1, 2) * 3_600 + minutes * 60) * (-1 if form["zone"][0] == "-" else 1)
    return wall_us, offset.astype(np.int64), valid


def _days_of(year: Figures, month: Figures) -> Figures:
    leap = (month == 2) & (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    days: Figures = _MONTH_DAYS[month] + leap
    return days


def _days_since_1970(year: Figures, month: Figures, day: Figures) -> Figures:
    """Counted in years that begin in March, so that the leap day is a year's last."""
    year = year - (month <= 2)
    era = year // 400
    year_of_era = year - era * 400
    day_of_year = (153 * (month + np.where(month > 2, -3, 9)) + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    days: Figures = era * 146_097 + day_of_era - 719_468
    return days


@dataclass(frozen=True, slots=True)
class Instants:
    """UTC microseconds since 1970, the person's offset (`OFFSET_UNKNOWN` where nobody told), and which are good."""

    at_us: Ints
    offset_seconds: NDArray[np.int32]
    good: Mask


def instants_of(clocks: Clocks, offsets: NDArray[np.float64] | None, time_zone: str | None) -> Instants:
    """The instants of clocks, with what else is known of where the person was.

    offsets: those sent beside the texts, seconds, NaN where none; they win. Else a text's own offset counts, unless
    it is zero: UTC tells when, not where. Else the zone's at that instant. A text without an offset needs one of the
    two, and is good for nothing without. Of a local time that comes twice the first is meant, and one that is left
    out is read with the offset before the gap (as RFC 5545 has both).
    """
    sent = np.full(len(clocks.good), np.nan) if offsets is None else offsets
    told = np.isfinite(sent)
    known = np.where(told, np.nan_to_num(sent), 0.0).astype(np.int64)
    shift = np.where(clocks.naive, known, clocks.offset_seconds)
    person = np.where(told, known, np.where(clocks.offset_seconds != 0, clocks.offset_seconds, _NAIVE))
    good = clocks.good & (told | ~clocks.naive)
    if time_zone is not None:
        unsaid = clocks.good & clocks.naive & ~told
        if unsaid.any():
            shift[unsaid] = _zone_offsets(clocks.wall_us[unsaid], time_zone, local=True)
            good |= unsaid
    at_us = clocks.wall_us - shift * SECOND_US
    unknown = good & (person == _NAIVE)
    if time_zone is not None and unknown.any():
        person[unknown] = _zone_offsets(at_us[unknown], time_zone, local=False)
        unknown[:] = False
    offset_seconds = np.where(good & ~unknown & (person != _NAIVE), person, OFFSET_UNKNOWN).astype(np.int32)
    return Instants(at_us, offset_seconds, good)


def _zone_offsets(times_us: Ints, time_zone: str, *, local: bool) -> Ints:
    """The zone's offset from UTC, seconds, at instants or at times on its own clock."""
    zone = ZoneInfo(time_zone)
    quarters, place = np.unique(times_us // (_QUARTER_SECONDS * SECOND_US), return_inverse=True)
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    found = []
    for quarter in quarters.tolist():
        moment = epoch + timedelta(seconds=quarter * _QUARTER_SECONDS)
        there = moment.replace(tzinfo=zone) if local else _there(moment, zone)
        found.append(round((there.utcoffset() or timedelta()).total_seconds()))
    return np.array(found, np.int64)[place]


def _there(moment: datetime, zone: ZoneInfo) -> datetime:
    try:
        return moment.astimezone(zone)
    except OverflowError:  # the first and the last day of all; the store refuses both
        return moment.replace(tzinfo=zone)
