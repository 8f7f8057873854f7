"""What a provider says has happened and can't have: its clock, or the device's, runs ahead.

One such record would be the newest for ever and hide those that follow, so it is left out until its time has come.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

import numpy as np

from aggregation.records import Refusal, SeriesBatch, StreamRecord, SummaryRecord
from links.connectors.base import Pulled
from links.connectors.payload import microseconds

#: A device's clock may be off, and a day may be tomorrow's already east of here.
FUTURE_SECONDS: Final = 24 * 3600
IN_THE_FUTURE: Final = "in_the_future"


def future_left_out(pulled: Pulled, now: datetime) -> Pulled:
    """The same without what is later than a day from now, which is refused and counted."""
    latest = now + timedelta(seconds=FUTURE_SECONDS)
    batches = [_batch(one, latest) for one in pulled.series]
    counts = {
        one.resource: len(one.samples) - len(kept.samples)
        for one, kept in zip(pulled.series, batches, strict=True)
        if len(kept.samples) < len(one.samples)
    }
    summaries = tuple(one for one in pulled.summaries if not _ahead(one, latest))
    streams = tuple(one for one in pulled.streams if not _stream_ahead(one, latest))
    refused = [Refusal(resource, IN_THE_FUTURE, count) for resource, count in counts.items()]
    for kind, before, after in (
        ("summary", len(pulled.summaries), len(summaries)),
        ("stream", len(pulled.streams), len(streams)),
    ):
        if after < before:
            refused.append(Refusal(kind, IN_THE_FUTURE, before - after))
    if not refused:
        return pulled
    return replace(
        pulled,
        series=tuple(one for one in batches if len(one.samples)),
        summaries=summaries,
        streams=streams,
        workouts=tuple(one for one in pulled.workouts if not _ahead(one, latest)),
        refusals=(*pulled.refusals, *refused),
    )


def _batch(batch: SeriesBatch, latest: datetime) -> SeriesBatch:
    samples = batch.samples
    keep = np.asarray(samples.start_us) <= microseconds(latest)
    if keep.all():
        return batch
    rows = np.flatnonzero(keep)
    fields = {
        name: column[rows] if isinstance(column, np.ndarray) else [column[row] for row in rows.tolist()]
        for name, column in samples.fields.items()
    }
    kept = replace(
        samples,
        start_us=samples.start_us[rows],
        value=None if samples.value is None else samples.value[rows],
        offset_seconds=samples.offset_seconds[rows],
        end_us=None if samples.end_us is None else samples.end_us[rows],
        type=None if samples.type is None else [samples.type[row] for row in rows.tolist()],
        fields=fields,
    )
    return replace(batch, samples=kept)


def _ahead(record: SummaryRecord, latest: datetime) -> bool:
    began = record.starts_at
    return began > latest if began is not None else record.calendar_date > latest.date() + timedelta(days=1)


def _stream_ahead(record: StreamRecord, latest: datetime) -> bool:
    return bool(len(record.time_us)) and int(record.time_us[0]) > microseconds(latest)
