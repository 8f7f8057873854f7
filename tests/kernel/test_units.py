import numpy as np
import pytest

from healthsvc.kernel import units


@pytest.mark.parametrize(
    ("convert", "given", "expected"),
    [
        (units.kilograms_from_pounds, 100.0, 45.359237),
        (units.kilograms_from_ounces, 16.0, 0.45359237),
        (units.kilograms_from_stones, 1.0, 6.35029318),
        (units.kilograms_from_grams, 72_500.0, 72.5),
        (units.celsius_from_fahrenheit, 98.6, 37.0),
        (units.celsius_from_fahrenheit, -40.0, -40.0),
        (units.celsius_from_kelvin, 273.15, 0.0),
        (units.mmol_per_litre_glucose_from_mg_per_dl, 180.156, 10.0),
        (units.percent_from_fraction, 0.25, 25.0),
        (units.metres_from_miles, 26.0, 41_842.944),
        (units.metres_from_yards, 100.0, 91.44),
        (units.metres_from_feet, 10.0, 3.048),
        (units.metres_from_inches, 100.0, 2.54),
        (units.metres_from_kilometres, 5.2, 5_200.0),
        (units.metres_from_centimetres, 4_500.0, 45.0),
        (units.kilocalories_from_kilojoules, 1_046.0, 250.0),
        (units.kilocalories_from_joules, 4_184.0, 1.0),
        (units.kilocalories_from_calories, 1_500.0, 1.5),
        (units.seconds_from_minutes, 31.5, 1_890.0),
        (units.seconds_from_hours, 1.25, 4_500.0),
        (units.per_minute_from_per_second, 1.25, 75.0),
        (units.mmol_per_litre_cholesterol_from_mg_per_dl, 193.35, 5.0),
        (units.mmol_per_litre_triglycerides_from_mg_per_dl, 177.14, 2.0),
        (units.celsius_difference_from_fahrenheit, 1.8, 1.0),
        (units.grams_from_kilograms, 0.25, 250.0),
        (units.grams_from_milligrams, 95.0, 0.095),
        (units.grams_from_micrograms, 400.0, 0.0004),
        (units.grams_from_ounces, 16.0, 453.59237),
        (units.metres_from_millimetres, 1_250.0, 1.25),
        (units.centimetres_from_metres, 0.82, 82.0),
        (units.centimetres_from_millimetres, 820.0, 82.0),
        (units.centimetres_from_inches, 100.0, 254.0),
        (units.centimetres_from_feet, 2.0, 60.96),
        (units.litres_from_millilitres, 4_250.0, 4.25),
        (units.millilitres_from_litres, 1.5, 1_500.0),
        (units.millilitres_from_centilitres, 33.0, 330.0),
        (units.millilitres_from_us_fluid_ounces, 128.0, 3_785.411784),
        (units.millilitres_from_imperial_fluid_ounces, 160.0, 4_546.09),
        (units.millilitres_from_us_cups, 16.0, 3_785.411784),
        (units.millilitres_from_us_pints, 8.0, 3_785.411784),
        (units.millilitres_from_imperial_pints, 8.0, 4_546.09),
        (units.litres_per_minute_from_litres_per_second, 8.5, 510.0),
        (units.mmhg_from_kilopascals, 13.3322387415, 100.0),
        (units.millivolts_from_volts, 0.0012, 1.2),
        (units.millivolts_from_microvolts, 512.0, 0.512),
        (units.minutes_from_seconds, 90.0, 1.5),
        (units.minutes_from_hours, 1.5, 90.0),
        (units.milliseconds_from_seconds, 0.045, 45.0),
    ],
)
def test_converts_floats_and_arrays_alike(convert, given: float, expected: float) -> None:  # type: ignore[no-untyped-def]
    assert convert(given) == pytest.approx(expected, rel=1e-15, abs=1e-13)
    array = convert(np.array([given, 0.0]))
    assert array.dtype == np.float64
    assert array[0] == convert(given)


def test_glucose_follows_the_molar_mass() -> None:
    assert pytest.approx(6 * 12.011 + 12 * 1.008 + 6 * 15.999) == units.GLUCOSE_GRAMS_PER_MOLE
    assert units.mmol_per_litre_glucose_from_mg_per_dl(99.0) == 99.0 / 18.0156
