"""The generic shape's summaries as the service's records: pure functions, units converted here and nowhere else.

Shape: the simulator's (docs/simulator.md, "Generic data").
"""

from collections.abc import Callable, Mapping
from datetime import UTC
from typing import Final

from aggregation.records import UNDATED, DataSource, SummaryRecord
from aggregation.sports import SPORTS
from healthsvc.kernel.typing import JSONValue
from healthsvc.kernel.units import (
    centimetres_from_metres,
    kilocalories_from_kilojoules,
    kilograms_from_grams,
    metres_from_kilometres,
    percent_from_fraction,
)
from links.connectors.generic.samples import numbers
from links.connectors.payload import (
    MalformedError,
    calendar_day,
    document,
    in_order,
    local_instant,
    minutes_from_seconds,
    number,
    offset_seconds_of,
    optional_number,
    optional_text,
    optional_whole,
    refusing,
    text,
    utc_text,
    whole,
)

#: The API's numbers of the stages.
_STAGES: Final = {"deep": 1, "light": 2, "rem": 3, "awake": 4}
_STAGE_UNKNOWN: Final = -1
_NIGHT_SECONDS: Final = 3 * 3600
_SPORTS: Final = frozenset(sport.slug for sport in SPORTS)
_OTHER_WORDS: Final = {"strength": "strength_training"}


@refusing("sleep")
def sleep_from_row(payload: JSONValue, *, source: DataSource) -> SummaryRecord:
    """A night or a nap; time in stages is what its stages come to."""
    item = document(payload)
    start, end = local_instant(item, "start"), local_instant(item, "end")
    duration_seconds = in_order(start, end)
    seconds = dict.fromkeys(_STAGES.values(), 0)
    for first, last, stage in _stages(item):
        seconds[stage] = seconds.get(stage, 0) + last - first
    asleep_seconds = seconds[1] + seconds[2] + seconds[3]
    kind = "acknowledged_nap" if text(item, "kind") == "nap" else _kind_of(duration_seconds)
    average, lowest = optional_number(item, "average_bpm"), optional_number(item, "lowest_bpm")
    return SummaryRecord(
        resource="sleep",
        source=source,
        external_id=text(item, "id"),
        calendar_date=calendar_day(item, "day"),
        starts_at=start.astimezone(UTC),
        ends_at=end.astimezone(UTC),
        timezone_offset_seconds=offset_seconds_of(end),
        fields={
            "bedtime_start": utc_text(start),
            "bedtime_stop": utc_text(end),
            "timezone_offset": offset_seconds_of(end),
            "type": kind,
            "duration": duration_seconds,
            "total": asleep_seconds,
            "awake": seconds[4],
            "light": seconds[2],
            "rem": seconds[3],
            "deep": seconds[1],
            "score": optional_whole(item, "score"),
            "hr_lowest": None if lowest is None else round(lowest),
            "hr_average": None if average is None else round(average),
            "efficiency": percent_from_fraction(asleep_seconds / duration_seconds),
            "latency": optional_whole(item, "latency_seconds"),
            "temperature_delta": optional_number(item, "temperature_delta_celsius"),
            "average_hrv": optional_number(item, "average_rmssd_milliseconds"),
            "respiratory_rate": optional_number(item, "breaths_per_minute"),
        },
        raw=item,
    )


def _kind_of(duration_seconds: int) -> str:
    return "long_sleep" if duration_seconds >= _NIGHT_SECONDS else "short_sleep"


def _stages(item: Mapping[str, JSONValue]) -> list[tuple[int, int, int]]:
    """First second, last second and stage of each stretch, in order of time."""
    listed = item.get("stages")
    found: list[tuple[int, int, int]] = []
    for entry in listed if isinstance(listed, list | tuple) else ():
        one = document(entry)
        first, last = whole(one, "start_second"), whole(one, "end_second")
        if not 0 <= first <= last:
            raise MalformedError("ends_before_start")
        found.append((first, last, _STAGES.get(text(one, "stage"), _STAGE_UNKNOWN)))
    return sorted(found)


