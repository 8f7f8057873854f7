"""Oura's documents as the service's records: pure functions, units converted here and nowhere else.

Shapes: Oura API v2, OpenAPI document 1.35. Read, not exercised against a live account.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from aggregation.records import OFFSET_UNKNOWN, UNDATED, DataSource, SummaryRecord
from healthsvc.kernel.typing import JSONValue
from healthsvc.kernel.units import centimetres_from_metres
from links.connectors.oura.catalogue import sport_of
from links.connectors.payload import (
    MalformedError,
    Sample,
    Series,
    batches_of,
    calendar_day,
    counted,
    document,
    in_order,
    local_instant,
    microseconds,
    minutes_from_seconds,
    nearest_whole,
    number,
    offset_seconds_of,
    optional_number,
    optional_text,
    optional_whole,
    refusing,
    text,
    utc_text,
)

SOURCE = DataSource(provider="oura", type="ring")

#: `type` of a sleep document → the API's sleep type. Oura's `sleep` and `late_nap` are confirmed by the person.
_SLEEP_TYPES: Mapping[str, str] = {
    "long_sleep": "long_sleep",
    "sleep": "acknowledged_nap",
    "late_nap": "acknowledged_nap",
}
#: Types that say there was no sleep, and why nothing is stored.
_NO_SLEEP: Mapping[str, str] = {"deleted": "deleted_at_source", "rest": "rejected_by_person"}
_SLOT_SECONDS = 300
#: The API's stage for what a source does not know.
_STAGE_UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class KnownOffset:
    """The person's offset from UTC at an instant, epoch microseconds."""

    at_us: int
    offset_seconds: int


@refusing("daily_activity")
def activity_from_daily_activity(payload: JSONValue) -> SummaryRecord:
    """A day of activity. Oura's day runs from 4 a.m.; it is stored under the date Oura gives it.

    `equivalent_walking_distance` is energy told as metres walked, which is the API's `daily_movement`.
    Oura measures no distance travelled, so there is no `distance`.
    """
    item = document(payload)
    offset_seconds = offset_seconds_of(local_instant(item, "timestamp"))
    return SummaryRecord(
        resource="activity",
        source=SOURCE,
        external_id=text(item, "id"),
        calendar_date=calendar_day(item, "day"),
        starts_at=None,
        ends_at=None,
        timezone_offset_seconds=offset_seconds,
        fields={
            "timezone_offset": offset_seconds,
            "calories_total": optional_number(item, "total_calories"),
            "calories_active": optional_number(item, "active_calories"),
            "steps": optional_whole(item, "steps"),
            "daily_movement": optional_number(item, "equivalent_walking_distance"),
            "low": minutes_from_seconds(optional_number(item, "low_activity_time")),
            "medium": minutes_from_seconds(optional_number(item, "medium_activity_time")),
            "high": minutes_from_seconds(optional_number(item, "high_activity_time")),
        },
        raw=item,
    )


def sleep_scores(documents: Iterable[JSONValue]) -> Mapping[date, int]:
    """The score of each day from daily_sleep documents, for `sleep_from_sleep`; days without one are left out."""
    scores: dict[date, int] = {}
    for payload in documents:
        try:
            item = document(payload)
            score = optional_whole(item, "score")
            if score is not None:
                scores[calendar_day(item, "day")] = score
        except MalformedError:
            # A day whose score cannot be read has none; the night itself is stored all the same.
            continue
    return scores


