"""Samples for tests, and what a store of plain dictionaries would hold of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeAlias
from uuid import UUID

import numpy as np

from aggregation.models import Series
from aggregation.records import DataSource, SampleColumns, SeriesBatch
from aggregation.store import read
from aggregation.store.columns import label_texts
from healthsvc.kernel.principal import TeamContext

WATCH = DataSource("oura", "watch")
PHONE = DataSource("oura", "phone", app_id="com.example")

#: start, end, value, offset, type.
Sample: TypeAlias = tuple[int, int, float, int, str | None]


def us(year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0) -> int:
    """A UTC time in microseconds since 1970."""
    return int(datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp()) * 1_000_000


def batch(samples: Sequence[Sample], *, resource: str = "steps", source: DataSource = WATCH) -> SeriesBatch:
    """Samples as a connector hands them on."""
    columns = SampleColumns(
        start_us=np.array([one[0] for one in samples], np.int64),
        end_us=np.array([one[1] for one in samples], np.int64) if resource == "steps" else None,
        value=np.array([one[2] for one in samples], np.float64),
        offset_seconds=np.array([one[3] for one in samples], np.int32),
        type=[one[4] for one in samples],
    )
    return SeriesBatch(resource, source, columns)


def heartrates(values: dict[int, float], *, source: DataSource = WATCH, offset_seconds: int = 0) -> SeriesBatch:
    """Heart rates by time in microseconds."""
    samples: list[Sample] = [(at, at, value, offset_seconds, None) for at, value in values.items()]
    return batch(samples, resource="heartrate", source=source)


@dataclass
class NaiveStore:
    """What the store must hold: the last sample received at each time, by series; and what came of each one."""

    series: dict[tuple[str, DataSource], dict[int, Sample]] = field(default_factory=dict)
    created: int = 0
    changed: int = 0
    unchanged: int = 0

    def take(self, resource: str, source: DataSource, samples: Sequence[Sample]) -> None:
        """One sample after another."""
        held = self.series.setdefault((resource, source), {})
        for sample in samples:
            before = held.get(sample[0])
            if before is None:
                self.created += 1
            elif before == sample and np.signbit(before[2]) == np.signbit(sample[2]):
                self.unchanged += 1
            else:
                self.changed += 1
            held[sample[0]] = sample

    def listed(self) -> dict[tuple[str, DataSource], list[Sample]]:
        """Every series in order of time."""
        return {key: [held[at] for at in sorted(held)] for key, held in self.series.items() if held}


def stored(team: TeamContext, user_id: UUID, *resources: str) -> dict[tuple[str, DataSource], list[Sample]]:
    """Every sample that the database holds of a user; series must say the same of themselves."""
    found: dict[tuple[str, DataSource], list[Sample]] = {}
    for resource in resources:
        for row in read.series_of(team, user_id, resource):
            span = read.Span(row, -(2**31), 2**31 - 1)
            block = read.samples_of(user_id, [span])[row.series_id]
            ends = block.start_us if block.end_us is None else block.end_us
            assert block.value is not None
            told = Series.objects.filter(user_id=user_id, series_id=row.series_id)
            edges = (int(block.start_us[0]), int(block.start_us[-1]))
            assert told.values_list("samples", "oldest_us", "newest_us").get() == (len(block), *edges)
            found[resource, row.source] = list(
                zip(
                    block.start_us.tolist(),
                    ends.tolist(),
                    block.value.tolist(),
                    block.offset_seconds.tolist(),
                    label_texts(block.type, len(block)),
                    strict=True,
                )
            )
    return found
