"""Samples as the API and its events show them, made of the resource's record alone."""

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

import numpy as np
import orjson

from aggregation.catalogue import SampleField, SampleFieldKind, SeriesSpec
from aggregation.codec import BlockColumns, LabelColumn
from aggregation.constants import EVENT_SAMPLES_GUESS
from aggregation.records import OFFSET_UNKNOWN, DataSource
from aggregation.shapes.sources import source_json
from aggregation.store.columns import block_take, label_texts
from aggregation.store.workouts import SOURCE_SPORT, SOURCE_WORKOUT_ID


def samples_json(spec: SeriesSpec, block: BlockColumns) -> bytes:
    """The samples as a JSON array; about 0.6 microseconds a sample without fields of its own."""
    # NumPy gives naive datetimes, which are written as the UTC they are; NaN is written as null.
    return orjson.dumps(_sample_rows(spec, block), option=orjson.OPT_NAIVE_UTC)


def samples_pieces(spec: SeriesSpec, block: BlockColumns, *, maximum_bytes: int) -> Iterator[bytes]:
    """The samples in their order as JSON arrays of at most so many bytes; one that is larger by itself goes alone.

    How many fit is guessed from those before, so that most samples are written once: a piece that turns out too large
    is made anew of fewer, and each is planned to be a tenth smaller than it may be.
    """
    begin, size = 0, EVENT_SAMPLES_GUESS
    while begin < len(block):
        piece = block_take(block, slice(begin, begin + size)) if begin or size < len(block) else block
        text = samples_json(spec, piece)
        if len(text) > maximum_bytes and len(piece) > 1:
            size = min(len(piece) - 1, max(1, len(piece) * maximum_bytes * 9 // (len(text) * 10)))
            continue
        yield text
        begin += len(piece)
        size = max(1, len(piece) * maximum_bytes * 9 // (len(text) * 10))


def _sample_rows(spec: SeriesSpec, block: BlockColumns) -> list[dict[str, Any]]:
    rows = _interval_rows(spec, block) if spec.is_interval else _instant_rows(spec, block)
    if not spec.has_value:
        for row in rows:
            del row["value"]
    for field in spec.fields:
        name = "value" if field.is_text_value else field.name
        for row, value in zip(rows, _field_values(field, block), strict=True):
            row[name] = value
    return rows


def _instant_rows(spec: SeriesSpec, block: BlockColumns) -> list[dict[str, Any]]:
    return [
        {"timestamp": start, "timezone_offset": offset, "type": kind, "unit": unit, "value": value}
        for start, offset, kind, unit, value in zip(*_columns(spec, block), strict=True)
    ]


def _interval_rows(spec: SeriesSpec, block: BlockColumns) -> list[dict[str, Any]]:
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
        for end, start, offset, kind, unit, value in zip(ends, *_columns(spec, block), strict=True)
    ]


def _columns(
    spec: SeriesSpec, block: BlockColumns
) -> tuple[list[Any], list[int | None], list[str | None], list[str], list[Any]]:
    starts = block.start_us.astype("M8[us]").tolist()
    offsets = [None if offset == OFFSET_UNKNOWN else offset for offset in block.offset_seconds.tolist()]
    values = [None] * len(block) if block.value is None else block.value.tolist()
    types = label_texts(block.type, len(block))
    units = [spec.unit_of(kind) for kind in types] if spec.units_by_type else [spec.unit] * len(block)
    return starts, offsets, types, units, values


def _field_values(field: SampleField, block: BlockColumns) -> list[Any]:
    column = block.extra.get(field.name)
    if column is None:
        return [None] * len(block)
    if not isinstance(column, LabelColumn):
        numbers: list[Any] = column.tolist()
        return numbers
    if field.kind is SampleFieldKind.TEXTS:
        lists = [*(name.split(",") for name in column.names), None]  # a code of -1 finds the None
        return [lists[code] for code in column.codes.tolist()]
    return label_texts(column, len(block))


def sample_groups(block: BlockColumns) -> Iterator[tuple[UUID | None, str | None, BlockColumns]]:
    """The samples of one source by the workout they are of: its id, its sport's slug, its samples."""
    workouts, sports = block.extra.get(SOURCE_WORKOUT_ID), block.extra.get(SOURCE_SPORT)
    if not isinstance(workouts, LabelColumn) or not workouts.names:
        yield None, None, block
        return
    sports = sports if isinstance(sports, LabelColumn) else LabelColumn(np.full(len(block), -1, np.int32), ())
    pairs = workouts.codes.astype(np.int64) << 32 | (sports.codes.astype(np.int64) + 1)
    found, first, group = np.unique(pairs, return_index=True, return_inverse=True)
    for number, at in enumerate(first.tolist()):
        workout, sport = int(workouts.codes[at]), int(sports.codes[at])
        yield (
            UUID(workouts.names[workout]) if workout >= 0 else None,
            sports.names[sport] if sport >= 0 else None,
            block if len(found) == 1 else block_take(block, group == number),
        )


def groups_json(
    user_id: UUID, spec: SeriesSpec, groups: Sequence[tuple[DataSource, BlockColumns]]
) -> dict[str, list[Any]]:
    """Samples by provider, then by source and the workout they are of."""
    shown: dict[str, list[Any]] = {}
    for source, block in sorted(groups, key=lambda group: (group[0].type, group[0].app_id or "")):
        for workout_id, sport, samples in sample_groups(block):
            entry = {
                "source": source_json(user_id, source, workout_id=workout_id, sport=sport),
                "data": orjson.Fragment(samples_json(spec, samples)),
            }
            shown.setdefault(source.provider, []).append(entry)
    return shown
