"""Health data on its way in: the neutral shapes that connectors and importers hand to the store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from healthsvc.kernel.typing import JSONValue

#: Written in `SampleColumns.offset_seconds` where the sender named no offset from UTC.
OFFSET_UNKNOWN = np.iinfo(np.int32).min
#: The calendar date of a summary that is of no day, such as a profile: always the same, so that it never changes one.
UNDATED = date(2000, 1, 1)


@dataclass(frozen=True, slots=True)
class DataSource:
    """Where data come from: `provider` is a provider slug, `type` one of the API's source types (watch …)."""

    provider: str
    type: str = "unknown"
    app_id: str | None = None
    device_id: str | None = None


#: A field of many samples.
FieldColumn: TypeAlias = NDArray[np.float64] | Sequence[str | None]


@dataclass(frozen=True, slots=True)
class SampleColumns:
    """Samples of one series as parallel arrays, in the resource's canonical unit.

    start_us, end_us: microseconds since 1970-01-01T00:00Z, int64; `end_us` is None for instants.
    value: float64, finite; None for resources without (blood pressure, notes).
    offset_seconds: int32 east of UTC, `OFFSET_UNKNOWN` where not given.
    type: one label a sample, or None where the resource has none.
    fields: the resource's own fields by name, see `SeriesSpec.fields`: float64 with NaN where a sample has none, or
    texts. A list of texts (a note's tags) is one text, joined by commas.
    """

    start_us: NDArray[np.int64]
    value: NDArray[np.float64] | None
    offset_seconds: NDArray[np.int32]
    end_us: NDArray[np.int64] | None = None
    type: Sequence[str | None] | None = None
    fields: Mapping[str, FieldColumn] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.start_us)

    @property
    def values(self) -> NDArray[np.float64]:
        """The values, of a resource that has them; ValueError otherwise."""
        if self.value is None:
            raise ValueError("These samples have no values.")
        return self.value


@dataclass(frozen=True, slots=True)
class SeriesBatch:
    """Samples of one resource from one source, in any order; of equal timestamps the last one wins.

    workout: what the provider calls the workout that the samples are of, None where they are of none. It and its sport
    are kept with each sample, where the workout is known by the time the samples are written.
    """

    resource: str
    source: DataSource
    samples: SampleColumns
    workout: str | None = None


@dataclass(frozen=True, slots=True)
class StreamRecord:
    """The course of a workout: one entry a moment in each channel.

    workout: what the provider calls the workout; it must be stored, or among the same write's summaries.
    time_us: microseconds since 1970-01-01T00:00Z. channels: float64 by the names of `StreamSpec.channels`, as long as
    `time_us`, NaN where a moment has none; a channel nobody measured is left out.
    """

    resource: str
    source: DataSource
    workout: str
    time_us: NDArray[np.int64]
    channels: Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class SummaryRecord:
    """One summary (a night, a day, a workout).

    external_id: what names this summary at its source; with user, resource and provider it is its identity.
    calendar_date: the person's own day. starts_at, ends_at: UTC instants, None where the summary is of a day.
    fields: the resource's fields under the API's own names and in its units (source: the API's models).
    raw: the record as its source gave it, for those who want to read it; None where there is no such form.
    """

    resource: str
    source: DataSource
    external_id: str
    calendar_date: date
    starts_at: datetime | None
    ends_at: datetime | None
    timezone_offset_seconds: int | None
    fields: Mapping[str, JSONValue]
    raw: Mapping[str, JSONValue] | None = None


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
