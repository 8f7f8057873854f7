"""Merged sources, worked out by hand: what is counted, what is not, and who gave how much."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import orjson
import pytest

from aggregation.query import (
    Priorities,
    QueryError,
    SeriesSource,
    query_compile,
    query_parse,
    render_json,
)
from aggregation.query.merge import Samples, counted_shares
from aggregation.query_reader import SCHEMA
from tests.aggregation.query.memory import MemoryReader, Sample, aggregate, answered, body, trunc

WATCH = SeriesSource("apple_health_kit", "watch")
PHONE = SeriesSource("apple_health_kit", "phone")
RING = SeriesSource("oura", "ring")
OF_WATCH, OF_PHONE = "lineage.apple_health_kit.watch", "lineage.apple_health_kit.phone"


def walk(start: str, end: str, steps: float | None, source: SeriesSource, resource: str = "steps") -> Sample:
    """An interval of 2025-02-17 in UTC."""
    from_, until = (datetime.fromisoformat(f"2025-02-17T{text}").replace(tzinfo=UTC) for text in (start, end))
    return Sample(resource, source, from_, steps, duration_seconds=(until - from_).total_seconds())


def beat(when: str, value: float, source: SeriesSource) -> Sample:
    return Sample("heartrate", source, datetime.fromisoformat(f"2025-02-17T{when}").replace(tzinfo=UTC), value)


def merged(query: dict[str, Any], samples: list[Sample], mode: str = "merge", **options: Any) -> dict[str, list[Any]]:
    (result,) = orjson.loads(render_json(answered(body(query, mode=mode), MemoryReader(samples), **options)))["results"]
    columns: dict[str, list[Any]] = result["table"]
    return columns


def summed(unit: str, value: int = 1) -> dict[str, Any]:
    return {
        "select": [aggregate("sum", "steps"), aggregate("count", "steps")],
        "group_by": [trunc(unit, value, "steps")],
    }


#: The watch is taken off from 11:30 to 12:30; the phone counts all day, and hears some of what the watch hears.
DAY = [
    walk("10:00", "11:00", 1000, WATCH),
    walk("11:00", "11:30", 400, WATCH),
    walk("12:30", "13:00", 500, WATCH),
    walk("10:00", "11:00", 900, PHONE),
    walk("11:00", "12:00", 800, PHONE),
    walk("12:00", "12:30", 300, PHONE),
    walk("12:40", "12:50", 100, PHONE),
]


def test_a_day_has_the_steps_of_the_phone_where_the_watch_was_off() -> None:
    assert merged(summed("day"), DAY) == {
        "index": ["2025-02-17T00:00:00"],
        "sum": [1900.0 + 400 + 300],  # half of what the phone counted from 11 to 12, and all of the next half hour
        "count": [5],
        OF_WATCH: [pytest.approx(1900 / 2600)],
        OF_PHONE: [pytest.approx(700 / 2600)],
    }


def test_priority_alone_loses_them() -> None:
    assert merged(summed("day"), DAY, "priority") == {
        "index": ["2025-02-17T00:00:00"], "sum": [1900.0], "count": [3]
    }  # fmt: skip


def test_hours_make_up_the_day() -> None:
    hourly = merged(summed("hour"), DAY)
    assert hourly == {
        "index": ["2025-02-17T10:00:00", "2025-02-17T11:00:00", "2025-02-17T12:00:00"],
        "sum": [1000.0, 800.0, 800.0],
        "count": [1, 2, 2],
        OF_WATCH: [1.0, 0.5, 0.625],
        OF_PHONE: [0.0, 0.5, 0.375],
    }
    assert sum(hourly["sum"]) == merged(summed("day"), DAY)["sum"][0]


def test_what_a_sample_covers_reaches_into_the_next_bucket() -> None:
    samples = [
        walk("10:30", "11:30", 600, WATCH),
        walk("11:00", "11:20", 200, PHONE),
        walk("11:20", "11:40", 80, PHONE),
    ]
    assert merged(summed("hour"), samples) == {
        "index": ["2025-02-17T10:00:00", "2025-02-17T11:00:00"],
        "sum": [600.0, 40.0],
        "count": [1, 1],
        OF_WATCH: [1.0, 0.0],
        OF_PHONE: [0.0, 1.0],
    }


def test_a_bucket_of_which_nothing_counts_is_absent() -> None:
    samples = [walk("10:30", "11:30", 600, WATCH), walk("11:00", "11:20", 200, PHONE)]
    assert merged(summed("hour"), samples)["index"] == ["2025-02-17T10:00:00"]


def test_three_sources_fill_in_turn() -> None:
    samples = [
        walk("10:00", "10:10", 100, WATCH),
        walk("10:05", "10:20", 150, RING),
        walk("10:00", "10:40", 400, PHONE),
    ]
    columns = merged(summed("hour"), samples)
    assert columns["sum"] == [100 + 100 + 200]
    assert (columns[OF_WATCH], columns["lineage.oura.ring"], columns[OF_PHONE]) == ([0.25], [0.25], [0.5])


def test_priorities_say_who_comes_first() -> None:
    samples = [walk("10:00", "10:10", 100, SeriesSource(slug, "watch")) for slug in ("fitbit", "garmin")]
    samples.append(walk("10:10", "10:20", 70, SeriesSource("fitbit", "watch")))
    columns = merged(summed("hour"), samples, priorities=Priorities({"garmin": 2, "fitbit": 1}))
    assert list(columns) == ["index", "sum", "count", "lineage.garmin.watch", "lineage.fitbit.watch"]
    assert columns["sum"] == [170.0]
    assert columns["lineage.garmin.watch"] == [pytest.approx(100 / 170)]


def test_instants_that_add_up_are_counted_once() -> None:
    samples = [walk("10:00", "10:00", 250, source, "water") for source in (WATCH, PHONE)]
    samples.append(walk("10:01", "10:01", 330, PHONE, "water"))
    query = {"select": [aggregate("sum", "water")], "group_by": [trunc("day", 1, "water")]}
    assert merged(query, samples)["sum"] == [580.0]


def test_apps_and_devices_of_one_source_are_merged_too() -> None:
    def phone(app_id: str | None = None, device_id: str | None = None) -> SeriesSource:
        return SeriesSource("apple_health_kit", "phone", app_id, device_id=device_id)

    for other in (phone("com.runner"), phone(device_id="another")):
        samples = [walk("10:00", "11:00", 1000, PHONE), walk("10:00", "11:00", 1000, other)]
        assert merged(summed("day"), samples) == {
            "index": ["2025-02-17T00:00:00"], "sum": [1000.0], "count": [1], OF_PHONE: [1.0]
        }  # fmt: skip
        samples.append(walk("10:30", "11:30", 600, other))
        assert merged(summed("day"), samples)["sum"] == [1300.0]
    everyone = [phone("aaa"), phone("com.apple.health.7", "b"), phone("com.apple.health.7", "a"), phone(), WATCH]
    counted = []
    while everyone:
        samples = [walk("10:00", "11:00", 100 + place, one) for place, one in enumerate(everyone)]
        counted.append(everyone.pop(round(merged(summed("day"), samples)["sum"][0]) - 100))
    assert counted == [WATCH, phone(), phone("com.apple.health.7", "a"), phone("com.apple.health.7", "b"), phone("aaa")]


def test_by_priority_the_apps_and_devices_of_the_best_source_all_count() -> None:
    samples = [walk("10:00", "11:00", 1000, PHONE), walk("10:00", "11:00", 1000, replace(PHONE, app_id="com.runner"))]
    assert merged(summed("day"), samples, "priority")["sum"] == [2000.0]


def test_samples_of_one_app_and_device_stand_side_by_side() -> None:
    samples = [walk("10:00", "10:10", 100, WATCH), walk("10:05", "10:10", 50, WATCH)]
    assert merged(summed("day"), samples)["sum"] == [150.0]


def test_a_lower_heart_rate_counts_where_no_better_one_is_near() -> None:
    samples = [
        beat("10:00", 60, WATCH),
        beat("10:10", 90, PHONE),
        beat("10:10:01", 80, PHONE),
        beat("10:49:59", 70, PHONE),
        beat("10:50", 100, PHONE),
        beat("11:00", 65, WATCH),
    ]
    query = {"select": [aggregate("count"), aggregate("mean")], "group_by": [trunc("day")]}
    assert merged(query, samples) == {
        "index": ["2025-02-17T00:00:00"],
        "count": [4],
        "mean": [(60 + 80 + 70 + 65) / 4],
        OF_WATCH: [0.5],
        OF_PHONE: [0.5],
    }


def test_a_bucket_with_a_heart_rate_never_goes_empty() -> None:
    samples = [beat("10:00", 60, WATCH), beat("10:05", 90, PHONE)]
    query = {"select": [aggregate("mean")], "group_by": [trunc("minute", 5)]}
    assert merged(query, samples)["mean"] == [60.0, 90.0]


def test_a_long_measurement_counts_whole_where_most_of_it_is_open() -> None:
    ring = walk("22:00", "23:00", 36.5, RING, "body_temperature")
    query = {"select": [aggregate("mean", "body_temperature")], "group_by": [trunc("day", 1, "body_temperature")]}
    for until, expected in (("22:19", 36.75), ("22:20", 37.0)):
        watch = walk("22:00", until, 37.0, WATCH, "body_temperature")
        assert merged(query, [ring, watch])["mean"] == [expected]


def test_resources_are_merged_each_by_itself() -> None:
    samples = [*DAY[:1], *DAY[3:5], beat("10:30", 60, PHONE)]
    query = {
        "select": [aggregate("sum", "steps"), aggregate("mean")],
        "group_by": [trunc("day", 1, "steps")],
    }
    assert merged(query, samples) == {
        "index": ["2025-02-17T00:00:00"],
        "sum": [1800.0],
        "mean": [60.0],
        "lineage.steps.apple_health_kit.watch": [pytest.approx(1000 / 1800)],
        "lineage.steps.apple_health_kit.phone": [pytest.approx(800 / 1800)],
        "lineage.heartrate.apple_health_kit.phone": [1.0],
    }


def test_other_keys_are_merged_apart_and_the_where_comes_first() -> None:
    query = {**summed("day"), "select": [{"group_key": "*"}, aggregate("sum", "steps")]}
    by_type = {**query, "group_by": [*query["group_by"], {"source": "source_type"}]}
    assert merged(by_type, DAY)["sum"] == [2100.0, 1900.0]
    without = {**summed("day"), "where": "source_type != 'watch'"}
    assert merged(without, DAY)["sum"] == [2100.0]
    both = {**by_type, "group_by": [*by_type["group_by"], {"source": "source_provider"}]}
    assert list(merged(both, DAY)) == ["group_key.0", "group_key.1", "group_key.2", "sum"]


def test_samples_without_a_value_share_by_number() -> None:
    samples = [
        walk("10:00", "10:10", None, WATCH),
        walk("10:00", "10:10", None, PHONE),
        walk("11:00", "11:10", None, PHONE),
    ]
    columns = merged(summed("day"), samples)
    assert (columns["sum"], columns["count"]) == ([None], [0])
    assert (columns[OF_WATCH], columns[OF_PHONE]) == ([0.5], [0.5])


def test_one_source_is_its_own_lineage_and_no_data_have_none() -> None:
    assert merged(summed("day"), DAY[:3])[OF_WATCH] == [1.0]
    assert merged(summed("day"), []) == {"index": [], "sum": [], "count": []}


def test_the_hour_that_comes_twice_is_told_apart_by_instants() -> None:
    def at(hour: int, offset: int, steps: float, source: SeriesSource) -> Sample:
        instant = datetime(2025, 10, 26, hour, 0, tzinfo=UTC)
        return Sample("steps", source, instant, steps, offset, duration_seconds=3600)

    samples = [at(0, 7200, 100, WATCH), at(0, 7200, 90, PHONE), at(1, 3600, 80, PHONE)]
    request = body(summed("hour"), anchor="2025-10-26", mode="merge")
    (result,) = orjson.loads(render_json(answered(request, MemoryReader(samples))))["results"]
    assert (result["table"]["index"], result["table"]["sum"]) == (["2025-10-26T02:00:00"], [180.0])


def test_summaries_are_kept_by_priority() -> None:
    night = {
        "index": datetime.fromisoformat("2025-02-17T07:00:00"),
        "score": 80,
        "source_provider": "oura",
        "source_type": "ring",
    }
    other = {**night, "score": 60, "source_provider": "fitbit", "source_type": "watch"}
    query = {"select": [aggregate("mean", "sleep", "score")], "group_by": [trunc("day", 1, "sleep")]}
    reader = MemoryReader(tables={"sleep": [night, other]})
    (result,) = orjson.loads(render_json(answered(body(query, mode="merge"), reader)))["results"]
    assert result["table"] == {"index": ["2025-02-17T00:00:00"], "mean": [60.0]}


@pytest.mark.parametrize("group_by", [[{"source": "source_app_id"}], []])
def test_merging_needs_buckets(group_by: list[dict[str, str]]) -> None:
    query = {"select": [aggregate("sum", "steps")], "group_by": group_by}
    with pytest.raises(QueryError) as caught:
        query_compile(query_parse(body(query, mode="merge")), SCHEMA)
    (problem,) = caught.value.problems
    assert (problem.loc, problem.type.value, problem.msg) == (
        ("body", "queries", 0, "group_by"),
        "not_allowed",
        "with the source_mode 'merge' gaps are filled bucket by bucket: group by a date_trunc",
    )


def test_many_overlapping_sources_never_count_more_than_the_time_there_is() -> None:
    """Each source walks one step a second, in stretches of its own: together that is one step a covered second."""
    samples = []
    for number, slug in enumerate(("fitbit", "garmin", "oura", "withings")):
        for stretch in range(40):
            begin = datetime(2025, 2, 17, tzinfo=UTC) + timedelta(seconds=stretch * 700 + number * 131)
            seconds = 300 + 37 * ((stretch * 7 + number * 3) % 11)
            samples.append(Sample("steps", SeriesSource(slug, "watch"), begin, seconds, duration_seconds=seconds))
    walked = {
        one.instant + timedelta(seconds=second) for one in samples for second in range(int(one.duration_seconds or 0))
    }
    assert merged(summed("day"), samples)["sum"] == [pytest.approx(len(walked))]


def test_more_cells_than_fit_on_one_line_of_numbers() -> None:
    hour, century = 3_600_000_000, 3_000_000_000_000_000
    cells = 5_000
    samples = Samples(
        start_us=np.tile(np.array([0, 0, century]), cells),
        length_us=np.tile(np.array([hour, 2 * hour, hour]), cells),
        ranks=np.tile(np.array([0, 1, 1]), cells),
        cells=np.repeat(np.arange(cells), 3),
    )
    assert counted_shares(samples, adds_up=True).tolist() == [1.0, 0.5, 1.0] * cells
    assert counted_shares(samples, adds_up=False).tolist() == [1.0, 0.0, 1.0] * cells
