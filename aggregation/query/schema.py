"""What can be queried: typed columns of summary tables and timeseries, as a protocol and a declarative form."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol


class ColumnType(StrEnum):
    """How a column's values are typed. Local datetimes are floating; all datetimes are microseconds inside."""

    FLOAT64 = "float64"
    INT64 = "int64"
    INT16 = "int16"
    BOOL = "bool"
    STRING = "string"
    STRING_LIST = "string_list"
    STRUCT_LIST = "struct_list"
    LOCAL_DATETIME = "local_datetime"
    UTC_DATETIME = "utc_datetime"
    DATE = "date"


NUMERIC_TYPES = frozenset({ColumnType.FLOAT64, ColumnType.INT64, ColumnType.INT16})
TIME_TYPES = frozenset({ColumnType.LOCAL_DATETIME, ColumnType.UTC_DATETIME, ColumnType.DATE})
LIST_TYPES = frozenset({ColumnType.STRING_LIST, ColumnType.STRUCT_LIST})
#: The one field of a list of texts.
ELEMENT: Final = "element"
#: The version of a value macro that stands for its newest.
AUTOMATIC: Final = "automatic"


@dataclass(frozen=True, slots=True)
class TableSchema:
    """A summary table; `index_type` types the column that says when a row happened.

    tells_of_sources: rows that are about sources are no measurements of them, so none stands for another.
    """

    name: str
    columns: Mapping[str, ColumnType]
    index_type: ColumnType
    #: The struct fields of list columns; a list of texts has one, `element`.
    lists: Mapping[str, Mapping[str, ColumnType]] = field(default_factory=dict)
    tells_of_sources: bool = False


@dataclass(frozen=True, slots=True)
class MacroSchema:
    """A value computed from the rows of a table. `versions` in order of age; `automatic` is the last, the newest."""

    name: str
    table: str
    type: ColumnType
    versions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SeriesSchema:
    """A timeseries resource; its index is the sample's floating local time.

    lists: as in a table. adds_up: whether two samples side by side make their sum (steps), so that of a sample only
    the part may be counted that no better source covers.
    """

    resource: str
    fields: Mapping[str, ColumnType]
    lists: Mapping[str, Mapping[str, ColumnType]] = field(default_factory=dict)
    adds_up: bool = False


class Schema(Protocol):
    """The columns a query may name."""

    def table(self, name: str) -> TableSchema | None:
        """The summary table of that name, or None."""

    def series(self, resource: str) -> SeriesSchema | None:
        """The timeseries resource of that slug, or None."""

    def macro(self, name: str) -> MacroSchema | None:
        """The value macro of that name, or None."""

    def macro_names(self) -> Sequence[str]:
        """Every value macro, for messages."""

    def table_names(self) -> Sequence[str]:
        """Every table, for messages."""

    def series_names(self) -> Sequence[str]:
        """Every timeseries resource, for messages."""


class DeclaredSchema:
    """A `Schema` from records, such as the resource catalogue holds."""

    def __init__(
        self, tables: Sequence[TableSchema], series: Sequence[SeriesSchema], macros: Sequence[MacroSchema] = ()
    ) -> None:
        self._macros = {macro.name: macro for macro in macros}
        self._tables = {table.name: table for table in tables}
        self._series = {one.resource: one for one in series}

    def table(self, name: str) -> TableSchema | None:
        return self._tables.get(name)

    def series(self, resource: str) -> SeriesSchema | None:
        return self._series.get(resource)

    def macro(self, name: str) -> MacroSchema | None:
        return self._macros.get(name)

    def macro_names(self) -> Sequence[str]:
        return tuple(self._macros)

    def table_names(self) -> Sequence[str]:
        return tuple(self._tables)

    def series_names(self) -> Sequence[str]:
        return tuple(self._series)


def columns_from(text: str) -> dict[str, ColumnType]:
    """Columns written as `name:type`, separated by white space; `name` alone is a float64."""
    parsed: dict[str, ColumnType] = {}
    for word in text.split():
        name, _, kind = word.partition(":")
        parsed[name] = ColumnType(kind) if kind else ColumnType.FLOAT64
    return parsed
