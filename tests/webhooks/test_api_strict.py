"""Misspelt fields and filters that let nothing through: refused at every route of webhooks, changing nothing."""

from typing import Any
from uuid import uuid4

import pytest

from healthsvc.kernel.errors import ErrorCode, ServiceError
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management.models import BackgroundJob
from tests.clients import ApiClient
from tests.factories import Tenant
from tests.webhooks.conftest import endpoint_make
from tests.webhooks.test_api_log import base_of
from tests.webhooks.test_api_webhooks import codes
from webhooks import services
from webhooks.models import Delivery, Endpoint, Event

URL = "https://hooks.example.com/x"

BODIES = [
    ("POST", "/webhook", {"url": URL, "filter_type": ["daily"]}, "filter_type"),
    ("PATCH", "/webhook/{id}", {"disable": True}, "disable"),
    ("PATCH", "/webhook/{id}", {"description": "New", "secret": "whsec_"}, "secret"),
    ("PUT", "/webhook/{id}/headers", {"headers": {}, "sensitives": []}, "sensitives"),
    ("PATCH", "/webhook/{id}/headers", {"header": {"X-Route": "eu"}}, "header"),
    ("POST", "/webhook/{id}/secret/rotate", {"overlap": 0}, "overlap"),
    ("POST", "/webhook/{id}/test", {"type": "webhook.test"}, "type"),
    ("POST", "/webhook/{id}/recover", {"since": "2026-11-21T08:00:00Z", "to": "2026-11-21T09:00:00Z"}, "to"),
    ("POST", "/webhook/{id}/replay_missing", {"since": "2026-11-21T08:00:00Z", "event_type": "daily"}, "event_type"),
]
QUERIES = [
    ("/webhook", "cursor"),
    ("/webhook_event_type", "event_type"),
    ("/webhook_message", "type"),
    ("/webhook_message", "status"),
    ("/webhook_message/{message_id}/attempt", "message_id"),
    ("/webhook_attempt", "endpoint_id"),
    ("/webhook/{id}/attempt", "webhook_id"),
    ("/event_delivery_metric", "step"),
]


@pytest.fixture
def endpoint(team: Tenant) -> Endpoint:
    """Our team's endpoint."""
    return endpoint_make(team, URL)


def written() -> tuple[Any, ...]:
    """All that a refused request must leave as it is."""
    with system_scope(SystemScope.DELIVERY):
        endpoints = list(Endpoint.objects.order_by("id").values_list("updated_at", "description", "disabled", "secret"))
        return endpoints, BackgroundJob.objects.count(), Event.objects.count(), Delivery.objects.count()


@pytest.mark.parametrize(("method", "path", "body", "unknown"), BODIES)
def test_a_field_that_there_is_not_is_named_and_changes_nothing(
    management_api: ApiClient, team: Tenant, endpoint: Endpoint, method: str, path: str, body: Any, unknown: str
) -> None:
    before = written()
    answer = management_api.request(method, base_of(team) + path.format(id=endpoint.id), json=body)
    assert codes(answer) == [(["body", unknown], "extra_forbidden")]
    assert written() == before


@pytest.mark.parametrize(("path", "unknown"), QUERIES)
def test_a_filter_that_there_is_not_is_named_instead_of_answering_everything(
    management_api: ApiClient, team: Tenant, endpoint: Endpoint, path: str, unknown: str
) -> None:
    address = base_of(team) + path.format(id=endpoint.id, message_id=f"msg_{uuid4()}")
    assert codes(management_api.get(address, {unknown: "x"})) == [(["query", unknown], "extra_forbidden")]


def test_what_there_is_is_told_beside_the_mistakes_of_fields(management_api: ApiClient, team: Tenant) -> None:
    answer = management_api.get(f"{base_of(team)}/webhook_attempt", {"limit": 0, "status": 500})
    assert sorted(codes(answer)) == [
        (["query", "limit"], "greater_than_equal"),
        (["query", "status"], "extra_forbidden"),
    ]
    told = {problem["loc"][1]: problem["msg"] for problem in answer.json()["detail"]}
    assert "status_code" in told["status"]


def test_names_are_told_of_up_to_a_bound(management_api: ApiClient, team: Tenant) -> None:
    body = {"url": URL, **{f"{number:02}" + "x" * 200: 1 for number in range(30)}}
    found = codes(management_api.post(f"{base_of(team)}/webhook", body))
    assert (len(found), {len(loc[1]) for loc, _kind in found}) == (20, {100})


@pytest.mark.parametrize("name", ["filter_types", "channels"])
def test_a_filter_that_lets_nothing_through_is_none(
    management_api: ApiClient, team: Tenant, endpoint: Endpoint, name: str
) -> None:
    path = f"{base_of(team)}/webhook"
    before = written()
    assert codes(management_api.post(path, {"url": URL, name: []})) == [(["body", name], "too_short")]
    assert codes(management_api.patch(f"{path}/{endpoint.id}", {name: []})) == [(["body", name], "too_short")]
    values: dict[str, Any] = {name: []}
    with team_scope(team.context):
        with pytest.raises(ServiceError) as made:
            services.endpoint_create(team=team.context, url=URL, **values)
        with pytest.raises(ServiceError) as changed:
            services.endpoint_patch(team=team.context, endpoint_id=endpoint.id, changes=values)
    assert [made.value.code, changed.value.code] == [ErrorCode.VALIDATION_FAILED] * 2
    assert written() == before
    assert management_api.patch(f"{path}/{endpoint.id}", {name: None}).json()[name] is None
