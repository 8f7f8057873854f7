"""Value macros, scalar subqueries and the timeseries with fields of their own, worked out by hand."""

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import orjson
import pytest

from aggregation.query import (
    QueryError,
    SeriesSource,
    TableArrays,
    query_compile,
    query_parse,
    render_json,
)
from aggregation.query.reader import Labels, ListValues, TableValues
from aggregation.query_reader import SCHEMA
from tests.aggregation.query.memory import MemoryReader, Sample, aggregate, answered, body, trunc

RING = SeriesSource("oura", "ring")
CYCLE = {"source_provider": "apple_health_kit", "source_type": "app"}
CYCLES = MemoryReader(
    tables={
        "menstrual_cycle": [
            {
                "index": date(2024, 1, 3),
                "is_predicted": False,
                "menstrual_flow": [
                    {"date": date(2024, 1, 3), "flow": "light"},
                    {"date": date(2024, 1, 4), "flow": "heavy"},
                    {"date": date(2024, 1, 5), "flow": "none"},
                ],
                "basal_body_temperature": [
                    {"date": date(2024, 1, 3), "value": 36.5},
                    {"date": date(2024, 1, 4), "value": 36.9},
                ],
                "sexual_activity": [{"date": date(2024, 1, 9), "protection_used": True}],
                **CYCLE,
            },
            {
                "index": date(2024, 2, 1),
                "is_predicted": False,
                "menstrual_flow": [],
                "basal_body_temperature": [{"date": date(2024, 2, 1), "value": 36.2}],
                "sexual_activity": None,
                **CYCLE,
            },
        ]
    }
)


def over(column: str, func: str, field: str | None = None, where: str | None = None) -> dict[str, Any]:
    """A subquery over a list of the cycle."""
    arg = None if field is None else {"field_for": "menstrual_cycle", column: field}
    made: dict[str, Any] = {"select": {"func": func, "arg": arg}, "from": {"unnest": {"menstrual_cycle": column}}}
    return made if where is None else {**made, "where": where}


def tags(func: str, arg: object, where: str | None = None) -> dict[str, Any]:
    return {
        "select": {"func": func, "arg": arg},
        "from": {"unnest": {"timeseries": "note", "field": "tags"}},
        "where": where,
    }


def table(query: dict[str, Any], reader: MemoryReader, **options: Any) -> dict[str, list[Any]]:
    (result,) = orjson.loads(render_json(answered(body(query, **options), reader)))["results"]
    columns: dict[str, list[Any]] = result["table"]
    return columns


YEAR = {"anchor": "2024-12-31", "value": 1, "unit": "year"}


def test_a_subquery_has_one_value_a_row() -> None:
    query = {
        "select": [
            {"index": "menstrual_cycle"},
            over("menstrual_flow", "count"),
            over("menstrual_flow", "count", "flow", "flow != 'none'"),
            over("menstrual_flow", "max", "date"),
            over("menstrual_flow", "min", "flow"),
            over("basal_body_temperature", "mean", "value"),
            over("basal_body_temperature", "median", "value", "date > '2024-01-03' AND value < 36.95"),
            over("basal_body_temperature", "stddev", "value"),
            over("sexual_activity", "count", None, "protection_used = TRUE"),
        ]
    }
    assert table(query, CYCLES, **YEAR) == {
        "index": ["2024-01-03", "2024-02-01"],
        "count.menstrual_flow": [3, 0],
        "count.menstrual_flow.flow": [2, 0],
        "max.menstrual_flow.date": ["2024-01-05", None],
        "min.menstrual_flow.flow": ["heavy", None],
        "mean.basal_body_temperature.value": [pytest.approx(36.7), 36.2],
        "median.basal_body_temperature.value": [36.9, 36.2],
        "stddev.basal_body_temperature.value": [pytest.approx(0.28284271247461906), None],
        "count.sexual_activity": [1, None],
    }


