"""FIT's words for sports and the sport slugs they stand for. Source: `sport` and `sub_sport` of FIT's profile."""

from collections.abc import Mapping
from typing import Final

#: `sport` → sport slug. `other` stands where the table of sports has no row.
SPORTS: Final[Mapping[str, str]] = {
    "alpine_skiing": "downhill_skiing",
    "american_football": "american_football",
    "baseball": "baseball",
    "basketball": "basketball",
    "boxing": "boxing",
    "cricket": "cricket",
    "cross_country_skiing": "cross_country_skiing",
    "cycling": "cycling",
    "dance": "dance",
    "disc_golf": "disc_sports",
    "diving": "diving",
    "driving": "motorsports",
    "e_biking": "cycling",
    "fishing": "fishing",
    "fitness_equipment": "other",
    "floor_climbing": "stair_climbing",
    "golf": "golf",
    "hiit": "high_intensity_interval_training",
    "hiking": "hiking",
    "hockey": "hockey",
    "horseback_riding": "horse_riding",
    "hunting": "hunting",
    "ice_skating": "ice_skating",
    "inline_skating": "inline_skating",
    "jump_rope": "jump_rope",
    "kayaking": "kayaking",
    "kitesurfing": "water_sports",
    "lacrosse": "lacrosse",
    "meditation": "meditation",
    "mixed_martial_arts": "martial_arts",
    "motorcycling": "motorsports",
    "mountaineering": "climbing",
    "multisport": "triathlon",
    "paddling": "paddle_sports",
    "racket": "other",
    "rafting": "water_sports",
    "rock_climbing": "climbing",
    "rowing": "rowing",
    "rugby": "rugby",
    "running": "running",
    "sailing": "sailing",
    "snowboarding": "snowboarding",
    "snowmobiling": "motorsports",
    "snowshoeing": "snowshoeing",
    "soccer": "soccer",
    "stand_up_paddleboarding": "stand_up_paddling",
    "surfing": "surfing",
    "swimming": "swimming",
    "tennis": "tennis",
    "training": "strength_training",
    "transition": "transition",
    "volleyball": "volleyball",
    "wakeboarding": "water_sports",
    "wakesurfing": "water_sports",
    "walking": "walking",
    "water_skiing": "water_sports",
    "wheelchair_push_run": "wheelchair_running",
    "wheelchair_push_walk": "wheelchair_walking",
    "windsurfing": "water_sports",
}

#: `sub_sport` that says more than its sport.
SUB_SPORTS: Final[Mapping[str, str]] = {
    "amrap": "high_intensity_interval_training",
    "backcountry": "ski_touring",
    "badminton": "badminton",
    "bouldering": "climbing",
    "breathing": "breathing",
    "cardio_training": "mixed_cardio",
    "downhill": "mountain_biking",
    "e_bike_mountain": "mountain_biking",
    "elliptical": "elliptical",
    "emom": "high_intensity_interval_training",
    "flexibility_training": "stretching",
    "hand_cycling": "hand_cycling",
    "hiit": "high_intensity_interval_training",
    "indoor_climbing": "climbing",
    "indoor_cycling": "indoor_cycling",
    "indoor_hand_cycling": "hand_cycling",
    "indoor_rowing": "rowing",
    "indoor_running": "treadmill_running",
    "lap_swimming": "pool_swimming",
    "mountain": "mountain_biking",
    "open_water": "open_water_swimming",
    "pickleball": "pickleball",
    "pilates": "pilates",
    "racquetball": "racquetball",
    "spin": "spinning",
    "squash": "squash",
    "stair_climbing": "stair_climbing",
    "strength_training": "strength_training",
    "tabata": "high_intensity_interval_training",
    "table_tennis": "table_tennis",
    "trail": "trail_running",
    "treadmill": "treadmill_running",
    "yoga": "yoga",
}

#: What `virtual_activity` and `downhill`, which belong to several sports, make of each.
_OF_A_SPORT: Final[Mapping[tuple[str, str], str]] = {
    ("cycling", "virtual_activity"): "indoor_cycling",
    ("running", "virtual_activity"): "treadmill_running",
    ("walking", "treadmill"): "walking",
    ("hiking", "trail"): "hiking",
    ("walking", "trail"): "walking",
    ("alpine_skiing", "downhill"): "downhill_skiing",
    ("alpine_skiing", "backcountry"): "ski_touring",
    ("snowboarding", "backcountry"): "snowboarding",
    ("snowboarding", "downhill"): "snowboarding",
    ("paddling", "lap_swimming"): "paddle_sports",
}

#: Sports whose cadence counts one leg: strides a minute, where the API has steps.
STRIDING: Final = frozenset({"running", "walking", "hiking", "snowshoeing"})


def sport_of(sport: str, sub_sport: str = "") -> str:
    """The sport slug of FIT's words; `other` where there is none. The profile grows with each of its releases."""
    pair = _OF_A_SPORT.get((sport, sub_sport))
    return pair or SUB_SPORTS.get(sub_sport) or SPORTS.get(sport, "other")
