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

#: mg/dL of one mmol/L as laboratories convert (US Cholesterol Education Program, ATP III). Cholesterol's is its molar
#: mass; triglycerides are a mixture, so theirs can only be a convention.
CHOLESTEROL_MG_PER_DL_PER_MMOL_PER_LITRE = 38.67
TRIGLYCERIDES_MG_PER_DL_PER_MMOL_PER_LITRE = 88.57


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


def grams_from_kilograms(kilograms: Quantity) -> Quantity:
    """Kilogram = 1000 g, exact (SI prefix)."""
    return kilograms * 1000.0


def grams_from_milligrams(milligrams: Quantity) -> Quantity:
    """Milligram = 1/1000 g, exact (SI prefix)."""
    return milligrams / 1000.0


def grams_from_micrograms(micrograms: Quantity) -> Quantity:
    """Microgram = 1/1 000 000 g, exact (SI prefix)."""
    return micrograms / 1_000_000.0


def grams_from_ounces(ounces: Quantity) -> Quantity:
    """Avoirdupois ounce = 28.349523125 g, exact."""
    return ounces * 28.349523125


def celsius_from_fahrenheit(fahrenheit: Quantity) -> Quantity:
    """t/°C = (t/°F - 32) x 5/9, exact (SP 811, B.8)."""
    return (fahrenheit - 32.0) * 5.0 / 9.0


def celsius_difference_from_fahrenheit(fahrenheit: Quantity) -> Quantity:
    """A difference of temperatures: 1 °F = 5/9 °C, exact (SP 811, B.8)."""
    return fahrenheit * 5.0 / 9.0


def celsius_from_kelvin(kelvin: Quantity) -> Quantity:
    """t/°C = T/K - 273.15, exact (SI)."""
    return kelvin - 273.15


def mmol_per_litre_glucose_from_mg_per_dl(mg_per_dl: Quantity) -> Quantity:
    """Glucose: 1 mmol/L = 18.0156 mg/dL, from `GLUCOSE_GRAMS_PER_MOLE`; for no other substance."""
    return mg_per_dl / (GLUCOSE_GRAMS_PER_MOLE / 10.0)


def mmol_per_litre_cholesterol_from_mg_per_dl(mg_per_dl: Quantity) -> Quantity:
    """Cholesterol (LDL, HDL, total): 1 mmol/L = 38.67 mg/dL; not for triglycerides."""
    return mg_per_dl / CHOLESTEROL_MG_PER_DL_PER_MMOL_PER_LITRE


def mmol_per_litre_triglycerides_from_mg_per_dl(mg_per_dl: Quantity) -> Quantity:
    """Triglycerides: 1 mmol/L = 88.57 mg/dL; not for cholesterol."""
    return mg_per_dl / TRIGLYCERIDES_MG_PER_DL_PER_MMOL_PER_LITRE


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


def metres_from_millimetres(millimetres: Quantity) -> Quantity:
    """Millimetre = 1/1000 m, exact (SI prefix)."""
    return millimetres / 1000.0


def centimetres_from_metres(metres: Quantity) -> Quantity:
    """Metre = 100 cm, exact (SI prefix)."""
    return metres * 100.0


def centimetres_from_millimetres(millimetres: Quantity) -> Quantity:
    """Millimetre = 1/10 cm, exact (SI prefix)."""
    return millimetres / 10.0


def centimetres_from_inches(inches: Quantity) -> Quantity:
    """International inch = 2.54 cm, exact (1959 agreement)."""
    return inches * 2.54


def centimetres_from_feet(feet: Quantity) -> Quantity:
    """International foot = 30.48 cm, exact (1959 agreement)."""
    return feet * 30.48


def litres_from_millilitres(millilitres: Quantity) -> Quantity:
    """Millilitre = 1/1000 L, exact (SI prefix)."""
    return millilitres / 1000.0


def millilitres_from_litres(litres: Quantity) -> Quantity:
    """Litre = 1000 mL, exact (SI prefix)."""
    return litres * 1000.0


def millilitres_from_centilitres(centilitres: Quantity) -> Quantity:
    """Centilitre = 10 mL, exact (SI prefix)."""
    return centilitres * 10.0


def millilitres_from_us_fluid_ounces(ounces: Quantity) -> Quantity:
    """US fluid ounce = 1/128 US gallon of 231 cubic inches = 29.5735295625 mL, exact."""
    return ounces * 29.5735295625


def millilitres_from_imperial_fluid_ounces(ounces: Quantity) -> Quantity:
    """Imperial fluid ounce = 1/160 gallon of 4.54609 L = 28.4130625 mL, exact."""
    return ounces * 28.4130625


def millilitres_from_us_cups(cups: Quantity) -> Quantity:
    """US customary cup = 8 US fluid ounces = 236.5882365 mL, exact."""
    return cups * 236.5882365


def millilitres_from_us_pints(pints: Quantity) -> Quantity:
    """US liquid pint = 16 US fluid ounces = 473.176473 mL, exact."""
    return pints * 473.176473


def millilitres_from_imperial_pints(pints: Quantity) -> Quantity:
    """Imperial pint = 20 imperial fluid ounces = 568.26125 mL, exact."""
    return pints * 568.26125


def litres_per_minute_from_litres_per_second(per_second: Quantity) -> Quantity:
    """L/s to L/min: x 60, exact."""
    return per_second * 60.0


def mmhg_from_kilopascals(kilopascals: Quantity) -> Quantity:
    """Conventional millimetre of mercury = 133.322387415 Pa, exact (SP 811, B.8 rounds it)."""
    return kilopascals * 1000.0 / 133.322387415


def millivolts_from_volts(volts: Quantity) -> Quantity:
    """Volt = 1000 mV, exact (SI prefix)."""
    return volts * 1000.0


def millivolts_from_microvolts(microvolts: Quantity) -> Quantity:
    """Microvolt = 1/1000 mV, exact (SI prefix)."""
    return microvolts / 1000.0


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


def minutes_from_seconds(seconds: Quantity) -> Quantity:
    """Second = 1/60 min, exact."""
    return seconds / 60.0


def minutes_from_hours(hours: Quantity) -> Quantity:
    """Hour = 60 min, exact."""
    return hours * 60.0


def milliseconds_from_seconds(seconds: Quantity) -> Quantity:
    """Second = 1000 ms, exact (SI prefix)."""
    return seconds * 1000.0


def metres_per_second_from_kilometres_per_hour(kilometres_per_hour: Quantity) -> Quantity:
    """1 km/h = 1000 m / 3600 s, exact."""
    return kilometres_per_hour * 1000.0 / 3600.0


def per_minute_from_per_second(per_second: Quantity) -> Quantity:
    """Hertz to events a minute: x 60, exact."""
    return per_second * 60.0
