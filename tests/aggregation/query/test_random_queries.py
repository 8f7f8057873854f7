"""Random queries over random data give what the naive interpreter gives."""

import math
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aggregation.query import Priorities, SeriesSource, render_json
from tests.aggregation.query.memory import MemoryReader, Sample, answered, body
from tests.aggregation.query.naive import as_json, interpret, midnight, written

BERLIN = ZoneInfo("Europe/Berlin")
#: Days around which samples lie: both clock changes, a leap day, a year's end in ISO week 1, an ordinary day.
ANCHORS = [date(2025, 3, 30), date(2025, 10, 26), date(2024, 2, 29), date(2024, 12, 31), date(2025, 2, 17)]
NUMBERS = st.integers(-400, 400).map(lambda quarters: quarters / 4)
SOURCES = st.builds(
    SeriesSource,
    provider=st.sampled_from(["oura", "withings", "fitbit"]),
    type=st.sampled_from(["watch", "ring", "phone", "unknown"]),
    app_id=st.sampled_from([None, "app.one", "app.two"]),
    workout_id=st.none(),
    sport=st.sampled_from([None, "running"]),
)
FUNCTIONS = ["mean", "min", "max", "sum", "count", "median", "stddev", "oldest", "newest"]
PERIODS = st.sampled_from(
    [
        *[("minute", 1), ("minute", 15), ("minute", 7), ("hour", 1), ("hour", 5), ("day", 1), ("day", 30)],
        *[("week", 1), ("week", 2), ("month", 1), ("month", 3), ("year", 1), ("year", 3), ("year", 60_000_000)],
    ]
)
PARTS = ["minute", "hour", "day", "week", "month", "year", "weekday", "week_of_year", "day_of_year"]


@st.composite
def sample_lists(draw: st.DrawFn, anchor: date, resources: list[str]) -> list[Sample]:
    centre = datetime(anchor.year, anchor.month, anchor.day, tzinfo=UTC)
    samples = []
    for _ in range(draw(st.integers(0, 25))):
        minutes = draw(st.integers(-3 * 1440, 2 * 1440)) if draw(st.booleans()) else draw(st.integers(-60, 180))
        instant = centre + timedelta(minutes=minutes)
        offset = instant.astimezone(BERLIN).utcoffset() or timedelta()
        travel = draw(st.sampled_from([0, 0, 0, -6 * 3600, 5 * 3600 + 1800]))
        samples.append(
            Sample(
                resource=draw(st.sampled_from(resources)),
                source=draw(SOURCES),
                instant=instant,
                value=draw(NUMBERS),
                offset_seconds=int(offset.total_seconds()) + travel,
                duration_seconds=draw(st.sampled_from([None, 60.0, 1.5])),
                type=draw(st.sampled_from([None, "automatic", "it's"])),
            )
        )
    return samples


def conditions(numbers: list[str], texts: list[str]) -> st.SearchStrategy[tuple[Any, ...]]:
    operators = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
    literals = st.sampled_from(["oura", "watch", "automatic", "it's", "", "running"])
    leaf = st.one_of(
        st.tuples(operators, st.sampled_from(numbers), NUMBERS),
        st.tuples(operators, st.sampled_from(texts), literals),
    )
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.tuples(st.just("not"), inner),
            st.tuples(st.sampled_from(["and", "or"]), inner, inner),
            st.tuples(st.sampled_from(["and", "or"]), inner, inner, inner),
        ),
        max_leaves=6,
    )


@st.composite
def series_queries(draw: st.DrawFn, resources: list[str]) -> dict[str, Any]:
    """A grouped, an ungrouped aggregate, or a plain query. Every resource is selected, so all are read."""
    one = st.sampled_from(resources)
    columns = [{"timeseries": name, "field": "value"} for name in resources]
    columns += draw(
        st.lists(
            st.one_of(
                st.builds(lambda name: {name: "duration"}, one),
                st.builds(lambda name: {"timeseries": name, "field": "type"}, one),
                st.builds(lambda name: {"index": name}, one),
                st.just({"index": "timeseries"}),
            ),
            max_size=3,
            unique_by=str,
        )
    )
    kind = draw(st.sampled_from(["plain", "whole", "grouped", "grouped", "grouped"]))
    if kind == "plain":
        if draw(st.booleans()):
            columns.append({"source": "source_type"})
        return {"select": columns}
    select: list[dict[str, Any]] = []
    for column in columns:
        numeric = "value" in column.values() or "duration" in column.values()
        functions = FUNCTIONS if numeric else ["min", "max", "count", "oldest", "newest"]
        chosen = draw(st.lists(st.sampled_from(functions), min_size=1, max_size=4, unique=True))
        select += [{"func": function, "arg": column} for function in chosen]
    if kind == "whole":
        return {"select": select}
    group_by = draw(group_items(resources))
    if draw(st.booleans()):
        select.insert(draw(st.integers(0, len(select))), {"group_key": "*"})
    return {"select": select, "group_by": group_by}


@st.composite
def group_items(draw: st.DrawFn, resources: list[str]) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    index = {"index": draw(st.sampled_from([*resources, "timeseries"]))}
    if draw(st.booleans()):
        unit, value = draw(PERIODS)
        items.append({"date_trunc": {"unit": unit, "value": value}, "arg": index})
    items += [{"date_part": name, "arg": index} for name in draw(st.lists(st.sampled_from(PARTS), max_size=2))]
    sources = ["source_provider", "source_type", "source_app_id", "source_sport"]
    items += [{"source": name} for name in draw(st.lists(st.sampled_from(sources), max_size=2, unique=True))]
    if not items or draw(st.booleans()):
        items.append({"timeseries": resources[0], "field": draw(st.sampled_from(["type", "value", "duration"]))})
    return draw(st.permutations(items))


