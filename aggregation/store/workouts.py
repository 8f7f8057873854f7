"""Finding the workouts that samples and streams name."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias
from uuid import UUID

from aggregation.catalogue import WORKOUTS
from aggregation.store import statements
from healthsvc.kernel.postgres.statements import rows_of

#: A provider, and what it calls the workout.
WorkoutName: TypeAlias = tuple[str, str]

#: The labels of samples that were taken in a workout: its summary's id, and its sport's slug.
SOURCE_WORKOUT_ID: Final = "source_workout_id"
SOURCE_SPORT: Final = "source_sport"


@dataclass(frozen=True, slots=True)
class Workout:
    """A workout that is kept: its summary's id, and its sport's slug or None."""

    id: UUID
    sport: str | None


def workouts_find(user_id: UUID, names: Collection[WorkoutName]) -> Mapping[WorkoutName, Workout]:
    """The workouts among `names` that are kept; one statement, none without names."""
    if not names:
        return {}
    wanted = sorted(names)
    rows = rows_of(
        statements.WORKOUTS_FIND,
        {
            "user_id": user_id,
            "resource": WORKOUTS.slug,
            "providers": [provider for provider, _ in wanted],
            "external_ids": [external_id for _, external_id in wanted],
        },
    )
    return {(provider, external_id): Workout(workout_id, sport) for provider, external_id, workout_id, sport in rows}
