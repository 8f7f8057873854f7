"""A scalar subquery over a list column → a typed reference: what it may name, and which functions fit."""

from collections.abc import Mapping

from aggregation.query.conditions import where_resolve
from aggregation.query.nodes import Element, Function, ScalarSubquery, StructField, TableColumn
from aggregation.query.places import Places
from aggregation.query.problems import Loc, ProblemLog, ProblemType, choice, one_of, shown
from aggregation.query.resolved import ColumnRef, Condition, SubqueryRef
from aggregation.query.schema import ELEMENT, NUMERIC_TYPES, ColumnType

NUMERIC_FUNCTIONS = frozenset({Function.MEAN, Function.SUM, Function.MEDIAN, Function.STDDEV})
#: A list has no order in time, so it has neither an oldest nor a newest element.
_ORDERED_FUNCTIONS = frozenset({Function.OLDEST, Function.NEWEST})


def subquery_resolve(item: ScalarSubquery, places: Places, log: ProblemLog) -> SubqueryRef | None:
    """The subquery in typed references; None after logging what is wrong with it."""
    before = len(log)
    column = places.column(item.unnest)
    if column is None:
        return None
    fields = places.element_fields(item.unnest, column)
    if not fields:
        _refuse_scalar(item, column, list(places.lists_of(item.unnest)), log)
        return None
    field = _field(item, column, fields, log)
    _check_function(item, field, log)
    where: Condition | None = None
    if item.where is not None:
        where = where_resolve(item.where, fields, column.names[0], (*item.at, "where"), log)
    return None if len(log) > before else SubqueryRef(item.func, column, field, where)


def numbers_needed(function: Function, names: str, column_type: ColumnType, others: list[Function]) -> str:
    """Why a numeric function refuses a column."""
    return f"{function} needs numbers, and {names} is of type {column_type}; use {one_of(others)}"


def _refuse_scalar(item: ScalarSubquery, column: ColumnRef, lists: list[str], log: ProblemLog) -> None:
    there_are = f"unnest takes {one_of(lists)}" if lists else "its table has no list columns"
    msg = f"{column.names[0]} is no list column; {there_are}"
    log.add((*item.at, "from", "unnest"), ProblemType.NOT_ALLOWED, msg)


def _field(
    item: ScalarSubquery, column: ColumnRef, fields: Mapping[str, ColumnType], log: ProblemLog
) -> ColumnRef | None:
    at = (*item.at, "select", "arg")
    if item.arg is None:
        if item.func is not Function.COUNT:
            msg = f"null stands for whole elements, which can only be counted; {_use(fields)}"
            log.add(at, ProblemType.NOT_ALLOWED, msg)
        return None
    if column.type is ColumnType.STRING_LIST:
        if isinstance(item.arg, StructField):
            log.add(at, ProblemType.NOT_ALLOWED, f'{column.names[0]} is a list of texts; use {{"element": true}}')
            return None
        return ColumnRef(ELEMENT, fields[ELEMENT])
    if isinstance(item.arg, Element):
        log.add(at, ProblemType.NOT_ALLOWED, f"{column.names[0]} is a list of objects; {_use(fields)}")
        return None
    return _struct_field(item, item.arg, fields, at, log)


def _use(fields: Mapping[str, ColumnType]) -> str:
    if ELEMENT in fields:
        return 'use {"element": true}'
    return f'use {{"field_for": <table>, <list column>: <field>}} with {one_of(fields)}'


def _struct_field(
    item: ScalarSubquery, arg: StructField, fields: Mapping[str, ColumnType], at: Loc, log: ProblemLog
) -> ColumnRef | None:
    unnest = item.unnest
    if not isinstance(unnest, TableColumn) or (arg.table, arg.column) != (unnest.table, unnest.column):
        log.add(at, ProblemType.NOT_ALLOWED, "the field is not of the list column that is unnested; name the same one")
        return None
    if arg.field not in fields:
        msg = f"{arg.column} has no field {shown(arg.field)}; {choice(arg.field, list(fields))}"
        log.add((*at, arg.column), ProblemType.UNKNOWN_NAME, msg)
        return None
    return ColumnRef(arg.field, fields[arg.field])


def _check_function(item: ScalarSubquery, field: ColumnRef | None, log: ProblemLog) -> None:
    at = (*item.at, "select", "func")
    others = [function for function in Function if function not in NUMERIC_FUNCTIONS | _ORDERED_FUNCTIONS]
    if item.func in _ORDERED_FUNCTIONS:
        allowed = one_of([function for function in Function if function not in _ORDERED_FUNCTIONS])
        log.add(at, ProblemType.NOT_ALLOWED, f"a list has no {item.func} element; use {allowed}")
    elif field is not None and item.func in NUMERIC_FUNCTIONS and field.type not in NUMERIC_TYPES:
        log.add(at, ProblemType.NOT_ALLOWED, numbers_needed(item.func, field.name, field.type, others))
