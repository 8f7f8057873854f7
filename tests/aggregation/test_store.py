"""The store holds what a dictionary by timestamp would, whatever comes in whichever order."""

from datetime import date
from uuid import uuid4

import numpy as np
import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries

from aggregation.models import Block, Series
from aggregation.records import OFFSET_UNKNOWN, DataSource, Refusal, SeriesBatch, StoreResult
from aggregation.services import health_data_store
from healthsvc.kernel.errors import ServiceError
from healthsvc.kernel.scope import team_scope
from tests import factories
from tests.aggregation.samples import PHONE, WATCH, NaiveStore, Sample, batch, heartrates, stored, us
from users.models import User

HOUR_US = 3_600_000_000
BASE_US = us(2026, 3, 1)

TIMES = st.integers(0, 90).map(lambda hour: BASE_US + hour * HOUR_US) | st.integers(0, 10**11).map(
    lambda offset: BASE_US + offset
)


@st.composite
def samples(draw: st.DrawFn) -> Sample:
    start_us = draw(TIMES)
    return (
        start_us,
        start_us + draw(st.integers(0, HOUR_US)),
        draw(st.sampled_from([0.0, -0.0, 1.0, 2.5, 70.0, 1 / 3])),
        draw(st.sampled_from([OFFSET_UNKNOWN, 0, 3_600, -18_000])),
        draw(st.sampled_from([None, None, "walking", "running"])),
    )


BATCHES = st.lists(st.tuples(st.sampled_from([WATCH, PHONE]), st.lists(samples(), max_size=25)), min_size=1, max_size=6)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(BATCHES, min_size=1, max_size=4))
def test_any_sequence_of_writes_leaves_what_a_dictionary_would(
    in_team: factories.Tenant, writes: list[list[tuple[DataSource, list[Sample]]]]
) -> None:
    user = factories.user_make(in_team)
    naive = NaiveStore()
    created = changed = unchanged = 0
    for batches in writes:
        given_batches = [batch(listed, source=source) for source, listed in batches]
        result = health_data_store(team=in_team.context, user_id=user.id, series=given_batches, emit=False)
        for source, listed in batches:
            naive.take("steps", source, listed)
        created += result.created.get("steps", 0)
        changed += result.changed.get("steps", 0)
        unchanged += result.unchanged.get("steps", 0)
        assert result.refused == ()
    found = stored(in_team.context, user.id, "steps")
    assert found == naive.listed()
    assert [[np.signbit(one[2]) for one in listed] for listed in found.values()] == [
        [np.signbit(one[2]) for one in naive.listed()[key]] for key in found
    ]
    assert (created, changed, unchanged) == (naive.created, naive.changed, naive.unchanged)


@pytest.fixture
def user(in_team: factories.Tenant) -> User:
    return factories.user_make(in_team)


def store(tenant: factories.Tenant, user: User, *series: SeriesBatch) -> StoreResult:
    return health_data_store(team=tenant.context, user_id=user.id, series=series)


