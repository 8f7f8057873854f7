"""What time it was when a Polar watch showed a time: the watch tells its own clock and, with most data, no offset.

Nights and exercises tell the offset of their moments. In between, the last one told holds: a watch learns of another
time zone, or of a change of clocks, when it is synchronised.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, timezone
from itertools import pairwise
from typing import Final

from healthsvc.kernel.typing import JSONValue
from links.connectors.payload import (
    OFFSET_LIMIT_SECONDS,
    MalformedError,
    document,
    local_instant,
    offset_seconds_of,
    text,
    whole,
)

_DURATION: Final = re.compile(r"P(?:(\d{1,3})D)?(?:T(?:(\d{1,4})H)?(?:(\d{1,5})M)?(?:(\d{1,7}(?:\.\d{1,9})?)S)?)?")
#: No exercise and no stretch of one lasts longer.
_DURATION_MAXIMUM_SECONDS: Final = 7 * 86_400


@dataclass(frozen=True, slots=True)
class KnownOffset:
    """Seconds east of UTC from an instant on."""

    since: datetime
    seconds: int


def named(payload: JSONValue) -> Mapping[str, JSONValue]:
    """An object whose names have underscores: Polar writes some with hyphens, and the same ones in either way."""
    return {name.replace("-", "_"): value for name, value in document(payload).items()}


def known_offsets(nights: Iterable[JSONValue], exercises: Iterable[JSONValue]) -> Sequence[KnownOffset]:
    """The offsets that nights and exercises tell, in order of time, each where it changes."""
    told: dict[datetime, int] = {}
    for night in nights:
        for name in ("sleep_start_time", "sleep_end_time"):
            try:
                moment = local_instant(named(night), name)
                told[moment.astimezone(UTC)] = offset_seconds_of(moment)
            except MalformedError:
                # The night's own converter refuses and reports it; here it only tells no offset.
                continue
    for exercise in exercises:
        try:
            start = exercise_start(named(exercise))
            told[start.astimezone(UTC)] = offset_seconds_of(start)
        except MalformedError:
            continue
    found: list[KnownOffset] = []
    for since in sorted(told):
        if not found or found[-1].seconds != told[since]:
            found.append(KnownOffset(since, told[since]))
    return tuple(found)


def placed(shown: datetime, offsets: Sequence[KnownOffset], after: datetime | None = None) -> datetime:
    """The instant, with its offset, at which the watch showed a time. MalformedError where no offset is known.

    After the clock was put back it shows an hour twice: then it is the first that comes `after` what came before. A
    time that was skipped when it was put forward is taken by the offset after.
    """
    if not offsets:
        raise MalformedError("offset_unknown")
    possible: list[datetime] = []
    for place, known in enumerate(offsets):
        moment = at_offset(shown, known.seconds)
        begun = place == 0 or known.since <= moment
        ended = place + 1 < len(offsets) and offsets[place + 1].since <= moment
        if begun and not ended:
            possible.append(moment)
    later = [moment for moment in possible if after is None or moment > after]
    if possible:
        return (later or possible)[0]
    return next(
        at_offset(shown, following.seconds)
        for known, following in pairwise(offsets)
        if at_offset(shown, following.seconds) < following.since <= at_offset(shown, known.seconds)
    )


def at_offset(shown: datetime, seconds: int) -> datetime:
    """A time without an offset as one with it."""
    return shown.replace(tzinfo=timezone(timedelta(seconds=seconds)))


def exercise_start(item: Mapping[str, JSONValue]) -> datetime:
    """`start_time`, by the watch, with `start_time_utc_offset`, in minutes."""
    seconds = whole(item, "start_time_utc_offset") * 60
    if abs(seconds) > OFFSET_LIMIT_SECONDS:
        raise MalformedError("out_of_range:start_time_utc_offset")
    return at_offset(shown_time(item, "start_time"), seconds)


def shown_time(item: Mapping[str, JSONValue], name: str) -> datetime:
    """A time as the watch showed it. An offset that is written beside it is none: Polar writes a `Z` for nothing."""
    try:
        return datetime.fromisoformat(text(item, name)).replace(tzinfo=None)
    except ValueError as error:
        raise MalformedError(f"bad_time:{name}") from error


def night_moment(started: datetime, shown: str, name: str) -> datetime:
    """`HH:MM` within a night that started on the evening before or after midnight, by the clock of its start."""
    try:
        moment = datetime.combine(started.date(), time.fromisoformat(shown), started.tzinfo)
    except ValueError as error:
        raise MalformedError(f"bad_time:{name}") from error
    # The minute in which the night started is the night's.
    if moment < started.replace(second=0, microsecond=0):
        moment += timedelta(days=1)
    return max(moment, started)


def duration_seconds(item: Mapping[str, JSONValue], name: str) -> float:
    """A length of time as ISO 8601 has it: `PT2H44M`, `PT210.026S`."""
    found = _DURATION.fullmatch(text(item, name))
    if found is None or not any(found.groups()):
        raise MalformedError(f"bad_time:{name}")
    days, hours, minutes, seconds = (float(part or 0) for part in found.groups())
    total = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    if total > _DURATION_MAXIMUM_SECONDS:
        raise MalformedError(f"out_of_range:{name}")
    return total
