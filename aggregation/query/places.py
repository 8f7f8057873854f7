"""Which table and column a name is: lookups in the schema that log what is unknown, and what would be right."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from aggregation.query.nodes import IndexColumn, TableColumn, TimeseriesColumn, ValueMacro
from aggregation.query.problems import Loc, ProblemLog, ProblemType, choice, one_of, shown
from aggregation.query.reader import macro_column
from aggregation.query.resolved import INDEX, TIMESERIES, ColumnRef
from aggregation.query.schema import AUTOMATIC, ELEMENT, ColumnType, MacroSchema, Schema, SeriesSchema, TableSchema

#: What names a column of a table by itself.
Named: TypeAlias = TableColumn | TimeseriesColumn | IndexColumn | ValueMacro


@dataclass(frozen=True, slots=True)
class Place:
    """The table that a name is of, and the timeseries resource where it is one."""

    table: str
    resource: str | None = None


class Places:
    """Finds names in a schema; what is not there goes to the log and gives None."""

    def __init__(self, schema: Schema, log: ProblemLog) -> None:
        self._schema = schema
        self._log = log

    def of(self, item: Named) -> Place | None:
        """Where a name belongs."""
        if isinstance(item, ValueMacro):
            macro = self._macro(item)
            return None if macro is None else Place(macro.table)
        if isinstance(item, TimeseriesColumn):
            return self._series_place(item.resource, (*item.at, "timeseries"))
        if item.table == TIMESERIES and isinstance(item, IndexColumn):
            return Place(TIMESERIES)
        if self._schema.table(item.table) is not None:
            return Place(item.table)
        at = (*item.at, INDEX) if isinstance(item, IndexColumn) else (*item.at, item.table)
        return self._series_place(item.table, at, tables=True)

    def column(self, item: Named) -> ColumnRef | None:
        """The typed column of a name."""
        if isinstance(item, ValueMacro):
            return self._macro_ref(item)
        place = self.of(item)
        if place is None:
            return None
        if isinstance(item, IndexColumn):
            return ColumnRef(INDEX, self._index_type(place.table), place.resource)
        if isinstance(item, TimeseriesColumn):
            name, at = item.field, (*item.at, "field")
        else:
            name, at = item.column, (*item.at, item.table)
        columns = self.columns_of(place)
        if name not in columns:
            msg = f"{place.resource or place.table} has no column {shown(name)}; {choice(name, list(columns))}"
            self._log.add(at, ProblemType.UNKNOWN_NAME, msg)
            return None
        return ColumnRef(name, columns[name], place.resource)

    def columns_of(self, place: Place) -> Mapping[str, ColumnType]:
        """The columns of a table, or the fields of a timeseries resource."""
        found = self._found(place)
        if found is None:
            return {}
        return found.fields if isinstance(found, SeriesSchema) else found.columns

    def lists_of(self, item: Named) -> Mapping[str, Mapping[str, ColumnType]]:
        """The list columns beside a named column, with the fields of their elements."""
        place = self.of(item)
        found = None if place is None else self._found(place)
        return {} if found is None else found.lists

    def adds_up(self, resource: str) -> bool:
        """Whether two samples side by side make their sum."""
        series = self._schema.series(resource)
        return series is not None and series.adds_up

    def tells_of_sources(self, table: str) -> bool:
        """Whether the rows are about sources, not measured by them."""
        found = self._schema.table(table)
        return found is not None and found.tells_of_sources

    def element_fields(self, item: Named, ref: ColumnRef) -> Mapping[str, ColumnType]:
        """The fields of a list column's elements; empty where it is none."""
        if ref.type is ColumnType.STRING_LIST:
            return {ELEMENT: ColumnType.STRING}
        return self.lists_of(item).get(ref.name, {}) if ref.type is ColumnType.STRUCT_LIST else {}

    def _found(self, place: Place) -> TableSchema | SeriesSchema | None:
        return self._schema.table(place.table) if place.resource is None else self._schema.series(place.resource)

    def _index_type(self, table: str) -> ColumnType:
        found = self._schema.table(table)
        return ColumnType.LOCAL_DATETIME if found is None else found.index_type

    def _series_place(self, resource: str, at: Loc, *, tables: bool = False) -> Place | None:
        if self._schema.series(resource) is not None:
            return Place(TIMESERIES, resource)
        names = [*(self._schema.table_names() if tables else ()), *self._schema.series_names()]
        kind = "table or timeseries resource" if tables else "timeseries resource"
        msg = f"there is no {kind} {shown(resource)}; {choice(resource, names)}"
        self._log.add(at, ProblemType.UNKNOWN_NAME, msg)
        return None

    # Value macros

    def _macro(self, item: ValueMacro) -> MacroSchema | None:
        macro = self._schema.macro(item.name)
        if macro is None:
            names = self._schema.macro_names()
            there_are = f"there are {', '.join(names)}" if names else "there is none"
            msg = f"there is no value macro {shown(item.name)}; {there_are}"
            self._log.add((*item.at, "value_macro"), ProblemType.UNKNOWN_NAME, msg)
        return macro

    def _macro_ref(self, item: ValueMacro) -> ColumnRef | None:
        macro = self._macro(item)
        if macro is None:
            return None
        version = macro.versions[-1] if item.version == AUTOMATIC else item.version
        if version not in macro.versions:
            versions = one_of([f"'{name}'" for name in (AUTOMATIC, *macro.versions)])
            msg = f"{macro.name} has no such version; use {versions}"
            self._log.add((*item.at, "version"), ProblemType.UNKNOWN_VALUE, msg)
            return None
        labels = (macro.name, f"{macro.name}.{version}")
        return ColumnRef(macro_column(macro.name, version), macro.type, None, labels)
