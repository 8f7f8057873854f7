"""Sleep-analysis records grouped into nights.

An export holds sleep as intervals with a stage, in no promised order, several sources side by side. Each source is
grouped by itself: its intervals sorted by start, a new session where more than `MAX_GAP_SECONDS` lie between the
latest end so far and the next start. Where intervals of one source overlap, a moment counts once, as the first of
deep, REM, core, awake, asleep without stage, in bed. Time in bed in which nothing else is known counts as awake.

A session with no asleep interval (phones before iOS 16 record only "in bed") says nothing of sleep: it is refused
as `no_sleep_stage` instead of being stored as a night of zero hours. `total` includes sleep without a stage (iOS 15
and before), so it may exceed light + rem + deep.
"""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta, timezone
from enum import IntEnum

import numpy as np

from aggregation.apple_health.identity import external_id
from aggregation.apple_health.instants import MICROSECONDS, Instant, datetime_from_us
from aggregation.apple_health.record import Record
from aggregation.apple_health.tally import RefusalReason
from aggregation.catalogue import SLEEP, SLEEP_CYCLE
from aggregation.records import DataSource, SummaryRecord
from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.typing import JSONObject, JSONValue

RESOURCE, STAGES_RESOURCE = SLEEP.slug, SLEEP_CYCLE.slug
SLEEP_TYPE = "HKCategoryTypeIdentifierSleepAnalysis"

#: An hour awake without a record ends a night; shorter ones (a walk to the kitchen) do not.
MAX_GAP_SECONDS = 3600
#: No single stage lasts longer; such an interval is a timer that was never stopped.
MAX_INTERVAL_SECONDS = 24 * 3600
#: A night has some dozens; a longer chain of overlapping records is cut, so that one session stays small in memory.
MAX_SESSION_INTERVALS = 2_000
#: From the API's description of SleepType.
LONG_SLEEP_SECONDS = 3 * 3600
#: From the API's description of latency: the first five minutes of persistent sleep.
PERSISTENT_SLEEP_SECONDS = 5 * 60


class Stage(IntEnum):
    """Sleep stages, in the order in which one outranks another at the same moment."""

    DEEP = 0
    REM = 1
    CORE = 2
    AWAKE = 3
    UNSPECIFIED = 4
    IN_BED = 5


ASLEEP = frozenset({Stage.DEEP, Stage.REM, Stage.CORE, Stage.UNSPECIFIED})

#: HKCategoryValueSleepAnalysis; plain "Asleep" is what iOS 15 and before wrote.
STAGES = {
    "HKCategoryValueSleepAnalysisAsleepDeep": Stage.DEEP,
    "HKCategoryValueSleepAnalysisAsleepREM": Stage.REM,
    "HKCategoryValueSleepAnalysisAsleepCore": Stage.CORE,
    "HKCategoryValueSleepAnalysisAwake": Stage.AWAKE,
    "HKCategoryValueSleepAnalysisAsleepUnspecified": Stage.UNSPECIFIED,
    "HKCategoryValueSleepAnalysisAsleep": Stage.UNSPECIFIED,
    "HKCategoryValueSleepAnalysisInBed": Stage.IN_BED,
}


#: Each word's place among all of them is what an interval keeps of it.
_WORDS = tuple(STAGES)
_PLACES = {word: place for place, word in enumerate(_WORDS)}
#: A session of more records has no form of its own.
_RAW_RECORDS_MAXIMUM = 200

#: The API's numbers of stages; time in bed counts as awake, as in the night's sums.
_STAGE_NUMBERS = {
    Stage.DEEP: 1,
    Stage.CORE: 2,
    Stage.REM: 3,
    Stage.AWAKE: 4,
    Stage.IN_BED: 4,
    Stage.UNSPECIFIED: -1,
}


@dataclass(frozen=True, slots=True)
class _Interval:
    start_us: int
    end_us: int
    word: str
    offset_seconds: int

    @property
    def stage(self) -> Stage:
        """What the word says."""
        return STAGES[self.word]


