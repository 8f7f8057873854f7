"""The log at the management address: attempts of all webhooks, what became of messages, and deleted webhooks."""

from typing import Any
from uuid import UUID, uuid4

import pytest

from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from tests.clients import ApiClient
from tests.factories import Tenant
from tests.webhooks.conftest import SOME_EVENT, attempts, deliveries, emit, endpoint_make, pump
from tests.webhooks.receiving import Answer, Receiver
from tests.webhooks.test_api_log import OTHER_EVENT, base_of, ids, rows
from tests.webhooks.test_api_webhooks import codes
from webhooks import log_selectors, services
from webhooks.log_selectors import MessageFilters, MessageOutcome, paging
from webhooks.models import Delivery, Endpoint
from webhooks.services.retention import log_purge


@pytest.fixture
def base(team: Tenant) -> str:
    """The address of our sandbox."""
    return base_of(team)


def delete(tenant: Tenant, endpoint: Endpoint) -> None:
    """As its team does."""
    with team_scope(tenant.context):
        services.endpoint_delete(team=tenant.context, endpoint_id=endpoint.id)


def test_attempts_of_all_webhooks_by_their_filters(
    management_api: ApiClient, team: Tenant, other_team: Tenant, base: str, endpoint: Endpoint, hook: Receiver
) -> None:
    second = endpoint_make(team, f"{hook.url}/second")
    endpoint_make(other_team, f"{hook.url}/theirs")
    emit(other_team)
    pump()
    hook.answers = [Answer(500), Answer(500)]
    first_event, second_event = emit(team, SOME_EVENT), None
    pump()
    second_event = emit(team, OTHER_EVENT)
    pump()
    path = f"{base}/webhook_attempt"

    def found(**query: Any) -> list[tuple[str, str]]:
        return sorted((row["webhook_id"], row["message_id"]) for row in rows(management_api, path, **query))

    def these(*pairs: tuple[Endpoint, UUID]) -> list[tuple[str, str]]:
        return sorted((str(one.id), f"msg_{event_id}") for one, event_id in pairs)

    failed = these((endpoint, first_event), (second, first_event))
    arrived = these((endpoint, second_event), (second, second_event))
    assert found() == sorted(failed + arrived)
    assert (found(outcome="failed"), found(status_code=500), found(event_type="daily")) == (failed,) * 3
    assert (found(outcome="succeeded"), found(message_id=f"msg_{second_event}")) == (arrived, arrived)
    assert found(webhook_id=second.id) == these((second, first_event), (second, second_event))
    assert found(webhook_id=second.id, message_id=str(first_event)) == these((second, first_event))
    assert (found(webhook_id=uuid4()), found(message_id=uuid4())) == ([], [])
    began = sorted((row.attempted_at, row.id) for row in attempts() if row.team_id == team.team.id)
    assert ids(management_api, path) == [str(attempt_id) for _, attempt_id in reversed(began)]
    assert codes(management_api.get(path, {"message_id": "msg_1"})) == [(["query", "message_id"], "message_id_parsing")]


def test_attempts_of_a_webhook_by_message_and_of_a_message_by_webhook(
    management_api: ApiClient, team: Tenant, base: str, endpoint: Endpoint, hook: Receiver
) -> None:
    second = endpoint_make(team, f"{hook.url}/second")
    events = [emit(team), emit(team)]
    pump()
    (row,) = rows(management_api, f"{base}/webhook/{second.id}/attempt", message_id=f"msg_{events[0]}")
    assert (row["webhook_id"], row["message_id"]) == (str(second.id), f"msg_{events[0]}")
    assert rows(management_api, f"{base}/webhook_message/msg_{events[0]}/attempt", webhook_id=second.id) == [row]


def outcomes_make(tenant: Tenant, endpoint: Endpoint, second: Endpoint) -> dict[str, UUID]:
    """A message of each kind, by a name that says how it stands at both endpoints."""
    made = {"none": emit(tenant, OTHER_EVENT)}
    with system_scope(SystemScope.DELIVERY):
        services.events_fan_out()
        Delivery.objects.all().delete()
    for name in ("delivered", "pending+delivered", "failed+delivered", "cancelled+delivered", "sending+failed"):
        made[name] = emit(tenant)
        with system_scope(SystemScope.DELIVERY):
            services.events_fan_out()
            for one, status in zip((endpoint, second), (name.split("+") * 2)[:2], strict=True):
                is_open = status in ("pending", "sending")
                mine = Delivery.objects.filter(event_id=made[name], endpoint=one)
                found = mine.get()
                moments = {
                    "next_attempt_at": found.next_attempt_at if is_open else None,
                    "ended_at": None if is_open else found.created_at,
                }
                mine.update(status=status, **moments)
    return made


