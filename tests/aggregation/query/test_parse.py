"""Malformed bodies: every problem names its path and what would be right; well-formed ones become nodes."""

from datetime import date
from typing import Any

import pytest

from aggregation.query import QueryError, query_compile, query_parse
from aggregation.query.nodes import (
    Aggregate,
    Align,
    CarryMode,
    DatePart,
    DateTrunc,
    Element,
    Function,
    GroupKey,
    IndexColumn,
    Part,
    Period,
    Placeholder,
    RelativeTimeframe,
    ScalarSubquery,
    SourceColumn,
    SourceField,
    SourceMode,
    StructField,
    TableColumn,
    TimeseriesColumn,
    Unit,
    ValueMacro,
)
from aggregation.query_reader import SCHEMA
from tests.aggregation.query.memory import aggregate, body, trunc

GOOD = {"select": [aggregate("mean")], "group_by": [trunc("hour")]}
Q0 = ("body", "queries", 0)
FRAME = ("body", "timeframe")


def problems(request: object) -> list[tuple[tuple[str | int, ...], str]]:
    """Paths and types of everything wrong, from parsing or else from compiling."""
    with pytest.raises(QueryError) as caught:
        query_compile(query_parse(request), SCHEMA)
    assert all(problem.msg for problem in caught.value.problems)
    return [(problem.loc, problem.type.value) for problem in caught.value.problems]


def message(request: object) -> str:
    with pytest.raises(QueryError) as caught:
        query_compile(query_parse(request), SCHEMA)
    assert len(caught.value.problems) == 1
    return caught.value.problems[0].msg


def with_frame(**changes: object) -> dict[str, Any]:
    made = body(GOOD)
    frame = made["timeframe"]
    assert isinstance(frame, dict)
    frame.update(changes)
    return made


def select(*items: object) -> dict[str, Any]:
    return body({"select": list(items)})


def grouped(*items: object) -> dict[str, Any]:
    return body({"select": [aggregate("mean")], "group_by": list(items)})


def where(text: object) -> dict[str, Any]:
    return body({**GOOD, "where": text})


def test_the_interfaces_sample_shape_is_parsed() -> None:
    batch = query_parse(
        body({**GOOD, "where": "value > 50"}, anchor="2025-02-17", value=90, unit="minute", overrides=["oura"])
    )
    assert batch.timeframe == RelativeTimeframe(date(2025, 2, 17), Period(90, Unit.MINUTE))
    assert batch.provider_overrides == ("oura",)
    assert batch.queries[0].select == (Aggregate(Function.MEAN, TableColumn("heartrate", "value")),)
    assert batch.queries[0].group_by == (DateTrunc(Period(1, Unit.HOUR), IndexColumn("heartrate")),)


_SUBQUERY = {
    "select": {"func": "max", "arg": {"field_for": "menstrual_cycle", "basal_body_temperature": "value"}},
    "from": {"unnest": {"menstrual_cycle": "basal_body_temperature"}},
    "where": "value > 36",
}
_TAGS = {
    "select": {"func": "count", "arg": {"element": True}},
    "from": {"unnest": {"timeseries": "note", "field": "tags"}},
}
_COUNTED = {"select": {"func": "count", "arg": None}, "from": {"unnest": {"value_macro": "chronotype"}}}
_WHOLE_LANGUAGE = {
    "select": [
        {"sleep": "score"},
        {"timeseries": "glucose", "field": "value"},
        {"value_macro": "sleep_score"},
        {"value_macro": "something_new", "version": "2"},
        {"index": "timeseries"},
        {"source": "source_sport"},
        {"func": "stddev", "arg": {"index": "sleep"}},
        {"func": "mean", "arg": _SUBQUERY},
        {"group_key": "*"},
        {"group_key": 2},
        _SUBQUERY,
        _TAGS,
        _COUNTED,
    ],
    "group_by": [
        {"date_trunc": {"unit": "month", "value": 6}, "arg": {"placeholder": True}},
        {"date_part": "week_of_year", "arg": {"index": "sleep"}},
        {"value_macro": "chronotype"},
        {"source": "source_app_id"},
        {"sleep": "type"},
    ],
    "align": {"carry": {"mode": "carry_nearest", "span": {"unit": "day", "value": 2}}},
}


