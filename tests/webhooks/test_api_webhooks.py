"""Webhooks at the management address."""

import base64
import logging
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from healthsvc.kernel import clock
from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.scope import team_scope
from management.models import AccessRecord, Organisation
from tests import factories
from tests.clients import ApiClient
from tests.factories import Tenant
from tests.webhooks.conftest import deliveries, emit, endpoint_make, pump
from tests.webhooks.receiving import Receiver
from webhooks.models import Endpoint

URL = "https://hooks.example.com/a?b=c"


@pytest.fixture
def base(team: Tenant) -> str:
    """The address of our sandbox's webhooks."""
    return base_of(team)


def base_of(tenant: Tenant) -> str:
    """The address of a team's webhooks."""
    team = tenant.team
    return f"/v1/org/{team.organisation_id}/team/{team.id}/{tenant.context.environment}/webhook"


def create(client: ApiClient, base: str, **values: Any) -> dict[str, Any]:
    """A webhook as the API answers it."""
    response = client.post(base, {"url": URL, **values})
    assert response.status_code == 200, response.content
    body: dict[str, Any] = response.json()
    return body


def shown(client: ApiClient, path: str) -> dict[str, Any]:
    """A webhook as its own address shows it, without how it fares, which is told there only."""
    body = client.get(path).json()
    assert {name: body.pop(name) for name in ("last_24_hours", "failing_since", "paused_until")} == {
        "last_24_hours": {"delivered": 0, "failed": 0, "exhausted": 0, "waiting": 0},
        "failing_since": None,
        "paused_until": None,
    }
    return dict(body)


def codes(response: Any) -> list[tuple[list[str], str]]:
    """Where and of which kind the problems of a 422 are."""
    assert response.status_code == 422, response.content
    return [(problem["loc"], problem["type"]) for problem in response.json()["detail"]]


def test_create_and_get(management_api: ApiClient, base: str) -> None:
    made = create(management_api, base)
    assert {**made, "id": "", "created_at": "", "updated_at": ""} == {
        "id": "",
        "description": "",
        "rate_limit": None,
        "url": URL,
        "disabled": False,
        "filter_types": None,
        "channels": None,
        "status": "enabled",
        "disabled_reason": None,
        "disabled_at": None,
        "created_at": "",
        "updated_at": "",
    }
    assert made["created_at"] == made["updated_at"]
    assert shown(management_api, f"{base}/{made['id']}") == made


def test_create_with_everything(management_api: ApiClient, base: str) -> None:
    secret = "whsec_" + base64.b64encode(bytes(range(24))).decode()
    given = {
        "description": "Ours",
        "rate_limit": 10,
        "disabled": True,
        "filter_types": ["daily.data", "daily.data", "provider.*"],
        "channels": ["provider.oura", "user.7", "provider.oura"],
    }
    made = create(management_api, base, secret=secret, **given)
    expected = {**given, "filter_types": ["daily.data", "provider.*"], "channels": ["provider.oura", "user.7"]}
    assert {name: made[name] for name in given} == expected
    assert made["status"] == "disabled"
    assert management_api.get(f"{base}/{made['id']}/secret").json() == {"key": secret}


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("http://hooks.example.com/", "url_scheme"),
        ("http://127.0.0.1:9/", "url_scheme"),
        ("https://127.0.0.1/", "url_private"),
        ("https://localhost/", "url_private"),
        ("https://0x7f.1/", "url_private"),
        ("https://10.0.0.1/", "url_private"),
        ("https://[::ffff:10.0.0.1]/", "url_private"),
        ("https://169.254.169.254/latest", "url_private"),
        ("https://example..com/", "url_parsing"),
        ("https://256.256.256.256/", "url_parsing"),
        ("https://loc%61lhost:8591/", "url_parsing"),
        ("https://user:pass@example.com/", "url_parsing"),
        ("ftp://example.com/", "url_parsing"),
        ("hooks.example.com", "url_parsing"),
        ("https://exa mple.com/", "url_parsing"),
        ("", "string_too_short"),
        ("https://example.com/" + "x" * 2000, "string_too_long"),
    ],
)
def test_urls_that_may_not_be_called(management_api: ApiClient, base: str, url: str, kind: str) -> None:
    made = create(management_api, base)
    assert codes(management_api.post(base, {"url": url})) == [(["body", "url"], kind)]
    assert codes(management_api.patch(f"{base}/{made['id']}", {"url": url})) == [(["body", "url"], kind)]
    assert len(management_api.get(base).json()["data"]) == 1


