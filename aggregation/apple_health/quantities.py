"""Which HealthKit quantities become which resource, and the units they come in: a table, one row a quantity."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from healthsvc.kernel import units

Convert: TypeAlias = Callable[[float], float]

#: HealthKit writes the molar mass into the unit: `mmol<180.1558800000541>/L`. Only glucose's own is taken.
_GLUCOSE_MOLAR_UNIT = re.compile(r"mmol<180\.1[56]\d*>/L", re.ASCII)


def as_given(value: float) -> float:
    """The unit is the canonical one already."""
    return value


ENERGY_KILOCALORIES: Mapping[str, Convert] = MappingProxyType(
    {
        "kcal": as_given,
        "Cal": as_given,
        "cal": units.kilocalories_from_calories,
        "kJ": units.kilocalories_from_kilojoules,
        "J": units.kilocalories_from_joules,
    }
)
LENGTH_METRES: Mapping[str, Convert] = MappingProxyType(
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
MASS_KILOGRAMS: Mapping[str, Convert] = MappingProxyType(
    {
        "kg": as_given,
        "g": units.kilograms_from_grams,
        "lb": units.kilograms_from_pounds,
        "oz": units.kilograms_from_ounces,
        "st": units.kilograms_from_stones,
    }
)
TEMPERATURE_CELSIUS: Mapping[str, Convert] = MappingProxyType(
    {"degC": as_given, "degF": units.celsius_from_fahrenheit, "K": units.celsius_from_kelvin}
)
RATE_PER_MINUTE: Mapping[str, Convert] = MappingProxyType(
    {
        "count/min": as_given,
        "count/s": units.per_minute_from_per_second,
        "Hz": units.per_minute_from_per_second,
    }
)
COUNT: Mapping[str, Convert] = MappingProxyType({"count": as_given})
GLUCOSE_MMOL_PER_LITRE: Mapping[str, Convert] = MappingProxyType(
    {"mmol/L": as_given, "mg/dL": units.mmol_per_litre_glucose_from_mg_per_dl}
)
DURATION_SECONDS: Mapping[str, Convert] = MappingProxyType(
    {"s": as_given, "min": units.seconds_from_minutes, "hr": units.seconds_from_hours}
)


@dataclass(frozen=True, slots=True, eq=False)
class QuantityRule:
    """One HealthKit quantity, equal only to itself.

    resource, canonical_unit: where its samples go and in which unit. accepted: HKUnit text to conversion.
    lowest, highest: in the canonical unit, inclusive, what no living person or working device leaves; the
    resource catalogue may be narrower. interval: whether the end of the sample is kept.
    """

    resource: str
    canonical_unit: str
    accepted: Mapping[str, Convert]
    lowest: float
    highest: float
    interval: bool

    def converter(self, unit: str | None) -> Convert | None:
        """The conversion from HealthKit's unit text, or None where the unit is not taken."""
        if unit is None:
            return None
        return self.accepted.get(_GLUCOSE_MOLAR_UNIT.sub("mmol/L", unit))


QUANTITIES: Mapping[str, QuantityRule] = MappingProxyType(
    {
        "HKQuantityTypeIdentifierHeartRate": QuantityRule("heartrate", "bpm", RATE_PER_MINUTE, 1.0, 400.0, False),
        "HKQuantityTypeIdentifierStepCount": QuantityRule("steps", "count", COUNT, 0.0, 1_000_000.0, True),
        "HKQuantityTypeIdentifierBloodGlucose": QuantityRule(
            "glucose", "mmol/L", GLUCOSE_MMOL_PER_LITRE, 0.1, 150.0, False
        ),
        "HKQuantityTypeIdentifierBodyMass": QuantityRule("weight", "kg", MASS_KILOGRAMS, 0.2, 700.0, False),
        "HKQuantityTypeIdentifierBodyTemperature": QuantityRule(
            "body_temperature", "°C", TEMPERATURE_CELSIUS, 10.0, 50.0, True
        ),
    }
)


def parse_number(text: str | None) -> float | None:
    """A finite decimal number as XML carries it, or None; Python's own extras (underscores, digits of other
    scripts) are not numbers here."""
    if text is None or "_" in text or not text.isascii():
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
