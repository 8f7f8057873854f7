"""What samples must be to be stored; a wrong one never takes its neighbours down."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from aggregation.catalogue import SampleField, SampleFieldKind, SeriesSpec
from aggregation.constants import EARLIEST_US, LATEST_US, OFFSET_MAXIMUM_SECONDS
from aggregation.records import OFFSET_UNKNOWN, FieldColumn, SampleColumns
from aggregation.store.checking.reasons import (
    BAD_DATE,
    BAD_OFFSET,
    BAD_VALUE,
    END_BEFORE_START,
    MISSING_FIELD,
    OUT_OF_RANGE,
    OUTSIDE_INGESTION_BOUNDS,
    UNKNOWN_FIELD,
    UNKNOWN_RESOURCE,
    Ingestion,
    Refusals,
    text_good,
)
from aggregation.store.days import DAY_US, local_us, us_of_day

#: Every reason for which samples are refused; a reason's place is its code while samples are looked at.
_REASONS: Final = (
    BAD_VALUE,
    MISSING_FIELD,
    UNKNOWN_FIELD,
    BAD_DATE,
    BAD_OFFSET,
    OUT_OF_RANGE,
    END_BEFORE_START,
    OUTSIDE_INGESTION_BOUNDS,
    UNKNOWN_RESOURCE,
)
_GOOD: Final = -1
_TYPE_MAXIMUM_CHARACTERS: Final = 60

Mask: TypeAlias = NDArray[np.bool_]
Texts: TypeAlias = Sequence[str | None]


def samples_good(
    spec: SeriesSpec, samples: SampleColumns, ingestion: Ingestion, refusals: Refusals, *, batch: int = 0
) -> Mask:
    """Which samples can be stored; each of the others is refused for the first reason that holds."""
    codes = _reason_codes(spec, samples, ingestion)
    good: Mask = codes == _GOOD
    if not good.all():
        for code in np.unique(codes[~good]).tolist():
            refusals.add_rows(spec.slug, _REASONS[code], np.flatnonzero(codes == code).tolist(), batch)
    return good


def sample_reasons(spec: SeriesSpec, samples: SampleColumns, ingestion: Ingestion) -> list[tuple[int, str]]:
    """The samples that can't be stored: their rows, ascending, each with the first reason that holds."""
    codes = _reason_codes(spec, samples, ingestion)
    rows = np.flatnonzero(codes != _GOOD)
    return [(row, _REASONS[code]) for row, code in zip(rows.tolist(), codes[rows].tolist(), strict=True)]


def _reason_codes(spec: SeriesSpec, samples: SampleColumns, ingestion: Ingestion) -> NDArray[np.int8]:
    """Each sample's first reason as its place in `_REASONS`, `_GOOD` where there is none."""
    codes = np.full(len(samples), _GOOD, np.int8)
    for reason, bad in _problems(spec, samples):
        if bad.any():
            codes[bad & (codes == _GOOD)] = _REASONS.index(reason)
    if ingestion.start_on or ingestion.end_on:
        codes[(codes == _GOOD) & ~_inside(samples, ingestion)] = _REASONS.index(OUTSIDE_INGESTION_BOUNDS)
    return codes


def _problems(spec: SeriesSpec, samples: SampleColumns) -> Iterator[tuple[str, Mask]]:
    if spec.is_older:
        yield UNKNOWN_RESOURCE, np.ones(len(samples), np.bool_)
    start_us, offsets = np.asarray(samples.start_us), np.asarray(samples.offset_seconds)
    value = np.full(len(samples), np.nan) if samples.value is None else np.asarray(samples.value)
    if spec.has_value:
        yield MISSING_FIELD if samples.value is None else BAD_VALUE, ~np.isfinite(value)
    else:
        yield UNKNOWN_FIELD, ~np.isnan(value)
    yield BAD_DATE, (start_us < EARLIEST_US) | (start_us >= LATEST_US)
    yield BAD_OFFSET, (offsets != OFFSET_UNKNOWN) & (np.abs(offsets.astype(np.int64)) > OFFSET_MAXIMUM_SECONDS)
    if spec.has_value:
        yield OUT_OF_RANGE, (value < spec.lowest) | (value > spec.highest)
    if samples.end_us is not None and spec.is_interval:
        end_us = np.asarray(samples.end_us)
        yield BAD_DATE, end_us >= LATEST_US
        yield END_BEFORE_START, end_us < start_us
    yield from _type_problems(spec, samples)
    yield from _field_problems(spec, samples)