def test_the_receiver_on_this_machine_is_allowed_by_its_exact_origin(
    management_api: ApiClient, base: str, settings: Settings
) -> None:
    settings.LOOPBACK_ORIGINS = ["http://127.0.0.1:8003"]
    assert create(management_api, base, url="http://127.0.0.1:8003/x")["url"] == "http://127.0.0.1:8003/x"
    assert codes(management_api.post(base, {"url": "http://127.0.0.1:8004/x"})) == [(["body", "url"], "url_scheme")]


@pytest.mark.parametrize(
    ("values", "loc"),
    [
        ({"filter_types": ["Daily Data"]}, ["body", "filter_types", 0]),
        ({"filter_types": "daily"}, ["body", "filter_types"]),
        ({"filter_types": [7]}, ["body", "filter_types", 0]),
        ({"rate_limit": 0}, ["body", "rate_limit"]),
        ({"rate_limit": True}, ["body", "rate_limit"]),
        ({"secret": "whsec_short"}, ["body", "secret"]),
        ({"secret": "plain"}, ["body", "secret"]),
        ({"description": "x" * 1001}, ["body", "description"]),
        ({"disabled": "perhaps"}, ["body", "disabled"]),
        ({"filter_types": []}, ["body", "filter_types"]),
        ({"channels": []}, ["body", "channels"]),
        ({"channels": "user"}, ["body", "channels"]),
        ({"channels": ["user 7"]}, ["body", "channels", 0]),
        ({"channels": ["x" * 129]}, ["body", "channels", 0]),
        ({"channels": ["x"] * 51}, ["body", "channels"]),
    ],
)
def test_malformed_bodies(management_api: ApiClient, base: str, values: dict[str, Any], loc: list[Any]) -> None:
    assert [found for found, _kind in codes(management_api.post(base, {"url": URL, **values}))] == [loc]


def test_patch_changes_what_is_named(management_api: ApiClient, base: str) -> None:
    made = create(management_api, base, description="Ours", filter_types=["daily"], rate_limit=5)
    path = f"{base}/{made['id']}"
    changed = management_api.patch(path, {"url": "https://other.example.com/", "disabled": True}).json()
    expected = {**made, "url": "https://other.example.com/", "disabled": True, "updated_at": changed["updated_at"]}
    expected["status"] = "disabled"
    assert changed == expected
    cleared = management_api.patch(
        path, {"description": None, "filter_types": None, "rate_limit": None, "url": None, "disabled": None}
    ).json()
    assert cleared == {
        **expected, "description": "", "filter_types": None, "rate_limit": None, "updated_at": cleared["updated_at"],
    }  # fmt: skip
    assert shown(management_api, path) == cleared


def test_delete(management_api: ApiClient, base: str) -> None:
    made = create(management_api, base)
    path = f"{base}/{made['id']}"
    assert management_api.delete(path).status_code == 204
    for response in (management_api.get(path), management_api.delete(path), management_api.get(f"{path}/secret")):
        assert response.status_code == 404
    assert management_api.get(base).json() == {"data": [], "next_cursor": None}


