"""Movement and energy: what was walked, climbed, burned and trained."""

from datetime import time
from typing import Final

from aggregation.catalogue import accepted
from aggregation.catalogue.kinds import AddsUp, SampleField, SampleFieldKind, SeriesKind, SeriesSpec, Typical
from aggregation.constants import SPARSE_BUCKET_SECONDS, WEEK_BUCKET_SECONDS

_WEEK_MINUTES: Final = 10_080.0

STEPS = SeriesSpec(
    slug="steps",
    path="steps",
    model="Steps",
    kind=SeriesKind.INTERVAL,
    unit="count",
    adds_up=AddsUp.SUM,
    lowest=0.0,
    highest=1_000_000.0,
    meaning="Steps walked or run between start and end.",
    definition="The API's ClientFacingStepsTimeseries; LOINC 55423-8.",
    typical=Typical(96.0),
)
DISTANCE = SeriesSpec(
    slug="distance",
    path="distance",
    model="Distance",
    kind=SeriesKind.INTERVAL,
    unit="m",
    adds_up=AddsUp.SUM,
    lowest=0.0,
    highest=1e7,
    meaning="Distance walked, run or wheeled between start and end, m.",
    definition="The API's ClientFacingDistanceTimeseries.",
    typical=Typical(74.0),
    accepted=accepted.METRES,
)
FLOORS_CLIMBED = SeriesSpec(
    slug="floors_climbed",
    path="floors_climbed",
    model="FloorsClimbed",
    kind=SeriesKind.INTERVAL,
    unit="count",
    adds_up=AddsUp.SUM,
    lowest=0.0,
    highest=100_000.0,
    meaning="Floors climbed between start and end.",
    definition="The API's ClientFacingFloorsClimbedTimeseries.",
    typical=Typical(2.0, span_seconds=600),
    bucket_seconds=WEEK_BUCKET_SECONDS,
)
CALORIES_ACTIVE = SeriesSpec(
    slug="calories_active",
    path="calories_active",
    model="CaloriesActive",
    kind=SeriesKind.INTERVAL,
    unit="kcal",
    adds_up=AddsUp.SUM,
    lowest=0.0,
    highest=50_000.0,
    meaning="Energy spent by activity between start and end, kcal.",
    definition="The API's ClientFacingCaloriesActiveTimeseries.",
    typical=Typical(6.2),
    accepted=accepted.KILOCALORIES,
)
CALORIES_BASAL = SeriesSpec(
    slug="calories_basal",
    path="calories_basal",
    model="CaloriesBasal",
    kind=SeriesKind.INTERVAL,
    unit="kcal",
    adds_up=AddsUp.SUM,
    lowest=0.0,
    highest=50_000.0,
    meaning="Energy spent at rest between start and end, kcal.",
    definition="The API's ClientFacingCaloriesBasalTimeseries.",
    typical=Typical(1.1),
    accepted=accepted.KILOCALORIES,
)
VO2_MAX = SeriesSpec(
    slug="vo2_max",
    path="vo2_max",
    model="Vo2Max",
    kind=SeriesKind.INTERVAL,
    unit="mL/kg/min",
    adds_up=AddsUp.MEAN,
    lowest=1.0,
    highest=120.0,
    meaning="Maximal oxygen uptake, mL a minute and kg of body weight.",
    definition="The API's ClientFacingVo2MaxTimeseries.",
    typical=Typical(42.5),
    accepted=accepted.OXYGEN_UPTAKE,
    bucket_seconds=SPARSE_BUCKET_SECONDS,
)
STAND_DURATION = SeriesSpec(
    slug="stand_duration",
    path="stand_duration",
    model="StandDuration",
    kind=SeriesKind.INTERVAL,
    unit="min",
    adds_up=AddsUp.SUM,
    lowest=0.0,
    highest=_WEEK_MINUTES,
    meaning="Time spent standing, minutes.",
    definition="The API's ClientFacingStandDurationSample.",
    typical=Typical(4.0, span_seconds=300),
    accepted=accepted.MINUTES,
)
STAND_HOUR = SeriesSpec(
    slug="stand_hour",
    path="stand_hour",
    model="StandHour",
    kind=SeriesKind.INTERVAL,
    unit="count",
    adds_up=AddsUp.COUNT,
    lowest=0.0,
    highest=24.0,
    meaning="An hour in which the person stood or was idle.",
    definition="The API's ClientFacingStandHourSample.",
    typical=Typical(1.0, "stood", 3_600, time(11)),
    bucket_seconds=WEEK_BUCKET_SECONDS,
    types=("stood", "idle"),
    type_required=True,
)
WHEELCHAIR_PUSH = SeriesSpec(
    slug="wheelchair_push",
    path="wheelchair_push",
    model="WheelchairPush",
    kind=SeriesKind.INTERVAL,
    unit="count",
    adds_up=AddsUp.SUM,
    lowest=0.0,
    highest=1_000_000.0,
    meaning="Pushes of a wheelchair between start and end.",
    definition="The API's ClientFacingWheelchairPushSample.",
    typical=Typical(48.0),
)
WORKOUT_DISTANCE = SeriesSpec(
    slug="workout_distance",
    path="workout_distance",
    model="WorkoutDistance",
    kind=SeriesKind.INTERVAL,
    unit="m",
    adds_up=AddsUp.SUM,
    lowest=0.0,
    highest=1e7,
    meaning="Distance covered in a workout between start and end, m.",
    definition="The API's ClientFacingWorkoutDistanceSample.",
    typical=Typical(170.0),
    accepted=accepted.METRES,
)
WORKOUT_DURATION = SeriesSpec(
    slug="workout_duration",
    path="workout_duration",
    model="WorkoutDuration",
    kind=SeriesKind.WORKOUT_DURATION,
    unit="min",
    adds_up=AddsUp.SUM,
    lowest=0.0,
    highest=_WEEK_MINUTES,
    meaning="Time spent training, minutes.",
    definition="The API's ClientFacingWorkoutDurationSample.",
    typical=Typical(42.0, span_seconds=2_520),
    accepted=accepted.MINUTES,
    bucket_seconds=WEEK_BUCKET_SECONDS,
    fields=(
        SampleField(
            "intensity", SampleFieldKind.TEXT, "How hard it was.", choices=("low", "medium", "high"), typical="medium"
        ),
    ),
)
WORKOUT_SWIMMING_STROKE = SeriesSpec(
    slug="workout_swimming_stroke",
    path="workout_swimming_stroke",
    model="WorkoutSwimmingStroke",
    kind=SeriesKind.INTERVAL,
    unit="count",
    adds_up=AddsUp.SUM,
    lowest=0.0,
    highest=100_000.0,
    meaning="Swimming strokes of a workout between start and end.",
    definition="The API's ClientFacingWorkoutSwimmingStrokeSample.",
    typical=Typical(32.0),
)

SERIES: Final = (
    STEPS,
    DISTANCE,
    FLOORS_CLIMBED,
    CALORIES_ACTIVE,
    CALORIES_BASAL,
    VO2_MAX,
    STAND_DURATION,
    STAND_HOUR,
    WHEELCHAIR_PUSH,
    WORKOUT_DISTANCE,
    WORKOUT_DURATION,
    WORKOUT_SWIMMING_STROKE,
)
