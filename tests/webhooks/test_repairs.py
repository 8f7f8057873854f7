"""Resending, recovering and replaying: by the services, with workers that die and with many at once."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from healthsvc.kernel import clock
from healthsvc.kernel.errors import ErrorCode, ServiceError
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management import jobs
from management.constants import JobStatus
from management.models import BackgroundJob, TeamSettings
from tests.factories import Tenant
from tests.webhooks.conftest import SOME_EVENT, deliveries, emit, endpoint_make, make_due, pump
from tests.webhooks.receiving import Answer, Receiver
from webhooks import services
from webhooks.constants import RETRY_DELAYS_SECONDS
from webhooks.models import Delivery, Endpoint, Event
from webhooks.services import repair_work, repairs
from webhooks.states import DeliveryStatus

OTHER_EVENT = "provider.connection.created"
HOUR_AGO = timedelta(hours=1)


@pytest.fixture
def endpoint(team: Tenant, hook: Receiver) -> Endpoint:
    """Our team's endpoint at the receiver, which is not told of messages that were given up."""
    return endpoint_make(team, f"{hook.url}/hook", filter_types=["daily"])


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Portions of two rows, so that a repair takes several transactions."""
    monkeypatch.setattr(repair_work, "REPAIR_ROWS", 2)


def ago(delta: timedelta = HOUR_AGO) -> datetime:
    """A while before now."""
    return clock.now() - delta


def recover(tenant: Tenant, endpoint: Endpoint, **values: Any) -> UUID:
    """A recovery that waits to be worked."""
    with team_scope(tenant.context):
        values = {"since": ago(), **values}
        return services.recover_begin(team=tenant.context, endpoint_id=endpoint.id, **values).pk


def replay(tenant: Tenant, endpoint: Endpoint, **values: Any) -> UUID:
    """A replay that waits to be worked."""
    with team_scope(tenant.context):
        values = {"since": ago(), **values}
        return services.replay_begin(team=tenant.context, endpoint_id=endpoint.id, **values).pk


def job(job_id: UUID) -> BackgroundJob:
    """The job's row."""
    with system_scope(SystemScope.DELIVERY):
        return BackgroundJob.objects.get(pk=job_id)


def outcome(job_id: UUID) -> tuple[str, int, str]:
    """How a repair ended: status, messages owed, error code."""
    row = job(job_id)
    return row.status, row.receipt.get("owed", 0), row.error_code


def fail(count: int, hook: Receiver, tenant: Tenant) -> list[UUID]:
    """Events whose attempts have all failed."""
    made = [emit(tenant) for _ in range(count)]
    hook.otherwise = Answer(500)
    pump()
    with system_scope(SystemScope.DELIVERY):
        Delivery.objects.filter(event_id__in=made).update(failures=len(RETRY_DELAYS_SECONDS))
    make_due()
    pump()
    hook.otherwise = Answer(204)
    hook.received.clear()
    return made


def received(hook: Receiver) -> list[str]:
    """Ids of what arrived, each time it did, in the order of ids."""
    return sorted(request.headers["webhook-id"] for request in hook.received)


def message_ids(events: list[UUID]) -> list[str]:
    """As the receiver sees them."""
    return sorted(f"msg_{event_id}" for event_id in events)


def statuses() -> list[str]:
    """Of every delivery, oldest first."""
    return [delivery.status for delivery in deliveries()]


def resend(tenant: Tenant, endpoint: Endpoint, event_id: UUID) -> None:
    """Send one again."""
    with team_scope(tenant.context):
        services.delivery_resend(team=tenant.context, endpoint_id=endpoint.id, message_id=event_id)


def refused(code: ErrorCode, action: Any, *args: Any, **values: Any) -> str:
    """What the refusal says."""
    with pytest.raises(ServiceError) as caught:
        action(*args, **values)
    assert caught.value.code is code
    return str(caught.value.detail)


