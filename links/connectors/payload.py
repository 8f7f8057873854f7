"""What every converter shares: reading a vendor's JSON with care, and saying what was refused and why.

A converter never raises for what a vendor sent. It reads through the functions below, which raise
`MalformedError`, and the `refusing` decorator turns that into a `Refusal` with a stable reason code:
`missing_field:<name>`, `wrong_type:<name>`, `bad_time:<name>`, `out_of_range:<name>`, `ends_before_start`,
or one of the connector's own. Names in a reason are field names of the vendor's document, never values.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from functools import wraps
from typing import Concatenate, ParamSpec
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from aggregation.records import (
    OFFSET_UNKNOWN,
    DataSource,
    Refusal,
    SampleColumns,
    SeriesBatch,
    SummaryRecord,
)
from healthsvc.kernel.typing import JSONValue

P = ParamSpec("P")

#: More than this from UTC and an offset is a mistake: the inhabited world ends at 14 hours.
OFFSET_LIMIT_SECONDS = 14 * 3600


class MalformedError(Exception):
    """A document that cannot be converted; `reason` is a stable code."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Series:
    """What a stretch of samples became: a batch for each resource and source, and what was left out."""

    batches: tuple[SeriesBatch, ...]
    refusals: tuple[Refusal, ...]


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample on its way into columns, epoch microseconds; `end_us` is None for an instant."""

    start_us: int
    value: float
    end_us: int | None = None
    offset_seconds: int = OFFSET_UNKNOWN


@dataclass(frozen=True, slots=True)
class CuffReading:
    """One reading of a cuff, mmHg, at epoch microseconds."""

    at_us: int
    systolic: float
    diastolic: float
    offset_seconds: int = OFFSET_UNKNOWN


def refusing(
    kind: str,
) -> Callable[
    [Callable[Concatenate[JSONValue, P], SummaryRecord]], Callable[Concatenate[JSONValue, P], SummaryRecord | Refusal]
]:
    """Turn MalformedError into a Refusal of the vendor's `kind`."""

    def decorate(
        convert: Callable[Concatenate[JSONValue, P], SummaryRecord],
    ) -> Callable[Concatenate[JSONValue, P], SummaryRecord | Refusal]:
        @wraps(convert)
        def converted(payload: JSONValue, /, *args: P.args, **kwargs: P.kwargs) -> SummaryRecord | Refusal:
            try:
                return convert(payload, *args, **kwargs)
            except MalformedError as error:
                return Refusal(kind=kind, reason=error.reason)

        return converted

    return decorate


def counted(kind: str, reasons: Iterable[str]) -> tuple[Refusal, ...]:
    """One Refusal for each distinct reason, with how often it came."""
    counts: dict[str, int] = {}
    for reason in reasons:
        counts[reason] = counts.get(reason, 0) + 1
    return tuple(Refusal(kind=kind, reason=reason, count=count) for reason, count in sorted(counts.items()))


def batch_of(resource: str, source: DataSource, samples: Sequence[Sample]) -> SeriesBatch:
    """Samples, all instants or all intervals, as one batch of columns."""
    intervals = [sample.end_us for sample in samples if sample.end_us is not None]
    return SeriesBatch(
        resource=resource,
        source=source,
        samples=SampleColumns(
            start_us=np.array([sample.start_us for sample in samples], dtype=np.int64),
            value=np.array([sample.value for sample in samples], dtype=np.float64),
            offset_seconds=np.array([sample.offset_seconds for sample in samples], dtype=np.int32),
            end_us=np.array(intervals, dtype=np.int64) if intervals else None,
        ),
    )


def cuff_batch_of(resource: str, source: DataSource, readings: Sequence[CuffReading]) -> SeriesBatch:
    """Readings of cuffs as one batch of columns."""
    return SeriesBatch(
        resource=resource,
        source=source,
        samples=SampleColumns(
            start_us=np.array([one.at_us for one in readings], dtype=np.int64),
            value=None,
            offset_seconds=np.array([one.offset_seconds for one in readings], dtype=np.int32),
            fields={
                "systolic": np.array([one.systolic for one in readings], dtype=np.float64),
                "diastolic": np.array([one.diastolic for one in readings], dtype=np.float64),
            },
        ),
    )


def batches_of(samples: Mapping[tuple[str, DataSource], Sequence[Sample]]) -> tuple[SeriesBatch, ...]:
    """One batch for each resource and source that has samples."""
    return tuple(batch_of(resource, source, found) for (resource, source), found in samples.items() if found)


def document(payload: JSONValue) -> Mapping[str, JSONValue]:
    """The payload as an object."""
    if not isinstance(payload, Mapping):
        raise MalformedError("not_an_object")
    return payload


