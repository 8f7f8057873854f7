"""Withings' rows as the service's records: pure functions, units converted here and nowhere else.

Shapes: Withings public API reference, the Measure v2, Sleep v2 and Measure services. Read, not exercised
against a live account.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time

from aggregation.records import DataSource, SummaryRecord
from healthsvc.kernel.typing import JSONValue
from healthsvc.kernel.units import percent_from_fraction
from links.connectors.payload import (
    CuffReading,
    MalformedError,
    Sample,
    Series,
    batches_of,
    calendar_day,
    counted,
    cuff_batch_of,
    document,
    epoch_instant,
    in_order,
    instant_from_epoch_seconds,
    microseconds,
    minutes_from_seconds,
    nearest_whole,
    number,
    offset_or_unknown,
    offset_seconds_at,
    optional_number,
    optional_text,
    optional_whole,
    refusing,
    utc_text,
    whole,
)
from links.connectors.withings.catalogue import BLOOD_PRESSURE, MEASURE_RESOURCES, SPORTS, Measure, source_type_of

LONG_SLEEP_SECONDS = 3 * 3600

#: A measure a device took and Withings gives to this person without doubt, or that the person confirmed.
#: (1 may be somebody else's, 2 and 4 were typed in.)
_OWN_ATTRIBUTIONS = frozenset({0, 5, 7, 8, 15})

#: `category` 2 holds what a person aims for, not what was measured.
_REAL_MEASURES = 1

#: Fields of an intraday entry → resource, and whether the value holds for the entry's `duration`.
_INTRADAY: Mapping[str, tuple[str, bool]] = {
    "heart_rate": ("heartrate", False),
    "steps": ("steps", True),
    "distance": ("distance", True),
    "calories": ("calories_active", True),
    "elevation": ("floors_climbed", True),
}


def decimal_from_mantissa(value: float, power_of_ten: int) -> float:
    """A measure's `value` and `unit` as one number: value x 10^unit. Divides for negative powers, to stay exact."""
    return value * 10.0**power_of_ten if power_of_ten >= 0 else value / 10.0 ** (-power_of_ten)


def _source(item: Mapping[str, JSONValue], models: Sequence[str] = ("model_id", "modelid", "model")) -> DataSource:
    """The device a row names, by the id that is the same in every service, and its kind by its model."""
    named = item.get("hash_deviceid") or item.get("deviceid")
    device_id = named if isinstance(named, str) else None
    for name in models:
        model = item.get(name)
        if isinstance(model, int) and not isinstance(model, bool):
            return DataSource("withings", source_type_of(model), device_id=device_id)
    return DataSource("withings", device_id=device_id)


@refusing("activity")
def activity_from_activity(payload: JSONValue) -> SummaryRecord:
    """A day of `getactivity`. The row has no id of its own: date and device are its identity."""
    item = document(payload)
    day = calendar_day(item, "date")
    time_zone = optional_text(item, "timezone")
    noon = datetime.combine(day, time(12), UTC)
    offset_seconds = offset_seconds_at(noon, time_zone)
    device = optional_text(item, "hash_deviceid") or optional_text(item, "deviceid") or "account"
    return SummaryRecord(
        resource="activity",
        source=_source(item),
        external_id=f"{day.isoformat()}:{device}",
        calendar_date=day,
        starts_at=None,
        ends_at=None,
        timezone_offset_seconds=offset_seconds,
        fields={
            "time_zone": None if offset_seconds is None else time_zone,
            "timezone_offset": offset_seconds,
            "calories_total": optional_number(item, "totalcalories"),
            "calories_active": optional_number(item, "calories"),
            "steps": optional_whole(item, "steps"),
            "distance": optional_number(item, "distance"),
            "floors_climbed": nearest_whole(optional_number(item, "elevation")),
            "low": minutes_from_seconds(optional_number(item, "soft")),
            "medium": minutes_from_seconds(optional_number(item, "moderate")),
            "high": minutes_from_seconds(optional_number(item, "intense")),
            "heart_rate": _heart_rate(item),
        },
        raw=item,
    )


def _heart_rate(item: Mapping[str, JSONValue]) -> JSONValue:
    names = {"avg_bpm": "hr_average", "min_bpm": "hr_min", "max_bpm": "hr_max"}
    read = {ours: optional_number(item, theirs) for ours, theirs in names.items()}
    # Withings writes 0 for a day on which the device measured none.
    return {name: value or None for name, value in read.items()} if any(read.values()) else None


