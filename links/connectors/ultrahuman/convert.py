"""Ultrahuman's days as the service's records: pure functions, units converted here and nowhere else.

A day is a list of objects, each with its `type`. All instants are epoch seconds; the day is that of the person's latest
time zone, which the answer names. Shapes: Ultrahuman's partner API documentation, and those who read it where that is
silent. Read, not exercised against a live account.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date
from typing import Final

import numpy as np

from aggregation.records import DataSource, Refusal, SampleColumns, SeriesBatch, SummaryRecord
from healthsvc.kernel.typing import JSONValue
from healthsvc.kernel.units import mmol_per_litre_glucose_from_mg_per_dl, seconds_from_minutes
from links.connectors.payload import (
    MalformedError,
    Sample,
    Series,
    counted,
    document,
    epoch_instant,
    in_order,
    microseconds,
    nearest_whole,
    number,
    offset_or_unknown,
    offset_seconds_at,
    optional_number,
    optional_text,
    utc_text,
)

RING: Final = DataSource(provider="ultrahuman", type="ring")
#: The sensor on the arm, which measures by itself.
SENSOR: Final = DataSource(provider="ultrahuman", type="automatic")

#: The API's long sleep is of three hours and more.
_LONG_SLEEP_SECONDS: Final = 3 * 3600
_STAGES: Final[Mapping[str, int]] = {"deep_sleep": 1, "light_sleep": 2, "rem_sleep": 3, "awake": 4}
_STAGE_UNKNOWN: Final = -1
#: Graphs are kept as samples and as stages.
_NOT_KEPT: Final = ("sleep_graph", "hr_graph", "hrv_graph", "movement_graph", "summary")


def _copied(value: float) -> float:
    """A number that comes in the unit it is kept in."""
    return value


@dataclass(frozen=True, slots=True)
class _Told:
    """How a series is told: the type of its object, the units it may name with what makes ours of them, its source.

    The first unit is meant where none is named. `location` is where on the body it was measured.
    """

    type: str
    units: Mapping[str, Callable[[float], float]]
    source: DataSource = RING
    location: str | None = None


#: Ultrahuman does not say by which measure its variability is; it is taken for RMSSD, as rings measure it.
SERIES: Final[Mapping[str, _Told]] = {
    "heartrate": _Told("hr", {"BPM": _copied, "bpm": _copied}),
    "hrv": _Told("hrv", {"ms": _copied}),
    "body_temperature": _Told("temp", {"°C": _copied}, location="finger"),
    "steps": _Told("steps", {"steps": _copied}),
    "glucose": _Told("glucose", {"mg/dL": mmol_per_litre_glucose_from_mg_per_dl, "mmol/L": _copied}, SENSOR),
}


@dataclass(frozen=True, slots=True)
class DayMetrics:
    """The objects of one day by their type, and where the person was."""

    on: date
    objects: Mapping[str, JSONValue]
    time_zone: str | None


def days_of(data: Mapping[str, JSONValue]) -> Sequence[DayMetrics]:
    """The days of an answer's `data`. MalformedError where it has none of the documented form."""
    metrics, zone = data.get("metrics"), optional_text(data, "latest_time_zone")
    if not isinstance(metrics, Mapping):
        raise MalformedError("wrong_type:metrics")
    found: list[DayMetrics] = []
    for written, listed in metrics.items():
        try:
            on = date.fromisoformat(written)
        except ValueError as error:
            raise MalformedError("bad_time:metrics") from error
        objects = {
            str(one.get("type")): one.get("object")
            for one in (listed if isinstance(listed, list) else [])
            if isinstance(one, Mapping)
        }
        found.append(DayMetrics(on, objects, zone))
    return found


def sleep_from_day(day: DayMetrics) -> SummaryRecord | Refusal | None:
    """The day's night; None where it has none. What Ultrahuman says of it beside the object itself comes with it."""
    if not _told(day, "sleep"):
        return None
    try:
        return _sleep(day, document(day.objects["sleep"]))
    except MalformedError as error:
        return Refusal("sleep", error.reason)


