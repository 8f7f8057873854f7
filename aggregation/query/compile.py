"""A parsed batch → a plan: the window, what to read, and for each query its filter, groups, reductions and names."""

import calendar
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from aggregation.query.naming import column_names
from aggregation.query.nodes import Period, Placeholder, QueryBatch, RelativeTimeframe, SourceMode, Unit
from aggregation.query.priorities import Priorities, SourceOrder
from aggregation.query.problems import ProblemLog, ProblemType, QueryError
from aggregation.query.resolve import placeholder_refusal, query_resolve
from aggregation.query.resolved import (
    INDEX,
    TIMESERIES,
    KeyColumn,
    KeyTrunc,
    Ref,
    ResolvedQuery,
    Selected,
    SelectKey,
    SubqueryRef,
    condition_refs,
)
from aggregation.query.schema import Schema

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LENGTHS = {
    Unit.MINUTE: timedelta(minutes=1),
    Unit.HOUR: timedelta(hours=1),
    Unit.DAY: timedelta(days=1),
    Unit.WEEK: timedelta(weeks=1),
}
_SOURCE_COLUMNS = ("source_provider", "source_type")


@dataclass(frozen=True, slots=True)
class Budget:
    """What one request may cost, over all of its queries.

    max_rows: rows read. max_groups: rows answered, groups or plain rows. max_cells: those rows times their columns,
    which is what an answer weighs. max_seconds: wall time of `query_run`.
    """

    max_rows: int = 5_000_000
    max_groups: int = 1_000_000
    max_cells: int = 4_000_000
    max_seconds: float = 20.0


@dataclass(frozen=True, slots=True)
class Window:
    """Half-open, in floating local microseconds since 1970."""

    start_us: int
    end_us: int


@dataclass(frozen=True, slots=True)
class Output:
    """One column of the result; a key is selected by its position in `group_by`."""

    name: str
    item: Selected


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """One query: read `resources` (or the table's `columns`), filter, group, settle the sources, reduce, align.

    Of several sources in a group the best one is kept, or gaps of the better ones are filled with the next, or all are.
    """

    query: ResolvedQuery
    columns: tuple[str, ...]
    outputs: tuple[Output, ...]
    keeps_best_source: bool
    merges_sources: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole request, ready to run for any one user."""

    window: Window
    queries: tuple[QueryPlan, ...]
    order: SourceOrder
    budget: Budget = field(default_factory=Budget)


def query_compile(
    batch: QueryBatch,
    schema: Schema,
    priorities: Priorities | None = None,
    budget: Budget | None = None,
    qualified_names: bool = False,
) -> Plan:
    """The plan of a batch. Raises `QueryError` with every problem found."""
    log = ProblemLog()
    if isinstance(batch.timeframe, Placeholder):
        placeholder_refusal(batch.timeframe, log)
    resolved = [query_resolve(query, schema, log) for query in batch.queries]
    mode = batch.source_mode
    plans = tuple(_plan(query, mode, log, qualified=qualified_names) for query in resolved if query is not None)
    log.raise_if_any()
    if isinstance(batch.timeframe, Placeholder):
        raise QueryError(())  # unreachable: the refusal above has been raised
    order = SourceOrder(priorities or Priorities(), batch.provider_overrides)
    return Plan(window_of(batch.timeframe), plans, order, budget or Budget())


def _plan(query: ResolvedQuery, mode: SourceMode, log: ProblemLog, *, qualified: bool) -> QueryPlan:
    names = column_names(query, qualified=qualified, log=log)
    outputs = tuple(Output(name, item) for name, item in zip(names, query.select, strict=True))
    truncated = [offset for offset, key in enumerate(query.keys) if isinstance(key, KeyTrunc)]
    if truncated and not any(isinstance(item, SelectKey) for item in query.select):
        outputs = (Output(INDEX, SelectKey(truncated[0], query.at)), *outputs)
    keyed = {key.ref.name for key in query.keys if isinstance(key, KeyColumn)}
    chooses = query.is_grouped and query.has_sources and not keyed.issuperset(_SOURCE_COLUMNS)
    merges = chooses and mode is SourceMode.MERGE and query.table == TIMESERIES
    whole = mode is SourceMode.MERGE and query.table == TIMESERIES and query.is_aggregate and not query.is_grouped
    if whole or (merges and query.bucket is None):
        msg = "with the source_mode 'merge' gaps are filled bucket by bucket: group by a date_trunc"
        log.add((*query.at, "group_by"), ProblemType.NOT_ALLOWED, msg)
    return QueryPlan(
        query=query,
        columns=_columns(query, chooses),
        outputs=outputs,
        keeps_best_source=chooses and not merges,
        merges_sources=merges,
    )


def _columns(query: ResolvedQuery, chooses: bool) -> tuple[str, ...]:
    """The columns that are looked at, each once; a timeseries is read whole, so this tells what is used of it."""
    used = [_read_column(item.ref) for item in query.select if not isinstance(item, SelectKey)]
    used += [key.ref.name for key in query.keys if isinstance(key, KeyColumn)]
    used += [ref.name for ref in condition_refs(query.where)]
    if chooses and query.table != TIMESERIES:
        used += _SOURCE_COLUMNS
    return tuple(dict.fromkeys(name for name in used if name != INDEX))


def _read_column(ref: Ref) -> str:
    return ref.column.name if isinstance(ref, SubqueryRef) else ref.name


def window_of(timeframe: RelativeTimeframe) -> Window:
    """The `past` period that ends with the anchor day, that whole day included, for every unit."""
    anchor = datetime.combine(timeframe.anchor_on, datetime.min.time(), tzinfo=UTC)
    end = anchor + timedelta(days=1)
    start = _before(end, timeframe.past)
    return Window((start - _EPOCH) // _MICROSECOND, (end - _EPOCH) // _MICROSECOND)


def _before(end: datetime, past: Period) -> datetime:
    """Months and years keep the day of the month, or take the last one of a shorter month."""
    length = _LENGTHS.get(past.unit)
    if length is not None:
        return end - past.value * length
    months = end.year * 12 + end.month - 1 - past.value * (12 if past.unit is Unit.YEAR else 1)
    year, month = divmod(months, 12)
    day = min(end.day, calendar.monthrange(year, month + 1)[1])
    return end.replace(year=year, month=month + 1, day=day)
