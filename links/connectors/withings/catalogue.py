"""Withings' numbers: which model is what kind of device, which category which sport, which measure which resource."""

from collections.abc import Mapping
from dataclasses import dataclass

_SCALES = frozenset({1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 18})
_CUFFS = frozenset(range(41, 49))
_WATCHES = frozenset({51, 52, 53, 54, 55, 58, 59, 90, 91, 92, 93, 94, 95, 1058})
_PHONES = frozenset({1051, 1052, 1053, 1054, 1057})
_APPS = frozenset({1055, 1056, 1059, 1060, 1062})


def source_type_of(model: int) -> str:
    """The API's source type of a device model. Sleep mats and thermometers have none and are `unknown`."""
    kinds = {"scale": _SCALES, "cuff": _CUFFS, "watch": _WATCHES, "phone": _PHONES, "app": _APPS}
    return next((kind for kind, models in kinds.items() if model in models), "unknown")


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure type. `resource` is the series it belongs to, None where only a body summary holds it."""

    name: str
    resource: str | None


BLOOD_PRESSURE = "blood_pressure"
#: `type` of a measure; units after x 10^unit: kg, %, bpm, mmHg, °C.
MEASURE_RESOURCES: Mapping[int, Measure] = {
    1: Measure("weight", "weight"),
    5: Measure("fat_free_mass", "lean_body_mass"),
    6: Measure("fat_ratio", "fat"),
    8: Measure("fat_mass", None),
    9: Measure("diastolic", BLOOD_PRESSURE),
    10: Measure("systolic", BLOOD_PRESSURE),
    11: Measure("pulse", "heartrate"),
    54: Measure("blood_oxygen", "blood_oxygen"),
    71: Measure("body_temperature", "body_temperature"),
    76: Measure("muscle_mass", None),
    77: Measure("hydration", None),
    88: Measure("bone_mass", None),
    170: Measure("visceral_fat", None),
}

#: `category` of a workout → sport slug. What is not here is `other`.
SPORTS: Mapping[int, str] = {
    1: "walking",
    2: "running",
    3: "hiking",
    4: "skating",
    5: "cycling",
    6: "cycling",
    7: "swimming",
    8: "surfing",
    9: "water_sports",
    10: "water_sports",
    11: "water_sports",
    12: "tennis",
    13: "table_tennis",
    14: "squash",
    15: "badminton",
    16: "weightlifting",
    17: "cross_training",
    18: "elliptical",
    19: "pilates",
    20: "basketball",
    21: "soccer",
    22: "american_football",
    23: "rugby",
    24: "volleyball",
    25: "water_polo",
    26: "horse_riding",
    27: "golf",
    28: "yoga",
    29: "dance",
    30: "boxing",
    31: "fencing",
    32: "wrestling",
    33: "martial_arts",
    34: "downhill_skiing",
    35: "snowboarding",
    187: "rowing",
    188: "cardio_dance",
    191: "baseball",
    192: "handball",
    193: "hockey",
    194: "hockey",
    195: "climbing",
    196: "ice_skating",
    306: "walking",
    307: "treadmill_running",
    308: "indoor_cycling",
    455: "stand_up_paddling",
    490: "volleyball",
    491: "stair_climbing",
    494: "kayaking",
    495: "canoeing",
    496: "sailing",
    497: "fishing",
    498: "trail_running",
    499: "snowshoeing",
    501: "archery",
    510: "pickleball",
    515: "wheelchair_running",
    516: "wheelchair_walking",
    517: "track_and_field",
    521: "triathlon",
    522: "diving",
    523: "mountain_biking",
    527: "hand_cycling",
    529: "ski_touring",
    530: "cross_country_skiing",
    532: "racquetball",
    546: "cross_training",
    547: "spinning",
    548: "cricket",
    550: "high_intensity_interval_training",
    551: "meditation",
    552: "stretching",
    553: "gardening",
    554: "housework",
    557: "lacrosse",
    560: "breathing",
    563: "walking",
    564: "bowling",
    566: "nordic_walking",
}
