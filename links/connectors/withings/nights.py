"""Withings' nights in detail as the service's records: stages, and what was measured meanwhile.

Shapes: Withings public API reference, operation `sleepv2-get`, whose rows name no night: they are read for one row of
`sleepv2-getsummary` at a time, which tells the device and the time zone. Read, not exercised against a live account.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from aggregation.records import DataSource, SummaryRecord
from healthsvc.kernel.typing import JSONValue
from links.connectors.payload import (
    MalformedError,
    Sample,
    Series,
    batch_of,
    batches_of,
    calendar_day,
    counted,
    document,
    epoch_instant,
    in_order,
    instant_from_epoch_seconds,
    microseconds,
    number,
    offset_or_unknown,
    offset_seconds_at,
    optional_text,
    refusing,
    utc_text,
    whole,
)
from links.connectors.withings.convert import sleep_source

#: `state` of a row → the API's stage: 1 deep, 2 light, 3 REM, 4 awake, 5 by hand, -1 unknown. Out of bed is awake.
_STAGES: Final[Mapping[int, int]] = {0: 4, 1: 2, 2: 1, 3: 3, 4: 5, 5: -1, 15: 4}
_STAGE_UNKNOWN: Final = -1
#: `model` of a night on a mat under the mattress. A watch tells the same beats in its intraday series.
_SLEEP_MONITOR: Final = 32


@dataclass(frozen=True, slots=True)
class Night:
    """What a row of `getsummary` tells of a night: who measured it, and where the person was."""

    source: DataSource
    starts_at: datetime
    ends_at: datetime
    time_zone: str | None
    is_on_monitor: bool


def night_of(payload: JSONValue) -> Night | None:
    """The night of a summary; None where the summary cannot be read, which its own converter reports."""
    try:
        item = document(payload)
        start, end = epoch_instant(item, "startdate"), epoch_instant(item, "enddate")
        in_order(start, end)
        zone = optional_text(item, "timezone")
        return Night(sleep_source(item), start, end, zone, item.get("model") == _SLEEP_MONITOR)
    except MalformedError:
        return None


@refusing("sleep_cycle")
def sleep_cycle_from_segments(payload: JSONValue, *, segments: Sequence[JSONValue]) -> SummaryRecord:
    """The stages of one row of `getsummary`. Rows of `get` that reach beyond the night or into another are cut."""
    item = document(payload)
    start, end = epoch_instant(item, "startdate"), epoch_instant(item, "enddate")
    duration_seconds = in_order(start, end)
    identity = str(whole(item, "id"))
    begins: list[JSONValue] = []
    ends: list[JSONValue] = []
    kinds: list[JSONValue] = []
    reached = 0
    for begin_seconds, end_seconds, stage in sorted(_stretches(segments, start)):
        begin_seconds, end_seconds = max(begin_seconds, reached), min(end_seconds, duration_seconds)
        if begin_seconds >= end_seconds:
            continue
        if kinds and kinds[-1] == stage and ends[-1] == begin_seconds:
            ends[-1] = end_seconds
        else:
            begins.append(begin_seconds)
            ends.append(end_seconds)
            kinds.append(stage)
        reached = end_seconds
    if not kinds:
        raise MalformedError("missing_field:series")
    zone = optional_text(item, "timezone")
    offset_seconds = offset_seconds_at(end, zone)
    return SummaryRecord(
        resource="sleep_cycle",
        source=sleep_source(item),
        external_id=identity,
        calendar_date=calendar_day(item, "date"),
        starts_at=start,
        ends_at=end,
        timezone_offset_seconds=offset_seconds,
        fields={
            "sleep_external_id": identity,
            "session_start": utc_text(start),
            "session_end": utc_text(end),
            "stage_start_offset_second": begins,
            "stage_end_offset_second": ends,
            "stage_type": kinds,
            "time_zone": None if offset_seconds is None else zone,
        },
    )


def series_from_segments(segments: Iterable[JSONValue], night: Night) -> Series:
    """What was measured in a night: heart rate (of a mat alone), and heart rate variability.

    Variability is RMSSD in milliseconds; where a device gives the standard deviation over a minute instead, its
    samples are of type `sdnn`. An instant that has both holds the first.
    """
    samples: dict[tuple[str, DataSource], list[Sample]] = {}
    rmssd: dict[int, Sample] = {}
    sdnn: dict[int, Sample] = {}
    reasons: list[str] = []
    for payload in segments:
        try:
            item = document(payload)
        except MalformedError as error:
            reasons.append(error.reason)
            continue
        if night.is_on_monitor:
            samples.setdefault(("heartrate", night.source), []).extend(_measured(item, "hr", night, reasons))
        rmssd |= {one.start_us: one for one in _measured(item, "rmssd", night, reasons)}
        sdnn |= {one.start_us: one for one in _measured(item, "sdnn_1", night, reasons)}
    samples["hrv", night.source] = list(rmssd.values())
    batches = batches_of(samples)
    deviations = [one for at_us, one in sdnn.items() if at_us not in rmssd]
    if deviations:
        batch = batch_of("hrv", night.source, deviations)
        batches += (replace(batch, samples=replace(batch.samples, type=["sdnn"] * len(deviations))),)
    return Series(batches, counted("sleep", reasons))


def _stretches(segments: Iterable[JSONValue], start: datetime) -> Iterable[tuple[int, int, int]]:
    """Start, end and stage of each row that can be read, seconds after the night's start."""
    since = int(start.timestamp())
    for payload in segments:
        try:
            item = document(payload)
            state = whole(item, "state")
            yield whole(item, "startdate") - since, whole(item, "enddate") - since, _STAGES.get(state, _STAGE_UNKNOWN)
        except MalformedError:
            # A row without a time or a state tells no stage; the night keeps the others.
            continue


def _measured(item: Mapping[str, JSONValue], name: str, night: Night, reasons: list[str]) -> list[Sample]:
    """A field of values by their epoch seconds. Withings writes an empty object as a list."""
    values = item.get(name)
    found: list[Sample] = []
    if not isinstance(values, Mapping):
        return found
    for key in values:
        try:
            if not key.isdecimal():
                raise MalformedError("bad_time:timestamp")
            at = instant_from_epoch_seconds(int(key), "timestamp")
            value = number(values, key)
            if value <= 0:
                raise MalformedError(f"out_of_range:{name}")
        except MalformedError as error:
            reasons.append(error.reason.replace(key, name))
            continue
        found.append(Sample(microseconds(at), value, offset_seconds=offset_or_unknown(at, night.time_zone)))
    return found
