"""Reads of the aggregation app: pages of samples, summaries, streams, devices, and where an import stands."""

from aggregation.selectors.devices import Device, device_get, devices_of
from aggregation.selectors.hypnogram import hypnogram_flat, hypnogram_page
from aggregation.selectors.imports import import_get
from aggregation.selectors.samples import (
    Position,
    SamplePage,
    SampleQuery,
    cursor_make,
    cursor_read,
    sample_page,
    samples_flat,
)
from aggregation.selectors.streams import HYPNOGRAM, SLEEP_STREAM, sleep_stream, workout_stream
from aggregation.selectors.summaries import summaries_of_days, summary_get, summary_newest, summary_row, summary_rows

__all__ = [
    "HYPNOGRAM",
    "SLEEP_STREAM",
    "Device",
    "Position",
    "SamplePage",
    "SampleQuery",
    "cursor_make",
    "cursor_read",
    "device_get",
    "devices_of",
    "hypnogram_flat",
    "hypnogram_page",
    "import_get",
    "sample_page",
    "samples_flat",
    "sleep_stream",
    "summaries_of_days",
    "summary_get",
    "summary_newest",
    "summary_row",
    "summary_rows",
    "workout_stream",
]