def test_the_whole_language_is_parsed() -> None:
    parsed = query_parse({"timeframe": {"placeholder": True}, "instructions": [_WHOLE_LANGUAGE]})
    assert parsed.timeframe == Placeholder()
    nodes = parsed.queries[0].select
    assert nodes[:7] == (
        TableColumn("sleep", "score"),
        TimeseriesColumn("glucose", "value"),
        ValueMacro("sleep_score", "automatic"),
        ValueMacro("something_new", "2"),
        IndexColumn("timeseries"),
        SourceColumn(SourceField.SPORT),
        Aggregate(Function.STDDEV, IndexColumn("sleep")),
    )
    assert isinstance(nodes[10], ScalarSubquery)
    assert nodes[7] == Aggregate(Function.MEAN, nodes[10])
    assert nodes[8:10] == (GroupKey(None), GroupKey(2))
    assert nodes[10].arg == StructField("menstrual_cycle", "basal_body_temperature", "value")
    assert nodes[10].unnest == TableColumn("menstrual_cycle", "basal_body_temperature")
    assert nodes[10].where is not None
    assert isinstance(nodes[11], ScalarSubquery)
    assert (nodes[11].arg, nodes[11].unnest) == (Element(), TimeseriesColumn("note", "tags"))
    assert nodes[12] == ScalarSubquery(Function.COUNT, None, ValueMacro("chronotype", "automatic"), None)
    assert parsed.queries[0].group_by == (
        DateTrunc(Period(6, Unit.MONTH), Placeholder()),
        DatePart(Part.WEEK_OF_YEAR, IndexColumn("sleep")),
        ValueMacro("chronotype", "automatic"),
        SourceColumn(SourceField.APP_ID),
        TableColumn("sleep", "type"),
    )
    assert parsed.queries[0].align == Align(CarryMode.NEAREST, Period(2, Unit.DAY))


@pytest.mark.parametrize("absent", ["where", "align", "group_by"])
def test_null_is_as_good_as_absent(absent: str) -> None:
    with_null = query_parse(body({"select": [aggregate("mean")], absent: None}))
    assert with_null == query_parse(body({"select": [aggregate("mean")]}))
    assert query_parse({**body(GOOD), "config": None}) == query_parse(body(GOOD))


