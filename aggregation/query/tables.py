"""The columns and types of every table and timeseries kind, and the default schema made of those that are kept."""

from aggregation.query.schema import (
    ELEMENT,
    ColumnType,
    DeclaredSchema,
    MacroSchema,
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
MEAL = TableSchema(
    "meal",
    columns_from(f"""
        calories carbohydrate_gram protein_gram alcohol_gram water_gram fibre_gram sugar_gram cholesterol_gram
        saturated_fat_gram monounsaturated_fat_gram polyunsaturated_fat_gram omega3_fat_gram omega6_fat_gram
        total_fat_gram sodium_milligram potassium_milligram calcium_milligram phosphorus_milligram
        magnesium_milligram iron_milligram zinc_milligram fluoride_milligram chloride_milligram
        vitamin_a_milligram vitamin_b1_milligram riboflavin_milligram niacin_milligram
        pantothenic_acid_milligram vitamin_b6_milligram biotin_microgram vitamin_b12_microgram
        vitamin_c_milligram vitamin_d_microgram vitamin_e_milligram vitamin_k_microgram folic_acid_microgram
        chromium_microgram copper_milligram iodine_microgram manganese_milligram molybdenum_microgram
        selenium_microgram date:date name:string {_SOURCE}
    """),
    ColumnType.DATE,
)
DERIVED_READINESS = TableSchema(
    "derived_readiness",
    columns_from("""
        date:date chronotype:string sleep_score recovery_score recovery_zone:string stress_score strain_score
        strain_zone:string
    """),
    ColumnType.DATE,
)
#: What a list column's elements consist of.
_CYCLE_LISTS = {
    name: columns_from(f"date:date {fields}")
    for name, fields in {
        "menstrual_flow": "flow:string",
        "cervical_mucus": "quality:string",
        "intermenstrual_bleeding": "",
        "contraceptive": "type:string",
        "detected_deviations": "deviation:string",
        "ovulation_test": "test_result:string",
        "home_pregnancy_test": "test_result:string",
        "home_progesterone_test": "test_result:string",
        "sexual_activity": "protection_used:bool",
        "basal_body_temperature": "value",
    }.items()
}
MENSTRUAL_CYCLE = TableSchema(
    "menstrual_cycle",
    columns_from(f"""
        period_start:date period_end:date cycle_end:date is_predicted:bool
        {" ".join(f"{name}:struct_list" for name in _CYCLE_LISTS)} {_SOURCE}
    """),
    ColumnType.DATE,
    _CYCLE_LISTS,
)
RELIABILITY = TableSchema(
    "reliability",
    columns_from("""
        source_provider:string source_type:string resource:string window_start_date:date window_end_date:date
        window_duration_day:int64 presence_day_count:int64 presence_coverage presence_gap_count:int64
        presence_gap_maximum_day:int64 presence_recency_day:int64 presence_gap_mean_day
        presence_gap_standard_deviation_day reliability_status:string connection_status:string
    """),
    ColumnType.DATE,
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
_LISTS_BY_KIND = {SeriesKind.NOTE: {"tags": {ELEMENT: ColumnType.STRING}}}


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

#: Resources of which two samples side by side make their sum; of the others they make a mean or a number of events.
_SUMMED = frozenset(
    _names("""
        steps distance water caffeine mindfulness_minutes calories_active floors_climbed calories_basal stand_duration
        wheelchair_push inhaler_usage daylight_exposure handwashing workout_swimming_stroke workout_distance
        carbohydrates workout_duration insulin_injection
    """)
)
#: What the language computes from a night.
VALUE_MACROS = (
    MacroSchema("sleep_score", "sleep", ColumnType.FLOAT64, ("1",)),
    MacroSchema("chronotype", "sleep", ColumnType.STRING, ("1",)),
    MacroSchema("asleep_at", "sleep", ColumnType.LOCAL_DATETIME, ("1",)),
    MacroSchema("awake_at", "sleep", ColumnType.LOCAL_DATETIME, ("1",)),
    MacroSchema("awakenings", "sleep", ColumnType.INT64, ("1",)),
)

TABLES = (SLEEP, ACTIVITY, WORKOUT, BODY, MEAL, PROFILE, DERIVED_READINESS, MENSTRUAL_CYCLE, RELIABILITY)

#: Every name the language knows; those a schema lacks are refused as not supported yet, others as unknown.
KNOWN_TABLES = tuple(table.name for table in TABLES)
KNOWN_RESOURCES = frozenset(name for names in RESOURCES_BY_KIND.values() for name in names)


def series_schema(resource: str, kind: SeriesKind, *, adds_up: bool = False) -> SeriesSchema:
    """The schema of a resource of that kind."""
    return SeriesSchema(resource, FIELDS_BY_KIND[kind], _LISTS_BY_KIND.get(kind, {}), adds_up)


#: Everything the language knows.
DEFAULT_SCHEMA = DeclaredSchema(
    tables=TABLES,
    series=tuple(
        series_schema(resource, kind, adds_up=resource in _SUMMED)
        for kind, resources in RESOURCES_BY_KIND.items()
        for resource in resources
    ),
    macros=VALUE_MACROS,
)