@refusing("sleep_cycle")
def sleep_cycle_from_row(payload: JSONValue, *, source: DataSource) -> SummaryRecord:
    """The stages of a night or a nap."""
    item = document(payload)
    start, end, identity = local_instant(item, "start"), local_instant(item, "end"), text(item, "id")
    in_order(start, end)
    stages = _stages(item)
    return SummaryRecord(
        resource="sleep_cycle",
        source=source,
        external_id=identity,
        calendar_date=calendar_day(item, "day"),
        starts_at=start.astimezone(UTC),
        ends_at=end.astimezone(UTC),
        timezone_offset_seconds=offset_seconds_of(end),
        fields={
            "sleep_external_id": identity,
            "session_start": utc_text(start),
            "session_end": utc_text(end),
            "stage_start_offset_second": [first for first, _, _ in stages],
            "stage_end_offset_second": [last for _, last, _ in stages],
            "stage_type": [stage for _, _, stage in stages],
        },
    )


@refusing("activity")
def activity_from_row(payload: JSONValue, *, source: DataSource) -> SummaryRecord:
    """A day's totals."""
    item = document(payload)
    offset_seconds = offset_seconds_of(local_instant(item, "start"))
    heart_rate: dict[str, JSONValue] = {
        "avg_bpm": optional_number(item, "average_bpm"),
        "min_bpm": optional_number(item, "lowest_bpm"),
        "max_bpm": optional_number(item, "highest_bpm"),
        "resting_bpm": optional_number(item, "resting_bpm"),
    }
    return SummaryRecord(
        resource="activity",
        source=source,
        external_id=text(item, "id"),
        calendar_date=calendar_day(item, "day"),
        starts_at=None,
        ends_at=None,
        timezone_offset_seconds=offset_seconds,
        fields={
            "timezone_offset": offset_seconds,
            "calories_total": _optional(item, "total_kilojoule", kilocalories_from_kilojoules),
            "calories_active": _optional(item, "active_kilojoule", kilocalories_from_kilojoules),
            "steps": optional_whole(item, "steps"),
            "distance": _optional(item, "distance_kilometre", metres_from_kilometres),
            "low": minutes_from_seconds(optional_number(item, "low_seconds")),
            "medium": minutes_from_seconds(optional_number(item, "medium_seconds")),
            "high": minutes_from_seconds(optional_number(item, "high_seconds")),
            "heart_rate": heart_rate,
        },
        raw=item,
    )


def _optional(item: Mapping[str, JSONValue], name: str, convert: Callable[[float], float]) -> float | None:
    value = optional_number(item, name)
    return None if value is None else convert(value)


@refusing("workout")
def workout_from_row(payload: JSONValue, *, source: DataSource) -> SummaryRecord:
    """One workout."""
    item = document(payload)
    start, end = local_instant(item, "start"), local_instant(item, "end")
    seconds, identity = in_order(start, end), text(item, "id")
    distance_metre = _optional(item, "distance_kilometre", metres_from_kilometres)
    word = text(item, "sport")
    sport = _OTHER_WORDS.get(word, word)
    return SummaryRecord(
        resource="workouts",
        source=source,
        external_id=identity,
        calendar_date=calendar_day(item, "day"),
        starts_at=start.astimezone(UTC),
        ends_at=end.astimezone(UTC),
        timezone_offset_seconds=offset_seconds_of(start),
        fields={
            "title": optional_text(item, "title"),
            "time_start": utc_text(start),
            "time_end": utc_text(end),
            "timezone_offset": offset_seconds_of(start),
            "sport": sport if sport in _SPORTS else "other",
            "average_hr": optional_whole(item, "average_bpm"),
            "max_hr": optional_whole(item, "highest_bpm"),
            "distance": distance_metre,
            "average_speed": None if distance_metre is None else distance_metre / seconds,
            "calories": _optional(item, "energy_kilojoule", kilocalories_from_kilojoules),
            "steps": optional_whole(item, "steps"),
            "moving_time": seconds,
            "provider_id": identity,
        },
        raw=item,
    )


