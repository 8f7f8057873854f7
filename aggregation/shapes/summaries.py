"""Summaries as the API and its events show them, made of the resource's record; and their raw forms."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, time
from types import MappingProxyType
from typing import Final

from aggregation.catalogue import FieldKind, FieldSpec, SummarySpec
from aggregation.constants import SOURCE_ID_UNLISTED, SOURCE_IDS
from aggregation.models import Summary
from aggregation.records import DataSource
from aggregation.shapes.sources import device_id_text, provider_json, source_json
from aggregation.sports import OTHER, SPORT_BY_SLUG
from aggregation.store.summaries import SummaryRow
from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.typing import JSONObject, JSONValue

#: Lists and maps that a summary without them shows empty.
_EMPTY: Final[Mapping[FieldKind, Callable[[], JSONValue]]] = MappingProxyType(
    {FieldKind.OBJECTS: list, FieldKind.OBJECTS_BY_NAME: dict}
)


def summary_json(spec: SummarySpec, row: SummaryRow) -> JSONObject:
    """A summary with every field of its resource, null where it has none."""
    day = row.calendar_date.isoformat()
    shown: JSONObject = {"id": str(row.id), "user_id": str(row.user_id)}
    if spec.has_calendar_date:
        shown["calendar_date"] = day
    if spec.dated:
        shown["date"] = f"{day}T00:00:00+00:00"
    for field in spec.fields:
        shown[field.name] = _field_json(field, row.payload.get(field.name))
    shown.update(_older_fields(spec, row))
    shown["source"] = source_json(row.user_id, row.source)
    if spec.sources_flat:
        shown["source_provider"] = row.source.provider
        shown["source_type"] = row.source.type
        shown["source_app_id"] = row.source.app_id
        shown["source_device_id"] = device_id_text(row.user_id, row.source)
    shown["created_at"] = utc_text(row.created_at)
    shown["updated_at"] = utc_text(row.updated_at)
    return shown


def _field_json(field: FieldSpec, value: JSONValue) -> JSONValue:
    if field.kind is FieldKind.SPORT:
        return _sport_json(value)
    if value is None and field.kind in _EMPTY:
        return _EMPTY[field.kind]()
    return value


def _sport_json(slug: JSONValue) -> JSONObject:
    # A slug that was kept by a later release and is unknown to this one is a sport all the same.
    sport = SPORT_BY_SLUG.get(str(slug), OTHER)
    return {"id": sport.id, "name": sport.name, "slug": sport.slug}


def _older_fields(spec: SummarySpec, row: SummaryRow) -> JSONObject:
    """Fields without meaning that existing clients demand."""
    if spec.slug == "sleep":
        return {"sleep_stream": None}
    if spec.slug == "meal":
        return {
            "priority_id": 0,
            "source_id": _source_id(row.source.provider),
            "provider_id": str(row.id),
            "source_app_id": row.source.app_id,
            "source_device_id": device_id_text(row.user_id, row.source),
        }
    return {}


def _source_id(provider: str) -> int:
    return SOURCE_IDS.get(provider, SOURCE_ID_UNLISTED)


def raw_json(spec: SummarySpec, row: Summary) -> JSONObject:
    """A summary in its source's own form; in ours where the source had none."""
    shown = {
        "id": str(row.id),
        "user_id": str(row.user_id),
        "timestamp": _timestamp(row),
        "data": _raw_data(row),
        "provider_id": row.external_id,
        "source_id": _source_id(row.provider),
        "priority_id": 0,
        "priority": None,
        "source_device_id": device_id_text(row.user_id, _source(row)),
        "source": provider_json(row.provider),
        "created_at": utc_text(row.created_at),
        "updated_at": utc_text(row.updated_at),
    }
    for field in spec.fields:
        if field.kind is FieldKind.SPORT:
            sport = _sport_json(row.payload.get(field.name))
            shown |= {"sport_id": sport["id"], "sport": sport}
    return shown


def profile_raw_json(row: Summary) -> JSONObject:
    """A person's profile at a source in the source's own form; in ours where the source had none."""
    return {
        "profile": {
            "id": str(row.id),
            "user_id": str(row.user_id),
            "data": _raw_data(row),
            "source_id": _source_id(row.provider),
            "priority_id": None,
            "source": provider_json(row.provider),
            "created_at": utc_text(row.created_at),
            "updated_at": utc_text(row.updated_at),
        }
    }


def _raw_data(row: Summary) -> JSONValue:
    data: JSONValue = row.payload if row.raw is None else row.raw
    return data


def _timestamp(row: Summary) -> str:
    return utc_text(row.starts_at or datetime.combine(row.calendar_date, time(), UTC))


def _source(row: Summary) -> DataSource:
    return DataSource(row.provider, row.source_type, row.app_id or None, row.device_id or None)