def _sleep(day: DayMetrics, item: Mapping[str, JSONValue]) -> SummaryRecord:
    start, end = epoch_instant(item, "bedtime_start"), epoch_instant(item, "bedtime_end")
    seconds, stages = in_order(start, end), _stage_seconds(item)
    offset_seconds = offset_seconds_at(end, day.time_zone)
    beats = [number(document(one), "value") for one in _listed(item, "hr_graph", "data")]
    return SummaryRecord(
        resource="sleep",
        source=RING,
        external_id=day.on.isoformat(),
        calendar_date=day.on,
        starts_at=start,
        ends_at=end,
        timezone_offset_seconds=offset_seconds,
        fields={
            "bedtime_start": utc_text(start),
            "bedtime_stop": utc_text(end),
            "timezone_offset": offset_seconds,
            "type": "long_sleep" if seconds >= _LONG_SLEEP_SECONDS else "short_sleep",
            "duration": seconds,
            "total": stages["deep_sleep"] + stages["light_sleep"] + stages["rem_sleep"],
            "awake": stages["awake"],
            "light": stages["light_sleep"],
            "rem": stages["rem_sleep"],
            "deep": stages["deep_sleep"],
            "score": nearest_whole(_within(item, "sleep_score", "score")),
            "recovery_readiness_score": nearest_whole(_within(day.objects, "recovery_index", "value")),
            "hr_lowest": nearest_whole(min(beats)) if beats else None,
            "hr_average": nearest_whole(sum(beats) / len(beats)) if beats else None,
            "hr_resting": nearest_whole(_within(day.objects, "night_rhr", "avg")),
            "efficiency": _within(item, "sleep_efficiency", "percentage"),
            "temperature_delta": _within(item, "temperature_deviation", "celsius", "value"),
            "average_hrv": _within(day.objects, "avg_sleep_hrv", "value"),
        },
        raw={name: value for name, value in item.items() if name not in _NOT_KEPT},
    )


def sleep_cycle_from_day(day: DayMetrics) -> SummaryRecord | Refusal | None:
    """The stages of the day's night; None where it tells none. What reaches out of the night is cut."""
    if not _told(day, "sleep") or not _told_in(day.objects["sleep"], "sleep_graph"):
        return None
    try:
        return _sleep_cycle(day, document(day.objects["sleep"]))
    except MalformedError as error:
        return Refusal("sleep_graph", error.reason)


def _sleep_cycle(day: DayMetrics, item: Mapping[str, JSONValue]) -> SummaryRecord:
    start, end = epoch_instant(item, "bedtime_start"), epoch_instant(item, "bedtime_end")
    duration, since = in_order(start, end), int(start.timestamp())
    stretches = sorted(
        (int(number(one, "start")) - since, int(number(one, "end")) - since, str(one.get("type")))
        for one in map(document, _listed(item, "sleep_graph", "data"))
    )
    begins: list[JSONValue] = []
    ends: list[JSONValue] = []
    kinds: list[JSONValue] = []
    reached = 0
    for begun, until, kind in stretches:
        begun, until, stage = max(begun, reached), min(until, duration), _STAGES.get(kind, _STAGE_UNKNOWN)
        if begun >= until:
            continue
        if kinds and kinds[-1] == stage and ends[-1] == begun:
            ends[-1] = until
        else:
            begins.append(begun)
            ends.append(until)
            kinds.append(stage)
        reached = until
    if not kinds:
        raise MalformedError("missing_field:sleep_graph")
    offset_seconds = offset_seconds_at(end, day.time_zone)
    return SummaryRecord(
        resource="sleep_cycle",
        source=RING,
        external_id=day.on.isoformat(),
        calendar_date=day.on,
        starts_at=start.astimezone(UTC),
        ends_at=end.astimezone(UTC),
        timezone_offset_seconds=offset_seconds,
        fields={
            "sleep_external_id": day.on.isoformat(),
            "session_start": utc_text(start),
            "session_end": utc_text(end),
            "stage_start_offset_second": begins,
            "stage_end_offset_second": ends,
            "stage_type": kinds,
            "time_zone": None if offset_seconds is None else day.time_zone,
        },
    )


