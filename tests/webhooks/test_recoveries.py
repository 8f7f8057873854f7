"""What a recovery takes up, what it leaves to its own time, and what the API, the portal and the admin say of both."""

import threading
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connection, connections, transaction
from django.test import Client

from healthsvc.kernel import clock
from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.errors import ErrorCode, ServiceError
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management.models import BackgroundJob
from tests.clients import ApiClient
from tests.factories import Tenant, tenant_make
from tests.webhooks.conftest import deliveries, emit, endpoint_make, pump
from tests.webhooks.portal_visiting import visitor
from tests.webhooks.receiving import Answer, Receiver
from tests.webhooks.staffing import clerk
from tests.webhooks.test_api_log import base_of
from webhooks import services
from webhooks.models import Delivery, Endpoint
from webhooks.portal import repairs as portal_repairs
from webhooks.services import repair_work, repairs
from webhooks.states import DeliveryStatus


@pytest.fixture
def endpoint(team: Tenant, hook: Receiver) -> Endpoint:
    """Our team's endpoint at the receiver, which is not told of messages that were given up."""
    return endpoint_make(team, f"{hook.url}/hook", filter_types=["daily"])


def fail_once(tenant: Tenant, hook: Receiver, count: int = 1) -> list[UUID]:
    """Events whose first attempt has failed, so that the next is five seconds away."""
    made = [emit(tenant) for _ in range(count)]
    hook.otherwise = Answer(500)
    pump()
    hook.otherwise = Answer(204)
    hook.received.clear()
    return made


def wait(tenant: Tenant, count: int = 1) -> None:
    """Events that wait for their first attempt, as for a pause."""
    made = [emit(tenant) for _ in range(count)]
    with system_scope(SystemScope.DELIVERY):
        services.events_fan_out()
        later = clock.now() + timedelta(hours=1)
        Delivery.objects.filter(event_id__in=made).update(next_attempt_at=later)


def recovered(tenant: Tenant, endpoint: Endpoint, *, include_cancelled: bool = False) -> repairs.RepairShown:
    """A recovery of the last hour, worked to its end."""
    with team_scope(tenant.context):
        job_id = services.recover_begin(
            team=tenant.context,
            endpoint_id=endpoint.id,
            since=clock.now() - timedelta(hours=1),
            include_cancelled=include_cancelled,
        ).pk
    repair_work.repair_run(job_id=job_id)
    with team_scope(tenant.context):
        return services.repair_get(tenant.context, job_id)


@pytest.mark.parametrize("include_cancelled", [False, True])
def test_what_failed_and_still_waits_is_owed_now_and_with_all_attempts(
    team: Tenant, endpoint: Endpoint, hook: Receiver, monkeypatch: pytest.MonkeyPatch, include_cancelled: bool
) -> None:
    monkeypatch.setattr(repair_work, "REPAIR_ROWS", 2)
    failed = fail_once(team, hook, 5)
    wait(team)
    assert [(one.status, one.failures) for one in deliveries()] == [("pending", 1)] * 5 + [("pending", 0)]
    shown = recovered(team, endpoint, include_cancelled=include_cancelled)
    assert (shown.status, shown.owed, shown.waiting) == ("succeeded", 5, 1)
    assert {one.failures for one in deliveries()} == {0}
    again = recovered(team, endpoint, include_cancelled=include_cancelled)
    assert (again.owed, again.waiting) == (0, 6)
    pump()
    arrived = sorted(request.headers["webhook-id"] for request in hook.received)
    assert arrived == sorted(f"msg_{event_id}" for event_id in failed)
    assert [one.status for one in deliveries()] == ["delivered"] * 5 + ["pending"]


