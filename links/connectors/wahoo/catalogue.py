"""Wahoo's numbers for kinds of workout, and the hosts it keeps files at. Source: its cloud API's documentation."""

from collections.abc import Mapping
from typing import Final

#: Where the files are that its answers name, beside the API's own host.
FILE_HOSTS: Final = frozenset({"cdn.wahooligan.com", "wahoo-cloud-web.s3.amazonaws.com"})

#: `workout_type_id` → sport slug. `other` stands where the table of sports has no row.
SPORTS: Final[Mapping[int, str]] = {
    0: "cycling",
    1: "running",
    2: "other",
    3: "track_and_field",
    4: "trail_running",
    5: "treadmill_running",
    6: "walking",
    7: "walking",
    8: "nordic_walking",
    9: "hiking",
    10: "climbing",
    11: "cycling",
    12: "indoor_cycling",
    13: "mountain_biking",
    14: "cycling",
    15: "cycling",
    16: "cycling",
    17: "motorsports",
    18: "other",
    19: "treadmill_running",
    20: "elliptical",
    21: "indoor_cycling",
    22: "rowing",
    23: "stair_climbing",
    25: "pool_swimming",
    26: "open_water_swimming",
    27: "snowboarding",
    28: "downhill_skiing",
    29: "downhill_skiing",
    30: "cross_country_skiing",
    31: "skating",
    32: "ice_skating",
    33: "inline_skating",
    34: "skating",
    35: "sailing",
    36: "water_sports",
    37: "canoeing",
    38: "kayaking",
    39: "rowing",
    40: "water_sports",
    41: "stand_up_paddling",
    42: "other",
    43: "mixed_cardio",
    44: "stair_climbing",
    45: "wheelchair_running",
    46: "golf",
    47: "other",
    49: "spinning",
    56: "walking",
    61: "indoor_cycling",
    62: "triathlon",
    63: "transition",
    64: "cycling",
    65: "other",
    66: "yoga",
    67: "running",
    68: "indoor_cycling",
    69: "mind_and_body",
    70: "hand_cycling",
    71: "treadmill_running",
    255: "other",
}


def sport_of(workout_type_id: int | None) -> str:
    """The sport slug of one of Wahoo's numbers; `other` where there is none."""
    return SPORTS.get(-1 if workout_type_id is None else workout_type_id, "other")