def _present(item: Mapping[str, JSONValue], name: str) -> JSONValue:
    value = item.get(name)
    if value is None:
        raise MalformedError(f"missing_field:{name}")
    return value


def text(item: Mapping[str, JSONValue], name: str) -> str:
    """A field that must hold a text with something in it."""
    value = _present(item, name)
    if not isinstance(value, str) or not value:
        raise MalformedError(f"wrong_type:{name}")
    return value


def optional_text(item: Mapping[str, JSONValue], name: str) -> str | None:
    """A field that may be missing, null or empty."""
    return text(item, name) if item.get(name) else None


def number(item: Mapping[str, JSONValue], name: str) -> float:
    """A field that must hold a finite number. A number written as a text is refused, not guessed at."""
    value = _present(item, name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise MalformedError(f"wrong_type:{name}")
    return float(value)


def optional_number(item: Mapping[str, JSONValue], name: str) -> float | None:
    """A finite number, or None where the field is missing or null."""
    return None if item.get(name) is None else number(item, name)


def whole(item: Mapping[str, JSONValue], name: str) -> int:
    """A field that must hold a number without a fraction."""
    value = number(item, name)
    if not value.is_integer():
        raise MalformedError(f"wrong_type:{name}")
    return int(value)


def optional_whole(item: Mapping[str, JSONValue], name: str) -> int | None:
    """A whole number, or None where the field is missing or null."""
    return None if item.get(name) is None else whole(item, name)


def nearest_whole(value: float | None) -> int | None:
    """For fields that the API gives as integers where a vendor gives fractions."""
    return None if value is None else round(value)


def calendar_day(item: Mapping[str, JSONValue], name: str) -> date:
    """A field that must hold a date as YYYY-MM-DD."""
    value = text(item, name)
    try:
        return date.fromisoformat(value)
    except ValueError as error:
        raise MalformedError(f"bad_time:{name}") from error


def local_instant(item: Mapping[str, JSONValue], name: str) -> datetime:
    """A field that must hold an ISO 8601 instant with its offset; the offset is kept."""
    value = text(item, name)
    try:
        moment = datetime.fromisoformat(value)
    except ValueError as error:
        raise MalformedError(f"bad_time:{name}") from error
    if moment.tzinfo is None or abs(offset_seconds_of(moment)) > OFFSET_LIMIT_SECONDS:
        raise MalformedError(f"bad_time:{name}")
    return moment


def epoch_instant(item: Mapping[str, JSONValue], name: str) -> datetime:
    """A field that must hold seconds since 1970-01-01T00:00Z."""
    return instant_from_epoch_seconds(whole(item, name), name)


def instant_from_epoch_seconds(seconds: int, name: str) -> datetime:
    """Epoch seconds as an instant in UTC; a count of milliseconds, or of years to come, is refused."""
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise MalformedError(f"bad_time:{name}") from error
    if not 1990 <= moment.year < 2100:
        raise MalformedError(f"bad_time:{name}")
    return moment


def offset_seconds_of(moment: datetime) -> int:
    """Seconds east of UTC of an instant that has an offset."""
    offset = moment.utcoffset()
    if offset is None:
        raise MalformedError("bad_time:offset")
    return int(offset.total_seconds())


def offset_seconds_at(moment: datetime, time_zone: str | None) -> int | None:
    """Seconds east of UTC in an IANA time zone at an instant; None where the zone is missing or unknown."""
    if not time_zone:
        return None
    try:
        return offset_seconds_of(moment.astimezone(ZoneInfo(time_zone)))
    except (ZoneInfoNotFoundError, ValueError):
        return None


def offset_or_unknown(moment: datetime, time_zone: str | None) -> int:
    """`offset_seconds_at`, as samples say it."""
    offset_seconds = offset_seconds_at(moment, time_zone)
    return OFFSET_UNKNOWN if offset_seconds is None else offset_seconds


def epoch_seconds_of_day(day: date) -> int:
    """The instant of a day's midnight by UTC, in epoch seconds."""
    return int(datetime.combine(day, time(), UTC).timestamp())


def microseconds(moment: datetime) -> int:
    """Epoch microseconds of an instant, without the rounding of a float."""
    since = moment.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def utc_text(moment: datetime) -> str:
    """An instant in UTC as the API writes it."""
    return moment.astimezone(UTC).isoformat()


def in_order(start: datetime, end: datetime) -> int:
    """Whole seconds from start to end; refused where end is not after start."""
    span = end - start
    if span.total_seconds() <= 0:
        raise MalformedError("ends_before_start")
    return round(span.total_seconds())


def minutes_from_seconds(seconds: float | None) -> float | None:
    """Second = 1/60 min, exact."""
    return None if seconds is None else seconds / 60.0