def test_what_is_being_sent_waits_by_itself(team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    fail_once(team, hook, 2)
    sending = deliveries()[0]
    with system_scope(SystemScope.DELIVERY):
        Delivery.objects.filter(pk=sending.pk).update(status=DeliveryStatus.SENDING.value)
    shown = recovered(team, endpoint)
    assert (shown.owed, shown.waiting) == (1, 1)
    assert [(one.status, one.failures) for one in deliveries()] == [("sending", 1), ("pending", 0)]


def test_what_waits_is_counted_up_to_a_bound(
    team: Tenant, endpoint: Endpoint, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repair_work, "WAITING_COUNT_MAXIMUM", 2)
    monkeypatch.setattr(portal_repairs, "WAITING_COUNT_MAXIMUM", 2)
    wait(team, 3)
    shown = recovered(team, endpoint)
    assert shown.waiting == 2
    page = visitor(team).get(f"/portal/repair/{shown.job_id}").content.decode()
    assert "2 or more messages wait for their attempt by themselves." in page


def test_failures_are_found_by_their_index(team: Tenant, endpoint: Endpoint) -> None:
    with system_scope(SystemScope.DELIVERY), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_sort = off")
        found = Delivery.objects.filter(repair_work._FAILED, endpoint=endpoint, pk__gt=UUID(int=1)).order_by("pk")
        assert "webhooks_delivery_failed" in found.explain()


def test_the_api_says_how_many_are_owed_again_and_how_many_wait(
    management_api: ApiClient, team: Tenant, endpoint: Endpoint, hook: Receiver
) -> None:
    fail_once(team, hook)
    wait(team, 2)
    base, since = base_of(team), utc_text(clock.now() - timedelta(hours=1))
    found = []
    for _ in range(2):
        begun = management_api.post(f"{base}/webhook/{endpoint.id}/recover", {"since": since}).json()
        assert begun["waiting"] is None
        repair_work.repair_run(job_id=UUID(begun["job_id"]))
        ended = management_api.get(f"{base}/webhook_repair/{begun['job_id']}").json()
        found.append((ended["messages"], ended["waiting"]))
    assert found == [(1, 2), (0, 3)]
    replay = management_api.post(f"{base}/webhook/{endpoint.id}/replay_missing", {"since": since}).json()
    repair_work.repair_run(job_id=UUID(replay["job_id"]))
    assert management_api.get(f"{base}/webhook_repair/{replay['job_id']}").json()["waiting"] is None


@pytest.mark.parametrize(
    ("waiting", "words"),
    [
        (0, "there was nothing to recover.<"),
        (1, "there was nothing to recover. 1 message waits for its attempt by itself.<"),
        (2, "there was nothing to recover. 2 messages wait for their attempt by themselves.<"),
    ],
)
def test_the_portal_says_that_nothing_had_failed_where_it_is_true(
    db: None, team: Tenant, endpoint: Endpoint, hook: Receiver, waiting: int, words: str
) -> None:
    browser = visitor(team)
    fail_once(team, hook)
    first = recovered(team, endpoint)
    page = browser.get(f"/portal/repair/{first.job_id}").content.decode()
    assert ("1 message is on the way" in page, "Nothing had failed" in page) == (True, False)
    pump()
    wait(team, waiting)
    second = recovered(team, endpoint)
    assert words in browser.get(f"/portal/repair/{second.job_id}").content.decode()


def test_the_admin_says_how_many_are_owed_again_and_how_many_wait(
    db: None, team: Tenant, endpoint: Endpoint, hook: Receiver
) -> None:
    staff: Client = clerk("view_endpoint", "change_endpoint")
    fail_once(team, hook)
    wait(team, 7)
    recovered(team, endpoint)
    page = " ".join(staff.get(f"/admin/webhooks/endpoint/{endpoint.pk}/tools/").content.decode().split())
    assert "3600 of 3600 seconds of the time</td> <td>1 owed again<br>7 wait by themselves</td>" in page
    with system_scope(SystemScope.STAFF):
        assert BackgroundJob.objects.count() == 1


def test_a_team_has_five_repairs_open_at_most(team: Tenant, hook: Receiver) -> None:
    endpoints = [endpoint_make(team, f"{hook.url}/{number}") for number in range(3)]
    with team_scope(team.context):
        since = clock.now() - timedelta(hours=1)
        jobs = [
            begin(team=team.context, endpoint_id=endpoint.id, since=since)
            for endpoint in endpoints
            for begin in (services.recover_begin, services.replay_begin)
            if (endpoint, begin) != (endpoints[2], services.replay_begin)
        ]
        with pytest.raises(ServiceError) as refused:
            services.replay_begin(team=team.context, endpoint_id=endpoints[2].id, since=since)
    assert (len(jobs), refused.value.code) == (5, ErrorCode.CONFLICT)
    services.repair_run(job_id=jobs[0].pk)
    with team_scope(team.context):
        services.replay_begin(team=team.context, endpoint_id=endpoints[2].id, since=since)


@pytest.mark.django_db(transaction=True)
def test_a_replay_beside_a_fan_out_that_saw_the_endpoint_disabled_misses_nothing(hook: Receiver) -> None:
    tenant = tenant_make()
    endpoint = endpoint_make(tenant, f"{hook.url}/hook", disabled=True)
    emit(tenant)
    fanned_out, go_on = threading.Event(), threading.Event()

    def fan_out() -> None:
        try:
            with system_scope(SystemScope.DELIVERY), transaction.atomic():
                services.events_fan_out()
                fanned_out.set()
                go_on.wait(30)
        finally:
            connections.close_all()

    thread = threading.Thread(target=fan_out)
    thread.start()
    assert fanned_out.wait(30)
    with team_scope(tenant.context):
        services.endpoint_patch(team=tenant.context, endpoint_id=endpoint.id, changes={"disabled": False})
        since = clock.now() - timedelta(hours=1)
        job = services.replay_begin(team=tenant.context, endpoint_id=endpoint.id, since=since)
    # The replay waits for the fan-out, which holds the event.
    threading.Timer(0.2, go_on.set).start()
    services.repair_run(job_id=job.pk)
    thread.join(30)
    assert pump().delivered == 1
