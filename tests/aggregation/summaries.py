"""Summaries for tests, as connectors hand them on."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

from aggregation.records import DataSource, SummaryRecord
from healthsvc.kernel.typing import JSONValue

RING = DataSource("oura", "ring")


def night(external_id: str = "night-1", *, on: date = date(2026, 3, 2), **fields: JSONValue) -> SummaryRecord:
    """A night of seven and a half hours that ended on a day."""
    values: Mapping[str, JSONValue] = {
        "type": "long_sleep",
        "duration": 28_800,
        "total": 27_000,
        "awake": 1_800,
        "light": 15_000,
        "rem": 6_000,
        "deep": 6_000,
        **fields,
    }
    return SummaryRecord(
        "sleep",
        RING,
        external_id,
        on,
        datetime(on.year, on.month, on.day, 0, tzinfo=UTC),
        datetime(on.year, on.month, on.day, 8, tzinfo=UTC),
        3_600,
        values,
    )


def day(external_id: str = "day-1", *, on: date = date(2026, 3, 2), **fields: JSONValue) -> SummaryRecord:
    """A day of activity."""
    return SummaryRecord("activity", RING, external_id, on, None, None, None, {"steps": 9_000, **fields})


def run(external_id: str = "run-1", *, on: date = date(2026, 3, 2), **fields: JSONValue) -> SummaryRecord:
    """A run of an hour."""
    return SummaryRecord(
        "workouts",
        RING,
        external_id,
        on,
        datetime(on.year, on.month, on.day, 17, tzinfo=UTC),
        datetime(on.year, on.month, on.day, 18, tzinfo=UTC),
        3_600,
        {"sport": "running", "provider_id": external_id, **fields},
    )


def changed(record: SummaryRecord, **values: Any) -> SummaryRecord:
    """The same with other values."""
    return replace(record, **values)


def cycle(external_id: str = "cycle-1", *, on: date = date(2026, 3, 2), **fields: JSONValue) -> SummaryRecord:
    """The stages of the night that `night` makes."""
    values: Mapping[str, JSONValue] = {
        "sleep_external_id": "night-1",
        "stage_start_offset_second": [0, 600, 7_200],
        "stage_end_offset_second": [600, 7_200, 28_800],
        "stage_type": [4, 2, 1],
        **fields,
    }
    return replace(night(external_id, on=on), resource="sleep_cycle", fields=values)


def of_resource(resource: str, /, **fields: JSONValue) -> SummaryRecord:
    """Any summary: an hour in the morning of a day."""
    return SummaryRecord(
        resource,
        RING,
        "one",
        date(2026, 3, 2),
        datetime(2026, 3, 2, 8, tzinfo=UTC),
        datetime(2026, 3, 2, 9, tzinfo=UTC),
        None,
        fields,
    )
