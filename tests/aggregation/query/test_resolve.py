"""The rules of a query: one table, what may be selected, which types fit."""

from typing import Any

import pytest

from aggregation.query import DeclaredSchema, QueryError, query_compile, query_parse
from aggregation.query.schema import ColumnType
from aggregation.query_reader import SCHEMA
from aggregation.query_reader.tables import SLEEP
from tests.aggregation.query.memory import aggregate, body, trunc

HOURLY = [trunc("hour")]
DISCRETE_FIELDS = (
    "source_provider, source_type, source_app_id, source_workout_id, source_sport, timezone_offset, type or value"
)
SLEEP_COLUMNS = (
    "id, session_start, session_end, state, type, duration_second, stage_asleep_second, stage_awake_second, "
    "stage_light_second, stage_rem_second, stage_deep_second, stage_unknown_second, latency_second, "
    "heart_rate_minimum, heart_rate_mean, heart_rate_maximum, heart_rate_dip, heart_rate_resting, efficiency, "
    "hrv_mean_rmssd, hrv_mean_sdnn, skin_temperature, skin_temperature_delta, respiratory_rate, score, "
    "recovery_readiness_score, source_type, source_provider, source_app_id, source_device_id or time_zone"
)


def refused(query: dict[str, Any]) -> list[tuple[tuple[str | int, ...], str, str]]:
    """Paths within the query, types and messages."""
    batch = query_parse(body(query))
    with pytest.raises(QueryError) as caught:
        query_compile(batch, SCHEMA)
    assert all(problem.loc[:3] == ("body", "queries", 0) for problem in caught.value.problems)
    return [(problem.loc[3:], problem.type.value, problem.msg) for problem in caught.value.problems]


def only(query: dict[str, Any]) -> tuple[tuple[str | int, ...], str, str]:
    (problem,) = refused(query)
    return problem


