"""Strava's words for activities and the sport slugs they stand for.

Source: `SportType` of Strava's API v3 reference. The later ones, which that enumeration lacks, come from its apps.
"""

from collections.abc import Mapping
from typing import Final

#: `sport_type` of an activity → sport slug. `other` stands where the table of sports has no row.
SPORTS: Final[Mapping[str, str]] = {
    "AlpineSki": "downhill_skiing",
    "BackcountrySki": "ski_touring",
    "Badminton": "badminton",
    "Basketball": "basketball",
    "Canoeing": "canoeing",
    "Cricket": "cricket",
    "Crossfit": "cross_training",
    "Dance": "dance",
    "EBikeRide": "cycling",
    "EMountainBikeRide": "mountain_biking",
    "Elliptical": "elliptical",
    "Golf": "golf",
    "GravelRide": "cycling",
    "Handcycle": "hand_cycling",
    "HighIntensityIntervalTraining": "high_intensity_interval_training",
    "Hike": "hiking",
    "IceSkate": "ice_skating",
    "InlineSkate": "inline_skating",
    "Kayaking": "kayaking",
    "Kitesurf": "water_sports",
    "MountainBikeRide": "mountain_biking",
    "NordicSki": "cross_country_skiing",
    "Padel": "other",
    "PhysicalTherapy": "recovery",
    "Pickleball": "pickleball",
    "Pilates": "pilates",
    "Racquetball": "racquetball",
    "Ride": "cycling",
    "RockClimbing": "climbing",
    "RollerSki": "skating",
    "Rowing": "rowing",
    "Run": "running",
    "Sail": "sailing",
    "Skateboard": "skating",
    "Snowboard": "snowboarding",
    "Snowshoe": "snowshoeing",
    "Soccer": "soccer",
    "Squash": "squash",
    "StairStepper": "stair_climbing",
    "StandUpPaddling": "stand_up_paddling",
    "Surfing": "surfing",
    "Swim": "swimming",
    "TableTennis": "table_tennis",
    "Tennis": "tennis",
    "TrailRun": "trail_running",
    "Velomobile": "cycling",
    "VirtualRide": "indoor_cycling",
    "VirtualRow": "rowing",
    "VirtualRun": "treadmill_running",
    "Volleyball": "volleyball",
    "Walk": "walking",
    "WeightTraining": "strength_training",
    "Wheelchair": "wheelchair_running",
    "Windsurf": "water_sports",
    "Workout": "other",
    "Yoga": "yoga",
}

#: What a sport becomes where `trainer` says that it was done on a machine.
_ON_A_TRAINER: Final[Mapping[str, str]] = {"cycling": "indoor_cycling", "running": "treadmill_running"}

#: Sports whose `cadence` counts one leg: strides a minute, where the API has steps.
STRIDING: Final = frozenset({"Run", "TrailRun", "VirtualRun", "Walk", "Hike"})


def sport_of(sport_type: str, *, trainer: bool) -> str:
    """The sport slug of one of Strava's words; `other` where there is none. Strava's list grows without notice."""
    sport = SPORTS.get(sport_type, "other")
    return _ON_A_TRAINER.get(sport, sport) if trainer else sport
