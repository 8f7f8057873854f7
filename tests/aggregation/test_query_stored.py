"""Random queries over random data that were stored, some of them twice, give what the naive interpreter gives."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aggregation.models import Block, Tail
from aggregation.query_reader import StoreReader
from aggregation.records import OFFSET_UNKNOWN, DataSource, SampleColumns, SeriesBatch
from aggregation.services import health_data_store
from healthsvc.kernel.scope import team_scope
from tests import factories
from tests.aggregation.query.comparing import compare, with_condition
from tests.aggregation.query.memory import microseconds
from tests.aggregation.query.strategies import ANCHORS, INSTANT, Json, series_queries
from users.models import User

pytestmark = pytest.mark.slow

EXAMPLES = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
QUERIES = range(3)
#: Kept in blocks of an hour, a day and four weeks.
RESOURCES = [["steps"], ["heartrate"], ["electrocardiogram_voltage"], ["steps", "water"], ["weight", "heartrate"]]
ZONES = [None, "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"]
#: As far from UTC as there are offsets; not a place's, and not sent at all.
OFFSETS = [0, 3_600, 7_200, -18_000, 20_700, 64_800, -64_800, OFFSET_UNKNOWN, OFFSET_UNKNOWN, OFFSET_UNKNOWN]
#: Provider and type; each is recorded by several apps and devices.
KINDS = [("oura", "watch"), ("withings", "watch"), ("oura", "phone"), ("fitbit", "unknown")]
RECORDERS = [(None, None), ("app.one", None), ("app.one", "device-1"), (None, "device-1")]


@dataclass(frozen=True)
class Sample:
    """A sample as it was sent; all of a series are told apart by their start."""

    start: datetime
    duration_seconds: float | None
    value: float
    offset_seconds: int
    type: str | None

    def local(self, zone: str | None) -> datetime:
        """What the person's clock showed."""
        if self.offset_seconds != OFFSET_UNKNOWN:
            return (self.start + timedelta(seconds=self.offset_seconds)).replace(tzinfo=None)
        return self.start.astimezone(UTC if zone is None else ZoneInfo(zone)).replace(tzinfo=None)


Series = tuple[str, DataSource]
Held = dict[Series, dict[datetime, Sample]]


def sent(draw: Any, resource: str, starts: Sequence[datetime]) -> list[Sample]:
    """Samples at these times; their values, offsets and lengths come in turns."""
    offsets = draw(st.lists(st.sampled_from(OFFSETS), min_size=1, max_size=3))
    some_lengths = st.lists(st.sampled_from([0.0, 60.0, 1_800.0, 7_200.5]), min_size=1, max_size=3)
    lengths = [None] if resource in INSTANT else draw(some_lengths)
    types = ["automatic", "it's"] if resource == "electrocardiogram_voltage" else [None, "automatic"]
    first = draw(st.integers(0, 200))
    return [
        Sample(
            start=start,
            duration_seconds=lengths[place % len(lengths)],
            value=30 + (first + place * 7) % 240 / 4,
            offset_seconds=offsets[place % len(offsets)],
            type=types[place % 2],
        )
        for place, start in enumerate(starts)
    ]


def starts_drawn(draw: Any, centre: datetime, known: Sequence[datetime]) -> list[datetime]:
    """A run of many, or a few; of those some at times that were sent before."""
    if draw(st.integers(0, 2)) == 0:
        first = centre + timedelta(minutes=draw(st.integers(-2 * 1440, 1440)))
        step = timedelta(seconds=draw(st.sampled_from([0.5, 61, 900, 3_600])))
        return [first + place * step for place in range(draw(st.integers(33, 70)))]
    minutes = draw(st.lists(st.integers(-3 * 1440, 2 * 1440) | st.integers(-60, 180), min_size=1, max_size=6))
    starts = [centre + timedelta(minutes=one) for one in minutes]
    return [*starts, *(draw(st.lists(st.sampled_from(known), max_size=3)) if known else [])]