def _type_problems(spec: SeriesSpec, samples: SampleColumns) -> Iterator[tuple[str, Mask]]:
    types = samples.type if samples.type is not None else [None] * len(samples)
    if spec.type_required:
        yield MISSING_FIELD, _where(types, {None})
    if samples.type is not None:
        bad = {text for text in set(types) if text is not None and not _type_good(spec, text)}
        yield BAD_VALUE, _where(types, bad)


def _type_good(spec: SeriesSpec, text: str) -> bool:
    if spec.types:
        return text in spec.types
    return len(text) <= _TYPE_MAXIMUM_CHARACTERS and text_good(text)


def _where(texts: Texts, wanted: AbstractSet[str | None]) -> Mask:
    if not wanted:
        return np.zeros(len(texts), np.bool_)
    return np.fromiter((text in wanted for text in texts), np.bool_, len(texts))


def _field_problems(spec: SeriesSpec, samples: SampleColumns) -> Iterator[tuple[str, Mask]]:
    known = {field.name for field in spec.fields}
    for name, column in samples.fields.items():
        if name not in known:
            yield UNKNOWN_FIELD, ~_absent(column)
    for field in spec.fields:
        given = samples.fields.get(field.name)
        if given is None:
            if field.required:
                yield MISSING_FIELD, np.ones(len(samples), np.bool_)
            continue
        absent = _absent(given)
        if field.required:
            yield MISSING_FIELD, absent
        if field.kind is SampleFieldKind.NUMBER:
            yield from _number_problems(field, given, absent)
        else:
            yield from _text_problems(field, given, absent)


def _absent(column: FieldColumn) -> Mask:
    if isinstance(column, np.ndarray):
        return np.isnan(column)
    return _where(column, {None})


def _number_problems(field: SampleField, column: FieldColumn, absent: Mask) -> Iterator[tuple[str, Mask]]:
    if not isinstance(column, np.ndarray):
        yield BAD_VALUE, ~absent
        return
    yield BAD_VALUE, np.isinf(column)
    yield OUT_OF_RANGE, (column < field.lowest) | (column > field.highest)


def _text_problems(field: SampleField, column: FieldColumn, absent: Mask) -> Iterator[tuple[str, Mask]]:
    if isinstance(column, np.ndarray):
        yield BAD_VALUE, ~absent
        return
    bad = {text for text in set(column) if text is not None and not _text_in_field(field, text)}
    yield BAD_VALUE, _where(column, bad)


def _text_in_field(field: SampleField, text: str) -> bool:
    if field.kind is SampleFieldKind.TEXTS:
        parts = text.split(",")
        return len(set(parts)) == len(parts) and all(part in field.choices for part in parts)
    if field.choices:
        return text in field.choices
    return 0 < len(text) <= field.maximum_characters and text_good(text)


def _inside(samples: SampleColumns, ingestion: Ingestion) -> Mask:
    # Times that were refused already must not overflow here; what they give is not looked at.
    start_us = np.clip(samples.start_us, EARLIEST_US, LATEST_US - 1)
    local = local_us(start_us, np.asarray(samples.offset_seconds), ingestion.fallback_time_zone)
    inside = np.ones(len(local), np.bool_)
    if ingestion.start_on:
        inside &= local >= us_of_day(ingestion.start_on)
    if ingestion.end_on:
        inside &= local < us_of_day(ingestion.end_on) + DAY_US
    return inside
