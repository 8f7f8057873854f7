"""One query through the engine and through the naive interpreter."""

import math
from datetime import date, timedelta
from typing import Any

import orjson
from hypothesis import strategies as st

from aggregation.query import Priorities, Reader, render_json
from tests.aggregation.query.memory import answered, body
from tests.aggregation.query.naive import as_json, asked, interpret
from tests.aggregation.query.naive_sources import Settings
from tests.aggregation.query.naive_time import midnight
from tests.aggregation.query.strategies import ADDS_UP, Json, conditions

PRIORITIES = Priorities({"withings": 5, "oura": 3})


def assert_same(columns: list[list[Any]], expected: list[list[Any]]) -> None:
    assert len(columns) == len(expected)
    for column, wanted in zip(columns, expected, strict=True):
        assert len(column) == len(wanted)
        for cell, value in zip(column, wanted, strict=True):
            if isinstance(value, float) and isinstance(cell, float):
                assert math.isclose(cell, value, rel_tol=1e-9, abs_tol=1e-9)
            else:
                assert cell == as_json(value)


def compare(data: st.DataObject, query: Json, rows: list[Json], reader: Reader, anchor: date, days: int) -> None:
    """One query through the engine and through the interpreter, sources settled in a random way."""
    overrides = data.draw(st.sampled_from([[], ["fitbit"], ["fitbit", "oura"]]))
    keys = query.get("group_by", [])
    merges = any("date_trunc" in key for key in keys) and rows[:1] != [] and data.draw(st.booleans())
    merges = merges and rows[0]["table"] == "timeseries"
    end = midnight(anchor.year, anchor.month, anchor.day) + timedelta(days=1)
    now = end + timedelta(minutes=data.draw(st.integers(-3 * 1440, 60 * 1440)))
    mode = "merge" if merges else data.draw(st.sampled_from([None, "priority"]))
    request = body(asked(query), anchor=anchor.isoformat(), value=days, unit="day", overrides=overrides, mode=mode)
    tables = answered(request, reader, priorities=PRIORITIES, now=now)

    sources = Settings(overrides, dict(PRIORITIES.providers), ADDS_UP if merges else None)
    expected = interpret(query, rows, end - timedelta(days=days), end, sources, now)
    table = orjson.loads(render_json(tables))["results"][0]["table"]
    assert_same(list(table.values()), expected)


def with_condition(data: st.DataObject, query: Json, numbers: list[str], texts: list[str]) -> Json:
    condition = data.draw(st.none() | conditions(numbers, texts))
    return query if condition is None else {**query, "where": condition}
