"""Which HealthKit quantities become which timeseries, and the units they come in: a table, one row a quantity.

Ranges are the resource catalogue's. A quantity without a row has no resource: see `left_out`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from aggregation.apple_health import unit_texts as texts
from aggregation.apple_health.unit_texts import Accepted, Convert, converter
from aggregation.catalogue import HEARTRATE, PROFILE, SERIES_BY_SLUG, FieldSpec, SampleField, SeriesSpec

PREFIX = "HKQuantityTypeIdentifier"


@dataclass(frozen=True, slots=True, eq=False)
class QuantityRule:
    """One HealthKit quantity, equal only to itself.

    resource: the timeseries it becomes. accepted: HKUnit text to conversion into the resource's unit. label: the
    samples' `type`. sensor_location: where on the body, for temperatures that are always taken there.
    """

    resource: str
    accepted: Accepted
    label: str | None = None
    sensor_location: str | None = None

    def converter(self, unit: str | None) -> Convert | None:
        """The conversion from HealthKit's unit text, or None where the unit is not taken."""
        return converter(self.accepted, unit)


def _workout_distance(label: str) -> QuantityRule:
    return QuantityRule("workout_distance", texts.LENGTH_METRES, label=label)


_BY_NAME: dict[str, QuantityRule] = {
    # Activity. Walking and wheelchairs are the day's distance; the other kinds are only measured in workouts.
    "ActiveEnergyBurned": QuantityRule("calories_active", texts.ENERGY_KILOCALORIES),
    "AppleExerciseTime": QuantityRule("workout_duration", texts.DURATION_MINUTES),
    "AppleStandTime": QuantityRule("stand_duration", texts.DURATION_MINUTES),
    "BasalEnergyBurned": QuantityRule("calories_basal", texts.ENERGY_KILOCALORIES),
    "DistanceWalkingRunning": QuantityRule("distance", texts.LENGTH_METRES),
    "DistanceWheelchair": QuantityRule("distance", texts.LENGTH_METRES, label="wheelchair"),
    "DistanceCycling": _workout_distance("cycling"),
    "DistanceSwimming": _workout_distance("swimming"),
    "DistanceDownhillSnowSports": _workout_distance("downhill_snow_sports"),
    "DistanceCrossCountrySkiing": _workout_distance("cross_country_skiing"),
    "DistancePaddleSports": _workout_distance("paddle_sports"),
    "DistanceRowing": _workout_distance("rowing"),
    "DistanceSkatingSports": _workout_distance("skating_sports"),
    "FlightsClimbed": QuantityRule("floors_climbed", texts.COUNT),
    "PushCount": QuantityRule("wheelchair_push", texts.COUNT),
    "StepCount": QuantityRule("steps", texts.COUNT),
    "SwimmingStrokeCount": QuantityRule("workout_swimming_stroke", texts.COUNT),
    "TimeInDaylight": QuantityRule("daylight_exposure", texts.DURATION_MINUTES),
    "UVExposure": QuantityRule("uv_exposure", texts.COUNT),
    "NumberOfTimesFallen": QuantityRule("fall", texts.COUNT),
    "VO2Max": QuantityRule("vo2_max", texts.OXYGEN_UPTAKE),
    # Heart.
    "HeartRate": QuantityRule("heartrate", texts.RATE_PER_MINUTE),
    #: The resource's usual measure is RMSSD; this is the other one, and its type says so.
    "HeartRateVariabilitySDNN": QuantityRule("hrv", texts.DURATION_MILLISECONDS, label="sdnn"),
    "HeartRateRecoveryOneMinute": QuantityRule("heart_rate_recovery_one_minute", texts.RATE_PER_MINUTE),
    "AtrialFibrillationBurden": QuantityRule("afib_burden", texts.PERCENT),
    # Body and vital signs.
    "BodyMass": QuantityRule("weight", texts.MASS_KILOGRAMS),
    "BodyFatPercentage": QuantityRule("fat", texts.PERCENT),
    "BodyMassIndex": QuantityRule("body_mass_index", texts.COUNT),
    "LeanBodyMass": QuantityRule("lean_body_mass", texts.MASS_KILOGRAMS),
    "WaistCircumference": QuantityRule("waist_circumference", texts.LENGTH_CENTIMETRES),
    "BloodGlucose": QuantityRule("glucose", texts.GLUCOSE_MMOL_PER_LITRE),
    "BodyTemperature": QuantityRule("body_temperature", texts.TEMPERATURE_CELSIUS),
    "AppleSleepingWristTemperature": QuantityRule(
        "body_temperature", texts.TEMPERATURE_CELSIUS, sensor_location="wrist"
    ),
    "BasalBodyTemperature": QuantityRule("basal_body_temperature", texts.TEMPERATURE_CELSIUS),
    "OxygenSaturation": QuantityRule("blood_oxygen", texts.PERCENT),
    "RespiratoryRate": QuantityRule("respiratory_rate", texts.RATE_PER_MINUTE),
    "InsulinDelivery": QuantityRule("insulin_injection", texts.INTERNATIONAL_UNITS),
    # Breathing.
    "AppleSleepingBreathingDisturbances": QuantityRule("sleep_breathing_disturbance", texts.COUNT),
    "ForcedExpiratoryVolume1": QuantityRule("forced_expiratory_volume_1", texts.VOLUME_LITRES),
    "ForcedVitalCapacity": QuantityRule("forced_vital_capacity", texts.VOLUME_LITRES),
    "PeakExpiratoryFlowRate": QuantityRule("peak_expiratory_flow_rate", texts.FLOW_LITRES_PER_MINUTE),
    "InhalerUsage": QuantityRule("inhaler_usage", texts.COUNT),
    # Food and drink; the other nutrients are in `nutrients`.
    "DietaryCaffeine": QuantityRule("caffeine", texts.MASS_GRAMS),
    "DietaryCarbohydrates": QuantityRule("carbohydrates", texts.MASS_GRAMS),
    "DietaryWater": QuantityRule("water", texts.VOLUME_MILLILITRES),
}
QUANTITIES: Mapping[str, QuantityRule] = MappingProxyType({PREFIX + name: rule for name, rule in _BY_NAME.items()})


@dataclass(frozen=True, slots=True)
class Measure:
    """A quantity that becomes no sample by itself: its unit and plausible range."""

    accepted: Accepted
    lowest: float
    highest: float


def _measure(accepted: Accepted, spec: FieldSpec | SampleField | SeriesSpec) -> Measure:
    return Measure(accepted, spec.lowest, spec.highest)


_PROFILE = {field.name: field for field in PROFILE.fields}
_PRESSURE = {field.name: field for field in SERIES_BY_SLUG["blood_pressure"].fields}
#: What only summaries have a field for, the profile's height and the day's heart rates, and the halves of a pressure.
SUMMARY_MEASURES: Mapping[str, Measure] = MappingProxyType(
    {
        PREFIX + "Height": _measure(texts.LENGTH_CENTIMETRES, _PROFILE["height"]),
        PREFIX + "RestingHeartRate": _measure(texts.RATE_PER_MINUTE, HEARTRATE),
        PREFIX + "WalkingHeartRateAverage": _measure(texts.RATE_PER_MINUTE, HEARTRATE),
        PREFIX + "BloodPressureSystolic": _measure(texts.PRESSURE_MMHG, _PRESSURE["systolic"]),
        PREFIX + "BloodPressureDiastolic": _measure(texts.PRESSURE_MMHG, _PRESSURE["diastolic"]),
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