def test_a_function_over_a_subquery() -> None:
    query = {
        "select": [
            {"func": "mean", "arg": over("basal_body_temperature", "mean", "value")},
            {"func": "sum", "arg": over("menstrual_flow", "count")},
            {"func": "newest", "arg": over("menstrual_flow", "max", "date")},
            {"func": "count", "arg": over("sexual_activity", "count")},
        ],
        "group_by": [trunc("year", 1, "menstrual_cycle")],
    }
    assert table(query, CYCLES, **YEAR) == {
        "index": ["2024-01-01T00:00:00"],
        "mean.mean.basal_body_temperature.value": [pytest.approx(36.45)],
        "sum.count.menstrual_flow": [3],
        "newest.max.menstrual_flow.date": ["2024-01-05"],
        "count.count.sexual_activity": [1],
    }


def note(when: str, content: str | None, *labels: str) -> Sample:
    instant = datetime.fromisoformat(f"2025-02-17T{when}").replace(tzinfo=UTC)
    return Sample("note", RING, instant, None, fields={"content": content, "tags": labels})


NOTES = [note("10:00", "slept badly", "sick", "late"), note("11:00", None), note("12:00", "better", "late")]


def test_tags_of_notes_are_a_list_of_texts() -> None:
    query = {
        "select": [
            {"note": "content"},
            tags("count", None),
            tags("count", {"element": True}, "element = 'late'"),
            tags("max", {"element": True}),
        ]
    }
    assert table(query, MemoryReader(NOTES)) == {
        "content": ["slept badly", None, "better"],
        "count.tags": [2, 0, 1],
        "count.tags.element": [1, 0, 1],
        "max.tags.element": ["sick", None, "late"],
    }


def test_tags_of_notes_outside_the_window_are_left_out_with_them() -> None:
    query = {"select": [tags("count", None), tags("min", {"element": True})], "where": "content != 'better'"}
    columns = table(query, MemoryReader(NOTES), value=13, unit="hour")
    assert columns == {"count.tags": [], "min.tags.element": []}
    columns = table({**query, "where": "content = 'better'"}, MemoryReader(NOTES), value=12, unit="hour")
    assert columns == {"count.tags": [1], "min.tags.element": ["late"]}


def test_notes_beside_another_timeseries() -> None:
    pressure = Sample("blood_pressure", RING, NOTES[0].instant, None, fields={"systolic": 120.0, "diastolic": 80.0})
    query = {
        "select": [
            {"func": "sum", "arg": tags("count", None)},
            aggregate("mean", "blood_pressure", "systolic"),
            aggregate("mean", "blood_pressure", "diastolic"),
            aggregate("newest", "note", "content"),
        ],
        "group_by": [trunc("day", 1, "note")],
    }
    assert table(query, MemoryReader([pressure, *NOTES])) == {
        "index": ["2025-02-17T00:00:00"],
        "sum.count.tags": [3],
        "mean.systolic": [120.0],
        "mean.diastolic": [80.0],
        "newest": ["better"],
    }


@pytest.mark.parametrize(
    ("resource", "fields"),
    [
        ("blood_pressure", {"systolic": 120.0, "diastolic": 80.0}),
        ("body_temperature", {"value": 36.6, "duration": 60.0, "sensor_location": "wrist"}),
        ("body_temperature_delta", {"value": 0.5, "duration": 60.0, "sensor_location": "finger"}),
        ("workout_duration", {"value": 30.0, "duration": 60.0, "intensity": "high"}),
        (
            "insulin_injection",
            {"value": 4.0, "duration": 60.0, "delivery_mode": "bolus", "delivery_form": "pen", "bolus_purpose": "meal"},
        ),
        ("note", {"content": "tired"}),
    ],
)
def test_every_kind_answers_its_fields(resource: str, fields: dict[str, Any]) -> None:
    own = {name: value for name, value in fields.items() if name not in {"value", "duration"}}
    instant = datetime.fromisoformat("2025-02-17T10:00:00").replace(tzinfo=UTC)
    sample = Sample(resource, RING, instant, fields.get("value"), 0, fields.get("duration"), "automatic", own)
    select = [{"timeseries": resource, "field": name} for name in (*fields, "type")]
    expected = {name: [value] for name, value in fields.items()}
    assert table({"select": select}, MemoryReader([sample])) == {**expected, "type": ["automatic"]}
    where = " AND ".join(f"{name} = {value!r}" for name, value in fields.items())
    assert table({"select": select, "where": where}, MemoryReader([sample]))["type"] == ["automatic"]


