"""Random queries over random data give what the naive interpreter gives."""

from datetime import date, datetime, time, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.aggregation.query.comparing import compare, with_condition
from tests.aggregation.query.memory import MemoryReader, Sample
from tests.aggregation.query.naive_time import midnight
from tests.aggregation.query.strategies import (
    ANCHORS,
    CYCLES,
    FUNCTIONS,
    NIGHTS,
    ORDER_FUNCTIONS,
    Json,
    cycle_subqueries,
    grouped,
    is_numeric,
    meaning,
    sample_lists,
    series_queries,
    tag_subqueries,
)

RESOURCES = [["steps"], ["heartrate"], ["steps", "water"], ["steps", "heartrate"], ["body_temperature"]]
#: Data sets of each check, and queries over each data set: most of the time goes into making the data up.
SLOWLY = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
QUICKLY = settings(SLOWLY, max_examples=12)
QUERIES = range(3)


def as_rows(samples: list[Sample], resources: list[str]) -> list[Json]:
    """In the order in which equal instants count: as the query names resources, by source, then as stored."""
    ordered = sorted(
        samples,
        key=lambda one: (
            resources.index(one.resource),
            one.source.provider,
            one.source.type,
            one.source.app_id or "",
            one.source.device_id or "",
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
            "source_device_id": one.source.device_id,
            "source_sport": one.source.sport,
            "timezone_offset": one.offset_seconds,
            "type": one.type,
            "value": one.value,
            "duration": one.duration_seconds,
            **one.fields,
        }
        for one in ordered
    ]


def check_timeseries(data: st.DataObject) -> None:
    anchor, resources = data.draw(st.sampled_from(ANCHORS)), data.draw(st.sampled_from(RESOURCES))
    samples = data.draw(sample_lists(anchor, resources))
    rows, reader = as_rows(samples, resources), MemoryReader(samples)
    numbers = ["value", "timezone_offset", *(["duration"] if "heartrate" not in resources else [])]
    for _ in QUERIES:
        query = {**data.draw(series_queries(resources)), "resources": resources}
        query = with_condition(data, query, numbers, ["type", "source_type", "source_provider", "source_sport"])
        compare(data, query, rows, reader, anchor, data.draw(st.integers(1, 4)))


def check_kinds_of_their_own(data: st.DataObject) -> None:
    """Blood pressure and notes: samples without a value, with fields and lists."""
    anchor, mixed = data.draw(st.sampled_from(ANCHORS)), data.draw(st.booleans())
    resources = ["note", *(["blood_pressure"] if mixed else [])]
    samples = data.draw(sample_lists(anchor, resources))
    absent: Json = {"systolic": None, "diastolic": None, "content": None, "tags": None}
    rows, reader = [{**absent, **row} for row in as_rows(samples, resources)], MemoryReader(samples)
    pressures: list[Json] = [{"blood_pressure": "systolic"}, {"timeseries": "blood_pressure", "field": "diastolic"}]
    for _ in QUERIES:
        texts: list[Json] = [{"note": "content"}]
        texts += data.draw(st.lists(tag_subqueries(), min_size=1, max_size=3, unique_by=meaning))
        query: Json = {"select": [*texts, *(pressures if mixed else [])]}
        if data.draw(st.booleans()):
            select = [{"func": data.draw(st.sampled_from(ORDER_FUNCTIONS)), "arg": column} for column in texts]
            select += [{"func": data.draw(st.sampled_from(FUNCTIONS)), "arg": one} for one in pressures if mixed]
            query = data.draw(grouped(select, ["note", "timeseries"], [{"note": "content"}], timeseries=True))
        query = with_condition(data, {**query, "resources": resources}, ["timezone_offset"], ["type", "source_type"])
        compare(data, query, rows, reader, anchor, data.draw(st.integers(1, 4)))


def check_sleep(data: st.DataObject) -> None:
    anchor = data.draw(st.sampled_from(ANCHORS))
    centre = midnight(anchor.year, anchor.month, anchor.day)
    nights = [
        {**night, "index": centre + timedelta(minutes=night["index"])}
        for night in data.draw(st.lists(NIGHTS, max_size=20))
    ]
    rows = [{**night, "table": "sleep", "resource": "sleep", "instant": night["index"]} for night in nights]
    macros = {name: {"value_macro": name} for name in ("sleep_score", "awakenings", "chronotype", "asleep_at")}
    numeric: list[Json] = [{"sleep": "efficiency"}, {"sleep": "score"}, macros["sleep_score"], macros["awakenings"]]
    others: list[Json] = [{"sleep": "session_start"}, macros["chronotype"], macros["asleep_at"]]
    extras: list[Json] = [{"sleep": "type"}, {"sleep": "score"}, {"sleep": "session_start"}, *macros.values()]
    for _ in QUERIES:
        query: Json = {"select": [*numeric, *others, {"index": "sleep"}]}
        if data.draw(st.booleans()):
            select = [{"func": data.draw(st.sampled_from(FUNCTIONS)), "arg": column} for column in numeric]
            select += [{"func": data.draw(st.sampled_from(ORDER_FUNCTIONS)), "arg": column} for column in others]
            query = data.draw(grouped(select, ["sleep"], extras))
        query = with_condition(data, query, ["efficiency", "score"], ["type", "source_type", "source_provider"])
        compare(data, query, rows, MemoryReader(tables={"sleep": nights}), anchor, 3)


def check_subqueries(data: st.DataObject) -> None:
    cycles = data.draw(st.lists(CYCLES, max_size=12))
    named: Json = {"table": "menstrual_cycle", "resource": "menstrual_cycle"}
    rows = [{**cycle, **named, "instant": datetime.combine(cycle["index"], time())} for cycle in cycles]
    for _ in QUERIES:
        subqueries = data.draw(st.lists(cycle_subqueries(), min_size=1, max_size=4, unique_by=meaning))
        query: Json = {"select": [*subqueries, {"index": "menstrual_cycle"}]}
        if data.draw(st.booleans()):
            select = [
                {"func": data.draw(st.sampled_from(FUNCTIONS if is_numeric(one) else ORDER_FUNCTIONS)), "arg": one}
                for one in subqueries
            ]
            query = data.draw(grouped(select, ["menstrual_cycle"], [{"menstrual_cycle": "is_predicted"}]))
        query = with_condition(data, query, [], ["source_type", "source_provider"])
        compare(data, query, rows, MemoryReader(tables={"menstrual_cycle": cycles}), date(2024, 2, 29), 100)


CHECKS = [check_timeseries, check_kinds_of_their_own, check_sleep, check_subqueries]


@pytest.mark.parametrize("check", CHECKS)
@QUICKLY
@given(data=st.data())
def test_a_few_random_queries_equal_the_naive_interpreter(check: Any, data: st.DataObject) -> None:
    check(data)


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS)
@SLOWLY
@given(data=st.data())
def test_thousands_of_random_queries_equal_the_naive_interpreter(check: Any, data: st.DataObject) -> None:
    check(data)
