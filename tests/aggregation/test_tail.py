"""Small posts wait in a block's tail, reads see them, and folding changes nothing that can be read."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from typing import TypeAlias

import numpy as np
import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries

from aggregation import services, tasks
from aggregation.constants import TAIL_AGE_SECONDS, TAIL_BLOCK_SAMPLES, TAIL_POST_SAMPLES, TAIL_ROWS
from aggregation.models import Block, Series, Tail
from aggregation.records import OFFSET_UNKNOWN, Refusal, StoreResult
from aggregation.services import health_data_store
from aggregation.store import read, statements
from aggregation.store.tail import TailDue, live_post, tail_append, tails_due, tails_fold
from healthsvc.kernel import clock
from healthsvc.kernel.errors import ServiceError
from healthsvc.kernel.scope import team_scope
from tests import factories
from tests.aggregation.samples import PHONE, WATCH, NaiveStore, Sample, batch, heartrates, stored, us
from users.models import User
from webhooks.models import Event

BASE_US = us(2026, 3, 1)
MINUTE_US = 60_000_000
EVERYTHING = (-(2**31), 2**31 - 1)

#: What is done to a store: samples of steps that are written at once, or a fold (None).
Step: TypeAlias = list[Sample] | None


@pytest.fixture
def user(in_team: factories.Tenant) -> User:
    return factories.user_make(in_team)


def minutes(first: int, last: int, value: float = 60.0) -> dict[int, float]:
    """A heart rate a minute."""
    return {BASE_US + minute * MINUTE_US: value + minute % 7 for minute in range(first, last)}


def put(tenant: factories.Tenant, user: User, values: dict[int, float], *, emit: bool = False) -> StoreResult:
    return health_data_store(team=tenant.context, user_id=user.id, series=[heartrates(values)], emit=emit)


def begun(tenant: factories.Tenant, user: User) -> None:
    """A block large enough to have a tail, and a small post by which the series has come to know it."""
    put(tenant, user, minutes(0, 100))
    put(tenant, user, minutes(99, 100))


def counted(tenant: factories.Tenant, user: User) -> tuple[int, int, int]:
    """Blocks, rows of tails, and samples that are read."""
    listed = stored(tenant.context, user.id, "heartrate")
    return Block.objects.count(), Tail.objects.count(), sum(map(len, listed.values()))


def series_ids() -> list[int]:
    return list(Series.objects.values_list("series_id", flat=True))


def test_a_live_post_is_one_statement_and_one_row_and_is_read(
    in_team: factories.Tenant, user: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    begun(in_team, user)
    before = bytes(Block.objects.get().data)
    with django_assert_num_queries(1):
        assert put(in_team, user, minutes(100, 101)) == StoreResult(created={"heartrate": 1})
    assert bytes(Block.objects.get().data) == before
    assert counted(in_team, user) == (1, 1, 101)


def test_a_live_post_tells_of_its_samples(in_team: factories.Tenant, user: User) -> None:
    begun(in_team, user)
    put(in_team, user, minutes(100, 102), emit=True)
    event = Event.objects.get()
    assert (event.event_type, event.user_id) == ("daily.data.heartrate.created", user.id)
    assert '"client_user_id":"' + user.client_user_id in event.body
    assert event.body.count('"timestamp"') == 2


@pytest.mark.parametrize("minute", [0, 50, 99, 100])
def test_a_post_that_is_not_the_newest_is_compared_with_what_is_stored(
    in_team: factories.Tenant, user: User, minute: int
) -> None:
    begun(in_team, user)
    put(in_team, user, minutes(100, 101))
    assert put(in_team, user, minutes(minute, minute + 1)) == StoreResult(unchanged={"heartrate": 1})
    assert counted(in_team, user) == (1, 1, 101)
    assert put(in_team, user, minutes(minute, minute + 1, value=90.0)) == StoreResult(changed={"heartrate": 1})
    assert put(in_team, user, {BASE_US + minute * MINUTE_US + 1: 61.0}) == StoreResult(created={"heartrate": 1})
    assert counted(in_team, user) == (1, 3, 102)
    values = {one[0]: one[2] for one in stored(in_team.context, user.id, "heartrate")["heartrate", WATCH]}
    assert values == {**minutes(0, 101), **minutes(minute, minute + 1, 90.0), BASE_US + minute * MINUTE_US + 1: 61.0}


def test_a_full_tail_goes_into_its_block(in_team: factories.Tenant, user: User) -> None:
    begun(in_team, user)
    for minute in range(100, 100 + TAIL_ROWS):
        put(in_team, user, minutes(minute, minute + 1))
    assert counted(in_team, user) == (1, TAIL_ROWS, 100 + TAIL_ROWS)
    assert put(in_team, user, minutes(500, 501)) == StoreResult(created={"heartrate": 1})
    assert counted(in_team, user) == (1, 0, 101 + TAIL_ROWS)
    assert Block.objects.get().n == 101 + TAIL_ROWS
    put(in_team, user, minutes(501, 502))
    assert counted(in_team, user) == (1, 1, 102 + TAIL_ROWS)


def test_many_samples_take_the_tail_into_the_block(in_team: factories.Tenant, user: User) -> None:
    begun(in_team, user)
    put(in_team, user, minutes(100, 101))
    put(in_team, user, minutes(90, 102 + TAIL_POST_SAMPLES, value=80.0))
    assert counted(in_team, user) == (1, 0, 102 + TAIL_POST_SAMPLES)
    values = [one[2] for one in stored(in_team.context, user.id, "heartrate")["heartrate", WATCH]]
    assert values[90:] == list(minutes(90, 102 + TAIL_POST_SAMPLES, value=80.0).values())


def test_a_small_block_has_no_tail(in_team: factories.Tenant, user: User) -> None:
    for minute in range(TAIL_BLOCK_SAMPLES + 1):
        put(in_team, user, minutes(minute, minute + 1))
    assert counted(in_team, user) == (1, 1, TAIL_BLOCK_SAMPLES + 1)
    assert Block.objects.get().n == TAIL_BLOCK_SAMPLES


def test_only_what_differs_waits_in_a_tail(in_team: factories.Tenant, user: User) -> None:
    begun(in_team, user)
    result = put(in_team, user, {**minutes(0, 10), **minutes(10, 12, value=99.0), **minutes(100, 103)})
    assert result == StoreResult(created={"heartrate": 3}, changed={"heartrate": 2}, unchanged={"heartrate": 10})
    assert Tail.objects.get().n == 5


def test_the_first_small_post_after_a_large_one_goes_the_long_way(
    in_team: factories.Tenant, user: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    put(in_team, user, minutes(0, 100))
    # The try, savepoint and its release, user, lock, blocks read, tail written, the note where the next may go.
    with django_assert_num_queries(8):
        put(in_team, user, minutes(100, 101))
    with django_assert_num_queries(1):
        put(in_team, user, minutes(101, 102))
    assert counted(in_team, user) == (1, 2, 102)


def test_a_live_block_is_forgotten_when_something_else_is_written(in_team: factories.Tenant, user: User) -> None:
    """So that nothing goes to a tail by what a large write or a fold has made untrue."""
    begun(in_team, user)
    put(in_team, user, minutes(100, 101))
    put(in_team, user, minutes(101, 200))
    assert put(in_team, user, minutes(150, 151)) == StoreResult(unchanged={"heartrate": 1})
    put(in_team, user, minutes(200, 201))
    tails_fold(in_team.context, user.id, series_ids()[0])
    assert Series.objects.get().live_bucket is None
    assert put(in_team, user, minutes(200, 202)) == StoreResult(created={"heartrate": 1}, unchanged={"heartrate": 1})
    assert counted(in_team, user) == (1, 1, 202)


def test_ingestion_bounds_hold_for_live_posts(in_team: factories.Tenant) -> None:
    user = factories.user_make(in_team, ingestion_end=date(2026, 3, 1))
    begun(in_team, user)
    next_day = {BASE_US + 1_440 * MINUTE_US: 60.0}
    assert put(in_team, user, minutes(100, 101)) == StoreResult(created={"heartrate": 1})
    assert put(in_team, user, next_day).refused == (Refusal("heartrate", "outside_ingestion_bounds", 1),)
    assert counted(in_team, user) == (1, 1, 101)


def test_a_live_post_for_a_person_on_the_way_out_is_refused(in_team: factories.Tenant, user: User) -> None:
    begun(in_team, user)
    User.objects.filter(pk=user.pk).update(deleted_at=clock.now())
    with pytest.raises(ServiceError, match="not_found"):
        put(in_team, user, minutes(100, 101))
    assert Tail.objects.count() == 0


def test_another_team_can_not_append(in_team: factories.Tenant, user: User, other_team: factories.Tenant) -> None:
    begun(in_team, user)
    post = live_post([heartrates(minutes(100, 101))])
    assert post is not None
    with team_scope(other_team.context):
        assert tail_append(other_team.context, user.id, post) is None
        assert tail_append(in_team.context, user.id, post) is None
    assert Tail.objects.count() == 0
    assert tail_append(in_team.context, user.id, post) == user.client_user_id


@pytest.mark.parametrize("values", [{}, minutes(100, 101 + TAIL_POST_SAMPLES), {BASE_US: 60.0, BASE_US - 1: 61.0}])
def test_what_is_no_live_post(values: dict[int, float]) -> None:
    """Nothing, too much, or of two days and out of order."""
    assert live_post([heartrates(values)]) is None


@pytest.mark.django_db(transaction=True)
def test_a_writer_between_the_look_and_the_lock_sends_a_live_post_the_long_way(team: factories.Tenant) -> None:
    """What the statement compares with is what it has locked, not what it saw before."""
    user = factories.user_make(team)
    with team_scope(team.context):
        begun(team, user)
        with ThreadPoolExecutor(1) as pool:
            with transaction.atomic():
                put(team, user, minutes(200, 201))
                waiting = pool.submit(_append_elsewhere, team, user)
                _wait_for_lock()
            assert waiting.result() is None
        assert Tail.objects.count() == 1
        assert put(team, user, minutes(150, 151)) == StoreResult(created={"heartrate": 1})


def _append_elsewhere(team: factories.Tenant, user: User) -> str | None:
    """As newest as can be known from the snapshot, and no longer after the lock."""
    try:
        with team_scope(team.context):
            post = live_post([heartrates(minutes(150, 151))])
            assert post is not None
            return tail_append(team.context, user.id, post)
    finally:
        connection.close()


def _wait_for_lock() -> None:
    waiting = 0
    while not waiting:
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
            ((waiting,),) = cursor.fetchall()


def test_old_tails_are_folded_and_young_ones_are_left(in_team: factories.Tenant, user: User) -> None:
    begun(in_team, user)
    put(in_team, user, minutes(100, 101))
    tasks.tails_fold()
    assert counted(in_team, user) == (1, 1, 101)
    Tail.objects.update(created_at=clock.now() - timedelta(seconds=TAIL_AGE_SECONDS + 1))
    before = stored(in_team.context, user.id, "heartrate")
    tasks.tails_fold()
    assert counted(in_team, user) == (1, 0, 101)
    assert stored(in_team.context, user.id, "heartrate") == before
    tasks.tails_fold()
    assert counted(in_team, user) == (1, 0, 101)
    assert put(in_team, user, minutes(100, 101)) == StoreResult(unchanged={"heartrate": 1})


def test_teams_take_turns_and_each_fold_stays_in_its_team(
    in_team: factories.Tenant, other_team: factories.Tenant
) -> None:
    for tenant, people in ((in_team, 3), (other_team, 1)):
        with team_scope(tenant.context):
            for _ in range(people):
                person = factories.user_make(tenant)
                begun(tenant, person)
                put(tenant, person, minutes(100, 101))
            Tail.objects.update(created_at=clock.now() - timedelta(days=1 if people == 3 else 0, hours=2))
    assert services.tails_fold_due(limit=2) == 2
    assert Tail.objects.count() == 2
    with team_scope(other_team.context):
        assert Tail.objects.count() == 0
        assert Block.objects.get().n == 101
    assert services.tails_fold_due(limit=10) == 2
    assert services.tails_fold_due(limit=10) == 0
    assert (Tail.objects.count(), sorted(Block.objects.values_list("n", flat=True))) == (0, [101, 101, 101])


def test_the_tails_of_a_person_on_the_way_out_are_left_alone(in_team: factories.Tenant, user: User) -> None:
    begun(in_team, user)
    put(in_team, user, minutes(100, 101))
    User.objects.filter(pk=user.pk).update(deleted_at=clock.now())
    assert tails_fold(in_team.context, user.id, series_ids()[0]) == 0
    assert (Block.objects.get().n, Tail.objects.count()) == (100, 1)


def test_the_tails_of_people_on_the_way_out_keep_nobody_elses_waiting(
    in_team: factories.Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaving = [factories.user_make(in_team) for _ in range(3)]
    staying = [factories.user_make(in_team) for _ in range(3)]
    for person in (*leaving, *staying):
        begun(in_team, person)
        put(in_team, person, minutes(100, 101))
    User.objects.filter(pk__in=[person.pk for person in leaving]).update(deleted_at=clock.now())
    ages = {person.pk: timedelta(days=2 if person in leaving else 1) for person in (*leaving, *staying)}
    for user_id, age in ages.items():
        Tail.objects.filter(user_id=user_id).update(created_at=clock.now() - age)
    monkeypatch.setattr("aggregation.tasks._FOLD_SERIES", 2)
    monkeypatch.setattr("aggregation.store.tail._DUE_ROWS", 2)
    tasks.tails_fold()
    assert set(Tail.objects.values_list("user_id", flat=True)) == {person.pk for person in leaving}


def test_a_round_of_folding_that_folds_nothing_is_the_last_one(
    in_team: factories.Tenant, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look for tails and their folding the person leaves."""
    begun(in_team, user)
    put(in_team, user, minutes(100, 101))
    Tail.objects.update(created_at=clock.now() - timedelta(days=1))
    looks: list[int] = []

    def then_leaves(*, limit: int) -> list[TailDue]:
        due = tails_due(limit=limit)
        looks.append(len(due))
        with team_scope(in_team.context):
            User.objects.filter(pk=user.pk).update(deleted_at=clock.now())
        return due

    monkeypatch.setattr(services, "tails_due", then_leaves)
    tasks.tails_fold()
    assert (looks, Tail.objects.count()) == ([1], 1)


