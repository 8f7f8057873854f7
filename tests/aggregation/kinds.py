"""A sample of every kind of timeseries for tests, made of the resource's record."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from aggregation.catalogue import SampleField, SampleFieldKind, SeriesSpec
from aggregation.records import DataSource, FieldColumn, SampleColumns, SeriesBatch

MINUTE_US = 60_000_000


def typed(
    resource: str,
    source: DataSource,
    start_us: int,
    *,
    value: float | None = None,
    minutes: int | None = None,
    types: Sequence[str | None] | None = None,
    workout: str | None = None,
    fields: Mapping[str, FieldColumn] = MappingProxyType({}),
) -> SeriesBatch:
    """Samples a minute apart, as many as the longest of `types` and `fields`, each `minutes` long."""
    size = max([1, *(len(column) for column in (types or (), *fields.values()))])
    starts = start_us + np.arange(size, dtype=np.int64) * MINUTE_US
    columns = SampleColumns(
        start_us=starts,
        end_us=None if minutes is None else starts + minutes * MINUTE_US,
        value=None if value is None else np.full(size, value),
        offset_seconds=np.zeros(size, np.int32),
        type=types,
        fields=fields,
    )
    return SeriesBatch(resource, source, columns, workout)


def one_of(spec: SeriesSpec, source: DataSource, start_us: int) -> SeriesBatch:
    """One sample with every field that the resource has."""
    fields: Mapping[str, FieldColumn] = {field.name: _column(field) for field in spec.fields}
    return typed(
        spec.slug,
        source,
        start_us,
        value=_middle(spec.lowest, spec.highest) if spec.has_value else None,
        minutes=5 if spec.is_interval else None,
        types=[next(iter((*spec.types, *spec.sub_paths)), "egg" if spec.type_required else None)],
        fields=fields,
    )


def _middle(lowest: float, highest: float) -> float:
    return min(highest, max(lowest, 1.0))


def _column(field: SampleField) -> FieldColumn:
    if field.kind is SampleFieldKind.NUMBER:
        return np.array([_middle(field.lowest, field.highest)])
    if field.kind is SampleFieldKind.TEXTS:
        return [",".join(field.choices[:2])]
    return [next(iter(field.choices), "Words.")]
