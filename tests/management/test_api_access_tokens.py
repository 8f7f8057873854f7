"""A team's access token: opens the team's API for ten minutes, and ends with what gave it the right."""

import re
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from healthsvc.kernel import clock
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management import services
from management.models import AccessRecord, ManagementKey, Organisation, TeamAccessToken
from management.tasks import access_tokens_purge
from tests import factories
from tests.clients import ApiClient
from tests.management.organising import bound_client, locs, team_path, trail


def _token(client: ApiClient, team: factories.Tenant, env: str = "sandbox") -> str:
    answer = client.post(f"{team_path(team)}/create_api_access_token", {"env": env})
    assert answer.status_code == 200, answer.content
    text: str = answer.json()["access_token"]
    return text


def _ask(text: str, path: str = "/v2/user") -> Any:
    return ApiClient().get(path, Authorization=f"Bearer {text}")


def test_a_token_opens_its_team_and_environment(
    management_api: ApiClient, team: factories.Tenant, production: factories.Tenant, organisation: Organisation
) -> None:
    factories.user_make(team, client_user_id="sandy")
    factories.user_make(production, client_user_id="prudence")
    for env, name in (("sandbox", "sandy"), ("production", "prudence")):
        answer = management_api.post(f"{team_path(team)}/create_api_access_token", {"env": env})
        assert answer.json()["expires_in"] == 600
        assert answer["Cache-Control"] == "no-store"
        found = _ask(answer.json()["access_token"]).json()["users"]
        assert [user["client_user_id"] for user in found] == [name]
    with system_scope(SystemScope.PURGE):
        ids = [str(pk) for pk in TeamAccessToken.objects.order_by("pk").values_list("pk", flat=True)]
    action = "POST /v1/org/<org_id>/team/<team_id>/create_api_access_token"
    team_id = str(team.team.pk)
    assert trail(organisation) == [(action, {"team_id": team_id, "access_token_id": pk}) for pk in ids]


def test_what_is_done_with_it_is_the_management_keys_doing(management_api: ApiClient, team: factories.Tenant) -> None:
    user = factories.user_make(team)
    assert _ask(_token(management_api, team), f"/v2/user/{user.pk}").status_code == 200
    with team_scope(team.context):
        row = AccessRecord.objects.get()
    key = ManagementKey.objects.get(label="test")
    assert (row.actor_kind, row.actor_id, row.user_id) == ("access_token", str(key.pk), user.pk)


def test_it_is_stored_nowhere(management_api: ApiClient, team: factories.Tenant) -> None:
    text = _token(management_api, team)
    with connection.cursor() as cursor, system_scope(SystemScope.PURGE):
        cursor.execute("SELECT management_team_access_token::text FROM management_team_access_token")
        stored = str(cursor.fetchall())
    assert text not in stored
    assert text.encode().hex() not in stored


def test_it_ends_after_ten_minutes_and_is_removed(
    management_api: ApiClient, team: factories.Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, now = _token(management_api, team), clock.now()
    for seconds, status in ((590, 200), (601, 401)):
        moment = now + timedelta(seconds=seconds)
        monkeypatch.setattr(clock, "now", lambda moment=moment: moment)
        access_tokens_purge()
        assert _ask(text).status_code == status
    with system_scope(SystemScope.PURGE):
        assert TeamAccessToken.objects.count() == 0


def test_it_ends_with_its_makers_right(organisation: Organisation, team: factories.Tenant) -> None:
    second = factories.tenant_make(organisation, name="Second")
    client = bound_client(organisation, team.team.pk, second.team.pk)
    ours, theirs = _token(client, team), _token(client, second)
    assert [_ask(ours).status_code, _ask(theirs).status_code] == [200, 200]
    key = ManagementKey.objects.get(role="team_admin")
    services.management_key_patch(organisation_id=organisation.pk, key_id=key.pk, label=None, team_ids=[second.team.pk])
    assert [_ask(ours).status_code, _ask(theirs).status_code] == [401, 200]
    services.key_revoke(key_id=key.pk)
    assert [_ask(ours).status_code, _ask(theirs).status_code] == [401, 401]


@pytest.mark.parametrize("text", ["ta_", "ta_x", "ta_" + "a" * 43, "ta_\u00e9", "ta_a b"])
def test_a_token_of_the_form_that_is_unknown_is_401(team: factories.Tenant, text: str) -> None:
    client = ApiClient(team_key=team.key)
    client.headers["Authorization"] = f"Bearer {text}".encode().decode("latin-1")
    assert client.get("/v2/user").status_code == 401


@pytest.mark.parametrize("header", ["Basic eDp5", "Bearer other", "Bearer", "", "ta_x"])
def test_another_authorization_is_left_to_others(team: factories.Tenant, header: str) -> None:
    client = ApiClient(team_key=team.key)
    client.headers["Authorization"] = header
    assert client.get("/v2/user").status_code == 200
    del client.headers["x-service-api-key"]
    assert client.get("/v2/user").status_code == 401


def test_it_is_taken_where_a_team_key_is(management_api: ApiClient, team: factories.Tenant) -> None:
    user = factories.user_make(team)
    text = _token(management_api, team)
    made = ApiClient().post("/v2/link/token", {"user_id": str(user.pk)}, Authorization=f"bearer {text}")
    assert made.status_code == 200
    assert _ask(text, "/v2/link/providers").status_code == 200


def test_it_does_not_open_the_management_address(management_api: ApiClient, team: factories.Tenant) -> None:
    text = _token(management_api, team)
    answer = ApiClient(at="management").get(team_path(team), Authorization=f"Bearer {text}")
    assert answer.status_code == 401


def test_bad_requests_make_no_token(
    management_api: ApiClient, team: factories.Tenant, other_team: factories.Tenant
) -> None:
    path = f"{team_path(team)}/create_api_access_token"
    for body in ({}, {"env": "staging"}, {"env": None}):
        assert locs(management_api.post(path, body))[0][0] == ["body", "env"]
    ours = team_path(team).rpartition("/")[0]
    for team_id in (other_team.team.pk, uuid4()):
        assert management_api.post(f"{ours}/{team_id}/create_api_access_token", {"env": "sandbox"}).status_code == 404
    with system_scope(SystemScope.PURGE):
        assert TeamAccessToken.objects.count() == 0


def test_the_documents_say_that_it_is_taken(team: factories.Tenant) -> None:
    document = re.sub(r"\s+", " ", ApiClient().get("/openapi.json").content.decode())
    assert '"teamAccessToken": { "type": "http", "scheme": "bearer"' in document
