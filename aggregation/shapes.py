"""Samples and summaries as the API and its events show them."""

from collections.abc import Sequence
from typing import Any

import orjson

from aggregation import registry
from aggregation.catalogue import FieldKind, FieldSpec, SeriesKind, SeriesSpec, SummarySpec
from aggregation.codec import BlockColumns
from aggregation.records import OFFSET_UNKNOWN, DataSource
from aggregation.sports import OTHER, SPORT_BY_SLUG
from aggregation.store.columns import label_texts
from aggregation.store.summaries import SummaryRow
from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.typing import JSONObject, JSONValue


def source_json(source: DataSource) -> JSONObject:
    """Where data come from, with the interface's fields (name, slug, logo) and the newer ones."""
    named = registry.provider_name(source.provider)
    return {
        "provider": source.provider,
        "type": source.type,
        "app_id": source.app_id,
        "device_id": source.device_id,
        "name": named.name,
        "slug": source.provider,
        "logo": named.logo,
    }


def samples_json(spec: SeriesSpec, block: BlockColumns) -> bytes:
    """The samples as a JSON array; about 0.6 microseconds a sample."""
    return orjson.dumps(_sample_rows(spec, block), option=orjson.OPT_NAIVE_UTC)


def _sample_rows(spec: SeriesSpec, block: BlockColumns) -> list[dict[str, Any]]:
    # NumPy gives naive datetimes; orjson writes them as the UTC they are.
    starts = block.start_us.astype("M8[us]").tolist()
    values = [None] * len(block) if block.value is None else block.value.tolist()
    offsets = [None if offset == OFFSET_UNKNOWN else offset for offset in block.offset_seconds.tolist()]
    types = label_texts(block.type, len(block))
    unit = spec.unit
    if spec.kind is SeriesKind.DISCRETE:
        return [
            {"timestamp": start, "timezone_offset": offset, "type": kind, "unit": unit, "value": value}
            for start, offset, kind, value in zip(starts, offsets, types, values, strict=True)
        ]
    ends = (block.start_us if block.end_us is None else block.end_us).astype("M8[us]").tolist()
    return [
        {
            "timestamp": start,
            "start": start,
            "end": end,
            "timezone_offset": offset,
            "type": kind,
            "unit": unit,
            "value": value,
        }
        for start, end, offset, kind, value in zip(starts, ends, offsets, types, values, strict=True)
    ]


def summary_json(spec: SummarySpec, row: SummaryRow) -> JSONObject:
    """A summary with every field of its resource, null where it has none."""
    day = row.calendar_date.isoformat()
    shown: JSONObject = {"id": str(row.id), "user_id": str(row.user_id), "calendar_date": day}
    if spec.dated:
        shown["date"] = f"{day}T00:00:00+00:00"
    for field in spec.fields:
        shown[field.name] = _field_json(field, row.payload.get(field.name))
    shown["source"] = source_json(row.source)
    shown["created_at"] = utc_text(row.created_at)
    shown["updated_at"] = utc_text(row.updated_at)
    return shown


def _field_json(field: FieldSpec, value: JSONValue) -> JSONValue:
    if field.kind is FieldKind.SPORT:
        # A slug that was kept by a later release and is unknown to this one is a sport all the same.
        sport = SPORT_BY_SLUG.get(str(value), OTHER)
        return {"id": sport.id, "name": sport.name, "slug": sport.slug}
    return value


def groups_json(spec: SeriesSpec, groups: Sequence[tuple[DataSource, BlockColumns]]) -> dict[str, list[Any]]:
    """Samples by provider, then by source."""
    shown: dict[str, list[Any]] = {}
    for source, block in sorted(groups, key=lambda group: (group[0].type, group[0].app_id or "")):
        entry = {"source": source_json(source), "data": orjson.Fragment(samples_json(spec, block))}
        shown.setdefault(source.provider, []).append(entry)
    return shown
