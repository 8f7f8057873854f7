"""WHOOP's records as the service's records: pure functions, units converted here and nowhere else.

Shapes: WHOOP's developer API v2 reference. Read, not exercised against a live account.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Final

from aggregation.records import OFFSET_UNKNOWN, UNDATED, DataSource, SummaryRecord
from healthsvc.kernel.typing import JSONValue
from healthsvc.kernel.units import centimetres_from_metres, kilocalories_from_kilojoules
from links.connectors.payload import (
    OFFSET_LIMIT_SECONDS,
    MalformedError,
    Sample,
    Series,
    batches_of,
    counted,
    document,
    in_order,
    local_instant,
    microseconds,
    nearest_whole,
    number,
    optional_number,
    refusing,
    text,
    utc_text,
    whole,
)
from links.connectors.whoop.catalogue import sport_of

SOURCE: Final = DataSource(provider="whoop_v2", type="watch")

_SCORED: Final = "SCORED"
_OFFSET: Final = re.compile(r"([+-])(\d{2}):(\d{2})")
#: A cycle begins with falling asleep, in the evening or after midnight: so long after it, it is surely its own day.
_INTO_THE_DAY: Final = timedelta(hours=6)
#: The API's long sleep is of three hours and more.
_LONG_SLEEP_SECONDS: Final = 3 * 3600
_MILLI: Final = 1000
_ZONES: Final = ("zero", "one", "two", "three", "four", "five")


@refusing("sleep")
def sleep_from_sleep(payload: JSONValue, *, recoveries: Mapping[str, JSONValue] | None = None) -> SummaryRecord:
    """A night or a nap; with the recovery WHOOP made of it, by the sleep's id, where there is one.

    Of a sleep that is not scored yet only its times are known, and WHOOP gives it again once it is.
    """
    item = document(payload)
    start, end = local_instant(item, "start"), local_instant(item, "end")
    offset_seconds = _offset_seconds(item)
    identity = text(item, "id")
    score = _score(item)
    if score is None:
        raise MalformedError("not_scored_yet")
    stages = document(score.get("stage_summary"))
    seconds = in_order(start, end)
    light = _milliseconds(stages, "total_light_sleep_time_milli")
    deep = _milliseconds(stages, "total_slow_wave_sleep_time_milli")
    rem = _milliseconds(stages, "total_rem_sleep_time_milli")
    return SummaryRecord(
        resource="sleep",
        source=SOURCE,
        external_id=identity,
        calendar_date=_local_day(end, offset_seconds),
        starts_at=start.astimezone(UTC),
        ends_at=end.astimezone(UTC),
        timezone_offset_seconds=offset_seconds,
        fields={
            "bedtime_start": utc_text(start),
            "bedtime_stop": utc_text(end),
            "timezone_offset": offset_seconds,
            "type": _sleep_type(item, seconds),
            "duration": seconds,
            "total": light + deep + rem,
            "awake": _milliseconds(stages, "total_awake_time_milli"),
            "light": light,
            "rem": rem,
            "deep": deep,
            "score": nearest_whole(optional_number(score, "sleep_performance_percentage")),
            "efficiency": optional_number(score, "sleep_efficiency_percentage"),
            "respiratory_rate": optional_number(score, "respiratory_rate"),
            **_recovered((recoveries or {}).get(identity)),
        },
        raw=item,
    )


def recoveries_by_sleep(records: Iterable[JSONValue]) -> Mapping[str, JSONValue]:
    """Recovery records by the id of the sleep they are made of, for `sleep_from_sleep`."""
    found: dict[str, JSONValue] = {}
    for record in records:
        sleep_id = record.get("sleep_id") if isinstance(record, Mapping) else None
        if isinstance(sleep_id, str):
            found[sleep_id] = record
    return found


@refusing("cycle")
def activity_from_cycle(payload: JSONValue) -> SummaryRecord:
    """A physiological day, from falling asleep to falling asleep again, under the date the person was up on."""
    item = document(payload)
    start = local_instant(item, "start")
    offset_seconds = _offset_seconds(item)
    score = _score(item)
    if score is None:
        raise MalformedError("not_scored_yet")
    return SummaryRecord(
        resource="activity",
        source=SOURCE,
        external_id=str(whole(item, "id")),
        calendar_date=_local_day(start + _INTO_THE_DAY, offset_seconds),
        starts_at=None,
        ends_at=None,
        timezone_offset_seconds=offset_seconds,
        fields={
            "timezone_offset": offset_seconds,
            "calories_total": kilocalories_from_kilojoules(number(score, "kilojoule")),
            "heart_rate": {
                "avg_bpm": optional_number(score, "average_heart_rate"),
                "max_bpm": optional_number(score, "max_heart_rate"),
            },
        },
        raw=item,
    )


@refusing("workout")
def workout_from_workout(payload: JSONValue) -> SummaryRecord:
    """A workout. WHOOP scores it some minutes after it; until then nothing but its times is known."""
    item = document(payload)
    start, end = local_instant(item, "start"), local_instant(item, "end")
    offset_seconds = _offset_seconds(item)
    identity = text(item, "id")
    score = _score(item)
    if score is None:
        raise MalformedError("not_scored_yet")
    kilojoules = optional_number(score, "kilojoule")
    return SummaryRecord(
        resource="workouts",
        source=SOURCE,
        external_id=identity,
        calendar_date=_local_day(start, offset_seconds),
        starts_at=start.astimezone(UTC),
        ends_at=end.astimezone(UTC),
        timezone_offset_seconds=offset_seconds,
        fields={
            "time_start": utc_text(start),
            "time_end": utc_text(end),
            "timezone_offset": offset_seconds,
            "sport": sport_of(text(item, "sport_name")),
            "average_hr": nearest_whole(optional_number(score, "average_heart_rate")),
            "max_hr": nearest_whole(optional_number(score, "max_heart_rate")),
            "calories": None if kilojoules is None else kilocalories_from_kilojoules(kilojoules),
            "distance": optional_number(score, "distance_meter"),
            "total_elevation_gain": optional_number(score, "altitude_gain_meter"),
            "hr_zones": _zones(score),
            "moving_time": in_order(start, end),
            "provider_id": identity,
        },
        raw=item,
    )


def series_from_recoveries(records: Iterable[JSONValue], sleeps: Iterable[JSONValue] = ()) -> Series:
    """A night's heart rate variability (RMSSD, ms) and blood oxygen (percent), as samples at the night's end.

    WHOOP gives one value a night. Where the sleep is not among `sleeps`, the recovery's own making is the instant.
    """
    ends = _sleep_ends(sleeps)
    samples: dict[tuple[str, DataSource], list[Sample]] = {("hrv", SOURCE): [], ("blood_oxygen", SOURCE): []}
    reasons: list[str] = []
    for record in records:
        try:
            item = document(record)
            score = _score(item)
            if score is None:
                raise MalformedError("not_scored_yet")
            at, offset_seconds = ends.get(text(item, "sleep_id"), (local_instant(item, "created_at"), OFFSET_UNKNOWN))
            for resource, name in (("hrv", "hrv_rmssd_milli"), ("blood_oxygen", "spo2_percentage")):
                value = optional_number(score, name)
                if value is not None:
                    samples[resource, SOURCE].append(Sample(microseconds(at), value, offset_seconds=offset_seconds))
        except MalformedError as error:
            reasons.append(error.reason)
    return Series(batches_of(samples), counted("recovery", reasons))


@refusing("body_measurement")
def profile_from_body_measurement(payload: JSONValue) -> SummaryRecord:
    """The member's height. WHOOP's weight has no date, and so is no weight of any day."""
    item = document(payload)
    return SummaryRecord(
        resource="profile",
        source=SOURCE,
        external_id="profile",
        calendar_date=UNDATED,
        starts_at=None,
        ends_at=None,
        timezone_offset_seconds=None,
        fields={"height": nearest_whole(centimetres_from_metres(number(item, "height_meter")))},
        raw=item,
    )


def _score(item: Mapping[str, JSONValue]) -> Mapping[str, JSONValue] | None:
    """What WHOOP made of it; None while it has not, or can't."""
    return document(item.get("score")) if item.get("score_state") == _SCORED else None


