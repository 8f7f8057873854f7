"""Who may do what at the management address: an org_admin key, a key of the team, a key of another team, a stranger."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management.models import (
    Invite,
    ManagementKey,
    Member,
    Organisation,
    OrganisationRecord,
    ScopeRequirement,
    Team,
    TeamAccessToken,
    TeamKey,
    TeamSettings,
)
from management.services import invite_send, management_key_create, member_create
from tests import factories
from tests.clients import ApiClient
from tests.invariants.test_routes import ROUTES
from tests.management.organising import bound_client


@dataclass(frozen=True, slots=True)
class Row:
    """One operation: what each caller is answered."""

    method: str
    path: str
    json: Any
    org_admin: int
    own_team_admin: int
    other_team_admin: int


_TEAM = "/team/{team}"
_KEYS = "/team_api_keys/sandbox/us"
_TRAIL = f"{_TEAM}/sandbox"
#: Answers no JSON: in `test_api_trail.py`.
_EXPORT = "GET /v1/org/<org_id>/team/<team_id>/<environment>/access_record/export"
_ROWS = [
    Row("GET", "", None, 200, 200, 200),
    Row("PATCH", "", {"name": "New"}, 200, 403, 403),
    Row("GET", "/team", None, 200, 200, 200),
    Row("POST", "/team", {"name": "New", "region": "us"}, 200, 403, 403),
    Row("GET", _TEAM, None, 200, 200, 404),
    Row("PATCH", _TEAM, {"name": "New"}, 200, 200, 404),
    Row("PATCH", _TEAM, {"integration_team_id": "x"}, 200, 403, 404),
    Row("DELETE", _TEAM, None, 200, 403, 404),
    Row("POST", f"{_TEAM}/undo_delete", None, 404, 403, 404),
    Row("GET", f"{_TEAM}/scope_requirements", None, 200, 200, 404),
    Row("POST", f"{_TEAM}/scope_requirements", {"provider": "oura", "required": [], "optional": []}, 200, 200, 404),
    Row("POST", f"{_TEAM}/create_api_access_token", {"env": "sandbox"}, 200, 200, 404),
    Row("POST", "/resolve_team", {"integration_team_id": "known"}, 200, 200, 404),
    Row("GET", _KEYS, None, 200, 200, 200),
    Row("POST", _KEYS, {"label": "New", "team_id": "{team}"}, 200, 200, 404),
    Row("POST", f"{_KEYS}/{{team_key}}/rotate", {}, 200, 200, 404),
    Row("DELETE", f"{_KEYS}?api_key_id={{team_key}}", None, 200, 200, 200),
    Row("GET", "/management_key", None, 200, 403, 403),
    Row("POST", "/management_key", {"label": "New", "role": "org_admin"}, 200, 403, 403),
    Row("PATCH", "/management_key/{key}", {"label": "New"}, 200, 403, 403),
    Row("POST", "/management_key/{key}/rotate", {}, 200, 403, 403),
    Row("DELETE", "/management_key/{key}", None, 200, 403, 403),
    Row("GET", f"{_TRAIL}/access_record", None, 200, 200, 404),
    Row("GET", f"{_TRAIL}/access_seal", None, 200, 200, 404),
    Row("GET", f"{_TRAIL}/access_seal/verification", None, 200, 200, 404),
    Row("GET", "/organisation_record", None, 200, 403, 403),
    Row("GET", "/member", None, 200, 403, 403),
    Row("PATCH", "/member/{member}", {"role": "no_role", "team_role_bindings": None}, 200, 403, 403),
    Row("DELETE", "/member/{member}", None, 200, 403, 403),
    Row("GET", "/invite", None, 200, 403, 403),
    Row("POST", "/invite", {"email": "new@acme.example"}, 200, 403, 403),
    Row("DELETE", "/invite/{invite}", None, 200, 403, 403),
]


def _names(organisation: Organisation, team: factories.Tenant) -> dict[str, str]:
    """The ids that the table's addresses name."""
    Team.objects.filter(pk=team.team.pk).update(integration_team_id="known")
    key = management_key_create(organisation_id=organisation.pk, label="second", created_by="test")
    member = member_create(organisation_id=organisation.pk, name="Ada", email="ada@acme.example", role="org_admin")
    _status, invite_id = invite_send(
        organisation_id=organisation.pk, email="bo@acme.example", role="no_role", team_ids=[], created_by="test"
    )
    with team_scope(team.context):
        team_key = TeamKey.objects.get()
    ids = {"team": team.team.pk, "key": key.key_id, "member": member.pk, "invite": invite_id, "team_key": team_key.pk}
    return {name: str(value) for name, value in ids.items()}


def _filled(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(item, names) for key, item in value.items()}
    return value.format(**names) if isinstance(value, str) else value


def _ask(client: ApiClient, organisation_id: object, row: Row, names: dict[str, str]) -> tuple[int, dict[str, Any]]:
    response = client.request(
        row.method, f"/v1/org/{organisation_id}{row.path.format(**names)}", json=_filled(row.json, names)
    )
    body = response.json()
    return response.status_code, {**body, "request_id": ""} if isinstance(body, dict) else {}


