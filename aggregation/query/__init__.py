"""The aggregation query: parse, resolve, compile, run over arrays, render. Knows no HTTP, no model and no store."""

from aggregation.query.compile import Budget, Plan, query_compile
from aggregation.query.nodes import QueryBatch
from aggregation.query.parse import query_parse
from aggregation.query.priorities import SOURCE_TYPE_ORDER, Priorities
from aggregation.query.problems import Problem, ProblemType, QueryError
from aggregation.query.reader import (
    Labels,
    Reader,
    ReadLimitError,
    SeriesArrays,
    SeriesSource,
    TableArrays,
)
from aggregation.query.render import render_json, render_parquet_archive
from aggregation.query.run import Table, query_run
from aggregation.query.schema import ColumnType, DeclaredSchema, Schema, SeriesSchema, TableSchema

__all__ = [
    "SOURCE_TYPE_ORDER",
    "Budget",
    "ColumnType",
    "DeclaredSchema",
    "Labels",
    "Plan",
    "Priorities",
    "Problem",
    "ProblemType",
    "QueryBatch",
    "QueryError",
    "ReadLimitError",
    "Reader",
    "Schema",
    "SeriesArrays",
    "SeriesSchema",
    "SeriesSource",
    "Table",
    "TableArrays",
    "TableSchema",
    "query_compile",
    "query_parse",
    "query_run",
    "render_json",
    "render_parquet_archive",
]
