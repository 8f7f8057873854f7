"""JSON expression objects of the query language → nodes; every error carries its path."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import TypeAlias, TypeVar

from aggregation.query.nodes import (
    Aggregate,
    AggregateArgument,
    Align,
    CarryMode,
    DatePart,
    DateTrunc,
    Element,
    Function,
    GroupItem,
    GroupKey,
    IndexColumn,
    Part,
    Period,
    Placeholder,
    ScalarSubquery,
    SelectItem,
    SourceColumn,
    SourceField,
    StructField,
    TableColumn,
    TimeseriesColumn,
    Unit,
    Unnested,
    ValueMacro,
    WhereNode,
)
from aggregation.query.problems import Loc, ProblemLog, ProblemType, choice, one_of, shown
from aggregation.query.where import WhereError, where_parse

#: Names in a query are slugs; longer ones cannot be known.
MAX_NAME_LENGTH = 64
#: A period of this many units is longer than any history, of whatever unit.
MAX_PERIOD_VALUE = 60_000_000
#: What `date_trunc` and `align` take of each unit, above which the next larger unit is meant; years are unbounded.
PERIOD_BELOW = {Unit.MINUTE: 60, Unit.HOUR: 24, Unit.DAY: 31, Unit.WEEK: 13}
PERIOD_MONTHS = (1, 2, 3, 4, 6)

Json: TypeAlias = Mapping[str, object]
E = TypeVar("E", bound=StrEnum)

_SHAPES = {
    "func": '{"func": …, "arg": …}',
    "group_key": '{"group_key": …}',
    "select": '{"select": …, "from": …}',
    "timeseries": '{"timeseries": …, "field": …}',
    "value_macro": '{"value_macro": …}',
    "index": '{"index": …}',
    "source": '{"source": …}',
    "date_trunc": '{"date_trunc": …, "arg": …}',
    "date_part": '{"date_part": …, "arg": …}',
}
_SELECT = ("func", "group_key", "select", "timeseries", "value_macro", "index", "source")
_ARGUMENT = ("timeseries", "value_macro", "index", "select")
_GROUP = ("date_trunc", "date_part", "timeseries", "value_macro", "source")
_UNNEST = ("timeseries", "value_macro")


class ExpressionParser:
    """Turns one object after the other into nodes; what is wrong goes to the log and gives None."""

    def __init__(self, log: ProblemLog) -> None:
        self.log = log

    def select_item(self, value: object, loc: Loc) -> SelectItem | None:
        node = self._expression(value, loc, _SELECT)
        return None if isinstance(node, DateTrunc | DatePart) else node

    def group_item(self, value: object, loc: Loc) -> GroupItem | None:
        node = self._expression(value, loc, _GROUP)
        return None if isinstance(node, Aggregate | GroupKey | ScalarSubquery | IndexColumn) else node

    def _argument(self, value: object, loc: Loc) -> AggregateArgument | None:
        node = self._expression(value, loc, _ARGUMENT)
        if isinstance(node, Aggregate | GroupKey | SourceColumn | DateTrunc | DatePart):
            return None
        return node

    def _unnested(self, value: object, loc: Loc) -> Unnested | None:
        node = self._expression(value, loc, _UNNEST)
        return node if isinstance(node, TableColumn | TimeseriesColumn | ValueMacro) else None

    def _expression(self, value: object, loc: Loc, allowed: Sequence[str]) -> SelectItem | GroupItem | None:
        """Any expression, told apart by its key; keys outside `allowed` are refused by name."""
        item = self.object_(value, loc)
        if item is None:
            return None
        key = next((key for key in _SHAPES if key in item), None)
        if key is None:
            return self._table_column(item, loc, allowed)
        if key not in allowed:
            msg = f"{_SHAPES[key]} cannot stand here; use {self._allowed(allowed)}"
            self.log.add(loc, ProblemType.NOT_ALLOWED, msg)
            return None
        return self._reader(key)(item, loc)

    def _reader(self, key: str) -> Callable[[Json, Loc], SelectItem | GroupItem | None]:
        readers: dict[str, Callable[[Json, Loc], SelectItem | GroupItem | None]] = {
            "func": self._aggregate,
            "group_key": self._group_key,
            "select": self._subquery,
            "timeseries": self._timeseries_column,
            "value_macro": self._value_macro,
            "index": self._index,
            "source": self._source,
            "date_trunc": self._date_trunc,
            "date_part": self._date_part,
        }
        return readers[key]

    @staticmethod
    def _allowed(allowed: Sequence[str]) -> str:
        return one_of([*(_SHAPES[key] for key in allowed), "{<table or resource>: <column>}"])

    def _table_column(self, item: Json, loc: Loc, allowed: Sequence[str]) -> TableColumn | None:
        if len(item) != 1:
            msg = f"expected {self._allowed(allowed)}"
            self.log.add(loc, ProblemType.UNKNOWN_VALUE if item else ProblemType.MISSING, msg)
            return None
        table = next(iter(item))
        if len(table) > MAX_NAME_LENGTH:
            self.log.add(loc, ProblemType.UNKNOWN_NAME, f"expected {self._allowed(allowed)}")
            return None
        column = self.name(item[table], (*loc, table), "a column name")
        return None if column is None else TableColumn(table, column, loc)

    def _timeseries_column(self, item: Json, loc: Loc) -> TimeseriesColumn | None:
        self.keys(item, loc, required=("timeseries", "field"))
        resource = self._name_of(item, loc, "timeseries", "a timeseries resource")
        name = self._name_of(item, loc, "field", "a field name")
        return None if resource is None or name is None else TimeseriesColumn(resource, name, loc)

    def _value_macro(self, item: Json, loc: Loc) -> ValueMacro | None:
        self.keys(item, loc, required=("value_macro",), optional=("version",))
        name = self._name_of(item, loc, "value_macro", "a macro name")
        version = self.name(item.get("version", "automatic"), (*loc, "version"), "a version such as 'automatic'")
        return None if name is None or version is None else ValueMacro(name, version, loc)

    def _index(self, item: Json, loc: Loc) -> IndexColumn | None:
        self.keys(item, loc, required=("index",))
        table = self._name_of(item, loc, "index", "a table name, 'timeseries' or a timeseries resource")
        return None if table is None else IndexColumn(table, loc)

    def _source(self, item: Json, loc: Loc) -> SourceColumn | None:
        self.keys(item, loc, required=("source",))
        name = self.member(item["source"], (*loc, "source"), SourceField)
        return None if name is None else SourceColumn(name, loc)

    def _aggregate(self, item: Json, loc: Loc) -> Aggregate | None:
        self.keys(item, loc, required=("func", "arg"))
        function = self.member(item["func"], (*loc, "func"), Function)
        argument = self._argument(item["arg"], (*loc, "arg")) if "arg" in item else None
        return None if function is None or argument is None else Aggregate(function, argument, loc)

    def _group_key(self, item: Json, loc: Loc) -> GroupKey | None:
        self.keys(item, loc, required=("group_key",))
        offset = item["group_key"]
        if offset == "*":
            return GroupKey(None, loc)
        if isinstance(offset, int) and not isinstance(offset, bool) and offset >= 0:
            return GroupKey(offset, loc)
        msg = 'expected "*" or the position of a group_by item, counted from 0'
        self.log.add((*loc, "group_key"), ProblemType.WRONG_TYPE, msg)
        return None

    def _date_trunc(self, item: Json, loc: Loc) -> DateTrunc | None:
        self.keys(item, loc, required=("date_trunc", "arg"))
        period = self._bounded(item["date_trunc"], loc, "date_trunc")
        argument = self._bucket_argument(item, loc)
        return None if period is None or argument is None else DateTrunc(period, argument, loc)

    def _bounded(self, value: object, loc: Loc, key: str) -> Period | None:
        """The period under `key`, within the limits of its unit."""
        period = self.period(value, (*loc, key))
        if period is None:
            return None
        below = PERIOD_BELOW.get(period.unit)
        if below is not None and period.value >= below:
            msg = f"a {key} in units of {period.unit} takes a value from 1 to {below - 1}"
        elif period.unit is Unit.MONTH and period.value not in PERIOD_MONTHS:
            msg = f"a {key} in units of month takes {one_of(list(map(str, PERIOD_MONTHS)))}"
        else:
            return period
        self.log.add((*period.at, "value"), ProblemType.OUT_OF_RANGE, msg)
        return None

    def _date_part(self, item: Json, loc: Loc) -> DatePart | None:
        self.keys(item, loc, required=("date_part", "arg"))
        part = self.member(item["date_part"], (*loc, "date_part"), Part)
        argument = self._bucket_argument(item, loc)
        return None if part is None or argument is None else DatePart(part, argument, loc)

    def _bucket_argument(self, item: Json, loc: Loc) -> IndexColumn | Placeholder | None:
        argument = self.object_(item["arg"], (*loc, "arg")) if "arg" in item else None
        if argument is None:
            return None
        if "placeholder" in argument:
            return self.placeholder(argument, (*loc, "arg"))
        if "index" in argument:
            return self._index(argument, (*loc, "arg"))
        self.log.add((*loc, "arg"), ProblemType.MISSING, 'expected {"index": <table or resource>}')
        return None

    def placeholder(self, item: Json, loc: Loc) -> Placeholder | None:
        self.keys(item, loc, required=("placeholder",))
        if item["placeholder"] is not True:
            self.log.add((*loc, "placeholder"), ProblemType.UNKNOWN_VALUE, "expected true")
            return None
        return Placeholder(loc)

    def _subquery(self, item: Json, loc: Loc) -> ScalarSubquery | None:
        self.keys(item, loc, required=("select", "from"), optional=("where",))
        selected = self.object_(item["select"], (*loc, "select"))
        origin = self.object_(item["from"], (*loc, "from")) if "from" in item else None
        where = self.where(item.get("where"), (*loc, "where"))
        if selected is None or origin is None:
            return None
        self.keys(selected, (*loc, "select"), required=("func", "arg"))
        self.keys(origin, (*loc, "from"), required=("unnest",))
        if not {"func", "arg"} <= selected.keys() or "unnest" not in origin:
            return None
        function = self.member(selected["func"], (*loc, "select", "func"), Function)
        problems = len(self.log)
        argument = self._field(selected["arg"], (*loc, "select", "arg"))
        unnest = self._unnested(origin["unnest"], (*loc, "from", "unnest"))
        if function is None or unnest is None or len(self.log) > problems:
            return None
        return ScalarSubquery(function, argument, unnest, where, loc)

    def _field(self, value: object, loc: Loc) -> StructField | Element | None:
        """What a subquery's function works on; null counts elements."""
        item = None if value is None else self.object_(value, loc)
        if item is None:
            return None
        if item.get("element") is True and len(item) == 1:
            return Element(loc)
        table = item.get("field_for")
        columns = [key for key in item if key != "field_for"]
        if not isinstance(table, str) or len(columns) != 1:
            msg = 'expected null, {"element": true} or {"field_for": <table>, <list column>: <field>}'
            self.log.add(loc, ProblemType.UNKNOWN_VALUE, msg)
            return None
        field = self.name(item[columns[0]], (*loc, columns[0][:MAX_NAME_LENGTH]), "a field name")
        return None if field is None else StructField(table, columns[0], field, loc)

    def align(self, value: object, loc: Loc) -> Align | None:
        item = self.object_(value, loc)
        if item is None:
            return None
        self.keys(item, loc, required=("carry",))
        carry = self.object_(item["carry"], (*loc, "carry")) if "carry" in item else None
        if carry is None:
            return None
        at = (*loc, "carry")
        mode = self.member(carry.get("mode"), (*at, "mode"), CarryMode)
        if mode is None:
            return None
        cap = "span" if mode is CarryMode.NEAREST else "max_age"
        self.keys(carry, at, required=("mode",), optional=(cap,))
        limit = None if carry.get(cap) is None else self._bounded(carry[cap], at, cap)
        return Align(mode, limit, loc)

    def where(self, value: object, loc: Loc) -> WhereNode | None:
        if value is None:
            return None
        if not isinstance(value, str):
            self.log.add(loc, ProblemType.WRONG_TYPE, "expected a text such as \"source_type = 'watch'\"")
            return None
        try:
            return where_parse(value)
        except WhereError as error:
            self.log.add(loc, error.type, error.message)
            return None

    def period(self, value: object, loc: Loc) -> Period | None:
        item = self.object_(value, loc)
        if item is None:
            return None
        self.keys(item, loc, required=("unit",), optional=("value",))
        unit = self.member(item["unit"], (*loc, "unit"), Unit) if "unit" in item else None
        number = item.get("value", 1)
        if not isinstance(number, int) or isinstance(number, bool):
            self.log.add((*loc, "value"), ProblemType.WRONG_TYPE, "expected a whole number")
            return None
        if not 1 <= number <= MAX_PERIOD_VALUE:
            msg = f"expected a whole number from 1 to {MAX_PERIOD_VALUE}"
            self.log.add((*loc, "value"), ProblemType.OUT_OF_RANGE, msg)
            return None
        return None if unit is None else Period(number, unit, loc)

    def object_(self, value: object, loc: Loc) -> Json | None:
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
            return value
        self.log.add(loc, ProblemType.WRONG_TYPE, "expected an object")
        return None

    def keys(self, item: Json, loc: Loc, *, required: Sequence[str], optional: Sequence[str] = ()) -> None:
        """Log what is missing and what has no meaning."""
        for key in required:
            if key not in item:
                self.log.add((*loc, key), ProblemType.MISSING, "this key is required")
        for key in item:
            if key not in required and key not in optional:
                msg = f"this key has no meaning here; the keys are {one_of([*required, *optional])}"
                self.log.add((*loc, key[:MAX_NAME_LENGTH]), ProblemType.UNEXPECTED_KEY, msg)

    def _name_of(self, item: Json, loc: Loc, key: str, expected: str) -> str | None:
        return self.name(item[key], (*loc, key), expected) if key in item else None

    def name(self, value: object, loc: Loc, expected: str) -> str | None:
        if isinstance(value, str) and 0 < len(value) <= MAX_NAME_LENGTH:
            return value
        self.log.add(loc, ProblemType.WRONG_TYPE, f"expected {expected}")
        return None

    def member(self, value: object, loc: Loc, members: type[E]) -> E | None:
        names = [member.value for member in members]
        if isinstance(value, str) and value in names:
            return members(value)
        hint = choice(value, names)
        if hint.startswith("did you mean"):
            hint = f"{hint} The choices are {one_of(names)}"
        self.log.add(loc, ProblemType.UNKNOWN_VALUE, f"{shown(value)} is not known here; {hint}")
        return None
