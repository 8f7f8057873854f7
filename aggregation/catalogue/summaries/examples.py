"""Examples of summaries: one person's first of March and the night after it."""

from datetime import date
from itertools import accumulate
from typing import Final

from aggregation.catalogue.kinds import SummaryExample
from healthsvc.kernel.typing import JSONObject

_SUNDAY: Final = date(2026, 3, 1)
_MONDAY: Final = date(2026, 3, 2)
_ZONE: Final = "Europe/Berlin"
_OFFSET_SECONDS: Final = 3_600
_NIGHT_START: Final = "2026-03-01T21:41:00+00:00"
_NIGHT_STOP: Final = "2026-03-02T05:53:00+00:00"

PERSON: Final = SummaryExample(
    _MONDAY, {"height": 177, "birth_date": "1988-06-14", "gender": "female", "sex": "female"}
)
NIGHT: Final = SummaryExample(
    _MONDAY,
    {
        "bedtime_start": _NIGHT_START,
        "bedtime_stop": _NIGHT_STOP,
        "type": "long_sleep",
        "state": "confirmed",
        "timezone_offset": _OFFSET_SECONDS,
        "duration": 29_520,
        "total": 27_360,
        "awake": 2_160,
        "light": 15_600,
        "rem": 6_060,
        "deep": 5_700,
        "score": 84,
        "recovery_readiness_score": 79,
        "hr_lowest": 49,
        "hr_average": 55,
        "hr_resting": 51,
        "efficiency": 92.7,
        "latency": 540,
        "temperature_delta": -0.1,
        "skin_temperature": 34.6,
        "hr_dip": 14.2,
        "average_hrv": 58.0,
        "respiratory_rate": 14.3,
    },
)
#: Of the night above: each stage and how many seconds it lasted.
_STAGES: Final = (
    (4, 540), (2, 2_400), (1, 2_400), (2, 1_800), (3, 1_200), (2, 2_700), (1, 2_100), (4, 420),
    (2, 2_700), (3, 2_160), (1, 1_200), (2, 3_000), (4, 300), (3, 2_700), (2, 3_000), (4, 900),
)  # fmt: skip
_STAGE_ENDS: Final = list(accumulate(seconds for _, seconds in _STAGES))
STAGES: Final = SummaryExample(
    _MONDAY,
    {
        "session_start": _NIGHT_START,
        "session_end": _NIGHT_STOP,
        "stage_start_offset_second": [0, *_STAGE_ENDS[:-1]],
        "stage_end_offset_second": [*_STAGE_ENDS],
        "stage_type": [stage for stage, _ in _STAGES],
        "time_zone": _ZONE,
    },
)
DAY: Final = SummaryExample(
    _SUNDAY,
    {
        "calories_total": 2_238.0,
        "calories_active": 642.0,
        "steps": 13_264,
        "daily_movement": 11_870.0,
        "distance": 10_940.0,
        "low": 214.0,
        "medium": 46.0,
        "high": 22.0,
        "floors_climbed": 9,
        "time_zone": _ZONE,
        "timezone_offset": _OFFSET_SECONDS,
        "heart_rate": {
            "avg_bpm": 71.0,
            "min_bpm": 49.0,
            "max_bpm": 171.0,
            "resting_bpm": 51.0,
            "avg_walking_bpm": 96.0,
        },
    },
)
RUN: Final = SummaryExample(
    _SUNDAY,
    {
        "title": "Morning run",
        "timezone_offset": _OFFSET_SECONDS,
        "average_hr": 148,
        "max_hr": 171,
        "distance": 7_140.0,
        "time_start": "2026-03-01T08:05:00+00:00",
        "time_end": "2026-03-01T08:47:00+00:00",
        "calories": 498.0,
        "sport": "running",
        "hr_zones": [60, 240, 780, 960, 420, 60],
        "moving_time": 2_490,
        "total_elevation_gain": 62.0,
        "elev_high": 58.4,
        "elev_low": 31.2,
        "average_speed": 2.87,
        "max_speed": 4.1,
        "average_watts": 236.0,
        "device_watts": 236.0,
        "max_watts": 389.0,
        "weighted_average_watts": 241.0,
        "steps": 6_804,
        "map": {
            "polyline": "svo_IgmnpAcIoSqDyn@`Fyk@tH_VdGv\\bEnr@yDzi@qH~J",
            "summary_polyline": "svo_IgmnpA`@cgCa@bgC",
        },
        "provider_id": "b1e0f3c2-6c0e-4e0b-9e58-0a1d2c3b4f55",
    },
)
SCALE: Final = SummaryExample(
    _MONDAY,
    {
        "weight": 72.4,
        "fat": 18.6,
        "water_percentage": 57.3,
        "muscle_mass_percentage": 43.9,
        "visceral_fat_index": 5.0,
        "bone_mass_percentage": 4.1,
        "body_mass_index": 23.1,
        "lean_body_mass_kilogram": 58.9,
        "waist_circumference_centimeter": 78.0,
    },
)
ELECTROCARDIOGRAM: Final = SummaryExample(
    _SUNDAY,
    {
        "session_start": "2026-03-01T11:29:30+00:00",
        "session_end": "2026-03-01T11:30:00+00:00",
        "voltage_sample_count": 15_360,
        "heart_rate_mean": 62,
        "sampling_frequency_hz": 512.0,
        "classification": "sinus_rhythm",
        "algorithm_version": "2",
        "time_zone": _ZONE,
        "source_device_model": "Watch7,1",
    },
)
DEVICE: Final = SummaryExample(
    _SUNDAY, {"device_manufacturer": "Oura", "device_model": "Ring 4", "device_version": "2.9.24"}
)
CYCLE: Final = SummaryExample(
    date(2026, 2, 2),
    {
        "period_start": "2026-02-02",
        "period_end": "2026-02-06",
        "cycle_end": "2026-03-01",
        "is_predicted": False,
        "menstrual_flow": [
            {"date": "2026-02-02", "flow": "medium"},
            {"date": "2026-02-03", "flow": "heavy"},
            {"date": "2026-02-04", "flow": "medium"},
            {"date": "2026-02-05", "flow": "light"},
            {"date": "2026-02-06", "flow": "light"},
        ],
        "cervical_mucus": [
            {"date": "2026-02-10", "quality": "creamy"},
            {"date": "2026-02-14", "quality": "egg_white"},
        ],
        "ovulation_test": [
            {"date": "2026-02-14", "test_result": "negative"},
            {"date": "2026-02-15", "test_result": "luteinizing_hormone_surge"},
        ],
        "home_progesterone_test": [{"date": "2026-02-22", "test_result": "positive"}],
        "sexual_activity": [{"date": "2026-02-20", "protection_used": True}],
        "basal_body_temperature": [
            {"date": "2026-02-14", "value": 36.4},
            {"date": "2026-02-18", "value": 36.7},
        ],
    },
)
_SOUP: Final[JSONObject] = {
    "energy": {"unit": "kcal", "value": 386.0},
    "macros": {
        "carbs": 50.0,
        "protein": 22.0,
        "fats": {
            "saturated": 1.6,
            "monounsaturated": 5.8,
            "polyunsaturated": 2.4,
            "omega3": 0.4,
            "omega6": 2.0,
            "total": 11.0,
        },
        "alcohol": 0.0,
        "water": 310.0,
        "fibre": 14.0,
        "sugar": 7.0,
        "cholesterol": 0.0,
    },
    "micros": {"minerals": {"sodium": 690.0, "iron": 6.0}, "trace_elements": None, "vitamins": {"vitamin_c": 9.0}},
}
_BREAD: Final[JSONObject] = {
    "energy": {"unit": "kcal", "value": 182.0},
    "macros": {
        "carbs": 33.0,
        "protein": 8.0,
        "fats": {
            "saturated": 0.4,
            "monounsaturated": 0.6,
            "polyunsaturated": 0.6,
            "omega3": 0.1,
            "omega6": 0.5,
            "total": 2.0,
        },
        "alcohol": 0.0,
        "water": 30.0,
        "fibre": 6.0,
        "sugar": 3.0,
        "cholesterol": 0.0,
    },
    "micros": {"minerals": {"sodium": 360.0, "iron": 2.0}, "trace_elements": {"selenium": 8.0}, "vitamins": None},
}
LUNCH: Final = SummaryExample(
    _SUNDAY,
    {
        "timestamp": "2026-03-01T11:10:00+00:00",
        "name": "Lunch",
        "energy": {"unit": "kcal", "value": 568.0},
        "macros": {
            "carbs": 83.0,
            "protein": 30.0,
            "fats": {
                "saturated": 2.0,
                "monounsaturated": 6.4,
                "polyunsaturated": 3.0,
                "omega3": 0.5,
                "omega6": 2.5,
                "total": 13.0,
            },
            "alcohol": 0.0,
            "water": 340.0,
            "fibre": 20.0,
            "sugar": 10.0,
            "cholesterol": 0.0,
        },
        "micros": {
            "minerals": {"sodium": 1_050.0, "iron": 8.0},
            "trace_elements": {"selenium": 8.0},
            "vitamins": {"vitamin_c": 9.0},
        },
        "data": {"Lentil soup": _SOUP, "Wholegrain bread": _BREAD},
    },
)