@pytest.mark.parametrize(
    ("outcome", "names"),
    [
        ("delivered", ["delivered"]),
        ("waiting", ["sending+failed", "pending+delivered"]),
        ("failed", ["sending+failed", "failed+delivered"]),
        ("cancelled", ["cancelled+delivered"]),
        ("none", ["none"]),
    ],
)
def test_messages_by_what_became_of_them(
    management_api: ApiClient,
    team: Tenant,
    base: str,
    endpoint: Endpoint,
    hook: Receiver,
    outcome: str,
    names: list[str],
) -> None:
    made = outcomes_make(team, endpoint, endpoint_make(team, f"{hook.url}/second"))
    path = f"{base}/webhook_message"
    wanted = [f"msg_{made[name]}" for name in names]
    assert ids(management_api, path, outcome=outcome) == wanted
    by_type = ids(management_api, path, outcome=outcome, event_type="provider" if outcome == "none" else "daily")
    assert by_type == wanted
    one = made[names[0]]
    assert ids(management_api, path, outcome=outcome, message_id=f"msg_{one}") == [f"msg_{one}"]
    assert ids(management_api, path, message_id=one) == [f"msg_{one}"]
    other = made["failed+delivered" if outcome != "failed" else "delivered"]
    assert ids(management_api, path, outcome=outcome, message_id=other) == []
    assert codes(management_api.get(path, {"outcome": "odd"})) == [(["query", "outcome"], "enum")]


def test_a_rare_outcome_is_looked_for_in_bounded_pages_and_missed_by_none(
    team: Tenant, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "LOG_SCAN_ROWS", 3)
    wanted = emit(team)
    pump()
    for _ in range(7):
        emit(team)
    pages: list[list[UUID]] = []
    cursor: UUID | None = None
    with team_scope(team.context):
        while not pages or cursor is not None:
            filters = MessageFilters(outcome=MessageOutcome.DELIVERED)
            page = log_selectors.message_page(team.context, cursor=cursor, limit=2, filters=filters)
            pages.append([row.id for row in page.messages])
            cursor = page.next_cursor
    assert pages == [[], [], [wanted]]


def test_the_log_of_a_deleted_webhook_stays_and_all_else_of_it_goes(
    management_api: ApiClient, team: Tenant, base: str, endpoint: Endpoint
) -> None:
    event_id = emit(team)
    pump()
    path = f"{base}/webhook/{endpoint.id}"
    before = rows(management_api, f"{path}/attempt")
    assert len(before) == 1
    delete(team, endpoint)
    assert rows(management_api, f"{path}/attempt") == before
    assert rows(management_api, f"{base}/webhook_attempt", webhook_id=endpoint.id) == before
    assert rows(management_api, f"{base}/webhook_attempt") == []
    message = management_api.get(f"{base}/webhook_message/msg_{event_id}").json()
    assert [one["webhook_id"] for one in message["deliveries"]] == [str(endpoint.id)]
    assert rows(management_api, f"{base}/webhook_message/msg_{event_id}/attempt") == before
    gone = [
        management_api.get(path),
        management_api.patch(path, {"description": "Back"}),
        management_api.delete(path),
        management_api.get(f"{path}/headers"),
        management_api.put(f"{path}/headers", {"headers": {}}),
        management_api.get(f"{path}/secret"),
        management_api.post(f"{path}/secret/rotate", {}),
        management_api.post(f"{path}/test", {}),
        management_api.post(f"{path}/message/msg_{event_id}/resend"),
        management_api.post(f"{path}/recover", {"since": message["created_at"]}),
        management_api.post(f"{path}/replay_missing", {"since": message["created_at"]}),
    ]
    assert [answer.status_code for answer in gone] == [404] * len(gone)


def test_the_log_of_a_deleted_webhook_goes_with_the_purge(
    management_api: ApiClient, team: Tenant, other_team: Tenant, base: str, endpoint: Endpoint, settings: Any
) -> None:
    path = f"{base}/webhook/{endpoint.id}/attempt"
    emit(team)
    pump()
    delete(team, endpoint)
    assert management_api.get(path).status_code == 200
    theirs = f"{base_of(other_team)}/webhook/{endpoint.id}/attempt"
    assert management_api.get(theirs).status_code == 404
    settings.WEBHOOK_RETENTION_DAYS = 0
    log_purge()
    assert deliveries() == []
    assert management_api.get(path).status_code == 404