@refusing("sleep")
def sleep_from_summary(payload: JSONValue) -> SummaryRecord:
    """One night or nap of `getsummary`. `sleep_efficiency` comes as a fraction and leaves as percent."""
    item = document(payload)
    data = document(item.get("data"))
    start, end = epoch_instant(item, "startdate"), epoch_instant(item, "enddate")
    duration_seconds = in_order(start, end)
    offset_seconds = offset_seconds_at(end, optional_text(item, "timezone"))
    light, rem, deep = (
        optional_whole(data, name) or 0 for name in ("lightsleepduration", "remsleepduration", "deepsleepduration")
    )
    total = optional_whole(data, "total_sleep_time")
    if total is None:
        total = optional_whole(data, "asleepduration") or light + rem + deep
    efficiency = optional_number(data, "sleep_efficiency")
    if efficiency is not None and not 0 <= efficiency <= 1:
        raise MalformedError("out_of_range:sleep_efficiency")
    return SummaryRecord(
        resource="sleep",
        source=sleep_source(item),
        external_id=str(whole(item, "id")),
        calendar_date=calendar_day(item, "date"),
        starts_at=start,
        ends_at=end,
        timezone_offset_seconds=offset_seconds,
        fields={
            "bedtime_start": utc_text(start),
            "bedtime_stop": utc_text(end),
            "timezone_offset": offset_seconds,
            "type": "long_sleep" if duration_seconds >= LONG_SLEEP_SECONDS else "short_sleep",
            "state": _state(item.get("completed")),
            "duration": duration_seconds,
            "total": total,
            "awake": optional_whole(data, "wakeupduration") or 0,
            "light": light,
            "rem": rem,
            "deep": deep,
            "score": optional_whole(data, "sleep_score"),
            "hr_lowest": optional_whole(data, "hr_min") or None,
            "hr_average": optional_whole(data, "hr_average") or None,
            "efficiency": None if efficiency is None else percent_from_fraction(efficiency),
            "latency": optional_whole(data, "sleep_latency"),
            "respiratory_rate": optional_number(data, "rr_average") or None,
        },
        raw=item,
    )


def _state(completed: JSONValue) -> str | None:
    if completed is None:
        return None
    return "confirmed" if completed is True else "tentative"


def sleep_source(item: Mapping[str, JSONValue]) -> DataSource:
    """The device of a row of a night."""
    # In a sleep row `model` is a kind of device (16 tracker, 32 sleep monitor); only `model_id` is a model.
    return _source(item, ["model_id"])


@refusing("workout")
def workout_from_workout(payload: JSONValue) -> SummaryRecord:
    """One row of `getworkouts`. What a person typed in for energy and distance outweighs the device's estimate.

    `elevation` counts floors, not metres, and the four `hr_zone_…` are not the API's six zones: both are left out.
    """
    item = document(payload)
    data = document(item.get("data"))
    start, end = epoch_instant(item, "startdate"), epoch_instant(item, "enddate")
    offset_seconds = offset_seconds_at(start, optional_text(item, "timezone"))
    seconds = in_order(start, end)
    paused = optional_whole(data, "pause_duration") or optional_whole(data, "algo_pause_duration") or 0
    identity = str(whole(item, "id"))
    return SummaryRecord(
        resource="workouts",
        source=_source(item),
        external_id=identity,
        calendar_date=calendar_day(item, "date"),
        starts_at=start,
        ends_at=end,
        timezone_offset_seconds=offset_seconds,
        fields={
            "time_start": utc_text(start),
            "time_end": utc_text(end),
            "timezone_offset": offset_seconds,
            "sport": SPORTS.get(whole(item, "category"), "other"),
            "average_hr": optional_whole(data, "hr_average") or None,
            "max_hr": optional_whole(data, "hr_max") or None,
            "calories": optional_number(data, "manual_calories") or optional_number(data, "calories"),
            "distance": optional_number(data, "manual_distance") or optional_number(data, "distance"),
            "steps": optional_whole(data, "steps"),
            "moving_time": max(0, seconds - paused),
            "provider_id": identity,
        },
        raw=item,
    )


def series_from_intraday(series: JSONValue, *, time_zone: str | None = None) -> Series:
    """The `series` of `getintradayactivity`: heart rate at instants, the rest over each entry's duration.

    `time_zone` is what the person's other rows name, for these name none. An empty series comes as a list.
    """
    if isinstance(series, list | tuple) and not series:
        return Series((), ())
    if not isinstance(series, Mapping):
        return Series((), counted("intraday", ["not_an_object"]))
    samples: dict[tuple[str, DataSource], list[Sample]] = {}
    reasons: list[str] = []
    for key, payload in series.items():
        try:
            if not key.isdecimal():
                raise MalformedError("bad_time:timestamp")
            start = instant_from_epoch_seconds(int(key), "timestamp")
            item = document(payload)
        except MalformedError as error:
            reasons.append(error.reason)
            continue
        for name, (resource, lasts) in _INTRADAY.items():
            if item.get(name) is None:
                continue
            try:
                sample = _intraday_sample(item, name, start, time_zone, lasts=lasts)
            except MalformedError as error:
                reasons.append(error.reason)
                continue
            samples.setdefault((resource, _source(item)), []).append(sample)
    return Series(batches_of(samples), counted("intraday", reasons))