def test_secret_is_shown_at_its_own_address_only(
    management_api: ApiClient, base: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        made = create(management_api, base)
        path = f"{base}/{made['id']}"
        key = management_api.get(f"{path}/secret").json()["key"]
        answers = [management_api.get(path), management_api.get(base), management_api.patch(path, {"disabled": False})]
    assert len(base64.b64decode(key.removeprefix("whsec_"))) == 32
    assert [key in answer.content.decode() for answer in answers] == [False, False, False]
    assert key not in caplog.text
    with connection.cursor() as cursor:
        cursor.execute("SELECT secret FROM webhooks_endpoint")
        assert all(key.encode() not in bytes(row[0]) for row in cursor.fetchall())


def test_rotation_makes_or_takes_a_secret(management_api: ApiClient, base: str) -> None:
    path = f"{base}/{create(management_api, base)['id']}"

    def secret() -> str:
        return str(management_api.get(f"{path}/secret").json()["key"])

    first = secret()
    assert management_api.post(f"{path}/secret/rotate", {}).status_code == 204
    second = secret()
    given = "whsec_" + base64.b64encode(bytes(32)).decode()
    assert management_api.post(f"{path}/secret/rotate", {"key": given}).status_code == 204
    assert (secret(), len({first, second, given})) == (given, 3)
    assert codes(management_api.post(f"{path}/secret/rotate", {"key": "x"})) == [(["body", "key"], "value_error")]
    assert management_api.post(f"{path}/secret/rotate").status_code == 204
    assert secret() not in (first, second, given)


def test_headers_are_replaced_and_secret_ones_never_shown(management_api: ApiClient, base: str) -> None:
    path = f"{base}/{create(management_api, base)['id']}/headers"
    assert management_api.get(path).json() == {"headers": {}, "sensitive": []}
    headers = {"X-Tenant": "7", "Authorization": "Bearer sesame", "x-api-key": "sesame"}
    assert management_api.put(path, {"headers": headers}).status_code == 204
    answer = management_api.get(path)
    assert answer.json() == {"headers": {"X-Tenant": "7"}, "sensitive": ["Authorization", "x-api-key"]}
    assert management_api.put(path, {"headers": {"X-Other": "8"}}).status_code == 204
    assert management_api.get(path).json() == {"headers": {"X-Other": "8"}, "sensitive": []}


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "x"}, {"content-length": "1"}, {"Webhook-Id": "x"}, {"svix-signature": "x"}, {"a b": "x"}, {"": "x"},
        {"x": "a\r\nb: c"}, {"x": "é"}, {"x": ""}, {"x": "y" * 4001}, {"X-A": "1", "x-a": "2"}, {"x": 1},
        {f"x-{number}": "y" for number in range(51)},
    ],
)  # fmt: skip
def test_headers_that_are_refused(management_api: ApiClient, base: str, headers: dict[str, Any]) -> None:
    path = f"{base}/{create(management_api, base)['id']}/headers"
    assert len(codes(management_api.put(path, {"headers": headers}))) == 1
    assert management_api.get(path).json()["headers"] == {}


def test_a_test_event_goes_to_one_endpoint_whatever_it_filters(
    management_api: ApiClient, team: Tenant, base: str, hook: Receiver
) -> None:
    chosen = endpoint_make(team, f"{hook.url}/chosen", filter_types=["provider"])
    endpoint_make(team, f"{hook.url}/other")
    answer = management_api.post(f"{base}/{chosen.id}/test").json()
    assert pump().delivered == 1
    (request,) = hook.received
    assert (request.path, request.headers["webhook-id"]) == ("/chosen", answer["message_id"])
    assert answer["event_type"] == "webhook.test"
    management_api.patch(f"{base}/{chosen.id}", {"disabled": True})
    assert management_api.post(f"{base}/{chosen.id}/test").status_code == 409
    assert len(deliveries()) == 1


def test_the_list_is_newest_first_and_walks_every_one_once(management_api: ApiClient, team: Tenant, base: str) -> None:
    made = [str(endpoint_make(team, URL).id) for _ in range(5)]
    found: list[str] = []
    cursor: str | None = None
    while True:
        body = management_api.get(base, {"limit": 2, **({"next_cursor": cursor} if cursor else {})}).json()
        found += [item["id"] for item in body["data"]]
        cursor = body["next_cursor"]
        if cursor is None:
            break
    assert found == made[::-1]
    for query in ({"limit": 0}, {"limit": 251}, {"next_cursor": "x"}):
        assert [loc for loc, _kind in codes(management_api.get(base, query))] == [["query", next(iter(query))]]


@pytest.mark.parametrize("endpoints", [1, 5])
def test_list_costs_the_same_queries_for_any_number(
    management_api: ApiClient, team: Tenant, base: str, endpoints: int
) -> None:
    for _ in range(endpoints):
        endpoint_make(team, URL)
    management_api.get(base)
    with CaptureQueriesContext(connection) as captured:
        management_api.get(base)
    # key, team, page, audit
    assert len(captured) == 4, [query["sql"] for query in captured]