def test_sizes_count_tails(in_team: factories.Tenant, user: User) -> None:
    begun(in_team, user)
    put(in_team, user, minutes(99, 102, value=99.0))
    (row,) = read.series_of(in_team.context, user.id, "heartrate")
    span = read.Span(row, *EVERYTHING)
    # One of them was there before, and is counted in block and tail.
    assert read.samples_count(user.id, [span]) == 103
    assert read.block_sizes(user.id, [span], limit=10) == [(row.series_id, BASE_US // (86_400 * 1_000_000), 103)]
    assert len(read.samples_of(user.id, [span])[row.series_id]) == 102


def test_the_statements_name_every_key() -> None:
    """Each of them finds its rows by the person's id, which leads every key."""
    texts = [text for name, text in vars(statements).items() if name.isupper() and "aggregation_" in str(text)]
    assert len(texts) > 15
    assert [text for text in texts if "user_id" not in text] == []


TIMES = st.integers(0, 4_000).map(lambda minute: BASE_US + minute * MINUTE_US)


@st.composite
def sample(draw: st.DrawFn) -> Sample:
    start_us = draw(TIMES)
    return (
        start_us,
        start_us + draw(st.sampled_from([0, MINUTE_US])),
        draw(st.sampled_from([0.0, -0.0, 1.0, 2.5, 70.0])),
        draw(st.sampled_from([OFFSET_UNKNOWN, 0, 3_600])),
        draw(st.sampled_from([None, "walking", "running"])),
    )


@st.composite
def run_of_minutes(draw: st.DrawFn) -> list[Sample]:
    """As devices send them: one after the other, sometimes far more than a tail takes."""
    first = draw(st.integers(0, 1_500))
    count = draw(st.sampled_from([1, 1, 2, 5, 40, 70, 200]))
    value = draw(st.sampled_from([1.0, 2.0]))
    return [
        (BASE_US + minute * MINUTE_US, BASE_US + minute * MINUTE_US, value, 0, None)
        for minute in range(first, first + count)
    ]


STEPS = st.lists(st.none() | run_of_minutes() | st.lists(sample(), max_size=5), min_size=1, max_size=40)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 1_400), STEPS)
def test_small_and_large_posts_and_folds_leave_what_a_dictionary_would(
    in_team: factories.Tenant, newest: int, steps: Sequence[Step]
) -> None:
    user = factories.user_make(in_team)
    naive = NaiveStore()
    counts = np.zeros(3, np.int64)
    first: list[Sample] = [
        (BASE_US + minute * MINUTE_US, BASE_US + minute * MINUTE_US, 5.0, 0, None) for minute in range(newest)
    ]
    for number, step in enumerate([first, *steps]):
        if step is None:
            for series_id in Series.objects.filter(user_id=user.id).values_list("series_id", flat=True):
                tails_fold(in_team.context, user.id, series_id)
            assert Tail.objects.filter(user_id=user.id).count() == 0
        else:
            source = PHONE if number % 7 == 6 else WATCH
            given_batch = batch(step, source=source)
            result = health_data_store(team=in_team.context, user_id=user.id, series=[given_batch], emit=False)
            naive.take("steps", source, step)
            counts += [listed.get("steps", 0) for listed in (result.created, result.changed, result.unchanged)]
            assert result.refused == ()
        assert stored(in_team.context, user.id, "steps") == naive.listed()
    assert counts.tolist() == [naive.created, naive.changed, naive.unchanged]
    found = stored(in_team.context, user.id, "steps")
    assert [[np.signbit(one[2]) for one in listed] for listed in found.values()] == [
        [np.signbit(one[2]) for one in naive.listed()[key]] for key in found
    ]