@pytest.mark.parametrize(
    ("query", "loc", "problem_type", "msg"),
    [
        ({"select": [{"sleep": "score"}, {"activity": "steps"}]}, ("select", 1), "not_allowed",
         "one query works on one table, and this one already uses sleep"),
        ({"select": [aggregate("mean")], "group_by": [trunc("day", 1, "sleep")]}, ("group_by", 0, "arg"), "not_allowed",
         "one query works on one table, and this one already uses timeseries"),
        ({"select": [{"sleep": "efficency"}]}, ("select", 0, "sleep"), "unknown_name",
         "sleep has no column 'efficency'; did you mean efficiency?"),
        ({"select": [{"timeseries": "heartrate", "field": "duration"}]}, ("select", 0, "field"), "unknown_name",
         f"heartrate has no column 'duration'; use {DISCRETE_FIELDS}"),
        ({"select": [{"timeseries": "heart_rate", "field": "value"}]}, ("select", 0, "timeseries"), "unknown_name",
         "there is no timeseries resource 'heart_rate'; did you mean heartrate or heart_rate_alert?"),
        ({"select": [{"slep": "score"}]}, ("select", 0, "slep"), "unknown_name",
         "there is no table or timeseries resource 'slep'; did you mean sleep?"),
        ({"select": [{"value_macro": "sleep_scor"}]}, ("select", 0, "value_macro"), "unknown_name",
         "there is no value macro 'sleep_scor'; there are sleep_score, chronotype, asleep_at, awake_at, awakenings"),
        ({"select": [{"func": "max", "arg": {"value_macro": "sleep_score", "version": "9"}}]},
         ("select", 0, "arg", "version"), "unknown_value",
         "sleep_score has no such version; use 'automatic' or '2026-11'"),
        ({"select": [{"func": "mean", "arg": {"value_macro": "chronotype"}}]}, ("select", 0, "func"), "not_allowed",
         "mean needs numbers, and chronotype is of type string; use min, max, count, oldest or newest"),
        ({"select": [{"value_macro": "sleep_score"}, {"activity": "steps"}]}, ("select", 1), "not_allowed",
         "one query works on one table, and this one already uses sleep"),
        ({"select": [{"timeseries": "note", "field": "tags"}]}, ("select", 0), "not_allowed",
         "a list column cannot be selected directly; use a scalar subquery over it"),
        ({"select": [aggregate("count", "menstrual_cycle", "menstrual_flow")]}, ("select", 0, "arg"), "not_allowed",
         "a list column cannot be aggregated directly"),
        ({"select": [{"source": "source_type"}, {"derived_readiness": "date"}]}, ("select", 0, "source"),
         "unknown_name", "derived_readiness has no source_type, nor any other column of a source"),
        ({"select": [{"heartrate": "value"}], "group_by": HOURLY}, ("select", 0), "not_allowed",
         "with a group_by every select item has to be an aggregate or a group key"),
        ({"select": [{"group_key": 0}, aggregate("mean")]}, ("select", 0, "group_key"), "not_allowed",
         "a group key needs a group_by"),
        ({"select": [{"group_key": 1}, aggregate("mean")], "group_by": HOURLY}, ("select", 0, "group_key"),
         "out_of_range", "group_by has 1 item(s): use a position from 0 to 0"),
        ({"select": [aggregate("mean"), {"heartrate": "value"}]}, ("select", 1), "not_allowed",
         "without a group_by the select items are all aggregates or all columns"),
        ({"select": [aggregate("mean")], "group_by": [trunc("hour"), trunc("day")]}, ("group_by", 1), "not_allowed",
         "a query has at most one date_trunc"),
        ({"select": [aggregate("mean"), aggregate("mean")], "group_by": HOURLY}, ("select", 1), "duplicate",
         "this is selected already, by item 0"),
        ({"select": [aggregate("mean", "sleep", "type")]}, ("select", 0, "func"), "not_allowed",
         "mean needs numbers, and type is of type string; use min, max, count, oldest or newest"),
        ({"select": [{"func": "sum", "arg": {"index": "sleep"}}]}, ("select", 0, "func"), "not_allowed",
         "sum needs numbers, and index is of type local_datetime; use min, max, count, oldest or newest"),
        ({"select": [{"source": "source_sport"}, {"sleep": "score"}]}, ("select", 0, "source"), "unknown_name",
         "sleep has no source_sport; use source_type, source_provider, source_app_id or source_device_id"),
        ({"select": [{"source": "source_type"}]}, ("select",), "missing",
         "the query names no table; select a column of one"),
        ({"select": [{"index": "timeseries"}]}, ("select",), "missing",
         'the query names no timeseries resource; write it in the index: {"index": "heartrate"}'),
        ({"select": [aggregate("mean", "glucose")], "group_by": HOURLY}, ("group_by", 0, "arg"), "not_allowed",
         "the query selects nothing of heartrate; use the index of glucose"),
        ({"select": [{"sleep": "score"}], "where": "strain > 1"}, ("where",), "unknown_name",
         f"at character 1: sleep has no column 'strain'; use {SLEEP_COLUMNS}"),
        ({"select": [{"sleep": "score"}], "where": "1 = 1"}, ("where",), "where_type",
         "at character 1: one side of a comparison has to be a column"),
        ({"select": [{"sleep": "score"}], "where": "type = 3"}, ("where",), "where_type",
         "at character 8: type is compared with a text in single quotes"),
        ({"select": [{"sleep": "score"}], "where": "score > 'high'"}, ("where",), "where_type",
         "at character 9: score is compared with a number"),
        ({"select": [{"sleep": "score"}], "where": "score = TRUE"}, ("where",), "where_type",
         "at character 9: score is compared with a number"),
        ({"select": [{"sleep": "score"}], "where": "session_start > 'noon'"}, ("where",), "where_type",
         "at character 17: session_start is compared with a time such as '2025-02-17' or '2025-02-17T22:30:00'"),
        ({"select": [{"sleep": "score"}], "where": "session_start > '2025-02-17T00:00:00Z'"}, ("where",),
         "where_type",
         "at character 17: session_start is compared with a time such as '2025-02-17' or '2025-02-17T22:30:00'"),
        ({"select": [{"sleep": "score"}], "where": "score > type"}, ("where",), "where_type",
         "at character 7: score is of type int64, type of type string: they cannot be compared"),
        ({"select": [{"activity": "steps"}], "where": "wheelchair_use = 'true'"}, ("where",), "where_type",
         "at character 18: wheelchair_use is compared with TRUE or FALSE"),
        ({"select": [{"activity": "steps"}], "where": "wheelchair_use < TRUE"}, ("where",), "where_type",
         "at character 18: truth values are compared with = or != only"),
        ({"select": [aggregate("mean", "steps"), aggregate("max", "heartrate")], "where": "duration > 1"}, ("where",),
         "unknown_name", f"at character 1: timeseries has no column 'duration'; use {DISCRETE_FIELDS}"),
    ],
)  # fmt: skip
def test_a_query_that_makes_no_sense_is_refused_at_its_path(
    query: dict[str, Any], loc: tuple[str | int, ...], problem_type: str, msg: str
) -> None:
    assert only(query) == (loc, problem_type, msg)


