"""What one export may cost, and the one error that says it is no export or costs more."""

from dataclasses import dataclass
from enum import Enum

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB


@dataclass(frozen=True, slots=True)
class ExportLimits:
    """Bounds on one export; together they bound memory, whatever the file says.

    max_xml_bytes: the inflated export.xml. A ten-year export with an Apple Watch has 1 to 3 GB.
    max_directory_bytes: the archive's table of contents, which zipfile reads whole (about 150 bytes a file).
    max_prolog_bytes: what may precede the root element; Apple's own document type has 10 KB.
    max_element_bytes: one tag with its attributes, comment or run of text.
    max_depth, max_names, max_children: nesting; distinct element and attribute names; kept children of one element.
    max_malformed: places where the XML is broken and reading goes on at the next record.
    max_sleep_intervals, max_sleep_sources: sleep is grouped at the end, so its intervals wait in memory, 21 bytes
    each. Ten years of nights have about 100,000 from one source.
    max_pairs, max_meals, max_cycle_entries, max_days, max_devices: what else is gathered until the end: blood
    pressures, meals, entries of cycles, days of activity and of body measurements, devices.
    max_raw_bytes: the elements that days are made of, in their own form, of activity and of body each.
    max_kinds: distinct type names in the receipt.
    max_route_bytes, max_route_points: one GPX file, inflated; a day of one point a second has 86,400 and 20 MB.
    max_electrocardiogram_bytes, max_electrocardiogram_samples: one CSV file; Apple's have 30 seconds at 512 Hz.
    max_attached_bytes: all such files together, inflated.
    chunk_samples: samples buffered over all series before they are yielded; a batch may exceed it by those of one read.
    read_bytes: inflated bytes read at once.
    """

    max_xml_bytes: int = 16 * GIB
    max_directory_bytes: int = 4 * MIB
    max_prolog_bytes: int = MIB
    max_element_bytes: int = MIB
    max_depth: int = 16
    max_names: int = 2_000
    max_children: int = 500
    max_malformed: int = 10_000
    max_sleep_intervals: int = 1_000_000
    max_sleep_sources: int = 1_000
    max_pairs: int = 100_000
    max_meals: int = 50_000
    max_cycle_entries: int = 100_000
    max_days: int = 50_000
    max_devices: int = 1_000
    max_raw_bytes: int = 16 * MIB
    max_kinds: int = 1_000
    max_route_bytes: int = 64 * MIB
    max_route_points: int = 200_000
    max_electrocardiogram_bytes: int = 4 * MIB
    max_electrocardiogram_samples: int = 200_000
    max_attached_bytes: int = 4 * GIB
    chunk_samples: int = 50_000
    read_bytes: int = 256 * KIB


class ExportRefusalCode(Enum):
    """Why a whole file is refused. The value is a stable code; `meaning` is for people."""

    NOT_AN_EXPORT = ("not_an_export", "The file is no Apple Health export.")
    UNREADABLE_ARCHIVE = ("unreadable_archive", "The archive is damaged, encrypted or packed in an unknown way.")
    ENTITIES_FORBIDDEN = ("entities_forbidden", "The XML declares entities or an external document type.")
    TOO_LARGE = ("too_large", "The export is larger than is taken here.")
    NOTHING_READABLE = ("nothing_readable", "Nothing in the export could be read.")

    def __init__(self, code: str, meaning: str) -> None:
        self.code = code
        self.meaning = meaning


class ExportRefusedError(Exception):
    """The file as a whole can't be read. Says nothing of its content."""

    def __init__(self, code: ExportRefusalCode) -> None:
        super().__init__(code.code)
        self.code = code