def test_a_value_macro_is_asked_of_the_reader_as_a_column_of_its_table() -> None:
    asked: list[list[str]] = []

    class Nights(MemoryReader):
        def read_table(
            self, table: str, columns: Sequence[str], window_start_us: int, window_end_us: int
        ) -> TableArrays:
            asked.append(list(columns))
            return super().read_table(table, columns, window_start_us, window_end_us)

    morning = datetime.fromisoformat("2025-02-17T07:00:00")
    night = {
        "index": morning,
        "macro:sleep_score:2026-11": 81.5,
        "macro:chronotype:2026-11": "lark",
        "macro:asleep_at:2026-11": morning.replace(hour=0, minute=10),
        "macro:awake_at:2026-11": None,
        "macro:awakenings:2026-11": 3,
    }
    other = {**night, "macro:sleep_score:2026-11": 60.5, "macro:chronotype:2026-11": None}
    reader = Nights(tables={"sleep": [night, other]})
    names = ["sleep_score", "chronotype", "asleep_at", "awake_at", "awakenings"]
    plain = {
        "select": [
            {"value_macro": name, "version": version} for name, version in zip(names, ["2026-11"] * 5, strict=True)
        ]
    }
    assert table(plain, reader) == {
        "sleep_score": [81.5, 60.5],
        "chronotype": ["lark", None],
        "asleep_at": ["2025-02-17T00:10:00"] * 2,
        "awake_at": [None, None],
        "awakenings": [3, 3],
    }
    grouped = {
        "select": [{"group_key": 0}, {"func": "max", "arg": {"value_macro": "sleep_score"}}],
        "group_by": [{"value_macro": "chronotype"}, {"source": "source_type"}, {"source": "source_provider"}],
    }
    assert table(grouped, reader) == {"group_key.0": ["lark", None], "max": [81.5, 60.5]}
    assert asked == [
        [f"macro:{name}:2026-11" for name in names],
        ["macro:sleep_score:2026-11", "macro:chronotype:2026-11", "source_type", "source_provider"],
    ]


