"""Pumps side by side, with connections of their own."""

import threading
from collections import Counter
from contextlib import ExitStack

import pytest
import redis
from django.db import connection
from pytest_django import Settings

from tests import factories
from tests.factories import Tenant
from tests.webhooks.conftest import attempts, deliveries, emit, endpoint_make, pump
from tests.webhooks.receiving import Receiver
from tests.webhooks.test_wakes import messages
from tests.webhooks.waiting import beside, wait_until
from webhooks.constants import PUMP_LOCK
from webhooks.pump import PumpOptions, PumpReport, pump_run_alone
from webhooks.pump_slots import slot_taken

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def tenant(hook: Receiver) -> Tenant:
    """A team with two endpoints, committed."""
    made = factories.tenant_make()
    for name in ("a", "b"):
        endpoint_make(made, f"{hook.url}/{name}")
    return made


def arrive(hook: Receiver, count: int) -> None:
    """Wait until so many requests have come."""
    wait_until(f"{count} requests", lambda: len(hook.received) >= count)


def slot_holders() -> set[int]:
    """Sessions that hold a pump's slot."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = %s"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
            [PUMP_LOCK],
        )
        return {pid for (pid,) in cursor.fetchall()}


def test_two_pumps_at_once_deliver_each_once(tenant: Tenant, hook: Receiver) -> None:
    for _ in range(40):
        emit(tenant)
    start = threading.Barrier(2)

    def run() -> PumpReport:
        start.wait(10)
        return pump(idle_seconds=0.3)

    with beside(run) as first, beside(run) as second:
        reports = [first.end(), second.end()]
    arrived = Counter((request.path, request.headers["webhook-id"]) for request in hook.received)
    assert (len(arrived), set(arrived.values())) == (80, {1})
    assert sum(report.attempted for report in reports) == 80
    assert {row.status for row in deliveries()} == {"delivered"}


@pytest.mark.slow
@pytest.mark.parametrize("by", ["another", "itself"])
def test_delivery_goes_on_while_a_pump_whose_time_is_over_waits(tenant: Tenant, hook: Receiver, by: str) -> None:
    """It gives its slot back and asks for a successor. Where none comes, as all workers are busy, it goes on itself."""
    hook.slow_paths = {"/a"}
    emit(tenant)
    with ExitStack() as stack:
        stack.callback(hook.let_go.set)
        first = stack.enter_context(beside(lambda: pump_run_alone(PumpOptions(run_seconds=0.5))))
        arrive(hook, 2)
        wait_until("its successor is asked for", lambda: messages().count("webhooks.pump_run") == 2)
        if by == "another":
            successors: list[PumpReport | None] = []

            def succeeded() -> bool:
                successors.append(pump_run_alone(PumpOptions(run_seconds=0.2, idle_seconds=0)))
                return successors[-1] is not None

            wait_until("the slot is free", succeeded)
            assert [found and found.attempted for found in successors][-1] == 0
        else:
            wait_until("it has taken its slot again", slot_holders)
        assert first.runs
        hook.slow_paths = set()
        emit(tenant)
        if by == "another":
            pump_run_alone(PumpOptions(idle_seconds=0))
        arrive(hook, 4)
        assert (first.runs, first.returned) == (True, [])
        hook.let_go.set()
        assert first.end() is not None
    assert [row.status for row in deliveries()] == ["delivered"] * 4
    assert [(item.number, item.status_code) for item in attempts()] == [(1, 204)] * 4


def test_a_pump_whose_time_is_over_always_asks_for_a_successor(tenant: Tenant) -> None:
    pump_run_alone(PumpOptions(idle_seconds=0))
    assert messages() == []
    pump_run_alone(PumpOptions(run_seconds=0.1))
    assert messages() == ["webhooks.pump_run"]


@pytest.mark.parametrize("pumps", [1, 2])
def test_as_many_pumps_run_as_there_are_slots_and_a_full_one_asks_for_another(
    tenant: Tenant, hook: Receiver, settings: Settings, pumps: int
) -> None:
    settings.WEBHOOK_PUMPS = pumps
    hook.slow_paths = {"/a", "/b"}
    for _ in range(2):
        emit(tenant)
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        client.delete("celery")
    taken: list[bool] = []
    with ExitStack() as stack:
        stack.callback(hook.let_go.set)
        first = stack.enter_context(beside(lambda: pump_run_alone(PumpOptions(in_flight=8, idle_seconds=0))))
        arrive(hook, 2)
        if pumps == 2:
            wait_until("another is asked for", lambda: messages() == ["webhooks.pump_run"])
        for count in (1, 2):
            with slot_taken(count) as slot:
                taken.append(slot is not None)
        assert taken == [False, True]
        assert (pump_run_alone(PumpOptions(idle_seconds=0)) is not None) == (pumps == 2)
        hook.let_go.set()
        first.end()
    # one that runs alone asks for none, however full it was
    assert messages() == ["webhooks.pump_run"] * (pumps - 1)


def test_celery_runs_one_pump_at_a_time(tenant: Tenant, hook: Receiver) -> None:
    emit(tenant)
    hook.slow_paths = {"/a", "/b"}
    with ExitStack() as stack:
        stack.callback(hook.let_go.set)
        first = stack.enter_context(beside(lambda: pump_run_alone(PumpOptions(idle_seconds=0))))
        arrive(hook, 2)
        assert pump_run_alone(PumpOptions(idle_seconds=0)) is None
        hook.let_go.set()
        report = first.end()
    assert report is not None
    assert report.delivered == 2
    again = pump_run_alone(PumpOptions(idle_seconds=0))
    assert again is not None
    assert again.attempted == 0
