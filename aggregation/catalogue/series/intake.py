"""What is eaten and drunk, and notes about it."""

from typing import Final

from aggregation.catalogue import accepted
from aggregation.catalogue.kinds import AddsUp, SampleField, SampleFieldKind, SeriesKind, SeriesSpec, Typical
from aggregation.constants import SPARSE_BUCKET_SECONDS

WATER = SeriesSpec(
    slug="water",
    path="water",
    model="Water",
    kind=SeriesKind.INTERVAL,
    unit="ml",
    adds_up=AddsUp.SUM,
    lowest=0.0,
    highest=50_000.0,
    meaning="Water drunk, mL.",
    definition="The API's ClientFacingWaterTimeseries.",
    typical=Typical(250.0),
    accepted=accepted.MILLILITRES,
    bucket_seconds=SPARSE_BUCKET_SECONDS,
)
CAFFEINE = SeriesSpec(
    slug="caffeine",
    path="caffeine",
    model="Caffeine",
    kind=SeriesKind.INTERVAL,
    unit="g",
    adds_up=AddsUp.SUM,
    lowest=0.0,
    highest=100.0,
    meaning="Caffeine taken in, g.",
    definition="The API's ClientFacingCaffeineTimeseries.",
    typical=Typical(0.08),
    accepted=accepted.GRAMS,
    bucket_seconds=SPARSE_BUCKET_SECONDS,
)
CARBOHYDRATES = SeriesSpec(
    slug="carbohydrates",
    path="carbohydrates",
    model="Carbohydrates",
    kind=SeriesKind.INTERVAL,
    unit="g",
    adds_up=AddsUp.SUM,
    lowest=0.0,
    highest=10_000.0,
    meaning="Carbohydrates eaten, g.",
    definition="The API's ClientFacingCarbohydratesSample.",
    typical=Typical(45.0),
    accepted=accepted.GRAMS,
    bucket_seconds=SPARSE_BUCKET_SECONDS,
)
NOTE = SeriesSpec(
    slug="note",
    path="note",
    model="Note",
    kind=SeriesKind.NOTE,
    unit="text",
    adds_up=AddsUp.COUNT,
    lowest=0.0,
    highest=0.0,
    meaning="What the person wrote down.",
    definition="The API's ClientFacingNoteSample.",
    typical=Typical(),
    bucket_seconds=SPARSE_BUCKET_SECONDS,
    fields=(
        SampleField(
            "content",
            SampleFieldKind.TEXT,
            "The note's text.",
            required=True,
            maximum_characters=5_000,
            is_text_value=True,
            typical="Walked for half an hour after lunch.",
        ),
        SampleField(
            "tags",
            SampleFieldKind.TEXTS,
            "What the note is about.",
            choices=("food", "exercise", "insulin_injection", "unspecified"),
            typical="food,exercise",
        ),
    ),
)

SERIES: Final = (WATER, CAFFEINE, CARBOHYDRATES, NOTE)