@dataclass(slots=True)
class _Columns:
    """One source's intervals, 21 bytes each."""

    start_us: "array[int]" = field(default_factory=lambda: array("q"))
    end_us: "array[int]" = field(default_factory=lambda: array("q"))
    place: "array[int]" = field(default_factory=lambda: array("b"))
    offset_seconds: "array[int]" = field(default_factory=lambda: array("i"))

    def in_order(self) -> Iterator[_Interval]:
        order = np.lexsort((self.place, self.end_us, self.start_us))
        for index in map(int, order):
            yield _Interval(
                self.start_us[index], self.end_us[index], _WORDS[self.place[index]], self.offset_seconds[index]
            )


class SleepBuffer:
    """Holds sleep intervals until the export ends, no more than its two bounds."""

    def __init__(self, *, max_intervals: int, max_sources: int) -> None:
        self._by_source: dict[DataSource, _Columns] = {}
        self._count = 0
        self._max_intervals = max_intervals
        self._max_sources = max_sources
        self.unstaged_intervals = 0

    def add(self, source: DataSource, start: Instant, end: Instant, word: str) -> bool:
        """Keep one interval, False where the buffer is full. Its offset is that of its end, for a night belongs to
        the day of waking."""
        columns = self._by_source.get(source)
        if self._count >= self._max_intervals or (columns is None and len(self._by_source) >= self._max_sources):
            return False
        if columns is None:
            columns = self._by_source[source] = _Columns()
        columns.start_us.append(start.utc_us)
        columns.end_us.append(end.utc_us)
        columns.place.append(_PLACES[word])
        columns.offset_seconds.append(end.offset_seconds)
        self._count += 1
        return True

    def take(self, record: Record) -> RefusalReason | None:
        """Take a sleep-analysis record in."""
        if record.start.utc_us == record.end.utc_us:
            return RefusalReason.END_BEFORE_START
        if record.end.utc_us - record.start.utc_us > MAX_INTERVAL_SECONDS * MICROSECONDS:
            return RefusalReason.OUT_OF_RANGE
        word = record.attributes.get("value", "")
        if word not in STAGES:
            return RefusalReason.BAD_VALUE
        return None if self.add(record.source, record.start, record.end, word) else RefusalReason.TOO_MANY

    def sessions(self, *, stages: bool) -> Iterator[SummaryRecord]:
        """Every session with sleep in it, by source and start, with its stages where they are wanted; counts in
        `unstaged_intervals` the intervals of those without. Empties the buffer."""
        while self._by_source:
            source = next(iter(self._by_source))
            for session in _grouped(self._by_source.pop(source)):
                if any(interval.stage in ASLEEP for interval in session):
                    segments = _segments(session)
                    night = _summary(source, session, segments)
                    yield night
                    if stages:
                        yield _stages(night, segments)
                else:
                    self.unstaged_intervals += len(session)
        self._count = 0


def _grouped(columns: _Columns) -> Iterator[list[_Interval]]:
    session: list[_Interval] = []
    latest_end_us = 0
    for interval in columns.in_order():
        apart = interval.start_us - latest_end_us > MAX_GAP_SECONDS * MICROSECONDS
        if session and (apart or len(session) >= MAX_SESSION_INTERVALS):
            yield session
            session = []
        latest_end_us = max(latest_end_us, interval.end_us) if session else interval.end_us
        session.append(interval)
    if session:
        yield session


def _segments(session: list[_Interval]) -> list[tuple[int, int, Stage]]:
    """The session as (start, end, stage) without overlaps, in order, neighbours of one stage joined; moments that
    no interval covers are left out."""
    edges = sorted(
        edge
        for interval in session
        for edge in ((interval.start_us, 1, interval.stage), (interval.end_us, -1, interval.stage))
    )
    active = [0] * len(Stage)
    segments: list[tuple[int, int, Stage]] = []
    previous_us = edges[0][0]
    for at_us, change, stage in edges:
        if at_us > previous_us:
            top = next((candidate for candidate in Stage if active[candidate]), None)
            if top is not None:
                if segments and segments[-1][1] == previous_us and segments[-1][2] == top:
                    segments[-1] = (segments[-1][0], at_us, top)
                else:
                    segments.append((previous_us, at_us, top))
            previous_us = at_us
        active[stage] += change
    return segments