@refusing("body")
def body_from_row(payload: JSONValue, *, source: DataSource) -> SummaryRecord:
    """What a scale says."""
    item = document(payload)
    at = local_instant(item, "at")
    shares = {
        "fat": "fat_fraction",
        "water_percentage": "water_fraction",
        "muscle_mass_percentage": "muscle_fraction",
        "bone_mass_percentage": "bone_fraction",
    }
    return SummaryRecord(
        resource="body",
        source=source,
        external_id=text(item, "id"),
        calendar_date=at.date(),
        starts_at=at.astimezone(UTC),
        ends_at=None,
        timezone_offset_seconds=offset_seconds_of(at),
        fields={
            "weight": kilograms_from_grams(number(item, "weight_gram")),
            **{ours: _optional(item, theirs, percent_from_fraction) for ours, theirs in shares.items()},
        },
        raw=item,
    )


@refusing("meal")
def meal_from_row(payload: JSONValue, *, source: DataSource) -> SummaryRecord:
    """One meal of the diary."""
    item = document(payload)
    at = local_instant(item, "at")
    macros: dict[str, JSONValue] = {
        "carbs": optional_number(item, "carbohydrate_gram"),
        "protein": optional_number(item, "protein_gram"),
        "fats": {"total": optional_number(item, "fat_gram")},
        "fibre": optional_number(item, "fibre_gram"),
    }
    energy_kilocalorie = kilocalories_from_kilojoules(number(item, "energy_kilojoule"))
    return SummaryRecord(
        resource="meal",
        source=source,
        external_id=text(item, "id"),
        calendar_date=at.date(),
        starts_at=at.astimezone(UTC),
        ends_at=None,
        timezone_offset_seconds=offset_seconds_of(at),
        fields={
            "timestamp": utc_text(at),
            "name": text(item, "name"),
            "energy": {"unit": "kcal", "value": energy_kilocalorie},
            "macros": macros,
        },
        raw=item,
    )


@refusing("electrocardiogram")
def electrocardiogram_from_row(payload: JSONValue, *, source: DataSource) -> SummaryRecord:
    """A recording; its voltages are a series."""
    item = document(payload)
    start, end = local_instant(item, "start"), local_instant(item, "end")
    in_order(start, end)
    return SummaryRecord(
        resource="electrocardiogram",
        source=source,
        external_id=text(item, "id"),
        calendar_date=start.date(),
        starts_at=start.astimezone(UTC),
        ends_at=end.astimezone(UTC),
        timezone_offset_seconds=offset_seconds_of(start),
        fields={
            "session_start": utc_text(start),
            "session_end": utc_text(end),
            "voltage_sample_count": len(numbers(item, "microvolts")),
            "heart_rate_mean": optional_whole(item, "average_bpm"),
            "sampling_frequency_hz": optional_number(item, "hertz"),
            "classification": optional_text(item, "classification"),
        },
    )


@refusing("menstrual_cycle")
def menstrual_cycle_from_row(payload: JSONValue, *, source: DataSource) -> SummaryRecord:
    """A cycle from the first day of its period."""
    item = document(payload)
    first, last = calendar_day(item, "period_start"), calendar_day(item, "period_end")
    listed = item.get("flow")
    flows = [document(entry) for entry in listed] if isinstance(listed, list | tuple) else []
    return SummaryRecord(
        resource="menstrual_cycle",
        source=source,
        external_id=text(item, "id"),
        calendar_date=first,
        starts_at=None,
        ends_at=None,
        timezone_offset_seconds=None,
        fields={
            "period_start": first.isoformat(),
            "period_end": last.isoformat(),
            "is_predicted": False,
            "menstrual_flow": [
                {"date": calendar_day(one, "date").isoformat(), "flow": text(one, "flow")} for one in flows
            ],
        },
    )


@refusing("profile")
def profile_from_row(payload: JSONValue, *, source: DataSource) -> SummaryRecord:
    """What the vendor knows of the person."""
    item = document(payload)
    height = _optional(item, "height_metre", centimetres_from_metres)
    birth = item.get("birth_date")
    sex = optional_text(item, "sex")
    return SummaryRecord(
        resource="profile",
        source=source,
        external_id="profile",
        calendar_date=UNDATED,
        starts_at=None,
        ends_at=None,
        timezone_offset_seconds=None,
        fields={
            "height": None if height is None else round(height),
            "birth_date": None if birth is None else calendar_day(item, "birth_date").isoformat(),
            "sex": sex if sex in (None, "female", "male") else "other",
        },
        raw=item,
    )
