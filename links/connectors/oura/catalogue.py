"""Oura's words for workouts and the sport slugs they stand for."""

from collections.abc import Mapping

#: `activity` of a workout that is a sport slug as it stands.
_SAME = frozenset(
    (
        "badminton",
        "baseball",
        "basketball",
        "bowling",
        "boxing",
        "climbing",
        "cricket",
        "cycling",
        "diving",
        "elliptical",
        "fencing",
        "fishing",
        "golf",
        "gymnastics",
        "handball",
        "hiking",
        "hockey",
        "lacrosse",
        "meditation",
        "pilates",
        "rowing",
        "rugby",
        "running",
        "sailing",
        "skating",
        "snowboarding",
        "soccer",
        "softball",
        "squash",
        "strength_training",
        "stretching",
        "surfing",
        "swimming",
        "tennis",
        "triathlon",
        "volleyball",
        "walking",
        "weightlifting",
        "wrestling",
        "yoga",
    )
)

#: `activity` of a workout → sport slug, where the two words differ.
_OTHER_WORDS: Mapping[str, str] = {
    "HIIT": "high_intensity_interval_training",
    "americanFootball": "american_football",
    "coreExercise": "core_training",
    "crossCountrySkiing": "cross_country_skiing",
    "crossTraining": "cross_training",
    "dancing": "dance",
    "downhillSkiing": "downhill_skiing",
    "hiit": "high_intensity_interval_training",
    "horsebackRiding": "horse_riding",
    "houseWork": "housework",
    "indoorCycling": "indoor_cycling",
    "martialArts": "martial_arts",
    "mountainBiking": "mountain_biking",
    "nordicWalking": "nordic_walking",
    "stairExercise": "stairs",
    "strengthTraining": "strength_training",
    "tableTennis": "table_tennis",
    "treadmill": "treadmill_running",
    "yardwork": "gardening",
}


def sport_of(activity: str) -> str:
    """The sport slug of one of Oura's words; `other` where there is none. Oura's list grows without notice."""
    return activity if activity in _SAME else _OTHER_WORDS.get(activity, "other")