@pytest.mark.parametrize(
    ("request_body", "expected"),
    [
        (None, [(("body",), "wrong_type")]),
        ([], [(("body",), "wrong_type")]),
        ({}, [(FRAME, "missing"), (("body", "queries"), "missing")]),
        ({**body(GOOD), "sort": 1}, [(("body", "sort"), "unexpected_key")]),
        ({**body(GOOD), "config": 1}, [(("body", "config"), "wrong_type")]),
        ({**body(GOOD), "config": {"team": 1}}, [(("body", "config", "team"), "unexpected_key")]),
        (body(GOOD, overrides="oura"), [(("body", "config", "provider_priority_overrides"), "wrong_type")]),
        (body(GOOD, overrides=["oura", 3]), [(("body", "config", "provider_priority_overrides", 1), "wrong_type")]),
        (body(GOOD, overrides=["A B"]), [(("body", "config", "provider_priority_overrides", 0), "wrong_type")]),
        ({**body(GOOD), "timeframe": "today"}, [(FRAME, "wrong_type")]),
        ({**body(GOOD), "timeframe": {"placeholder": 1}}, [((*FRAME, "placeholder"), "unknown_value")]),
        ({**body(GOOD), "timeframe": {"placeholder": True}}, [(FRAME, "not_allowed")]),
        (with_frame(type="absolute"), [((*FRAME, "type"), "unknown_value")]),
        (with_frame(anchor=20250217), [((*FRAME, "anchor"), "wrong_type")]),
        (with_frame(anchor="17.02.2025"), [((*FRAME, "anchor"), "wrong_type")]),
        (with_frame(anchor="2025-02-30"), [((*FRAME, "anchor"), "out_of_range")]),
        (with_frame(anchor="1899-12-31"), [((*FRAME, "anchor"), "out_of_range")]),
        (with_frame(past={"value": 0, "unit": "day"}), [((*FRAME, "past", "value"), "out_of_range")]),
        (with_frame(past={"value": True, "unit": "day"}), [((*FRAME, "past", "value"), "wrong_type")]),
        (with_frame(past={"value": 1.5, "unit": "day"}), [((*FRAME, "past", "value"), "wrong_type")]),
        (with_frame(past={"value": 101, "unit": "year"}), [((*FRAME, "past", "value"), "out_of_range")]),
        (with_frame(past={"value": 10**18, "unit": "day"}), [((*FRAME, "past", "value"), "out_of_range")]),
        (with_frame(past={"unit": "decade"}), [((*FRAME, "past", "unit"), "unknown_value")]),
        (with_frame(past={"value": 1}), [((*FRAME, "past", "unit"), "missing")]),
        (body(), [(("body", "queries"), "missing")]),
        (body(*[GOOD] * 33), [(("body", "queries"), "too_many")]),
        (body("mean"), [(Q0, "wrong_type")]),
        (body({}), [((*Q0, "select"), "missing")]),
        (body({"select": []}), [((*Q0, "select"), "missing")]),
        (body({"select": {}}), [((*Q0, "select"), "wrong_type")]),
        (body({"select": [aggregate("mean")] * 65}), [((*Q0, "select"), "too_many")]),
        (grouped(*[{"source": "source_type"}] * 9), [((*Q0, "group_by"), "too_many")]),
        (select(1), [((*Q0, "select", 0), "wrong_type")]),
        (select({}), [((*Q0, "select", 0), "missing")]),
        (select({"a": "b", "c": "d"}), [((*Q0, "select", 0), "unknown_value")]),
        (select(aggregate("mean"), aggregate("latest")), [((*Q0, "select", 1, "func"), "unknown_value")]),
        (select({"func": "mean"}), [((*Q0, "select", 0, "arg"), "missing")]),
        (select({"func": "mean", "arg": {"sleep": 3}}), [((*Q0, "select", 0, "arg", "sleep"), "wrong_type")]),
        (select({**aggregate("mean"), "as": "x"}), [((*Q0, "select", 0, "as"), "unexpected_key")]),
        (select({"func": "mean", "arg": aggregate("mean")}), [((*Q0, "select", 0, "arg"), "not_allowed")]),
        (select({"func": "mean", "arg": {"source": "source_type"}}), [((*Q0, "select", 0, "arg"), "not_allowed")]),
        (select({"timeseries": "heartrate"}), [((*Q0, "select", 0, "field"), "missing")]),
        (select({"source": "source_colour"}), [((*Q0, "select", 0, "source"), "unknown_value")]),
        (select({"group_key": -1}), [((*Q0, "select", 0, "group_key"), "wrong_type")]),
        (select({"group_key": True}), [((*Q0, "select", 0, "group_key"), "wrong_type")]),
        (select(trunc("hour")), [((*Q0, "select", 0), "not_allowed")]),
        (select({"select": {"func": "max"}, "from": {}}),
         [((*Q0, "select", 0, "select", "arg"), "missing"), ((*Q0, "select", 0, "from", "unnest"), "missing")]),
        (select({"select": {"func": "max", "arg": {"element": 1}}, "from": {"unnest": {"note": "tags"}}}),
         [((*Q0, "select", 0, "select", "arg"), "unknown_value")]),
        (grouped(aggregate("mean")), [((*Q0, "group_by", 0), "not_allowed")]),
        (grouped({"index": "heartrate"}), [((*Q0, "group_by", 0), "not_allowed")]),
        (grouped({"date_trunc": {"unit": "hour"}}), [((*Q0, "group_by", 0, "arg"), "missing")]),
        (grouped({"date_trunc": {"unit": "hour"}, "arg": {"heartrate": "value"}}),
         [((*Q0, "group_by", 0, "arg"), "missing")]),
        (grouped({"date_part": "quarter", "arg": {"index": "heartrate"}}),
         [((*Q0, "group_by", 0, "date_part"), "unknown_value")]),
        (grouped(trunc("minute", 60)), [((*Q0, "group_by", 0, "date_trunc", "value"), "out_of_range")]),
        (grouped(trunc("hour", 24)), [((*Q0, "group_by", 0, "date_trunc", "value"), "out_of_range")]),
        (grouped(trunc("day", 31)), [((*Q0, "group_by", 0, "date_trunc", "value"), "out_of_range")]),
        (grouped(trunc("week", 13)), [((*Q0, "group_by", 0, "date_trunc", "value"), "out_of_range")]),
        (grouped(trunc("month", 5)), [((*Q0, "group_by", 0, "date_trunc", "value"), "out_of_range")]),
        (grouped(trunc("month", 12)), [((*Q0, "group_by", 0, "date_trunc", "value"), "out_of_range")]),
        (body({**GOOD, "align": {"carry": {"mode": "carry_up"}}}),
         [((*Q0, "align", "carry", "mode"), "unknown_value")]),
        (body({**GOOD, "align": {"carry": {"mode": "carry_forward", "max_age": {"unit": "hour", "value": 24}}}}),
         [((*Q0, "align", "carry", "max_age", "value"), "out_of_range")]),
        (body({**GOOD, "align": {"carry": {"mode": "carry_nearest", "span": {"unit": "month", "value": 5}}}}),
         [((*Q0, "align", "carry", "span", "value"), "out_of_range")]),
        (body(GOOD, mode="merged"), [(("body", "config", "source_mode"), "unknown_value")]),
        (body(GOOD, mode=True), [(("body", "config", "source_mode"), "unknown_value")]),
        (body({**GOOD, "align": {"carry": {"mode": "carry_forward", "span": {"unit": "day"}}}}),
         [((*Q0, "align", "carry", "span"), "unexpected_key")]),
        (where(3), [((*Q0, "where"), "wrong_type")]),
        (where("value >"), [((*Q0, "where"), "where_syntax")]),
    ],
)  # fmt: skip
def test_a_malformed_body_is_refused_at_its_path(
    request_body: object, expected: list[tuple[tuple[str | int, ...], str]]
) -> None:
    assert problems(request_body) == expected