def test_all_queries_and_problems_are_named_at_once() -> None:
    batch = query_parse(
        body(
            {"select": [{"sleep": "nope"}, {"group_key": "*"}], "where": "nope = 1 OR nope = 2"},
            {"select": [{"value_macro": "something_new"}]},
        )
    )
    with pytest.raises(QueryError) as caught:
        query_compile(batch, SCHEMA)
    assert [problem.loc for problem in caught.value.problems] == [
        ("body", "queries", 0, "select", 0, "sleep"),
        ("body", "queries", 0, "select", 1, "group_key"),
        ("body", "queries", 0, "where"),
        ("body", "queries", 0, "where"),
        ("body", "queries", 1, "select", 0, "value_macro"),
    ]
    assert not caught.value.is_budget


def test_no_literal_of_a_where_is_repeated() -> None:
    for text in ("score = 'diabetes'", "nope = 'diabetes'", "'diabetes' = 'x'", "session_start > 'diabetes'"):
        (problem,) = refused({"select": [{"sleep": "score"}], "where": text})
        assert "diabetes" not in problem[2]


def test_every_timeseries_column_and_table_column_resolves() -> None:
    for name in SCHEMA.table_names():
        table = SCHEMA.table(name)
        assert table is not None
        query = {"select": [{name: column} for column in table.columns if column not in table.lists]}
        query_compile(query_parse(body(query)), SCHEMA)
    for resource in SCHEMA.series_names():
        series = SCHEMA.series(resource)
        assert series is not None
        names = [name for name in series.fields if name not in series.lists]
        query = {"select": [{"timeseries": resource, "field": name} for name in names]}
        query_compile(query_parse(body(query)), SCHEMA)


def test_the_schema_has_the_columns_of_the_reference() -> None:
    counts = {name: len(table.columns) for name in SCHEMA.table_names() if (table := SCHEMA.table(name))}
    assert counts == {
        "sleep": 31, "activity": 24, "workout": 35, "body": 15, "meal": 48, "profile": 11, "derived_readiness": 8,
        "menstrual_cycle": 18, "reliability": 15,
    }  # fmt: skip
    assert len(SCHEMA.series_names()) == 50
    summed = {name for name in SCHEMA.series_names() if (one := SCHEMA.series(name)) and one.adds_up}
    assert {"steps", "distance", "calories_active"} <= summed
    assert not summed & {"heartrate", "vo2_max", "body_temperature", "heart_rate_alert", "note"}


