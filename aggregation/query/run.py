"""Runs a plan over one user's data: read, filter, group, keep the best source, reduce; arrays all the way."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from aggregation.query.carry import Spine
from aggregation.query.columns import Column, Rows
from aggregation.query.compile import Plan, QueryPlan
from aggregation.query.filter import condition_mask
from aggregation.query.frame import Frame, SeriesFrame, TableFrame, series_within
from aggregation.query.grouping import Groups, at, composed, grouped
from aggregation.query.groups import sorted_rows
from aggregation.query.merge import lineage_columns, weighted
from aggregation.query.problems import Loc, Problem, ProblemType, QueryError
from aggregation.query.reader import Reader, ReadLimitError, SeriesArrays
from aggregation.query.reduce import Segments, reduced, segments
from aggregation.query.resolved import TIMESERIES, VALUE, ColumnRef, Ref, SelectAggregate, SelectKey
from aggregation.query.schema import ColumnType
from healthsvc.kernel import clock


@dataclass(frozen=True, slots=True)
class Table:
    """The answer to one query: named columns of equal length."""

    columns: tuple[tuple[str, Column], ...]

    @property
    def rows(self) -> int:
        return len(self.columns[0][1])


def query_run(plan: Plan, reader: Reader, *, now_us: int | None = None) -> list[Table]:
    """One table a query, in their order. Raises `QueryError` where the budget is exceeded.

    now_us: the person's local time, in floating microseconds; UTC's where it is not given. No value is carried beyond.
    """
    run = _Run(plan, reader, _utc_us() if now_us is None else now_us)
    return [run.table(query) for query in plan.queries]


def _utc_us() -> int:
    return int(clock.now().timestamp()) * 1_000_000


class _Run:
    """What the queries of one request share: the budget's meters, and series that were read already."""

    def __init__(self, plan: Plan, reader: Reader, now_us: int) -> None:
        self._plan = plan
        self._now_us = now_us
        self._reader = reader
        self._deadline = time.monotonic() + plan.budget.max_seconds
        self._rows_read = 0
        self._rows_answered = 0
        self._cells_answered = 0
        self._series: dict[str, list[SeriesArrays]] = {}

    def table(self, plan: QueryPlan) -> Table:
        query = plan.query
        frame = self._frame(plan)
        rows: Rows | None = None
        if query.where is not None:
            rows = np.flatnonzero(condition_mask(query.where, frame.column))
            self._check_time(query.at)
        return self._reduced(plan, frame, rows) if query.is_aggregate else self._plain(plan, frame, rows)

    # Reading

    def _frame(self, plan: QueryPlan) -> Frame:
        window, query = self._plan.window, plan.query
        self._check_time(query.at)
        try:
            if query.table == TIMESERIES:
                return SeriesFrame({name: self._read_series(name, query.at) for name in query.resources})
            arrays = self._reader.read_table(query.table, plan.columns, window.start_us, window.end_us)
        except ReadLimitError as error:
            raise self._over_rows(query.at) from error
        self._count_read(len(arrays), query.at)
        return TableFrame(arrays, window.start_us, window.end_us)

    def _read_series(self, resource: str, loc: Loc) -> list[SeriesArrays]:
        """In the order of their sources, so that equal instants are told apart the same way every time."""
        if resource not in self._series:
            window = self._plan.window
            read = self._reader.read_series(resource, window.start_us, window.end_us)
            within = [series_within(series, window.start_us, window.end_us) for series in read]
            self._series[resource] = sorted((one for one in within if len(one)), key=_source_key)
            self._count_read(sum(map(len, self._series[resource])), loc)
        return self._series[resource]

    # Meters

    def _count_read(self, rows: int, loc: Loc) -> None:
        self._rows_read += rows
        if self._rows_read > self._plan.budget.max_rows:
            raise self._over_rows(loc)
        self._check_time(loc)

    def _over_rows(self, loc: Loc) -> QueryError:
        msg = f"the queries read more than {self._plan.budget.max_rows} rows; ask for a shorter timeframe"
        return QueryError([Problem(loc, msg, ProblemType.BUDGET_ROWS)])

    def _count_answered(self, rows: int, plan: QueryPlan) -> None:
        loc, budget = plan.query.at, self._plan.budget
        self._rows_answered += rows
        self._cells_answered += rows * len(plan.outputs)
        if self._rows_answered > budget.max_groups:
            msg = f"the queries answer more than {budget.max_groups} rows; group by longer periods or fewer keys"
            raise QueryError([Problem(loc, msg, ProblemType.BUDGET_GROUPS)])
        if self._cells_answered > budget.max_cells:
            msg = f"the queries answer more than {budget.max_cells} values; select less or group by longer periods"
            raise QueryError([Problem(loc, msg, ProblemType.BUDGET_GROUPS)])
        self._check_time(loc)

    def _check_time(self, loc: Loc) -> None:
        if time.monotonic() >= self._deadline:
            msg = f"the queries take longer than {self._plan.budget.max_seconds:g} s; ask for a shorter timeframe"
            raise QueryError([Problem(loc, msg, ProblemType.BUDGET_SECONDS)])

    # Answering

    def _plain(self, plan: QueryPlan, frame: Frame, rows: Rows | None) -> Table:
        """One row a row, in order of time."""
        count = frame.rows if rows is None else len(rows)
        self._count_answered(count, plan)
        instants_us = frame.instant_us if rows is None else frame.instant_us[rows]
        rows = composed(rows, sorted_rows(np.zeros(count, np.int64), instants_us))
        selected = [(one.name, one.item) for one in plan.outputs if not isinstance(one.item, SelectKey)]
        return Table(tuple((name, frame.column(item.ref).take(rows)) for name, item in selected))

    def _reduced(self, plan: QueryPlan, frame: Frame, rows: Rows | None) -> Table:
        query = plan.query
        groups = grouped(plan, self._plan.order.for_table(query.table), frame, rows)
        self._check_time(query.at)
        spine: Spine | None = None
        if query.align is not None and query.bucket is not None:
            spine = Spine(query.align, query.keys, groups.keys, query.bucket, self._now_us)
        self._count_answered(groups.cut.count if spine is None else spine.rows, plan)
        named = [*self._aggregates(plan, frame, groups), *_lineage(plan, frame, groups)]
        keys: Sequence[Column] = groups.keys
        columns = [column for _, column in named]
        if spine is not None:
            keys, columns = spine.filled(columns)
        values = iter(zip((name for name, _ in named), columns, strict=True))
        answered = [
            (one.name, keys[one.item.offset]) if isinstance(one.item, SelectKey) else next(values)
            for one in plan.outputs
        ]
        return Table((*answered, *values))

    def _aggregates(self, plan: QueryPlan, frame: Frame, groups: Groups) -> Iterator[tuple[str, Column]]:
        cuts: dict[Ref, Segments] = {}
        for output in plan.outputs:
            if not isinstance(output.item, SelectAggregate):
                continue
            ref = output.item.ref
            if ref not in cuts:
                column = frame.column(ref).take(groups.rows)
                if groups.merged is not None and isinstance(ref, ColumnRef) and ref.name == VALUE:
                    column = weighted(column, groups.merged.shares)
                cuts[ref] = segments(column, groups.cut)
            yield output.name, reduced(output.item.function, cuts[ref])
            self._check_time(plan.query.at)


