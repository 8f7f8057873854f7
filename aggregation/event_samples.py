"""Examples of what health events carry: one person's day, made of what the catalogue calls ordinary."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from types import MappingProxyType
from typing import Final
from uuid import UUID, uuid5

import numpy as np
import orjson

from aggregation import events
from aggregation.catalogue import (
    WORKOUTS,
    ResourceSpec,
    SampleField,
    SampleFieldKind,
    SeriesSpec,
    StreamSpec,
    SummarySpec,
)
from aggregation.codec import BlockColumns
from aggregation.records import DataSource, FieldColumn, SampleColumns
from aggregation.shapes import samples_json
from aggregation.store.columns import block_of
from aggregation.store.days import SECOND_US, us_of_instant
from aggregation.store.streams import StreamChange
from aggregation.store.summaries import SummaryRow
from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.typing import JSONObject
from webhooks.registry import EXAMPLE_USER_ID

_DAY: Final = date(2026, 3, 1)
_OFFSET_SECONDS: Final = 3_600
_STORED_AT: Final = datetime(2026, 3, 2, 6, 10, tzinfo=UTC)
_REVISED_AT: Final = datetime(2026, 3, 2, 9, 25, tzinfo=UTC)
#: How far a first backfill went back.
_BACKFILL: Final = timedelta(days=180)


@dataclass(frozen=True, slots=True)
class _Origin:
    """Where examples come from, and what people call it.

    Who knows the names of providers is not there yet when the catalogue of events is made, and the address that serves
    their logos is a setting: examples are the same everywhere.
    """

    source: DataSource
    name: str

    def shown(self, source: JSONObject) -> JSONObject:
        """The source of an event with the provider's name and logo."""
        slug = self.source.provider
        return {**source, "name": self.name, "logo": f"https://health.example/static/links/logos/{slug}.svg"}


_WATCH: Final = _Origin(
    DataSource("apple_health_kit", "watch", "com.apple.health", "9a4f7d52-3b0e-4d0c-8f7e-2c6b1f0e7a13"), "Apple Health"
)
_RING: Final = _Origin(DataSource("oura", "ring", device_id="6f1f7b1e-4e7a-4c58-9d64-0c1a4c6f0b11"), "Oura")
_SCALE: Final = _Origin(DataSource("withings", "scale", device_id="3e8b6a07-5d1c-4b92-a1f4-7d90c2e6b58f"), "Withings")
_SENSOR: Final = _Origin(DataSource("dexcom_v3", "automatic"), "Dexcom")
_TRACKER: Final = _Origin(DataSource("garmin", "watch"), "Garmin")
_CUFF: Final = _Origin(DataSource("omron", "cuff"), "Omron")
_DIARY: Final = _Origin(DataSource("cronometer", "app"), "Cronometer")
_LAB: Final = _Origin(DataSource("manual", "lab"), "Manual entry")
#: What the watch does not measure.
_ORIGINS: Final[Mapping[str, _Origin]] = MappingProxyType(
    {
        **dict.fromkeys(("sleep", "sleep_cycle", "activity", "hrv", "device"), _RING),
        **dict.fromkeys(("body", "weight", "fat", "lean_body_mass"), _SCALE),
        **dict.fromkeys(("glucose", "carbohydrates"), _SENSOR),
        **dict.fromkeys(("cholesterol", "ige", "igg"), _LAB),
        "blood_pressure": _CUFF,
        "stress_level": _TRACKER,
        "meal": _DIARY,
    }
)


def sample_created(spec: ResourceSpec) -> JSONObject:
    """What the event of new data of a resource carries."""
    origin = _origin(spec.slug)
    if isinstance(spec, SeriesSpec):
        samples: list[JSONObject] = orjson.loads(samples_json(spec, _block(spec)))
        data = events.samples_data(EXAMPLE_USER_ID, origin.source, samples)
    elif isinstance(spec, StreamSpec):
        data = events.stream_event(EXAMPLE_USER_ID, StreamChange(spec.slug, _row(WORKOUTS), created=True)).data
    else:
        data = events.summary_data(_row(spec))
    source = data.get("source")
    return {**data, "source": origin.shown(source)} if isinstance(source, dict) else data


def sample_updated(spec: ResourceSpec) -> JSONObject:
    """What the event of revised data of a resource carries."""
    data = sample_created(spec)
    return {**data, "updated_at": utc_text(_REVISED_AT)} if "updated_at" in data else data


def sample_historical(spec: ResourceSpec) -> JSONObject:
    """What the event of a resource's first backfill carries."""
    provider = _origin(spec.slug).source.provider
    return events.historical_event(EXAMPLE_USER_ID, provider, spec.slug, _STORED_AT - _BACKFILL, _STORED_AT).data


def _origin(slug: str) -> _Origin:
    return _ORIGINS.get(slug, _WATCH)


def _block(spec: SeriesSpec) -> BlockColumns:
    typical = spec.typical
    end_us = np.array([us_of_instant(datetime.combine(_DAY, typical.ends_at, UTC))])
    samples = SampleColumns(
        start_us=end_us - typical.span_seconds * SECOND_US if spec.is_interval else end_us,
        end_us=end_us if spec.is_interval else None,
        value=None if typical.value is None else np.array([typical.value]),
        offset_seconds=np.array([_OFFSET_SECONDS], np.int32),
        type=[typical.type],
        fields={field.name: _column(field) for field in spec.fields},
    )
    return block_of(samples, interval=spec.is_interval)


def _column(field: SampleField) -> FieldColumn:
    if field.kind is SampleFieldKind.NUMBER:
        return np.array([field.typical], np.float64)
    return [None if field.typical is None else str(field.typical)]


def _id(slug: str) -> UUID:
    """The id of a resource's example."""
    return uuid5(EXAMPLE_USER_ID, slug)


def _row(spec: SummarySpec) -> SummaryRow:
    example = spec.example
    payload: JSONObject = {**example.fields}
    if spec.parent is not None:
        payload[spec.parent.id_field] = str(_id(spec.parent.resource))
    return SummaryRow(
        id=_id(spec.slug),
        user_id=EXAMPLE_USER_ID,
        resource=spec.slug,
        source=_origin(spec.slug).source,
        calendar_date=example.calendar_date,
        payload=payload,
        created_at=_STORED_AT,
        updated_at=_STORED_AT,
        external_id=str(_id(f"{spec.slug} at its source")),
    )
