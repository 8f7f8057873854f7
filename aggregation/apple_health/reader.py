"""Reads an Apple Health export as a stream: samples in batches, nights, days and workouts as summaries."""

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import BinaryIO, TypeAlias

from aggregation.apple_health.activity import activity_summary
from aggregation.apple_health.archive import DamagedStreamError, open_export
from aggregation.apple_health.elements import Attributes, Child, ElementParser
from aggregation.apple_health.instants import (
    EARLIEST_US,
    LATEST_US,
    MICROSECONDS,
    Instant,
    parse_instant,
    zone_named,
)
from aggregation.apple_health.limits import ExportLimits
from aggregation.apple_health.quantities import QUANTITIES, parse_number
from aggregation.apple_health.series import SeriesBuffer
from aggregation.apple_health.sleep import MAX_INTERVAL_SECONDS, SLEEP_TYPE, STAGES, SleepBuffer
from aggregation.apple_health.sources import data_source
from aggregation.apple_health.tally import DOCUMENT_KIND, ExportTally, RefusalReason
from aggregation.apple_health.workouts import MAX_WORKOUT_SECONDS, STATISTICS_KIND, workout_summary
from aggregation.records import SeriesBatch, SummaryRecord

ExportItem: TypeAlias = SeriesBatch | SummaryRecord
OnProgress: TypeAlias = Callable[[int, int], None]

#: Every resource this reader can yield.
RESOURCES = frozenset({rule.resource for rule in QUANTITIES.values()} | {"sleep", "activity", "workouts"})

_DEFAULT_LIMITS = ExportLimits()


def read_export(
    file: BinaryIO | Path,
    *,
    tally: ExportTally,
    on_progress: OnProgress | None = None,
    limits: ExportLimits = _DEFAULT_LIMITS,
    resources: Collection[str] = RESOURCES,
) -> Iterator[ExportItem]:
    """Yield what an export.zip or export.xml holds, as it is read; summaries of sleep come last.

    file: a path, or a seekable binary stream, which stays open. tally: filled while reading; final once the iterator
    is exhausted. on_progress: called with inflated bytes read and their total, after every piece.
    resources: what the caller can store; records of others are refused as `unknown_type`.

    Nothing is read before the first item is asked for. Raises ExportRefusedError where the file as a whole is no
    export or too large; one that breaks off is read as far as it goes and `truncated` is refused in `tally`.
    Memory: bounded by `limits`, whatever the size of the file.
    """
    tally.max_kinds = limits.max_kinds
    records = _Records(tally, limits, frozenset(resources))
    parser = ElementParser(records.take, records.malformed, limits)
    with open_export(file, limits, tally) as stream:
        tally.bytes_total = stream.total_bytes
        while not parser.finished:
            try:
                data = stream.read(limits.read_bytes)
            except DamagedStreamError:
                break
            if not data:
                break
            parser.feed(data)
            yield from records.ready(at_least=limits.chunk_samples)
            tally.bytes_read += len(data)
            if on_progress is not None:
                on_progress(tally.bytes_read, tally.bytes_total)
        if not parser.close():
            tally.refuse_unread(DOCUMENT_KIND, RefusalReason.TRUNCATED)
        yield from records.ready(at_least=1)
        yield from records.nights()