@pytest.mark.parametrize("row", _ROWS, ids=lambda row: f"{row.method} {row.path} {sorted(row.json or {})}")
@pytest.mark.parametrize("who", ["org_admin", "own_team_admin", "other_team_admin", "stranger"])
def test_each_caller_is_answered_as_the_table_says(
    organisation: Organisation, team: factories.Tenant, other_team: factories.Tenant, row: Row, who: str
) -> None:
    names = _names(organisation, team)
    second = factories.tenant_make(organisation, name="Second")
    makers: dict[str, Callable[[], ApiClient]] = {
        "org_admin": lambda: ApiClient(management_key=factories.management_key_make(organisation)),
        "own_team_admin": lambda: bound_client(organisation, team.team.pk),
        "other_team_admin": lambda: bound_client(organisation, second.team.pk),
        "stranger": lambda: ApiClient(management_key=factories.management_key_make(other_team.team.organisation)),
    }
    client = makers[who]()
    before = _state()
    status, body = _ask(client, organisation.pk, row, names)
    if who == "stranger":
        assert (status, body) == _ask(client, uuid4(), row, {name: str(uuid4()) for name in names})
        assert (status, body["code"]) == (404, "not_found")
    else:
        assert status == getattr(row, who), body
    if status >= 400:
        assert _state() == before
    changes = OrganisationRecord.objects.count()
    assert changes == (1 if status < 400 and row.method != "GET" else 0)


def _state() -> list[Any]:
    """Everything that the table's operations could change."""
    tables = (Organisation, Team, ManagementKey, Member, Invite)
    owned = (TeamKey, TeamAccessToken, ScopeRequirement, TeamSettings)
    found = [list(table._default_manager.order_by("pk").values()) for table in tables]
    with system_scope(SystemScope.PURGE):
        found += [list(table._default_manager.order_by("pk").values()) for table in owned]
    return [[{**row, "last_used_at": None} for row in rows] for rows in found]


def test_the_table_names_every_operation_of_this_app() -> None:
    served = {
        f"{route.method} /{route.route}"
        for route in ROUTES
        if route.view.__module__.startswith("management.") and route.route.startswith("v1/org/")
    }
    words = {
        "{team}": "<team_id>",
        "{team_key}": "<api_key_id>",
        "{key}": "<key_id>",
        "{member}": "<member_id>",
        "{invite}": "<invite_id>",
        "sandbox/us": "<env>/<region>",
        "/sandbox/": "/<environment>/",
    }
    tabled = set()
    for row in _ROWS:
        path = row.path.partition("?")[0]
        for written, named in words.items():
            path = path.replace(written, named)
        tabled.add(f"{row.method} /v1/org/<org_id>{path}")
    assert tabled | {_EXPORT} == served


def test_a_key_sees_only_its_teams_in_lists(organisation: Organisation, team: factories.Tenant) -> None:
    second = factories.tenant_make(organisation, name="Second")
    client = bound_client(organisation, second.team.pk)
    listed = client.get(f"/v1/org/{organisation.pk}/team_api_keys/sandbox/us").json()["api_keys"]
    assert [key["team_id"] for key in listed] == [str(second.team.pk)]
    asked = client.get(f"/v1/org/{organisation.pk}/team_api_keys/sandbox/us", {"team_id": str(team.team.pk)}).json()
    assert asked == {"api_keys": [], "next_cursor": None}


@pytest.mark.parametrize("rows", [1, 5])
@pytest.mark.parametrize("path", ["/team_api_keys/sandbox/us", "/management_key", "/member", "/invite", "/team"])
def test_lists_cost_the_same_queries_for_any_number(
    management_api: ApiClient, organisation: Organisation, path: str, rows: int
) -> None:
    for number in range(rows):
        tenant = factories.tenant_make(organisation)
        factories.management_key_make(organisation, role="team_admin", team_ids=[tenant.team.pk])
        member_create(organisation_id=organisation.pk, name="A", email=f"{number}@acme.example", role="no_role")
        invite_send(
            organisation_id=organisation.pk,
            email=f"{number}@other.example",
            role="no_role",
            team_ids=[],
            created_by="test",
        )
    management_api.get(f"/v1/org/{organisation.pk}{path}")
    with CaptureQueriesContext(connection) as captured:
        assert management_api.get(f"/v1/org/{organisation.pk}{path}").status_code == 200
    assert len(captured) == 2, [query["sql"] for query in captured]


def test_the_trail_can_be_added_to_but_not_changed(management_api: ApiClient, organisation: Organisation) -> None:
    management_api.patch(f"/v1/org/{organisation.pk}", {"name": "Renamed"})
    row = OrganisationRecord.objects.get()
    key = ManagementKey.objects.get(label="test")
    assert (row.actor_kind, row.actor_id, row.action) == ("management_key", str(key.pk), "PATCH /v1/org/<org_id>")
    assert row.request_id != ""
    assert OrganisationRecord.objects.update(action="forged") == 0
    assert OrganisationRecord.objects.all().delete()[0] == 0
