"""Samples of a person as Parquet: a folder for each resource, in files of at most a million samples or so."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final
from uuid import UUID

import numpy as np
import orjson
import pyarrow as pa

from aggregation.catalogue import SERIES_BY_SLUG, STREAM_BY_SLUG, SampleField, SampleFieldKind
from aggregation.codec import BlockColumns, BlockDamagedError, LabelColumn
from aggregation.constants import NO_WORKOUT
from aggregation.exporting.parquet import parquet_pieces
from aggregation.models import Block, Series, Tail
from aggregation.records import OFFSET_UNKNOWN, DataSource
from aggregation.store import read
from aggregation.store.columns import label_texts
from aggregation.store.read import SeriesRow, Span
from aggregation.store.workouts import SOURCE_SPORT, SOURCE_WORKOUT_ID
from healthsvc.kernel.exporting import ExportedFile, ExportPart, Piece, UnreadableError, numbered_files
from healthsvc.kernel.principal import TeamContext

#: A row group, so what is in memory at once; a file ends with the group that reaches its number.
_GROUP_SAMPLES: Final = 100_000
_FILE_SAMPLES: Final = 1_000_000
#: Series and blocks that are looked at together.
_SERIES_AT_ONCE: Final = 200
_BLOCKS_AT_ONCE: Final = 1_000
_LAST_BUCKET: Final = 2**31 - 1
_FIRST_BUCKET: Final = -(2**31)
_DEVICE_LABELS: Final = (
    SampleField(SOURCE_WORKOUT_ID, SampleFieldKind.TEXT, "The workout in which the sample was taken."),
    SampleField(SOURCE_SPORT, SampleFieldKind.TEXT, "Its sport."),
)


@dataclass(frozen=True, slots=True)
class _Kept:
    """A series, and the workout whose course it is or None."""

    row: SeriesRow
    workout_id: UUID | None


def _files(team: TeamContext, user_id: UUID) -> Iterator[ExportedFile]:
    resources = Series.objects.for_team(team).filter(user_id=user_id).order_by("resource")
    for resource in list(resources.values_list("resource", flat=True).distinct()):
        walk = _SamplesWalk(team, user_id, resource)
        yield from numbered_files(f"aggregation/samples/{resource}", "parquet", walk.has_more, walk.pieces)


SAMPLES: Final = ExportPart(
    "aggregation.samples",
    frozenset(model._meta.db_table for model in (Series, Block, Tail)),
    _files,
    about="Measurements, a row each: when, how much, and from which source; `more` is JSON of fields without a column.",
    pattern="aggregation/samples/<resource>.parquet",
)


class _SamplesWalk:
    """Goes through the samples of a resource, series by series in order of time, a file's worth at a time."""

    def __init__(self, team: TeamContext, user_id: UUID, resource: str) -> None:
        self._team = team
        self._user_id = user_id
        self._shape = _Shape(resource)
        self._resource = resource
        #: The last block that was taken.
        self._series_id = -1
        self._bucket = _LAST_BUCKET

    def has_more(self) -> bool:
        """Whether there are samples after those that were taken."""
        return next(self._sizes(limit=1), None) is not None

    def pieces(self) -> Iterator[Piece]:
        """The next file. UnreadableError where a block is damaged."""
        try:
            yield from parquet_pieces(self._shape.schema, self._groups())
        except BlockDamagedError as error:
            raise UnreadableError from error

    def _groups(self) -> Iterator[pa.Table]:
        written = 0
        while written < _FILE_SAMPLES and (taken := self._taken()):
            samples = read.samples_of(self._user_id, _spans(taken))
            kept = {one.row.series_id: one for one, _bucket in taken}
            last, self._bucket = taken[-1][0].row.series_id, taken[-1][1]
            self._series_id = last
            tables = [self._shape.table(kept[series_id], block) for series_id, block in samples.items()]
            if tables:
                group = pa.concat_tables(tables)
                written += group.num_rows
                yield group

    def _taken(self) -> list[tuple[_Kept, int]]:
        """The next blocks that together hold about a row group, at least one where there is any."""
        taken, samples = [], 0
        for kept, bucket, size in self._sizes(limit=_BLOCKS_AT_ONCE):
            taken.append((kept, bucket))
            samples += size
            if samples >= _GROUP_SAMPLES or len(taken) >= _BLOCKS_AT_ONCE:
                break
        return taken

    def _sizes(self, *, limit: int) -> Iterator[tuple[_Kept, int, int]]:
        """Series, number and size of the blocks after the last one that was taken."""
        after, bucket = self._series_id, self._bucket
        # The rest of the series that was begun, then those behind it.
        page = self._series(at=after) if bucket < _LAST_BUCKET else []
        while True:
            spans = {
                one.row.series_id: Span(
                    one.row, bucket + 1 if one.row.series_id == after else _FIRST_BUCKET, _LAST_BUCKET
                )
                for one in page
            }
            kept = {one.row.series_id: one for one in page}
            found = read.block_sizes(self._user_id, list(spans.values()), limit=limit)
            yield from ((kept[series_id], number, size) for series_id, number, size in found)
            if len(found) >= limit:
                return
            page = self._series(after=page[-1].row.series_id if page else after)
            if not page:
                return

    def _series(self, *, at: int | None = None, after: int = -1) -> list[_Kept]:
        rows = Series.objects.for_team(self._team).filter(user_id=self._user_id, resource=self._resource)
        rows = rows.filter(series_id__gt=after) if at is None else rows.filter(series_id=at)
        found = rows.order_by("series_id").values_list(
            "series_id", "provider", "source_type", "app_id", "device_id", "bucket_seconds", "workout_id"
        )[:_SERIES_AT_ONCE]
        return [
            _Kept(
                SeriesRow(series_id, DataSource(provider, kind, app_id or None, device_id or None), bucket_seconds),
                None if workout_id == NO_WORKOUT else workout_id,
            )
            for series_id, provider, kind, app_id, device_id, bucket_seconds, workout_id in found
        ]


