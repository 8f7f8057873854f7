"""Aligned queries, worked out by hand: which buckets are put in, and where their values come from."""

from datetime import date, datetime, timedelta
from typing import Any

import orjson
import pytest

from aggregation.query import Budget, QueryError, SeriesSource, query_compile, query_parse, render_json
from aggregation.query_reader import SCHEMA
from healthsvc.kernel import clock
from tests.aggregation.query.memory import MemoryReader, aggregate, answered, body, trunc
from tests.aggregation.query.test_run import RING, WATCH, beat

NOON = datetime.fromisoformat("2025-02-17T12:00:00")
HOURS = MemoryReader([beat("2025-02-17T06:10", 60), beat("2025-02-17T09:10", 90), beat("2025-02-17T10:00", 100)])


def aligned(mode: str, cap: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    carry: dict[str, Any] = {"mode": f"carry_{mode}"}
    if cap is not None:
        carry["span" if mode == "nearest" else "max_age"] = cap
    select = [{"group_key": "*"}, aggregate("mean")]
    return {"select": select, "group_by": [trunc("hour")], "align": {"carry": carry}, **changes}


def table(query: dict[str, Any], reader: MemoryReader, now: datetime = NOON, **options: Any) -> dict[str, list[Any]]:
    request = body(query, **{key: options.pop(key) for key in ("anchor", "value", "unit") if key in options})
    (result,) = orjson.loads(render_json(answered(request, reader, now=now, **options)))["results"]
    columns: dict[str, list[Any]] = result["table"]
    return columns


def hours(columns: dict[str, list[Any]]) -> dict[int, Any]:
    pairs = zip(columns["group_key.0"], columns["mean"], strict=True)
    return {datetime.fromisoformat(text).hour: value for text, value in pairs}


@pytest.mark.parametrize(
    ("mode", "cap", "expected"),
    [
        ("forward", None, {6: 60, 7: 60, 8: 60, 9: 90, 10: 100}),
        ("backward", None, {6: 60, 7: 90, 8: 90, 9: 90, 10: 100}),
        ("nearest", None, {6: 60, 7: 60, 8: 90, 9: 90, 10: 100}),
        ("forward", {"unit": "hour"}, {6: 60, 7: 60, 8: None, 9: 90, 10: 100, 11: 100}),
        ("forward", {"unit": "minute", "value": 59}, None),
        ("forward", {"unit": "hour", "value": 2}, {6: 60, 7: 60, 8: 60, 9: 90, 10: 100, 11: 100, 12: 100}),
        ("forward", {"unit": "hour", "value": 5}, {6: 60, 7: 60, 8: 60, 9: 90, 10: 100, 11: 100, 12: 100}),
        ("backward", {"unit": "hour"}, {5: 60, 6: 60, 7: None, 8: 90, 9: 90, 10: 100}),
        ("nearest", {"unit": "hour"}, {5: 60, 6: 60, 7: 60, 8: 90, 9: 90, 10: 100, 11: 100}),
    ],
)
def test_carrying(mode: str, cap: dict[str, Any] | None, expected: dict[int, float | None] | None) -> None:
    if expected is None:
        with pytest.raises(QueryError):
            table(aligned(mode, cap), HOURS)
    else:
        assert hours(table(aligned(mode, cap), HOURS)) == expected


def test_of_two_that_are_equally_near_the_past_one_is_taken() -> None:
    reader = MemoryReader([beat("2025-02-17T06:10", 60), beat("2025-02-17T08:10", 80)])
    assert hours(table(aligned("nearest"), reader)) == {6: 60, 7: 60, 8: 80}


def test_nothing_is_carried_into_the_future_but_data_of_it_stay() -> None:
    cap = {"unit": "hour", "value": 5}
    half_past_ten = NOON - timedelta(minutes=90)
    assert list(hours(table(aligned("forward", cap), HOURS, half_past_ten))) == [6, 7, 8, 9, 10]
    assert list(hours(table(aligned("forward", cap), HOURS, NOON - timedelta(hours=5)))) == [6, 7, 8, 9, 10]


def test_a_carried_value_may_lie_outside_the_timeframe() -> None:
    reader = MemoryReader([beat("2025-02-17T00:10", 60), beat("2025-02-17T23:10", 90)])
    columns = table(aligned("nearest", {"unit": "hour"}), reader, NOON + timedelta(days=9))
    ends = (columns["group_key.0"][0], columns["group_key.0"][-1])
    assert ends == ("2025-02-16T23:00:00", "2025-02-18T00:00:00")


def test_each_column_is_carried_by_itself() -> None:
    reader = MemoryReader(
        [
            beat("2025-02-17T06:00", 60),
            beat("2025-02-17T06:01", 62),
            beat("2025-02-17T08:00", 80),
            beat("2025-02-17T09:00", 5, resource="glucose"),
        ]
    )
    select = [{"group_key": 0}, aggregate("stddev"), aggregate("count"), aggregate("newest", "glucose")]
    columns = table(aligned("forward", select=select), reader)
    assert columns == {
        "group_key.0": [f"2025-02-17T0{hour}:00:00" for hour in (6, 7, 8, 9)],
        "stddev": [pytest.approx(2**0.5)] * 4,
        "count": [2, 2, 1, 0],
        "newest": [None, None, None, 5.0],
    }


def test_every_line_has_buckets_of_its_own_in_the_order_of_the_keys() -> None:
    reader = MemoryReader(
        [
            beat("2025-02-17T06:00", 1, RING),
            beat("2025-02-17T08:00", 2, RING),
            beat("2025-02-17T07:00", 3, WATCH),
            beat("2025-02-17T09:00", 4, WATCH),
            beat("2025-02-17T07:30", 5, SeriesSource("fitbit", "phone")),
        ]
    )
    by_source = aligned("forward", group_by=[{"source": "source_type"}, trunc("hour")])
    assert list(zip(*table(by_source, reader).values(), strict=True)) == [
        ("phone", "2025-02-17T07:00:00", 5.0),
        ("ring", "2025-02-17T06:00:00", 1.0),
        ("ring", "2025-02-17T07:00:00", 1.0),
        ("ring", "2025-02-17T08:00:00", 2.0),
        ("watch", "2025-02-17T07:00:00", 3.0),
        ("watch", "2025-02-17T08:00:00", 3.0),
        ("watch", "2025-02-17T09:00:00", 4.0),
    ]
    by_time = aligned("forward", group_by=[trunc("hour"), {"source": "source_type"}])
    assert list(zip(*table(by_time, reader).values(), strict=True)) == [
        ("2025-02-17T06:00:00", "ring", 1.0),
        ("2025-02-17T07:00:00", "phone", 5.0),
        ("2025-02-17T07:00:00", "ring", 1.0),
        ("2025-02-17T07:00:00", "watch", 3.0),
        ("2025-02-17T08:00:00", "ring", 2.0),
        ("2025-02-17T08:00:00", "watch", 3.0),
        ("2025-02-17T09:00:00", "watch", 4.0),
    ]


def test_texts_and_months_are_carried() -> None:
    rows: list[dict[str, Any]] = [
        {"index": date(2024, 1, 31), "date": date(2024, 1, 31), "name": "soup"},
        {"index": date(2024, 4, 2), "date": date(2024, 4, 2), "name": None},
    ]
    query = {
        "select": [{"group_key": 0}, aggregate("newest", "meal", "name"), aggregate("newest", "meal", "date")],
        "group_by": [trunc("month", 1, "meal")],
        "align": {"carry": {"mode": "carry_forward", "max_age": {"unit": "month", "value": 2}}},
    }
    months = table(query, MemoryReader(tables={"meal": rows}), anchor="2024-12-31", value=1, unit="year")
    assert months == {
        "group_key.0": [f"2024-0{month}-01T00:00:00" for month in range(1, 7)],
        "newest.name": ["soup", "soup", "soup", None, None, None],
        "newest.date": ["2024-01-31", "2024-01-31", "2024-01-31", "2024-04-02", "2024-04-02", "2024-04-02"],
    }


def test_the_hour_that_is_left_out_in_spring_is_put_in() -> None:
    reader = MemoryReader([beat("2025-03-30T01:59:00+01:00", 1), beat("2025-03-30T03:00:00+02:00", 2)])
    assert hours(table(aligned("forward"), reader, anchor="2025-03-30")) == {1: 1, 2: 1, 3: 2}


def test_no_data_have_no_buckets() -> None:
    for cap in (None, {"unit": "hour", "value": 3}):
        assert table(aligned("nearest", cap), MemoryReader()) == {"group_key.0": [], "mean": []}


def test_a_cap_beyond_the_calendar_stops_at_its_beginning() -> None:
    query = aligned("nearest", {"unit": "year", "value": 50_000_000}, group_by=[trunc("year", 1_000)])
    assert table(query, HOURS, NOON.replace(year=4500))["group_key.0"] == [
        "0001-01-01T00:00:00", "1000-01-01T00:00:00", "2000-01-01T00:00:00", "3000-01-01T00:00:00",
        "4000-01-01T00:00:00",
    ]  # fmt: skip


def test_merged_sources_are_aligned_with_their_lineage() -> None:
    request = body(aligned("forward"), mode="merge")
    (result,) = orjson.loads(render_json(answered(request, HOURS, now=NOON)))["results"]
    assert result["table"]["lineage.apple_health_kit.watch"] == [1.0] * 5


def test_the_budget_counts_the_buckets_that_are_put_in_before_they_are_made() -> None:
    reader = MemoryReader([beat("2025-02-16T00:00", 1), beat("2025-02-17T23:59", 2)])
    query = aligned("forward", group_by=[trunc("minute")])
    answered(body(query, value=2), reader, budget=Budget(max_groups=2880), now=NOON)
    with pytest.raises(QueryError) as caught:
        answered(body(query, value=2), reader, budget=Budget(max_groups=2879), now=NOON)
    (problem,) = caught.value.problems
    assert (problem.loc, problem.type.value) == (("body", "queries", 0), "budget_groups_exceeded")


@pytest.mark.parametrize(
    ("changes", "loc", "problem_type", "msg"),
    [
        ({"group_by": [{"source": "source_type"}]}, ("align",), "not_allowed",
         "align fills empty buckets: group by a date_trunc"),
        ({"select": [aggregate("mean")], "group_by": []}, ("align",), "not_allowed",
         "align fills empty buckets: group by a date_trunc"),
        ({"select": [aggregate("mean")]}, ("align",), "not_allowed",
         'align needs every group key in the answer: select {"group_key": "*"}'),
        ({"select": [{"group_key": 0}, aggregate("mean")], "group_by": [trunc("hour"), {"source": "source_type"}]},
         ("align",), "not_allowed", 'align needs every group key in the answer: select {"group_key": "*"}'),
        ({"group_by": [trunc("hour"), {"date_part": "weekday", "arg": {"index": "heartrate"}}]}, ("align",),
         "not_allowed", "align follows the time line, which a date_part has not: group without it"),
        ({"group_by": [trunc("hour", 3)]}, ("align", "carry", "max_age"), "out_of_range",
         "the max_age has to reach the next bucket: use at least the date_trunc's 3 hour"),
    ],
)  # fmt: skip
def test_what_cannot_be_aligned_is_refused(
    changes: dict[str, Any], loc: tuple[str, ...], problem_type: str, msg: str
) -> None:
    query = {**aligned("forward", {"unit": "hour", "value": 2}), **changes}
    with pytest.raises(QueryError) as caught:
        query_compile(query_parse(body(query)), SCHEMA)
    (problem,) = caught.value.problems
    assert (problem.loc[3:], problem.type.value, problem.msg) == (loc, problem_type, msg)


@pytest.mark.parametrize(
    ("bucket", "cap", "reaches"),
    [
        (("month", 1), ("month", 1), True),
        (("month", 1), ("day", 30), False),
        (("month", 1), ("week", 5), True),
        (("day", 28), ("month", 1), True),
        (("day", 29), ("month", 1), False),
        (("month", 6), ("year", 1), True),
        (("year", 1), ("month", 6), False),
        (("year", 1), ("year", 1), True),
        (("week", 12), ("month", 3), True),
        (("week", 1), ("day", 7), True),
        (("hour", 23), ("day", 1), True),
    ],
)
def test_a_cap_reaches_the_next_bucket_in_every_month(
    bucket: tuple[str, int], cap: tuple[str, int], reaches: bool
) -> None:
    query = aligned("nearest", {"unit": cap[0], "value": cap[1]}, group_by=[trunc(*bucket)])
    if reaches:
        query_compile(query_parse(body(query)), SCHEMA)
        return
    with pytest.raises(QueryError) as caught:
        query_compile(query_parse(body(query)), SCHEMA)
    assert caught.value.problems[0].loc[3:] == ("align", "carry", "span")


def test_without_a_time_of_the_persons_the_clock_says_where_the_future_begins() -> None:
    query = aligned("forward", {"unit": "year", "value": 500}, group_by=[trunc("year")])
    (result,) = orjson.loads(render_json(answered(body(query), HOURS)))["results"]
    assert result["table"]["group_key.0"][-1] == f"{clock.now().year}-01-01T00:00:00"
