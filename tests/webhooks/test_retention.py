"""What is older than the log is kept goes, and nothing that is still owed; nobody waits for it."""

import threading
from collections.abc import Callable
from datetime import timedelta
from itertools import count
from uuid import UUID

import pytest
from django.db import connection, connections, transaction
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from healthsvc.kernel import clock
from healthsvc.kernel.ids import uuid_floor
from healthsvc.kernel.rows import team_values
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from tests import factories
from tests.factories import Tenant
from tests.webhooks.conftest import SOME_EVENT, attempts, deliveries, emit, endpoint_make, make_due, pump
from tests.webhooks.receiving import Answer, Receiver
from webhooks import services, walker
from webhooks.models import Delivery, Endpoint, Event, PortalSession, Tally, Total
from webhooks.pump import PumpReport
from webhooks.services import retention
from webhooks.tasks import purge

_numbers = count(1)


def old_id(days: float = 31) -> UUID:
    """An id as it was made so many days ago."""
    return UUID(int=uuid_floor(clock.now() - timedelta(days=days)).int + next(_numbers))


def emit_old(tenant: Tenant, days: float = 31) -> UUID:
    """An event of the past, not yet fanned out."""
    made, event_id = emit(tenant), old_id(days)
    with system_scope(SystemScope.DELIVERY):
        Event.objects.filter(pk=made).update(id=event_id, created_at=clock.now() - timedelta(days=days))
    return event_id


def events() -> set[UUID]:
    """The ids of every event."""
    with system_scope(SystemScope.DELIVERY):
        return set(Event.objects.values_list("pk", flat=True))


def elsewhere(act: Callable[[], object]) -> None:
    """Do something on another connection, and wait for it."""

    def run() -> None:
        try:
            with system_scope(SystemScope.DELIVERY):
                act()
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()