@refusing("sleep")
def sleep_from_sleep(payload: JSONValue, *, scores: Mapping[date, int] | None = None) -> SummaryRecord:
    """One time in bed. The day's score goes to its long sleep alone, for Oura scores days, not naps."""
    item = document(payload)
    kind = text(item, "type")
    if kind in _NO_SLEEP:
        raise MalformedError(_NO_SLEEP[kind])
    start, end = local_instant(item, "bedtime_start"), local_instant(item, "bedtime_end")
    day = calendar_day(item, "day")
    readiness = item.get("readiness")
    ready = readiness if isinstance(readiness, Mapping) else {}
    efficiency = optional_number(item, "efficiency")
    if efficiency is not None and not 0 <= efficiency <= 100:
        raise MalformedError("out_of_range:efficiency")
    return SummaryRecord(
        resource="sleep",
        source=SOURCE,
        external_id=text(item, "id"),
        calendar_date=day,
        starts_at=start.astimezone(UTC),
        ends_at=end.astimezone(UTC),
        timezone_offset_seconds=offset_seconds_of(end),
        fields={
            "bedtime_start": utc_text(start),
            "bedtime_stop": utc_text(end),
            "timezone_offset": offset_seconds_of(end),
            "type": _SLEEP_TYPES.get(kind, "unknown"),
            "duration": in_order(start, end),
            "total": optional_whole(item, "total_sleep_duration") or 0,
            "awake": optional_whole(item, "awake_time") or 0,
            "light": optional_whole(item, "light_sleep_duration") or 0,
            "rem": optional_whole(item, "rem_sleep_duration") or 0,
            "deep": optional_whole(item, "deep_sleep_duration") or 0,
            "score": (scores or {}).get(day) if kind == "long_sleep" else None,
            "recovery_readiness_score": optional_whole(ready, "score"),
            "hr_lowest": nearest_whole(optional_number(item, "lowest_heart_rate")),
            "hr_average": nearest_whole(optional_number(item, "average_heart_rate")),
            "efficiency": efficiency,
            "latency": optional_whole(item, "latency"),
            "temperature_delta": optional_number(ready, "temperature_deviation"),
            "average_hrv": optional_number(item, "average_hrv"),
            "respiratory_rate": optional_number(item, "average_breath"),
        },
        raw=item,
    )


@refusing("workout")
def workout_from_workout(payload: JSONValue) -> SummaryRecord:
    """One workout. Oura gives its energy and distance; heart rate comes with the series."""
    item = document(payload)
    start, end = local_instant(item, "start_datetime"), local_instant(item, "end_datetime")
    identity = text(item, "id")
    seconds = in_order(start, end)
    return SummaryRecord(
        resource="workouts",
        source=SOURCE,
        external_id=identity,
        calendar_date=calendar_day(item, "day"),
        starts_at=start.astimezone(UTC),
        ends_at=end.astimezone(UTC),
        timezone_offset_seconds=offset_seconds_of(start),
        fields={
            "time_start": utc_text(start),
            "time_end": utc_text(end),
            "timezone_offset": offset_seconds_of(start),
            "title": optional_text(item, "label"),
            "sport": sport_of(text(item, "activity")),
            "calories": optional_number(item, "calories"),
            "distance": optional_number(item, "distance"),
            "moving_time": seconds,
            "provider_id": identity,
        },
        raw=item,
    )


def known_offsets(documents: Iterable[JSONValue]) -> Sequence[KnownOffset]:
    """The offsets that daily, sleep and workout documents tell, in time order, for `heartrate_from_points`."""
    names = ("timestamp", "bedtime_start", "bedtime_end", "start_datetime", "end_datetime")
    found: dict[int, int] = {}
    for payload in documents:
        item = payload if isinstance(payload, Mapping) else {}
        for name in names:
            if item.get(name) is None:
                continue
            try:
                moment = local_instant(item, name)
            except MalformedError:
                # The document's own converter refuses and reports it; here it only tells no offset.
                continue
            found[microseconds(moment)] = offset_seconds_of(moment)
    return tuple(KnownOffset(at_us, found[at_us]) for at_us in sorted(found))


