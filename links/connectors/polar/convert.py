"""Polar's nights, days and exercises as the service's records: pure functions, units converted here.

Shapes: Polar's AccessLink API v3, schemas `sleep`, `nightly-recharge`, `activity-summary-with-all-samples` and
`exerciseHashId`. Read, not exercised against a live account.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from aggregation.records import DataSource, SummaryRecord
from healthsvc.kernel.typing import JSONValue
from links.connectors.payload import (
    MalformedError,
    calendar_day,
    document,
    in_order,
    local_instant,
    minutes_from_seconds,
    nearest_whole,
    number,
    offset_seconds_of,
    optional_number,
    optional_text,
    refusing,
    text,
    utc_text,
    whole,
)
from links.connectors.polar.catalogue import sport_of
from links.connectors.polar.clock import duration_seconds, exercise_start, named, night_moment, shown_time

SOURCE: Final = DataSource(provider="polar", type="watch")

#: The API's long sleep is of three hours and more.
_LONG_SLEEP_SECONDS: Final = 3 * 3600
#: `hypnogram` → the API's stage: 1 deep, 2 light, 3 REM, 4 awake, -1 unknown. Polar tells two kinds of light sleep.
_STAGES: Final[Mapping[int, int]] = {0: 4, 1: 3, 2: 2, 3: 2, 4: 1, 5: -1}
_STAGE_UNKNOWN: Final = -1
#: Activity zones → the API's intensities; what is asleep or sedentary is no activity.
_INTENSITIES: Final[Mapping[str, str]] = {"LIGHT": "low", "MODERATE": "medium", "VIGOROUS": "high"}
#: Samples are kept as samples.
_NOT_KEPT: Final = ("samples", "route", "hypnogram", "heart_rate_samples")
_ZONES_MAXIMUM: Final = 5


@refusing("sleep")
def sleep_from_night(payload: JSONValue, *, recharges: Mapping[date, JSONValue] | None = None) -> SummaryRecord:
    """A night; with the Nightly Recharge of its day, where there is one. Polar tells one night a day.

    Time in a stage that was not recognised is sleep: Polar tells waking apart. Its own ratings of the recharge are of
    six and of twenty steps, and so no readiness of a hundred.
    """
    item = named(payload)
    start, end = local_instant(item, "sleep_start_time"), local_instant(item, "sleep_end_time")
    day = calendar_day(item, "date")
    seconds = in_order(start, end)
    light, deep, rem = (_seconds(item, name) for name in ("light_sleep", "deep_sleep", "rem_sleep"))
    beats = _night_beats(item)
    return SummaryRecord(
        resource="sleep",
        source=SOURCE,
        external_id=day.isoformat(),
        calendar_date=day,
        starts_at=start.astimezone(UTC),
        ends_at=end.astimezone(UTC),
        timezone_offset_seconds=offset_seconds_of(end),
        fields={
            "bedtime_start": utc_text(start),
            "bedtime_stop": utc_text(end),
            "timezone_offset": offset_seconds_of(end),
            "type": "long_sleep" if seconds >= _LONG_SLEEP_SECONDS else "short_sleep",
            "duration": seconds,
            "total": light + deep + rem + _seconds(item, "unrecognized_sleep_stage"),
            "awake": _seconds(item, "total_interruption_duration"),
            "light": light,
            "rem": rem,
            "deep": deep,
            "score": nearest_whole(optional_number(item, "sleep_score")) or None,
            "hr_lowest": nearest_whole(min(beats)) if beats else None,
            "hr_average": nearest_whole(sum(beats) / len(beats)) if beats else None,
            **_recharged((recharges or {}).get(day)),
        },
        raw=_kept(payload),
    )


def by_date(records: Iterable[JSONValue]) -> Mapping[date, JSONValue]:
    """Records by their `date`; what has none is told of by its own converter."""
    found: dict[date, JSONValue] = {}
    for record in records:
        try:
            found[calendar_day(named(record), "date")] = record
        except MalformedError:
            continue
    return found


def has_stages(payload: JSONValue) -> bool:
    """Whether a night tells its stages: older watches do not."""
    return isinstance(payload, Mapping) and bool(payload.get("hypnogram"))


@refusing("sleep_cycle")
def sleep_cycle_from_night(payload: JSONValue) -> SummaryRecord:
    """The stages of a night. Each entry of the hypnogram holds until the next one, the last until the night's end."""
    item = named(payload)
    start, end = local_instant(item, "sleep_start_time"), local_instant(item, "sleep_end_time")
    day = calendar_day(item, "date")
    duration = in_order(start, end)
    hypnogram = document(item.get("hypnogram"))
    entries = sorted(
        (round((night_moment(start, shown, "hypnogram") - start).total_seconds()), whole(hypnogram, shown))
        for shown in hypnogram
    )
    begins: list[JSONValue] = []
    ends: list[JSONValue] = []
    kinds: list[JSONValue] = []
    for place, (second, told) in enumerate(entries):
        until = min(entries[place + 1][0] if place + 1 < len(entries) else duration, duration)
        stage = _STAGES.get(told, _STAGE_UNKNOWN)
        if second >= until:
            continue
        if kinds and kinds[-1] == stage and ends[-1] == second:
            ends[-1] = until
        else:
            begins.append(second)
            ends.append(until)
            kinds.append(stage)
    if not kinds:
        raise MalformedError("missing_field:hypnogram")
    return SummaryRecord(
        resource="sleep_cycle",
        source=SOURCE,
        external_id=day.isoformat(),
        calendar_date=day,
        starts_at=start.astimezone(UTC),
        ends_at=end.astimezone(UTC),
        timezone_offset_seconds=offset_seconds_of(end),
        fields={
            "sleep_external_id": day.isoformat(),
            "session_start": utc_text(start),
            "session_end": utc_text(end),
            "stage_start_offset_second": begins,
            "stage_end_offset_second": ends,
            "stage_type": kinds,
        },
    )


