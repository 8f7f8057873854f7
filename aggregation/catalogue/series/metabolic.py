"""What is measured in blood and given against it: glucose, cholesterol, antibodies, insulin."""

from typing import Final

from aggregation.catalogue import accepted
from aggregation.catalogue.kinds import AddsUp, SampleField, SampleFieldKind, SeriesKind, SeriesSpec, Typical
from aggregation.constants import SPARSE_BUCKET_SECONDS, WEEK_BUCKET_SECONDS

GLUCOSE = SeriesSpec(
    slug="glucose",
    path="glucose",
    model="Glucose",
    kind=SeriesKind.DISCRETE,
    unit="mmol/L",
    adds_up=AddsUp.MEAN,
    lowest=0.1,
    highest=150.0,
    meaning="Glucose in blood or interstitial fluid.",
    definition="The API's ClientFacingGlucoseTimeseries; LOINC 15074-8.",
    typical=Typical(5.4),
    accepted=accepted.GLUCOSE,
)
CHOLESTEROL = SeriesSpec(
    slug="cholesterol",
    path="cholesterol",
    model="Cholesterol",
    kind=SeriesKind.DISCRETE,
    unit="mmol/L",
    adds_up=AddsUp.MEAN,
    lowest=0.0,
    highest=150.0,
    meaning="Lipids in blood, mmol/L; the type says which: ldl, hdl, total, triglycerides.",
    definition="The API's ClientFacingCholesterolTimeseries.",
    typical=Typical(2.8, "ldl"),
    accepted_by_type=accepted.LIPIDS,
    bucket_seconds=SPARSE_BUCKET_SECONDS,
    type_required=True,
    sub_paths=("ldl", "hdl", "total", "triglycerides"),
)
IGE = SeriesSpec(
    slug="ige",
    path="ige",
    model="Ige",
    kind=SeriesKind.DISCRETE,
    unit="FSU",
    adds_up=AddsUp.MEAN,
    lowest=0.0,
    highest=1e6,
    meaning="Immunoglobulin E, fluorescence signal units; the type is the allergen.",
    definition="The API's ClientFacingIGETimeseries.",
    typical=Typical(1_240.0, "egg_white"),
    bucket_seconds=SPARSE_BUCKET_SECONDS,
    type_required=True,
)
IGG = SeriesSpec(
    slug="igg",
    path="igg",
    model="Igg",
    kind=SeriesKind.DISCRETE,
    unit="FSU",
    adds_up=AddsUp.MEAN,
    lowest=0.0,
    highest=1e6,
    meaning="Immunoglobulin G, fluorescence signal units; the type is the allergen.",
    definition="The API's ClientFacingIGGTimeseries.",
    typical=Typical(3_860.0, "cow_milk"),
    bucket_seconds=SPARSE_BUCKET_SECONDS,
    type_required=True,
)
INSULIN_INJECTION = SeriesSpec(
    slug="insulin_injection",
    path="insulin_injection",
    model="InsulinInjection",
    kind=SeriesKind.INSULIN_INJECTION,
    unit="unit",
    adds_up=AddsUp.SUM,
    lowest=0.0,
    highest=1_000.0,
    meaning="Insulin that was injected or pumped, international units.",
    definition="The API's ClientFacingInsulinInjectionSample.",
    typical=Typical(6.0, "rapid_acting"),
    accepted=accepted.INSULIN_UNITS,
    bucket_seconds=WEEK_BUCKET_SECONDS,
    types=("rapid_acting", "long_acting"),
    type_required=True,
    fields=(
        SampleField(
            "delivery_mode", SampleFieldKind.TEXT, "Basal or bolus.", choices=("basal", "bolus"), typical="bolus"
        ),
        SampleField(
            "delivery_form",
            SampleFieldKind.TEXT,
            "At once or extended.",
            choices=("standard", "extended"),
            typical="standard",
        ),
        SampleField(
            "bolus_purpose",
            SampleFieldKind.TEXT,
            "What a bolus was for.",
            choices=("meal", "correction", "mixed", "unknown"),
            typical="meal",
        ),
    ),
)

SERIES: Final = (GLUCOSE, CHOLESTEROL, IGE, IGG, INSULIN_INJECTION)
