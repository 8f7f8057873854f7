"""Which HealthKit categories become samples: a table, one row a category.

A category has a word instead of a number. Happenings (an alert, a washing of hands) become a count of one, sessions
their length in minutes. What tells of a menstrual cycle is in `cycles`, sleep in `sleep`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

PREFIX = "HKCategoryTypeIdentifier"


@dataclass(frozen=True, slots=True)
class CategoryRule:
    """One HealthKit category.

    resource: the timeseries it becomes. label: the samples' `type`. by_value: for categories whose word matters, the
    type and the number of each; other words are no values. is_duration: whether the sample is its length in minutes.
    """

    resource: str
    label: str | None = None
    by_value: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    is_duration: bool = False


CATEGORIES: Mapping[str, CategoryRule] = MappingProxyType(
    {
        PREFIX + "MindfulSession": CategoryRule("mindfulness_minutes", is_duration=True),
        # An idle hour is kept as none stood, so that the hours of a day add up.
        PREFIX + "AppleStandHour": CategoryRule(
            "stand_hour",
            by_value=MappingProxyType(
                {
                    "HKCategoryValueAppleStandHourStood": ("stood", 1.0),
                    "HKCategoryValueAppleStandHourIdle": ("idle", 0.0),
                }
            ),
        ),
        PREFIX + "HandwashingEvent": CategoryRule("handwashing"),
        PREFIX + "HighHeartRateEvent": CategoryRule("heart_rate_alert", label="high_heart_rate"),
        PREFIX + "LowHeartRateEvent": CategoryRule("heart_rate_alert", label="low_heart_rate"),
        PREFIX + "IrregularHeartRhythmEvent": CategoryRule("heart_rate_alert", label="irregular_rhythm"),
        PREFIX + "SleepApneaEvent": CategoryRule("sleep_apnea_alert"),
    }
)
