"""The course of one workout, and of one night."""

from typing import Final
from uuid import UUID

import numpy as np

from aggregation.catalogue import SERIES_BY_SLUG, SLEEP, WORKOUT_STREAM, WORKOUTS, SeriesSpec
from aggregation.codec import BlockColumns
from aggregation.models import Summary
from aggregation.selectors.hypnogram import cycles_of, stages_of_night
from aggregation.selectors.samples import SampleQuery, samples_flat
from aggregation.selectors.summaries import summary_get
from aggregation.store import read
from aggregation.store.days import Moment, Window, us_of_instant
from aggregation.store.read import Span
from healthsvc.kernel.errors import not_found
from healthsvc.kernel.principal import TeamContext

HYPNOGRAM: Final = SERIES_BY_SLUG["hypnogram"]
#: What of a night is shown as its course, in the order of the API.
SLEEP_STREAM: Final = (
    SERIES_BY_SLUG["hrv"],
    SERIES_BY_SLUG["heartrate"],
    HYPNOGRAM,
    SERIES_BY_SLUG["respiratory_rate"],
)


def workout_stream(team: TeamContext, workout_id: UUID) -> BlockColumns | None:
    """The course of a workout in order of time, None where it has none; 404 where there is no such workout."""
    workout, _ = summary_get(team, WORKOUTS, workout_id)
    rows = read.series_of(team, workout.user_id, WORKOUT_STREAM.slug, workout_id=workout.id)
    bounds = np.iinfo(np.int32)
    columns = read.samples_of(workout.user_id, [Span(row, int(bounds.min), int(bounds.max)) for row in rows])
    return next(iter(columns.values()), None)


def sleep_stream(team: TeamContext, sleep_id: UUID) -> dict[SeriesSpec, BlockColumns | None]:
    """What the night's own provider measured from its start to its end; 404 where there is no such night."""
    night, user = summary_get(team, SLEEP, sleep_id)
    window = _window(night)
    found: dict[SeriesSpec, BlockColumns | None] = {}
    for spec in SLEEP_STREAM:
        query = SampleQuery(user, spec, window, night.provider)
        if spec is HYPNOGRAM:
            found[spec] = stages_of_night(cycles_of(team, query), night.id)
        else:
            found[spec] = samples_flat(team, query, ("path", "sleep_id"))
    return found


def _window(night: Summary) -> Window:
    if night.starts_at is None or night.ends_at is None:
        raise not_found()
    return Window(
        Moment(us_of_instant(night.starts_at), local=False), Moment(us_of_instant(night.ends_at), local=False)
    )
