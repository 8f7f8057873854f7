"""What the query engine asks of the store: samples and summary rows as arrays, by a protocol the store fulfils."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: Begins the name under which a value macro is asked of a reader.
MACRO_PREFIX: Final = "macro:"


def macro_column(name: str, version: str) -> str:
    """What a value macro is called among the columns of its table."""
    return f"{MACRO_PREFIX}{name}:{version}"


class ReadLimitError(Exception):
    """A reader may raise it when it sees that the rows exceed its limit; the query is then over its row budget."""


@dataclass(frozen=True, slots=True)
class Labels:
    """Texts of many rows: `codes` are positions in `names`, -1 where a row has none."""

    codes: NDArray[np.integer]
    names: Sequence[str]


@dataclass(frozen=True, slots=True)
class SeriesSource:
    """Where a series comes from: provider slug, source type, app and device, and the workout it was part of."""

    provider: str
    type: str = "unknown"
    app_id: str | None = None
    workout_id: str | None = None
    sport: str | None = None
    device_id: str | None = None


@dataclass(frozen=True, slots=True)
class ListValues:
    """A list column: row i has the elements `offsets[i]` to `offsets[i + 1]`, exclusive; `offsets[0]` is 0.

    fields: the elements of all rows one after another, by struct field; those of a list of texts under `element`.
    present: which rows have a list at all, be it empty; None where all have.
    """

    offsets: NDArray[np.int64]
    fields: Mapping[str, "TableValues"]
    present: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1


#: Further fields of a sample: floats (NaN where there is none), texts, or lists of texts (a note's tags).
FieldValues: TypeAlias = NDArray[np.float64] | Labels | Sequence[str | None] | ListValues


@dataclass(frozen=True, slots=True)
class SeriesArrays:
    """Samples of one resource and one source as arrays of equal length, in any order.

    local_us: the sample's (start's) floating local time, microseconds since 1970-01-01T00:00 on the person's clock.
    start_us: the same instant in UTC microseconds; it orders samples where the clock was turned back.
    timezone_offset_seconds: `OFFSET_UNKNOWN` of aggregation.records where the sender named none.
    value: in the resource's canonical unit; None for resources without (blood pressure, note).
    type: one label a sample, or None where the resource has none.
    fields: the resource's own fields (systolic, sensor_location …); `source_workout_id` and `source_sport` may be
    given here a sample instead of in `source`.
    """

    source: SeriesSource
    local_us: NDArray[np.int64]
    start_us: NDArray[np.int64]
    timezone_offset_seconds: NDArray[np.int32]
    value: NDArray[np.float64] | None
    duration_seconds: NDArray[np.float64] | None = None
    type: Labels | Sequence[str | None] | None = None
    fields: Mapping[str, FieldValues] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.local_us)


#: Cells of a summary column, of the column's declared type; None where a row has none. Local datetimes are naive
#: datetimes, UTC datetimes aware ones, dates dates; an int64 array of microseconds serves for all three as well.
TableValues: TypeAlias = (
    Sequence[float | None]
    | Sequence[int | None]
    | Sequence[bool | None]
    | Sequence[str | None]
    | Sequence[datetime | None]
    | Sequence[date | None]
    | NDArray[np.float64]
    | NDArray[np.int64]
    | Labels
)


@dataclass(frozen=True, slots=True)
class TableArrays:
    """Rows of a summary table: when each happened (the table's index, local microseconds) and the columns asked for."""

    index_us: NDArray[np.int64]
    columns: Mapping[str, "TableValues | ListValues"]

    def __len__(self) -> int:
        return len(self.index_us)


class Reader(Protocol):
    """One user's data. Windows are half-open, in floating local microseconds; the engine drops rows outside.

    A reader answers in a stable order: of equal instants the later row counts as the newer one.
    """

    def read_series(self, resource: str, window_start_us: int, window_end_us: int) -> Sequence[SeriesArrays]:
        """Every series of the resource that has samples in the window."""

    def read_table(self, table: str, columns: Sequence[str], window_start_us: int, window_end_us: int) -> TableArrays:
        """The rows whose index lies in the window, with exactly these columns.

        A list column is answered as `ListValues`. A value macro of the schema is asked for as `macro:<name>:<version>`.
        """
