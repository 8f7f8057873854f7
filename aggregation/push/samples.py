"""Pushed samples as columns: typed, in the resource's own unit, each at its instant."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter
from typing import Annotated, Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from aggregation.catalogue import SampleField, SampleFieldKind, SeriesSpec, canonical_values
from aggregation.constants import OFFSET_MAXIMUM_SECONDS
from aggregation.push.envelope import RecordList
from aggregation.push.instants import Clocks, clocks_read, instants_of
from aggregation.push.receipts import TOO_MANY_WORKOUTS, UNIT_UNKNOWN, Place, RefusedList
from aggregation.push.records import Read, external_id_good, records_read
from aggregation.records import OFFSET_UNKNOWN, DataSource, FieldColumn, SampleColumns, SeriesBatch
from aggregation.store import checking

Mask = NDArray[np.bool_]
#: Workouts whose samples one list may hold.
_WORKOUTS_MAXIMUM: Final = 200

Offset = Annotated[int, msgspec.Meta(ge=-OFFSET_MAXIMUM_SECONDS, le=OFFSET_MAXIMUM_SECONDS)]
_COMMON: Final[tuple[tuple[str, Any, None], ...]] = (
    ("timestamp", str | None, None),
    ("start", str | None, None),
    ("end", str | None, None),
    ("timezone_offset", Offset | None, None),
    ("type", str | None, None),
    ("unit", str | None, None),
    ("workout_id", str | None, None),
)
_FIELD_TYPES: Final[dict[SampleFieldKind, Any]] = {
    SampleFieldKind.NUMBER: float | None,
    SampleFieldKind.TEXT: str | None,
    SampleFieldKind.TEXTS: list[str] | None,
}


@dataclass(frozen=True, slots=True)
class Piece:
    """Samples of one list that could be read, of one workout or none, and the place of each in its list."""

    place: Place
    spec: SeriesSpec
    batch: SeriesBatch
    indexes: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Decoders:
    one: msgspec.json.Decoder[msgspec.Struct]
    many: msgspec.json.Decoder[list[msgspec.Struct]]


@lru_cache(maxsize=256)
def _decoders(spec: SeriesSpec) -> _Decoders:
    own: list[tuple[str, Any, None]] = [(one.name, _FIELD_TYPES[one.kind], None) for one in spec.fields]
    if spec.has_value:
        own.append(("value", float | None, None))
    elif any(one.is_text_value for one in spec.fields):
        own.append(("value", str | None, None))
    made = msgspec.defstruct(f"Sample_{spec.slug}", [*_COMMON, *own], forbid_unknown_fields=True, gc=False, frozen=True)
    return _Decoders(msgspec.json.Decoder(made), msgspec.json.Decoder(list[made]))  # type: ignore[valid-type]


def samples_read(
    given: RecordList, spec: SeriesSpec, source: DataSource, time_zone: str | None, refused: RefusedList
) -> list[Piece]:
    """The samples of one list; what is wrong is refused by its place."""
    decoders = _decoders(spec)
    read = records_read(given.place, given.records, decoders.one, decoders.many, refused)
    if not read.records:
        return []
    return _Columns(given.place, spec, source, time_zone, read, refused).pieces()


@dataclass(slots=True)
class _Columns:
    """The columns of one list on their way; `good` says which samples are still in."""

    place: Place
    spec: SeriesSpec
    source: DataSource
    time_zone: str | None
    read: Read[msgspec.Struct]
    refused: RefusedList
    good: Mask = field(init=False)

    def __post_init__(self) -> None:
        self.good = np.ones(len(self.read.records), np.bool_)

    def pieces(self) -> list[Piece]:
        start_us, end_us, offset_seconds = self._times()
        values, fields = self._contents()
        samples = SampleColumns(
            start_us=start_us,
            value=values,
            offset_seconds=offset_seconds,
            end_us=end_us,
            type=_texts_or_none(self._types()),
            fields=fields,
        )
        return self._by_workout(samples)

    def _column(self, name: str) -> list[Any]:
        return list(map(attrgetter(name), self.read.records))

    def _types(self) -> list[str | None]:
        return [kind or None for kind in self._column("type")]

    def _refuse(self, bad: Mask, reason: str, *loc: str) -> None:
        bad = bad & self.good
        if bad.any():
            self.refused.add(self.place, self.read.indexes[bad].tolist(), reason, loc)
            self.good &= ~bad

    def _times(self) -> tuple[NDArray[np.int64], NDArray[np.int64] | None, NDArray[np.int32]]:
        first, second = ("start", "timestamp") if self.spec.is_interval else ("timestamp", "start")
        texts = self._column(first)
        if None in texts:
            texts = [
                text if text is not None else other for text, other in zip(texts, self._column(second), strict=True)
            ]
            self._refuse(np.array([text is None for text in texts]), checking.MISSING_FIELD, first)
        offsets = self._offsets()
        starts = instants_of(clocks_read(texts), offsets, self.time_zone)
        self._refuse(~starts.good, checking.BAD_DATE, first)
        if not self.spec.is_interval:
            return starts.at_us, None, starts.offset_seconds
        return starts.at_us, self._ends(starts.at_us, starts.offset_seconds, offsets), starts.offset_seconds

    def _offsets(self) -> NDArray[np.float64] | None:
        offsets = self._column("timezone_offset")
        return None if set(offsets) == {None} else np.array(offsets, np.float64)

    def _ends(
        self, start_us: NDArray[np.int64], person: NDArray[np.int32], offsets: NDArray[np.float64] | None
    ) -> NDArray[np.int64]:
        texts = self._column("end")
        if set(texts) == {None}:
            return start_us
        absent = np.array([text is None for text in texts])
        clocks = clocks_read(texts)
        if self.time_zone is None and clocks.naive.any():
            # The start of the same sample may have told where the person was.
            offsets = np.where(person == OFFSET_UNKNOWN, np.nan, person)
        ends = instants_of(
            Clocks(clocks.wall_us, clocks.offset_seconds, clocks.naive, clocks.good | absent), offsets, self.time_zone
        )
        self._refuse(~ends.good & ~absent, checking.BAD_DATE, "end")
        return np.where(absent, start_us, ends.at_us)

    def _contents(self) -> tuple[NDArray[np.float64] | None, dict[str, FieldColumn]]:
        values: NDArray[np.float64] | None = None
        fields = {one.name: self._field(one) for one in self.spec.fields}
        numbers = {one.name for one in self.spec.fields if one.kind is SampleFieldKind.NUMBER}
        if self.spec.has_value:
            values = np.array(self._column("value"), np.float64)
            self._refuse(np.isnan(values), checking.MISSING_FIELD, "value")
            values = self._canonical(values)
        else:
            for name in numbers:
                fields[name] = self._canonical(np.asarray(fields[name], np.float64))
        return values, {name: column for name, column in fields.items() if _has_any(column)}

    def _field(self, one: SampleField) -> FieldColumn:
        column = self._column(one.name)
        if one.is_text_value:
            column = [
                own if own is not None else value for own, value in zip(column, self._column("value"), strict=True)
            ]
        if one.required:
            self._refuse(np.array([entry is None for entry in column]), checking.MISSING_FIELD, one.name)
        if one.kind is SampleFieldKind.NUMBER:
            return np.array(column, np.float64)
        if one.kind is SampleFieldKind.TEXT:
            return column
        bad = [entry is not None and any("," in text for text in entry) for entry in column]
        self._refuse(np.array(bad), checking.BAD_VALUE, one.name)
        return [None if not entry else ",".join(entry) for entry in column]

    def _canonical(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The values in the resource's unit; those in a unit it does not take are refused."""
        units = self._column("unit")
        own = {None, self.spec.unit}
        if set(units) <= own:
            return values
        types = self._types() if self.spec.accepted_by_type else [None] * len(units)
        converted = values.copy()
        rows_of: dict[tuple[str, str | None], list[int]] = {}
        for row, (unit, kind) in enumerate(zip(units, types, strict=True)):
            if unit not in own:
                rows_of.setdefault((unit, kind), []).append(row)
        for (unit, kind), rows in rows_of.items():
            there = canonical_values(self.spec, values[rows], unit, kind)
            if there is None:
                bad = np.zeros(len(values), np.bool_)
                bad[rows] = True
                self._refuse(bad, UNIT_UNKNOWN, "unit")
            else:
                converted[rows] = there
        return converted

    def _by_workout(self, samples: SampleColumns) -> list[Piece]:
        workouts = self._column("workout_id")
        if set(workouts) == {None}:
            return self._piece(samples, None, self.good)
        nameless = {name for name in set(workouts) if name is not None and not external_id_good(name)}
        self._refuse(np.array([name in nameless for name in workouts]), checking.BAD_VALUE, "workout_id")
        numbers: dict[str | None, int] = {}
        codes = np.array([numbers.setdefault(workout or None, len(numbers)) for workout in workouts])
        self._refuse(codes >= _WORKOUTS_MAXIMUM, TOO_MANY_WORKOUTS, "workout_id")
        return [
            piece
            for workout, code in list(numbers.items())[:_WORKOUTS_MAXIMUM]
            for piece in self._piece(samples, workout, self.good & (codes == code))
        ]

    def _piece(self, samples: SampleColumns, workout: str | None, rows: Mask) -> list[Piece]:
        if not rows.any():
            return []
        taken = samples if rows.all() else samples_take(samples, np.flatnonzero(rows))
        batch = SeriesBatch(self.spec.slug, self.source, taken, workout)
        return [Piece(self.place, self.spec, batch, self.read.indexes[rows])]


def samples_take(samples: SampleColumns, rows: NDArray[np.intp]) -> SampleColumns:
    """Some of the samples."""
    return SampleColumns(
        start_us=samples.start_us[rows],
        value=None if samples.value is None else samples.value[rows],
        offset_seconds=samples.offset_seconds[rows],
        end_us=None if samples.end_us is None else samples.end_us[rows],
        type=None if samples.type is None else [samples.type[row] for row in rows.tolist()],
        fields={
            name: column[rows] if isinstance(column, np.ndarray) else [column[row] for row in rows.tolist()]
            for name, column in samples.fields.items()
        },
    )


def _texts_or_none(texts: Sequence[str | None]) -> Sequence[str | None] | None:
    return None if set(texts) == {None} else texts


def _has_any(column: FieldColumn) -> bool:
    if isinstance(column, np.ndarray):
        return bool(np.isfinite(column).any())
    return any(text is not None for text in column)
