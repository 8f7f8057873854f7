"""Ultrahuman's days become ours value by value, and what is malformed is refused with a reason."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from aggregation.catalogue import SERIES_BY_SLUG
from aggregation.records import OFFSET_UNKNOWN, DataSource, Refusal, SampleColumns, SummaryRecord
from aggregation.store.checking import Ingestion, sample_reasons, summary_reason
from healthsvc.kernel.typing import JSONValue
from links.connectors.payload import MalformedError, Series
from links.connectors.ultrahuman.convert import (
    SERIES,
    DayMetrics,
    activity_from_day,
    days_of,
    series_from_days,
    sleep_cycle_from_day,
    sleep_from_day,
)
from tests.links.payloads import load, mapping

RING = DataSource(provider="ultrahuman", type="ring")
SENSOR = DataSource(provider="ultrahuman", type="automatic")
EST_SECONDS, EDT_SECONDS = -5 * 3600, -4 * 3600

(DAY,) = days_of(mapping(load("ultrahuman/metrics.json")["data"]))
(EMPTY,) = days_of(mapping(load("ultrahuman/metrics_empty.json")["data"]))
SLEEP = mapping(DAY.objects["sleep"])


def record(converted: SummaryRecord | Refusal | None) -> SummaryRecord:
    assert isinstance(converted, SummaryRecord), converted
    assert summary_reason(converted, Ingestion()) is None
    return converted


def reason(converted: SummaryRecord | Refusal | None) -> str:
    assert isinstance(converted, Refusal), converted
    return converted.reason


def samples(series: Series, source: DataSource = RING) -> SampleColumns:
    (batch,) = series.batches
    assert batch.source == source
    assert sample_reasons(SERIES_BY_SLUG[batch.resource], batch.samples, Ingestion()) == []
    return batch.samples


def with_object(kind: str, value: JSONValue) -> DayMetrics:
    return replace(DAY, objects={**DAY.objects, kind: value})


def with_sleep(**fields: JSONValue) -> DayMetrics:
    return with_object("sleep", {**SLEEP, **fields})


def at_us(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp()) * 1_000_000


def test_an_answer_s_days() -> None:
    assert (DAY.on, DAY.time_zone) == (date(2026, 3, 8), "America/New_York")
    assert (EMPTY.on, dict(EMPTY.objects)) == (date(2026, 3, 9), {})
    for data, expected in (
        ({}, "wrong_type:metrics"),
        ({"metrics": []}, "wrong_type:metrics"),
        ({"metrics": {"today": []}}, "bad_time:metrics"),
    ):
        with pytest.raises(MalformedError) as failed:
            days_of(data)
        assert failed.value.reason == expected
    (odd,) = days_of({"metrics": {"2026-03-08": ["hr", None, {"type": "hr"}]}})
    assert (dict(odd.objects), odd.time_zone) == ({"hr": None}, None)


def test_a_night() -> None:
    night = record(sleep_from_day(DAY))
    assert (night.resource, night.source, night.external_id) == ("sleep", RING, "2026-03-08")
    assert night.calendar_date == date(2026, 3, 8)
    assert night.starts_at == datetime(2026, 3, 8, 4, tzinfo=UTC)
    assert night.timezone_offset_seconds == EDT_SECONDS
    assert dict(night.fields) == {
        "bedtime_start": "2026-03-08T04:00:00+00:00",
        "bedtime_stop": "2026-03-08T11:40:00+00:00",
        "timezone_offset": EDT_SECONDS,
        "type": "long_sleep",
        "duration": 27_600,
        "total": 25_500,
        "awake": 2_100,
        "light": 13_200,
        "rem": 7_500,
        "deep": 4_800,
        "score": 79,
        "recovery_readiness_score": 77,
        "hr_lowest": 52,
        "hr_average": 56,
        "hr_resting": 51,
        "efficiency": 92.0,
        "temperature_delta": -0.2,
        "average_hrv": 55.0,
    }
    assert set(SLEEP) - set(night.raw or {}) == {"sleep_graph", "hr_graph", "summary"}


def test_a_night_that_tells_minutes_alone() -> None:
    fields: Mapping[str, JSONValue] = {
        "bedtime_start": SLEEP["bedtime_start"],
        "bedtime_end": int(str(SLEEP["bedtime_start"])) + 3600,
        "deep_sleep": {"minutes": 20},
        "rem_sleep": {"minutes": 10.5},
        "temperature_deviation": {"value": 0.4},
    }
    night = record(sleep_from_day(DayMetrics(DAY.on, {"sleep": fields}, "Mars/Phobos")))
    told = {name: night.fields[name] for name in ("type", "total", "deep", "rem", "light", "temperature_delta")}
    assert told == {
        "type": "short_sleep",
        "total": 1_830,
        "deep": 1_200,
        "rem": 630,
        "light": 0,
        "temperature_delta": 0.4,
    }
    for name in ("score", "recovery_readiness_score", "hr_lowest", "hr_average", "hr_resting", "efficiency"):
        assert night.fields[name] is None
    assert (night.timezone_offset_seconds, night.fields["average_hrv"]) == (None, None)


@pytest.mark.parametrize(
    ("day", "expected"),
    [
        (with_object("sleep", "long"), "not_an_object"),
        (with_sleep(bedtime_start=None), "missing_field:bedtime_start"),
        (with_sleep(bedtime_end="late"), "wrong_type:bedtime_end"),
        (with_sleep(bedtime_end=SLEEP["bedtime_start"]), "ends_before_start"),
        (with_sleep(bedtime_end=1_772_942_400_000), "bad_time:bedtime_end"),
        (with_sleep(sleep_score=79), "not_an_object"),
        (with_sleep(sleep_score={"score": "good"}), "wrong_type:score"),
        (with_sleep(sleep_stages=["deep"]), "not_an_object"),
        (with_sleep(hr_graph={"data": {}}), "wrong_type:data"),
        (with_object("night_rhr", {"avg": "low"}), "wrong_type:avg"),
    ],
)
def test_nights_that_say_nothing(day: DayMetrics, expected: str) -> None:
    assert reason(sleep_from_day(day)) == expected


def test_the_stages_of_a_night() -> None:
    cycle = record(sleep_cycle_from_day(DAY))
    assert (cycle.external_id, cycle.fields["sleep_external_id"]) == ("2026-03-08", "2026-03-08")
    assert cycle.fields["stage_start_offset_second"] == [0, 300, 5_100, 9_000, 12_000, 27_000]
    assert cycle.fields["stage_end_offset_second"] == [300, 5_100, 9_000, 12_000, 13_000, 27_600]
    assert cycle.fields["stage_type"] == [4, 1, 2, 3, -1, 4]
    assert cycle.fields["time_zone"] == "America/New_York"


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        ({"data": []}, "missing_field:sleep_graph"),
        ({"data": "deep"}, "wrong_type:data"),
        ({"data": ["deep"]}, "not_an_object"),
        ({"data": [{"start": 1, "type": "awake"}]}, "missing_field:end"),
        ({"data": [{"start": 1, "end": 2, "type": "awake"}]}, "missing_field:sleep_graph"),
        ("graph", "not_an_object"),
    ],
)
def test_stages_that_say_nothing(graph: JSONValue, expected: str) -> None:
    assert reason(sleep_cycle_from_day(with_sleep(sleep_graph=graph))) == expected


def test_a_day() -> None:
    day = record(activity_from_day(DAY))
    assert (day.resource, day.external_id, day.calendar_date) == ("activity", "2026-03-08", date(2026, 3, 8))
    assert dict(day.fields) == {"steps": 173, "heart_rate": {"resting_bpm": 51.0}}
    assert "values" not in (day.raw or {})
    counted = record(activity_from_day(with_object("steps", {"values": [{"value": 9.0}, {"value": 5.0}]})))
    assert counted.fields["steps"] == 14
    alone = DayMetrics(DAY.on, {"steps": {"total": 12}}, None)
    assert dict(record(activity_from_day(alone)).fields) == {"steps": 12, "heart_rate": None}
    assert reason(activity_from_day(with_object("steps", [1]))) == "not_an_object"
    assert reason(activity_from_day(with_object("steps", {"total": "many"}))) == "wrong_type:total"


def test_a_day_on_which_nothing_was_worn() -> None:
    assert (sleep_from_day(EMPTY), sleep_cycle_from_day(EMPTY), activity_from_day(EMPTY)) == (None, None, None)
    assert [series_from_days(resource, [EMPTY]) for resource in SERIES] == [Series((), ())] * len(SERIES)
    assert sleep_cycle_from_day(with_sleep(sleep_graph=None)) is None


def test_heart_rate_over_the_change_of_clocks() -> None:
    series = series_from_days("heartrate", [DAY])
    # What is empty or nought is no reading, and no mistake.
    assert series.refusals == ()
    found = samples(series)
    assert found.start_us.tolist() == [
        at_us("2026-03-08T00:01:34-05:00"),
        at_us("2026-03-08T04:00:10-04:00"),
        at_us("2026-03-08T11:00:00-04:00"),
    ]
    assert found.values.tolist() == [61.0, 58.0, 84.0]
    assert found.offset_seconds.tolist() == [EST_SECONDS, EDT_SECONDS, EDT_SECONDS]
    assert samples(series_from_days("heartrate", [replace(DAY, time_zone=None)])).offset_seconds.tolist() == (
        [OFFSET_UNKNOWN] * 3
    )


def test_the_other_samples() -> None:
    warmth = samples(series_from_days("body_temperature", [DAY]))
    assert warmth.values.tolist() == [32.84204864501953, 31.5]
    assert warmth.fields == {"sensor_location": ["finger", "finger"]}
    assert samples(series_from_days("hrv", [DAY])).values.tolist() == [44.0, 51.0]
    steps = samples(series_from_days("steps", [DAY]))
    assert (steps.values.tolist(), steps.end_us) == ([114.0, 59.0], None)
    glucose = samples(series_from_days("glucose", [DAY]), SENSOR)
    assert glucose.values.tolist() == pytest.approx([82 / 18.0156, 126 / 18.0156])
    millimoles = with_object("glucose", {"unit": "mmol/L", "values": [{"value": 5.5, "timestamp": 1_772_946_060}]})
    assert samples(series_from_days("glucose", [millimoles]), SENSOR).values.tolist() == [5.5]


@pytest.mark.parametrize("resource", list(SERIES))
@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("fast", "not_an_object"),
        ({"unit": "furlong", "values": []}, "unsupported_unit"),
        ({"values": {}}, "wrong_type:values"),
        ({"values": ["one"]}, "not_an_object"),
        ({"values": [{"value": 1}]}, "missing_field:timestamp"),
        ({"values": [{"value": "1", "timestamp": 1_772_946_060}]}, "wrong_type:value"),
        ({"values": [{"value": -1, "timestamp": 1_772_946_060}]}, "out_of_range:value"),
        ({"values": [{"value": 1, "timestamp": 1_772_946_060_000}]}, "bad_time:timestamp"),
    ],
)
def test_samples_that_say_nothing(resource: str, item: JSONValue, expected: str) -> None:
    series = series_from_days(resource, [with_object(SERIES[resource].type, item)])
    assert (series.batches, [one.reason for one in series.refusals]) == ((), [expected])