def _lineage(plan: QueryPlan, frame: Frame, groups: Groups) -> Iterator[tuple[str, Column]]:
    """Where sources were merged: what share each of them has, by resource where there are several."""
    merged = groups.merged
    if merged is None or not isinstance(frame, SeriesFrame):
        return
    of_row, (_, part_of) = groups.cut.of_row(), frame.parts()
    values = frame.column(ColumnRef(VALUE, ColumnType.FLOAT64)).take(groups.rows)
    weights = np.abs(np.where(True if values.valid is None else values.valid, values.values, 0.0)) * merged.shares
    for place, resource in enumerate(frame.resources):
        mine = np.arange(len(of_row)) if part_of is None else np.flatnonzero(at(part_of, groups.rows) == place)
        of_part = weights[mine] if resource in plan.query.adds_up else np.zeros(len(mine))
        prefix = "lineage" if part_of is None else f"lineage.{resource}"
        columns = lineage_columns(of_row[mine], groups.cut.count, merged.ranks[mine], of_part)
        for rank, column in columns.items():
            yield ".".join((prefix, *merged.names[rank])), column


def _source_key(series: SeriesArrays) -> tuple[str, ...]:
    source = series.source
    return (
        source.provider,
        source.type,
        source.app_id or "",
        source.device_id or "",
        source.workout_id or "",
        source.sport or "",
    )