def heartrate_from_points(points: Iterable[JSONValue], offsets: Sequence[KnownOffset] = ()) -> Series:
    """Rows of the heartrate endpoint, which are in UTC; each takes the last offset known before it.

    A point before the first known offset takes that first one; without any the offset is unknown.
    """
    samples: list[Sample] = []
    reasons: list[str] = []
    for point in points:
        try:
            item = document(point)
            at_us = microseconds(local_instant(item, "timestamp"))
            samples.append(Sample(at_us, _positive(item, "bpm")))
        except MalformedError as error:
            reasons.append(error.reason)
    offset_seconds = _offsets_at([sample.start_us for sample in samples], offsets)
    placed = [
        Sample(sample.start_us, sample.value, offset_seconds=int(offset))
        for sample, offset in zip(samples, offset_seconds, strict=True)
    ]
    return Series(batches_of({("heartrate", SOURCE): placed}), counted("heartrate", reasons))


def hrv_from_sleep(payload: JSONValue) -> Series:
    """The five-minute RMSSD values of a night, in milliseconds; gaps (null) hold no sample."""
    return _sampled(payload, "hrv", "hrv")


def has_stages(payload: JSONValue) -> bool:
    """Whether a sleep document tells stages: a night that is still being worked on has none, and what is no sleep."""
    return (
        isinstance(payload, Mapping) and bool(payload.get("sleep_phase_5_min")) and payload.get("type") not in _NO_SLEEP
    )


@refusing("sleep_cycle")
def sleep_cycle_from_sleep(payload: JSONValue) -> SummaryRecord:
    """The stages of a night, told in slots of five minutes: 1 deep, 2 light, 3 REM, 4 awake, as the API counts them.

    Neighbouring slots of one stage are one stretch; what is none of the four is unknown.
    """
    item = document(payload)
    start, end = local_instant(item, "bedtime_start"), local_instant(item, "bedtime_end")
    stages, identity, duration_seconds = text(item, "sleep_phase_5_min"), text(item, "id"), in_order(start, end)
    begins: list[JSONValue] = []
    ends: list[JSONValue] = []
    kinds: list[JSONValue] = []
    slot = 0
    for stage, run in groupby(stages):
        begin_seconds = slot * _SLOT_SECONDS
        slot += len(list(run))
        if begin_seconds < duration_seconds:
            begins.append(begin_seconds)
            ends.append(min(slot * _SLOT_SECONDS, duration_seconds))
            kinds.append(int(stage) if stage in "1234" else _STAGE_UNKNOWN)
    return SummaryRecord(
        resource="sleep_cycle",
        source=SOURCE,
        external_id=identity,
        calendar_date=calendar_day(item, "day"),
        starts_at=start.astimezone(UTC),
        ends_at=end.astimezone(UTC),
        timezone_offset_seconds=offset_seconds_of(end),
        fields={
            "sleep_external_id": identity,
            "session_start": utc_text(start),
            "session_end": utc_text(end),
            "stage_start_offset_second": begins,
            "stage_end_offset_second": ends,
            "stage_type": kinds,
        },
    )


@refusing("personal_info")
def profile_from_personal_info(payload: JSONValue) -> SummaryRecord:
    """What Oura knows of the person. It tells an age and no date of birth; the email address is left where it is."""
    item = document(payload)
    height = optional_number(item, "height")
    sex = optional_text(item, "biological_sex")
    return SummaryRecord(
        resource="profile",
        source=SOURCE,
        external_id="profile",
        calendar_date=UNDATED,
        starts_at=None,
        ends_at=None,
        timezone_offset_seconds=None,
        fields={
            "height": None if height is None else round(centimetres_from_metres(height)),
            "sex": sex if sex is None or sex in ("female", "male") else "other",
        },
        raw={name: value for name, value in item.items() if name != "email"},
    )


def night_ends(documents: Iterable[JSONValue]) -> Mapping[date, datetime]:
    """When the long sleep of each day ended, with its offset, for `blood_oxygen_from_daily_spo2`."""
    ends: dict[date, datetime] = {}
    for payload in documents:
        try:
            item = document(payload)
            if item.get("type") == "long_sleep":
                ends[calendar_day(item, "day")] = local_instant(item, "bedtime_end")
        except MalformedError:
            # The night's own converter refuses and reports it; here it only tells no instant.
            continue
    return ends


