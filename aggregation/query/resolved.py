"""A query after resolution: typed references in place of names, conditions without NOT."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from aggregation.query.nodes import Align, Function, Part, Period
from aggregation.query.problems import Loc
from aggregation.query.schema import ColumnType

#: The name of the column that says when a row happened.
INDEX: Final = "index"
#: The field of a timeseries that a part of can be taken of.
VALUE: Final = "value"
#: The one table in which every timeseries resource lives.
TIMESERIES: Final = "timeseries"


@dataclass(frozen=True, slots=True)
class ColumnRef:
    """A typed column. With `resource`, rows of other timeseries resources have no value in it.

    labels: what it is called in an answer, from the shortest, where that is not its name.
    """

    name: str
    type: ColumnType
    resource: str | None = None
    labels: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """What it may be called in an answer, from the shortest."""
        if self.labels:
            return self.labels
        return (self.name,) if self.resource is None else (self.name, f"{self.resource}.{self.name}")


@dataclass(frozen=True, slots=True)
class SubqueryRef:
    """A function over the elements of a list column, one value a row. Without a field it counts them."""

    function: Function
    column: ColumnRef
    field: ColumnRef | None
    where: "Condition | None"

    @property
    def type(self) -> ColumnType:
        """How its values are typed."""
        return ColumnType.INT64 if self.field is None else result_type(self.function, self.field.type)

    @property
    def names(self) -> tuple[str, ...]:
        """What it may be called in an answer, from the shortest."""
        field_name = "" if self.field is None else f".{self.field.name}"
        return (f"{self.function}.{self.column.names[0]}{field_name}",)


Ref: TypeAlias = ColumnRef | SubqueryRef


def result_type(function: Function, column_type: ColumnType) -> ColumnType:
    """How a function's results over a column are typed."""
    if function is Function.COUNT:
        return ColumnType.INT64
    if function in {Function.MEAN, Function.MEDIAN, Function.STDDEV}:
        return ColumnType.FLOAT64
    return ColumnType.INT64 if function is Function.SUM and column_type is ColumnType.INT16 else column_type


@dataclass(frozen=True, slots=True)
class SelectColumn:
    """A column as it is, one value a row."""

    ref: Ref
    at: Loc = field(compare=False)


@dataclass(frozen=True, slots=True)
class SelectAggregate:
    """A function over a column, one value a group."""

    function: Function
    ref: Ref
    at: Loc = field(compare=False)


@dataclass(frozen=True, slots=True)
class SelectKey:
    """The group key at `offset` of `group_by`."""

    offset: int
    at: Loc = field(compare=False)


Selected: TypeAlias = SelectColumn | SelectAggregate | SelectKey


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """Groups by the values of a column."""

    ref: ColumnRef


@dataclass(frozen=True, slots=True)
class KeyTrunc:
    """Groups by the bucket of the index."""

    period: Period


@dataclass(frozen=True, slots=True)
class KeyPart:
    """Groups by a calendar number of the index."""

    part: Part


Key: TypeAlias = KeyColumn | KeyTrunc | KeyPart


@dataclass(frozen=True, slots=True)
class ValueTest:
    """`ref operator value`; false where `ref` has no value. Times are microseconds, truth values 0 and 1."""

    ref: ColumnRef
    operator: str
    value: str | float | int = field(repr=False)


@dataclass(frozen=True, slots=True)
class PairTest:
    """`left operator right`; false where either has no value."""

    left: ColumnRef
    operator: str
    right: ColumnRef


@dataclass(frozen=True, slots=True)
class Every:
    """All terms hold."""

    terms: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class Either:
    """At least one term holds."""

    terms: tuple["Condition", ...]


Condition: TypeAlias = ValueTest | PairTest | Every | Either


def condition_refs(condition: Condition | None) -> Iterator[ColumnRef]:
    """Every column a condition looks at, with repetitions."""
    if isinstance(condition, ValueTest):
        yield condition.ref
    elif isinstance(condition, PairTest):
        yield from (condition.left, condition.right)
    elif condition is not None:
        for term in condition.terms:
            yield from condition_refs(term)


@dataclass(frozen=True, slots=True)
class ResolvedQuery:
    """One query on one table: `resources` is what it reads where `table` is the timeseries.

    adds_up: the resources of which a part may be counted. has_sources: whether its rows say who measured them.
    """

    table: str
    resources: tuple[str, ...]
    adds_up: frozenset[str]
    has_sources: bool
    select: tuple[Selected, ...]
    keys: tuple[Key, ...]
    where: Condition | None
    align: Align | None
    at: Loc = field(compare=False)

    @property
    def bucket(self) -> KeyTrunc | None:
        """The `date_trunc` among the keys."""
        return next((key for key in self.keys if isinstance(key, KeyTrunc)), None)

    @property
    def is_grouped(self) -> bool:
        return bool(self.keys)

    @property
    def is_aggregate(self) -> bool:
        """Whether rows are reduced: by groups, or the whole window as one."""
        return self.is_grouped or all(isinstance(item, SelectAggregate) for item in self.select)
