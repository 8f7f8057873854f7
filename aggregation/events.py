"""The events of health data: what they are called, and what they carry."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import orjson

from aggregation.catalogue import (
    DEVICE,
    SERIES_BY_SLUG,
    SUMMARY_BY_SLUG,
)
from aggregation.codec import BlockColumns
from aggregation.constants import SOURCE_ID_UNLISTED, SOURCE_IDS
from aggregation.records import DataSource
from aggregation.shapes import device_uuid, samples_pieces, source_json, summary_json
from aggregation.sports import OTHER, SPORT_BY_SLUG
from aggregation.store.streams import StreamChange
from aggregation.store.summaries import SummariesWritten, SummaryRow
from aggregation.store.write import SeriesChange
from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.json_io import json_encode
from healthsvc.kernel.typing import JSONObject
from webhooks.constants import BODY_MAXIMUM_BYTES, ENVELOPE_MAXIMUM_BYTES


@dataclass(frozen=True, slots=True)
class HealthEvent:
    """An event to emit in the transaction of its change. `data` may hold parts that are JSON already."""

    type: str
    data: dict[str, Any]
    provider: str


def daily_created(resource: str) -> str:
    """The event of new samples or a new summary."""
    return f"daily.data.{resource}.created"


def daily_updated(resource: str) -> str:
    """The event of samples or a summary that have another content now."""
    return f"daily.data.{resource}.updated"


#: Devices are not data of a day: their events have names of their own.
DEVICE_CREATED: Final = "provider.device.created"
DEVICE_UPDATED: Final = "provider.device.updated"

_STREAM_MESSAGE: Final = "The stream of this workout can be read at its stream endpoint."


def historical_created(resource: str) -> str:
    """The event that a first backfill of a resource is there to be read."""
    return f"historical.data.{resource}.created"


def series_events(user_id: UUID, change: SeriesChange) -> Iterator[HealthEvent]:
    """The samples of one source in events of bounded size, in order of time, new and changed ones apart."""
    if change.created is not None:
        yield from _sample_events(daily_created(change.resource), user_id, change, change.created)
    if change.changed is not None:
        yield from _sample_events(daily_updated(change.resource), user_id, change, change.changed)


def _sample_events(name: str, user_id: UUID, change: SeriesChange, block: BlockColumns) -> Iterator[HealthEvent]:
    data = samples_data(user_id, change.source, [])
    room_bytes = BODY_MAXIMUM_BYTES - ENVELOPE_MAXIMUM_BYTES - len(json_encode(data))
    for piece in samples_pieces(SERIES_BY_SLUG[change.resource], block, maximum_bytes=room_bytes):
        yield HealthEvent(name, {**data, "data": orjson.Fragment(piece)}, change.source.provider)


def samples_data(user_id: UUID, source: DataSource, samples: list[JSONObject]) -> JSONObject:
    """What an event of samples carries."""
    return {
        "user_id": str(user_id),
        "source_id": SOURCE_IDS.get(source.provider, SOURCE_ID_UNLISTED),
        "source": source_json(user_id, source),
        "data": samples,
    }


def summary_events(written: SummariesWritten) -> Iterator[HealthEvent]:
    """One event a summary, whose fields lie directly in its data."""
    for row in written.created.values():
        yield HealthEvent(_created(row.resource), summary_data(row), row.source.provider)
    for row in written.changed.values():
        yield HealthEvent(_updated(row.resource), summary_data(row), row.source.provider)


def _created(resource: str) -> str:
    return DEVICE_CREATED if resource == DEVICE.slug else daily_created(resource)


def _updated(resource: str) -> str:
    return DEVICE_UPDATED if resource == DEVICE.slug else daily_updated(resource)


def summary_data(row: SummaryRow) -> JSONObject:
    """What an event of a summary carries."""
    if row.resource == DEVICE.slug:
        return _device_data(row)
    return summary_json(SUMMARY_BY_SLUG[row.resource], row)


def _device_data(row: SummaryRow) -> JSONObject:
    """`id` is the one under which sources name the device, so that data and device find each other."""
    source = row.source
    return {
        "id": str(device_uuid(row.user_id, source.provider, source.device_id) or row.id),
        "user_id": str(row.user_id),
        "provider": source.provider,
        "source_type": source.type,
        "app_id": source.app_id,
        "device_id": source.device_id,
        **{field.name: row.payload.get(field.name) for field in DEVICE.fields},
    }


def stream_event(user_id: UUID, change: StreamChange) -> HealthEvent:
    """A notice that a stream can be read: it carries no samples."""
    workout = change.workout
    sport = SPORT_BY_SLUG.get(str(workout.payload.get("sport")), OTHER)
    data: JSONObject = {
        "user_id": str(user_id),
        "workout_id": str(workout.id),
        "provider_id": str(workout.payload.get("provider_id") or workout.external_id),
        "message": _STREAM_MESSAGE,
        "sport": {"id": sport.id, "name": sport.name, "slug": sport.slug},
        "source": source_json(user_id, workout.source, workout_id=workout.id, sport=sport.slug),
    }
    name = daily_created(change.resource) if change.created else daily_updated(change.resource)
    return HealthEvent(name, data, workout.source.provider)


def historical_event(user_id: UUID, provider: str, resource: str, start: datetime, end: datetime) -> HealthEvent:
    """A notice without data: what was backfilled can be read now."""
    data: JSONObject = {
        "user_id": str(user_id),
        "start_date": utc_text(start),
        "end_date": utc_text(end),
        "provider": provider,
        "is_final": True,
    }
    return HealthEvent(historical_created(resource), data, provider)