def _latency_seconds(segments: list[tuple[int, int, Stage]]) -> int | None:
    """From the session's start to the first persistent sleep; unknown where its first record is sleep itself."""
    if segments[0][2] in ASLEEP:
        return None
    bedtime_us = segments[0][0]
    run_start_us = run_end_us = 0
    for start_us, end_us, stage in segments:
        if stage not in ASLEEP:
            continue
        if start_us != run_end_us:
            run_start_us = start_us
        run_end_us = end_us
        if run_end_us - run_start_us >= PERSISTENT_SLEEP_SECONDS * MICROSECONDS:
            return (run_start_us - bedtime_us) // MICROSECONDS
    return None


def _stages(night: SummaryRecord, segments: list[tuple[int, int, Stage]]) -> SummaryRecord:
    """The stages of a night, in seconds after its start; moments nothing is known of are between them."""
    bedtime_us = segments[0][0]
    starts = [(start_us - bedtime_us) // MICROSECONDS for start_us, _, _ in segments]
    ends = [(end_us - bedtime_us) // MICROSECONDS for _, end_us, _ in segments]
    return replace(
        night,
        resource=STAGES_RESOURCE,
        raw=None,
        fields={
            "sleep_external_id": night.external_id,
            "session_start": night.fields["bedtime_start"],
            "session_end": night.fields["bedtime_stop"],
            "stage_start_offset_second": list[JSONValue](starts),
            "stage_end_offset_second": list[JSONValue](ends),
            "stage_type": [_STAGE_NUMBERS[stage] for _, _, stage in segments],
        },
    )


def _raw(session: list[_Interval]) -> JSONObject | None:
    """The session's records as far as they are kept: an export has no form of a night."""
    if len(session) > _RAW_RECORDS_MAXIMUM:
        return None
    records: list[JSONValue] = [
        {
            "startDate": _local_text(interval.start_us, interval.offset_seconds),
            "endDate": _local_text(interval.end_us, interval.offset_seconds),
            "value": interval.word,
        }
        for interval in session
    ]
    return {"type": SLEEP_TYPE, "Record": records}


def _local_text(at_us: int, offset_seconds: int) -> str:
    zone = timezone(timedelta(seconds=offset_seconds))
    return datetime_from_us(at_us).astimezone(zone).isoformat()


def _summary(source: DataSource, session: list[_Interval], segments: list[tuple[int, int, Stage]]) -> SummaryRecord:
    spent_us = dict.fromkeys(Stage, 0)
    for start_us, end_us, stage in segments:
        spent_us[stage] += end_us - start_us
    seconds = {stage: spent // MICROSECONDS for stage, spent in spent_us.items()}
    last = max(session, key=lambda interval: interval.end_us)
    start = Instant(session[0].start_us, last.offset_seconds)
    end = Instant(last.end_us, last.offset_seconds)
    total_seconds = sum(seconds[stage] for stage in ASLEEP)
    duration_seconds = (end.utc_us - start.utc_us) // MICROSECONDS
    return SummaryRecord(
        resource=RESOURCE,
        source=source,
        external_id=external_id(RESOURCE, source, start.utc_us),
        calendar_date=end.local_on(),
        starts_at=start.as_datetime(),
        ends_at=end.as_datetime(),
        timezone_offset_seconds=end.offset_seconds,
        raw=_raw(session),
        fields={
            "bedtime_start": utc_text(start.as_datetime()),
            "bedtime_stop": utc_text(end.as_datetime()),
            "timezone_offset": end.offset_seconds,
            "type": "long_sleep" if total_seconds >= LONG_SLEEP_SECONDS else "short_sleep",
            "duration": duration_seconds,
            "total": total_seconds,
            "awake": seconds[Stage.AWAKE] + seconds[Stage.IN_BED],
            "light": seconds[Stage.CORE],
            "rem": seconds[Stage.REM],
            "deep": seconds[Stage.DEEP],
            "efficiency": 100.0 * total_seconds / duration_seconds,
            "latency": _latency_seconds(segments),
        },
    )