def test_a_delivered_message_is_sent_again_under_its_id(team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    event_id = emit(team)
    pump()
    resend(team, endpoint, event_id)
    assert statuses() == ["pending"]
    pump()
    assert (received(hook), statuses()) == (message_ids([event_id, event_id]), ["delivered"])


def test_a_message_that_was_never_owed_is_sent(team: Tenant, hook: Receiver) -> None:
    event_id = emit(team)
    pump()
    late = endpoint_make(team, f"{hook.url}/late", filter_types=["provider"])
    resend(team, late, event_id)
    pump()
    assert [request.path for request in hook.received] == ["/late"]
    assert received(hook) == message_ids([event_id])


def test_a_message_that_waits_for_its_fan_out_is_sent_once(team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    event_id = emit(team)
    resend(team, endpoint, event_id)
    pump()
    assert received(hook) == message_ids([event_id])


def test_what_is_being_sent_is_not_sent_again(team: Tenant, endpoint: Endpoint) -> None:
    event_id = emit(team)
    with system_scope(SystemScope.DELIVERY):
        services.events_fan_out()
        Delivery.objects.update(status=DeliveryStatus.SENDING.value, claims=1)
    assert "being sent" in refused(ErrorCode.CONFLICT, resend, team, endpoint, event_id)
    assert statuses() == ["sending"]


def test_resends_that_can_not_be_change_nothing(
    team: Tenant, other_team: Tenant, endpoint: Endpoint, hook: Receiver
) -> None:
    theirs = emit(other_team)
    refused(ErrorCode.NOT_FOUND, resend, team, endpoint, theirs)
    refused(ErrorCode.NOT_FOUND, resend, team, endpoint_make(other_team, f"{hook.url}/x"), emit(team))
    erased = emit(team)
    with team_scope(team.context):
        Event.objects.filter(pk=erased).update(body=None)
    assert "payload" in refused(ErrorCode.CONFLICT, resend, team, endpoint, erased)
    with team_scope(team.context):
        services.endpoint_patch(team=team.context, endpoint_id=endpoint.id, changes={"disabled": True})
    assert "disabled" in refused(ErrorCode.CONFLICT, resend, team, endpoint, emit(team))
    assert deliveries() == []


def test_recover_owes_all_that_failed_in_its_time(
    team: Tenant, endpoint: Endpoint, hook: Receiver, small: None
) -> None:
    failed = fail(5, hook, team)
    delivered = emit(team)
    pump()
    assert statuses() == ["failed"] * 5 + ["delivered"]
    hook.received.clear()
    job_id = recover(team, endpoint)
    repair_work.repair_run(job_id=job_id)
    assert outcome(job_id) == ("succeeded", 5, "")
    assert job(job_id).progress_done == job(job_id).progress_total
    pump()
    assert received(hook) == message_ids(failed)
    assert delivered not in failed
    later = recover(team, endpoint, since=clock.now(), until=None)
    repair_work.repair_run(job_id=later)
    assert outcome(later) == ("succeeded", 0, "")


def test_recover_leaves_other_endpoints_and_times_alone(team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    before = fail(1, hook, team)
    middle = clock.now()
    other = endpoint_make(team, f"{hook.url}/other", filter_types=["daily"])
    after = fail(1, hook, team)
    first = recover(team, endpoint, until=middle)
    second = recover(team, other, since=middle)
    for job_id in (first, second):
        repair_work.repair_run(job_id=job_id)
        assert outcome(job_id) == ("succeeded", 1, "")
    pump()
    found = sorted((request.path, request.headers["webhook-id"]) for request in hook.received)
    assert found == [("/hook", f"msg_{before[0]}"), ("/other", f"msg_{after[0]}")]


def test_recover_takes_cancelled_ones_only_where_asked(
    team: Tenant, endpoint: Endpoint, hook: Receiver, small: None
) -> None:
    failed = fail(1, hook, team)
    cancelled = [emit(team) for _ in range(3)]
    with system_scope(SystemScope.DELIVERY):
        services.events_fan_out()
    switch(team, endpoint, disabled=True)
    switch(team, endpoint, disabled=False)
    plain = recover(team, endpoint)
    repair_work.repair_run(job_id=plain)
    assert outcome(plain)[1] == 1
    asked = recover(team, endpoint, include_cancelled=True)
    repair_work.repair_run(job_id=asked)
    assert outcome(asked)[1] == 3
    pump()
    assert received(hook) == message_ids([*failed, *cancelled])


def switch(tenant: Tenant, endpoint: Endpoint, *, disabled: bool) -> None:
    """Enable or disable."""
    with team_scope(tenant.context):
        services.endpoint_patch(team=tenant.context, endpoint_id=endpoint.id, changes={"disabled": disabled})


def test_what_has_no_payload_any_more_stays_as_it_is(team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    first, _second = fail(2, hook, team)
    with team_scope(team.context):
        Event.objects.filter(pk=first).update(body=None)
    job_id = recover(team, endpoint)
    repair_work.repair_run(job_id=job_id)
    assert (outcome(job_id)[1], statuses()) == (1, ["failed", "pending"])


def test_replay_sends_what_a_disabled_endpoint_missed(
    team: Tenant, endpoint: Endpoint, hook: Receiver, small: None
) -> None:
    had = emit(team)
    pump()
    hook.received.clear()
    waiting = emit(team)
    with system_scope(SystemScope.DELIVERY):
        services.events_fan_out()
    switch(team, endpoint, disabled=True)  # cancels what waits
    missed = [emit(team) for _ in range(4)]
    pump()
    switch(team, endpoint, disabled=False)
    job_id = replay(team, endpoint)
    repair_work.repair_run(job_id=job_id)
    assert outcome(job_id) == ("succeeded", 5, "")
    pump()
    assert received(hook) == message_ids([waiting, *missed])
    assert had not in missed
    again = replay(team, endpoint)
    repair_work.repair_run(job_id=again)
    assert outcome(again) == ("succeeded", 0, "")


def test_replay_keeps_to_filters_channels_limits_and_addressees(team: Tenant, hook: Receiver) -> None:
    wanted = emit(team, SOME_EVENT, channels=["provider.oura"])
    emit(team, SOME_EVENT, channels=["provider.fitbit"])
    emit(team, OTHER_EVENT, channels=["provider.oura"])
    other = endpoint_make(team, f"{hook.url}/other", filter_types=["webhook"])
    with team_scope(team.context):
        services.event_send_now(team=team.context, endpoint_id=other.id)
    pump()
    hook.received.clear()
    late = endpoint_make(team, f"{hook.url}/late", filter_types=["daily.data"], channels=["provider.oura"])
    everything = endpoint_make(team, f"{hook.url}/everything")
    with team_scope(team.context):
        TeamSettings.objects.create(
            team_id=team.context.team_id, environment=team.context.environment, event_type_prefixes=["daily"]
        )
    first, second = replay(team, late), replay(team, everything, event_types=["daily.data.sleep"])
    for job_id in (first, second):
        repair_work.repair_run(job_id=job_id)
    assert (outcome(first)[1], outcome(second)[1]) == (1, 2)
    third = replay(team, everything)
    repair_work.repair_run(job_id=third)
    assert outcome(third)[1] == 0  # the team's limit keeps the other type away
    pump()
    assert [request.headers["webhook-id"] for request in hook.received if request.path == "/late"] == [f"msg_{wanted}"]


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_dies_half_way_leaves_nothing_twice(
    team: Tenant, endpoint: Endpoint, hook: Receiver, small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = fail(5, hook, team)
    job_id = recover(team, endpoint)
    worked = repair_work._portion_do
    portions: list[bool] = []

    def dying(row: BackgroundJob) -> bool:
        if len(portions) == 2:
            raise KeyboardInterrupt
        portions.append(worked(row))
        return portions[-1]

    monkeypatch.setattr(repair_work, "_portion_do", dying)
    with pytest.raises(KeyboardInterrupt):
        repair_work.repair_run(job_id=job_id)
    monkeypatch.undo()
    monkeypatch.setattr(repair_work, "REPAIR_ROWS", 2)
    assert statuses() == ["pending"] * 4 + ["failed"]
    pump()  # what is owed is sent, though nobody works on the repair
    repair_work.repair_run(job_id=job_id)
    assert job(job_id).status == JobStatus.RUNNING  # the dead worker's lease runs
    assert repair_work.repairs_sweep() == []
    with system_scope(SystemScope.DELIVERY):
        BackgroundJob.objects.update(lease_until=clock.now() - timedelta(seconds=1))
    assert repair_work.repairs_sweep() == [job_id]
    repair_work.repair_run(job_id=job_id)
    assert outcome(job_id) == ("succeeded", 5, "")
    pump()
    assert received(hook) == message_ids(failed)


def test_a_worker_whose_lease_was_taken_over_undoes_its_portion(
    team: Tenant, endpoint: Endpoint, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail(1, hook, team)
    job_id = recover(team, endpoint)
    renew = jobs.job_renew

    def taken_over(row: BackgroundJob, **values: Any) -> bool:
        BackgroundJob.objects.filter(pk=row.pk).update(attempts=row.attempts + 1)
        return renew(row, **values)

    monkeypatch.setattr(repair_work, "job_renew", taken_over)
    repair_work.repair_run(job_id=job_id)
    assert (statuses(), job(job_id).attempts, job(job_id).checkpoint) == (["failed"], 1, {})


def test_a_repair_ends_where_its_endpoint_does(team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    fail(1, hook, team)
    first = recover(team, endpoint)
    switch(team, endpoint, disabled=True)
    repair_work.repair_run(job_id=first)
    assert outcome(first) == ("failed", 0, "endpoint_disabled")
    switch(team, endpoint, disabled=False)
    second = recover(team, endpoint)
    with team_scope(team.context):
        services.endpoint_delete(team=team.context, endpoint_id=endpoint.id)
    repair_work.repair_run(job_id=second)
    assert outcome(second) == ("failed", 0, "endpoint_gone")
    assert statuses() == ["failed"]


def test_a_repair_that_never_ends_is_given_up(team: Tenant, endpoint: Endpoint) -> None:
    job_id = recover(team, endpoint)
    with system_scope(SystemScope.DELIVERY):
        BackgroundJob.objects.update(attempts=jobs.ATTEMPTS_MAXIMUM)
    repair_work.repair_run(job_id=job_id)
    assert outcome(job_id) == ("failed", 0, "given_up")


@pytest.mark.django_db(transaction=True)
def test_of_many_begun_at_once_one_runs(team: Tenant, endpoint: Endpoint) -> None:
    def begin(_number: int) -> str:
        try:
            recover(team, endpoint)
        except ServiceError as error:
            return error.code.code
        finally:
            connection.close()
        return "begun"

    with ThreadPoolExecutor(6) as pool:
        found = sorted(pool.map(begin, range(6)))
    assert found == ["begun"] + ["conflict"] * 5
    replay(team, endpoint)  # another kind may run beside it


@pytest.mark.django_db(transaction=True)
def test_two_workers_at_one_repair_owe_each_message_once(
    team: Tenant, endpoint: Endpoint, hook: Receiver, small: None
) -> None:
    missed = [emit(team) for _ in range(9)]
    with system_scope(SystemScope.DELIVERY):
        services.events_fan_out()
        Delivery.objects.all().delete()
    job_id = replay(team, endpoint)

    def work(_number: int) -> None:
        try:
            repair_work.repair_run(job_id=job_id)
        finally:
            connection.close()

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, range(3)))
    assert outcome(job_id) == ("succeeded", 9, "")
    pump()
    assert received(hook) == message_ids(missed)


@pytest.mark.django_db(transaction=True)
def test_a_replay_beside_a_purge_owes_what_is_left(
    team: Tenant, endpoint: Endpoint, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, left = emit(team), emit(team)
    with system_scope(SystemScope.DELIVERY):
        services.events_fan_out()
        Delivery.objects.all().delete()
    job_id = replay(team, endpoint)
    owe = repair_work._owe

    def purged_before(*args: Any) -> tuple[int, list[UUID]]:
        def purge() -> None:
            with system_scope(SystemScope.PURGE):
                Event.objects.filter(pk=gone).delete()
            connection.close()

        with ThreadPoolExecutor(1) as pool:
            pool.submit(purge).result()
        return owe(*args)

    monkeypatch.setattr(repair_work, "_owe", purged_before)
    repair_work.repair_run(job_id=job_id)
    assert outcome(job_id) == ("succeeded", 1, "")
    pump()
    assert received(hook) == message_ids([left])


def test_the_last_repairs_of_an_endpoint(team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    other = endpoint_make(team, f"{hook.url}/other")
    first, second, third = recover(team, endpoint), replay(team, endpoint), recover(team, other)
    with team_scope(team.context):
        assert [item.job_id for item in repairs.repairs_recent(team.context, endpoint.id)] == [second, first]
        assert [item.job_id for item in repairs.repairs_recent(team.context, other.id)] == [third]
        assert repairs.repair_get(team.context, first).is_running
