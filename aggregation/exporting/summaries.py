"""Summaries of a person, twice: whole as JSON Lines, with their sources' own forms; and as tables in Parquet."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final
from uuid import UUID

import orjson
import pyarrow as pa
from django.db.models import QuerySet

from aggregation.catalogue import SUMMARY_BY_SLUG, FieldKind, FieldSpec
from aggregation.exporting.parquet import parquet_pieces
from aggregation.models import Summary
from healthsvc.kernel.exporting import (
    FILE_ROWS,
    PAGE_ROWS,
    ExportedFile,
    ExportPart,
    Piece,
    numbered_files,
    own_rows,
    table_part,
)
from healthsvc.kernel.principal import TeamContext

#: Sources' own forms of workouts may be large.
_RAWS_AT_ONCE: Final = 50
_INSTANT: Final = pa.timestamp("us", tz="UTC")
_ROW_COLUMNS: Final[tuple[tuple[str, pa.DataType], ...]] = (
    ("id", pa.string()),
    ("external_id", pa.string()),
    ("calendar_date", pa.date32()),
    ("starts_at", _INSTANT),
    ("ends_at", _INSTANT),
    ("timezone_offset_seconds", pa.int32()),
    ("provider", pa.string()),
    ("source_type", pa.string()),
    ("app_id", pa.string()),
    ("device_id", pa.string()),
    ("created_at", _INSTANT),
    ("updated_at", _INSTANT),
)
_TYPES: Final[Mapping[FieldKind, tuple[pa.DataType, Callable[[Any], Any]]]] = {
    FieldKind.NUMBER: (pa.float64(), float),
    FieldKind.WHOLE: (pa.int64(), int),
    FieldKind.FLAG: (pa.bool_(), bool),
    FieldKind.WHOLES: (pa.list_(pa.int64()), lambda value: [int(one) for one in value]),
    **dict.fromkeys((FieldKind.TEXT, FieldKind.INSTANT, FieldKind.DATE, FieldKind.SPORT), (pa.string(), str)),
}


def _files(team: TeamContext, user_id: UUID) -> Iterator[ExportedFile]:
    resources = Summary.objects.for_team(team).filter(user_id=user_id).order_by("resource")
    for resource in list(resources.values_list("resource", flat=True).distinct()):
        walk = _TableWalk(team, user_id, resource)
        yield from numbered_files(f"aggregation/summaries/{resource}", "parquet", walk.has_more, walk.pieces)


def _is_of_a_day(resource: str) -> bool:
    spec = SUMMARY_BY_SLUG.get(resource)
    return spec is None or not spec.is_undated


def _line(_user_id: UUID, record: dict[str, Any]) -> dict[str, Any]:
    """Without the day that is written where there is none."""
    if not _is_of_a_day(record["resource"]):
        del record["calendar_date"]
    return record


SUMMARIES: Final = (
    table_part(
        "aggregation.summaries",
        Summary,
        own_rows(Summary),
        page_rows=_RAWS_AT_ONCE,
        shown=_line,
        about="Nights, days, workouts and the like, each whole (`payload`), and as its source gave it (`raw`).",
    ),
    ExportPart(
        "aggregation.summary_tables",
        frozenset({Summary._meta.db_table}),
        _files,
        about="The same as tables, a column a field; objects are JSON, and `more` has fields without a column.",
        pattern="aggregation/summaries/<resource>.parquet",
    ),
)


class _TableWalk:
    """Goes through the summaries of a resource by their ids, a file's worth at a time."""

    def __init__(self, team: TeamContext, user_id: UUID, resource: str) -> None:
        self._rows = Summary.objects.for_team(team).filter(user_id=user_id, resource=resource).order_by("id")
        spec = SUMMARY_BY_SLUG.get(resource)
        self._columns = [one for one in _ROW_COLUMNS if one[0] != "calendar_date" or _is_of_a_day(resource)]
        taken = {name for name, _kind in _ROW_COLUMNS}
        self._fields = [(_named(field, taken), field, *_typed(field)) for field in (spec.fields if spec else ())]
        self._names = {field.name for _name, field, _kind, _cell in self._fields}
        self.schema = pa.schema(
            [*self._columns, *((name, kind) for name, _field, kind, _cell in self._fields), ("more", pa.string())]
        )
        self._after: UUID | None = None

    def has_more(self) -> bool:
        """Whether there are rows after those that were taken."""
        return self._rest().exists()

    def pieces(self) -> Iterator[Piece]:
        """The next file: the fields that the catalogue names as columns, nested ones as JSON; others under `more`."""
        return parquet_pieces(self.schema, self._groups())

    def _rest(self) -> QuerySet[Summary]:
        return self._rows if self._after is None else self._rows.filter(id__gt=self._after)

    def _groups(self) -> Iterator[pa.Table]:
        written = 0
        while written < FILE_ROWS and (page := list(self._rest().defer("raw")[:PAGE_ROWS])):
            self._after = page[-1].id
            written += len(page)
            yield pa.Table.from_pylist([self._row(one) for one in page], schema=self.schema)

    def _row(self, row: Summary) -> dict[str, Any]:
        shown: dict[str, Any] = {name: getattr(row, name) for name, _kind in self._columns}
        shown["id"] = str(row.id)
        for name, field, _kind, cell in self._fields:
            value = row.payload.get(field.name)
            shown[name] = None if value is None else cell(value)
        more = {name: value for name, value in row.payload.items() if name not in self._names}
        shown["more"] = _json(more) if more else None
        return shown


def _named(field: FieldSpec, taken: set[str]) -> str:
    """The column's name: the field's, beside what every summary has."""
    return f"field_{field.name}" if field.name in {*taken, "more"} else field.name


def _typed(field: FieldSpec) -> tuple[pa.DataType, Callable[[Any], Any]]:
    return _TYPES.get(field.kind, (pa.string(), _json))


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()
