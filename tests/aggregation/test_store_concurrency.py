"""Writers at the same moment: nothing lost, nothing stale, nothing doubled."""

import random
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest
from django.db import connection, transaction

from aggregation.records import DataSource, SummaryRecord
from aggregation.services import health_data_store, user_hold
from healthsvc.kernel import clock
from healthsvc.kernel.errors import ServiceError
from healthsvc.kernel.scope import team_scope
from tests import factories
from tests.aggregation.samples import PHONE, WATCH, Sample, batch, heartrates, stored, us
from users.models import User

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

WRITERS = 4
WRITES_EACH = 30
BASE_US = us(2026, 3, 1)
MINUTE_US = 60_000_000

LastWrites = dict[tuple[DataSource, int], Sample]


def _write(tenant: factories.Tenant, user: User, writer: int, ready: Barrier) -> tuple[LastWrites, int]:
    """Random overlapping batches of two series; each writer's values are its own."""
    chance = random.Random(writer)
    last: LastWrites = {}
    created = 0
    try:
        with team_scope(tenant.context):
            ready.wait()
            for number in range(WRITES_EACH):
                batches = []
                for source in chance.sample([WATCH, PHONE], k=2):
                    times = [BASE_US + chance.randrange(600) * 10 * MINUTE_US for _ in range(40)]
                    value = float(writer * WRITES_EACH + number)
                    listed: list[Sample] = [(at, at + MINUTE_US, value, 0, None) for at in times]
                    batches.append(batch(listed, source=source))
                    last.update({(source, sample[0]): sample for sample in listed})
                result = health_data_store(team=tenant.context, user_id=user.id, series=batches, emit=False)
                created += result.created.get("steps", 0)
    finally:
        connection.close()
    return last, created


def test_four_writers_of_the_same_days_lose_nothing(team: factories.Tenant) -> None:
    user = factories.user_make(team)
    ready = Barrier(WRITERS)
    with ThreadPoolExecutor(WRITERS) as pool:
        writing = [pool.submit(_write, team, user, writer, ready) for writer in range(WRITERS)]
        outcomes = [one.result() for one in writing]
    with team_scope(team.context):
        found = stored(team.context, user.id, "steps")
    held = {(source, one[0]): one for (_, source), listed in found.items() for one in listed}
    assert set(held) == {key for last, _ in outcomes for key in last}
    # Whatever the order was, what stands is the last word of one of the writers.
    assert [key for key, sample in held.items() if sample not in [last.get(key) for last, _ in outcomes]] == []
    assert sum(created for _, created in outcomes) == len(held)


def test_four_writers_of_the_same_summaries_make_each_once(team: factories.Tenant) -> None:
    user = factories.user_make(team)
    ready = Barrier(WRITERS)

    def write(writer: int) -> int:
        try:
            with team_scope(team.context):
                ready.wait()
                result = health_data_store(team=team.context, user_id=user.id, summaries=_days(writer), emit=False)
                return result.created.get("activity", 0)
        finally:
            connection.close()

    with ThreadPoolExecutor(WRITERS) as pool:
        assert sum(pool.map(write, range(WRITERS))) == 40


def _days(writer: int) -> list[SummaryRecord]:
    today = clock.now().date()
    names = [f"day-{number}" for number in range(40)]
    random.Random(writer).shuffle(names)
    return [SummaryRecord("activity", WATCH, name, today, None, None, None, {"steps": writer}) for name in names]


def test_an_erasure_waits_for_a_write_and_a_write_after_it_finds_nobody(team: factories.Tenant) -> None:
    user = factories.user_make(team)
    begun, erased = Event(), Event()

    def erase() -> None:
        try:
            with team_scope(team.context):
                begun.set()
                User.objects.filter(pk=user.pk).update(deleted_at=clock.now())
                erased.set()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool, team_scope(team.context):
        with transaction.atomic():
            user_hold(team.context, user.id)
            erasing = pool.submit(erase)
            begun.wait()
            assert not erased.wait(0.3)
            health_data_store(team=team.context, user_id=user.id, series=[heartrates({BASE_US: 60.0})], emit=False)
        erasing.result()
        with pytest.raises(ServiceError, match="not_found"):
            health_data_store(team=team.context, user_id=user.id, series=[heartrates({BASE_US: 60.0})], emit=False)
