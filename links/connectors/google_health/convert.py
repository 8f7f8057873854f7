"""Google Health's nights, workouts, days and weighings as the service's records: pure functions.

Shapes: the reference of Google's Health API v4. Read, not exercised against a live account. Where it is silent:

- a night's day is the one on which it ended, by the person's own clock then, and so is its offset: the night in which
  the clocks change has two;
- restless stretches of a classic sleep are time awake, which is what Google's own "minutes asleep" leaves out; asleep
  without a stage counts in `total` alone;
- workouts have no zones of heart rate here: Google's four are not the six of the API.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Final

from aggregation.records import DataSource, Refusal, SummaryRecord
from healthsvc.kernel.typing import JSONValue
from healthsvc.kernel.units import kilograms_from_grams, metres_from_millimetres, percent_from_fraction
from links.connectors.google_health.catalogue import sport_of
from links.connectors.google_health.points import (
    SLUG,
    civil_day,
    identity_of,
    int64,
    interval_moments,
    member,
    optional_int64,
    optional_member,
    optional_positive,
    optional_span_seconds,
    sample_moment,
    source_of,
)
from links.connectors.payload import (
    MalformedError,
    counted,
    document,
    in_order,
    local_instant,
    number,
    optional_number,
    optional_text,
    refusing,
    text,
    utc_text,
)

#: A night that Google has found and not worked out yet: no mistake, and it comes again.
NOT_PROCESSED_YET: Final = "not_processed_yet"
#: A day's totals are of every source together, reconciled by Google.
RECONCILED: Final = DataSource(provider=SLUG, type="multiple_sources")

#: The API's long sleep is of three hours and more.
_LONG_SLEEP_SECONDS: Final = 3 * 3600
_MINUTE_SECONDS: Final = 60
_UNKNOWN: Final = -1
_STAGES: Final[Mapping[str, int]] = {"DEEP": 1, "LIGHT": 2, "REM": 3, "AWAKE": 4, "RESTLESS": 4}
_ASLEEP: Final = ("DEEP", "LIGHT", "REM", "ASLEEP")
_INTENSITIES: Final[Mapping[str, str]] = {"LIGHT": "low", "MODERATE": "medium", "VIGOROUS": "high"}


@refusing("sleep")
def sleep_from_point(payload: JSONValue) -> SummaryRecord:
    """A night or a nap."""
    point = document(payload)
    value = member(point, "sleep")
    start, end = interval_moments(value)
    seconds = in_order(start.at, end.at)
    spent = _seconds_by_stage(value)
    summary = optional_member(value, "summary")
    asleep = sum(spent.get(name, 0) for name in _ASLEEP)
    fell_asleep = optional_int64(summary, "minutesToFallAsleep")
    metadata = optional_member(value, "metadata")
    return SummaryRecord(
        resource="sleep",
        source=source_of(point),
        external_id=identity_of(point, start.at),
        calendar_date=end.day,
        starts_at=start.at.astimezone(UTC),
        ends_at=end.at.astimezone(UTC),
        timezone_offset_seconds=end.known_offset_seconds,
        fields={
            "bedtime_start": utc_text(start.at),
            "bedtime_stop": utc_text(end.at),
            "timezone_offset": end.known_offset_seconds,
            "type": _sleep_type(metadata, seconds),
            "state": "tentative" if metadata.get("processed") is False else "confirmed",
            "duration": seconds,
            "total": asleep,
            "awake": spent.get("AWAKE", 0) + spent.get("RESTLESS", 0),
            "light": spent.get("LIGHT", 0),
            "rem": spent.get("REM", 0),
            "deep": spent.get("DEEP", 0),
            "efficiency": percent_from_fraction(min(1.0, asleep / seconds)),
            "latency": None if fell_asleep is None else fell_asleep * _MINUTE_SECONDS,
        },
        raw=point,
    )


def has_stages(payload: JSONValue) -> bool:
    """Whether a sleep has stages to tell of: a night typed in by hand has none."""
    value = payload.get("sleep") if isinstance(payload, Mapping) else None
    return isinstance(value, Mapping) and bool(value.get("stages"))


@refusing("sleep_cycle")
def sleep_cycle_from_point(payload: JSONValue) -> SummaryRecord:
    """The stages of a night or a nap."""
    point = document(payload)
    value = member(point, "sleep")
    start, end = interval_moments(value)
    in_order(start.at, end.at)
    stages = [
        (round((begun - start.at).total_seconds()), round((over - start.at).total_seconds()), name)
        for begun, over, name in _stages(value)
    ]
    identity = identity_of(point, start.at)
    return SummaryRecord(
        resource="sleep_cycle",
        source=source_of(point),
        external_id=identity,
        calendar_date=end.day,
        starts_at=start.at.astimezone(UTC),
        ends_at=end.at.astimezone(UTC),
        timezone_offset_seconds=end.known_offset_seconds,
        fields={
            "sleep_external_id": identity,
            "session_start": utc_text(start.at),
            "session_end": utc_text(end.at),
            "stage_start_offset_second": [first for first, _, _ in stages],
            "stage_end_offset_second": [last for _, last, _ in stages],
            "stage_type": [_STAGES.get(name, _UNKNOWN) for _, _, name in stages],
        },
    )


@refusing("exercise")
def workout_from_point(payload: JSONValue) -> SummaryRecord:
    """A workout, under the day on which it began."""
    point = document(payload)
    value = member(point, "exercise")
    start, end = interval_moments(value)
    in_order(start.at, end.at)
    metrics = optional_member(value, "metricsSummary")
    distance = optional_positive(metrics, "distanceMillimeters")
    climbed = optional_number(metrics, "elevationGainMillimeters")
    speed = optional_positive(metrics, "averageSpeedMillimetersPerSecond")
    identity = identity_of(point, start.at)
    return SummaryRecord(
        resource="workouts",
        source=source_of(point),
        external_id=identity,
        calendar_date=start.day,
        starts_at=start.at.astimezone(UTC),
        ends_at=end.at.astimezone(UTC),
        timezone_offset_seconds=start.known_offset_seconds,
        fields={
            "time_start": utc_text(start.at),
            "time_end": utc_text(end.at),
            "timezone_offset": start.known_offset_seconds,
            "title": optional_text(value, "displayName"),
            "sport": sport_of(text(value, "exerciseType")),
            "average_hr": optional_int64(metrics, "averageHeartRateBeatsPerMinute") or None,
            "calories": optional_positive(metrics, "caloriesKcal"),
            "distance": None if distance is None else metres_from_millimetres(distance),
            "total_elevation_gain": None if climbed is None else metres_from_millimetres(climbed),
            "average_speed": None if speed is None else metres_from_millimetres(speed),
            "steps": optional_int64(metrics, "steps"),
            "moving_time": optional_span_seconds(value, "activeDuration"),
            "provider_id": identity,
        },
        raw=point,
    )


def activities_from_rollups(
    rollups: Iterable[JSONValue], resting: Iterable[JSONValue]
) -> list[SummaryRecord | Refusal]:
    """Days of activity from the daily roll-ups of several data types, and the resting heart rates of the days.

    A day of which no roll-up tells anything is no day of activity.
    """
    days: dict[date, dict[str, JSONValue]] = {}
    reasons: list[str] = []
    for payload in rollups:
        try:
            point = document(payload)
            days.setdefault(civil_day(member(point, "civilStartTime")), {}).update(point)
        except MalformedError as error:
            reasons.append(error.reason)
    beats: dict[date, JSONValue] = {}
    for payload in resting:
        try:
            value = member(document(payload), "dailyRestingHeartRate")
            beats[civil_day(value)] = int64(value, "beatsPerMinute")
        except MalformedError as error:
            reasons.append(error.reason)
    found = (_activity(point, day=day, resting_bpm=beats.get(day)) for day, point in sorted(days.items()))
    return [*(one for one in found if one is not None), *counted("daily_roll_up", reasons)]


def bodies_from_points(weights: Iterable[JSONValue], fats: Iterable[JSONValue]) -> list[SummaryRecord | Refusal]:
    """Weighings. A scale gives weight and fat as two points of one instant, which are one weighing."""
    found: dict[str, SummaryRecord] = {}
    reasons: list[str] = []
    for convert, points in ((_weight_of, weights), (_fat_of, fats)):
        for payload in points:
            try:
                one = convert(document(payload))
            except MalformedError as error:
                reasons.append(error.reason)
                continue
            known = found.get(one.external_id)
            if known is not None:
                together = {**(one.raw or {}), **(known.raw or {})}
                one = replace(known, fields={**one.fields, **known.fields}, raw=together)
            found[one.external_id] = one
    return [*found.values(), *counted("weight", reasons)]


def _weight_of(point: Mapping[str, JSONValue]) -> SummaryRecord:
    value = member(point, "weight")
    return _body(point, value, {"weight": kilograms_from_grams(number(value, "weightGrams"))})


def _fat_of(point: Mapping[str, JSONValue]) -> SummaryRecord:
    value = member(point, "bodyFat")
    return _body(point, value, {"fat": number(value, "percentage")})


def _body(
    point: Mapping[str, JSONValue], value: Mapping[str, JSONValue], fields: Mapping[str, JSONValue]
) -> SummaryRecord:
    moment = sample_moment(value)
    return SummaryRecord(
        resource="body",
        source=source_of(point, device_type="scale"),
        external_id=utc_text(moment.at),
        calendar_date=moment.day,
        starts_at=moment.at.astimezone(UTC),
        ends_at=None,
        timezone_offset_seconds=moment.known_offset_seconds,
        fields=fields,
        raw=point,
    )


def _activity(point: Mapping[str, JSONValue], *, day: date, resting_bpm: JSONValue) -> SummaryRecord | Refusal | None:
    try:
        fields = {**_moved(point), "heart_rate": _heart_rate(point, resting_bpm)}
    except MalformedError as error:
        return Refusal("daily_roll_up", error.reason)
    if all(value is None for value in fields.values()):
        return None
    return SummaryRecord(
        resource="activity",
        source=RECONCILED,
        external_id=day.isoformat(),
        calendar_date=day,
        starts_at=None,
        ends_at=None,
        timezone_offset_seconds=None,
        fields=fields,
        raw=point,
    )


def _moved(point: Mapping[str, JSONValue]) -> dict[str, JSONValue]:
    millimetres = optional_int64(optional_member(point, "distance"), "millimetersSum")
    return {
        "steps": optional_int64(optional_member(point, "steps"), "countSum"),
        "distance": None if millimetres is None else metres_from_millimetres(float(millimetres)),
        "floors_climbed": optional_int64(optional_member(point, "floors"), "countSum"),
        "calories_active": optional_number(optional_member(point, "activeEnergyBurned"), "kcalSum"),
        "calories_total": optional_positive(optional_member(point, "totalCalories"), "kcalSum"),
        **_active_minutes(optional_member(point, "activeMinutes")),
    }


def _active_minutes(value: Mapping[str, JSONValue]) -> dict[str, JSONValue]:
    """Minutes of low, medium and high intensity; a level that is left out is one the day had nothing of."""
    levels = value.get("activeMinutesRollupByActivityLevel")
    if not isinstance(levels, list):
        return {}
    minutes: dict[str, JSONValue] = dict.fromkeys(_INTENSITIES.values(), 0.0)
    for payload in levels:
        level = document(payload)
        name = _INTENSITIES.get(text(level, "activityLevel"))
        if name is not None:
            minutes[name] = float(optional_int64(level, "activeMinutesSum") or 0)
    return minutes


def _heart_rate(point: Mapping[str, JSONValue], resting_bpm: JSONValue) -> dict[str, JSONValue] | None:
    value = optional_member(point, "heartRate")
    found: dict[str, JSONValue] = {
        "avg_bpm": optional_positive(value, "beatsPerMinuteAvg"),
        "min_bpm": optional_positive(value, "beatsPerMinuteMin"),
        "max_bpm": optional_positive(value, "beatsPerMinuteMax"),
        "resting_bpm": resting_bpm,
    }
    return None if all(one is None for one in found.values()) else found


def _sleep_type(metadata: Mapping[str, JSONValue], seconds: int) -> str:
    if metadata.get("nap") is True:
        return "acknowledged_nap"
    return "long_sleep" if seconds >= _LONG_SLEEP_SECONDS else "short_sleep"


def _seconds_by_stage(value: Mapping[str, JSONValue]) -> dict[str, int]:
    """Seconds in each stage: from the stages; from Google's own count in minutes where they are left out."""
    spent: dict[str, float] = {}
    for begun, over, name in _stages(value):
        spent[name] = spent.get(name, 0.0) + (over - begun).total_seconds()
    if spent:
        return {name: round(seconds) for name, seconds in spent.items()}
    summary = optional_member(value, "summary")
    asleep = optional_int64(summary, "minutesAsleep")
    if asleep is None:
        unprocessed = optional_member(value, "metadata").get("processed") is False
        raise MalformedError(NOT_PROCESSED_YET if unprocessed else "missing_field:stages")
    awake = optional_int64(summary, "minutesAwake") or 0
    return {"ASLEEP": asleep * _MINUTE_SECONDS, "AWAKE": awake * _MINUTE_SECONDS}


def _stages(value: Mapping[str, JSONValue]) -> list[tuple[datetime, datetime, str]]:
    """Start, end and name of each stage, in order of time."""
    listed = value.get("stages")
    found: list[tuple[datetime, datetime, str]] = []
    for payload in listed if isinstance(listed, list) else []:
        stage = document(payload)
        begun, over = local_instant(stage, "startTime"), local_instant(stage, "endTime")
        if over < begun:
            raise MalformedError("ends_before_start")
        found.append((begun, over, text(stage, "type")))
    return sorted(found)
