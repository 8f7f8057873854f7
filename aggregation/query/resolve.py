"""Names → typed columns: one query on one table, and what may be selected."""

from collections.abc import Mapping, Sequence

from aggregation.query.align_rules import align_check
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
)
from aggregation.query.places import Named, Place, Places
from aggregation.query.problems import Loc, ProblemLog, ProblemType, choice
from aggregation.query.resolved import (
    TIMESERIES,
    ColumnRef,
    Condition,
    Key,
    KeyColumn,
    KeyPart,
    KeyTrunc,
    Ref,
    ResolvedQuery,
    SelectAggregate,
    SelectColumn,
    Selected,
    SelectKey,
    SubqueryRef,
)
from aggregation.query.schema import LIST_TYPES, NUMERIC_TYPES, ColumnType, Schema
from aggregation.query.subqueries import NUMERIC_FUNCTIONS, numbers_needed, subquery_resolve

_ONLY_REDUCED = "with a group_by every select item has to be an aggregate or a group key"
_WRAP = "with a group_by a subquery has to be the argument of an aggregate"
_SOURCE_COLUMNS = ("source_provider", "source_type")


def query_resolve(query: Query, schema: Schema, log: ProblemLog) -> ResolvedQuery | None:
    """The query in typed references; None after logging everything that is wrong with it."""
    return _QueryResolver(query, schema, log).resolved()


class _QueryResolver:
    def __init__(self, query: Query, schema: Schema, log: ProblemLog) -> None:
        self._query = query
        self._places = Places(schema, log)
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
        align = self._query.align
        if len(self._log) > before:
            return None
        if align is not None:
            align_check(align, keys, select, self._log)
        return ResolvedQuery(
            table=self._table,
            resources=tuple(self._resources),
            adds_up=frozenset(filter(self._places.adds_up, self._resources)),
            has_sources=self._has_sources(),
            select=select,
            keys=keys,
            where=where,
            align=align,
            at=self._query.at,
        )

    # Which table

    def _settle_table(self) -> None:
        """The one table and its resources, from everything the query names."""
        before = len(self._log)
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
        named = item.unnest if isinstance(item, ScalarSubquery) else item
        if isinstance(named, Named):
            place = self._places.of(named)
            if place is None:
                return
            if self._table is None:
                self._table = place.table
            if place.table != self._table:
                msg = f"one query works on one table, and this one already uses {self._table}"
                self._log.add(named.at, ProblemType.NOT_ALLOWED, msg)
            elif place.resource is not None and place.resource not in self._resources:
                self._add_resource(place.resource, named.at, may_add=may_add)

    def _add_resource(self, resource: str, loc: Loc, *, may_add: bool) -> None:
        if may_add:
            self._resources.append(resource)
            return
        msg = f"the query selects nothing of {resource}; use the index of {self._resources[0]}"
        self._log.add(loc, ProblemType.NOT_ALLOWED, msg)

    # Columns

    def _ref(self, item: Named | ScalarSubquery) -> Ref | None:
        if isinstance(item, ScalarSubquery):
            return subquery_resolve(item, self._places, self._log)
        return self._places.column(item)

    def _source(self, item: SourceColumn) -> ColumnRef | None:
        columns = self._shared_columns()
        if item.name in columns:
            return ColumnRef(item.name.value, columns[item.name])
        names = [name for name in columns if name.startswith("source_")]
        instead = f"; {choice(None, names)}" if names else ", nor any other column of a source"
        msg = f"{self._table} has no {item.name}{instead}"
        self._log.add((*item.at, "source"), ProblemType.UNKNOWN_NAME, msg)
        return None

    def _shared_columns(self) -> Mapping[str, ColumnType]:
        """The columns of the table; of several timeseries resources those that all of them have."""
        table = self._table or ""
        if table != TIMESERIES:
            return self._places.columns_of(Place(table))
        each = [self._places.columns_of(Place(TIMESERIES, resource)) for resource in self._resources]
        return {
            name: column_type
            for name, column_type in each[0].items()
            if all(other.get(name) is column_type for other in each[1:])
        }

    def _has_sources(self) -> bool:
        """Whether rows were measured by a source, of which another may have measured the same."""
        columns = self._shared_columns()
        return all(name in columns for name in _SOURCE_COLUMNS) and not self._places.tells_of_sources(self._table or "")

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
        ref = self._source(item) if isinstance(item, SourceColumn) else self._places.column(item)
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
                msg = _WRAP if isinstance(one.ref, SubqueryRef) else _ONLY_REDUCED
                self._log.add(one.at, ProblemType.NOT_ALLOWED, msg)
            elif has_aggregate:
                msg = "without a group_by the select items are all aggregates or all columns"
                self._log.add(one.at, ProblemType.NOT_ALLOWED, msg)
        return tuple(selected)

    def _selected(self, item: SelectItem) -> Sequence[Selected]:
        if isinstance(item, GroupKey):
            return self._selected_keys(item)
        if isinstance(item, Aggregate):
            return self._aggregate(item)
        ref = self._source(item) if isinstance(item, SourceColumn) else self._ref(item)
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
        ref = self._ref(item.arg)
        if ref is None:
            return ()
        if ref.type in LIST_TYPES:
            self._log.add(item.arg.at, ProblemType.NOT_ALLOWED, "a list column cannot be aggregated directly")
        elif item.func in NUMERIC_FUNCTIONS and ref.type not in NUMERIC_TYPES:
            others = [function for function in Function if function not in NUMERIC_FUNCTIONS]
            msg = numbers_needed(item.func, ref.names[0], ref.type, others)
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
