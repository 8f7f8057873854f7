"""Named exact conversions between units: every number that enters in a foreign unit passes one of these.

Each function takes a float or a float64 array and returns the same kind. Factors marked *exact* are so by
definition; sources: NIST Special Publication 811 (2008), appendix B, and the 1959 international yard and pound.
"""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Quantity = TypeVar("Quantity", float, NDArray[np.float64])

#: g/mol of glucose, C6H12O6, from IUPAC's abridged standard atomic weights: 6 x 12.011 + 12 x 1.008 + 6 x 15.999.
#: (HealthKit's own constant, 180.15588, lies 0.7 parts in a million below it; 18.018 and 18 are roundings.)
GLUCOSE_GRAMS_PER_MOLE = 180.156


def kilograms_from_pounds(pounds: Quantity) -> Quantity:
    """Avoirdupois pound = 0.45359237 kg, exact (1959 agreement)."""
    return pounds * 0.45359237


def kilograms_from_ounces(ounces: Quantity) -> Quantity:
    """Avoirdupois ounce = 1/16 pound = 0.028349523125 kg, exact."""
    return ounces * 0.028349523125


def kilograms_from_stones(stones: Quantity) -> Quantity:
    """Stone = 14 pounds = 6.35029318 kg, exact."""
    return stones * 6.35029318


def kilograms_from_grams(grams: Quantity) -> Quantity:
    """Gram = 1/1000 kg, exact (SI prefix)."""
    return grams / 1000.0


def celsius_from_fahrenheit(fahrenheit: Quantity) -> Quantity:
    """t/°C = (t/°F - 32) x 5/9, exact (SP 811, B.8)."""
    return (fahrenheit - 32.0) * 5.0 / 9.0


def celsius_from_kelvin(kelvin: Quantity) -> Quantity:
    """t/°C = T/K - 273.15, exact (SI)."""
    return kelvin - 273.15


def mmol_per_litre_glucose_from_mg_per_dl(mg_per_dl: Quantity) -> Quantity:
    """Glucose: 1 mmol/L = 18.0156 mg/dL, from `GLUCOSE_GRAMS_PER_MOLE`; for no other substance."""
    return mg_per_dl / (GLUCOSE_GRAMS_PER_MOLE / 10.0)


def percent_from_fraction(fraction: Quantity) -> Quantity:
    """0..1 to 0..100, exact."""
    return fraction * 100.0


def metres_from_miles(miles: Quantity) -> Quantity:
    """International mile = 1609.344 m, exact (1959 agreement)."""
    return miles * 1609.344


def metres_from_yards(yards: Quantity) -> Quantity:
    """International yard = 0.9144 m, exact (1959 agreement)."""
    return yards * 0.9144


def metres_from_feet(feet: Quantity) -> Quantity:
    """International foot = 0.3048 m, exact (1959 agreement)."""
    return feet * 0.3048


def metres_from_inches(inches: Quantity) -> Quantity:
    """International inch = 0.0254 m, exact (1959 agreement)."""
    return inches * 0.0254


def metres_from_kilometres(kilometres: Quantity) -> Quantity:
    """Kilometre = 1000 m, exact (SI prefix)."""
    return kilometres * 1000.0


def metres_from_centimetres(centimetres: Quantity) -> Quantity:
    """Centimetre = 1/100 m, exact (SI prefix)."""
    return centimetres / 100.0


def kilocalories_from_kilojoules(kilojoules: Quantity) -> Quantity:
    """Thermochemical kilocalorie = 4.184 kJ, exact (SP 811, B.8), the one used for food and exercise."""
    return kilojoules / 4.184


def kilocalories_from_joules(joules: Quantity) -> Quantity:
    """Thermochemical kilocalorie = 4184 J, exact (SP 811, B.8)."""
    return joules / 4184.0


def kilocalories_from_calories(calories: Quantity) -> Quantity:
    """Small calorie = 1/1000 kcal, exact. The "Calorie" of food labels is already a kilocalorie."""
    return calories / 1000.0


def seconds_from_minutes(minutes: Quantity) -> Quantity:
    """Minute = 60 s, exact."""
    return minutes * 60.0


def seconds_from_hours(hours: Quantity) -> Quantity:
    """Hour = 3600 s, exact."""
    return hours * 3600.0


def per_minute_from_per_second(per_second: Quantity) -> Quantity:
    """Hertz to events a minute: x 60, exact."""
    return per_second * 60.0
