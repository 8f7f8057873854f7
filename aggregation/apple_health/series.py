"""Samples on their way to the store, gathered into columns a series."""

from array import array
from dataclasses import dataclass, field

import numpy as np

from aggregation.apple_health.instants import Instant
from aggregation.apple_health.quantities import QuantityRule
from aggregation.records import DataSource, SampleColumns, SeriesBatch


@dataclass(slots=True)
class _Columns:
    start_us: "array[int]" = field(default_factory=lambda: array("q"))
    end_us: "array[int]" = field(default_factory=lambda: array("q"))
    value: "array[float]" = field(default_factory=lambda: array("d"))
    offset_seconds: "array[int]" = field(default_factory=lambda: array("i"))


class SeriesBuffer:
    """Samples by resource and source in the order they came, 28 bytes each."""

    def __init__(self) -> None:
        self._series: dict[tuple[QuantityRule, DataSource], _Columns] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, rule: QuantityRule, source: DataSource, start: Instant, end: Instant, value: float) -> None:
        """Keep one sample, in the rule's canonical unit."""
        columns = self._series.get((rule, source))
        if columns is None:
            columns = self._series[rule, source] = _Columns()
        columns.start_us.append(start.utc_us)
        columns.end_us.append(end.utc_us)
        columns.value.append(value)
        columns.offset_seconds.append(start.offset_seconds)
        self._count += 1

    def flush(self) -> list[SeriesBatch]:
        """Everything kept so far, one batch a series; empties the buffer."""
        batches = [
            SeriesBatch(
                resource=rule.resource,
                source=source,
                samples=SampleColumns(
                    start_us=np.array(columns.start_us, dtype=np.int64),
                    value=np.array(columns.value, dtype=np.float64),
                    offset_seconds=np.array(columns.offset_seconds, dtype=np.int32),
                    end_us=np.array(columns.end_us, dtype=np.int64) if rule.interval else None,
                ),
            )
            for (rule, source), columns in self._series.items()
        ]
        self._series = {}
        self._count = 0
        return batches