@refusing("activity")
def activity_from_summary(payload: JSONValue) -> SummaryRecord:
    """A day by the watch's clock. Its minutes of each intensity come with the zones, where they are."""
    item = named(payload)
    day = day_of_activity(payload)
    return SummaryRecord(
        resource="activity",
        source=SOURCE,
        external_id=day.isoformat(),
        calendar_date=day,
        starts_at=None,
        ends_at=None,
        timezone_offset_seconds=None,
        fields={
            "calories_total": optional_number(item, "calories"),
            "calories_active": optional_number(item, "active_calories"),
            "steps": nearest_whole(optional_number(item, "steps")),
            "distance": optional_number(item, "distance_from_steps"),
            **_intensities(item, day),
        },
        raw=_kept(payload),
    )


def day_of_activity(payload: JSONValue) -> date:
    """The day that a summary is of: its samples name it, else it began on it. MalformedError."""
    item = named(payload)
    samples = item.get("samples")
    if isinstance(samples, Mapping) and samples.get("date") is not None:
        return calendar_day(samples, "date")
    return shown_time(item, "start_time").date()


@refusing("exercise")
def workout_from_exercise(payload: JSONValue) -> SummaryRecord:
    """An exercise. Its finer word for the sport comes before the coarser one. No energy at all is none measured."""
    item = named(payload)
    start, seconds = exercise_start(item), duration_seconds(item, "duration")
    end = start + timedelta(seconds=seconds)
    in_order(start, end)
    identity = text(item, "id")
    rates = item.get("heart_rate")
    beats = rates if isinstance(rates, Mapping) else {}
    return SummaryRecord(
        resource="workouts",
        source=SOURCE,
        external_id=identity,
        calendar_date=start.date(),
        starts_at=start.astimezone(UTC),
        ends_at=end.astimezone(UTC),
        timezone_offset_seconds=offset_seconds_of(start),
        fields={
            "time_start": utc_text(start),
            "time_end": utc_text(end),
            "timezone_offset": offset_seconds_of(start),
            "sport": sport_of(optional_text(item, "detailed_sport_info"), optional_text(item, "sport")),
            "average_hr": nearest_whole(optional_number(beats, "average")) or None,
            "max_hr": nearest_whole(optional_number(beats, "maximum")) or None,
            "calories": optional_number(item, "calories") or None,
            "distance": optional_number(item, "distance") or None,
            "hr_zones": _zones(item, seconds),
            "moving_time": round(seconds),
            "provider_id": identity,
        },
        raw=_kept(payload),
    )


def _recharged(recharge: JSONValue) -> dict[str, JSONValue]:
    """Averages over four hours of the night: RMSSD, ms, and breaths a minute."""
    if recharge is None:
        return {}
    item = named(recharge)
    return {
        "average_hrv": optional_number(item, "heart_rate_variability_avg"),
        "respiratory_rate": optional_number(item, "breathing_rate_avg"),
    }


def _night_beats(item: Mapping[str, JSONValue]) -> list[float]:
    samples = item.get("heart_rate_samples")
    return [number(samples, shown) for shown in samples] if isinstance(samples, Mapping) else []


def _intensities(item: Mapping[str, JSONValue], day: date) -> dict[str, JSONValue]:
    """Minutes in each zone. An entry holds until the next one, the last until the day ends or was last told of."""
    samples = item.get("samples")
    zones = samples.get("activity_zones") if isinstance(samples, Mapping) else None
    entries = zones.get("samples") if isinstance(zones, Mapping) else None
    if not isinstance(entries, list) or not entries:
        return {}
    told = [(shown_time(document(one), "timestamp"), text(document(one), "zone")) for one in entries]
    midnight = datetime.combine(day, time()) + timedelta(days=1)
    ended = shown_time(item, "end_time") if item.get("end_time") is not None else midnight
    totals = dict.fromkeys(_INTENSITIES.values(), 0.0)
    for place, (begun, zone) in enumerate(told):
        until = told[place + 1][0] if place + 1 < len(told) else min(midnight, ended)
        if zone in _INTENSITIES:
            # The clock may have been put back in between.
            totals[_INTENSITIES[zone]] += max(0.0, (until - begun).total_seconds())
    return {name: minutes_from_seconds(seconds) for name, seconds in totals.items()}


def _zones(item: Mapping[str, JSONValue], seconds: float) -> list[JSONValue] | None:
    """Seconds in Polar's five zones; what is in none of them lies below the first, the API's zone nought."""
    listed = item.get("heart_rate_zones")
    if not isinstance(listed, list) or not 0 < len(listed) <= _ZONES_MAXIMUM:
        return None
    zones = sorted((named(one) for one in listed), key=lambda zone: whole(zone, "index"))
    within = [round(duration_seconds(zone, "in_zone")) for zone in zones]
    return [max(0, round(seconds) - sum(within)), *within] if any(within) else None


def _seconds(item: Mapping[str, JSONValue], name: str) -> int:
    """A length of time in seconds; nought where Polar leaves it out."""
    return round(optional_number(item, name) or 0.0)


def _kept(payload: JSONValue) -> Mapping[str, JSONValue]:
    return {name: value for name, value in document(payload).items() if name not in _NOT_KEPT}
