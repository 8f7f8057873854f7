"""The sports table and HealthKit's way into it."""

from aggregation.apple_health.activity_types import SPORT_SLUGS, sport_slug
from aggregation.sports import OTHER, SPORT_BY_SLUG, SPORTS


def test_ids_and_slugs_are_fixed_and_unique() -> None:
    assert [sport.id for sport in SPORTS] == list(range(1, len(SPORTS) + 1))
    assert len(SPORT_BY_SLUG) == len(SPORTS)
    assert [(SPORT_BY_SLUG[slug].id, SPORT_BY_SLUG[slug].name) for slug in ("other", "running", "yoga")] == [
        (1, "Other"),
        (3, "Running"),
        (11, "Yoga"),
    ]


def test_every_activity_type_of_healthkit_is_a_sport_of_the_table() -> None:
    assert len(SPORT_SLUGS) == 84
    assert set(SPORT_SLUGS.values()) <= set(SPORT_BY_SLUG)
    assert sport_slug("HKWorkoutActivityTypeTraditionalStrengthTraining") == "strength_training"
    assert sport_slug("HKWorkoutActivityTypeNotInventedYet") == OTHER.slug
