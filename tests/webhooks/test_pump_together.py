"""Pumps side by side, with connections of their own."""

import threading
from collections import Counter

import pytest
import redis
from django.db import connections
from pytest_django import Settings

from tests import factories
from tests.factories import Tenant
from tests.webhooks.conftest import attempts, deliveries, emit, endpoint_make, pump
from tests.webhooks.receiving import Receiver
from tests.webhooks.test_wakes import messages
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


def test_two_pumps_at_once_deliver_each_once(tenant: Tenant, hook: Receiver) -> None:
    for _ in range(40):
        emit(tenant)
    start = threading.Barrier(2)
    reports: list[PumpReport] = []

    def run() -> None:
        try:
            start.wait(10)
            reports.append(pump(idle_seconds=0.3))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
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
    reports: list[PumpReport | None] = []

    def run() -> None:
        try:
            reports.append(pump_run_alone(PumpOptions(run_seconds=0.5)))
        finally:
            connections.close_all()

    first = threading.Thread(target=run)
    first.start()
    while len(hook.received) < 2:
        threading.Event().wait(0.01)
    if by == "another":
        while (successor := pump_run_alone(PumpOptions(run_seconds=0.2, idle_seconds=0))) is None:
            threading.Event().wait(0.01)
        assert successor.attempted == 0
    else:
        threading.Event().wait(0.6)
    assert first.is_alive()
    assert "webhooks.pump_run" in messages()
    hook.slow_paths = set()
    emit(tenant)
    if by == "another":
        pump_run_alone(PumpOptions(idle_seconds=0))
    while len(hook.received) < 4:
        threading.Event().wait(0.01)
    assert (first.is_alive(), reports) == (True, [])
    hook.let_go.set()
    first.join(30)
    assert len(reports) == 1
    assert [row.status for row in deliveries()] == ["delivered"] * 4
    assert [(item.number, item.status_code) for item in attempts()] == [(1, 204)] * 4


def test_a_pump_whose_time_is_over_always_asks_for_a_successor(tenant: Tenant) -> None:
    pump_run_alone(PumpOptions(idle_seconds=0))
    assert messages() == []
    pump_run_alone(PumpOptions(run_seconds=0.1))
    assert messages() == ["webhooks.pump_run"]


@pytest.mark.parametrize(("pumps", "asked"), [(1, []), (2, ["webhooks.pump_run"])])
def test_as_many_pumps_run_as_there_are_slots_and_a_full_one_asks_for_another(
    tenant: Tenant, hook: Receiver, settings: Settings, pumps: int, asked: list[str]
) -> None:
    settings.WEBHOOK_PUMPS = pumps
    hook.slow_paths = {"/a", "/b"}
    emit(tenant)
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        client.delete("celery")
    taken: list[bool] = []

    def run() -> None:
        try:
            pump_run_alone(PumpOptions(in_flight=2, idle_seconds=0))
        finally:
            connections.close_all()

    first = threading.Thread(target=run)
    first.start()
    while len(hook.received) < 2:
        threading.Event().wait(0.01)
    threading.Event().wait(0.2)
    assert messages() == asked
    for count in (1, 2):
        with slot_taken(count) as slot:
            taken.append(slot is not None)
    assert taken == [False, True]
    assert (pump_run_alone(PumpOptions(idle_seconds=0)) is not None) == (pumps == 2)
    hook.let_go.set()
    first.join(30)


def test_celery_runs_one_pump_at_a_time(tenant: Tenant, hook: Receiver) -> None:
    emit(tenant)
    hook.slow_paths = {"/a", "/b"}
    reports: list[PumpReport | None] = []

    def run() -> None:
        try:
            reports.append(pump_run_alone(PumpOptions(idle_seconds=0)))
        finally:
            connections.close_all()

    first = threading.Thread(target=run)
    first.start()
    while len(hook.received) < 2:
        threading.Event().wait(0.01)
    assert pump_run_alone(PumpOptions(idle_seconds=0)) is None
    hook.let_go.set()
    first.join(30)
    assert [report and report.delivered for report in reports] == [2]
    again = pump_run_alone(PumpOptions(idle_seconds=0))
    assert again is not None
    assert again.attempted == 0