@pytest.mark.parametrize(
    ("table", "column", "column_type"),
    [
        ("sleep", "heart_rate_mean", ColumnType.INT64),
        ("activity", "heart_rate_mean", ColumnType.FLOAT64),
        ("sleep", "session_start", ColumnType.LOCAL_DATETIME),
        ("activity", "date", ColumnType.DATE),
        ("activity", "wheelchair_use", ColumnType.BOOL),
        ("activity", "time_zone_offset", ColumnType.INT64),
        ("profile", "height_centimeter", ColumnType.INT16),
        ("profile", "updated_at", ColumnType.UTC_DATETIME),
        ("workout", "heart_rate_zone_6", ColumnType.FLOAT64),
        ("workout", "map_polyline", ColumnType.STRING),
        ("body", "measured_at", ColumnType.LOCAL_DATETIME),
        ("meal", "date", ColumnType.DATE),
        ("meal", "vitamin_b12_microgram", ColumnType.FLOAT64),
        ("derived_readiness", "recovery_zone", ColumnType.STRING),
        ("derived_readiness", "sleep_score", ColumnType.FLOAT64),
        ("menstrual_cycle", "is_predicted", ColumnType.BOOL),
        ("menstrual_cycle", "ovulation_test", ColumnType.STRUCT_LIST),
        ("reliability", "presence_day_count", ColumnType.INT64),
    ],
)
def test_columns_have_the_types_of_the_reference(table: str, column: str, column_type: ColumnType) -> None:
    schema = SCHEMA.table(table)
    assert schema is not None
    assert schema.columns[column] is column_type


@pytest.mark.parametrize(
    ("table", "index_type"),
    [
        ("sleep", ColumnType.LOCAL_DATETIME),
        ("activity", ColumnType.DATE),
        ("workout", ColumnType.LOCAL_DATETIME),
        ("body", ColumnType.LOCAL_DATETIME),
        ("meal", ColumnType.DATE),
        ("profile", ColumnType.UTC_DATETIME),
        ("derived_readiness", ColumnType.DATE),
        ("menstrual_cycle", ColumnType.DATE),
        ("reliability", ColumnType.DATE),
    ],
)
def test_the_index_has_the_type_of_the_reference(table: str, index_type: ColumnType) -> None:
    schema = SCHEMA.table(table)
    assert schema is not None
    assert schema.index_type is index_type


def test_a_list_of_the_cycle_has_the_fields_of_the_reference() -> None:
    cycle = SCHEMA.table("menstrual_cycle")
    assert cycle is not None
    assert {name: list(fields) for name, fields in cycle.lists.items()} == {
        "menstrual_flow": ["date", "flow"],
        "cervical_mucus": ["date", "quality"],
        "intermenstrual_bleeding": ["date"],
        "contraceptive": ["date", "type"],
        "detected_deviations": ["date", "deviation"],
        "ovulation_test": ["date", "test_result"],
        "home_pregnancy_test": ["date", "test_result"],
        "home_progesterone_test": ["date", "test_result"],
        "sexual_activity": ["date", "protection_used"],
        "basal_body_temperature": ["date", "value"],
    }


def test_what_a_schema_does_not_keep_is_refused_by_name() -> None:
    steps = SCHEMA.series("steps")
    assert steps is not None
    schema = DeclaredSchema(tables=(SLEEP,), series=(steps,))
    refused_names = []
    for item in ({"meal": "calories"}, {"timeseries": "heartrate", "field": "value"}, {"value_macro": "chronotype"}):
        with pytest.raises(QueryError) as caught:
            query_compile(query_parse(body({"select": [item]})), schema)
        refused_names += [(problem.type.value, problem.msg) for problem in caught.value.problems]
    assert refused_names == [
        ("unknown_name", "there is no table or timeseries resource 'meal'; use sleep or steps"),
        ("unknown_name", "there is no timeseries resource 'heartrate'; use steps"),
        ("unknown_name", "there is no value macro 'chronotype'; there is none"),
    ]
