"""Reads whole small exports for tests."""

import io
from dataclasses import dataclass, field
from pathlib import Path

from aggregation.apple_health.limits import ExportLimits
from aggregation.apple_health.reader import read_export
from aggregation.apple_health.tally import ExportTally
from aggregation.records import SeriesBatch, StreamRecord, SummaryRecord

EXPORT_XML = Path(__file__).parents[2] / "data" / "apple_health" / "export.xml"


@dataclass
class Reading:
    """Everything one export yielded."""

    batches: list[SeriesBatch] = field(default_factory=list)
    summaries: list[SummaryRecord] = field(default_factory=list)
    streams: list[StreamRecord] = field(default_factory=list)
    tally: ExportTally = field(default_factory=ExportTally)

    def values(self, resource: str) -> list[float]:
        """All values of a resource, whatever their source, in order."""
        return [float(v) for batch in self.batches if batch.resource == resource for v in batch.samples.values]

    def of(self, resource: str) -> list[SummaryRecord]:
        """All summaries of a resource, in order."""
        return [summary for summary in self.summaries if summary.resource == resource]

    def left_out(self) -> dict[tuple[str, str], int]:
        """Counts by type and reason of what has no place."""
        return {(one.kind, one.reason): one.count for one in self.tally.omissions()}

    def refused(self) -> dict[tuple[str, str], int]:
        """Counts by type and reason."""
        return {(refusal.kind, refusal.reason): refusal.count for refusal in self.tally.refusals()}


def read(source: bytes | Path, limits: ExportLimits | None = None) -> Reading:
    """Read to the end."""
    reading = Reading()
    file = io.BytesIO(source) if isinstance(source, bytes) else source
    for item in read_export(file, tally=reading.tally, limits=limits or ExportLimits()):
        if isinstance(item, SeriesBatch):
            reading.batches.append(item)
        elif isinstance(item, StreamRecord):
            reading.streams.append(item)
        else:
            reading.summaries.append(item)
    return reading


def document(*elements: str) -> bytes:
    """A small export around these elements."""
    return "\n".join(['<?xml version="1.0"?>', '<HealthData locale="en_US">', *elements, "</HealthData>"]).encode()


def heart_rate(value: str, at: str = "2024-03-20 08:00:00 +0000", *, source: str = "Watch") -> str:
    """One heart rate record."""
    return (
        f'<Record type="HKQuantityTypeIdentifierHeartRate" sourceName="{source}" unit="count/min" '
        f'startDate="{at}" endDate="{at}" value="{value}"/>'
    )


def sleep(start: str, end: str, stage: str, *, source: str = "Watch") -> str:
    """One sleep record; times are HH:MM of 2024-03-20 or `DD HH:MM` of that month, UTC."""

    def full(text: str) -> str:
        day, _, clock = text.rpartition(" ")
        return f"2024-03-{day or '20'} {clock}:00 +0000"

    return (
        f'<Record type="HKCategoryTypeIdentifierSleepAnalysis" sourceName="{source}" startDate="{full(start)}" '
        f'endDate="{full(end)}" value="HKCategoryValueSleepAnalysis{stage}"/>'
    )
