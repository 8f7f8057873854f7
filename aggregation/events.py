"""The events of health data: what they are called, and what they carry."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

import numpy as np
import orjson

from aggregation.catalogue import (
    RESOURCES,
    SERIES_BY_SLUG,
    SUMMARY_BY_SLUG,
    FieldKind,
    SeriesKind,
    SeriesSpec,
    SummarySpec,
)
from aggregation.codec import BlockColumns
from aggregation.constants import EVENT_SAMPLES_MAXIMUM, SOURCE_ID_UNLISTED, SOURCE_IDS
from aggregation.records import DataSource
from aggregation.shapes import samples_json, source_json, summary_json
from aggregation.store.columns import block_take
from aggregation.store.days import us_of_instant
from aggregation.store.summaries import SummariesWritten, SummaryRow
from aggregation.store.write import SeriesChange
from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.typing import JSONObject, JSONValue
from webhooks.registry import EventType


@dataclass(frozen=True, slots=True)
class HealthEvent:
    """An event to emit in the transaction of its change."""

    type: str
    data: JSONObject


def daily_created(resource: str) -> str:
    """The event of new samples or a new summary."""
    return f"daily.data.{resource}.created"


def daily_updated(resource: str) -> str:
    """The event of samples or a summary that have another content now."""
    return f"daily.data.{resource}.updated"


def historical_created(resource: str) -> str:
    """The event that a first backfill of a resource is there to be read."""
    return f"historical.data.{resource}.created"


def series_events(user_id: UUID, change: SeriesChange) -> Iterator[HealthEvent]:
    """One event for at most 5,000 samples of one source, new and changed ones apart."""
    if change.created is not None:
        yield from _sample_events(daily_created(change.resource), user_id, change, change.created)
    if change.changed is not None:
        yield from _sample_events(daily_updated(change.resource), user_id, change, change.changed)


def _sample_events(name: str, user_id: UUID, change: SeriesChange, block: BlockColumns) -> Iterator[HealthEvent]:
    spec = SERIES_BY_SLUG[change.resource]
    for begin in range(0, len(block), EVENT_SAMPLES_MAXIMUM):
        piece = block_take(block, slice(begin, begin + EVENT_SAMPLES_MAXIMUM))
        samples = orjson.loads(samples_json(spec, piece))
        yield HealthEvent(name, _sample_data(user_id, change.source, samples))


def _sample_data(user_id: UUID, source: DataSource, samples: list[JSONObject]) -> JSONObject:
    return {
        "user_id": str(user_id),
        "source_id": SOURCE_IDS.get(source.provider, SOURCE_ID_UNLISTED),
        "source": source_json(source),
        "data": samples,
    }


def summary_events(written: SummariesWritten) -> Iterator[HealthEvent]:
    """One event a summary, whose fields lie directly in its data."""
    for row in written.created.values():
        yield HealthEvent(daily_created(row.resource), _summary_data(row))
    for row in written.changed.values():
        yield HealthEvent(daily_updated(row.resource), _summary_data(row))


def _summary_data(row: SummaryRow) -> JSONObject:
    return summary_json(SUMMARY_BY_SLUG[row.resource], row)


def historical_event(user_id: UUID, provider: str, resource: str, start: datetime, end: datetime) -> HealthEvent:
    """A notice without data: what was backfilled can be read now."""
    data: JSONObject = {
        "user_id": str(user_id),
        "start_date": utc_text(start),
        "end_date": utc_text(end),
        "provider": provider,
        "is_final": True,
    }
    return HealthEvent(historical_created(resource), data)


_USER_ID: Final = UUID("01934c7e-2b1d-7d04-8a7e-51d2f9b7c6aa")
_AT: Final = datetime(2026, 3, 1, 8, tzinfo=UTC)
_RING: Final = DataSource("oura", "ring")
#: Values of the samples in the catalogue of events, by kind of field.
_VALUES: Final[dict[FieldKind, JSONValue]] = {
    FieldKind.NUMBER: 10.0,
    FieldKind.WHOLE: 10,
    FieldKind.INSTANT: utc_text(_AT),
    FieldKind.SPORT: "running",
}


def event_types() -> Iterator[EventType]:
    """Every event of every resource, with an example of what it carries."""
    for spec in RESOURCES:
        sample = _series_sample(spec) if isinstance(spec, SeriesSpec) else _summary_sample(spec)
        yield EventType(daily_created(spec.slug), f"New data of a user: {spec.slug}.", sample)
        yield EventType(daily_updated(spec.slug), f"Data of a user that were revised: {spec.slug}.", sample)
        notice = historical_event(_USER_ID, _RING.provider, spec.slug, _AT, _AT)
        yield EventType(notice.type, f"A first backfill has ended: {spec.slug} can be read.", notice.data)


def _series_sample(spec: SeriesSpec) -> JSONObject:
    start_us = np.array([us_of_instant(_AT)])
    ends = start_us + 60_000_000 if spec.kind is SeriesKind.INTERVAL else None
    block = BlockColumns(start_us, np.zeros(1, np.int32), np.array([60.0]), ends)
    return _sample_data(_USER_ID, _RING, orjson.loads(samples_json(spec, block)))


def _summary_sample(spec: SummarySpec) -> JSONObject:
    payload: JSONObject = {
        field.name: next(iter(field.choices), "name") if field.kind is FieldKind.TEXT else _VALUES[field.kind]
        for field in spec.fields
        if field.required
    }
    row = SummaryRow(_USER_ID, _USER_ID, spec.slug, _RING, _AT.date(), payload, _AT, _AT)
    return summary_json(spec, row)
