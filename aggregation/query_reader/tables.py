"""The columns and types of every table that can be queried."""

from aggregation.query.schema import ColumnType, TableSchema, columns_from

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
    tells_of_sources=True,
)

TABLES = (SLEEP, ACTIVITY, WORKOUT, BODY, MEAL, PROFILE, DERIVED_READINESS, MENSTRUAL_CYCLE, RELIABILITY)