def test_what_is_old_goes_and_the_rest_stays(team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    emit_old(team)
    emit_old(team, days=30.5)
    young = {emit_old(team, days=29.5), emit(team)}
    hook.answers = [Answer(500, {}, b"out of order")]
    pump()
    make_due()
    pump()
    assert len(attempts()) == 5
    purged = services.log_purge()
    assert (purged.events, purged.finished) == (2, True)
    assert events() == young
    assert {row.event_id for row in deliveries()} == young
    assert {row.delivery_id for row in attempts()} == {row.id for row in deliveries()}
    assert services.log_purge().events == 0


def test_how_long_is_a_setting(team: Tenant, settings: Settings) -> None:
    settings.WEBHOOK_RETENTION_DAYS = 3
    emit_old(team, days=4)
    kept = emit_old(team, days=2)
    pump()
    purge()
    assert events() == {kept}


def test_what_is_still_owed_stays_until_it_ends(team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    waiting = emit_old(team)
    assert services.log_purge().events == 0
    hook.answers = [Answer(500)]
    pump()
    assert services.log_purge().events == 0
    assert [(row.event_id, row.status) for row in deliveries()] == [(waiting, "pending")]
    make_due()
    pump()
    with team_scope(team.context):
        walker.deliveries_resend(Delivery.objects.all())
    assert services.log_purge().events == 0
    pump()
    assert services.log_purge().events == 1
    assert (deliveries(), attempts(), len(hook.received)) == ([], [], 3)


def test_tallies_sessions_and_deleted_endpoints_go_and_totals_stay(team: Tenant, endpoint: Endpoint) -> None:
    now, long_ago = clock.now(), clock.now() - timedelta(days=31)
    gone, named = (endpoint_make(team, f"https://example.com/{name}") for name in "ab")
    with team_scope(team.context):
        for each in (gone, named):
            services.endpoint_delete(team=team.context, endpoint_id=each.id)
        Endpoint.objects.exclude(deleted_at=None).update(deleted_at=long_ago)
        event = Event.objects.create(
            **team_values(team.context), event_type=SOME_EVENT, endpoint=named, created_at=now, fanned_out_at=now
        )
        for number, (row_id, moment) in enumerate(((old_id(), long_ago), (old_id(1), now))):
            Tally.objects.create(id=row_id, **team_values(team.context), endpoint=endpoint, span_at=moment)
            PortalSession.objects.create(
                id=row_id,
                **team_values(team.context),
                link_hash=bytes([number]),
                link_expires_at=moment,
                made_by_kind="team_key",
                made_by_id="x",
                created_at=moment,
            )
    Total.objects.update_or_create(name="attempts_delivered", defaults={"value": 7})
    purged = services.log_purge()
    assert (purged.tallies, purged.portal_sessions, purged.endpoints) == (1, 1, 1)
    with system_scope(SystemScope.STAFF):
        assert set(Endpoint.objects.values_list("pk", flat=True)) == {endpoint.id, named.id}
        assert list(Tally.objects.values_list("span_at", flat=True)) == [now]
        assert list(PortalSession.objects.values_list("created_at", flat=True)) == [now]
        assert events() == {event.id}
    assert Total.objects.get(name="attempts_delivered").value == 7


def test_a_run_ends_when_its_time_is_over_and_the_next_goes_on(team: Tenant) -> None:
    now = clock.now()
    with team_scope(team.context):
        Event.objects.bulk_create(
            Event(id=old_id(), **team_values(team.context), event_type=SOME_EVENT, created_at=now, fanned_out_at=now)
            for _ in range(1001)
        )
    first = services.log_purge(run_seconds=0)
    assert (first.events, first.finished) == (1000, False)
    second = services.log_purge()
    assert (second.events, second.finished) == (1, True)


def test_a_portion_costs_the_same_statements_for_any_number(team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    costs = []
    for number in (1, 5):
        for _ in range(number):
            emit_old(team)
        pump()
        with CaptureQueriesContext(connection) as captured:
            assert services.log_purge().events == number
        costs.append(len(captured))
    assert costs[0] == costs[1]


@pytest.mark.django_db(transaction=True)
def test_rows_that_somebody_holds_are_left_to_the_next_run(hook: Receiver) -> None:
    tenant = factories.tenant_make()
    endpoint_make(tenant, f"{hook.url}/hook")
    held, free = emit_old(tenant), emit_old(tenant)
    pump()
    with system_scope(SystemScope.DELIVERY), transaction.atomic():
        list(Delivery.objects.filter(event_id=held).select_for_update(no_key=True))
        removed: list[int] = []
        elsewhere(lambda: removed.append(services.log_purge().events))
    assert removed == [1]
    assert events() == {held} != {free}
    assert services.log_purge().events == 1


@pytest.mark.django_db(transaction=True)
def test_what_is_owed_again_between_finding_and_removing_stays(hook: Receiver) -> None:
    tenant = factories.tenant_make()
    endpoint_make(tenant, f"{hook.url}/hook")
    again, gone = emit_old(tenant), emit_old(tenant)
    pump()
    with system_scope(SystemScope.PURGE), transaction.atomic():
        taken = retention._events_take(UUID(int=0), uuid_floor(clock.now() - timedelta(days=30)))
        assert taken == [again, gone]
        elsewhere(lambda: walker.deliveries_resend(Delivery.objects.filter(event_id=again)))
        assert retention._events_remove(taken) == 1
    assert events() == {again}
    assert pump().delivered == 1
    assert services.log_purge().events == 1


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_pumps_go_on_beside_a_purge(hook: Receiver) -> None:
    tenant = factories.tenant_make()
    endpoint_make(tenant, f"{hook.url}/hook")
    for _ in range(60):
        emit_old(tenant)
    pump()
    with team_scope(tenant.context):
        half = list(Delivery.objects.order_by("id").values_list("pk", flat=True)[:30])
        walker.deliveries_resend(Delivery.objects.filter(pk__in=half))
    for _ in range(60):
        emit(tenant)
    reports: list[PumpReport] = []
    done = threading.Event()

    def pumping() -> None:
        try:
            reports.append(pump(idle_seconds=0.2))
        finally:
            done.set()
            connections.close_all()

    thread = threading.Thread(target=pumping)
    thread.start()
    removed = 0
    while not done.wait(0.01):
        removed += services.log_purge().events
    thread.join(30)
    removed += services.log_purge().events
    assert [report.attempted for report in reports] == [90]
    assert removed == 60
    assert len(hook.received) == 60 + 30 + 60
    assert [row.status for row in deliveries()] == ["delivered"] * 60