def _intraday_sample(
    item: Mapping[str, JSONValue], name: str, start: datetime, time_zone: str | None, *, lasts: bool
) -> Sample:
    value = number(item, name)
    if value < 0 or (name == "heart_rate" and value == 0):
        raise MalformedError(f"out_of_range:{name}")
    start_us = microseconds(start)
    end_us = None
    if lasts:
        duration_seconds = number(item, "duration")
        if duration_seconds <= 0:
            raise MalformedError("out_of_range:duration")
        end_us = start_us + round(duration_seconds * 1_000_000)
    return Sample(start_us, value, end_us, offset_or_unknown(start, time_zone))


def series_from_measure_groups(groups: Iterable[JSONValue], *, time_zone: str | None = None) -> Series:
    """The `measuregrps` of `getmeas` as samples. A measure type that is no series of ours is refused by its number.

    The two values of a cuff's group are one sample of blood pressure.
    """
    samples: dict[tuple[str, DataSource], list[Sample]] = {}
    cuffs: dict[DataSource, list[CuffReading]] = {}
    reasons: list[str] = []
    for payload in groups:
        try:
            item = _own_group(payload)
            at = epoch_instant(item, "date")
            source = _source(item)
        except MalformedError as error:
            reasons.append(error.reason)
            continue
        at_us, offset_seconds = microseconds(at), offset_or_unknown(at, time_zone)
        pressures: dict[str, float] = {}
        for entry in _measures(item):
            try:
                measure, value = _measured(entry)
            except MalformedError as error:
                reasons.append(error.reason)
                continue
            if measure.resource == BLOOD_PRESSURE:
                pressures[measure.name] = value
            elif measure.resource is not None:
                sample = Sample(at_us, value, offset_seconds=offset_seconds)
                samples.setdefault((measure.resource, source), []).append(sample)
        if len(pressures) == 1:
            reasons.append("missing_field:blood_pressure")
        elif pressures:
            reading = CuffReading(at_us, pressures["systolic"], pressures["diastolic"], offset_seconds)
            cuffs.setdefault(source, []).append(reading)
    readings = tuple(cuff_batch_of(BLOOD_PRESSURE, source, found) for source, found in cuffs.items())
    return Series(batches_of(samples) + readings, counted("measure", reasons))


@refusing("body")
def body_from_measure_group(payload: JSONValue, *, time_zone: str | None = None) -> SummaryRecord:
    """A scale's group as one body summary. Masses of parts become percent of the weight of the same group."""
    item = _own_group(payload)
    at = epoch_instant(item, "date")
    masses: dict[str, float] = {}
    for entry in _measures(item):
        try:
            measure, value = _measured(entry)
        except MalformedError:
            # The same entry is refused and reported with the series; a summary takes what it knows.
            continue
        masses[measure.name] = value
    weight = masses.get("weight")
    if weight is None or weight <= 0:
        raise MalformedError("missing_field:weight")
    offset_seconds = offset_seconds_at(at, time_zone)
    shares = {
        "water_percentage": masses.get("hydration"),
        "muscle_mass_percentage": masses.get("muscle_mass"),
        "bone_mass_percentage": masses.get("bone_mass"),
    }
    return SummaryRecord(
        resource="body",
        source=_source(item),
        external_id=str(whole(item, "grpid")),
        calendar_date=_local_day(at, offset_seconds),
        starts_at=at,
        ends_at=None,
        timezone_offset_seconds=offset_seconds,
        fields={
            "weight": weight,
            "fat": masses.get("fat_ratio"),
            "visceral_fat_index": masses.get("visceral_fat"),
            "lean_body_mass_kilogram": masses.get("fat_free_mass"),
            **{name: None if mass is None else percent_from_fraction(mass / weight) for name, mass in shares.items()},
        },
        raw=item,
    )


def _local_day(at: datetime, offset_seconds: int | None) -> date:
    return datetime.fromtimestamp(at.timestamp() + (offset_seconds or 0), UTC).date()


def _own_group(payload: JSONValue) -> Mapping[str, JSONValue]:
    item = document(payload)
    if whole(item, "category") != _REAL_MEASURES:
        raise MalformedError("not_a_measurement")
    if whole(item, "attrib") not in _OWN_ATTRIBUTIONS:
        raise MalformedError("not_measured_for_this_person")
    return item


def _measures(item: Mapping[str, JSONValue]) -> Iterable[JSONValue]:
    entries = item.get("measures")
    return entries if isinstance(entries, list | tuple) else ()


def _measured(entry: JSONValue) -> tuple[Measure, float]:
    item = document(entry)
    kind, power_of_ten = whole(item, "type"), whole(item, "unit")
    measure = MEASURE_RESOURCES.get(kind)
    if measure is None:
        raise MalformedError(f"unsupported_type:{kind}")
    if not -9 <= power_of_ten <= 3:
        raise MalformedError("out_of_range:unit")
    value = decimal_from_mantissa(number(item, "value"), power_of_ten)
    if value <= 0:
        raise MalformedError("out_of_range:value")
    return measure, value