@pytest.mark.parametrize(
    ("unit", "value"),
    [("minute", 59), ("hour", 23), ("day", 30), ("week", 12), ("month", 6), ("year", 250)],
)
def test_the_largest_bucket_of_each_unit_is_taken(unit: str, value: int) -> None:
    query_compile(query_parse(grouped(trunc(unit, value))), SCHEMA)


@pytest.mark.parametrize(("unit", "value"), [("minute", 1440), ("hour", 72), ("day", 365), ("month", 7)])
def test_a_past_is_not_bound_by_the_limits_of_buckets(unit: str, value: int) -> None:
    query_compile(query_parse(with_frame(past={"unit": unit, "value": value})), SCHEMA)


def test_several_problems_are_answered_at_once() -> None:
    request = body({"select": [aggregate("average")]}, {"select": [aggregate("mean")], "where": "(", "limit": 5})
    assert problems(request) == [
        ((*Q0, "select", 0, "func"), "unknown_value"),
        (("body", "queries", 1, "limit"), "unexpected_key"),
        (("body", "queries", 1, "where"), "where_syntax"),
    ]


def test_problems_are_counted_only_to_a_limit() -> None:
    assert len(problems(body(*[{"select": [aggregate("average")] * 64}] * 32))) == 50


def test_an_unknown_function_is_answered_with_the_known_ones() -> None:
    assert message(select(aggregate("avg"))) == (
        "'avg' is not known here; use mean, min, max, sum, count, median, stddev, oldest or newest"
    )
    assert message(select(aggregate("maen"))) == (
        "'maen' is not known here; did you mean mean? "
        "The choices are mean, min, max, sum, count, median, stddev, oldest or newest"
    )


def test_a_value_that_is_no_name_is_not_repeated() -> None:
    assert "HIV" not in message(select(aggregate("HIV positive")))
    assert "HIV" not in message(select({"sleep": "HIV positive"}))


def test_a_key_that_is_no_name_is_not_repeated_in_the_path() -> None:
    assert problems(select({"HIV positive": "x"})) == [((*Q0, "select", 0, "(key)"), "unknown_name")]
    assert problems({**body(GOOD), "\ud800": 1}) == [(("body", "(key)"), "unexpected_key")]


def test_a_deeply_nested_body_does_not_exhaust_the_stack() -> None:
    deep: object = {"sleep": "score"}
    for _ in range(100_000):
        deep = {"func": "mean", "arg": deep}
    assert problems(select(deep)) == [((*Q0, "select", 0, "arg"), "not_allowed")]


def test_how_sources_are_settled_is_read_from_the_configuration() -> None:
    assert query_parse(body(GOOD)).source_mode is SourceMode.PRIORITY
    assert query_parse(body(GOOD, mode="priority")) == query_parse(body(GOOD))
    assert query_parse(body(GOOD, mode="merge")).source_mode is SourceMode.MERGE
    assert message(body(GOOD, mode="merged")) == (
        "'merged' is not known here; did you mean merge? The choices are priority or merge"
    )


def test_the_limits_of_a_cap_are_those_of_buckets() -> None:
    for cap, msg in (
        ({"unit": "minute", "value": 60}, "a max_age in units of minute takes a value from 1 to 59"),
        ({"unit": "week", "value": 13}, "a max_age in units of week takes a value from 1 to 12"),
        ({"unit": "month", "value": 5}, "a max_age in units of month takes 1, 2, 3, 4 or 6"),
    ):
        assert message(body({**GOOD, "align": {"carry": {"mode": "carry_forward", "max_age": cap}}})) == msg
