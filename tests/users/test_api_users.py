"""Users over HTTP."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.clients import ApiClient
from tests.factories import Tenant, user_make


def test_created_user_has_every_field(api: ApiClient, team: Tenant) -> None:
    response = api.post("/v2/user", {"client_user_id": "anna", "fallback_time_zone": "Europe/London"})
    assert response.status_code == 200
    body = response.json()
    assert body["client_user_id"] == "anna"
    assert body["team_id"] == str(team.team.id)
    assert body["connected_sources"] == []
    assert body["fallback_time_zone"]["id"] == "Europe/London"
    assert body["fallback_time_zone"]["source_slug"] == "manual"
    assert body["fallback_birth_date"] is None
    assert api.get(f"/v2/user/{body['user_id']}").json() == body
    assert api.get("/v2/user/resolve/anna").json() == body


def test_taken_client_user_id_answers_400_with_the_living_user(api: ApiClient) -> None:
    first = api.post("/v2/user", {"client_user_id": "anna"}).json()
    response = api.post("/v2/user", {"client_user_id": "anna"})
    assert response.status_code == 400
    assert response.json()["detail"] == {
        "error_type": "INVALID_REQUEST",
        "error_message": "Client user id already exists.",
        "user_id": first["user_id"],
        "created_on": first["created_on"],
    }
    assert api.get("/v2/user").json()["total"] == 1


def test_same_client_user_id_lives_in_each_team_and_environment(
    api: ApiClient, other_api: ApiClient, production: Tenant
) -> None:
    ids = {
        client.post("/v2/user", {"client_user_id": "anna"}).json()["user_id"]
        for client in (api, other_api, ApiClient(team_key=production.key))
    }
    assert len(ids) == 3


@pytest.mark.parametrize("path", ["/v2/user", "/v2/user/"])
def test_list_pages_newest_first_with_and_without_last_slash(api: ApiClient, team: Tenant, path: str) -> None:
    made = [str(user_make(team).id) for _ in range(5)]
    body = api.get(path, {"offset": 1, "limit": 2}).json()
    assert [user["user_id"] for user in body["users"]] == [made[3], made[2]]
    assert (body["total"], body["offset"], body["limit"]) == (5, 1, 2)


def test_list_defaults(api: ApiClient) -> None:
    assert api.get("/v2/user/").json() == {"users": [], "total": 0, "offset": 0, "limit": 100}


@pytest.mark.parametrize(
    ("query", "loc"),
    [
        ({"limit": 501}, ["query", "limit"]),
        ({"limit": 0}, ["query", "limit"]),
        ({"limit": "many"}, ["query", "limit"]),
        ({"offset": -1}, ["query", "offset"]),
        ({"offset": 10**30}, ["query", "offset"]),
    ],
)
def test_list_refuses_bad_pages(api: ApiClient, query: dict[str, object], loc: list[str]) -> None:
    response = api.get("/v2/user", query)
    assert response.status_code == 422
    assert [problem["loc"] for problem in response.json()["detail"]] == [loc]


@pytest.mark.parametrize(
    ("body", "loc", "kind"),
    [
        ({}, ["body", "client_user_id"], "missing"),
        ({"client_user_id": None}, ["body", "client_user_id"], "null_forbidden"),
        ({"client_user_id": ""}, ["body", "client_user_id"], "string_too_short"),
        ({"client_user_id": 7}, ["body", "client_user_id"], "string_type"),
        ({"client_user_id": True}, ["body", "client_user_id"], "string_type"),
        ({"client_user_id": "x" * 256}, ["body", "client_user_id"], "string_too_long"),
        ({"client_user_id": "a\x00b"}, ["body", "client_user_id"], "string_nul"),
        ({"client_user_id": "a", "fallback_time_zone": "Mars/Base"}, ["body", "fallback_time_zone"], "time_zone"),
        ({"client_user_id": "a", "fallback_birth_date": "1990-02-30"}, ["body", "fallback_birth_date"], "date_type"),
        (
            {"client_user_id": "a", "ingestion_start": "2024-02-01", "ingestion_end": "2024-01-01"},
            ["body", "ingestion_end"],
            "value_error",
        ),
        ([], ["body"], "dict_type"),
        ("text", ["body"], "dict_type"),
    ],
)
def test_bad_bodies_are_named_and_change_nothing(api: ApiClient, body: object, loc: list[str], kind: str) -> None:
    response = api.post("/v2/user", body)
    assert response.status_code == 422
    assert response.json()["code"] == "validation_failed"
    assert [(problem["loc"], problem["type"]) for problem in response.json()["detail"]] == [(loc, kind)]
    assert api.get("/v2/user").json()["total"] == 0


def test_patch_changes_named_fields_and_clears_with_null(api: ApiClient, team: Tenant) -> None:
    user = user_make(team, client_user_id="anna", fallback_time_zone="Europe/London")
    path = f"/v2/user/{user.id}"
    response = api.patch(path, {"fallback_time_zone": None, "fallback_birth_date": "1990-05-17"})
    assert (response.status_code, response.content) == (204, b"")
    body = api.get(path).json()
    assert body["fallback_time_zone"] is None
    assert body["fallback_birth_date"]["value"] == "1990-05-17"
    assert body["client_user_id"] == "anna"


def test_patch_refusals(api: ApiClient, team: Tenant) -> None:
    user = user_make(team, client_user_id="anna")
    user_make(team, client_user_id="ben")
    path = f"/v2/user/{user.id}"
    assert api.patch(path, {}).status_code == 400
    assert api.patch(path, {"client_user_id": None}).status_code == 422
    taken = api.patch(path, {"client_user_id": "ben", "fallback_time_zone": "UTC"})
    assert (taken.status_code, taken.json()["detail"]) == (409, "Client user id already exists")
    assert api.get(path).json()["client_user_id"] == "anna"
    assert api.get(path).json()["fallback_time_zone"] is None


def test_resolve_takes_slashes_and_odd_characters(api: ApiClient, team: Tenant) -> None:
    user = user_make(team, client_user_id="a/b ü?")
    response = api.get("/v2/user/resolve/a/b%20%C3%BC%3F")
    assert response.json()["user_id"] == str(user.id)
    assert api.get("/v2/user/resolve/nobody").status_code == 404


def test_another_teams_user_answers_as_a_missing_one(api: ApiClient, other_team: Tenant, production: Tenant) -> None:
    missing = api.get("/v2/user/00000000-0000-4000-8000-000000000000")
    for tenant in (other_team, production):
        user = user_make(tenant, client_user_id="theirs")
        response = api.get(f"/v2/user/{user.id}")
        assert response.status_code == missing.status_code == 404
        assert {**response.json(), "request_id": ""} == {**missing.json(), "request_id": ""}
        assert api.patch(f"/v2/user/{user.id}", {"fallback_time_zone": "UTC"}).status_code == 404
        assert api.get("/v2/user/resolve/theirs").status_code == 404
    assert api.get("/v2/user").json()["users"] == []


def test_malformed_uuid_in_a_path_is_422(api: ApiClient) -> None:
    response = api.get("/v2/user/not-a-uuid")
    assert response.status_code == 422
    assert response.json()["detail"] == [{"loc": ["path", "user_id"], "msg": "Not a UUID.", "type": "uuid_parsing"}]


@pytest.mark.parametrize("users", [1, 5])
def test_list_costs_the_same_queries_for_any_number(api: ApiClient, team: Tenant, users: int) -> None:
    for _ in range(users):
        user_make(team)
    api.get("/v2/user")
    with CaptureQueriesContext(
        connection,
    ) as captured:
        api.get("/v2/user")
    # key, page, count, connections, audit
    assert len(captured) == 5, [query["sql"] for query in captured]