def test_one_row_holds_a_day(in_team: factories.Tenant, user: User) -> None:
    minutes = {BASE_US + minute * 60_000_000: 60.0 + minute % 7 for minute in range(2 * 1_440)}
    result = store(in_team, user, heartrates(minutes))
    assert result == StoreResult(created={"heartrate": 2_880})
    rows = Block.objects.for_team(in_team.context).order_by("bucket")
    assert [(row.bucket, row.n) for row in rows] == [(BASE_US // 86_400_000_000 + day, 1_440) for day in (0, 1)]
    assert max(len(row.data) for row in rows) < 1_600


def test_sending_the_same_again_writes_no_block(in_team: factories.Tenant, user: User) -> None:
    sent = heartrates({BASE_US: 60.0, BASE_US + 1: 61.0})
    store(in_team, user, sent)
    before = _row_version()
    assert store(in_team, user, sent) == StoreResult(unchanged={"heartrate": 2})
    assert _row_version() == before


def _row_version() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT xmin::text FROM aggregation_block")
        return str(cursor.fetchone()[0])


def test_samples_before_1970_are_kept(in_team: factories.Tenant, user: User) -> None:
    store(in_team, user, heartrates({us(1969, 12, 31, 23, 59): 60.0, us(1970, 1, 1): 61.0}))
    listed = stored(in_team.context, user.id, "heartrate")["heartrate", WATCH]
    assert [one[2] for one in listed] == [60.0, 61.0]


def test_bad_samples_are_refused_by_reason_and_take_nothing_down(in_team: factories.Tenant, user: User) -> None:
    at = BASE_US
    bad: list[Sample] = [
        (at, at, float("nan"), 0, None),
        (at + 1, at + 1, float("inf"), 0, None),
        (at + 2, at + 2, 2e6, 0, None),
        (at + 3, at + 2, 1.0, 0, None),
        (at + 4, at + 4, 1.0, 70_000, None),
        (us(2300, 1, 1), us(2300, 1, 2), 1.0, 0, None),
        (at + 5, at + 5, 1.0, 0, "nul\x00"),
    ]
    good: Sample = (at + 9, at + 9, 5.0, 0, None)
    unknown = SeriesBatch("mood", WATCH, batch([good]).samples)
    strange = SeriesBatch("steps", DataSource("oura", "toaster"), batch([good, good]).samples)
    result = store(in_team, user, batch([*bad, good]), unknown, strange)
    assert result == StoreResult(
        created={"steps": 1},
        refused=(
            Refusal("mood", "unknown_resource", 1),
            Refusal("steps", "bad_date", 1),
            Refusal("steps", "bad_offset", 1),
            Refusal("steps", "bad_source", 2),
            Refusal("steps", "bad_value", 3),
            Refusal("steps", "end_before_start", 1),
            Refusal("steps", "out_of_range", 1),
        ),
    )
    assert stored(in_team.context, user.id, "steps") == {("steps", WATCH): [good]}


def test_only_days_within_the_ingestion_bounds_are_kept(in_team: factories.Tenant) -> None:
    """The bounds are days of the person: 23:30 UTC on the last of February is already March in Berlin."""
    user = factories.user_make(
        in_team,
        ingestion_start=date(2026, 3, 1),
        ingestion_end=date(2026, 3, 1),
        fallback_time_zone="Europe/Berlin",
    )
    early, late = us(2026, 2, 28, 23, 30), us(2026, 3, 1, 23, 0)
    known = heartrates({early: 60.0, early - HOUR_US: 61.0, late: 62.0}, offset_seconds=3_600)
    unknown = heartrates({early + 1: 60.0, late + 1: 62.0}, offset_seconds=OFFSET_UNKNOWN)
    result = store(in_team, user, known, unknown)
    assert result.refused == (Refusal("heartrate", "outside_ingestion_bounds", 3),)
    listed = stored(in_team.context, user.id, "heartrate")["heartrate", WATCH]
    assert [one[0] for one in listed] == [early, early + 1]


def test_series_are_told_apart_by_type_app_and_device(in_team: factories.Tenant, user: User) -> None:
    sources = [WATCH, PHONE, DataSource("oura", "watch", device_id="left"), DataSource("garmin", "watch")]
    store(in_team, user, *(heartrates({BASE_US: 60.0 + place}, source=one) for place, one in enumerate(sources)))
    found = stored(in_team.context, user.id, "heartrate")
    assert {source: listed[0][2] for (_, source), listed in found.items()} == {
        one: 60.0 + place for place, one in enumerate(sources)
    }


def test_a_user_who_is_not_there_gets_nothing(in_team: factories.Tenant, other_team: factories.Tenant) -> None:
    stranger = factories.user_make(other_team)
    for user_id in (uuid4(), stranger.id):
        with pytest.raises(ServiceError, match="not_found"):
            health_data_store(team=in_team.context, user_id=user_id, series=[heartrates({BASE_US: 60.0})])
    assert Series.objects.count() == 0
    with team_scope(other_team.context):
        assert Series.objects.count() == 0


def test_a_write_costs_the_same_number_of_statements_for_one_and_many_series(
    in_team: factories.Tenant, user: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    # Savepoint and its release, user held, locks, blocks read, blocks written, the note of what series hold; a small
    # post first tries the tail.
    with django_assert_num_queries(8):
        health_data_store(team=in_team.context, user_id=user.id, series=[heartrates({BASE_US: 60.0})], emit=False)
    many = [
        heartrates({BASE_US + day * 24 * HOUR_US: 60.0 for day in range(30)}, source=DataSource(slug, "watch"))
        for slug in ("oura", "garmin", "fitbit", "withings", "polar")
    ]
    with django_assert_num_queries(7):
        health_data_store(team=in_team.context, user_id=user.id, series=many, emit=False)


def test_a_wide_batch_is_written_in_rounds(in_team: factories.Tenant, user: User) -> None:
    days = {us(2020, 1, 1) + day * 24 * HOUR_US: 50.0 + day % 50 for day in range(1_200)}
    result = health_data_store(team=in_team.context, user_id=user.id, series=[heartrates(days)], emit=False)
    assert result.created == {"heartrate": 1_200}
    assert len(stored(in_team.context, user.id, "heartrate")["heartrate", WATCH]) == 1_200