def _spans(taken: Sequence[tuple[_Kept, int]]) -> list[Span]:
    spans = []
    for _series_id, found in groupby(taken, key=lambda one: one[0].row.series_id):
        blocks = list(found)
        spans.append(Span(blocks[0][0].row, blocks[0][1], blocks[-1][1]))
    return spans


class _Shape:
    """The columns of a resource's files: what every sample has, its own fields, and its source.

    `more` is JSON of what the catalogue does not name any more; null in nearly every file.
    """

    def __init__(self, resource: str) -> None:
        series, stream = SERIES_BY_SLUG.get(resource), STREAM_BY_SLUG.get(resource)
        self._spec = series
        own = series.fields if series else stream.channels if stream else ()
        self._own = {one.name: one for one in (*own, *_DEVICE_LABELS)}
        instant, text = pa.timestamp("us", tz="UTC"), pa.string()
        columns: list[tuple[str, pa.DataType]] = [
            ("start", instant),
            ("end", instant),
            ("timezone_offset_seconds", pa.int32()),
            ("value", pa.float64()),
            ("unit", text),
            ("type", text),
            *((name, _arrow_type(one)) for name, one in self._own.items()),
            ("provider", text),
            ("source_type", text),
            ("app_id", text),
            ("device_id", text),
            ("workout_id", text),
            ("more", text),
        ]
        self.schema = pa.schema(columns)

    def table(self, kept: _Kept, block: BlockColumns) -> pa.Table:
        """Samples of one series."""
        size, source = len(block), kept.row.source
        types = label_texts(block.type, size)
        unknown = block.offset_seconds == OFFSET_UNKNOWN
        columns: dict[str, Any] = {
            "start": pa.array(block.start_us).cast(pa.timestamp("us", tz="UTC")),
            "end": None if block.end_us is None else pa.array(block.end_us).cast(pa.timestamp("us", tz="UTC")),
            "timezone_offset_seconds": pa.array(block.offset_seconds.astype(np.int32), mask=unknown),
            "value": None if block.value is None else _numbers(block.value),
            "unit": self._units(block, types),
            "type": types,
            "provider": source.provider,
            "source_type": source.type,
            "app_id": source.app_id,
            "device_id": source.device_id,
            "workout_id": None if kept.workout_id is None else str(kept.workout_id),
            "more": self._more(block),
        }
        for name, one in self._own.items():
            columns[name] = _own_column(one, block)
        return pa.table([_column(columns[one.name], one.type, size) for one in self.schema], schema=self.schema)

    def _units(self, block: BlockColumns, types: list[str | None]) -> Any:
        if self._spec is None:
            return None if block.unit is None else label_texts(block.unit, len(block))
        usual = [self._spec.unit_of(kind) for kind in types] if self._spec.units_by_type else self._spec.unit
        if block.unit is None:
            return usual
        own = label_texts(block.unit, len(block))
        others = usual if isinstance(usual, list) else [usual] * len(block)
        return [unit or other for unit, other in zip(own, others, strict=True)]

    def _more(self, block: BlockColumns) -> list[str | None] | None:
        unnamed = {name: _values(column, len(block)) for name, column in block.extra.items() if name not in self._own}
        if not unnamed:
            return None
        rows = (dict(zip(unnamed, values, strict=True)) for values in zip(*unnamed.values(), strict=True))
        return [orjson.dumps(row).decode() for row in rows]


def _arrow_type(one: SampleField) -> pa.DataType:
    return pa.float64() if one.kind is SampleFieldKind.NUMBER else pa.string()


def _own_column(one: SampleField, block: BlockColumns) -> Any:
    """A field's values; None where no sample has it. A list of texts is kept, and shown, joined by commas."""
    column = block.extra.get(one.name)
    if column is None:
        return None
    return label_texts(column, len(block)) if isinstance(column, LabelColumn) else _numbers(column)


def _numbers(values: Any) -> Any:
    return pa.array(values, pa.float64(), from_pandas=True)  # NaN is none


def _values(column: Any, size: int) -> list[Any]:
    return label_texts(column, size) if isinstance(column, LabelColumn) else column.tolist()


def _column(values: Any, kind: Any, size: int) -> Any:
    """A column of the schema: as it is, of one text for all, or of nothing."""
    if values is None:
        return pa.nulls(size, kind)
    if isinstance(values, str):
        return pa.repeat(values, size)
    return values if isinstance(values, pa.Array) else pa.array(values, kind)
