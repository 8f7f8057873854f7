"""Pumps side by side, with connections of their own."""

import threading
from collections import Counter

import pytest
from django.db import connections

from tests import factories
from tests.factories import Tenant
from tests.webhooks.conftest import deliveries, emit, endpoint_make, pump
from tests.webhooks.receiving import Receiver
from webhooks.pump import PumpOptions, PumpReport, pump_run_alone

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
