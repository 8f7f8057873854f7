"""Units that samples may come in beside a resource's own, each with its exact conversion.

A unit is taken under the spellings of UCUM, HealthKit and plain writing. One that means several things (an ounce of
what country, mg/dL of what substance) is not taken where it is not clear which.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np

from aggregation.catalogue.kinds import Conversion
from healthsvc.kernel import units

Accepted: TypeAlias = Mapping[str, Conversion]


def _table(**conversions: tuple[Conversion, tuple[str, ...]]) -> Accepted:
    return MappingProxyType({unit: convert for convert, names in conversions.values() for unit in names})


RATES_PER_MINUTE: Final = _table(
    same=(np.copy, ("count/min", "/min", "beats/min")),
    second=(units.per_minute_from_per_second, ("count/s", "Hz", "/s")),
)
BREATHS_PER_MINUTE: Final = _table(
    same=(np.copy, ("count/min", "/min", "breaths/min")),
    second=(units.per_minute_from_per_second, ("count/s", "Hz", "/s")),
)
PERCENT: Final = _table(same=(np.copy, ("percent",)), fraction=(units.percent_from_fraction, ("fraction",)))
MILLISECONDS: Final = _table(same=(np.copy, ("ms",)), second=(units.milliseconds_from_seconds, ("s",)))
#: What samples of this type are shown with may be sent back.
STANDARD_DEVIATION: Final[Mapping[str, Accepted]] = MappingProxyType({"sdnn": _table(same=(np.copy, ("sdnn",)))})
CELSIUS: Final = _table(
    same=(np.copy, ("degC", "Cel", "C")),
    fahrenheit=(units.celsius_from_fahrenheit, ("°F", "degF", "[degF]", "F")),
    kelvin=(units.celsius_from_kelvin, ("K",)),
)
CELSIUS_DIFFERENCE: Final = _table(
    same=(np.copy, ("degC", "Cel", "C", "K")),
    fahrenheit=(units.celsius_difference_from_fahrenheit, ("°F", "degF", "[degF]", "F")),
)
KILOGRAMS: Final = _table(
    gram=(units.kilograms_from_grams, ("g",)),
    pound=(units.kilograms_from_pounds, ("lb", "lbs", "[lb_av]")),
    ounce=(units.kilograms_from_ounces, ("oz", "[oz_av]")),
    stone=(units.kilograms_from_stones, ("st",)),
)
GRAMS: Final = _table(
    kilogram=(units.grams_from_kilograms, ("kg",)),
    milligram=(units.grams_from_milligrams, ("mg",)),
    microgram=(units.grams_from_micrograms, ("mcg", "ug", "µg", "μg")),
    ounce=(units.grams_from_ounces, ("oz", "[oz_av]")),
)
METRES: Final = _table(
    kilometre=(units.metres_from_kilometres, ("km",)),
    centimetre=(units.metres_from_centimetres, ("cm",)),
    millimetre=(units.metres_from_millimetres, ("mm",)),
    mile=(units.metres_from_miles, ("mi",)),
    yard=(units.metres_from_yards, ("yd",)),
    foot=(units.metres_from_feet, ("ft",)),
    inch=(units.metres_from_inches, ("in",)),
)
CENTIMETRES: Final = _table(
    metre=(units.centimetres_from_metres, ("m",)),
    millimetre=(units.centimetres_from_millimetres, ("mm",)),
    inch=(units.centimetres_from_inches, ("in", "[in_i]")),
    foot=(units.centimetres_from_feet, ("ft", "[ft_i]")),
)
MILLILITRES: Final = _table(
    same=(np.copy, ("mL",)),
    litre=(units.millilitres_from_litres, ("L", "l")),
    centilitre=(units.millilitres_from_centilitres, ("cL", "cl")),
    us_ounce=(units.millilitres_from_us_fluid_ounces, ("fl_oz_us", "[foz_us]")),
    imperial_ounce=(units.millilitres_from_imperial_fluid_ounces, ("fl_oz_imp", "[foz_br]")),
    us_cup=(units.millilitres_from_us_cups, ("cup_us", "[cup_us]")),
    us_pint=(units.millilitres_from_us_pints, ("pt_us", "[pt_us]")),
    imperial_pint=(units.millilitres_from_imperial_pints, ("pt_imp", "[pt_br]")),
)
LITRES: Final = _table(same=(np.copy, ("l",)), millilitre=(units.litres_from_millilitres, ("mL", "ml")))
LITRES_PER_MINUTE: Final = _table(
    second=(units.litres_per_minute_from_litres_per_second, ("L/s", "l/s")),
    millilitre=(units.litres_from_millilitres, ("mL/min", "ml/min")),
)
KILOCALORIES: Final = _table(
    same=(np.copy, ("Cal",)),
    calorie=(units.kilocalories_from_calories, ("cal",)),
    kilojoule=(units.kilocalories_from_kilojoules, ("kJ",)),
    joule=(units.kilocalories_from_joules, ("J",)),
)
MINUTES: Final = _table(
    same=(np.copy, ("minute", "minutes")),
    second=(units.minutes_from_seconds, ("s",)),
    hour=(units.minutes_from_hours, ("h", "hr")),
)
MILLIVOLTS: Final = _table(
    volt=(units.millivolts_from_volts, ("V",)), microvolt=(units.millivolts_from_microvolts, ("mcV", "uV", "µV", "μV"))
)
MMHG: Final = _table(same=(np.copy, ("mm[Hg]",)), kilopascal=(units.mmhg_from_kilopascals, ("kPa",)))
OXYGEN_UPTAKE: Final = _table(same=(np.copy, ("ml/kg/min", "mL/min·kg", "mL/kg·min", "ml/(min.kg)", "mL/(kg.min)")))
INDEX: Final = _table(same=(np.copy, ("count",)))
HEART_RATE_DIFFERENCE: Final = _table(same=(np.copy, ("bpm", "count/min")))
BODY_MASS_INDEX: Final = _table(same=(np.copy, ("kg/m2", "kg/m²", "count")))
INSULIN_UNITS: Final = _table(same=(np.copy, ("IU", "U", "units", "[iU]")))
GLUCOSE: Final = _table(milligram=(units.mmol_per_litre_glucose_from_mg_per_dl, ("mg/dL", "mg/dl")))
_MG_PER_DL_CHOLESTEROL: Final = _table(milligram=(units.mmol_per_litre_cholesterol_from_mg_per_dl, ("mg/dL", "mg/dl")))
#: By the samples' type: triglycerides weigh more than cholesterol.
LIPIDS: Final[Mapping[str, Accepted]] = MappingProxyType(
    {
        "ldl": _MG_PER_DL_CHOLESTEROL,
        "hdl": _MG_PER_DL_CHOLESTEROL,
        "total": _MG_PER_DL_CHOLESTEROL,
        "triglycerides": _table(milligram=(units.mmol_per_litre_triglycerides_from_mg_per_dl, ("mg/dL", "mg/dl"))),
    }
)
