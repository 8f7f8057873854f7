"""The events of health data: what they are called, and what they carry."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

import numpy as np
import orjson

from aggregation.catalogue import (
    DEVICE,
    SERIES,
    SERIES_BY_SLUG,
    STREAMS,
    SUMMARIES,
    SUMMARY_BY_SLUG,
    WORKOUTS,
    FieldKind,
    FieldSpec,
    ResourceSpec,
    SampleField,
    SampleFieldKind,
    SeriesSpec,
    StreamSpec,
    SummarySpec,
)
from aggregation.codec import BlockColumns
from aggregation.constants import SOURCE_ID_UNLISTED, SOURCE_IDS
from aggregation.records import DataSource, FieldColumn, SampleColumns
from aggregation.serializers import HistoricalDataEvent, daily_shape
from aggregation.shapes import device_uuid, samples_json, samples_pieces, source_json, summary_json
from aggregation.sports import OTHER, SPORT_BY_SLUG
from aggregation.store.columns import block_of
from aggregation.store.days import us_of_instant
from aggregation.store.streams import StreamChange
from aggregation.store.summaries import SummariesWritten, SummaryRow
from aggregation.store.write import SeriesChange
from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.json_io import json_encode
from healthsvc.kernel.typing import JSONObject, JSONValue
from webhooks.constants import BODY_MAXIMUM_BYTES, ENVELOPE_MAXIMUM_BYTES
from webhooks.registry import PROVIDER_CHANNEL, EventType


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
    data = _sample_data(user_id, change.source, [])
    room_bytes = BODY_MAXIMUM_BYTES - ENVELOPE_MAXIMUM_BYTES - len(json_encode(data))
    for piece in samples_pieces(SERIES_BY_SLUG[change.resource], block, maximum_bytes=room_bytes):
        yield HealthEvent(name, {**data, "data": orjson.Fragment(piece)}, change.source.provider)


def _sample_data(user_id: UUID, source: DataSource, samples: list[JSONObject]) -> JSONObject:
    return {
        "user_id": str(user_id),
        "source_id": SOURCE_IDS.get(source.provider, SOURCE_ID_UNLISTED),
        "source": source_json(user_id, source),
        "data": samples,
    }


def summary_events(written: SummariesWritten) -> Iterator[HealthEvent]:
    """One event a summary, whose fields lie directly in its data."""
    for row in written.created.values():
        yield HealthEvent(_created(row.resource), _summary_data(row), row.source.provider)
    for row in written.changed.values():
        yield HealthEvent(_updated(row.resource), _summary_data(row), row.source.provider)


def _created(resource: str) -> str:
    return DEVICE_CREATED if resource == DEVICE.slug else daily_created(resource)


def _updated(resource: str) -> str:
    return DEVICE_UPDATED if resource == DEVICE.slug else daily_updated(resource)


def _summary_data(row: SummaryRow) -> JSONObject:
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


_USER_ID: Final = UUID("01934c7e-2b1d-7d04-8a7e-51d2f9b7c6aa")
_AT: Final = datetime(2026, 3, 1, 8, tzinfo=UTC)
_CHANNELS: Final = (PROVIDER_CHANNEL,)
_RING: Final = DataSource("oura", "ring", device_id="6f1f7b1e-4e7a-4c58-9d64-0c1a4c6f0b11")


def event_types() -> Iterator[EventType]:
    """Every event of every resource, with an example of what it carries."""
    specs: tuple[ResourceSpec, ...] = (*SERIES, *SUMMARIES, *STREAMS)
    for spec in specs:
        if spec is DEVICE or (isinstance(spec, SeriesSpec) and spec.is_older):
            continue
        sample, schema, slug = _sample(spec), daily_shape(spec), spec.slug
        yield EventType(daily_created(slug), f"New data of a user: {slug}.", sample, schema, _CHANNELS)
        yield EventType(daily_updated(slug), f"Data of a user that were revised: {slug}.", sample, schema, _CHANNELS)
        notice = historical_event(_USER_ID, _RING.provider, spec.slug, _AT, _AT)
        meaning = f"A first backfill has ended: {spec.slug} can be read."
        yield EventType(notice.type, meaning, notice.data, HistoricalDataEvent, _CHANNELS)
    sample, schema = _sample(DEVICE), daily_shape(DEVICE)
    yield EventType(DEVICE_CREATED, "A device of a user was seen for the first time.", sample, schema, _CHANNELS)
    yield EventType(DEVICE_UPDATED, "What is known of a user's device has changed.", sample, schema, _CHANNELS)


def _sample(spec: ResourceSpec) -> JSONObject:
    if isinstance(spec, SeriesSpec):
        return _sample_data(_USER_ID, _RING, orjson.loads(samples_json(spec, _sample_block(spec))))
    if isinstance(spec, StreamSpec):
        change = StreamChange(spec.slug, _summary_row(WORKOUTS), created=True)
        return stream_event(_USER_ID, change).data
    return _summary_data(_summary_row(spec))


def _sample_block(spec: SeriesSpec) -> BlockColumns:
    start_us = np.array([us_of_instant(_AT)])
    number = min(spec.highest, max(spec.lowest, 60.0))
    samples = SampleColumns(
        start_us=start_us,
        end_us=start_us + 60_000_000 if spec.is_interval else None,
        value=np.array([number]) if spec.has_value else None,
        offset_seconds=np.zeros(1, np.int32),
        type=[next(iter((*spec.types, *spec.sub_paths)), "name" if spec.type_required else None)],
        fields={field.name: _sample_field(field) for field in spec.fields},
    )
    return block_of(samples, interval=spec.is_interval)


def _sample_field(field: SampleField) -> FieldColumn:
    if field.kind is SampleFieldKind.NUMBER:
        return np.array([min(field.highest, max(field.lowest, 80.0))])
    return [field.choices[0] if field.choices else "A text."]


def _summary_row(spec: SummarySpec) -> SummaryRow:
    payload: JSONObject = {field.name: _sample_value(field) for field in spec.fields if field.required or field.members}
    if spec.parent is not None:
        payload[spec.parent.id_field] = str(_USER_ID)
    return SummaryRow(_USER_ID, _USER_ID, spec.slug, _RING, _AT.date(), payload, _AT, _AT, "external-1", _AT, _AT)


def _sample_value(field: FieldSpec) -> JSONValue:
    match field.kind:
        case FieldKind.NUMBER:
            return max(field.lowest, min(field.highest, 10.0))
        case FieldKind.WHOLE:
            return int(max(field.lowest, min(field.highest, 10.0)))
        case FieldKind.WHOLES:
            return [1]
        case FieldKind.FLAG:
            return field.true_only
        case FieldKind.INSTANT:
            return utc_text(_AT)
        case FieldKind.DATE:
            return _AT.date().isoformat()
        case FieldKind.SPORT:
            return "running"
        case FieldKind.TEXT:
            return next(iter(field.choices), "name")
        case FieldKind.NUMBERS_BY_NAME:
            return {next(iter(field.choices), "name"): 10.0}
        case FieldKind.OBJECTS_BY_NAME:
            return {"name": _sample_object(field)}
        case FieldKind.OBJECTS:
            return [_sample_object(field)]
        case FieldKind.OBJECT:
            return _sample_object(field)


def _sample_object(field: FieldSpec) -> JSONObject:
    return {member.name: _sample_value(member) for member in field.members}
