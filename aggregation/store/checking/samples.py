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
    Cause,
    Ingestion,
    Refusals,
    name_shown,
    text_good,
)
from aggregation.store.days import DAY_US, local_us, us_of_day

_GOOD: Final = -1
_TYPE_MAXIMUM_CHARACTERS: Final = 60

Mask: TypeAlias = NDArray[np.bool_]
Texts: TypeAlias = Sequence[str | None]
#: A reason, the field at fault, and the samples of which it holds.
_Problem: TypeAlias = tuple[str, tuple[str, ...], Mask]
_VALUE: Final = ("value",)


def samples_good(
    spec: SeriesSpec, samples: SampleColumns, ingestion: Ingestion, refusals: Refusals, *, batch: int = 0
) -> Mask:
    """Which samples can be stored; each of the others is refused for the first reason that holds."""
    codes, causes = _looked_at(spec, samples, ingestion)
    good: Mask = codes == _GOOD
    if not good.all():
        for code, cause in enumerate(causes):
            refusals.add_rows(spec.slug, cause.reason, np.flatnonzero(codes == code).tolist(), batch)
    return good


def sample_reasons(spec: SeriesSpec, samples: SampleColumns, ingestion: Ingestion) -> list[tuple[int, str]]:
    """The samples that can't be stored: their rows, ascending, each with the first reason that holds."""
    return [(row, cause.reason) for row, cause in sample_problems(spec, samples, ingestion)]


def sample_problems(spec: SeriesSpec, samples: SampleColumns, ingestion: Ingestion) -> list[tuple[int, Cause]]:
    """As `sample_reasons`, with the field at fault."""
    codes, causes = _looked_at(spec, samples, ingestion)
    rows = np.flatnonzero(codes != _GOOD)
    return [(row, causes[code]) for row, code in zip(rows.tolist(), codes[rows].tolist(), strict=True)]


def _looked_at(spec: SeriesSpec, samples: SampleColumns, ingestion: Ingestion) -> tuple[NDArray[np.int32], list[Cause]]:
    """Each sample's first cause as its place in the list, `_GOOD` where there is none."""
    codes = np.full(len(samples), _GOOD, np.int32)
    causes: list[Cause] = []
    for reason, loc, bad in _problems(spec, samples):
        if bad.any():
            codes[bad & (codes == _GOOD)] = len(causes)
            causes.append(Cause(reason, loc))
    if ingestion.start_on or ingestion.end_on:
        codes[(codes == _GOOD) & ~_inside(samples, ingestion)] = len(causes)
        causes.append(Cause(OUTSIDE_INGESTION_BOUNDS))
    return codes, causes


def _problems(spec: SeriesSpec, samples: SampleColumns) -> Iterator[_Problem]:
    if spec.is_older:
        yield UNKNOWN_RESOURCE, (), np.ones(len(samples), np.bool_)
    value = np.full(len(samples), np.nan) if samples.value is None else np.asarray(samples.value)
    if spec.has_value:
        yield MISSING_FIELD if samples.value is None else BAD_VALUE, _VALUE, ~np.isfinite(value)
    else:
        yield UNKNOWN_FIELD, _VALUE, ~np.isnan(value)
    yield from _start_problems(spec, samples)
    if spec.has_value:
        yield OUT_OF_RANGE, _VALUE, (value < spec.lowest) | (value > spec.highest)
    if samples.end_us is not None and spec.is_interval:
        end_us = np.asarray(samples.end_us)
        yield BAD_DATE, ("end",), end_us >= LATEST_US
        yield END_BEFORE_START, ("end",), end_us < np.asarray(samples.start_us)
    yield from _type_problems(spec, samples)
    yield from _field_problems(spec, samples)


def _start_problems(spec: SeriesSpec, samples: SampleColumns) -> Iterator[_Problem]:
    start_us, offsets = np.asarray(samples.start_us), np.asarray(samples.offset_seconds)
    name = "start" if spec.is_interval else "timestamp"
    yield BAD_DATE, (name,), (start_us < EARLIEST_US) | (start_us >= LATEST_US)
    far = np.abs(offsets.astype(np.int64)) > OFFSET_MAXIMUM_SECONDS
    yield BAD_OFFSET, ("timezone_offset",), (offsets != OFFSET_UNKNOWN) & far


def _type_problems(spec: SeriesSpec, samples: SampleColumns) -> Iterator[_Problem]:
    types = samples.type if samples.type is not None else [None] * len(samples)
    if spec.type_required:
        yield MISSING_FIELD, ("type",), _where(types, {None})
    if samples.type is not None:
        bad = {text for text in set(types) if text is not None and not _type_good(spec, text)}
        yield BAD_VALUE, ("type",), _where(types, bad)


def _type_good(spec: SeriesSpec, text: str) -> bool:
    if spec.types:
        return text in spec.types
    return len(text) <= _TYPE_MAXIMUM_CHARACTERS and text_good(text)


def _where(texts: Texts, wanted: AbstractSet[str | None]) -> Mask:
    if not wanted:
        return np.zeros(len(texts), np.bool_)
    return np.fromiter((text in wanted for text in texts), np.bool_, len(texts))


def _field_problems(spec: SeriesSpec, samples: SampleColumns) -> Iterator[_Problem]:
    known = {field.name for field in spec.fields}
    for name, column in samples.fields.items():
        if name not in known:
            yield UNKNOWN_FIELD, name_shown(name), ~_absent(column)
    for field in spec.fields:
        given = samples.fields.get(field.name)
        if given is None:
            if field.required:
                yield MISSING_FIELD, (field.name,), np.ones(len(samples), np.bool_)
            continue
        absent = _absent(given)
        if field.required:
            yield MISSING_FIELD, (field.name,), absent
        if field.kind is SampleFieldKind.NUMBER:
            yield from _number_problems(field, given, absent)
        else:
            yield from _text_problems(field, given, absent)


def _absent(column: FieldColumn) -> Mask:
    if isinstance(column, np.ndarray):
        return np.isnan(column)
    return _where(column, {None})


def _number_problems(field: SampleField, column: FieldColumn, absent: Mask) -> Iterator[_Problem]:
    if not isinstance(column, np.ndarray):
        yield BAD_VALUE, (field.name,), ~absent
        return
    yield BAD_VALUE, (field.name,), np.isinf(column)
    yield OUT_OF_RANGE, (field.name,), (column < field.lowest) | (column > field.highest)


def _text_problems(field: SampleField, column: FieldColumn, absent: Mask) -> Iterator[_Problem]:
    if isinstance(column, np.ndarray):
        yield BAD_VALUE, (field.name,), ~absent
        return
    bad = {text for text in set(column) if text is not None and not _text_in_field(field, text)}
    yield BAD_VALUE, (field.name,), _where(column, bad)


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
