"""Days of activity, and workouts."""

from typing import Final

from aggregation.catalogue.kinds import FieldKind, FieldSpec, SummarySpec
from aggregation.catalogue.summaries import examples
from aggregation.catalogue.summaries.fields import (
    BPM_MAXIMUM,
    TIME_ZONE,
    TIMEZONE_OFFSET,
    WEEK_SECONDS,
    WHEELCHAIR_USE,
    instant,
    number,
    text,
    whole,
)

#: Longer ones are no routes.
_POLYLINE_CHARACTERS: Final = 200_000

ACTIVITY = SummarySpec(
    slug="activity",
    path="activity",
    model="ClientFacingActivity",
    meaning="A day of activity.",
    definition="The API's ClientFacingActivity.",
    example=examples.DAY,
    has_raw=True,
    fields=(
        number("calories_total", "Energy spent in the day, basal included, kcal.", highest=50_000.0),
        number("calories_active", "Energy spent by activity, kcal.", highest=50_000.0),
        whole("steps", "Steps of the day.", highest=1_000_000.0),
        number("daily_movement", "The day's activity as metres walked (deprecated).", highest=1e7),
        number("distance", "Distance travelled, m.", highest=1e7),
        number("low", "Low-intensity activity, minutes.", highest=1_500.0),
        number("medium", "Medium-intensity activity, minutes.", highest=1_500.0),
        number("high", "High-intensity activity, minutes.", highest=1_500.0),
        whole("floors_climbed", "Floors climbed.", highest=100_000.0),
        TIME_ZONE,
        TIMEZONE_OFFSET,
        FieldSpec(
            "heart_rate",
            FieldKind.OBJECT,
            "The day's heart rate.",
            members=(
                number("avg_bpm", "Average, bpm.", highest=BPM_MAXIMUM),
                number("min_bpm", "Minimum, bpm.", highest=BPM_MAXIMUM),
                number("max_bpm", "Maximum, bpm.", highest=BPM_MAXIMUM),
                number("resting_bpm", "Resting, bpm.", highest=BPM_MAXIMUM),
                number("avg_walking_bpm", "Average while walking, bpm.", highest=BPM_MAXIMUM),
            ),
        ),
        WHEELCHAIR_USE,
        whole("wheelchair_push", "Pushes of a wheelchair.", highest=1_000_000.0),
    ),
)
WORKOUTS = SummarySpec(
    slug="workouts",
    path="workouts",
    model="ClientFacingWorkout",
    meaning="A workout.",
    definition="The API's ClientFacingWorkout.",
    example=examples.RUN,
    starts_field="time_start",
    ends_field="time_end",
    dated=False,
    has_raw=True,
    fields=(
        text("title", "The workout's title."),
        TIMEZONE_OFFSET,
        whole("average_hr", "Average heart rate, bpm.", highest=BPM_MAXIMUM),
        whole("max_hr", "Highest heart rate, bpm.", highest=BPM_MAXIMUM),
        number("distance", "Distance, m.", highest=1e7),
        instant("time_start", "Start, UTC."),
        instant("time_end", "End, UTC."),
        number("calories", "Energy, kcal.", highest=100_000.0),
        FieldSpec("sport", FieldKind.SPORT, "The sport.", required=True),
        FieldSpec("hr_zones", FieldKind.WHOLES, "Seconds in each of six heart-rate zones.", highest=WEEK_SECONDS),
        whole("moving_time", "Time in motion, seconds.", highest=WEEK_SECONDS),
        number("total_elevation_gain", "Climbed, m.", highest=100_000.0),
        number("elev_high", "Highest point, m.", -1_000.0, 10_000.0),
        number("elev_low", "Lowest point, m.", -1_000.0, 10_000.0),
        number("average_speed", "Average speed, m/s.", highest=1_000.0),
        number("max_speed", "Highest speed, m/s.", highest=1_000.0),
        number("average_watts", "Average power, W.", highest=5_000.0),
        number("device_watts", "Power as the device measured it, W.", highest=5_000.0),
        number("max_watts", "Highest power, W.", highest=10_000.0),
        number("weighted_average_watts", "Weighted average power, W.", highest=5_000.0),
        whole("steps", "Steps.", highest=1_000_000.0),
        FieldSpec(
            "map",
            FieldKind.OBJECT,
            "The route.",
            members=(
                text("polyline", "The route as an encoded polyline.", maximum_characters=_POLYLINE_CHARACTERS),
                text("summary_polyline", "The same, coarser.", maximum_characters=_POLYLINE_CHARACTERS),
            ),
        ),
        text("provider_id", "What the provider calls the workout.", required=True),
    ),
)
