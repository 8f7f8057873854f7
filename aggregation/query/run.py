"""Runs a plan over one user's data: read, filter, group, keep the best source, reduce; arrays all the way."""

import time
from dataclasses import dataclass

import numpy as np

from aggregation.query.buckets import bucket_numbers, bucket_starts, date_parts
from aggregation.query.columns import Column, Ints, Rows
from aggregation.query.compile import Plan, QueryPlan
from aggregation.query.filter import condition_mask
from aggregation.query.frame import Frame, SeriesFrame, TableFrame, series_within
from aggregation.query.groups import Groups, best_sources, group_rows, sorted_rows
from aggregation.query.problems import Loc, Problem, ProblemType, QueryError
from aggregation.query.reader import Reader, ReadLimitError, SeriesArrays
from aggregation.query.reduce import Segments, reduced, segments
from aggregation.query.resolved import (
    INDEX,
    TIMESERIES,
    ColumnRef,
    Key,
    KeyColumn,
    KeyTrunc,
    SelectAggregate,
    SelectKey,
)
from aggregation.query.schema import ColumnType


@dataclass(frozen=True, slots=True)
class Table:
    """The answer to one query: named columns of equal length."""

    columns: tuple[tuple[str, Column], ...]

    @property
    def rows(self) -> int:
        return len(self.columns[0][1])


def query_run(plan: Plan, reader: Reader) -> list[Table]:
    """One table a query, in their order. Raises `QueryError` where the budget is exceeded."""
    run = _Run(plan, reader)
    return [run.table(query) for query in plan.queries]


class _Run:
    """What the queries of one request share: the budget's meters, and series that were read already."""

    def __init__(self, plan: Plan, reader: Reader) -> None:
        self._plan = plan
        self._reader = reader
        self._deadline = time.monotonic() + plan.budget.max_seconds
        self._rows_read = 0
        self._rows_answered = 0
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

    def _count_answered(self, rows: int, loc: Loc) -> None:
        self._rows_answered += rows
        if self._rows_answered > self._plan.budget.max_groups:
            limit = self._plan.budget.max_groups
            msg = f"the queries answer more than {limit} rows; group by longer periods or fewer keys"
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
        self._count_answered(count, plan.query.at)
        instants_us = frame.instant_us if rows is None else frame.instant_us[rows]
        rows = _composed(rows, sorted_rows(np.zeros(count, np.int64), instants_us))
        selected = [(one.name, one.item) for one in plan.outputs if not isinstance(one.item, SelectKey)]
        return Table(tuple((name, frame.column(item.ref).take(rows)) for name, item in selected))

    def _reduced(self, plan: QueryPlan, frame: Frame, rows: Rows | None) -> Table:
        groups = self._groups(plan, frame, rows)
        cuts: dict[ColumnRef, Segments] = {}
        columns: list[tuple[str, Column]] = []
        for output in plan.outputs:
            if isinstance(output.item, SelectKey):
                columns.append((output.name, groups.keys[output.item.offset]))
            elif isinstance(output.item, SelectAggregate):
                ref = output.item.ref
                if ref not in cuts:
                    cuts[ref] = segments(frame.column(ref).take(groups.rows), groups.of_row, groups.count)
                columns.append((output.name, reduced(output.item.function, cuts[ref])))
            self._check_time(plan.query.at)
        return Table(tuple(columns))

    def _groups(self, plan: QueryPlan, frame: Frame, rows: Rows | None) -> Groups:
        keys = plan.query.keys
        count_rows = frame.rows if rows is None else len(rows)
        of_row, count, values = group_rows([_key_column(key, frame).take(rows) for key in keys], count_rows)
        self._count_answered(count, plan.query.at)
        ranks = frame.source_ranks(self._plan.order) if plan.keeps_best_source else None
        if ranks is not None:
            parts, part_of = frame.parts()
            best = best_sources(of_row, count, _at(ranks, rows), parts, None if part_of is None else _at(part_of, rows))
            of_row, rows = of_row[best], _composed(rows, best)
        order = sorted_rows(of_row, _at(frame.instant_us, rows))
        if order is not None:
            of_row, rows = of_row[order], _composed(rows, order)
        named = tuple(_key_values(key, column) for key, column in zip(keys, values, strict=True))
        return Groups(rows, of_row, count, named)


def _source_key(series: SeriesArrays) -> tuple[str, ...]:
    source = series.source
    return (
        source.provider,
        source.type,
        source.app_id or "",
        source.workout_id or "",
        source.sport or "",
    )


def _at(values: Ints, rows: Rows | None) -> Ints:
    return values if rows is None else values[rows]


def _composed(rows: Rows | None, picked: Rows | None) -> Rows | None:
    """`picked` of `rows`, where None is all of them as they are."""
    if rows is None or picked is None:
        return picked if rows is None else rows
    return rows[picked]


def _key_column(key: Key, frame: Frame) -> Column:
    if isinstance(key, KeyColumn):
        return frame.column(key.ref)
    index_us = frame.column(ColumnRef(INDEX, ColumnType.LOCAL_DATETIME)).values.astype(np.int64, copy=False)
    if isinstance(key, KeyTrunc):
        return Column(ColumnType.INT64, bucket_numbers(index_us, key.period))
    return Column(ColumnType.INT64, date_parts(index_us, key.part))


def _key_values(key: Key, column: Column) -> Column:
    """What a key is answered as: a bucket by its start."""
    if not isinstance(key, KeyTrunc):
        return column
    numbers = column.values.astype(np.int64, copy=False)
    return Column(ColumnType.LOCAL_DATETIME, bucket_starts(numbers, key.period))
