"""The generic shape's samples, recordings and courses of workouts as the service's records.

Every series names its unit; one that is not the unit expected is refused as a whole, not guessed at.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from aggregation.records import DataSource, Refusal, SampleColumns, SeriesBatch, StreamRecord
from healthsvc.kernel.typing import JSONValue
from healthsvc.kernel.units import (
    celsius_from_fahrenheit,
    kilocalories_from_kilojoules,
    kilograms_from_grams,
    metres_from_kilometres,
    metres_per_second_from_kilometres_per_hour,
    millivolts_from_microvolts,
    mmol_per_litre_glucose_from_mg_per_dl,
    percent_from_fraction,
)
from links.connectors.payload import (
    CuffReading,
    MalformedError,
    Sample,
    Series,
    batches_of,
    counted,
    cuff_batch_of,
    document,
    in_order,
    local_instant,
    microseconds,
    number,
    offset_seconds_of,
    optional_text,
    text,
)

_INSULIN: Final = "insulin_injection"
_CUFF: Final = "blood_pressure"
_VOLTAGE: Final = "electrocardiogram_voltage"


def copy(value: float) -> float:
    """A number that comes in the unit it is kept in."""
    return value


@dataclass(frozen=True, slots=True)
class _Told:
    """How a series is told: its unit, what makes ours of it, and whether its values hold over a stretch of time."""

    unit: str
    convert: Callable[[float], float]
    lasts: bool = False


SERIES: Final[Mapping[str, _Told]] = {
    "heartrate": _Told("bpm", copy),
    "hrv": _Told("ms", copy),
    "respiratory_rate": _Told("/min", copy),
    "steps": _Told("count", copy, lasts=True),
    "distance": _Told("km", metres_from_kilometres, lasts=True),
    "calories_active": _Told("kJ", kilocalories_from_kilojoules, lasts=True),
    "floors_climbed": _Told("count", copy, lasts=True),
    "glucose": _Told("mg/dL", mmol_per_litre_glucose_from_mg_per_dl),
    _INSULIN: _Told("U", copy),
    "carbohydrates": _Told("g", copy, lasts=True),
    "water": _Told("mL", copy, lasts=True),
    "weight": _Told("g", kilograms_from_grams),
    "fat": _Told("fraction", percent_from_fraction),
    "lean_body_mass": _Told("g", kilograms_from_grams),
    _CUFF: _Told("mmHg", copy),
    "blood_oxygen": _Told("fraction", percent_from_fraction),
    "body_temperature": _Told("degF", celsius_from_fahrenheit),
    "vo2_max": _Told("mL/kg/min", copy),
    "stress_level": _Told("percent", copy),
}


def series_from_rows(resource: str, source: DataSource, unit: JSONValue, rows: Sequence[JSONValue]) -> Series:
    """A page of samples; all of it refused where its unit is another than the documented one."""
    told = SERIES[resource]
    if unit != told.unit:
        return Series((), (Refusal(kind=resource, reason="unsupported_unit", count=len(rows)),) if rows else ())
    if resource == _CUFF:
        return _cuff(source, rows)
    if resource == _INSULIN:
        return _insulin(source, rows)
    samples: list[Sample] = []
    reasons: list[str] = []
    for row in rows:
        try:
            samples.append(_sample(document(row), told))
        except MalformedError as error:
            reasons.append(error.reason)
    return Series(batches_of({(resource, source): samples}), counted(resource, reasons))


def _sample(item: Mapping[str, JSONValue], told: _Told) -> Sample:
    start = local_instant(item, "start" if told.lasts else "at")
    end = local_instant(item, "end") if told.lasts else None
    if end is not None:
        in_order(start, end)
    value = number(item, "value")
    if value < 0:
        raise MalformedError("out_of_range:value")
    end_us = None if end is None else microseconds(end)
    return Sample(microseconds(start), told.convert(value), end_us, offset_seconds_of(start))


def _cuff(source: DataSource, rows: Sequence[JSONValue]) -> Series:
    readings: list[CuffReading] = []
    reasons: list[str] = []
    for row in rows:
        try:
            item = document(row)
            at = local_instant(item, "at")
            pressures = number(item, "systolic"), number(item, "diastolic")
            readings.append(CuffReading(microseconds(at), *pressures, offset_seconds_of(at)))
        except MalformedError as error:
            reasons.append(error.reason)
    return Series((cuff_batch_of(_CUFF, source, readings),) if readings else (), counted(_CUFF, reasons))


def _insulin(source: DataSource, rows: Sequence[JSONValue]) -> Series:
    """Doses with their kind; what is long-acting is basal, what is rapid a bolus."""
    doses: list[Sample] = []
    kinds: list[str | None] = []
    purposes: list[str | None] = []
    reasons: list[str] = []
    for row in rows:
        try:
            item = document(row)
            dose = _sample(item, SERIES[_INSULIN])
            kind, purpose = text(item, "type"), optional_text(item, "purpose")
            if kind not in ("rapid_acting", "long_acting"):
                raise MalformedError("wrong_type:type")
        except MalformedError as error:
            reasons.append(error.reason)
            continue
        doses.append(dose)
        kinds.append(kind)
        purposes.append(purpose if purpose in (None, "meal", "correction", "mixed") else "unknown")
    if not doses:
        return Series((), counted(_INSULIN, reasons))
    columns = SampleColumns(
        start_us=np.array([dose.start_us for dose in doses], dtype=np.int64),
        value=np.array([dose.value for dose in doses], dtype=np.float64),
        offset_seconds=np.array([dose.offset_seconds for dose in doses], dtype=np.int32),
        type=kinds,
        fields={
            "delivery_mode": ["basal" if kind == "long_acting" else "bolus" for kind in kinds],
            "bolus_purpose": purposes,
        },
    )
    return Series((SeriesBatch(_INSULIN, source, columns),), counted(_INSULIN, reasons))


def voltages_from_rows(rows: Iterable[JSONValue], *, source: DataSource) -> Series:
    """The voltages of recordings, the lead as their type."""
    batches: list[SeriesBatch] = []
    reasons: list[str] = []
    for row in rows:
        try:
            item = document(row)
            start, hertz, lead = local_instant(item, "start"), number(item, "hertz"), text(item, "lead")
            microvolts = np.array(numbers(item, "microvolts"), dtype=np.float64)
            if hertz <= 0:
                raise MalformedError("out_of_range:hertz")
        except MalformedError as error:
            reasons.append(error.reason)
            continue
        steps_us = np.rint(np.arange(len(microvolts)) * (1_000_000 / hertz)).astype(np.int64)
        columns = SampleColumns(
            start_us=microseconds(start) + steps_us,
            value=millivolts_from_microvolts(microvolts),
            offset_seconds=np.full(len(microvolts), offset_seconds_of(start), dtype=np.int32),
            type=[lead] * len(microvolts),
        )
        batches.append(SeriesBatch(_VOLTAGE, source, columns))
    return Series(tuple(batches), counted("electrocardiogram", reasons))


#: Channel of the shape → channel of ours, and what makes one of the other.
_CHANNELS: Final[Mapping[str, tuple[str, Callable[[float], float]]]] = {
    "bpm": ("heartrate", copy),
    "distance_metre": ("distance", copy),
    "kilometre_per_hour": ("velocity_smooth", metres_per_second_from_kilometres_per_hour),
    "watt": ("power", copy),
    "cadence_per_minute": ("cadence", copy),
}


def stream_from_row(payload: JSONValue, *, source: DataSource) -> StreamRecord | Refusal:
    """The course of a workout: channels of one length, an entry each interval."""
    try:
        item = document(payload)
        start_us, interval = microseconds(local_instant(item, "start")), number(item, "interval_seconds")
        told = document(item.get("channels"))
        known = {name: numbers(told, name) for name in _CHANNELS if name in told}
        lengths = {len(values) for values in known.values()}
        if interval <= 0 or len(lengths) != 1 or 0 in lengths:
            raise MalformedError("wrong_type:channels")
        identity = text(item, "workout_id")
    except MalformedError as error:
        return Refusal(kind="workout_stream", reason=error.reason)
    steps_us = np.arange(lengths.pop(), dtype=np.int64) * round(interval * 1_000_000)
    return StreamRecord(
        resource="workout_stream",
        source=source,
        workout=identity,
        time_us=start_us + steps_us,
        channels={
            _CHANNELS[name][0]: np.array([_CHANNELS[name][1](value) for value in values], dtype=np.float64)
            for name, values in known.items()
        },
    )


def numbers(item: Mapping[str, JSONValue], name: str) -> list[float]:
    """A field that must hold a list of numbers."""
    values = item.get(name)
    if not isinstance(values, list | tuple):
        raise MalformedError(f"wrong_type:{name}")
    return [number({name: value}, name) for value in values]