def as_rows(samples: list[Sample]) -> list[dict[str, Any]]:
    """In the order in which equal instants count: by source, then as stored."""
    ordered = sorted(
        samples,
        key=lambda one: (
            one.resource,
            one.source.provider,
            one.source.type,
            one.source.app_id or "",
            one.source.sport or "",
        ),
    )
    return [
        {
            "table": "timeseries",
            "resource": one.resource,
            "index": one.local,
            "instant": one.instant,
            "source_provider": one.source.provider,
            "source_type": one.source.type,
            "source_app_id": one.source.app_id,
            "source_sport": one.source.sport,
            "timezone_offset": one.offset_seconds,
            "type": one.type,
            "value": one.value,
            "duration": one.duration_seconds,
        }
        for one in ordered
    ]


def assert_same(columns: list[list[Any]], expected: list[list[Any]]) -> None:
    assert len(columns) == len(expected)
    for column, wanted in zip(columns, expected, strict=True):
        assert len(column) == len(wanted)
        for cell, value in zip(column, wanted, strict=True):
            if isinstance(value, float) and isinstance(cell, float):
                assert math.isclose(cell, value, rel_tol=1e-9, abs_tol=1e-9)
            else:
                assert cell == as_json(value)


PRIORITIES = Priorities({"withings": 5, "oura": 3})


@pytest.mark.slow
@settings(max_examples=700, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_timeseries_equal_the_naive_interpreter(data: st.DataObject) -> None:
    anchor = data.draw(st.sampled_from(ANCHORS))
    resources = data.draw(st.sampled_from([["steps"], ["steps", "water"]]))
    samples = data.draw(sample_lists(anchor, resources))
    query = data.draw(series_queries(resources))
    numbers, texts = (
        ["value", "duration", "timezone_offset"],
        ["type", "source_type", "source_provider", "source_sport"],
    )
    condition = data.draw(st.none() | conditions(numbers, texts))
    overrides = data.draw(st.sampled_from([[], ["fitbit"], ["fitbit", "oura"]]))
    days = data.draw(st.integers(1, 4))

    asked = {**query, "where": None if condition is None else written(condition)}
    request = body(asked, anchor=anchor.isoformat(), value=days, unit="day", overrides=overrides)
    tables = answered(request, MemoryReader(samples), priorities=PRIORITIES)

    end = midnight(anchor.year, anchor.month, anchor.day) + timedelta(days=1)
    start = end - timedelta(days=days)
    expected = interpret(query, as_rows(samples), start, end, condition, overrides, PRIORITIES.providers)
    table = orjson.loads(render_json(tables))["results"][0]["table"]
    assert_same(list(table.values()), expected)


NIGHTS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "index": st.integers(-3 * 1440, 1440),
        "type": st.sampled_from([None, "long_sleep", "short_sleep"]),
        "efficiency": st.none() | NUMBERS,
        "duration_second": st.none() | st.integers(-5, 40_000),
        "score": st.none() | st.integers(0, 100),
        "session_start": st.none() | st.datetimes(midnight(2025, 1, 1), midnight(2025, 12, 31)),
        "source_provider": st.sampled_from(["oura", "withings"]),
        "source_type": st.sampled_from(["watch", "ring", "unknown"]),
    }
)


@pytest.mark.slow
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_summary_table_equals_the_naive_interpreter(data: st.DataObject) -> None:
    anchor = data.draw(st.sampled_from(ANCHORS))
    centre = midnight(anchor.year, anchor.month, anchor.day)
    nights = [
        {**night, "index": centre + timedelta(minutes=night["index"])}
        for night in data.draw(st.lists(NIGHTS, max_size=20))
    ]
    numeric = ["efficiency", "duration_second", "score"]
    select: list[dict[str, Any]] = [
        {"func": data.draw(st.sampled_from(FUNCTIONS)), "arg": {"sleep": name}} for name in numeric
    ]
    for name in ["type", "session_start"]:
        function = data.draw(st.sampled_from(["min", "max", "count", "oldest", "newest"]))
        select.append({"func": function, "arg": {"sleep": name}})
    unit, value = data.draw(PERIODS)
    key_column = data.draw(st.sampled_from(["type", "score", "efficiency", "session_start"]))
    group_by: list[dict[str, Any]] = [
        {"date_trunc": {"unit": unit, "value": value}, "arg": {"index": "sleep"}},
        {"sleep": key_column},
    ]
    query: dict[str, Any] = {"select": [{"group_key": 1}, {"group_key": 0}, *select], "group_by": group_by}
    if data.draw(st.booleans()):
        query = {"select": [{"sleep": name} for name in [*numeric, "type", "session_start"]] + [{"index": "sleep"}]}
    condition = data.draw(st.none() | conditions(numeric, ["type", "source_type", "source_provider"]))

    asked = {**query, "where": None if condition is None else written(condition)}
    request = body(asked, anchor=anchor.isoformat(), value=3, unit="day")
    tables = answered(request, MemoryReader(tables={"sleep": nights}))

    end = centre + timedelta(days=1)
    rows = [{**night, "table": "sleep", "resource": "sleep", "instant": night["index"]} for night in nights]
    expected = interpret(query, rows, end - timedelta(days=3), end, condition)
    table = orjson.loads(render_json(tables))["results"][0]["table"]
    assert_same(list(table.values()), expected)
