"""Samples on their way in: checked, made columns, and joined a series."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import numpy as np

from aggregation.catalogue import SERIES_BY_SLUG, SeriesSpec
from aggregation.codec import BlockColumns, LabelColumn
from aggregation.constants import NO_WORKOUT
from aggregation.records import DataSource, SampleColumns, SeriesBatch
from aggregation.store import checking
from aggregation.store.checking import Ingestion, Refusals
from aggregation.store.columns import block_of, block_take
from aggregation.store.workouts import SOURCE_SPORT, SOURCE_WORKOUT_ID, Workout, WorkoutName


@dataclass(frozen=True, slots=True)
class SeriesKey:
    """What names a series of a user."""

    resource: str
    source: DataSource
    workout_id: UUID = NO_WORKOUT

    def lock_order(self) -> tuple[str, ...]:
        """All writers lock in this order."""
        source = self.source
        texts = (self.resource, source.provider, source.type, source.app_id or "", source.device_id or "")
        return (*texts, str(self.workout_id))


def series_key(resource: str, source: DataSource, workout_id: UUID = NO_WORKOUT) -> SeriesKey:
    """The key of a series. Empty texts name nothing, as None does."""
    named = DataSource(source.provider, source.type, source.app_id or None, source.device_id or None)
    return SeriesKey(resource, named, workout_id)


def samples_gather(
    batches: Sequence[SeriesBatch],
    workouts: Mapping[WorkoutName, Workout],
    ingestion: Ingestion,
    refusals: Refusals,
) -> dict[SeriesKey, list[BlockColumns]]:
    """The samples that can be stored, by series, in the order in which they came."""
    found: dict[SeriesKey, list[BlockColumns]] = {}
    for place, batch in enumerate(batches):
        spec = SERIES_BY_SLUG.get(batch.resource)
        if spec is None or not checking.source_good(batch.source):
            reason = checking.UNKNOWN_RESOURCE if spec is None else checking.BAD_SOURCE
            refusals.add_rows(batch.resource, reason, range(len(batch.samples)), place)
            continue
        good = checking.samples_good(spec, batch.samples, ingestion, refusals, batch=place)
        if good.any():
            block = columns_of(spec, batch.samples)
            if not good.all():
                block = block_take(block, good)
            workout = workouts.get((batch.source.provider, batch.workout)) if batch.workout else None
            found.setdefault(series_key(batch.resource, batch.source), []).append(_in_workout(block, workout))
    return found


def columns_of(spec: SeriesSpec, samples: SampleColumns) -> BlockColumns:
    """Samples as the store keeps them."""
    return block_of(samples, interval=spec.is_interval, fields=[field.name for field in spec.fields])


def _in_workout(block: BlockColumns, workout: Workout | None) -> BlockColumns:
    if workout is None:
        return block
    every = np.zeros(len(block), np.int32)
    labels = {SOURCE_WORKOUT_ID: LabelColumn(every, (str(workout.id),))}
    if workout.sport is not None:
        labels[SOURCE_SPORT] = LabelColumn(every, (workout.sport,))
    return replace(block, extra={**block.extra, **labels})