def columns(samples: Sequence[Sample]) -> SampleColumns:
    start_us = np.array([microseconds(one.start) for one in samples], np.int64)
    lengths = [one.duration_seconds for one in samples if one.duration_seconds is not None]
    return SampleColumns(
        start_us=start_us,
        value=np.array([one.value for one in samples], np.float64),
        offset_seconds=np.array([one.offset_seconds for one in samples], np.int32),
        end_us=start_us + np.array([round(one * 1e6) for one in lengths], np.int64) if lengths else None,
        type=[one.type for one in samples],
    )


def store(data: st.DataObject, team: factories.Tenant, user: User, centre: datetime, resources: list[str]) -> Held:
    """Several posts after another, and what a dictionary holds of them."""
    held: Held = {}
    kinds = data.draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=2, unique=True))
    recorders = data.draw(st.lists(st.sampled_from(RECORDERS), min_size=1, max_size=3, unique=True))
    used = [DataSource(*kind, *recorder) for kind in kinds for recorder in recorders]
    for _ in range(data.draw(st.integers(1, 8))):
        key = data.draw(st.sampled_from(resources)), data.draw(st.sampled_from(used))
        series = held.setdefault(key, {})
        samples = sent(data.draw, key[0], starts_drawn(data.draw, centre, list(series)))
        batch = SeriesBatch(*key, columns(samples))
        result = health_data_store(team=team.context, user_id=user.id, series=[batch], emit=False)
        assert list(result.refused) == []
        series.update((one.start, one) for one in samples)
    return held


def as_rows(held: Held, resources: list[str], zone: str | None) -> list[Json]:
    """In the order in which equal instants count: as the query names resources, then by source."""

    def place(key: Series) -> tuple[Any, ...]:
        resource, source = key
        ids = (source.app_id or "", source.device_id or "")
        return (resources.index(resource), source.provider, source.type, *ids)

    return [
        {
            "table": "timeseries",
            "resource": resource,
            "index": one.local(zone),
            "instant": one.start,
            "source_provider": source.provider,
            "source_type": source.type,
            "source_app_id": source.app_id,
            "source_device_id": source.device_id,
            "source_sport": None,
            "timezone_offset": None if one.offset_seconds == OFFSET_UNKNOWN else one.offset_seconds,
            "type": one.type,
            "value": one.value,
            "duration": one.duration_seconds,
        }
        for resource, source in sorted(held, key=place)
        for one in held[resource, source].values()
    ]


def check(data: st.DataObject, team: factories.Tenant) -> Mapping[str, bool]:
    """One person's data, and a few queries over them; answers what of the store they met."""
    anchor, resources = data.draw(st.sampled_from(ANCHORS)), data.draw(st.sampled_from(RESOURCES))
    zone = data.draw(st.sampled_from(ZONES))
    user = factories.user_make(team, fallback_time_zone=zone)
    with team_scope(team.context):
        held = store(data, team, user, datetime(anchor.year, anchor.month, anchor.day, tzinfo=UTC), resources)
        reader = StoreReader(team.context, user, rows_maximum=5_000_000)
        rows = as_rows(held, resources, zone)
        numbers = ["value", "timezone_offset", *([] if INSTANT & set(resources) else ["duration"])]
        for _ in QUERIES:
            query = {**data.draw(series_queries(resources)), "resources": resources}
            query = with_condition(data, query, numbers, ["type", "source_type", "source_provider", "source_app_id"])
            compare(data, query, rows, reader, anchor, data.draw(st.integers(1, 4)))
        return {
            "block": Block.objects.for_team(team.context).filter(user_id=user.id).exists(),
            "tail": Tail.objects.for_team(team.context).filter(user_id=user.id).exists(),
            "several series": len(held) > 1,
        }


def test_queries_over_what_was_stored_equal_the_naive_interpreter(team: factories.Tenant) -> None:
    met: Counter[str] = Counter()

    @EXAMPLES
    @given(data=st.data())
    def checked(data: st.DataObject) -> None:
        met.update(name for name, is_met in check(data, team).items() if is_met)

    checked()
    assert met.keys() == {"block", "tail", "several series"}
