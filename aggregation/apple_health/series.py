"""Samples on their way to the store, gathered into columns a series."""

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from aggregation.apple_health.instants import Instant
from aggregation.catalogue import SampleFieldKind, SeriesSpec
from aggregation.records import DataSource, FieldColumn, SampleColumns, SeriesBatch

NO_FIELDS: Mapping[str, str | float | None] = {}


@dataclass(slots=True)
class _Columns:
    start_us: "array[int]" = field(default_factory=lambda: array("q"))
    end_us: "array[int]" = field(default_factory=lambda: array("q"))
    value: "array[float]" = field(default_factory=lambda: array("d"))
    offset_seconds: "array[int]" = field(default_factory=lambda: array("i"))
    #: None until a sample has one.
    labels: list[str | None] | None = None
    fields: list[Mapping[str, str | float | None]] = field(default_factory=list)


class SeriesBuffer:
    """Samples by resource and source in the order they came, 28 bytes each where they have no type."""

    def __init__(self) -> None:
        self._series: dict[tuple[SeriesSpec, DataSource], _Columns] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(
        self,
        spec: SeriesSpec,
        source: DataSource,
        start: Instant,
        end: Instant,
        value: float,
        label: str | None = None,
        fields: Mapping[str, str | float | None] = NO_FIELDS,
    ) -> None:
        """Keep one sample, in the resource's own unit; `fields` only of a resource that has some."""
        columns = self._series.get((spec, source))
        if columns is None:
            columns = self._series[spec, source] = _Columns()
        if label is not None and columns.labels is None:
            columns.labels = [None] * len(columns.start_us)
        if columns.labels is not None:
            columns.labels.append(label)
        if spec.fields:
            columns.fields.append(fields)
        columns.start_us.append(start.utc_us)
        columns.end_us.append(end.utc_us)
        columns.value.append(value)
        columns.offset_seconds.append(start.offset_seconds)
        self._count += 1

    def flush(self) -> list[SeriesBatch]:
        """Everything kept so far, one batch a series; empties the buffer."""
        batches = [
            SeriesBatch(spec.slug, source, _sample_columns(spec, columns))
            for (spec, source), columns in self._series.items()
        ]
        self._series = {}
        self._count = 0
        return batches


def _sample_columns(spec: SeriesSpec, columns: _Columns) -> SampleColumns:
    return SampleColumns(
        start_us=np.array(columns.start_us, dtype=np.int64),
        value=np.array(columns.value, dtype=np.float64) if spec.has_value else None,
        offset_seconds=np.array(columns.offset_seconds, dtype=np.int32),
        end_us=np.array(columns.end_us, dtype=np.int64) if spec.is_interval else None,
        type=columns.labels,
        fields=_field_columns(spec, columns),
    )


def _field_columns(spec: SeriesSpec, columns: _Columns) -> dict[str, FieldColumn]:
    """The fields that any sample has; a field nobody has is no column."""
    found: dict[str, FieldColumn] = {}
    for one in spec.fields:
        given = [fields.get(one.name) for fields in columns.fields]
        if all(value is None for value in given):
            continue
        if one.kind is SampleFieldKind.NUMBER:
            found[one.name] = np.array([np.nan if value is None else value for value in given], dtype=np.float64)
        else:
            found[one.name] = [None if value is None else str(value) for value in given]
    return found