def activity_from_day(day: DayMetrics) -> SummaryRecord | Refusal | None:
    """The day's steps and resting heart rate; None where it has no steps. Ultrahuman tells neither energy nor way."""
    if not _told(day, "steps"):
        return None
    try:
        steps = document(day.objects["steps"])
        total = optional_number(steps, "total")
        if total is None:
            total = sum(number(document(one), "value") for one in _values(steps))
        resting = _within(day.objects, "night_rhr", "avg")
    except MalformedError as error:
        return Refusal("steps", error.reason)
    return SummaryRecord(
        resource="activity",
        source=RING,
        external_id=day.on.isoformat(),
        calendar_date=day.on,
        starts_at=None,
        ends_at=None,
        timezone_offset_seconds=None,
        fields={
            "steps": round(total),
            "heart_rate": None if resting is None else {"resting_bpm": resting},
        },
        raw={name: value for name, value in steps.items() if name != "values"},
    )


def series_from_days(resource: str, days: Iterable[DayMetrics]) -> Series:
    """The samples of a resource. Steps come without the length of time they were counted in; noughts say nothing."""
    told = SERIES[resource]
    samples: list[Sample] = []
    reasons: list[str] = []
    for day in days:
        if not _told(day, told.type):
            continue
        try:
            item = document(day.objects[told.type])
            unit = optional_text(item, "unit") or next(iter(told.units))
            convert = told.units.get(unit)
            if convert is None:
                raise MalformedError("unsupported_unit")
            listed = _values(item)
        except MalformedError as error:
            reasons.append(error.reason)
            continue
        for one in listed:
            try:
                sample = _sample(document(one), convert, day.time_zone)
            except MalformedError as error:
                reasons.append(error.reason)
                continue
            if sample is not None:
                samples.append(sample)
    return Series((_batch(resource, told, samples),) if samples else (), counted(told.type, reasons))


def _sample(item: Mapping[str, JSONValue], convert: Callable[[float], float], time_zone: str | None) -> Sample | None:
    at, value = epoch_instant(item, "timestamp"), optional_number(item, "value")
    if value is not None and value < 0:
        raise MalformedError("out_of_range:value")
    offset_seconds = offset_or_unknown(at, time_zone)
    return Sample(microseconds(at), convert(value), offset_seconds=offset_seconds) if value else None


def _batch(resource: str, told: _Told, samples: Sequence[Sample]) -> SeriesBatch:
    return SeriesBatch(
        resource=resource,
        source=told.source,
        samples=SampleColumns(
            start_us=np.array([one.start_us for one in samples], dtype=np.int64),
            value=np.array([one.value for one in samples], dtype=np.float64),
            offset_seconds=np.array([one.offset_seconds for one in samples], dtype=np.int32),
            fields={} if told.location is None else {"sensor_location": [told.location] * len(samples)},
        ),
    )


def _stage_seconds(item: Mapping[str, JSONValue]) -> Mapping[str, int]:
    """Seconds in each stage: of the list of stages, or else of the fields that tell minutes; nought where none is."""
    found = dict.fromkeys(_STAGES, 0)
    listed = item.get("sleep_stages")
    if not isinstance(listed, list):
        return {name: round(seconds_from_minutes(_within(item, name, "minutes") or 0.0)) for name in found}
    for one in listed:
        stage = document(one)
        if stage.get("type") in found:
            found[str(stage["type"])] = round(optional_number(stage, "stage_time") or 0.0)
    return found


def _told(day: DayMetrics, kind: str) -> bool:
    """Whether a day has an object that tells anything."""
    return bool(day.objects.get(kind))


def _told_in(item: JSONValue, name: str) -> bool:
    return isinstance(item, Mapping) and bool(item.get(name))


def _within(item: Mapping[str, JSONValue], name: str, *inner: str) -> float | None:
    """A number in an object within one, under the first name that has one; None where there is none."""
    found = item.get(name)
    if found is None:
        return None
    return next((number(document(found), one) for one in inner if document(found).get(one) is not None), None)


def _listed(item: Mapping[str, JSONValue], name: str, inner: str) -> Sequence[JSONValue]:
    """The list in an object within one; an empty one where the object is left out."""
    found = item.get(name)
    if found is None:
        return ()
    values = document(found).get(inner)
    if not isinstance(values, list):
        raise MalformedError(f"wrong_type:{inner}")
    return values


def _values(item: Mapping[str, JSONValue]) -> Sequence[JSONValue]:
    values = item.get("values")
    if values is None:
        return ()
    if not isinstance(values, list):
        raise MalformedError("wrong_type:values")
    return values
