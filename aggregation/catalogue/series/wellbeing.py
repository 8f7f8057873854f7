"""Mind, light and single happenings: stress, mindfulness, exposure, falls, hand washing, sleep stages."""

from typing import Final

from aggregation.catalogue import accepted
from aggregation.catalogue.kinds import AddsUp, SeriesKind, SeriesSpec, Typical
from aggregation.constants import SPARSE_BUCKET_SECONDS

_WEEK_MINUTES: Final = 10_080.0

STRESS_LEVEL = SeriesSpec(
    slug="stress_level",
    path="stress_level",
    model="StressLevel",
    kind=SeriesKind.DISCRETE,
    unit="%",
    adds_up=AddsUp.MEAN,
    lowest=0.0,
    highest=100.0,
    meaning="Stress as the provider rates it, 0 to 100.",
    definition="The API's ClientFacingStressLevelTimeseries.",
    typical=Typical(32.0),
    accepted=accepted.PERCENT,
)
MINDFULNESS_MINUTES = SeriesSpec(
    slug="mindfulness_minutes",
    path="mindfulness_minutes",
    model="MindfulnessMinutes",
    kind=SeriesKind.INTERVAL,
    unit="min",
    adds_up=AddsUp.SUM,
    lowest=0.0,
    highest=_WEEK_MINUTES,
    meaning="Time spent in meditation or another exercise of the mind, minutes.",
    definition="The API's ClientFacingMindfulnessMinutesTimeseries.",
    typical=Typical(10.0, span_seconds=600),
    accepted=accepted.MINUTES,
    bucket_seconds=SPARSE_BUCKET_SECONDS,
)
DAYLIGHT_EXPOSURE = SeriesSpec(
    slug="daylight_exposure",
    path="daylight_exposure",
    model="DaylightExposure",
    kind=SeriesKind.INTERVAL,
    unit="min",
    adds_up=AddsUp.SUM,
    lowest=0.0,
    highest=_WEEK_MINUTES,
    meaning="Time spent in daylight, minutes.",
    definition="The API's ClientFacingDaylightExposureSample.",
    typical=Typical(25.0, span_seconds=1_800),
    accepted=accepted.MINUTES,
)
UV_EXPOSURE = SeriesSpec(
    slug="uv_exposure",
    path="uv_exposure",
    model="UvExposure",
    kind=SeriesKind.INTERVAL,
    unit="index",
    adds_up=AddsUp.MEAN,
    lowest=0.0,
    highest=60.0,
    meaning="Ultraviolet radiation the person was exposed to, UV index.",
    definition="The API's ClientFacingUVExposureSample.",
    typical=Typical(3.0, span_seconds=1_800),
    accepted=accepted.INDEX,
    bucket_seconds=SPARSE_BUCKET_SECONDS,
)
FALL = SeriesSpec(
    slug="fall",
    path="fall",
    model="Fall",
    kind=SeriesKind.INTERVAL,
    unit="count",
    adds_up=AddsUp.SUM,
    lowest=0.0,
    highest=1_000.0,
    meaning="Falls between start and end.",
    definition="The API's ClientFacingFallSample.",
    typical=Typical(1.0),
    bucket_seconds=SPARSE_BUCKET_SECONDS,
)
HANDWASHING = SeriesSpec(
    slug="handwashing",
    path="handwashing",
    model="Handwashing",
    kind=SeriesKind.INTERVAL,
    unit="count",
    adds_up=AddsUp.SUM,
    lowest=0.0,
    highest=1_000.0,
    meaning="Washings of the hands between start and end.",
    definition="The API's ClientFacingHandwashingSample.",
    typical=Typical(1.0),
    bucket_seconds=SPARSE_BUCKET_SECONDS,
)
HYPNOGRAM = SeriesSpec(
    slug="hypnogram",
    path="hypnogram",
    model="Hypnogram",
    kind=SeriesKind.INTERVAL,
    unit="stage",
    adds_up=AddsUp.COUNT,
    lowest=-1.0,
    highest=5.0,
    meaning="Stages of sleep: 1 deep, 2 light, 3 REM, 4 awake, 5 entered by hand, -1 unknown.",
    definition="The API's ClientFacingHypnogramTimeseries.",
    typical=Typical(2.0),
    is_older=True,
)

SERIES: Final = (
    STRESS_LEVEL,
    MINDFULNESS_MINUTES,
    DAYLIGHT_EXPOSURE,
    UV_EXPOSURE,
    FALL,
    HANDWASHING,
    HYPNOGRAM,
)
