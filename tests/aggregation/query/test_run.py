"""What a query answers, worked out by hand: clock changes, priorities, windows, budgets, empty data."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import orjson
import pytest

from aggregation.query import (
    Budget,
    Priorities,
    QueryError,
    ReadLimitError,
    SeriesArrays,
    SeriesSource,
    TableArrays,
    query_compile,
    query_parse,
    query_run,
    render_json,
)
from aggregation.query_reader import SCHEMA
from aggregation.records import OFFSET_UNKNOWN
from tests.aggregation.query.memory import MemoryReader, Sample, aggregate, answered, body, microseconds, trunc

WATCH = SeriesSource("apple_health_kit", "watch")
RING = SeriesSource("oura", "ring")
PHONE = SeriesSource("apple_health_kit", "phone")


def at(text: str) -> datetime:
    """An instant; without an offset in UTC."""
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def beat(when: str, value: float, source: SeriesSource = WATCH, resource: str = "heartrate", **more: Any) -> Sample:
    """A sample whose offset is that of the time given."""
    moment = at(when)
    offset = moment.utcoffset() or timedelta()
    return Sample(resource, source, moment, value, int(offset.total_seconds()), **more)


def table(request: object, reader: MemoryReader, **options: Any) -> dict[str, list[Any]]:
    (result,) = orjson.loads(render_json(answered(request, reader, **options)))["results"]
    columns: dict[str, list[Any]] = result["table"]
    return columns


def test_the_interfaces_sample() -> None:
    reader = MemoryReader(
        [
            beat("2025-02-17T08:00:10+01:00", 60),
            beat("2025-02-17T08:14:59+01:00", 90),
            beat("2025-02-17T08:15:00+01:00", 70),
            beat("2025-02-17T23:59:59+01:00", 50),
            beat("2025-02-18T00:00:00+01:00", 200),
        ]
    )
    functions = [aggregate(name) for name in ("min", "max", "mean", "newest")]
    query = {"select": functions, "group_by": [trunc("minute", 15)]}
    assert table(body(query, value=16, unit="hour"), reader) == {
        "index": ["2025-02-17T08:00:00", "2025-02-17T08:15:00", "2025-02-17T23:45:00"],
        "min": [60.0, 70.0, 50.0],
        "max": [90.0, 70.0, 50.0],
        "mean": [75.0, 70.0, 50.0],
        "newest": [90.0, 70.0, 50.0],
    }


def test_all_nine_functions() -> None:
    reader = MemoryReader([beat(f"2025-02-17T10:0{minute}", value) for minute, value in enumerate([4, 2, 9, 3])])
    names = ["mean", "min", "max", "sum", "count", "median", "stddev", "oldest", "newest"]
    columns = table(body({"select": [aggregate(name) for name in names]}), reader)
    assert columns.pop("stddev") == [pytest.approx(3.1091263510296048)]
    assert columns == {
        "mean": [4.5], "min": [2.0], "max": [9.0], "sum": [18.0], "count": [4], "median": [3.5],
        "oldest": [4.0], "newest": [3.0],
    }  # fmt: skip


def test_the_hour_that_comes_twice_is_one_bucket_and_newest_is_the_later_instant() -> None:
    reader = MemoryReader(
        [
            beat("2025-10-26T02:50:00+02:00", 1),
            beat("2025-10-26T02:10:00+01:00", 2),
            beat("2025-10-26T03:00:00+01:00", 3),
        ]
    )
    query = {"select": [aggregate("oldest"), aggregate("newest"), aggregate("count")], "group_by": [trunc("hour")]}
    assert table(body(query, anchor="2025-10-26"), reader) == {
        "index": ["2025-10-26T02:00:00", "2025-10-26T03:00:00"],
        "oldest": [1.0, 3.0],
        "newest": [2.0, 3.0],
        "count": [2, 1],
    }


def test_the_hour_that_is_left_out_is_absent() -> None:
    reader = MemoryReader([beat("2025-03-30T01:59:00+01:00", 1), beat("2025-03-30T03:00:00+02:00", 2)])
    query = {"select": [aggregate("mean")], "group_by": [trunc("hour")]}
    columns = table(body(query, anchor="2025-03-30"), reader)
    assert columns == {"index": ["2025-03-30T01:00:00", "2025-03-30T03:00:00"], "mean": [1.0, 2.0]}


def test_days_are_the_persons_days_on_a_journey() -> None:
    reader = MemoryReader(
        [
            beat("2025-02-17T23:30:00+09:00", 1),
            beat("2025-02-17T06:40:00-08:00", 2),
            beat("2025-02-18T01:00:00-08:00", 3),
        ]
    )
    query = {"select": [aggregate("sum"), aggregate("newest")], "group_by": [trunc("day")]}
    assert table(body(query, anchor="2025-02-18", value=2), reader) == {
        "index": ["2025-02-17T00:00:00", "2025-02-18T00:00:00"],
        "sum": [3.0, 3.0],
        "newest": [2.0, 3.0],
    }


@pytest.mark.parametrize(
    ("anchor", "value", "unit", "start"),
    [
        ("2025-02-17", 1, "day", "2025-02-17"),
        ("2025-02-17", 90, "minute", "2025-02-17T22:30"),
        ("2025-02-17", 3, "hour", "2025-02-17T21:00"),
        ("2025-02-17", 2, "week", "2025-02-04"),
        ("2025-03-31", 1, "month", "2025-03-01"),
        ("2025-03-30", 1, "month", "2025-02-28"),
        ("2024-12-31", 1, "year", "2024-01-01"),
        ("2024-02-28", 1, "year", "2023-02-28"),
        ("1900-01-01", 100, "year", "1800-01-02"),
    ],
)
def test_the_window_is_the_past_that_ends_with_the_anchor_day(anchor: str, value: int, unit: str, start: str) -> None:
    query = body({"select": [aggregate("mean")]}, anchor=anchor, value=value, unit=unit)
    window = query_compile(query_parse(query), SCHEMA).window
    assert window.start_us == microseconds(datetime.fromisoformat(start))
    assert window.end_us == microseconds(datetime.fromisoformat(anchor) + timedelta(days=1))


@pytest.mark.parametrize(
    ("unit", "value", "expected"),
    [
        ("minute", 7, "2025-02-19T13:43:00"),
        ("minute", 15, "2025-02-19T13:45:00"),
        ("hour", 6, "2025-02-19T12:00:00"),
        ("day", 1, "2025-02-19T00:00:00"),
        ("week", 1, "2025-02-17T00:00:00"),
        ("week", 2, "2025-02-10T00:00:00"),
        ("month", 2, "2025-01-01T00:00:00"),
        ("month", 6, "2025-01-01T00:00:00"),
        ("year", 1, "2025-01-01T00:00:00"),
        ("year", 10, "2020-01-01T00:00:00"),
        ("year", 9_999_999, "0001-01-01T00:00:00"),
    ],
)
def test_buckets_begin_at_their_anchors(unit: str, value: int, expected: str) -> None:
    reader = MemoryReader([beat("2025-02-19T13:47:30.250", 1)])
    query = {"select": [aggregate("count")], "group_by": [trunc(unit, value)]}
    assert table(body(query, anchor="2025-02-19"), reader) == {"index": [expected], "count": [1]}


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ("2024-12-30T23:59", [59, 23, 30, 1, 12, 2024, 1, 1, 365]),
        ("2021-01-03T00:00", [0, 0, 3, 53, 1, 2021, 7, 53, 3]),
        ("2024-02-29T12:30", [30, 12, 29, 9, 2, 2024, 4, 9, 60]),
        ("1969-12-31T05:06", [6, 5, 31, 1, 12, 1969, 3, 1, 365]),
    ],
)
def test_calendar_numbers(when: str, expected: list[int]) -> None:
    parts = ["minute", "hour", "day", "week", "month", "year", "weekday", "week_of_year"]
    index = {"index": "heartrate"}
    reader = MemoryReader([beat(when, 1)])
    grouped = {
        "select": [{"group_key": "*"}, aggregate("count")],
        "group_by": [{"date_part": part, "arg": index} for part in parts],
    }
    columns = table(body(grouped, anchor=when[:10]), reader)
    assert [columns[f"group_key.{offset}"][0] for offset in range(8)] == expected[:8]
    last = {**grouped, "group_by": [{"date_part": "day_of_year", "arg": {"placeholder": True}}]}
    assert table(body(last, anchor=when[:10]), reader)["group_key.0"] == [expected[8]]


def several() -> MemoryReader:
    return MemoryReader(
        [
            beat("2025-02-17T10:00", 60, WATCH),
            beat("2025-02-17T10:30", 80, RING),
            beat("2025-02-17T11:00", 70, RING),
            beat("2025-02-17T11:10", 90, PHONE),
            beat("2025-02-17T12:00", 100, PHONE),
        ]
    )


def test_in_each_group_the_best_source_type_is_kept() -> None:
    query = {"select": [aggregate("mean"), aggregate("count")], "group_by": [trunc("hour")]}
    columns = table(body(query), several())
    assert (columns["mean"], columns["count"]) == ([60.0, 70.0, 100.0], [1, 1, 1])


def test_without_groups_every_source_counts() -> None:
    assert table(body({"select": [aggregate("mean"), aggregate("count")]}), several()) == {"mean": [80.0], "count": [5]}


def test_with_both_source_columns_as_keys_every_source_is_kept() -> None:
    keys = [{"source": "source_provider"}, {"source": "source_type"}]
    query = {"select": [{"group_key": "*"}, aggregate("sum")], "group_by": keys}
    assert table(body(query), several()) == {
        "group_key.0": ["apple_health_kit", "apple_health_kit", "oura"],
        "group_key.1": ["phone", "watch", "ring"],
        "sum": [190.0, 60.0, 150.0],
    }
    by_provider = {**query, "group_by": keys[:1]}
    assert table(body(by_provider), several()) == {"group_key.0": ["apple_health_kit", "oura"], "sum": [60.0, 150.0]}


@pytest.mark.parametrize(
    ("providers", "overrides", "expected"),
    [
        ({}, [], 1.0),  # a tie goes by slug
        ({"garmin": 1, "oura": 2}, [], 2.0),
        ({"garmin": 1, "oura": 2}, ["withings"], 3.0),
        ({"garmin": 1, "oura": 2}, ["garmin", "withings"], 1.0),
        ({"garmin": -1}, [], 1.0),  # unlisted providers come last
    ],
)
def test_providers_of_one_source_type_go_by_priority(
    providers: dict[str, int], overrides: list[str], expected: float
) -> None:
    sources = {"garmin": 1, "oura": 2, "withings": 3}
    samples = [beat("2025-02-17T10:00", value, SeriesSource(slug, "watch")) for slug, value in sources.items()]
    query = {"select": [aggregate("max"), aggregate("count")], "group_by": [trunc("day")]}
    columns = table(body(query, overrides=overrides), MemoryReader(samples), priorities=Priorities(providers))
    assert (columns["max"], columns["count"]) == ([expected], [1])


def test_the_best_source_is_chosen_after_the_where_and_for_each_resource() -> None:
    query = {"select": [aggregate("mean")], "group_by": [trunc("hour")], "where": "source_type != 'watch'"}
    assert table(body(query), several())["mean"] == [80.0, 70.0, 100.0]
    glucose = beat("2025-02-17T10:05", 5.5, SeriesSource("dexcom", "unknown"), resource="glucose")
    mixed = MemoryReader([*several().samples, glucose])
    both = {"select": [aggregate("mean"), aggregate("mean", "glucose")], "group_by": [trunc("hour")]}
    assert table(body(both), mixed) == {
        "index": ["2025-02-17T10:00:00", "2025-02-17T11:00:00", "2025-02-17T12:00:00"],
        "mean.heartrate.value": [60.0, 70.0, 100.0],
        "mean.glucose.value": [5.5, None, None],
    }


def test_equal_instants_are_told_apart_by_source_whatever_the_readers_order() -> None:
    one, two = SeriesSource("oura", "ring", "app.one"), SeriesSource("oura", "ring", "app.two")
    samples = [beat("2025-02-17T10:00", 1, one), beat("2025-02-17T10:00", 2, two)]
    query = {"select": [aggregate("oldest"), aggregate("newest")], "group_by": [trunc("day")]}
    for ordered in (samples, samples[::-1]):
        columns = table(body(query), MemoryReader(ordered))
        assert (columns["oldest"], columns["newest"]) == ([1.0], [2.0])


def test_no_data_answers_empty_columns_and_one_row_for_the_whole_window() -> None:
    grouped = {
        "select": [{"group_key": "*"}, aggregate("mean")],
        "group_by": [trunc("hour"), {"source": "source_type"}],
    }
    assert table(body(grouped), MemoryReader()) == {"group_key.0": [], "group_key.1": [], "mean": []}
    hourly = {"select": [aggregate("mean")], "group_by": [trunc("hour")]}
    assert table(body(hourly), MemoryReader()) == {"index": [], "mean": []}
    assert table(body({"select": [{"index": "steps"}, {"steps": "type"}]}), MemoryReader()) == {"index": [], "type": []}
    names = ["mean", "min", "max", "sum", "median", "stddev", "oldest", "newest"]
    whole = {"select": [aggregate(name) for name in ("count", *names)]}
    assert table(body(whole), MemoryReader()) == {"count": [0], **{name: [None] for name in names}}
    assert table(body({**whole, "where": "value < 0"}), several()) == {"count": [0], **{name: [None] for name in names}}


def test_one_sample_has_no_deviation() -> None:
    query = {"select": [aggregate("stddev"), aggregate("median")]}
    assert table(body(query), MemoryReader([beat("2025-02-17T10:00", 60)])) == {"stddev": [None], "median": [60.0]}


def test_medians_of_groups_of_very_unlike_size() -> None:
    lone = [beat(f"2025-02-17T{hour:02}:00", hour) for hour in range(12)]
    many = [beat(f"2025-02-17T20:{minute:02}", (minute * 7) % 24) for minute in range(24)]
    query = {"select": [aggregate("median")], "group_by": [trunc("hour")]}
    medians = table(body(query), MemoryReader([*many, *lone]))["median"]
    assert medians == [*map(float, range(12)), 11.5]


def test_numbers_that_are_none_never_reach_an_answer() -> None:
    values = [float("nan"), float("inf"), 1e308, 1e308]
    reader = MemoryReader([beat(f"2025-02-17T10:0{minute}", value) for minute, value in enumerate(values)])
    names = ["count", "sum", "mean", "max", "median", "newest", "stddev"]
    assert table(body({"select": [aggregate(name) for name in names]}), reader) == {
        "count": [2], "sum": [None], "mean": [None], "max": [1e308], "median": [None], "newest": [1e308],
        "stddev": [None],
    }  # fmt: skip
    assert table(body({"select": [{"heartrate": "value"}]}), reader) == {"value": [None, None, 1e308, 1e308]}


def test_plain_columns_come_in_order_of_time_with_their_sources() -> None:
    reader = MemoryReader(
        [
            beat("2025-02-17T11:00+01:00", 2, RING, resource="steps", duration_seconds=60.0, type="walking"),
            beat("2025-02-17T10:00:00.5+01:00", 1, resource="steps"),
        ]
    )
    fields = ["timezone_offset", "type", "duration", "value", "source_provider", "source_app_id"]
    query = {"select": [{"index": "steps"}, *({"timeseries": "steps", "field": name} for name in fields)]}
    assert table(body(query), reader) == {
        "index": ["2025-02-17T10:00:00.500000", "2025-02-17T11:00:00"],
        "timezone_offset": [3600, 3600],
        "type": [None, "walking"],
        "duration": [None, 60.0],
        "value": [1.0, 2.0],
        "source_provider": ["apple_health_kit", "oura"],
        "source_app_id": [None, None],
    }


def test_an_offset_nobody_named_is_null() -> None:
    reader = MemoryReader([Sample("steps", RING, at("2025-02-17T10:00"), 1, 0)])

    class Unknown(MemoryReader):
        def read_series(self, resource: str, window_start_us: int, window_end_us: int) -> list[SeriesArrays]:
            (one,) = reader.read_series(resource, window_start_us, window_end_us)
            offset = np.array([OFFSET_UNKNOWN], np.int32)
            return [SeriesArrays(one.source, one.local_us, one.start_us, offset, one.value)]

    query = {"select": [{"steps": "timezone_offset"}, {"steps": "type"}, {"steps": "duration"}]}
    assert table(body(query), Unknown()) == {"timezone_offset": [None], "type": [None], "duration": [None]}


def test_workout_and_sport_may_be_given_a_sample() -> None:
    class Workouts(MemoryReader):
        def read_series(self, resource: str, window_start_us: int, window_end_us: int) -> list[SeriesArrays]:
            local_us = np.array([microseconds(at("2025-02-17T10:00")) + step for step in (0, 1)], np.int64)
            value, offsets = np.array([1.0, 2.0]), np.zeros(2, np.int32)
            fields = {"source_workout_id": [None, "w1"]}
            return [SeriesArrays(WATCH, local_us, local_us, offsets, value, fields=fields)]

    query = {"select": [{"group_key": 0}, aggregate("sum")], "group_by": [{"source": "source_workout_id"}]}
    assert table(body(query), Workouts()) == {"group_key.0": ["w1", None], "sum": [2.0, 1.0]}


def days() -> MemoryReader:
    ring = {"source_provider": "oura", "source_type": "ring"}
    watch = {"source_provider": "fitbit", "source_type": "watch"}
    first, second = date(2025, 2, 16), date(2025, 2, 17)
    return MemoryReader(
        tables={
            "activity": [
                {"index": second, "date": second, "steps": 50, "wheelchair_use": None, **watch},
                {"index": second, "date": second, "steps": None, "wheelchair_use": False, **ring},
                {"index": first, "date": first, "steps": 100, "wheelchair_use": True, **ring},
                {"index": date(2025, 2, 15), "date": None, "steps": 1, "wheelchair_use": True, **ring},
            ]
        }
    )


def test_a_summary_table() -> None:
    index = {"index": "activity"}
    names = [{"activity": "date"}, {"activity": "steps"}, {"activity": "wheelchair_use"}]
    plain = {"select": [index, *names, {"source": "source_type"}]}
    assert table(body(plain, value=2), days()) == {
        "index": ["2025-02-16", "2025-02-17", "2025-02-17"],
        "date": ["2025-02-16", "2025-02-17", "2025-02-17"],
        "steps": [100, 50, None],
        "wheelchair_use": [True, None, False],
        "source_type": ["ring", "watch", "ring"],
    }
    grouped = {
        "select": [aggregate("sum", "activity", "steps"), {"func": "newest", "arg": {"activity": "wheelchair_use"}}],
        "group_by": [trunc("day", 1, "activity")],
    }
    assert table(body(grouped, value=2), days()) == {
        "index": ["2025-02-16T00:00:00", "2025-02-17T00:00:00"],
        "sum": [100, 50],
        "newest": [True, None],
    }


@pytest.mark.parametrize(
    ("where", "steps"),
    [
        ("wheelchair_use = TRUE", [100]),
        ("NOT wheelchair_use = TRUE", [None]),
        ("date >= '2025-02-17'", [50, None]),
        ("'2025-02-17' > date", [100]),
        ("steps = steps", [100, 50]),
        ("source_provider < source_type", [100, 50, None]),
        ("source_type = 'nothing' OR steps > 99.5", [100]),
        ("NOT (source_type = 'ring' AND steps > 0)", [50]),
    ],
)
def test_where_over_a_table(where: str, steps: list[int | None]) -> None:
    query = {"select": [{"activity": "steps"}], "where": where}
    assert table(body(query, value=2), days()) == {"steps": steps}


def test_a_profile_is_in_utc() -> None:
    row = {
        "index": datetime(2025, 2, 17, 9, tzinfo=UTC),
        "updated_at": datetime.fromisoformat("2025-02-17T10:00:00+01:00"),
        "created_at": None,
        "birth_date": date(1980, 2, 29),
        "height_centimeter": 180,
    }
    columns = ["updated_at", "created_at", "birth_date", "height_centimeter"]
    query = {"select": [{"index": "profile"}, *({"profile": name} for name in columns)]}
    reader = MemoryReader(tables={"profile": [row]})
    assert table(body({**query, "where": "updated_at = '2025-02-17T09:00:00Z'"}), reader) == {
        "index": ["2025-02-17T09:00:00+00:00"],
        "updated_at": ["2025-02-17T09:00:00+00:00"],
        "created_at": [None],
        "birth_date": ["1980-02-29"],
        "height_centimeter": [180],
    }


def test_a_table_is_asked_for_exactly_the_columns_needed() -> None:
    asked: list[list[str]] = []

    class Recording(MemoryReader):
        def read_table(
            self, table: str, columns: Sequence[str], window_start_us: int, window_end_us: int
        ) -> TableArrays:
            asked.append(list(columns))
            return super().read_table(table, columns, window_start_us, window_end_us)

    plain = {"select": [{"sleep": "score"}, {"index": "sleep"}], "where": "type = 'long_sleep' AND score > 1"}
    grouped = {"select": [aggregate("mean", "sleep", "score")], "group_by": [trunc("day", 1, "sleep")]}
    answered(body(plain, grouped), Recording())
    assert asked == [["score", "type"], ["score", "source_provider", "source_type"]]


def test_a_resource_is_read_once_for_all_queries() -> None:
    reader = several()
    query = {"select": [aggregate("mean")], "group_by": [trunc("hour")]}
    answered(body(query, {"select": [aggregate("max")]}, {"select": [aggregate("mean", "steps")]}), reader)
    assert reader.asked == ["heartrate", "steps"]


def refusal(request: object, reader: MemoryReader, budget: Budget) -> tuple[tuple[str | int, ...], str]:
    with pytest.raises(QueryError) as caught:
        answered(request, reader, budget=budget)
    assert caught.value.is_budget
    (problem,) = caught.value.problems
    return problem.loc, problem.type.value


HOURLY = {"select": [aggregate("mean")], "group_by": [trunc("hour")]}


def test_the_budget_of_rows_counts_over_all_queries() -> None:
    steps = beat("2025-02-17T10:00", 1, resource="steps")
    reader = MemoryReader([*several().samples, steps])
    request = body(HOURLY, {"select": [aggregate("mean", "steps")]})
    assert len(answered(request, reader, budget=Budget(max_rows=6))) == 2
    assert refusal(request, reader, Budget(max_rows=5)) == (("body", "queries", 1), "budget_rows_exceeded")


def test_the_budget_of_groups_counts_what_is_answered() -> None:
    request = body(HOURLY, {"select": [{"heartrate": "value"}]})
    assert len(answered(request, several(), budget=Budget(max_groups=8))) == 2
    assert refusal(request, several(), Budget(max_groups=7)) == (("body", "queries", 1), "budget_groups_exceeded")
    assert refusal(request, several(), Budget(max_groups=2)) == (("body", "queries", 0), "budget_groups_exceeded")


def test_the_budget_of_values_counts_columns_too() -> None:
    # Three hours of a bucket and a mean, and five plain rows of a value: 3 x 2 + 5 x 1.
    request = body(HOURLY, {"select": [{"heartrate": "value"}]})
    assert len(answered(request, several(), budget=Budget(max_cells=11))) == 2
    assert refusal(request, several(), Budget(max_cells=10)) == (("body", "queries", 1), "budget_groups_exceeded")


def test_the_budget_of_time() -> None:
    budget = Budget(max_seconds=0)
    assert refusal(body(HOURLY), several(), budget) == (("body", "queries", 0), "budget_seconds_exceeded")


def test_a_reader_may_refuse_too_many_rows_itself() -> None:
    class Limited(MemoryReader):
        def read_series(self, resource: str, window_start_us: int, window_end_us: int) -> Sequence[SeriesArrays]:
            raise ReadLimitError

    assert refusal(body(HOURLY), Limited(), Budget()) == (("body", "queries", 0), "budget_rows_exceeded")


def test_one_plan_runs_for_many_users() -> None:
    plan = query_compile(query_parse(body({"select": [aggregate("count")]})), SCHEMA)
    counts = [query_run(plan, reader)[0].columns[0][1].values.tolist() for reader in (several(), MemoryReader())]
    assert counts == [[5], [0]]