def _recovered(recovery: JSONValue) -> dict[str, JSONValue]:
    if recovery is None:
        return {}
    score = _score(document(recovery))
    if score is None:
        return {}
    return {
        "recovery_readiness_score": nearest_whole(optional_number(score, "recovery_score")),
        "hr_resting": nearest_whole(optional_number(score, "resting_heart_rate")),
        "average_hrv": optional_number(score, "hrv_rmssd_milli"),
        "skin_temperature": optional_number(score, "skin_temp_celsius"),
    }


def _sleep_type(item: Mapping[str, JSONValue], seconds: int) -> str:
    if item.get("nap") is True:
        return "acknowledged_nap"
    return "long_sleep" if seconds >= _LONG_SLEEP_SECONDS else "short_sleep"


def _sleep_ends(sleeps: Iterable[JSONValue]) -> dict[str, tuple[datetime, int]]:
    found: dict[str, tuple[datetime, int]] = {}
    for payload in sleeps:
        try:
            item = document(payload)
            found[text(item, "id")] = (local_instant(item, "end"), _offset_seconds(item))
        except MalformedError:
            # The sleep's own converter refuses and reports it; here it only tells no instant.
            continue
    return found


def _zones(score: Mapping[str, JSONValue]) -> list[JSONValue] | None:
    durations = score.get("zone_durations")
    if not isinstance(durations, Mapping):
        return None
    return [_milliseconds(durations, f"zone_{name}_milli") for name in _ZONES]


def _milliseconds(item: Mapping[str, JSONValue], name: str) -> int:
    """A duration in milliseconds as whole seconds; nought where WHOOP leaves it out."""
    return round((optional_number(item, name) or 0.0) / _MILLI)


def _offset_seconds(item: Mapping[str, JSONValue]) -> int:
    """`timezone_offset` is `±hh:mm`, or `Z`."""
    written = text(item, "timezone_offset")
    if written == "Z":
        return 0
    found = _OFFSET.fullmatch(written)
    if found is None:
        raise MalformedError("bad_time:timezone_offset")
    seconds = (int(found[2]) * 60 + int(found[3])) * 60
    if seconds > OFFSET_LIMIT_SECONDS:
        raise MalformedError("bad_time:timezone_offset")
    return -seconds if found[1] == "-" else seconds


def _local_day(moment: datetime, offset_seconds: int) -> date:
    return moment.astimezone(timezone(timedelta(seconds=offset_seconds))).date()
