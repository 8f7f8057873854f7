"""Health data on its way in: the neutral shapes that connectors and importers hand to the store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime

import numpy as np
from numpy.typing import NDArray

from healthsvc.kernel.typing import JSONValue

#: Written in `SampleColumns.offset_seconds` where the sender named no offset from UTC.
OFFSET_UNKNOWN = np.iinfo(np.int32).min


@dataclass(frozen=True, slots=True)
class DataSource:
    """Where data come from: `provider` is a provider slug, `type` one of the API's source types (watch …)."""

    provider: str
    type: str = "unknown"
    app_id: str | None = None
    device_id: str | None = None


@dataclass(frozen=True, slots=True)
class SampleColumns:
    """Samples of one series as parallel arrays, in the resource's canonical unit.

    start_us, end_us: microseconds since 1970-01-01T00:00Z, int64; `end_us` is None for instants.
    value: float64, finite. offset_seconds: int32 east of UTC, `OFFSET_UNKNOWN` where not given.
    type: one label a sample, or None where the resource has none.
    """

    start_us: NDArray[np.int64]
    value: NDArray[np.float64]
    offset_seconds: NDArray[np.int32]
    end_us: NDArray[np.int64] | None = None
    type: Sequence[str | None] | None = None

    def __len__(self) -> int:
        return len(self.start_us)


@dataclass(frozen=True, slots=True)
class SeriesBatch:
    """Samples of one resource from one source, in any order; of equal timestamps the last one wins."""

    resource: str
    source: DataSource
    samples: SampleColumns


@dataclass(frozen=True, slots=True)
class SummaryRecord:
    """One summary (a night, a day, a workout).

    external_id: what names this summary at its source; with user, resource and provider it is its identity.
    calendar_date: the person's own day. starts_at, ends_at: UTC instants, None where the summary is of a day.
    fields: the resource's fields under the API's own names and in its units (source: the API's models).
    """

    resource: str
    source: DataSource
    external_id: str
    calendar_date: date
    starts_at: datetime | None
    ends_at: datetime | None
    timezone_offset_seconds: int | None
    fields: Mapping[str, JSONValue]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A record that was not stored. `kind` is the source's own type name; `reason` is a stable code."""

    kind: str
    reason: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class StoreResult:
    """What one write did, per resource slug."""

    created: Mapping[str, int] = field(default_factory=dict)
    changed: Mapping[str, int] = field(default_factory=dict)
    unchanged: Mapping[str, int] = field(default_factory=dict)
    refused: Sequence[Refusal] = ()
