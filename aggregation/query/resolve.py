"""Names → typed columns: one query on one table, what may be selected, and what is not furnished yet."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aggregation.query.conditions import where_resolve
from aggregation.query.nodes import (
    Aggregate,
    DatePart,
    DateTrunc,
    Function,
    GroupItem,
    GroupKey,
    IndexColumn,
    Placeholder,
    Query,
    ScalarSubquery,
    SelectItem,
    SourceColumn,
    TableColumn,
    TimeseriesColumn,
    ValueMacro,
)
from aggregation.query.problems import Loc, ProblemLog, ProblemType, choice, one_of, shown
from aggregation.query.resolved import (
    INDEX,
    TIMESERIES,
    ColumnRef,
    Condition,
    Key,
    KeyColumn,
    KeyPart,
    KeyTrunc,
    ResolvedQuery,
    SelectAggregate,
    SelectColumn,
    Selected,
    SelectKey,
)
from aggregation.query.schema import LIST_TYPES, NUMERIC_TYPES, ColumnType, Schema
from aggregation.query.tables import KNOWN_RESOURCES, KNOWN_TABLES

NUMERIC_FUNCTIONS = frozenset({Function.MEAN, Function.SUM, Function.MEDIAN, Function.STDDEV})

_ONLY_REDUCED = "with a group_by every select item has to be an aggregate or a group key"
_YET = "is not supported yet"


@dataclass(frozen=True, slots=True)
class _Place:
    """The table that a name is of, and the timeseries resource where it is one."""

    table: str
    resource: str | None


def query_resolve(query: Query, schema: Schema, log: ProblemLog) -> ResolvedQuery | None:
    """The query in typed references; None after logging everything that is wrong with it."""
    return _QueryResolver(query, schema, log).resolved()


class _QueryResolver:
    def __init__(self, query: Query, schema: Schema, log: ProblemLog) -> None:
        self._query = query
        self._schema = schema
        self._log = log
        self._table: str | None = None
        self._resources: list[str] = []

    def resolved(self) -> ResolvedQuery | None:
        before = len(self._log)
        self._settle_table()
        if self._table is None or len(self._log) > before:
            return None
        keys = self._keys()
        select = self._select()
        where = self._where()
        if len(self._log) > before:
            return None
        return ResolvedQuery(self._table, tuple(self._resources), select, keys, where, self._query.at)

    # Which table

    def _settle_table(self) -> None:
        """The one table and its resources, from everything the query names; refuses what has no room yet."""
        before = len(self._log)
        if self._query.align is not None:
            self._log.add(self._query.align.at, ProblemType.NOT_SUPPORTED_YET, f"align {_YET}")
        buckets = [item.arg for item in self._query.group_by if isinstance(item, DateTrunc | DatePart)]
        for item in (*self._query.select, *self._query.group_by):
            self._settle(item.arg if isinstance(item, Aggregate) else item)
        named = bool(self._resources)
        for argument in buckets:
            if isinstance(argument, IndexColumn):
                self._settle(argument, may_add=not named)
        if len(self._log) > before:
            return
        at = (*self._query.at, "select")
        if self._table is None:
            self._log.add(at, ProblemType.MISSING, "the query names no table; select a column of one")
        elif self._table == TIMESERIES and not self._resources:
            msg = 'the query names no timeseries resource; write it in the index: {"index": "heartrate"}'
            self._log.add(at, ProblemType.MISSING, msg)

    def _settle(self, item: SelectItem | GroupItem, *, may_add: bool = True) -> None:
        if isinstance(item, ValueMacro):
            self._log.add(item.at, ProblemType.NOT_SUPPORTED_YET, f"a value macro {_YET}")
        elif isinstance(item, ScalarSubquery):
            self._log.add(item.at, ProblemType.NOT_SUPPORTED_YET, f"a scalar subquery {_YET}")
        elif isinstance(item, TableColumn | TimeseriesColumn | IndexColumn):
            place = self._place(item)
            if place is None:
                return
            if self._table is None:
                self._table = place.table
            if place.table != self._table:
                msg = f"one query works on one table, and this one already uses {self._table}"
                self._log.add(item.at, ProblemType.NOT_ALLOWED, msg)
            elif place.resource is not None and place.resource not in self._resources:
                self._add_resource(place.resource, item.at, may_add=may_add)

    def _add_resource(self, resource: str, loc: Loc, *, may_add: bool) -> None:
        if may_add:
            self._resources.append(resource)
            return
        msg = f"the query selects nothing of {resource}; use the index of {self._resources[0]}"
        self._log.add(loc, ProblemType.NOT_ALLOWED, msg)

    def _place(self, item: TableColumn | TimeseriesColumn | IndexColumn) -> _Place | None:
        if isinstance(item, TimeseriesColumn):
            return self._series_place(item.resource, (*item.at, "timeseries"))
        if item.table == TIMESERIES and isinstance(item, IndexColumn):
            return _Place(TIMESERIES, None)
        if self._schema.table(item.table) is not None:
            return _Place(item.table, None)
        at = (*item.at, INDEX) if isinstance(item, IndexColumn) else (*item.at, item.table)
        if item.table in KNOWN_TABLES:
            self._log.add(at, ProblemType.NOT_SUPPORTED_YET, f"the table {item.table} {_YET}")
            return None
        return self._series_place(item.table, at, tables=True)

    def _series_place(self, resource: str, at: Loc, *, tables: bool = False) -> _Place | None:
        if self._schema.series(resource) is not None:
            return _Place(TIMESERIES, resource)
        if resource in KNOWN_RESOURCES:
            self._log.add(at, ProblemType.NOT_SUPPORTED_YET, f"the timeseries {resource} {_YET}")
            return None
        names = [*(self._schema.table_names() if tables else ()), *self._schema.series_names()]
        kind = "table or timeseries resource" if tables else "timeseries resource"
        msg = f"there is no {kind} {shown(resource)}; {choice(resource, names)}"
        self._log.add(at, ProblemType.UNKNOWN_NAME, msg)
        return None

    # Columns

    def _column(self, item: TableColumn | TimeseriesColumn | IndexColumn) -> ColumnRef | None:
        place = self._place(item)
        if place is None:
            return None
        if isinstance(item, IndexColumn):
            return ColumnRef(INDEX, self._index_type(), place.resource)
        if isinstance(item, TimeseriesColumn):
            name, at = item.field, (*item.at, "field")
        else:
            name, at = item.column, (*item.at, item.table)
        columns = self._columns_of(place)
        if name not in columns:
            msg = f"{place.resource or place.table} has no column {shown(name)}; {choice(name, list(columns))}"
            self._log.add(at, ProblemType.UNKNOWN_NAME, msg)
            return None
        return ColumnRef(name, columns[name], place.resource)

    def _columns_of(self, place: _Place) -> Mapping[str, ColumnType]:
        table = self._schema.table(place.table)
        series = self._schema.series(place.resource) if place.resource is not None else None
        if series is not None:
            return series.fields
        return table.columns if table is not None else {}

    def _index_type(self) -> ColumnType:
        table = self._schema.table(self._table or "")
        return ColumnType.LOCAL_DATETIME if table is None else table.index_type

    def _source(self, item: SourceColumn) -> ColumnRef | None:
        columns = self._shared_columns()
        if item.name in columns:
            return ColumnRef(item.name.value, columns[item.name])
        names = [name for name in columns if name.startswith("source_")]
        msg = f"{self._table} has no {item.name}; {choice(None, names)}"
        self._log.add((*item.at, "source"), ProblemType.UNKNOWN_NAME, msg)
        return None

    def _shared_columns(self) -> Mapping[str, ColumnType]:
        """The columns of the table; of several timeseries resources those that all of them have."""
        table = self._table or ""
        if table != TIMESERIES:
            return self._columns_of(_Place(table, None))
        each = [self._columns_of(_Place(TIMESERIES, resource)) for resource in self._resources]
        return {
            name: column_type
            for name, column_type in each[0].items()
            if all(other.get(name) is column_type for other in each[1:])
        }

    # Clauses

    def _keys(self) -> tuple[Key, ...]:
        keys = [self._key(item) for item in self._query.group_by]
        truncs = [item for item in self._query.group_by if isinstance(item, DateTrunc)]
        for item in truncs[1:]:
            self._log.add(item.at, ProblemType.NOT_ALLOWED, "a query has at most one date_trunc")
        return tuple(key for key in keys if key is not None)

    def _key(self, item: GroupItem) -> Key | None:
        if isinstance(item, DateTrunc):
            return KeyTrunc(item.period)
        if isinstance(item, DatePart):
            return KeyPart(item.part)
        if isinstance(item, ValueMacro):
            return None  # refused while the table was settled
        ref = self._source(item) if isinstance(item, SourceColumn) else self._column(item)
        if ref is not None and ref.type in LIST_TYPES:
            self._log.add(item.at, ProblemType.NOT_ALLOWED, "a list column cannot be a group key")
        return None if ref is None else KeyColumn(ref)

    def _select(self) -> tuple[Selected, ...]:
        selected = [one for item in self._query.select for one in self._selected(item)]
        has_aggregate = any(isinstance(one, SelectAggregate) for one in selected)
        for one in selected:
            if not isinstance(one, SelectColumn):
                continue
            if self._query.group_by:
                self._log.add(one.at, ProblemType.NOT_ALLOWED, _ONLY_REDUCED)
            elif has_aggregate:
                msg = "without a group_by the select items are all aggregates or all columns"
                self._log.add(one.at, ProblemType.NOT_ALLOWED, msg)
        return tuple(selected)

    def _selected(self, item: SelectItem) -> Sequence[Selected]:
        if isinstance(item, GroupKey):
            return self._selected_keys(item)
        if isinstance(item, Aggregate):
            return self._aggregate(item)
        if isinstance(item, ValueMacro | ScalarSubquery):
            return ()  # refused while the table was settled
        ref = self._source(item) if isinstance(item, SourceColumn) else self._column(item)
        if ref is None:
            return ()
        if ref.type in LIST_TYPES:
            msg = "a list column cannot be selected directly; use a scalar subquery over it"
            self._log.add(item.at, ProblemType.NOT_ALLOWED, msg)
        return (SelectColumn(ref, item.at),)

    def _selected_keys(self, item: GroupKey) -> Sequence[Selected]:
        count = len(self._query.group_by)
        at = (*item.at, "group_key")
        if count == 0:
            self._log.add(at, ProblemType.NOT_ALLOWED, "a group key needs a group_by")
            return ()
        if item.offset is None:
            return [SelectKey(offset, item.at) for offset in range(count)]
        if item.offset >= count:
            msg = f"group_by has {count} item(s): use a position from 0 to {count - 1}"
            self._log.add(at, ProblemType.OUT_OF_RANGE, msg)
            return ()
        return (SelectKey(item.offset, item.at),)

    def _aggregate(self, item: Aggregate) -> Sequence[Selected]:
        if isinstance(item.arg, ValueMacro | ScalarSubquery):
            return ()  # refused while the table was settled
        ref = self._column(item.arg)
        if ref is None:
            return ()
        if ref.type in LIST_TYPES:
            self._log.add(item.arg.at, ProblemType.NOT_ALLOWED, "a list column cannot be aggregated directly")
        elif item.func in NUMERIC_FUNCTIONS and ref.type not in NUMERIC_TYPES:
            others = one_of([function for function in Function if function not in NUMERIC_FUNCTIONS])
            msg = f"{item.func} needs numbers, and {ref.name} is of type {ref.type}; use {others}"
            self._log.add((*item.at, "func"), ProblemType.NOT_ALLOWED, msg)
        return (SelectAggregate(item.func, ref, item.at),)

    def _where(self) -> Condition | None:
        if self._query.where is None or self._table is None:
            return None
        name = self._resources[0] if len(self._resources) == 1 else self._table
        loc = (*self._query.at, "where")
        return where_resolve(self._query.where, self._shared_columns(), name, loc, self._log)


def placeholder_refusal(placeholder: Placeholder, log: ProblemLog) -> None:
    """A placeholder belongs to a stored query; a direct one has to say its timeframe."""
    msg = 'a placeholder is for stored queries; give {"type": "relative", "anchor": …, "past": …}'
    log.add(placeholder.at, ProblemType.NOT_ALLOWED, msg)
