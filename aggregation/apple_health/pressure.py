"""Blood pressure: systolic and diastolic records of one moment and source are one sample.

An export holds each of the two by itself, and once more inside a correlation. Both are gathered here under their
moment and source, so the sample comes out once, wherever and in which order they stand.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from aggregation.apple_health.instants import Instant
from aggregation.apple_health.quantities import PREFIX
from aggregation.apple_health.record import Record
from aggregation.apple_health.series import SeriesBuffer
from aggregation.apple_health.tally import ExportTally, RefusalReason
from aggregation.catalogue import SeriesSpec
from aggregation.records import DataSource, SeriesBatch

RESOURCE = "blood_pressure"
CORRELATION = "HKCorrelationTypeIdentifierBloodPressure"
SYSTOLIC = PREFIX + "BloodPressureSystolic"
DIASTOLIC = PREFIX + "BloodPressureDiastolic"


@dataclass(slots=True)
class _Pair:
    offset_seconds: int
    systolic: float | None = None
    diastolic: float | None = None


class PressureBuffer:
    """Holds the halves until the export ends, no more than `max_pairs`."""

    def __init__(self, spec: SeriesSpec, tally: ExportTally, max_pairs: int) -> None:
        self._spec = spec
        self._tally = tally
        self._max_pairs = max_pairs
        self._pairs: dict[tuple[DataSource, int], _Pair] = {}

    def add_systolic(self, record: Record, value: float) -> bool:
        """Keep a systolic value, the latest of a moment; False where there is no room."""
        pair = self._pair(record)
        if pair is None:
            return False
        pair.systolic = value
        return True

    def add_diastolic(self, record: Record, value: float) -> bool:
        """Keep a diastolic value, the latest of a moment; False where there is no room."""
        pair = self._pair(record)
        if pair is None:
            return False
        pair.diastolic = value
        return True

    def _pair(self, record: Record) -> _Pair | None:
        key = (record.source, record.start.utc_us)
        pair = self._pairs.get(key)
        if pair is None and len(self._pairs) < self._max_pairs:
            pair = self._pairs[key] = _Pair(record.start.offset_seconds)
        return pair

    def items(self) -> Iterator[SeriesBatch]:
        """The whole pairs; halves are refused. Empties the buffer."""
        series = SeriesBuffer()
        for (source, start_us), pair in self._pairs.items():
            if pair.systolic is None or pair.diastolic is None:
                self._tally.refuse(DIASTOLIC if pair.systolic is None else SYSTOLIC, RefusalReason.NO_PAIR)
                continue
            at = Instant(start_us, pair.offset_seconds)
            series.add(self._spec, source, at, at, 0.0, fields={"systolic": pair.systolic, "diastolic": pair.diastolic})
        self._pairs = {}
        yield from series.flush()
