"""The aggregation query language as frozen nodes, each with its path into the request."""

import dataclasses
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import TypeAlias

from aggregation.query.problems import Loc


class Function(StrEnum):
    """The nine aggregate functions."""

    MEAN = "mean"
    MIN = "min"
    MAX = "max"
    SUM = "sum"
    COUNT = "count"
    MEDIAN = "median"
    STDDEV = "stddev"
    OLDEST = "oldest"
    NEWEST = "newest"


class Unit(StrEnum):
    """Units of a period, in the person's floating local time."""

    MINUTE = "minute"
    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"


class Part(StrEnum):
    """Parts of a local time: ISO numbers, `day` of the month, `weekday` 1 (Monday) to 7, `week` as `week_of_year`."""

    MINUTE = "minute"
    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"
    WEEKDAY = "weekday"
    WEEK_OF_YEAR = "week_of_year"
    DAY_OF_YEAR = "day_of_year"


class SourceField(StrEnum):
    """What a source column may name."""

    PROVIDER = "source_provider"
    TYPE = "source_type"
    APP_ID = "source_app_id"
    WORKOUT_ID = "source_workout_id"
    SPORT = "source_sport"


class SourceMode(StrEnum):
    """What becomes of several sources that measured the same in a group."""

    #: The best source counts, the others do not.
    PRIORITY = "priority"
    #: The next source fills what the better ones left open.
    MERGE = "merge"


class CarryMode(StrEnum):
    """Where `align` takes the value of an empty bucket from."""

    FORWARD = "carry_forward"
    BACKWARD = "carry_backward"
    NEAREST = "carry_nearest"


@dataclass(frozen=True, slots=True)
class Placeholder:
    """`{"placeholder": true}`: a stored query's gap that the engine fills."""

    at: Loc = dataclasses.field(compare=False, repr=False, default=())


@dataclass(frozen=True, slots=True)
class Period:
    """A number of calendar units."""

    value: int
    unit: Unit
    at: Loc = dataclasses.field(compare=False, repr=False, default=())


@dataclass(frozen=True, slots=True)
class TableColumn:
    """`{<table>: <column>}`; the interface's form names a timeseries resource in the same way."""

    table: str
    column: str
    at: Loc = dataclasses.field(compare=False, repr=False, default=())


@dataclass(frozen=True, slots=True)
class TimeseriesColumn:
    """`{"timeseries": <resource>, "field": <field>}`."""

    resource: str
    field: str
    at: Loc = dataclasses.field(compare=False, repr=False, default=())


@dataclass(frozen=True, slots=True)
class ValueMacro:
    """`{"value_macro": <name>, "version": "automatic"}`."""

    name: str
    version: str
    at: Loc = dataclasses.field(compare=False, repr=False, default=())


@dataclass(frozen=True, slots=True)
class IndexColumn:
    """`{"index": <table>}`: when a row happened."""

    table: str
    at: Loc = dataclasses.field(compare=False, repr=False, default=())


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """`{"source": "source_provider"}`: who a row comes from."""

    name: SourceField
    at: Loc = dataclasses.field(compare=False, repr=False, default=())


@dataclass(frozen=True, slots=True)
class StructField:
    """`{"field_for": <table>, <list column>: <struct field>}`, inside a subquery."""

    table: str
    column: str
    field: str
    at: Loc = dataclasses.field(compare=False, repr=False, default=())


@dataclass(frozen=True, slots=True)
class Element:
    """`{"element": true}`: the element of a scalar list, inside a subquery."""

    at: Loc = dataclasses.field(compare=False, repr=False, default=())


Unnested: TypeAlias = TableColumn | TimeseriesColumn | ValueMacro


@dataclass(frozen=True, slots=True)
class ScalarSubquery:
    """A function over the elements of a list column of one row."""

    func: Function
    arg: StructField | Element | None
    unnest: Unnested
    where: "WhereNode | None"
    at: Loc = dataclasses.field(compare=False, repr=False, default=())


AggregateArgument: TypeAlias = TableColumn | TimeseriesColumn | ValueMacro | IndexColumn | ScalarSubquery


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`{"func": …, "arg": …}`."""

    func: Function
    arg: AggregateArgument
    at: Loc = dataclasses.field(compare=False, repr=False, default=())


@dataclass(frozen=True, slots=True)
class GroupKey:
    """`{"group_key": <offset>}`, or every one where `offset` is None (`"*"`)."""

    offset: int | None
    at: Loc = dataclasses.field(compare=False, repr=False, default=())


@dataclass(frozen=True, slots=True)
class DateTrunc:
    """`{"date_trunc": <period>, "arg": …}`: the bucket of the index."""

    period: Period
    arg: IndexColumn | Placeholder
    at: Loc = dataclasses.field(compare=False, repr=False, default=())


@dataclass(frozen=True, slots=True)
class DatePart:
    """`{"date_part": <part>, "arg": …}`: a calendar number of the index."""

    part: Part
    arg: IndexColumn | Placeholder
    at: Loc = dataclasses.field(compare=False, repr=False, default=())


SelectItem: TypeAlias = (
    TableColumn | TimeseriesColumn | ValueMacro | IndexColumn | SourceColumn | Aggregate | GroupKey | ScalarSubquery
)
GroupItem: TypeAlias = TableColumn | TimeseriesColumn | ValueMacro | SourceColumn | DateTrunc | DatePart


@dataclass(frozen=True, slots=True)
class Align:
    """Fill empty buckets; `limit` is the `max_age` of a direction, the `span` of `carry_nearest`."""

    mode: CarryMode
    limit: Period | None
    at: Loc = dataclasses.field(compare=False, repr=False, default=())


@dataclass(frozen=True, slots=True)
class Identifier:
    """A column named in `where`; positions count characters from 1."""

    name: str
    position: int


@dataclass(frozen=True, slots=True)
class Literal:
    """A text, number or truth value in `where`."""

    value: str | float | bool = dataclasses.field(repr=False)
    position: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """`left operator right`; operator is one of `=`, `!=`, `<`, `<=`, `>`, `>=`."""

    left: Identifier | Literal
    operator: str
    right: Identifier | Literal
    position: int


@dataclass(frozen=True, slots=True)
class Negation:
    """NOT."""

    term: "WhereNode"


@dataclass(frozen=True, slots=True)
class Conjunction:
    """AND over two or more terms."""

    terms: tuple["WhereNode", ...]


@dataclass(frozen=True, slots=True)
class Disjunction:
    """OR over two or more terms."""

    terms: tuple["WhereNode", ...]


WhereNode: TypeAlias = Comparison | Negation | Conjunction | Disjunction


@dataclass(frozen=True, slots=True)
class Query:
    """One query of a batch; `where_at` is the path of its `where`."""

    select: tuple[SelectItem, ...]
    group_by: tuple[GroupItem, ...]
    where: WhereNode | None
    align: Align | None
    at: Loc = dataclasses.field(compare=False, repr=False, default=())


@dataclass(frozen=True, slots=True)
class RelativeTimeframe:
    """The `past` period that ends with the person's local day `anchor_on`."""

    anchor_on: date
    past: Period
    at: Loc = dataclasses.field(compare=False, repr=False, default=())


@dataclass(frozen=True, slots=True)
class QueryBatch:
    """A whole request. `provider_overrides` outrank the team's priorities, the first one highest."""

    timeframe: RelativeTimeframe | Placeholder
    queries: tuple[Query, ...]
    provider_overrides: tuple[str, ...] = ()
    source_mode: SourceMode = SourceMode.PRIORITY