def test_others_see_and_change_nothing(
    management_api: ApiClient, team: Tenant, other_team: Tenant, production: Tenant, base: str
) -> None:
    """A webhook of another organisation, team or environment answers as a missing one."""
    neighbour = factories.tenant_make(Organisation.objects.get(pk=team.team.organisation_id), name="Neighbour")
    paths = [f"{base}/{uuid4()}"]
    paths += [f"{base}/{endpoint_make(tenant, URL).id}" for tenant in (other_team, neighbour, production)]
    paths += [f"{base_of(other_team)}/{endpoint_make(other_team, URL).id}"]
    answers = [
        client_call
        for path in paths
        for client_call in (
            management_api.get(path),
            management_api.patch(path, {"disabled": True}),
            management_api.delete(path),
            management_api.get(f"{path}/headers"),
            management_api.put(f"{path}/headers", {"headers": {}}),
            management_api.patch(f"{path}/headers", {"headers": {}}),
            management_api.get(f"{path}/secret"),
            management_api.post(f"{path}/secret/rotate", {}),
            management_api.post(f"{path}/test"),
            management_api.post(f"{path}/recover", {"since": utc_text(clock.now())}),
            management_api.post(f"{path}/replay_missing", {"since": utc_text(clock.now())}),
            management_api.post(f"{path}/message/msg_{uuid4()}/resend"),
        )
    ]
    assert {answer.status_code for answer in answers} == {404}
    assert len({str({**answer.json(), "request_id": ""}) for answer in answers}) == 1
    for tenant in (other_team, neighbour, production):
        with team_scope(tenant.context):
            assert {(item.disabled, item.deleted_at) for item in Endpoint.objects.all()} == {(False, None)}


def test_a_key_bound_to_another_team_sees_no_such_team(organisation: Organisation, team: Tenant, base: str) -> None:
    neighbour = factories.tenant_make(organisation, name="Neighbour")
    bound = ApiClient(
        management_key=factories.management_key_make(organisation, role="team_admin", team_ids=[neighbour.team.id])
    )
    assert bound.get(base).status_code == 404
    assert bound.post(base, {"url": URL}).status_code == 404
    assert bound.get(base_of(neighbour)).json() == {"data": [], "next_cursor": None}


def test_an_unknown_environment_is_named(management_api: ApiClient, base: str) -> None:
    response = management_api.get(base.replace("/sandbox/", "/staging/"))
    assert codes(response) == [(["path", "environment"], "enum")]


def test_environments_are_apart(management_api: ApiClient, base: str, production: Tenant) -> None:
    create(management_api, base)
    assert management_api.get(base_of(production)).json()["data"] == []
    create(management_api, base_of(production))
    assert len(management_api.get(base_of(production)).json()["data"]) == 1


def test_calls_are_in_the_audit_trail_of_the_team_in_the_path(
    management_api: ApiClient, team: Tenant, base: str
) -> None:
    made = create(management_api, base)
    management_api.get(f"{base}/{made['id']}/secret")
    missing = uuid4()
    management_api.get(f"{base}/{missing}/secret")
    with team_scope(team.context):
        rows = list(
            AccessRecord.objects.order_by("id").values_list("actor_kind", "action", "object_ids", "status_code")
        )
    route = "/v1/org/<org_id>/team/<team_id>/<environment>/webhook"
    assert rows == [
        ("management_key", f"POST {route}", {}, 200),
        ("management_key", f"GET {route}/<webhook_id>/secret", {"webhook_id": made["id"]}, 200),
        ("management_key", f"GET {route}/<webhook_id>/secret", {"webhook_id": str(missing)}, 404),
    ]


def test_a_repeated_creation_makes_one(management_api: ApiClient, base: str) -> None:
    answers = [management_api.post(base, {"url": URL}, Idempotency_Key="once").json() for _ in range(2)]
    assert answers[0] == answers[1]
    assert len(management_api.get(base).json()["data"]) == 1


def test_the_team_key_does_not_open_it(team: Tenant, base: str) -> None:
    client = ApiClient(team_key=team.key, at="management")
    assert client.get(base).status_code == 401


def test_disabling_by_patch_stops_what_is_owed(
    management_api: ApiClient, team: Tenant, base: str, endpoint: Endpoint, hook: Receiver
) -> None:
    hook.let_go.set()
    emit(team)
    management_api.patch(f"{base}/{endpoint.id}", {"disabled": True})
    assert (pump().attempted, hook.received) == (0, [])
    management_api.patch(f"{base}/{endpoint.id}", {"disabled": False})
    emit(team)
    assert pump().delivered == 1