class _Records:
    """Turns elements into items and keeps those that are not yet asked for."""

    def __init__(self, tally: ExportTally, limits: ExportLimits, resources: frozenset[str]) -> None:
        self._tally = tally
        self._resources = resources
        self._rules = {kind: rule for kind, rule in QUANTITIES.items() if rule.resource in resources}
        self._series = SeriesBuffer()
        self._sleep = SleepBuffer(max_intervals=limits.max_sleep_intervals, max_sources=limits.max_sleep_sources)
        self._summaries: list[SummaryRecord] = []
        self._takers: dict[str, Callable[[Attributes, list[Child]], None]] = {
            "Record": self._take_record,
            "Workout": self._take_workout,
            "ActivitySummary": self._take_activity,
            "ClinicalRecord": self._take_clinical,
            "Me": self._take_characteristics,
        }

    def take(self, name: str, attributes: Attributes, children: list[Child]) -> None:
        """One element below the root. What has no taker is refused under its own type or name."""
        taker = self._takers.get(name)
        if taker is not None:
            taker(attributes, children)
        elif name != "ExportDate":
            # The records inside a Correlation also stand at top level, so nothing in it is lost.
            kind = self._tally.kind(attributes.get("type", name))
            self._tally.refuse_unread(kind, RefusalReason.UNKNOWN_TYPE)

    def malformed(self) -> None:
        """One broken place in the XML; which type it was is not known."""
        self._tally.refuse_unread(DOCUMENT_KIND, RefusalReason.MALFORMED)

    def ready(self, *, at_least: int) -> Iterator[ExportItem]:
        """The summaries so far, and the samples once there are `at_least` so many."""
        summaries, self._summaries = self._summaries, []
        yield from summaries
        if len(self._series) >= at_least:
            yield from self._series.flush()

    def nights(self) -> Iterator[SummaryRecord]:
        """The sleep sessions, once every record is taken."""
        yield from self._sleep.sessions()
        if self._sleep.unstaged_intervals:
            self._tally.refuse(SLEEP_TYPE, RefusalReason.NO_SLEEP_STAGE, self._sleep.unstaged_intervals)

    def _take_record(self, attributes: Attributes, children: list[Child]) -> None:
        name = attributes.get("type")
        kind = self._tally.kind(name)
        self._tally.read[kind] += 1
        reason = (
            self._sleep_record(attributes, children)
            if name == SLEEP_TYPE
            else self._quantity_record(name, attributes, children)
        )
        if reason is not None:
            self._tally.refuse(kind, reason)

    def _quantity_record(self, name: str | None, attributes: Attributes, children: list[Child]) -> RefusalReason | None:
        rule = self._rules.get(name or "")
        if rule is None:
            return RefusalReason.UNKNOWN_TYPE
        span = _span(attributes, children)
        if isinstance(span, RefusalReason):
            return span
        convert = rule.converter(attributes.get("unit"))
        if convert is None:
            return RefusalReason.UNKNOWN_UNIT
        number = parse_number(attributes.get("value"))
        if number is None:
            return RefusalReason.BAD_VALUE
        value = convert(number)
        if not rule.lowest <= value <= rule.highest:
            return RefusalReason.OUT_OF_RANGE
        source = data_source(attributes.get("sourceName"), attributes.get("device"))
        self._series.add(rule, source, span[0], span[1], value)
        return None

    def _sleep_record(self, attributes: Attributes, children: list[Child]) -> RefusalReason | None:
        if "sleep" not in self._resources:
            return RefusalReason.UNKNOWN_TYPE
        span = _span(attributes, children)
        if isinstance(span, RefusalReason):
            return span
        start, end = span
        if start.utc_us == end.utc_us:
            return RefusalReason.END_BEFORE_START
        if end.utc_us - start.utc_us > MAX_INTERVAL_SECONDS * MICROSECONDS:
            return RefusalReason.OUT_OF_RANGE
        stage = STAGES.get(attributes.get("value", ""))
        if stage is None:
            return RefusalReason.BAD_VALUE
        source = data_source(attributes.get("sourceName"), attributes.get("device"))
        return None if self._sleep.add(source, start, end, stage) else RefusalReason.TOO_MANY

    def _take_workout(self, attributes: Attributes, children: list[Child]) -> None:
        self._tally.read["Workout"] += 1
        if "workouts" not in self._resources:
            self._tally.refuse("Workout", RefusalReason.UNKNOWN_TYPE)
            return
        span = _span(attributes, children)
        if isinstance(span, RefusalReason):
            self._tally.refuse("Workout", span)
            return
        start, end = span
        if end.utc_us - start.utc_us > MAX_WORKOUT_SECONDS * MICROSECONDS:
            self._tally.refuse("Workout", RefusalReason.OUT_OF_RANGE)
            return
        source = data_source(attributes.get("sourceName"), attributes.get("device"))
        problems: list[RefusalReason] = []
        self._summaries.append(workout_summary(attributes, children, source, start, end, problems))
        for problem in problems:
            self._tally.refuse_unread(STATISTICS_KIND, problem)

    def _take_activity(self, attributes: Attributes, _children: list[Child]) -> None:
        self._tally.read["ActivitySummary"] += 1
        summary = activity_summary(attributes) if "activity" in self._resources else RefusalReason.UNKNOWN_TYPE
        if isinstance(summary, RefusalReason):
            self._tally.refuse("ActivitySummary", summary)
        else:
            self._summaries.append(summary)

    def _take_clinical(self, attributes: Attributes, _children: list[Child]) -> None:
        kind = self._tally.kind(attributes.get("type", "ClinicalRecord"))
        self._tally.refuse_unread(kind, RefusalReason.EXCLUDED_CLINICAL)

    def _take_characteristics(self, attributes: Attributes, _children: list[Child]) -> None:
        for name, value in attributes.items():
            if value and not value.endswith("NotSet"):
                self._tally.refuse_unread(self._tally.kind(name), RefusalReason.UNKNOWN_TYPE)


def _span(attributes: Attributes, children: list[Child]) -> tuple[Instant, Instant] | RefusalReason:
    """Start and end of an element, or what is wrong with them.

    An export writes every date with the offset the exporting phone had at that moment. Where the record says in
    which zone it was made (`HKTimeZone`), that zone gives the offset, for a person's day follows their travels.
    """
    start_text, end_text = attributes.get("startDate"), attributes.get("endDate")
    start = parse_instant(start_text)
    end = start if end_text == start_text else parse_instant(end_text)
    if start is None or end is None:
        return RefusalReason.BAD_DATE
    if not EARLIEST_US <= start.utc_us < LATEST_US or not EARLIEST_US <= end.utc_us < LATEST_US:
        return RefusalReason.OUT_OF_RANGE
    if end.utc_us < start.utc_us:
        return RefusalReason.END_BEFORE_START
    for name, child in children:
        if name == "MetadataEntry" and child.get("key") == "HKTimeZone":
            zone = zone_named(child.get("value", ""))
            return start.in_zone(zone), end.in_zone(zone)
    return start, end
