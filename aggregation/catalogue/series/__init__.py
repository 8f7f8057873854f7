"""The timeseries resources: one frozen record each, in modules by sub-domain."""

from typing import Final

from aggregation.catalogue.kinds import SeriesSpec
from aggregation.catalogue.series import activity, body, heart, intake, lungs, metabolic, wellbeing
from aggregation.catalogue.series.activity import STEPS
from aggregation.catalogue.series.heart import HEARTRATE
from aggregation.catalogue.series.metabolic import GLUCOSE

__all__ = ["GLUCOSE", "HEARTRATE", "SERIES", "STEPS"]

SERIES: Final[tuple[SeriesSpec, ...]] = (
    *heart.SERIES,
    *metabolic.SERIES,
    *activity.SERIES,
    *body.SERIES,
    *lungs.SERIES,
    *intake.SERIES,
    *wellbeing.SERIES,
)
