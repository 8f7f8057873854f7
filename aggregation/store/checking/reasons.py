"""Why data are refused, and how what was refused is counted and named."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from aggregation.constants import SOURCE_TEXT_MAXIMUM_CHARACTERS, SOURCE_TYPES
from aggregation.records import DataSource, Refusal

UNKNOWN_RESOURCE = "unknown_resource"
UNKNOWN_FIELD = "unknown_field"
MISSING_FIELD = "missing_field"
BAD_SOURCE = "bad_source"
BAD_VALUE = "bad_value"
BAD_DATE = "bad_date"
BAD_OFFSET = "bad_offset"
OUT_OF_RANGE = "out_of_range"
END_BEFORE_START = "end_before_start"
OUTSIDE_INGESTION_BOUNDS = "outside_ingestion_bounds"
#: Fields that are good one by one and do not fit each other.
INCONSISTENT_FIELDS = "inconsistent_fields"
#: The summary of which it is said to be a part is not stored.
UNKNOWN_PARENT = "unknown_parent"

#: In the place of a batch's number, for summaries, which lie in a list of their own.
SUMMARIES_BATCH: Final = -1


#: Names that a sender made up are repeated only where they look like a field's.
_SHOWN: Final = re.compile(r"[a-z_]{1,60}")


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a record is refused, and the field at fault as the path to it; () where no field alone is."""

    reason: str
    loc: tuple[str | int, ...] = ()

    def within(self, *outer: str | int) -> "Cause":
        """The same of a field that holds the one at fault."""
        return Cause(self.reason, (*outer, *self.loc))


def name_shown(name: str) -> tuple[str, ...]:
    """The path to a field that is not known here: its name, so far as that may be repeated."""
    return (name,) if _SHOWN.fullmatch(name) else ()


@dataclass(frozen=True, slots=True)
class Ingestion:
    """What of a person's data the customer wants: local days, inclusive, None where unbounded."""

    start_on: date | None = None
    end_on: date | None = None
    fallback_time_zone: str | None = None

    def keeps_day(self, day: date) -> bool:
        """Whether a summary of this day is wanted."""
        return not (self.start_on and day < self.start_on) and not (self.end_on and day > self.end_on)


class Refusals:
    """Counts what was not stored, by resource and reason; with `keep_rows` it also remembers which records it was.

    rows: (batch, row, reason), where `batch` is the place of a batch of samples in the write, or `SUMMARIES_BATCH`, and
    `row` the record's place in the batch, or among the summaries.
    """

    def __init__(self, *, keep_rows: bool = False) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._keep_rows = keep_rows
        self.rows: list[tuple[int, int, str]] = []

    def add(self, kind: str, reason: str, count: int = 1) -> None:
        """Count some."""
        if count:
            self._counts[kind, reason] += count

    def add_rows(self, kind: str, reason: str, rows: Sequence[int], batch: int) -> None:
        """Count the records at `rows` of a batch."""
        self.add(kind, reason, len(rows))
        if self._keep_rows:
            self.rows += [(batch, row, reason) for row in rows]

    def listed(self) -> tuple[Refusal, ...]:
        """In the order of kind and reason."""
        return tuple(Refusal(kind, reason, count) for (kind, reason), count in sorted(self._counts.items()))


def source_good(source: DataSource) -> bool:
    """Whether a source can be kept: a provider, a type of the API's, short texts without NUL."""
    texts = (source.provider, source.app_id or "", source.device_id or "")
    return (
        0 < len(source.provider) <= 60
        and source.type in SOURCE_TYPES
        and all(len(text) <= SOURCE_TEXT_MAXIMUM_CHARACTERS and text_good(text) for text in texts)
    )


def text_good(text: str) -> bool:
    """Whether the database can hold the text: no NUL, no half of a surrogate pair."""
    if "\x00" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
