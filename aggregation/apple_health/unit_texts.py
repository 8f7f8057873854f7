"""HealthKit's unit texts (HKUnit) and their exact conversions: one table for each unit that the service keeps.

Factors are exact by definition unless marked; source: NIST Special Publication 811 (2008), appendix B.
"""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from healthsvc.kernel import units

Convert: TypeAlias = Callable[[float], float]
Accepted: TypeAlias = Mapping[str, Convert]

#: HealthKit writes the molar mass into the unit: `mmol<180.1558800000541>/L`. Only glucose's own is taken.
_GLUCOSE_MOLAR_UNIT = re.compile(r"mmol<180\.1[56]\d*>/L", re.ASCII)


def as_given(value: float) -> float:
    """The unit is the canonical one already."""
    return value


def _times(factor: float) -> Convert:
    return lambda value: value * factor


def _over(divisor: float) -> Convert:
    """Division, where it is the exact operation: a factor of 0.001 has no exact float."""
    return lambda value: value / divisor


def converter(accepted: Accepted, unit: str | None) -> Convert | None:
    """The conversion from HealthKit's unit text, or None where the unit is not taken."""
    if unit is None:
        return None
    found = accepted.get(unit)
    return found if found is not None or "<" not in unit else accepted.get(_GLUCOSE_MOLAR_UNIT.sub("mmol/L", unit))


COUNT: Accepted = MappingProxyType({"count": as_given})
INTERNATIONAL_UNITS: Accepted = MappingProxyType({"IU": as_given})
#: HealthKit's percent is a fraction: an oxygen saturation of 97 % is exported as `unit="%" value="0.97"`.
PERCENT: Accepted = MappingProxyType({"%": units.percent_from_fraction})
RATE_PER_MINUTE: Accepted = MappingProxyType(
    {
        "count/min": as_given,
        "count/s": units.per_minute_from_per_second,
        "Hz": units.per_minute_from_per_second,
    }
)

ENERGY_KILOCALORIES: Accepted = MappingProxyType(
    {
        "kcal": as_given,
        "Cal": as_given,
        "cal": units.kilocalories_from_calories,
        "kJ": units.kilocalories_from_kilojoules,
        "J": units.kilocalories_from_joules,
    }
)

LENGTH_METRES: Accepted = MappingProxyType(
    {
        "m": as_given,
        "km": units.metres_from_kilometres,
        "cm": units.metres_from_centimetres,
        "mi": units.metres_from_miles,
        "yd": units.metres_from_yards,
        "ft": units.metres_from_feet,
        "in": units.metres_from_inches,
    }
)
LENGTH_CENTIMETRES: Accepted = MappingProxyType(
    {
        "cm": as_given,
        "m": units.centimetres_from_metres,
        "mm": units.centimetres_from_millimetres,
        "in": units.centimetres_from_inches,
        "ft": units.centimetres_from_feet,
    }
)
SPEED_METRES_PER_SECOND: Accepted = MappingProxyType(
    {"m/s": as_given, "km/hr": _over(3.6), "mi/hr": _times(0.44704), "m/min": _over(60.0), "ft/s": _times(0.3048)}
)

MASS_KILOGRAMS: Accepted = MappingProxyType(
    {
        "kg": as_given,
        "g": units.kilograms_from_grams,
        "lb": units.kilograms_from_pounds,
        "oz": units.kilograms_from_ounces,
        "st": units.kilograms_from_stones,
    }
)
MASS_GRAMS: Accepted = MappingProxyType(
    {
        "g": as_given,
        "kg": units.grams_from_kilograms,
        "mg": units.grams_from_milligrams,
        "mcg": units.grams_from_micrograms,
        "oz": units.grams_from_ounces,
    }
)
MASS_MILLIGRAMS: Accepted = MappingProxyType({"mg": as_given, "g": _times(1e3), "kg": _times(1e6), "mcg": _over(1e3)})
MASS_MICROGRAMS: Accepted = MappingProxyType({"mcg": as_given, "mg": _times(1e3), "g": _times(1e6)})

VOLUME_MILLILITRES: Accepted = MappingProxyType(
    {
        "mL": as_given,
        "cL": units.millilitres_from_centilitres,
        "dL": _times(100.0),
        "L": units.millilitres_from_litres,
        "fl_oz_us": units.millilitres_from_us_fluid_ounces,
        "fl_oz_imp": units.millilitres_from_imperial_fluid_ounces,
        "cup_us": units.millilitres_from_us_cups,
        "cup_imp": _times(284.130625),
        "pt_us": units.millilitres_from_us_pints,
        "pt_imp": units.millilitres_from_imperial_pints,
    }
)
VOLUME_LITRES: Accepted = MappingProxyType({"L": as_given, "mL": units.litres_from_millilitres, "dL": _over(10.0)})
FLOW_LITRES_PER_MINUTE: Accepted = MappingProxyType(
    {
        "L/min": as_given,
        "L/s": units.litres_per_minute_from_litres_per_second,
        "mL/min": units.litres_from_millilitres,
    }
)
#: Millilitres a minute and kilogram, in the spellings of several iOS releases.
OXYGEN_UPTAKE: Accepted = MappingProxyType(
    dict.fromkeys(("mL/min·kg", "mL/(min·kg)", "mL/(kg*min)", "ml/(kg*min)", "mL/kg·min", "mL/kg/min"), as_given)
)

DURATION_SECONDS: Accepted = MappingProxyType(
    {"s": as_given, "min": units.seconds_from_minutes, "hr": units.seconds_from_hours}
)
DURATION_MINUTES: Accepted = MappingProxyType(
    {"min": as_given, "s": units.minutes_from_seconds, "hr": units.minutes_from_hours}
)
DURATION_MILLISECONDS: Accepted = MappingProxyType({"ms": as_given, "s": units.milliseconds_from_seconds})

TEMPERATURE_CELSIUS: Accepted = MappingProxyType(
    {"degC": as_given, "degF": units.celsius_from_fahrenheit, "K": units.celsius_from_kelvin}
)
#: A centimetre of water is 98.0665 Pa, a millimetre of mercury 133.322387415 Pa, both by convention.
PRESSURE_MMHG: Accepted = MappingProxyType(
    {"mmHg": as_given, "kPa": units.mmhg_from_kilopascals, "cmAq": _times(98.0665 / 133.322387415)}
)
GLUCOSE_MMOL_PER_LITRE: Accepted = MappingProxyType(
    {"mmol/L": as_given, "mg/dL": units.mmol_per_litre_glucose_from_mg_per_dl}
)
POWER_WATTS: Accepted = MappingProxyType({"W": as_given, "kW": _times(1e3)})
VOLTAGE_MILLIVOLTS: Accepted = MappingProxyType(
    {
        "mV": as_given,
        "V": units.millivolts_from_volts,
        **dict.fromkeys(("µV", "μV", "uV", "mcV"), units.millivolts_from_microvolts),
    }
)
