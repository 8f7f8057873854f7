"""Dexcom's records as the service's records: pure functions, units converted here and nowhere else.

Shapes: Dexcom's API v3 reference: `egvs`, `events` and `devices`. Read, not exercised against a live account.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Final

import numpy as np

from aggregation.records import OFFSET_UNKNOWN, UNDATED, DataSource, SampleColumns, SeriesBatch, SummaryRecord
from healthsvc.kernel.typing import JSONValue
from healthsvc.kernel.units import mmol_per_litre_glucose_from_mg_per_dl
from links.connectors.payload import (
    OFFSET_LIMIT_SECONDS,
    MalformedError,
    Sample,
    Series,
    batches_of,
    counted,
    document,
    microseconds,
    number,
    optional_text,
    refusing,
    text,
)

#: What the sensor measures by itself.
SENSOR: Final = DataSource(provider="dexcom_v3", type="automatic")
#: What the person writes down.
DIARY: Final = DataSource(provider="dexcom_v3", type="app")

#: The sensor reports 40 to 400 mg/dL. Outside it says that much and no number, which Dexcom and those who read it write
#: as the next number outside: a low that is left out would be the worst of all gaps.
_OUTSIDE_MG_PER_DL: Final[Mapping[str, float]] = {"low": 39.0, "high": 401.0}
#: `eventSubType` of insulin → the API's type and its mode of delivery.
_INSULIN: Final[Mapping[str, tuple[str, str]]] = {
    "fastActing": ("rapid_acting", "bolus"),
    "longActing": ("long_acting", "basal"),
}
#: Later ones tell more of the same entry.
_STATUSES: Final = ("created", "updated", "deleted")
#: Offsets in use are whole quarters of an hour; a receiver's clock, which the person sets, may be some minutes off.
_OFFSET_STEP_SECONDS: Final = 900
_CLOCK_OFF_SECONDS: Final = 300


def _copied(value: float) -> float:
    """A number that comes in the unit it is kept in."""
    return value


_GLUCOSE_UNITS: Final[Mapping[str, Callable[[float], float]]] = {
    "mg/dL": mmol_per_litre_glucose_from_mg_per_dl,
    "mmol/L": _copied,
}


def glucose_from_egvs(records: Iterable[JSONValue]) -> Series:
    """Estimated glucose values, mmol/L, at the instant the transmitter took them."""
    samples: list[Sample] = []
    reasons: list[str] = []
    for record in records:
        try:
            item = document(record)
            at = _system_time(item)
            samples.append(Sample(microseconds(at), _glucose(item), offset_seconds=_offset_seconds(item, at)))
        except MalformedError as error:
            reasons.append(error.reason)
    return Series(batches_of({("glucose", SENSOR): samples}), counted("egv", reasons))


def insulin_from_events(records: Iterable[JSONValue]) -> Series:
    """Doses that the person wrote down, international units. Dexcom does not say what a dose was for."""
    doses: list[Sample] = []
    kinds: list[tuple[str, str]] = []
    reasons: list[str] = []
    for item in _entries(records, "insulin", reasons):
        try:
            kind = _INSULIN.get(str(item.get("eventSubType")))
            if kind is None:
                raise MalformedError("insulin_kind_unknown")
            doses.append(_entry(item, "units"))
            kinds.append(kind)
        except MalformedError as error:
            reasons.append(error.reason)
    if not doses:
        return Series((), counted("event", reasons))
    columns = SampleColumns(
        start_us=np.array([dose.start_us for dose in doses], dtype=np.int64),
        value=np.array([dose.value for dose in doses], dtype=np.float64),
        offset_seconds=np.array([dose.offset_seconds for dose in doses], dtype=np.int32),
        type=[type_ for type_, _ in kinds],
        fields={"delivery_mode": [mode for _, mode in kinds]},
    )
    return Series((SeriesBatch("insulin_injection", DIARY, columns),), counted("event", reasons))


def carbohydrates_from_events(records: Iterable[JSONValue]) -> Series:
    """What the person wrote down to have eaten, g."""
    samples: list[Sample] = []
    reasons: list[str] = []
    for item in _entries(records, "carbs", reasons):
        try:
            samples.append(_entry(item, "grams"))
        except MalformedError as error:
            reasons.append(error.reason)
    return Series(batches_of({("carbohydrates", DIARY): samples}), counted("event", reasons))


@refusing("device")
def device_from_device(payload: JSONValue) -> SummaryRecord:
    """What shows the readings: a receiver, or an app on a telephone. Transmitters last days, and are not told apart."""
    item = document(payload)
    generation, shows = text(item, "transmitterGeneration"), text(item, "displayDevice")
    identity = ":".join([generation, shows, optional_text(item, "displayApp") or ""])
    return SummaryRecord(
        resource="device",
        source=DataSource(provider="dexcom_v3", type="automatic", device_id=identity),
        external_id=identity,
        calendar_date=UNDATED,
        starts_at=None,
        ends_at=None,
        timezone_offset_seconds=None,
        fields={
            "device_manufacturer": "Dexcom",
            "device_model": None if generation == "unknown" else _model(generation),
        },
        raw={name: value for name, value in item.items() if name != "alertSchedules"},
    )


def _model(generation: str) -> str:
    return "Dexcom Pro" if generation == "dexcomPro" else f"Dexcom {generation.upper()}"


def _glucose(item: Mapping[str, JSONValue]) -> float:
    """The reading, mmol/L; the next value outside of what the sensor reports where it is no number."""
    value = item.get("value")
    told = item.get("status") if value is None else value
    if isinstance(told, str) and told.lower() in _OUTSIDE_MG_PER_DL:
        return mmol_per_litre_glucose_from_mg_per_dl(_OUTSIDE_MG_PER_DL[told.lower()])
    convert = _GLUCOSE_UNITS.get(text(item, "unit"))
    if convert is None:
        raise MalformedError("unsupported_unit")
    measured = number(item, "value")
    if measured <= 0:
        raise MalformedError("out_of_range:value")
    return convert(measured)


def _entries(records: Iterable[JSONValue], kind: str, reasons: list[str]) -> Iterable[Mapping[str, JSONValue]]:
    """The entries of a kind as they are now: one that was changed as it was changed, none that was deleted."""
    latest: dict[str, Mapping[str, JSONValue]] = {}
    for record in records:
        try:
            item = document(record)
            if item.get("eventType") != kind:
                continue
            identity = text(item, "recordId")
            known = latest.get(identity)
            if known is None or _rank(item) >= _rank(known):
                latest[identity] = item
        except MalformedError as error:
            reasons.append(error.reason)
    return [item for item in latest.values() if item.get("eventStatus") != "deleted"]


def _rank(item: Mapping[str, JSONValue]) -> int:
    status = item.get("eventStatus")
    return _STATUSES.index(status) if isinstance(status, str) and status in _STATUSES else 0


def _entry(item: Mapping[str, JSONValue], unit: str) -> Sample:
    """An amount in its one unit. Dexcom's reference calls it a text, and shows a number."""
    at = _system_time(item)
    if text(item, "unit") != unit:
        raise MalformedError("unsupported_unit")
    value = item.get("value")
    if isinstance(value, str):
        try:
            item = {**item, "value": float(value)}
        except ValueError:
            raise MalformedError("wrong_type:value") from None
    amount = number(item, "value")
    if amount < 0:
        raise MalformedError("out_of_range:value")
    return Sample(microseconds(at), amount, offset_seconds=_offset_seconds(item, at))


def _system_time(item: Mapping[str, JSONValue]) -> datetime:
    """`systemTime`, which is UTC whether it says so (of a telephone) or not (of a receiver)."""
    at = _time(item, "systemTime")
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def _offset_seconds(item: Mapping[str, JSONValue], at: datetime) -> int:
    """Where the clock on the display stood against UTC; unknown where it is no place's."""
    try:
        shown = _time(item, "displayTime")
    except MalformedError:
        # The reading holds without it.
        return OFFSET_UNKNOWN
    offset = shown.utcoffset() if shown.tzinfo is not None else shown - at.replace(tzinfo=None)
    seconds = 0.0 if offset is None else offset.total_seconds()
    nearest = round(seconds / _OFFSET_STEP_SECONDS) * _OFFSET_STEP_SECONDS
    if abs(seconds - nearest) > _CLOCK_OFF_SECONDS or abs(nearest) > OFFSET_LIMIT_SECONDS:
        return OFFSET_UNKNOWN
    return nearest


def _time(item: Mapping[str, JSONValue], name: str) -> datetime:
    try:
        return datetime.fromisoformat(text(item, name))
    except ValueError as error:
        raise MalformedError(f"bad_time:{name}") from error
