"""Repairs at the management address: resend, recover, replay, and how far they are."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from healthsvc.kernel import clock
from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management.models import BackgroundJob
from tests.clients import ApiClient
from tests.factories import Tenant
from tests.webhooks.conftest import deliveries, emit, endpoint_make, pump
from tests.webhooks.receiving import Receiver
from tests.webhooks.test_api_log import base_of
from webhooks import services, tasks
from webhooks.models import Delivery, Endpoint
from webhooks.states import DeliveryStatus


@pytest.fixture
def base(team: Tenant) -> str:
    """The address of our sandbox."""
    return base_of(team)


def text_ago(**delta: float) -> str:
    """A while before now, as a client writes it."""
    return utc_text(clock.now() - timedelta(**delta))


def locs(response: Any) -> list[list[Any]]:
    """Where the problems of a 422 are."""
    assert response.status_code == 422, response.content
    return [problem["loc"] for problem in response.json()["detail"]]


def test_a_message_is_sent_again(
    management_api: ApiClient, team: Tenant, base: str, endpoint: Endpoint, hook: Receiver
) -> None:
    event_id = emit(team)
    pump()
    path = f"{base}/webhook/{endpoint.id}/message/msg_{event_id}/resend"
    answer = management_api.post(path)
    assert (answer.status_code, answer.json()) == (
        202,
        {"message_id": f"msg_{event_id}", "webhook_id": str(endpoint.id), "status": "pending"},
    )
    pump()
    assert [request.headers["webhook-id"] for request in hook.received] == [f"msg_{event_id}"] * 2
    with system_scope(SystemScope.DELIVERY):
        Delivery.objects.update(
            status=DeliveryStatus.SENDING.value, next_attempt_at=clock.now() + timedelta(minutes=1), ended_at=None
        )
    assert management_api.post(path).status_code == 409
    assert management_api.post(f"{base}/webhook/{endpoint.id}/message/msg_{uuid4()}/resend").status_code == 404
    assert management_api.post(f"{base}/webhook/{uuid4()}/message/msg_{event_id}/resend").status_code == 404
    assert locs(management_api.post(f"{base}/webhook/{endpoint.id}/message/x/resend")) == [["path", "message_id"]]


def test_what_failed_is_recovered_and_the_repair_tells_how_far_it_is(
    management_api: ApiClient, team: Tenant, base: str, endpoint: Endpoint, hook: Receiver
) -> None:
    event_id = emit(team)
    pump()
    with system_scope(SystemScope.DELIVERY):
        Delivery.objects.update(status=DeliveryStatus.FAILED.value)
    hook.received.clear()
    since = text_ago(hours=2)
    answer = management_api.post(f"{base}/webhook/{endpoint.id}/recover", {"since": since})
    assert answer.status_code == 202
    begun = answer.json()
    assert {**begun, "job_id": "", "until": "", "created_at": ""} == {
        "job_id": "",
        "kind": "recover",
        "webhook_id": str(endpoint.id),
        "status": "queued",
        "since": since,
        "until": "",
        "event_types": None,
        "include_cancelled": False,
        "progress": {"done_seconds": 0, "total_seconds": 7200},
        "messages": 0,
        "waiting": None,
        "error_code": None,
        "created_at": "",
        "ended_at": None,
    }
    assert management_api.post(f"{base}/webhook/{endpoint.id}/recover", {"since": since}).status_code == 409
    tasks.repair_run(begun["job_id"])
    ended = management_api.get(f"{base}/webhook_repair/{begun['job_id']}").json()
    assert (ended["status"], ended["messages"], ended["waiting"]) == ("succeeded", 1, 0)
    assert ended["progress"] == {"done_seconds": 7200, "total_seconds": 7200}
    assert ended["ended_at"] is not None
    pump()
    assert [request.headers["webhook-id"] for request in hook.received] == [f"msg_{event_id}"]
    assert management_api.post(f"{base}/webhook/{endpoint.id}/recover", {"since": since}).status_code == 202


def test_what_was_never_sent_is_replayed_by_the_sweep_too(
    management_api: ApiClient, team: Tenant, base: str, hook: Receiver
) -> None:
    event_id = emit(team)
    pump()
    late = endpoint_make(team, f"{hook.url}/late")
    path = f"{base}/webhook/{late.id}/replay_missing"
    begun = management_api.post(path, {"since": text_ago(days=1), "event_types": ["daily"]}).json()
    assert (begun["kind"], begun["event_types"]) == ("replay_missing", ["daily"])
    with system_scope(SystemScope.DELIVERY):
        BackgroundJob.objects.update(created_at=clock.now() - timedelta(minutes=1))
    tasks.repairs_sweep()
    tasks.repair_run(begun["job_id"])
    pump()
    assert [request.headers["webhook-id"] for request in hook.received] == [f"msg_{event_id}"]
    assert locs(management_api.post(path, {"since": text_ago(days=1), "event_types": ["dayly"]})) == [
        ["body", "event_types", 0]
    ]
    assert locs(management_api.post(path, {"since": text_ago(days=1), "event_types": []})) == [["body", "event_types"]]


@pytest.mark.parametrize("action", ["recover", "replay_missing"])
def test_times_that_can_not_be_repaired(management_api: ApiClient, base: str, endpoint: Endpoint, action: str) -> None:
    path = f"{base}/webhook/{endpoint.id}/{action}"
    assert locs(management_api.post(path, {})) == [["body", "since"]]
    assert locs(management_api.post(path, {"since": text_ago(days=31)})) == [["body", "since"]]
    assert locs(management_api.post(path, {"since": text_ago(hours=-1)})) == [["body", "since"]]
    assert locs(management_api.post(path, {"since": "2026-11-01T00:00:00"})) == [["body", "since"]]
    assert locs(management_api.post(path, {"since": 7})) == [["body", "since"]]
    until = {"since": text_ago(hours=1), "until": text_ago(hours=2)}
    assert locs(management_api.post(path, until)) == [["body", "until"]]
    with system_scope(SystemScope.DELIVERY):
        assert BackgroundJob.objects.count() == 0
    management_api.patch(f"{base}/webhook/{endpoint.id}", {"disabled": True})
    assert management_api.post(path, {"since": text_ago(hours=1)}).status_code == 409


def test_anothers_repair_is_as_a_missing_one(
    management_api: ApiClient, other_team: Tenant, production: Tenant, base: str, endpoint: Endpoint, hook: Receiver
) -> None:
    client, ids = management_api, [uuid4()]
    for tenant in (other_team, production):
        theirs = endpoint_make(tenant, f"{hook.url}/theirs")
        with team_scope(tenant.context):
            since = clock.now() - timedelta(hours=1)
            ids.append(services.recover_begin(team=tenant.context, endpoint_id=theirs.id, since=since).pk)
    answers = [client.get(f"{base}/webhook_repair/{job_id}") for job_id in ids]
    assert {answer.status_code for answer in answers} == {404}
    assert len({str({**answer.json(), "request_id": ""}) for answer in answers}) == 1
    assert deliveries() == []
