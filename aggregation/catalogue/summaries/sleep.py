"""Nights and naps, and the stages in them."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Final

from aggregation.catalogue.kinds import FieldKind, FieldSpec, ParentSpec, SummarySpec
from aggregation.catalogue.summaries import examples
from aggregation.catalogue.summaries.fields import (
    BPM_MAXIMUM,
    TIME_ZONE,
    TIMEZONE_OFFSET,
    WEEK_SECONDS,
    instant,
    number,
    seconds,
    text,
    whole,
)
from healthsvc.kernel.typing import JSONValue

#: Unknown, deep, light, REM, awake, entered by hand.
SLEEP_STAGES: Final = frozenset({-1, 1, 2, 3, 4, 5})
#: Half a minute a stage, for more than a day.
_STAGES_MAXIMUM: Final = 4_000


def _stages_fit(fields: Mapping[str, JSONValue]) -> bool:
    """As many starts as ends as stages, all in order of time, and no stage that ends before it began."""
    starts, ends, stages = (_wholes(fields, name) for name in _STAGE_FIELDS)
    return (
        len(starts) == len(ends) == len(stages)
        and all(stage in SLEEP_STAGES for stage in stages)
        and all(start <= end for start, end in zip(starts, ends, strict=True))
        and all(earlier <= later for times in (starts, ends) for earlier, later in pairwise(times))
    )


_STAGE_FIELDS: Final = ("stage_start_offset_second", "stage_end_offset_second", "stage_type")


def _wholes(fields: Mapping[str, JSONValue], name: str) -> list[int]:
    listed = fields.get(name)
    return [value for value in listed if isinstance(value, int)] if isinstance(listed, list) else []


def _stages(name: str, meaning: str, lowest: float, highest: float) -> FieldSpec:
    return FieldSpec(
        name,
        FieldKind.WHOLES,
        meaning,
        required=True,
        lowest=lowest,
        highest=highest,
        maximum_items=_STAGES_MAXIMUM,
    )


SLEEP = SummarySpec(
    slug="sleep",
    path="sleep",
    model="ClientFacingSleep",
    meaning="A night or a nap.",
    definition="The API's ClientFacingSleep.",
    example=examples.NIGHT,
    starts_field="bedtime_start",
    ends_field="bedtime_stop",
    has_raw=True,
    fields=(
        instant("bedtime_start", "When the sleep period began, UTC."),
        instant("bedtime_stop", "When the sleep period ended, UTC."),
        text(
            "type",
            "`long_sleep` is 3 hours and more.",
            "long_sleep",
            "short_sleep",
            "acknowledged_nap",
            "unknown",
            required=True,
        ),
        text("state", "Whether the provider may revise it.", "tentative", "confirmed"),
        TIMEZONE_OFFSET,
        seconds("duration", "From bedtime_start to bedtime_stop"),
        seconds("total", "Asleep"),
        seconds("awake", "Awake"),
        seconds("light", "Light sleep"),
        seconds("rem", "REM sleep"),
        seconds("deep", "Deep sleep"),
        whole("score", "How well the user slept, 1 to 100.", highest=100.0),
        whole("recovery_readiness_score", "The provider's recovery or readiness, 0 to 100.", highest=100.0),
        whole("hr_lowest", "Lowest heart rate (5-minute average), bpm.", highest=BPM_MAXIMUM),
        whole("hr_average", "Average heart rate, bpm.", highest=BPM_MAXIMUM),
        whole("hr_resting", "Resting heart rate, bpm.", highest=BPM_MAXIMUM),
        number("efficiency", "Share of the period spent asleep, percent.", highest=100.0),
        whole("latency", "From bedtime_start to persistent sleep, seconds.", highest=WEEK_SECONDS),
        number("temperature_delta", "Skin temperature against the long-term average, °C.", -30.0, 30.0),
        number("skin_temperature", "Skin temperature, °C.", 10.0, 50.0),
        number("hr_dip", "Fall of the heart rate against waking, percent.", -100.0, 100.0),
        number("average_hrv", "Average heart rate variability (RMSSD), ms.", highest=1_000.0),
        number("respiratory_rate", "Average breaths a minute.", highest=120.0),
    ),
)
SLEEP_CYCLE = SummarySpec(
    slug="sleep_cycle",
    path="sleep_cycle",
    model="ClientFacingSleepCycle",
    meaning="The stages of a night or a nap.",
    definition="The API's ClientFacingSleepCycle.",
    example=examples.STAGES,
    starts_field="session_start",
    ends_field="session_end",
    dated=False,
    has_calendar_date=False,
    sources_flat=True,
    parent=ParentSpec("sleep", "sleep_id", "sleep_external_id"),
    rule=_stages_fit,
    fields=(
        text("sleep_id", "The sleep whose stages these are, a UUID.", required=True, maximum_characters=36),
        instant("session_start", "When the sleep session began, UTC."),
        instant("session_end", "When the sleep session ended, UTC."),
        _stages("stage_start_offset_second", "Each stage's start, seconds after session_start.", 0.0, WEEK_SECONDS),
        _stages("stage_end_offset_second", "Each stage's end, seconds after session_start.", 0.0, WEEK_SECONDS),
        _stages("stage_type", "Each stage: 1 deep, 2 light, 3 REM, 4 awake, 5 by hand, -1 unknown.", -1.0, 5.0),
        TIME_ZONE,
    ),
)
