"""Records of the future are left out, and what is with them is kept."""

from datetime import UTC, datetime, timedelta

import numpy as np

from aggregation.records import UNDATED, DataSource, Refusal, SampleColumns, SeriesBatch, StreamRecord, SummaryRecord
from links.connectors.base import Pulled
from links.connectors.future import future_left_out
from links.connectors.payload import microseconds

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
SOURCE = DataSource("oura")


def batch(*hours: int, resource: str = "heartrate") -> SeriesBatch:
    """Samples so many hours from now, their value the number of hours."""
    start_us = np.array([microseconds(NOW + timedelta(hours=one)) for one in hours], np.int64)
    return SeriesBatch(
        resource,
        SOURCE,
        SampleColumns(
            start_us=start_us,
            value=np.array(hours, np.float64),
            offset_seconds=np.zeros(len(hours), np.int32),
            end_us=start_us + 1,
            type=[str(one) for one in hours],
            fields={"text": [str(one) for one in hours], "number": np.array(hours, np.float64)},
        ),
    )


def summary(hours: int | None, days: int = 0) -> SummaryRecord:
    """A summary that began so many hours from now, or is of a day."""
    began = None if hours is None else NOW + timedelta(hours=hours)
    return SummaryRecord("sleep", SOURCE, "x", (NOW + timedelta(days=days)).date(), began, began, 0, {})


def test_what_has_happened_is_left_as_it_is() -> None:
    pulled = Pulled(series=(batch(-5, 23),), summaries=(summary(-5), summary(None, 2)))
    assert future_left_out(pulled, NOW) is pulled


def test_samples_of_the_future_are_counted_by_resource() -> None:
    left = future_left_out(Pulled(series=(batch(-5, 25, 3, 48), batch(30, resource="steps"))), NOW)
    (kept,) = left.series
    assert kept.samples.values.tolist() == [-5.0, 3.0]
    assert kept.samples.type == ["-5", "3"]
    assert kept.samples.fields["text"] == ["-5", "3"]
    assert np.asarray(kept.samples.fields["number"]).tolist() == [-5.0, 3.0]
    assert kept.samples.end_us is not None
    assert (kept.samples.end_us - kept.samples.start_us).tolist() == [1, 1]
    assert left.refusals == (Refusal("heartrate", "in_the_future", 2), Refusal("steps", "in_the_future", 1))


def test_summaries_and_streams_of_the_future() -> None:
    undated = SummaryRecord("profile", SOURCE, "p", UNDATED, None, None, None, {})
    time_us = np.array([microseconds(NOW + timedelta(hours=30))], np.int64)
    stream = StreamRecord("workout_stream", SOURCE, "w", time_us, {})
    left = future_left_out(Pulled(summaries=(summary(30), summary(None, 3), undated), streams=(stream,)), NOW)
    assert (left.summaries, left.streams) == ((undated,), ())
    assert left.refusals == (Refusal("summary", "in_the_future", 2), Refusal("stream", "in_the_future", 1))
