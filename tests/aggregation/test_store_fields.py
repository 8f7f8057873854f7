"""A resource's own fields live through storing, merging and comparing like any column."""

from collections.abc import Sequence

import numpy as np
import pytest

from aggregation.codec import BlockColumns, LabelColumn
from aggregation.records import SampleColumns, SeriesBatch, StoreResult
from aggregation.services import health_data_store
from aggregation.store import read
from aggregation.store.columns import label_texts
from tests import factories
from tests.aggregation.samples import WATCH, us
from users.models import User

BASE_US = us(2026, 3, 1)
MINUTE_US = 60_000_000


@pytest.fixture
def user(in_team: factories.Tenant) -> User:
    return factories.user_make(in_team)


def pressures(*pairs: tuple[float, float], first: int = 0) -> SeriesBatch:
    """A blood pressure a minute."""
    columns = SampleColumns(
        start_us=BASE_US + np.arange(first, first + len(pairs), dtype=np.int64) * MINUTE_US,
        value=None,
        offset_seconds=np.zeros(len(pairs), np.int32),
        fields={
            "systolic": np.array([systolic for systolic, _ in pairs]),
            "diastolic": np.array([diastolic for _, diastolic in pairs]),
        },
    )
    return SeriesBatch("blood_pressure", WATCH, columns)


def notes(*texts: tuple[str, str | None]) -> SeriesBatch:
    """A note a minute, each with its tags."""
    start_us = BASE_US + np.arange(len(texts), dtype=np.int64) * MINUTE_US
    columns = SampleColumns(
        start_us=start_us,
        end_us=start_us + 1,
        value=None,
        offset_seconds=np.zeros(len(texts), np.int32),
        fields={"content": [content for content, _ in texts], "tags": [tags for _, tags in texts]},
    )
    return SeriesBatch("note", WATCH, columns)


def put(tenant: factories.Tenant, user: User, *series: SeriesBatch) -> StoreResult:
    return health_data_store(team=tenant.context, user_id=user.id, series=series, emit=False)


def kept(tenant: factories.Tenant, user: User, resource: str) -> BlockColumns:
    (row,) = read.series_of(tenant.context, user.id, resource)
    return read.samples_of(user.id, [read.Span(row, -(2**31), 2**31 - 1)])[row.series_id]


def listed(block: BlockColumns, name: str) -> Sequence[float | str | None]:
    column = block.extra[name]
    return label_texts(column, len(block)) if isinstance(column, LabelColumn) else column.tolist()


def test_blood_pressures_have_two_numbers_and_no_value(in_team: factories.Tenant, user: User) -> None:
    assert put(in_team, user, pressures((120.0, 80.0), (130.0, 85.5))) == StoreResult(created={"blood_pressure": 2})
    again = put(in_team, user, pressures((130.0, 85.5), (131.0, 85.5), (110.0, 70.0), first=1))
    assert again == StoreResult(created={"blood_pressure": 2}, unchanged={"blood_pressure": 1})
    changed = put(in_team, user, pressures((120.0, 81.0)))
    assert changed == StoreResult(changed={"blood_pressure": 1})
    found = kept(in_team, user, "blood_pressure")
    assert found.value is None
    assert found.end_us is None
    assert listed(found, "systolic") == [120.0, 130.0, 131.0, 110.0]
    assert listed(found, "diastolic") == [81.0, 85.5, 85.5, 70.0]


def test_fields_live_through_a_tail_and_its_fold(in_team: factories.Tenant, user: User) -> None:
    put(in_team, user, pressures(*[(120.0, 80.0)] * 100))
    for number in range(40):
        assert put(in_team, user, pressures((130.0 + number, 85.0), first=100 + number)) == StoreResult(
            created={"blood_pressure": 1}
        )
    assert listed(kept(in_team, user, "blood_pressure"), "systolic") == [120.0] * 100 + [130.0 + n for n in range(40)]


def test_a_note_is_a_text_with_tags(in_team: factories.Tenant, user: User) -> None:
    assert put(in_team, user, notes(("slept badly", None), ("lunch", "food,exercise"))) == StoreResult(
        created={"note": 2}
    )
    assert put(in_team, user, notes(("slept badly", "food"), ("lunch", "food,exercise"))) == StoreResult(
        changed={"note": 1}, unchanged={"note": 1}
    )
    found = kept(in_team, user, "note")
    assert found.end_us is not None
    assert (found.end_us - found.start_us).tolist() == [1, 1]
    assert listed(found, "content") == ["slept badly", "lunch"]
    assert listed(found, "tags") == ["food", "food,exercise"]
