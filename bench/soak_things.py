"""What of a person's data the soak compares: every sample, summary and stream in the store, and every event told."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, TypeAlias
from uuid import UUID

import numpy as np
import orjson

from aggregation.catalogue import DEVICE, SERIES_BY_SLUG, SUMMARY_BY_SLUG, WORKOUT_STREAM, WORKOUTS
from aggregation.codec import BlockColumns
from aggregation.events import summary_events
from aggregation.models import Series, Summary
from aggregation.records import DataSource
from aggregation.selectors import summary_row
from aggregation.shapes import samples_json, source_json
from aggregation.store import read
from aggregation.store.read import Span
from aggregation.store.summaries import SummariesWritten
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.typing import JSONObject
from webhooks.models import Event

#: A thing that is stored once: its resource, and what names it there.
Name: TypeAlias = tuple[str, str]
#: Things by resource and day: how many, and a sum of their digests.
Counts: TypeAlias = Mapping[tuple[str, str], tuple[int, int]]

_BUCKETS: Final = np.iinfo(np.int32)
_DAY_CHARACTERS: Final = len("2026-01-01")
_SUM_MODULUS: Final = 2**64
_DEVICE_EVENT: Final = "provider.device."
#: What an event or an answer tells of a row and not of its content.
_OF_THE_ROW: Final = ("created_at", "updated_at")


@dataclass(frozen=True, slots=True)
class Told:
    """An event's word on one thing. `digest` is None where events carry no content: those of streams."""

    name: Name
    is_created: bool
    digest: int | None


def counts_of(team: TeamContext, user_id: UUID) -> Counts:
    """Everything that is stored of a person, without the ids by which two persons with the same data differ."""
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for resource, day, value in _anonymous(team, user_id):
        count, total = found.get((resource, day), (0, 0))
        found[resource, day] = (count + 1, (total + _digest(value)) % _SUM_MODULUS)
    return found


def things_of(team: TeamContext, user_id: UUID, *, since: str) -> dict[Name, int]:
    """Each thing that is stored of a person with a digest of its content; of samples, those from a day on."""
    found: dict[Name, int] = {}
    for resource, source, block in _samples(team, user_id):
        shown = source_json(user_id, source)
        for sample in _rows(resource, block):
            if sample["timestamp"] >= since:
                found[_sample_name(resource, shown, sample)] = _digest(sample)
    for row in _summaries(team, user_id):
        written = SummariesWritten({}, {(row.resource, row.provider, row.external_id): summary_row(row)}, {})
        for event in summary_events(written):
            found[row.resource, str(event.data["id"])] = _digest(_content(event.data))
        for block in _streams(team, row):
            found[WORKOUT_STREAM.slug, str(row.id)] = _stream_digest(block)
    return found


def told_of(team: TeamContext, user_id: UUID) -> list[Told]:
    """What events said of a person's things, in the order in which it became true."""
    rows = Event.objects.for_team(team).filter(user_id=user_id).order_by("created_at", "id")
    return [told for row in rows.iterator(chunk_size=200) for told in _told(row)]


def _told(event: Event) -> Iterator[Told]:
    area, _, rest = event.event_type.partition(".data.")
    if area != "daily" and not event.event_type.startswith(_DEVICE_EVENT):
        return
    resource = rest.rpartition(".")[0] if area == "daily" else DEVICE.slug
    data: dict[str, Any] = orjson.loads(event.body or "{}")["data"]
    is_created = event.event_type.endswith(".created")
    if resource in SERIES_BY_SLUG:
        for sample in data["data"]:
            yield Told(_sample_name(resource, data["source"], sample), is_created, _digest(sample))
    elif resource == WORKOUT_STREAM.slug:
        yield Told((resource, data["workout_id"]), is_created, None)
    else:
        yield Told((resource, data["id"]), is_created, _digest(_content(data)))


def _anonymous(team: TeamContext, user_id: UUID) -> Iterator[tuple[str, str, object]]:
    for resource, source, block in _samples(team, user_id):
        for sample in _rows(resource, block):
            yield resource, sample["timestamp"][:_DAY_CHARACTERS], [_source(source), sample]
    summaries = list(_summaries(team, user_id))
    names = {str(row.id): row.external_id for row in summaries}
    for row in summaries:
        parent = SUMMARY_BY_SLUG[row.resource].parent
        payload = dict(row.payload)
        if parent is not None:
            payload[parent.id_field] = names.get(str(payload[parent.id_field]))
        instants = [row.starts_at, row.ends_at, row.timezone_offset_seconds]
        place = [row.provider, row.source_type, row.app_id, row.device_id]
        day = row.calendar_date.isoformat()
        yield row.resource, day, [row.external_id, place, instants, payload, row.raw]
        for block in _streams(team, row):
            yield WORKOUT_STREAM.slug, day, [row.external_id, len(block), _stream_digest(block)]


def _samples(team: TeamContext, user_id: UUID) -> Iterator[tuple[str, DataSource, BlockColumns]]:
    """Every series of a person that is no stream of a workout."""
    kept = Series.objects.for_team(team).filter(user_id=user_id).values_list("resource", flat=True).distinct()
    for resource in sorted(set(kept) & set(SERIES_BY_SLUG)):
        for row in read.series_of(team, user_id, resource):
            for block in read.samples_of(user_id, [_all_of(row)]).values():
                yield resource, row.source, block


def _summaries(team: TeamContext, user_id: UUID) -> Iterator[Summary]:
    yield from Summary.objects.for_team(team).filter(user_id=user_id).order_by("resource", "external_id")


def _streams(team: TeamContext, workout: Summary) -> Iterator[BlockColumns]:
    if workout.resource != WORKOUTS.slug:
        return
    rows = read.series_of(team, workout.user_id, WORKOUT_STREAM.slug, workout_id=workout.id)
    yield from read.samples_of(workout.user_id, [_all_of(row) for row in rows]).values()


def _all_of(row: read.SeriesRow) -> Span:
    return Span(row, int(_BUCKETS.min), int(_BUCKETS.max))


def _rows(resource: str, block: BlockColumns) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = orjson.loads(samples_json(SERIES_BY_SLUG[resource], block))
    return found


def _source(source: DataSource) -> list[str | None]:
    return [source.provider, source.type, source.app_id, source.device_id]


def _sample_name(resource: str, source: Mapping[str, Any], sample: Mapping[str, Any]) -> Name:
    place = (source[name] for name in ("provider", "type", "app_id", "device_id"))
    return resource, "|".join([*map(str, place), sample["timestamp"]])


def _content(data: JSONObject | Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name not in _OF_THE_ROW}


def _stream_digest(block: BlockColumns) -> int:
    columns = [
        (name, values.tolist()) for name, values in sorted(block.extra.items()) if isinstance(values, np.ndarray)
    ]
    return _digest([block.start_us.tolist(), columns])


def _digest(value: object) -> int:
    """A number that differs where the value does."""
    raw = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    return int.from_bytes(blake2b(raw, digest_size=8).digest())
