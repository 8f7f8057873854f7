"""The columns of the tables that are kept as summaries: where the API's own field of the same meaning is."""

from collections.abc import Callable, Mapping
from datetime import date
from typing import Final, TypeAlias

from aggregation.query_reader.summaries import LocalSummary, period_start_on
from aggregation.shapes import device_uuid
from aggregation.sports import OTHER, SPORT_BY_SLUG
from healthsvc.kernel.typing import JSONValue

Cell: TypeAlias = Callable[[LocalSummary], object]


def cell_of(table: str, column: str) -> Cell:
    """What fills a column; a column that nothing kept tells is empty."""
    return _OWN_CELLS.get(column) or _PATHS[table].get(column) or _empty


def field_value(row: LocalSummary, *path: str) -> JSONValue:
    """A field of the payload, or a member of one; None where it is not there."""
    value: JSONValue = row.summary.payload
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def number(row: LocalSummary, *path: str) -> float | None:
    """A number of the payload; None where it is not there."""
    value = field_value(row, *path)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _empty(row: LocalSummary) -> object:
    return None


def _field(*path: str) -> Cell:
    return lambda row: field_value(row, *path)


def _day(name: str) -> Cell:
    def cell(row: LocalSummary) -> object:
        value = field_value(row, name)
        return date.fromisoformat(value) if isinstance(value, str) else None

    return cell


def _zone(place: int) -> Cell:
    def cell(row: LocalSummary) -> object:
        zones = field_value(row, "hr_zones")
        return zones[place - 1] if isinstance(zones, list) and len(zones) >= place else None

    return cell


def _seconds_of_minutes(*names: str) -> Cell:
    """The sum of those that are there."""

    def cell(row: LocalSummary) -> object:
        minutes = [value for name in names if (value := number(row, name)) is not None]
        return round(sum(minutes) * 60) if minutes else None

    return cell


def _sport(row: LocalSummary) -> object:
    return SPORT_BY_SLUG.get(str(field_value(row, "sport")), OTHER).name


def _unstaged_seconds(row: LocalSummary) -> object:
    """Asleep in no stage that the device could name."""
    total = number(row, "total")
    return None if total is None else max(0, round(total - sum(number(row, name) or 0 for name in _STAGES)))


def _device(row: LocalSummary) -> object:
    found = device_uuid(row.summary.user_id, row.summary.provider, row.summary.device_id)
    return None if found is None else str(found)


