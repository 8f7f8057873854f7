"""The count of what an import read, refused and left out, from which its receipt is written.

What is read under a name is handed on, refused or left out under that name, and only one of these. A part of a record
that can't be used where its whole is handed on is read and left out, or read and refused, under a name of its own.
"""

import re
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

from aggregation.records import Refusal

#: The kind of what belongs to the document and not to one record.
DOCUMENT_KIND = "HealthData"
#: The kind of every type name after the first `ExportLimits.max_kinds`, and of names that are no identifiers.
OTHER_KIND = "other"

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_.\-]{0,99}", re.ASCII)


class RefusalReason(StrEnum):
    """Stable codes of why a record that has a place here was not handed on."""

    UNKNOWN_UNIT = "unknown_unit"
    BAD_VALUE = "bad_value"
    BAD_DATE = "bad_date"
    OUT_OF_RANGE = "out_of_range"
    END_BEFORE_START = "end_before_start"
    NO_SLEEP_STAGE = "no_sleep_stage"
    NO_PAIR = "no_pair"
    TOO_MANY = "too_many"
    TOO_LARGE = "too_large"
    MALFORMED = "malformed"
    TRUNCATED = "truncated"


class LeftOutReason(StrEnum):
    """Stable codes of why something sound has no place here."""

    UNKNOWN_TYPE = "unknown_type"
    NO_RESOURCE = "no_resource"
    NO_FIELD = "no_field"
    NO_CYCLE = "no_cycle"
    EXCLUDED_CLINICAL = "excluded_clinical"
    FILE_MISSING = "file_missing"
    NOT_REFERENCED = "not_referenced"
    TOO_MANY = "too_many"


@dataclass(slots=True)
class ExportTally:
    """Counts that grow while the export is read.

    read: records met, by Apple's type name. refused: those not handed on, by type name and reason. left_out: those
    for which there is no place, by type name and reason. yielded: items handed on.
    bytes_read, bytes_total: inflated bytes of export.xml.
    """

    read: Counter[str] = field(default_factory=Counter)
    refused: Counter[tuple[str, RefusalReason]] = field(default_factory=Counter)
    left_out: Counter[tuple[str, LeftOutReason]] = field(default_factory=Counter)
    yielded: int = 0
    bytes_read: int = 0
    bytes_total: int = 0
    max_kinds: int = 1_000

    def kind(self, name: str | None) -> str:
        """The name under which a type is counted: bounded in number and form, for the file chooses it."""
        if name is None:
            return OTHER_KIND
        if name in self.read or (len(self.read) < self.max_kinds and _IDENTIFIER.fullmatch(name)):
            return name
        return OTHER_KIND

    def refuse(self, kind: str, reason: RefusalReason, count: int = 1) -> None:
        """Count records already read as not handed on."""
        self.refused[kind, reason] += count

    def refuse_unread(self, kind: str, reason: RefusalReason, count: int = 1) -> None:
        """Count records as read and not handed on; `kind` is a word of ours or comes from `kind()`."""
        self.read[kind] += count
        self.refused[kind, reason] += count

    def leave_out(self, kind: str, reason: LeftOutReason, count: int = 1) -> None:
        """Count records already read as left out."""
        self.left_out[kind, reason] += count

    def leave_out_unread(self, kind: str, reason: LeftOutReason, count: int = 1) -> None:
        """Count records as read and left out."""
        self.read[kind] += count
        self.left_out[kind, reason] += count

    def refusals(self) -> list[Refusal]:
        """What the receipt names as refused, by type and reason."""
        return [Refusal(kind, str(reason), count) for (kind, reason), count in sorted(self.refused.items())]

    def omissions(self) -> list[Refusal]:
        """What the receipt names as left out, by type and reason."""
        return [Refusal(kind, str(reason), count) for (kind, reason), count in sorted(self.left_out.items())]

    @property
    def nothing_readable(self) -> bool:
        """Whether the file gave nothing at all: no item, and no record either that could be told what is wrong of."""
        return self.yielded == 0 and set(self.read) <= {DOCUMENT_KIND}
