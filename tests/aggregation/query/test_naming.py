"""How the columns of an answer are called."""

from typing import Any

import pytest

from aggregation.query import query_compile, query_parse
from aggregation.query_reader import SCHEMA
from tests.aggregation.query.memory import aggregate, body, trunc


def unnested(func: str, field: str | None) -> dict[str, Any]:
    """A subquery over the temperatures of a cycle."""
    arg = None if field is None else {"field_for": "menstrual_cycle", "basal_body_temperature": field}
    return {"select": {"func": func, "arg": arg}, "from": {"unnest": {"menstrual_cycle": "basal_body_temperature"}}}


HOURLY = [trunc("hour")]
NIGHTLY = [trunc("day", 1, "sleep")]


@pytest.mark.parametrize(
    ("query", "short", "qualified"),
    [
        pytest.param(
            {
                "select": [aggregate("min"), aggregate("max"), aggregate("mean"), aggregate("newest")],
                "group_by": HOURLY,
            },
            ["index", "min", "max", "mean", "newest"],
            ["index", "min.value", "max.value", "mean.value", "newest.value"],
            id="the interface's sample",
        ),
        pytest.param(
            {"select": [{"group_key": "*"}, aggregate("mean")], "group_by": [*HOURLY, {"source": "source_type"}]},
            ["group_key.0", "group_key.1", "mean"],
            ["group_key.0", "group_key.1", "mean.value"],
            id="group keys",
        ),
        pytest.param(
            {"select": [aggregate("mean"), {"group_key": 0}], "group_by": HOURLY},
            ["mean", "group_key.0"],
            ["mean.value", "group_key.0"],
            id="a selected key stands where it was selected",
        ),
        pytest.param(
            {
                "select": [
                    aggregate("mean", "sleep", "efficiency"),
                    aggregate("mean", "sleep", "score"),
                    aggregate("max", "sleep", "score"),
                ],
                "group_by": NIGHTLY,
            },
            ["index", "mean.efficiency", "mean.score", "max"],
            ["index", "mean.efficiency", "mean.score", "max.score"],
            id="only what collides is qualified",
        ),
        pytest.param(
            {
                "select": [aggregate("mean", "glucose"), aggregate("mean"), aggregate("sum", "steps")],
                "group_by": HOURLY,
            },
            ["index", "mean.glucose.value", "mean.heartrate.value", "sum"],
            ["index", "mean.glucose.value", "mean.heartrate.value", "sum.value"],
            id="the same field of two resources",
        ),
        pytest.param(
            {"select": [aggregate("mean")], "group_by": [{"date_part": "hour", "arg": {"index": "heartrate"}}]},
            ["mean"],
            ["mean.value"],
            id="no bucket, no index",
        ),
        pytest.param(
            {"select": [aggregate("mean"), aggregate("count")]},
            ["mean", "count"],
            ["mean.value", "count.value"],
            id="the whole window",
        ),
        pytest.param(
            {"select": [{"func": "max", "arg": {"index": "sleep"}}, aggregate("max", "sleep", "score")]},
            ["max.index", "max.score"],
            ["max.index", "max.score"],
            id="a function of the index",
        ),
        pytest.param(
            {"select": [{"index": "sleep"}, {"sleep": "score"}, {"source": "source_type"}]},
            ["index", "score", "source_type"],
            ["index", "score", "source_type"],
            id="plain columns",
        ),
        pytest.param(
            {"select": [{"index": "timeseries"}, {"glucose": "value"}, {"timeseries": "heartrate", "field": "value"}]},
            ["index", "glucose.value", "heartrate.value"],
            ["index", "glucose.value", "heartrate.value"],
            id="plain columns of two resources",
        ),
        pytest.param(
            {
                "select": [
                    {"func": "min", "arg": {"value_macro": "sleep_score"}},
                    {"func": "newest", "arg": {"value_macro": "chronotype"}},
                    {"func": "min", "arg": {"sleep": "score"}},
                ]
            },
            ["min.sleep_score", "newest", "min.score"],
            ["min.sleep_score", "newest.chronotype", "min.score"],
            id="functions of value macros",
        ),
        pytest.param(
            {"select": [{"value_macro": "sleep_score"}, {"value_macro": "asleep_at", "version": "2026-11"}]},
            ["sleep_score", "asleep_at"],
            ["sleep_score", "asleep_at"],
            id="value macros",
        ),
        pytest.param(
            {"select": [unnested("count", None), unnested("mean", "value"), {"index": "menstrual_cycle"}]},
            ["count.basal_body_temperature", "mean.basal_body_temperature.value", "index"],
            ["count.basal_body_temperature", "mean.basal_body_temperature.value", "index"],
            id="subqueries",
        ),
        pytest.param(
            {
                "select": [
                    {"func": "mean", "arg": unnested("mean", "value")},
                    {"func": "max", "arg": unnested("count", None)},
                ],
                "group_by": [trunc("month", 1, "menstrual_cycle")],
            },
            ["index", "mean.mean.basal_body_temperature.value", "max.count.basal_body_temperature"],
            ["index", "mean.mean.basal_body_temperature.value", "max.count.basal_body_temperature"],
            id="functions of subqueries",
        ),
        pytest.param(
            {
                "select": [
                    {
                        "select": {"func": "count", "arg": {"element": True}},
                        "from": {"unnest": {"timeseries": "note", "field": "tags"}},
                        "where": where,
                    }
                    for where in ("element = 'a'", "element = 'b'")
                ]
            },
            ["count.tags.element.0", "count.tags.element.1"],
            ["count.tags.element.0", "count.tags.element.1"],
            id="subqueries that differ in their conditions only",
        ),
    ],
)
def test_names(query: dict[str, Any], short: list[str], qualified: list[str]) -> None:
    batch = query_parse(body(query))
    for qualified_names, expected in ((False, short), (True, qualified)):
        plan = query_compile(batch, SCHEMA, qualified_names=qualified_names)
        assert [output.name for output in plan.queries[0].outputs] == expected