_STAGES: Final = ("light", "rem", "deep")
#: Columns that every table fills from the row itself.
_OWN_CELLS: Final[Mapping[str, Cell]] = {
    "id": lambda row: str(row.summary.id),
    "date": lambda row: row.summary.calendar_date,
    "session_start": lambda row: row.starts_local_us,
    "session_end": lambda row: row.ends_local_us,
    "source_type": lambda row: row.summary.source_type,
    "source_provider": lambda row: row.summary.provider,
    "source_app_id": lambda row: row.summary.app_id or None,
    "source_device_id": _device,
    "time_zone": lambda row: row.time_zone,
    "time_zone_offset": lambda row: row.summary.timezone_offset_seconds,
    "created_at": lambda row: row.summary.created_at,
    "updated_at": lambda row: row.summary.updated_at,
}
_NUTRIENT_PATHS: Final[Mapping[str, tuple[str, ...]]] = {
    "carbohydrate_gram": ("macros", "carbs"),
    **{f"{name}_gram": ("macros", name) for name in ("protein", "alcohol", "water", "fibre", "sugar", "cholesterol")},
    **{
        f"{name}_fat_gram": ("macros", "fats", name)
        for name in ("saturated", "monounsaturated", "polyunsaturated", "omega3", "omega6", "total")
    },
    **{
        f"{name}_milligram": ("micros", "minerals", name)
        for name in (
            "sodium", "potassium", "calcium", "phosphorus", "magnesium", "iron", "zinc", "fluoride", "chloride",
        )
    },
    **{
        f"{name}_milligram": ("micros", "vitamins", name)
        for name in (
            "vitamin_a", "vitamin_b1", "riboflavin", "niacin", "pantothenic_acid", "vitamin_b6", "vitamin_c",
            "vitamin_e",
        )
    },
    **{
        f"{name}_microgram": ("micros", "vitamins", name)
        for name in ("biotin", "vitamin_b12", "vitamin_d", "vitamin_k", "folic_acid")
    },
    **{f"{name}_milligram": ("micros", "trace_elements", name) for name in ("copper", "manganese")},
    **{
        f"{name}_microgram": ("micros", "trace_elements", name)
        for name in ("chromium", "iodine", "molybdenum", "selenium")
    },
}  # fmt: skip
#: Columns by table.
_PATHS: Final[Mapping[str, Mapping[str, Cell]]] = {
    "sleep": {
        "state": _field("state"),
        "type": _field("type"),
        "duration_second": _field("duration"),
        "stage_asleep_second": _field("total"),
        "stage_awake_second": _field("awake"),
        "stage_light_second": _field("light"),
        "stage_rem_second": _field("rem"),
        "stage_deep_second": _field("deep"),
        "stage_unknown_second": _unstaged_seconds,
        "latency_second": _field("latency"),
        "heart_rate_minimum": _field("hr_lowest"),
        "heart_rate_mean": _field("hr_average"),
        "heart_rate_resting": _field("hr_resting"),
        "heart_rate_dip": _field("hr_dip"),
        "efficiency": _field("efficiency"),
        "hrv_mean_rmssd": _field("average_hrv"),
        "skin_temperature": _field("skin_temperature"),
        "skin_temperature_delta": _field("temperature_delta"),
        "respiratory_rate": _field("respiratory_rate"),
        "score": _field("score"),
        "recovery_readiness_score": _field("recovery_readiness_score"),
    },
    "activity": {
        "calories_total": _field("calories_total"),
        "calories_active": _field("calories_active"),
        "steps": _field("steps"),
        "distance_meter": _field("distance"),
        "floors_climbed": _field("floors_climbed"),
        # The API's daily_movement is in metres and no time; the day's active time is that of its intensities.
        "duration_active_second": _seconds_of_minutes("low", "medium", "high"),
        "intensity_low_second": _seconds_of_minutes("low"),
        "intensity_medium_second": _seconds_of_minutes("medium"),
        "intensity_high_second": _seconds_of_minutes("high"),
        "heart_rate_mean": _field("heart_rate", "avg_bpm"),
        "heart_rate_minimum": _field("heart_rate", "min_bpm"),
        "heart_rate_maximum": _field("heart_rate", "max_bpm"),
        "heart_rate_resting": _field("heart_rate", "resting_bpm"),
        "heart_rate_mean_walking": _field("heart_rate", "avg_walking_bpm"),
        "wheelchair_use": _field("wheelchair_use"),
        "wheelchair_push": _field("wheelchair_push"),
    },
    "workout": {
        "title": _field("title"),
        "sport_name": _sport,
        "sport_slug": _field("sport"),
        "duration_active_second": _field("moving_time"),
        "heart_rate_mean": _field("average_hr"),
        "heart_rate_maximum": _field("max_hr"),
        **{f"heart_rate_zone_{place}": _zone(place) for place in range(1, 7)},
        "distance_meter": _field("distance"),
        "calories": _field("calories"),
        "elevation_gain_meter": _field("total_elevation_gain"),
        "elevation_maximum_meter": _field("elev_high"),
        "elevation_minimum_meter": _field("elev_low"),
        "speed_mean": _field("average_speed"),
        "speed_maximum": _field("max_speed"),
        "power_source": _field("device_watts"),
        "power_mean": _field("average_watts"),
        "power_maximum": _field("max_watts"),
        "power_weighted_mean": _field("weighted_average_watts"),
        "steps": _field("steps"),
        "map_polyline": _field("map", "polyline"),
        "map_summary_polyline": _field("map", "summary_polyline"),
        "external_id": _field("provider_id"),
    },
    "body": {
        "measured_at": lambda row: row.starts_local_us or row.summary.calendar_date,
        "weight_kilogram": _field("weight"),
        "fat_mass_percentage": _field("fat"),
        **{
            name: _field(name)
            for name in (
                "water_percentage", "muscle_mass_percentage", "visceral_fat_index", "bone_mass_percentage",
                "body_mass_index", "lean_body_mass_kilogram", "waist_circumference_centimeter",
            )
        },
    },
    "meal": {
        "calories": _field("energy", "value"),
        "name": _field("name"),
        **{column: _field(*path) for column, path in _NUTRIENT_PATHS.items()},
    },
    "profile": {
        "height_centimeter": _field("height"),
        "birth_date": _day("birth_date"),
        "wheelchair_use": _field("wheelchair_use"),
        "gender": _field("gender"),
        "sex": _field("sex"),
    },
    "menstrual_cycle": {
        "period_start": lambda row: period_start_on(row.summary),
        "period_end": _day("period_end"),
        "cycle_end": _day("cycle_end"),
        "is_predicted": lambda row: bool(field_value(row, "is_predicted")),
    },
}  # fmt: skip
