"""Body measurements and temperatures."""

from datetime import time
from typing import Final

from aggregation.catalogue import accepted
from aggregation.catalogue.kinds import AddsUp, SampleField, SampleFieldKind, SeriesKind, SeriesSpec, Typical
from aggregation.constants import SPARSE_BUCKET_SECONDS

_SENSOR_LOCATION: Final = SampleField(
    "sensor_location",
    SampleFieldKind.TEXT,
    "Where on the body it was measured.",
    choices=(
        "armpit", "body", "ear", "finger", "gastrointestinal", "mouth", "rectum", "toe", "eardrum", "temporal_artery",
        "forehead", "wrist",
    ),
    typical="wrist",
)  # fmt: skip

WEIGHT = SeriesSpec(
    slug="weight",
    path="body_weight",
    model="BodyWeight",
    kind=SeriesKind.DISCRETE,
    unit="kg",
    adds_up=AddsUp.MEAN,
    lowest=0.2,
    highest=700.0,
    meaning="Body weight, kg.",
    definition="The API's ClientFacingBodyWeightTimeseries; LOINC 29463-7.",
    typical=Typical(72.4),
    accepted=accepted.KILOGRAMS,
    bucket_seconds=SPARSE_BUCKET_SECONDS,
)
FAT = SeriesSpec(
    slug="fat",
    path="body_fat",
    model="BodyFat",
    kind=SeriesKind.DISCRETE,
    unit="%",
    adds_up=AddsUp.MEAN,
    lowest=0.5,
    highest=95.0,
    meaning="Body fat, percent of the weight.",
    definition="The API's ClientFacingBodyFatTimeseries; LOINC 41982-0.",
    typical=Typical(18.6),
    accepted=accepted.PERCENT,
    bucket_seconds=SPARSE_BUCKET_SECONDS,
)
LEAN_BODY_MASS = SeriesSpec(
    slug="lean_body_mass",
    path="lean_body_mass",
    model="LeanBodyMass",
    kind=SeriesKind.INTERVAL,
    unit="kg",
    adds_up=AddsUp.MEAN,
    lowest=0.1,
    highest=400.0,
    meaning="Body weight without fat, kg.",
    definition="The API's ClientFacingLeanBodyMassSample.",
    typical=Typical(58.9),
    accepted=accepted.KILOGRAMS,
    bucket_seconds=SPARSE_BUCKET_SECONDS,
)
BODY_MASS_INDEX = SeriesSpec(
    slug="body_mass_index",
    path="body_mass_index",
    model="BodyMassIndex",
    kind=SeriesKind.INTERVAL,
    unit="index",
    adds_up=AddsUp.MEAN,
    lowest=3.0,
    highest=250.0,
    meaning="Weight by the square of the height, kg/m².",
    definition="The API's ClientFacingBodyMassIndexSample; LOINC 39156-5.",
    typical=Typical(23.1),
    accepted=accepted.BODY_MASS_INDEX,
    bucket_seconds=SPARSE_BUCKET_SECONDS,
)
WAIST_CIRCUMFERENCE = SeriesSpec(
    slug="waist_circumference",
    path="waist_circumference",
    model="WaistCircumference",
    kind=SeriesKind.INTERVAL,
    unit="cm",
    adds_up=AddsUp.MEAN,
    lowest=10.0,
    highest=400.0,
    meaning="Circumference of the waist, cm.",
    definition="The API's ClientFacingWaistCircumferenceSample.",
    typical=Typical(78.0),
    accepted=accepted.CENTIMETRES,
    bucket_seconds=SPARSE_BUCKET_SECONDS,
)
BODY_TEMPERATURE = SeriesSpec(
    slug="body_temperature",
    path="body_temperature",
    model="BodyTemperature",
    kind=SeriesKind.TEMPERATURE,
    unit="°C",
    adds_up=AddsUp.MEAN,
    lowest=10.0,
    highest=50.0,
    meaning="Temperature of the body or the skin, °C.",
    definition="The API's ClientFacingBodyTemperatureSample; LOINC 8310-5.",
    typical=Typical(36.6),
    accepted=accepted.CELSIUS,
    fields=(_SENSOR_LOCATION,),
)
BODY_TEMPERATURE_DELTA = SeriesSpec(
    slug="body_temperature_delta",
    path="body_temperature_delta",
    model="BodyTemperatureDelta",
    kind=SeriesKind.TEMPERATURE,
    unit="°C",
    adds_up=AddsUp.MEAN,
    lowest=-30.0,
    highest=30.0,
    meaning="Deviation of the temperature from the person's baseline, °C.",
    definition="The API's ClientFacingBodyTemperatureDeltaSample.",
    typical=Typical(-0.1),
    accepted=accepted.CELSIUS_DIFFERENCE,
    fields=(_SENSOR_LOCATION,),
)
BASAL_BODY_TEMPERATURE = SeriesSpec(
    slug="basal_body_temperature",
    path="basal_body_temperature",
    model="BasalBodyTemperature",
    kind=SeriesKind.INTERVAL,
    unit="°C",
    adds_up=AddsUp.MEAN,
    lowest=25.0,
    highest=45.0,
    meaning="Body temperature on waking, °C.",
    definition="The API's ClientFacingBasalBodyTemperatureSample.",
    typical=Typical(36.4, ends_at=time(5, 53)),
    accepted=accepted.CELSIUS,
    bucket_seconds=SPARSE_BUCKET_SECONDS,
)

SERIES: Final = (
    WEIGHT,
    FAT,
    LEAN_BODY_MASS,
    BODY_MASS_INDEX,
    WAIST_CIRCUMFERENCE,
    BODY_TEMPERATURE,
    BODY_TEMPERATURE_DELTA,
    BASAL_BODY_TEMPERATURE,
)
