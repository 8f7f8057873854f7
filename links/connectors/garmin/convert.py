"""Garmin's daily, sleep, activity and body summaries as the service's records: pure functions, units converted here.

Shapes: Garmin's Health API and Activity API specifications. Read, not exercised against a live account.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from aggregation.records import SummaryRecord
from healthsvc.kernel.typing import JSONValue
from healthsvc.kernel.units import kilograms_from_grams, percent_from_fraction
from links.connectors.garmin.catalogue import sport_of
from links.connectors.garmin.reading import SCALE, WATCH, day_of, mean_in, offset_seconds_in
from links.connectors.payload import (
    MalformedError,
    calendar_day,
    document,
    epoch_instant,
    in_order,
    minutes_from_seconds,
    nearest_whole,
    number,
    optional_number,
    optional_text,
    optional_whole,
    refusing,
    text,
    utc_text,
    whole,
)

#: The API's long sleep is of three hours and more.
_LONG_SLEEP_SECONDS: Final = 3 * 3600
_SPAN_MAXIMUM_SECONDS: Final = 7 * 86_400
#: Garmin's stages → the API's numbers of them.
_STAGES: Final[Mapping[str, int]] = {"deep": 1, "light": 2, "rem": 3, "awake": 4}
#: What of an activity says where somebody lives.
_NOT_KEPT: Final = frozenset({"startingLatitudeInDegree", "startingLongitudeInDegree"})
_NOT_KEPT_OF_DAYS: Final = frozenset({"timeOffsetHeartRateSamples"})


@refusing("dailies")
def activity_from_daily(payload: JSONValue) -> SummaryRecord:
    """A day. It is told again with each synchronisation, so its date is its name.

    `averageHeartRateInBeatsPerMinute` is of the last seven days and so none of this one.
    """
    item = document(payload)
    day, offset_seconds = calendar_day(item, "calendarDate"), offset_seconds_in(item)
    active, basal = optional_number(item, "activeKilocalories"), optional_number(item, "bmrKilocalories")
    return SummaryRecord(
        resource="activity",
        source=WATCH,
        external_id=day.isoformat(),
        calendar_date=day,
        starts_at=None,
        ends_at=None,
        timezone_offset_seconds=offset_seconds,
        fields={
            "timezone_offset": offset_seconds,
            "calories_active": active,
            "calories_total": None if active is None or basal is None else active + basal,
            "steps": optional_whole(item, "steps"),
            "distance": optional_number(item, "distanceInMeters"),
            "medium": minutes_from_seconds(optional_number(item, "moderateIntensityDurationInSeconds")),
            "high": minutes_from_seconds(optional_number(item, "vigorousIntensityDurationInSeconds")),
            "floors_climbed": optional_whole(item, "floorsClimbed"),
            "heart_rate": {
                "min_bpm": optional_number(item, "minHeartRateInBeatsPerMinute"),
                "max_bpm": optional_number(item, "maxHeartRateInBeatsPerMinute"),
                "resting_bpm": optional_number(item, "restingHeartRateInBeatsPerMinute"),
            },
            "wheelchair_push": optional_whole(item, "pushes"),
        },
        raw={name: value for name, value in item.items() if name not in _NOT_KEPT_OF_DAYS},
    )


@refusing("sleeps")
def sleep_from_sleep(payload: JSONValue) -> SummaryRecord:
    """A night. `durationInSeconds` leaves out what was awake, so the end is that of its last stage."""
    item = document(payload)
    start, end = _bedtime(item)
    offset_seconds, seconds = offset_seconds_in(item), in_order(start, end)
    deep = optional_whole(item, "deepSleepDurationInSeconds") or 0
    light = optional_whole(item, "lightSleepDurationInSeconds") or 0
    rem = optional_whole(item, "remSleepInSeconds") or 0
    total = deep + light + rem or optional_whole(item, "durationInSeconds") or 0
    return SummaryRecord(
        resource="sleep",
        source=WATCH,
        external_id=text(item, "summaryId"),
        calendar_date=day_of(item, end, offset_seconds),
        starts_at=start,
        ends_at=end,
        timezone_offset_seconds=offset_seconds,
        fields={
            "bedtime_start": utc_text(start),
            "bedtime_stop": utc_text(end),
            "timezone_offset": offset_seconds,
            "type": "long_sleep" if seconds >= _LONG_SLEEP_SECONDS else "short_sleep",
            "state": _state(item),
            "duration": seconds,
            "total": total,
            "awake": optional_whole(item, "awakeDurationInSeconds") or 0,
            "light": light,
            "rem": rem,
            "deep": deep,
            "score": _score(item),
            "efficiency": percent_from_fraction(min(1.0, total / seconds)),
            "respiratory_rate": mean_in(item, "timeOffsetSleepRespiration"),
        },
        raw=item,
    )


def has_stages(payload: JSONValue) -> bool:
    """Whether a sleep tells its stages."""
    levels = payload.get("sleepLevelsMap") if isinstance(payload, Mapping) else None
    return isinstance(levels, Mapping) and any(isinstance(one, list) and one for one in levels.values())


@refusing("sleep_cycle")
def sleep_cycle_from_sleep(payload: JSONValue) -> SummaryRecord:
    """The stages of a night, each a list of spans, in the order of time."""
    item = document(payload)
    start, end = _bedtime(item)
    in_order(start, end)
    spans = sorted(_spans(item))
    began, identity, offset_seconds = int(start.timestamp()), text(item, "summaryId"), offset_seconds_in(item)
    if any(span[0] < began for span in spans):
        raise MalformedError("out_of_range:sleepLevelsMap")
    return SummaryRecord(
        resource="sleep_cycle",
        source=WATCH,
        external_id=identity,
        calendar_date=day_of(item, end, offset_seconds),
        starts_at=start,
        ends_at=end,
        timezone_offset_seconds=offset_seconds,
        fields={
            "sleep_external_id": identity,
            "session_start": utc_text(start),
            "session_end": utc_text(end),
            "stage_start_offset_second": [span[0] - began for span in spans],
            "stage_end_offset_second": [span[1] - began for span in spans],
            "stage_type": [span[2] for span in spans],
        },
    )


@refusing("activities")
def workout_from_activity(payload: JSONValue) -> SummaryRecord:
    """One activity. Nought calories and metres are what nobody measured."""
    item = document(payload)
    identity, start, offset_seconds = text(item, "summaryId"), _start(item), offset_seconds_in(item)
    end = start + timedelta(seconds=_span_seconds(item))
    return SummaryRecord(
        resource="workouts",
        source=WATCH,
        external_id=identity,
        calendar_date=day_of(item, start, offset_seconds),
        starts_at=start,
        ends_at=end,
        timezone_offset_seconds=offset_seconds,
        fields={
            "time_start": utc_text(start),
            "time_end": utc_text(end),
            "timezone_offset": offset_seconds,
            "title": optional_text(item, "activityName"),
            "sport": sport_of(text(item, "activityType")),
            "average_hr": nearest_whole(optional_number(item, "averageHeartRateInBeatsPerMinute")),
            "max_hr": nearest_whole(optional_number(item, "maxHeartRateInBeatsPerMinute")),
            "calories": optional_number(item, "activeKilocalories") or None,
            "distance": optional_number(item, "distanceInMeters") or None,
            "moving_time": in_order(start, end),
            "total_elevation_gain": optional_number(item, "totalElevationGainInMeters"),
            "average_speed": optional_number(item, "averageSpeedInMetersPerSecond") or None,
            "max_speed": optional_number(item, "maxSpeedInMetersPerSecond") or None,
            "steps": optional_whole(item, "steps"),
            "provider_id": identity,
        },
        raw={name: value for name, value in item.items() if name not in _NOT_KEPT},
    )


def is_leg(payload: JSONValue) -> bool:
    """Whether an activity is a part of another, which tells of all of it."""
    return isinstance(payload, Mapping) and payload.get("parentSummaryId") is not None


@refusing("bodyComps")
def body_from_body_composition(payload: JSONValue) -> SummaryRecord:
    """One weighing. Masses of muscle and bone become shares of the weight."""
    item = document(payload)
    at = epoch_instant(item, "measurementTimeInSeconds")
    offset_seconds = offset_seconds_in(item, "measurementTimeOffsetInSeconds")
    grams = number(item, "weightInGrams")
    if grams <= 0:
        raise MalformedError("out_of_range:weightInGrams")
    return SummaryRecord(
        resource="body",
        source=SCALE,
        external_id=text(item, "summaryId"),
        calendar_date=(at + timedelta(seconds=offset_seconds or 0)).date(),
        starts_at=at,
        ends_at=at,
        timezone_offset_seconds=offset_seconds,
        fields={
            "weight": kilograms_from_grams(grams),
            "fat": optional_number(item, "bodyFatInPercent"),
            "water_percentage": optional_number(item, "bodyWaterInPercent"),
            "muscle_mass_percentage": _share(item, "muscleMassInGrams", grams),
            "bone_mass_percentage": _share(item, "boneMassInGrams", grams),
            "body_mass_index": optional_number(item, "bodyMassIndex"),
        },
        raw=item,
    )


def newest(rows: Iterable[JSONValue], *names: str) -> list[JSONValue]:
    """Of summaries that are told again and again, the last of each: by these fields they are the same."""
    found: dict[tuple[str, ...], JSONValue] = {}
    for place, row in enumerate(rows):
        known = [row.get(name) for name in names] if isinstance(row, Mapping) else [None]
        # What lacks its name is refused where it is converted, each for itself.
        key = tuple(map(str, known)) if None not in known else (f"row {place}",)
        found.pop(key, None)
        found[key] = row
    return list(found.values())


def _start(item: Mapping[str, JSONValue]) -> datetime:
    return epoch_instant(item, "startTimeInSeconds").astimezone(UTC)


def _span_seconds(item: Mapping[str, JSONValue]) -> int:
    seconds = whole(item, "durationInSeconds")
    if not 0 < seconds <= _SPAN_MAXIMUM_SECONDS:
        raise MalformedError("out_of_range:durationInSeconds")
    return seconds


def _bedtime(item: Mapping[str, JSONValue]) -> tuple[datetime, datetime]:
    start = _start(item)
    spans = _spans(item)
    if spans:
        return start, datetime.fromtimestamp(max(span[1] for span in spans), UTC)
    waking = sum(optional_whole(item, name) or 0 for name in ("awakeDurationInSeconds", "unmeasurableSleepInSeconds"))
    return start, start + timedelta(seconds=_span_seconds(item) + waking)


def _spans(item: Mapping[str, JSONValue]) -> list[tuple[int, int, int]]:
    """Start, end and stage of each span, epoch seconds."""
    levels = item.get("sleepLevelsMap")
    if not isinstance(levels, Mapping):
        return []
    found: list[tuple[int, int, int]] = []
    for name, stage in _STAGES.items():
        listed = levels.get(name)
        for span in listed if isinstance(listed, list) else ():
            ends = document(span)
            first, last = epoch_instant(ends, "startTimeInSeconds"), epoch_instant(ends, "endTimeInSeconds")
            if last < first or (last - first).total_seconds() > _SPAN_MAXIMUM_SECONDS:
                raise MalformedError("out_of_range:sleepLevelsMap")
            found.append((int(first.timestamp()), int(last.timestamp()), stage))
    return found


def _state(item: Mapping[str, JSONValue]) -> str | None:
    """Garmin gives a sleep several times, and says in the end that it is final."""
    validation = optional_text(item, "validation")
    if validation is None:
        return None
    return "tentative" if "TENTATIVE" in validation else "confirmed"


def _score(item: Mapping[str, JSONValue]) -> int | None:
    score = item.get("overallSleepScore")
    return nearest_whole(optional_number(score, "value")) if isinstance(score, Mapping) else None


def _share(item: Mapping[str, JSONValue], name: str, grams: float) -> float | None:
    part = optional_number(item, name)
    return None if part is None else percent_from_fraction(part / grams)
