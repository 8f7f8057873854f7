"""The summary resources: one frozen record each, in modules by sub-domain."""

from typing import Final

from aggregation.catalogue.kinds import SummarySpec
from aggregation.catalogue.summaries.body import BODY, DEVICE, ELECTROCARDIOGRAM, PROFILE
from aggregation.catalogue.summaries.cycle import MENSTRUAL_CYCLE
from aggregation.catalogue.summaries.meal import MEAL
from aggregation.catalogue.summaries.movement import ACTIVITY, WORKOUTS
from aggregation.catalogue.summaries.sleep import SLEEP, SLEEP_CYCLE

__all__ = ["ACTIVITY", "DEVICE", "PROFILE", "SLEEP", "SLEEP_CYCLE", "SUMMARIES", "WORKOUTS"]

SUMMARIES: Final[tuple[SummarySpec, ...]] = (
    PROFILE,
    ACTIVITY,
    SLEEP,
    SLEEP_CYCLE,
    BODY,
    WORKOUTS,
    MEAL,
    MENSTRUAL_CYCLE,
    ELECTROCARDIOGRAM,
    DEVICE,
)
