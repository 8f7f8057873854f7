"""The columns and types of every table and timeseries kind, and the default schema made of those that are kept."""

from aggregation.query.schema import (
    ColumnType,
    DeclaredSchema,
    SeriesKind,
    SeriesSchema,
    TableSchema,
    columns_from,
)

_SOURCE = "source_type:string source_provider:string source_app_id:string source_device_id:string"

SLEEP = TableSchema(
    "sleep",
    columns_from(f"""
        id:string session_start:local_datetime session_end:local_datetime state:string type:string
        duration_second:int64 stage_asleep_second:int64 stage_awake_second:int64 stage_light_second:int64
        stage_rem_second:int64 stage_deep_second:int64 stage_unknown_second:int64 latency_second:int64
        heart_rate_minimum:int64 heart_rate_mean:int64 heart_rate_maximum:int64 heart_rate_dip
        heart_rate_resting:int64 efficiency hrv_mean_rmssd hrv_mean_sdnn skin_temperature
        skin_temperature_delta respiratory_rate score:int64 recovery_readiness_score
        {_SOURCE} time_zone:string
    """),
    ColumnType.LOCAL_DATETIME,
)
ACTIVITY = TableSchema(
    "activity",
    columns_from(f"""
        date:date calories_total calories_active steps:int64 distance_meter floors_climbed:int64
        duration_active_second:int64 intensity_sedentary_second:int64 intensity_low_second:int64
        intensity_medium_second:int64 intensity_high_second:int64 heart_rate_mean heart_rate_minimum
        heart_rate_maximum heart_rate_resting heart_rate_mean_walking wheelchair_use:bool
        wheelchair_push:int64 {_SOURCE} time_zone:string time_zone_offset:int64
    """),
    ColumnType.DATE,
)
WORKOUT = TableSchema(
    "workout",
    columns_from(f"""
        session_start:local_datetime session_end:local_datetime title:string sport_name:string
        sport_slug:string duration_active_second:int64 heart_rate_mean:int64 heart_rate_minimum:int64
        heart_rate_maximum:int64 heart_rate_zone_1 heart_rate_zone_2 heart_rate_zone_3 heart_rate_zone_4
        heart_rate_zone_5 heart_rate_zone_6 distance_meter calories elevation_gain_meter
        elevation_maximum_meter elevation_minimum_meter speed_mean speed_maximum power_source power_mean
        power_maximum power_weighted_mean steps:int64 map_polyline:string map_summary_polyline:string
        {_SOURCE} external_id:string time_zone:string
    """),
    ColumnType.LOCAL_DATETIME,
)
BODY = TableSchema(
    "body",
    columns_from(f"""
        measured_at:local_datetime weight_kilogram fat_mass_percentage water_percentage
        muscle_mass_percentage visceral_fat_index bone_mass_percentage body_mass_index
        lean_body_mass_kilogram waist_circumference_centimeter {_SOURCE} time_zone:string
    """),
    ColumnType.LOCAL_DATETIME,
)
PROFILE = TableSchema(
    "profile",
    columns_from(f"""
        height_centimeter:int16 birth_date:date wheelchair_use:bool gender:string sex:string {_SOURCE}
        created_at:utc_datetime updated_at:utc_datetime
    """),
    ColumnType.UTC_DATETIME,
)

_SAMPLE = """
    source_provider:string source_type:string source_app_id:string source_workout_id:string
    source_sport:string timezone_offset:int64 type:string
"""
FIELDS_BY_KIND = {
    SeriesKind.DISCRETE: columns_from(f"{_SAMPLE} value"),
    SeriesKind.INTERVAL: columns_from(f"{_SAMPLE} duration value"),
    SeriesKind.BLOOD_PRESSURE: columns_from(f"{_SAMPLE} systolic diastolic"),
    SeriesKind.TEMPERATURE: columns_from(f"{_SAMPLE} duration value sensor_location:string"),
    SeriesKind.WORKOUT_DURATION: columns_from(f"{_SAMPLE} duration value intensity:string"),
    SeriesKind.INSULIN_INJECTION: columns_from(
        f"{_SAMPLE} duration value delivery_mode:string delivery_form:string bolus_purpose:string"
    ),
    SeriesKind.NOTE: columns_from(f"{_SAMPLE} tags:string_list content:string"),
}


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


RESOURCES_BY_KIND = {
    SeriesKind.DISCRETE: _names("""
        glucose heartrate hrv ige igg cholesterol weight fat blood_oxygen electrocardiogram_voltage
        respiratory_rate stress_level
    """),
    SeriesKind.INTERVAL: _names("""
        steps distance vo2_max heart_rate_alert stand_hour sleep_breathing_disturbance water caffeine
        mindfulness_minutes calories_active floors_climbed calories_basal afib_burden stand_duration
        sleep_apnea_alert wheelchair_push forced_expiratory_volume_1 forced_vital_capacity
        peak_expiratory_flow_rate inhaler_usage fall uv_exposure daylight_exposure handwashing
        basal_body_temperature body_mass_index lean_body_mass waist_circumference
        heart_rate_recovery_one_minute workout_swimming_stroke workout_distance carbohydrates
    """),
    SeriesKind.BLOOD_PRESSURE: ("blood_pressure",),
    SeriesKind.TEMPERATURE: ("body_temperature", "body_temperature_delta"),
    SeriesKind.WORKOUT_DURATION: ("workout_duration",),
    SeriesKind.INSULIN_INJECTION: ("insulin_injection",),
    SeriesKind.NOTE: ("note",),
}

#: Every name the language knows; those a schema lacks are refused as not supported yet, others as unknown.
KNOWN_TABLES = (
    "sleep", "activity", "workout", "body", "meal", "profile", "derived_readiness", "menstrual_cycle",
    "reliability",
)  # fmt: skip
KNOWN_RESOURCES = frozenset(name for names in RESOURCES_BY_KIND.values() for name in names)


def series_schema(resource: str, kind: SeriesKind) -> SeriesSchema:
    """The schema of a resource of that kind."""
    return SeriesSchema(resource, FIELDS_BY_KIND[kind])


DEFAULT_SCHEMA = DeclaredSchema(
    tables=(SLEEP, ACTIVITY, WORKOUT, BODY, PROFILE),
    series=tuple(
        series_schema(resource, kind)
        for kind in (SeriesKind.DISCRETE, SeriesKind.INTERVAL)
        for resource in RESOURCES_BY_KIND[kind]
    ),
)
