"""The generated export of all sorts that the long run imports: a day of it, counted."""

from pathlib import Path

import pytest

from tests.aggregation.apple_health.mixture import (
    ELECTROCARDIOGRAM_SAMPLES,
    RECORDS_PER_DAY,
    ROUTE_POINTS,
    write_archive,
)
from tests.aggregation.apple_health.reading import read


@pytest.mark.slow
def test_a_day_of_all_sorts(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    size_bytes = write_archive(path, records=RECORDS_PER_DAY, routes=1, electrocardiograms=1)
    reading = read(path)
    assert (reading.tally.bytes_read, reading.tally.bytes_total) == (size_bytes, size_bytes)
    assert reading.refused() == {}
    (left_out,) = reading.left_out()
    assert left_out == ("HKQuantityTypeIdentifierEnvironmentalAudioExposure", "no_resource")
    counts = {resource: len(reading.of(resource)) for resource in ("sleep", "sleep_cycle", "workouts", "activity")}
    assert counts == {"sleep": 1, "sleep_cycle": 1, "workouts": 1, "activity": 1}
    summaries = {resource: len(reading.of(resource)) for resource in ("menstrual_cycle", "profile", "body", "device")}
    assert summaries == {"menstrual_cycle": 1, "profile": 1, "body": 1, "device": 2}
    assert [len(stream.time_us) for stream in reading.streams] == [ROUTE_POINTS]
    assert len(reading.values("electrocardiogram_voltage")) == ELECTROCARDIOGRAM_SAMPLES
    samples = sum(len(batch.samples) for batch in reading.batches)
    records = samples - ELECTROCARDIOGRAM_SAMPLES + len(reading.of("meal")) + reading.left_out()[left_out]
    # The day's stand hour and pressure are samples beside the stream of records.
    assert records == RECORDS_PER_DAY + 2
