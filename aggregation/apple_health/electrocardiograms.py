"""Electrocardiogram CSV files: a head of labelled lines in the phone's language, then one voltage a line.

The labels are translated, so lines are known by what they hold: the recording's time, a device's hardware name, a
number with a word behind it (the sampling rate), a unit of voltage. The classification stands on the line behind the
time. The person's name and birth date, on the first two lines, are never looked at.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
from numpy.typing import NDArray

from aggregation.apple_health.identity import external_id
from aggregation.apple_health.instants import MICROSECONDS, Instant, parse_instant
from aggregation.apple_health.limits import ExportLimits
from aggregation.apple_health.quantities import parse_number
from aggregation.apple_health.sources import PROVIDER
from aggregation.apple_health.tally import RefusalReason
from aggregation.apple_health.unit_texts import VOLTAGE_MILLIVOLTS
from aggregation.records import DataSource, SampleColumns, SeriesBatch, SummaryRecord
from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.typing import JSONValue

RESOURCE, VOLTAGE_RESOURCE = "electrocardiogram", "electrocardiogram_voltage"
LEAD = "lead_1"
_HARDWARE = re.compile(r"[A-Za-z]{3,20}\d{1,3},\d{1,3}", re.ASCII)
_RATE = re.compile(r"(\d{2,5}(?:[.,]\d{1,6})?) ?[^\d\s]{1,20}")
_VERSION = re.compile(r"\d{1,3}(?:\.\d{1,5}){1,3}", re.ASCII)
_DECIMAL_COMMA = re.compile(r"-?\d+,\d+", re.ASCII)
_HEAD_LINES_MAXIMUM = 30
_MAX_MILLIVOLTS = 100.0

#: Apple's words in English: the classification, and the cause of an inconclusive one.
CLASSIFICATIONS: dict[str, tuple[str, str | None]] = {
    "sinus rhythm": ("sinus_rhythm", None),
    "atrial fibrillation": ("atrial_fibrillation", None),
    "inconclusive": ("inconclusive", None),
    "inconclusive low heart rate": ("inconclusive", "low_heart_rate"),
    "low heart rate": ("inconclusive", "low_heart_rate"),
    "heart rate under 50": ("inconclusive", "low_heart_rate"),
    "inconclusive high heart rate": ("inconclusive", "high_heart_rate"),
    "high heart rate": ("inconclusive", "high_heart_rate"),
    "heart rate over 120": ("inconclusive", "high_heart_rate"),
    "heart rate over 150": ("inconclusive", "high_heart_rate"),
    "inconclusive poor reading": ("inconclusive", "poor_reading"),
    "inconclusive poor recording": ("inconclusive", "poor_reading"),
    "poor reading": ("inconclusive", "poor_reading"),
    "poor recording": ("inconclusive", "poor_reading"),
}


@dataclass(slots=True)
class _Head:
    start: Instant | None = None
    classification: str = ""
    version: str | None = None
    hardware: str | None = None
    hertz: float | None = None
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class Electrocardiogram:
    """A recording: its summary, its voltages, and whether its classification's words were known."""

    summary: SummaryRecord
    voltages: SeriesBatch
    is_classified: bool


def read_electrocardiogram(content: bytes, limits: ExportLimits) -> Electrocardiogram | RefusalReason:
    """The recording of one file, or why it can't be stored."""
    content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if content.count(b"\n") > limits.max_electrocardiogram_samples + _HEAD_LINES_MAXIMUM:
        return RefusalReason.TOO_LARGE
    lines = content.decode("utf-8-sig", "replace").split("\n")
    head, first = _head(lines)
    if head.start is None:
        return RefusalReason.BAD_DATE
    if head.hertz is None or not 1.0 <= head.hertz <= 10_000.0:
        return RefusalReason.BAD_VALUE
    convert = VOLTAGE_MILLIVOLTS.get(head.unit or "µV")
    if convert is None:
        return RefusalReason.UNKNOWN_UNIT
    if len(lines) - first > limits.max_electrocardiogram_samples:
        return RefusalReason.TOO_LARGE
    microvolts = [_voltage(line) for line in lines[first:] if line.strip()]
    numbers = [convert(number) for number in microvolts if number is not None]
    if not numbers or len(numbers) != len(microvolts):
        return RefusalReason.BAD_VALUE
    millivolts = np.array(numbers, dtype=np.float64)
    if float(np.abs(millivolts).max()) > _MAX_MILLIVOLTS:
        return RefusalReason.OUT_OF_RANGE
    return _recording(head, head.start, head.hertz, millivolts)