def blood_oxygen_from_daily_spo2(documents: Iterable[JSONValue], ends: Mapping[date, datetime] | None = None) -> Series:
    """The average oxygen saturation of each night, percent, as one sample where the night ended.

    Oura tells no instant. `ends` None: no night may be read, and the sample is at midnight of its day, offset unknown.
    A day whose night is not there (yet) is refused, for the sample would move once it came. One without an average,
    because too little was measured, holds no sample.
    """
    samples: list[Sample] = []
    reasons: list[str] = []
    for payload in documents:
        try:
            item = document(payload)
            day = calendar_day(item, "day")
            average = item.get("spo2_percentage")
            if average is None or document(average).get("average") is None:
                continue
            value = _positive(document(average), "average")
            if ends is not None and day not in ends:
                raise MalformedError("night_unknown")
        except MalformedError as error:
            reasons.append(error.reason)
            continue
        if ends is None:
            samples.append(Sample(microseconds(datetime.combine(day, time(), UTC)), value))
        else:
            offset_seconds = offset_seconds_of(ends[day])
            samples.append(Sample(microseconds(ends[day]), value, offset_seconds=offset_seconds))
    return Series(batches_of({("blood_oxygen", SOURCE): samples}), counted("daily_spo2", reasons))


@refusing("ring_configuration")
def device_from_ring_configuration(payload: JSONValue) -> SummaryRecord:
    """One ring of the person. `hardware_type` is its generation."""
    item = document(payload)
    identity = text(item, "id")
    return SummaryRecord(
        resource="device",
        source=DataSource(provider="oura", type="ring", device_id=identity),
        external_id=identity,
        calendar_date=UNDATED,
        starts_at=None,
        ends_at=None,
        timezone_offset_seconds=None,
        fields={
            "device_manufacturer": "Oura",
            "device_model": optional_text(item, "hardware_type"),
            "device_version": optional_text(item, "firmware_version"),
        },
        raw=item,
    )


def _sampled(payload: JSONValue, name: str, resource: str) -> Series:
    """A `PublicSample` field: a first instant, an interval in seconds, and one item an interval."""
    try:
        sampled = document(document(payload).get(name) or {"items": []})
        items = sampled.get("items")
        if not isinstance(items, Sequence) or isinstance(items, str):
            raise MalformedError(f"wrong_type:{name}")
        if not items:
            return Series((), ())
        start = local_instant(sampled, "timestamp")
        interval_us = round(_positive(sampled, "interval") * 1_000_000)
    except MalformedError as error:
        return Series((), counted("sleep", [error.reason]))
    offset_seconds, start_us = offset_seconds_of(start), microseconds(start)
    samples: list[Sample] = []
    reasons: list[str] = []
    for index, value in enumerate(items):
        if value is None:
            continue
        try:
            read = _positive({name: value}, name)
        except MalformedError as error:
            reasons.append(error.reason)
            continue
        samples.append(Sample(start_us + index * interval_us, read, offset_seconds=offset_seconds))
    return Series(batches_of({(resource, SOURCE): samples}), counted("sleep", reasons))


def _positive(item: Mapping[str, JSONValue], name: str) -> float:
    value = number(item, name)
    if value <= 0:
        raise MalformedError(f"out_of_range:{name}")
    return value


def _offsets_at(at_us: Sequence[int], offsets: Sequence[KnownOffset]) -> NDArray[np.int32]:
    if not offsets:
        return np.full(len(at_us), OFFSET_UNKNOWN, dtype=np.int32)
    instants = np.array([known.at_us for known in offsets], dtype=np.int64)
    seconds = np.array([known.offset_seconds for known in offsets], dtype=np.int32)
    places = np.searchsorted(instants, np.array(at_us, dtype=np.int64), side="right") - 1
    return seconds[np.maximum(places, 0)]