@pytest.mark.parametrize(
    ("query", "loc", "problem_type", "msg"),
    [
        ({"select": [over("menstrual_flow", "newest", "flow")]}, ("select", 0, "select", "func"), "not_allowed",
         "a list has no newest element; use mean, min, max, sum, count, median or stddev"),
        ({"select": [over("menstrual_flow", "mean", "flow")]}, ("select", 0, "select", "func"), "not_allowed",
         "mean needs numbers, and flow is of type string; use min, max or count"),
        ({"select": [over("menstrual_flow", "max")]}, ("select", 0, "select", "arg"), "not_allowed",
         ("null stands for whole elements, which can only be counted; "
          'use {"field_for": <table>, <list column>: <field>} with date or flow')),
        ({"select": [tags("min", None)]}, ("select", 0, "select", "arg"), "not_allowed",
         'null stands for whole elements, which can only be counted; use {"element": true}'),
        ({"select": [over("menstrual_flow", "max", "flwo")]}, ("select", 0, "select", "arg", "menstrual_flow"),
         "unknown_name", "menstrual_flow has no field 'flwo'; did you mean flow?"),
        ({"select": [{**over("menstrual_flow", "max"), "select": {"func": "max", "arg": {"element": True}}}]},
         ("select", 0, "select", "arg"), "not_allowed",
         ("menstrual_flow is a list of objects; "
          'use {"field_for": <table>, <list column>: <field>} with date or flow')),
        ({"select": [tags("max", {"field_for": "note", "tags": "tag"})]}, ("select", 0, "select", "arg"),
         "not_allowed", 'tags is a list of texts; use {"element": true}'),
        ({"select": [{**over("menstrual_flow", "max", "date"), "from": over("contraceptive", "max")["from"]}]},
         ("select", 0, "select", "arg"), "not_allowed",
         "the field is not of the list column that is unnested; name the same one"),
        ({"select": [{**tags("count", None), "from": {"unnest": {"note": "content"}}}]},
         ("select", 0, "from", "unnest"), "not_allowed", "content is no list column; unnest takes tags"),
        ({"select": [{**tags("count", None), "from": {"unnest": {"value_macro": "chronotype"}}}]},
         ("select", 0, "from", "unnest"), "not_allowed",
         "chronotype is no list column; its table has no list columns"),
        ({"select": [{**tags("count", None), "from": {"unnest": {"value_macro": "nope"}}}]},
         ("select", 0, "from", "unnest", "value_macro"), "unknown_name",
         "there is no value macro 'nope'; there are sleep_score, chronotype, asleep_at, awake_at, awakenings"),
        ({"select": [over("menstrual_flow", "count", None, "colour = 'red'")]}, ("select", 0, "where"),
         "unknown_name", "at character 1: menstrual_flow has no column 'colour'; use date or flow"),
        ({"select": [tags("count", None, "tag = 'x'")]}, ("select", 0, "where"), "unknown_name",
         "at character 1: tags has no column 'tag'; use element"),
        ({"select": [tags("count", None, "element > 3")]}, ("select", 0, "where"), "where_type",
         "at character 11: element is compared with a text in single quotes"),
        ({"select": [over("menstrual_flow", "count")], "group_by": [trunc("day", 1, "menstrual_cycle")]},
         ("select", 0), "not_allowed", "with a group_by a subquery has to be the argument of an aggregate"),
        ({"select": [{"func": "mean", "arg": over("menstrual_flow", "max", "flow")}]}, ("select", 0, "func"),
         "not_allowed",
         "mean needs numbers, and max.menstrual_flow.flow is of type string; use min, max, count, oldest or newest"),
        ({"select": [over("menstrual_flow", "count"), {"sleep": "score"}]}, ("select", 1), "not_allowed",
         "one query works on one table, and this one already uses menstrual_cycle"),
        ({"select": [over("menstrual_flow", "count"), over("menstrual_flow", "count")]}, ("select", 1), "duplicate",
         "this is selected already, by item 0"),
        ({"select": [{"index": "menstrual_cycle"}], "where": "menstrual_flow = 'light'"}, ("where",), "where_type",
         "at character 1: a list column cannot be compared"),
    ],
)  # fmt: skip
def test_what_a_subquery_cannot_ask_is_refused(
    query: dict[str, Any], loc: tuple[str | int, ...], problem_type: str, msg: str
) -> None:
    with pytest.raises(QueryError) as caught:
        query_compile(query_parse(body(query)), SCHEMA)
    (problem,) = caught.value.problems
    assert (problem.loc[3:], problem.type.value, problem.msg) == (loc, problem_type, msg)


def test_lists_may_come_as_arrays_and_labels() -> None:
    class Arrays(MemoryReader):
        def read_table(
            self, table: str, columns: Sequence[str], window_start_us: int, window_end_us: int
        ) -> TableArrays:
            offsets = np.array([0, 2, 2], np.int64)
            fields: dict[str, TableValues] = {
                "date": np.zeros(2, np.int64),
                "flow": Labels(np.array([1, -1], np.int32), ["x", "light"]),
            }
            index = np.array([window_start_us, window_end_us - 1], np.int64)
            return TableArrays(index, {"menstrual_flow": ListValues(offsets, fields)})

    query = {"select": [over("menstrual_flow", "count", "flow"), over("menstrual_flow", "max", "date")]}
    assert table(query, Arrays()) == {
        "count.menstrual_flow.flow": [1, 0],
        "max.menstrual_flow.date": ["1970-01-01", None],
    }


@pytest.mark.parametrize("given", [[1, 2], ListValues(np.array([0, 1], np.int64), {"date": [], "flow": []})])
def test_a_reader_that_gives_other_than_lists_is_found_out(given: Any) -> None:
    class Wrong(MemoryReader):
        def read_table(
            self, table: str, columns: Sequence[str], window_start_us: int, window_end_us: int
        ) -> TableArrays:
            return TableArrays(np.zeros(2, np.int64), {"menstrual_flow": given})

    with pytest.raises((TypeError, ValueError), match="a reader gave"):
        table({"select": [over("menstrual_flow", "count")]}, Wrong())