def _head(lines: Sequence[str]) -> tuple[_Head, int]:
    """What the head says, and the first line of voltages."""
    head = _Head()
    for index, cells in enumerate(_cells(lines[:_HEAD_LINES_MAXIMUM])):
        if len(cells) == 1 and parse_number(cells[0]) is not None:
            return head, index
        if head.start is not None and len(cells) == 2 and _DECIMAL_COMMA.fullmatch(",".join(cells)) and head.unit:
            return head, index
        if len(cells) < 2:
            continue
        _read_line(head, ",".join(cells[1:]).strip())
    return head, len(lines)


def _cells(lines: Sequence[str]) -> Iterator[list[str]]:
    for line in lines:
        yield next(csv.reader([line[:500]]), [])


def _read_line(head: _Head, text: str) -> None:
    start = parse_instant(text)
    rate = _RATE.fullmatch(text)
    if head.start is None:
        head.start = start
    elif not head.classification and head.hardware is None and head.version is None:
        head.classification = text or "-"
    elif _HARDWARE.fullmatch(text):
        head.hardware = text
    elif text in VOLTAGE_MILLIVOLTS:
        head.unit = text
    elif _VERSION.fullmatch(text):
        head.version = text
    elif rate is not None and head.hertz is None:
        head.hertz = parse_number(rate[1].replace(",", "."))


def _voltage(line: str) -> float | None:
    text = line.strip().strip('"')
    return parse_number(text.replace(",", ".") if _DECIMAL_COMMA.fullmatch(text) else text)


def _recording(head: _Head, start: Instant, hertz: float, millivolts: NDArray[np.float64]) -> Electrocardiogram:
    kind = "watch" if (head.hardware or "").startswith("Watch") else "unknown"
    source = DataSource(PROVIDER, kind)
    at_us = start.utc_us + np.rint(np.arange(len(millivolts)) * (MICROSECONDS / hertz)).astype(np.int64)
    voltages = SampleColumns(
        start_us=at_us,
        value=millivolts,
        offset_seconds=np.full(len(millivolts), start.offset_seconds, dtype=np.int32),
        type=[LEAD] * len(millivolts),
    )
    known = CLASSIFICATIONS.get(re.sub(r"[^a-z0-9]+", " ", head.classification.lower()).strip())
    starts_at = start.as_datetime()
    ends_at = starts_at + timedelta(microseconds=round(len(millivolts) * MICROSECONDS / hertz))
    fields: dict[str, JSONValue] = {
        "session_start": utc_text(starts_at),
        "session_end": utc_text(ends_at),
        "voltage_sample_count": len(millivolts),
        "sampling_frequency_hz": hertz,
        "classification": known[0] if known else None,
        "inconclusive_cause": known[1] if known else None,
        "algorithm_version": head.version,
        "source_device_model": head.hardware,
    }
    summary = SummaryRecord(
        resource=RESOURCE,
        source=source,
        external_id=external_id(RESOURCE, source, start.utc_us),
        calendar_date=start.local_on(),
        starts_at=starts_at,
        ends_at=ends_at,
        timezone_offset_seconds=start.offset_seconds,
        fields={name: value for name, value in fields.items() if value is not None},
    )
    return Electrocardiogram(summary, SeriesBatch(VOLTAGE_RESOURCE, source, voltages), known is not None)
