"""GET /v2/user/providers/{user_id}, a user's connected sources, and POST /v2/user/refresh/{user_id}."""

from datetime import timedelta

import pytest
from celery.contrib.testing.worker import start_worker
from django.db import connection as database
from django.test.utils import CaptureQueriesContext

from healthsvc.celery import app
from healthsvc.kernel import clock
from healthsvc.kernel.scope import team_scope
from links.catalogue import provider_find
from links.models import Connection, Pull
from links.services.pulls import pull_run
from links.services.refreshes import user_refresh
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.links.events import event_types_of
from tests.links.linking import connected
from tests.links.simulators import Simulator
from users.models import User


def connection_make(tenant: Tenant, user: User, provider: str = "oura", **values: object) -> Connection:
    """A connection without a provider behind it."""
    now = clock.now()
    with team_scope(tenant.context):
        return Connection.objects.create(
            team=tenant.team,
            environment=str(tenant.context.environment),
            user=user,
            provider=provider,
            created_at=now,
            connected_at=now,
            access_token="access",
            refresh_token="refresh",
            access_expires_at=now + timedelta(hours=1),
            scopes_granted=["daily", "heartrate", "workout"],
            **values,
        )


def test_a_user_without_connections(api: ApiClient, team: Tenant) -> None:
    assert api.get(f"/v2/user/providers/{user_make(team).id}").json() == {"providers": []}


def test_a_connection_with_every_field(api: ApiClient, team: Tenant) -> None:
    user = user_make(team)
    made = connection_make(team, user, external_user_id="abc")
    (provider,) = api.get(f"/v2/user/providers/{user.id}").json()["providers"]
    assert {name: provider[name] for name in ("name", "slug", "status", "external_user_id", "error_details")} == {
        "name": "Oura",
        "slug": "oura",
        "status": "connected",
        "external_user_id": "abc",
        "error_details": None,
    }
    assert provider["logo"] == "http://localhost:8000/static/links/logos/oura.svg"
    assert provider["created_on"] == made.created_at.isoformat()
    assert {name: one["status"] for name, one in provider["resource_availability"].items()} == {
        **dict.fromkeys(["sleep", "sleep_cycle", "activity", "workouts", "heartrate", "hrv"], "available"),
        **dict.fromkeys(["blood_oxygen", "profile", "device"], "unavailable"),
    }


def test_unknown_stored_slugs_never_break_an_answer(api: ApiClient, team: Tenant) -> None:
    user = user_make(team)
    connection_make(team, user, provider="new_gadget")
    (provider,) = api.get(f"/v2/user/providers/{user.id}").json()["providers"]
    assert (provider["name"], provider["resource_availability"]) == ("New Gadget", {})
    assert api.post(f"/v2/user/refresh/{user.id}").status_code == 400


def test_disconnected_ones_are_not_shown(api: ApiClient, team: Tenant) -> None:
    user = user_make(team)
    connection_make(team, user, disconnected_at=clock.now())
    connection_make(team, user)
    assert len(api.get(f"/v2/user/providers/{user.id}").json()["providers"]) == 1
    assert len(api.get(f"/v2/user/{user.id}").json()["connected_sources"]) == 1


@pytest.mark.parametrize(("method", "path"), [("GET", "/v2/user/providers/"), ("POST", "/v2/user/refresh/")])
def test_another_teams_user_answers_as_a_missing_one(
    api: ApiClient, other_team: Tenant, production: Tenant, method: str, path: str
) -> None:
    missing = api.request(method, path + "00000000-0000-4000-8000-000000000000")
    assert missing.status_code == 404
    for tenant in (other_team, production):
        user = user_make(tenant)
        connection_make(tenant, user)
        response = api.request(method, f"{path}{user.id}")
        assert response.status_code == 404
        assert {**response.json(), "request_id": ""} == {**missing.json(), "request_id": ""}
    with team_scope(other_team.context):
        assert Pull.objects.count() == 0


@pytest.mark.parametrize("providers", [["oura"], ["oura", "withings", "strava"]])
def test_the_list_takes_the_same_queries_for_any_number(api: ApiClient, team: Tenant, providers: list[str]) -> None:
    user = user_make(team)
    for slug in providers:
        connection_make(team, user, provider=slug)
    with CaptureQueriesContext(database) as captured:
        api.get(f"/v2/user/providers/{user.id}")
    # key, its last use, user, connections, audit
    assert len(captured) == 5, [query["sql"] for query in captured]


@pytest.mark.parametrize("users", [1, 5])
def test_connected_sources_come_for_a_page_of_users_at_once(api: ApiClient, team: Tenant, users: int) -> None:
    for _ in range(users):
        connection_make(team, user_make(team))
    api.get("/v2/user")
    with CaptureQueriesContext(database) as captured:
        body = api.get("/v2/user").json()
    assert [[one["source"]["slug"] for one in user["connected_sources"]] for user in body["users"]] == [
        ["oura"]
    ] * users
    assert body["users"][0]["connected_sources"][0]["provider"]["name"] == "Oura"
    # key, page, count, sources, audit
    assert len(captured) == 5, [query["sql"] for query in captured]


def test_refresh_without_connections_is_400_in_its_own_shape(api: ApiClient, team: Tenant) -> None:
    user = user_make(team)
    response = api.post(f"/v2/user/refresh/{user.id}")
    assert response.status_code == 400
    body = response.json()
    assert (body["success"], body["user_id"], body["failed_sources"]) == (False, str(user.id), [])
    assert (body["code"], body["error"]) == ("no_connected_sources", body["detail"])


def test_refresh_names_a_broken_connection_as_failed(api: ApiClient, team: Tenant) -> None:
    user = user_make(team)
    connection_make(team, user, status="error", error_type="token_refresh_failed", errored_at=clock.now())
    response = api.post(f"/v2/user/refresh/{user.id}")
    assert (response.status_code, response.json()["failed_sources"]) == (400, ["oura"])


@pytest.mark.parametrize("timeout", ["4.9", "60.1", "nan", "inf", "soon", "-1"])
def test_refresh_refuses_a_strange_timeout(api: ApiClient, team: Tenant, timeout: str) -> None:
    user = user_make(team)
    connection_make(team, user)
    response = api.post(f"/v2/user/refresh/{user.id}?timeout={timeout}")
    assert response.status_code == 422
    assert response.json()["detail"][0]["loc"] == ["query", "timeout"]
    with team_scope(team.context):
        assert Pull.objects.count() == 0


def test_refresh_is_limited_to_eight_an_hour_a_user(api: ApiClient, team: Tenant) -> None:
    user, other = user_make(team), user_make(team)
    answers = [api.post(f"/v2/user/refresh/{user.id}").status_code for _ in range(9)]
    assert answers == [400] * 8 + [429]
    limited = api.post(f"/v2/user/refresh/{user.id}")
    assert 0 < int(limited["Retry-After"]) <= 3600
    assert limited.json()["detail"] == "More than 8 refreshes of this user in 3600 seconds."
    assert api.post(f"/v2/user/refresh/{other.id}").status_code == 400


def test_refresh_owes_the_last_days_of_each_resource_once(team: Tenant) -> None:
    user = user_make(team)
    connection_make(team, user)
    with team_scope(team.context):
        for _ in range(2):
            found = user_refresh(team=team.context, user_id=user.id, timeout_seconds=0)
            assert (found.refreshed, found.in_progress, found.failed) == ((), ("oura",), ())
        pulls = list(Pull.objects.filter(kind="refresh"))
        never_pulled = list(Pull.objects.filter(kind="backfill"))
    assert sorted(pull.resource for pull in pulls) == [
        "activity",
        "heartrate",
        "hrv",
        "sleep",
        "sleep_cycle",
        "workouts",
    ]
    today = clock.now().date()
    assert {(pull.kind, pull.start_on, pull.end_on) for pull in pulls} == {
        ("refresh", today - timedelta(days=3), today + timedelta(days=1))
    }
    # What was never pulled, such as a resource that a later release reads, is owed whole too.
    assert sorted(pull.resource for pull in never_pulled) == sorted(pull.resource for pull in pulls)
    assert {(pull.start_on, pull.end_on) for pull in never_pulled} == {
        (today - timedelta(days=30), today + timedelta(days=1))
    }


@pytest.mark.parametrize(("days_ago", "expected"), [(1, 3), (10, 10), (90, 30)])
def test_refresh_reaches_back_to_the_last_good_pull(team: Tenant, days_ago: int, expected: int) -> None:
    user = user_make(team)
    connection = connection_make(team, user)
    today = clock.now().date()
    with team_scope(team.context):
        Pull.objects.create(
            team=team.team,
            environment="sandbox",
            connection=connection,
            user=user,
            resource="sleep",
            kind="refresh",
            status="success",
            start_on=today - timedelta(days=days_ago + 3),
            end_on=today - timedelta(days=days_ago),
            not_before=clock.now(),
            created_at=clock.now(),
        )
        user_refresh(team=team.context, user_id=user.id, timeout_seconds=0)
        owed = dict(Pull.objects.filter(resource="sleep", status="scheduled").values_list("kind", "start_on"))
        # What a refresh does not reach any more is owed as a backfill.
        gap = {"backfill": today - timedelta(days=days_ago)} if days_ago > 30 else {}
        assert owed == {"refresh": today - timedelta(days=expected), **gap}
        assert Pull.objects.get(resource="activity", kind="refresh").start_on == today - timedelta(days=3)


@pytest.mark.slow
def test_refresh_stores_and_tells_what_is_new(team: Tenant, api: ApiClient, simulator: Simulator) -> None:
    user = user_make(team, client_user_id="ada")
    connected(team, user, "oura")
    with team_scope(team.context):
        Pull.objects.all().delete()
        user_refresh(team=team.context, user_id=user.id, timeout_seconds=0)
        # With the history forgotten, that is owed again too.
        Pull.objects.filter(kind="backfill").delete()
        pulls = list(Pull.objects.all())
    for pull in pulls:
        pull_run(pull_id=pull.pk)
    with team_scope(team.context):
        assert set(Pull.objects.values_list("status", flat=True)) == {"success"}
    types = set(event_types_of(team))
    assert {"daily.data.heartrate.created", "daily.data.sleep.created", "daily.data.activity.created"} <= types
    assert not {name for name in types if name.startswith("historical.")}


@pytest.mark.slow
def test_refresh_that_takes_longer_is_202(team: Tenant, api: ApiClient) -> None:
    user = user_make(team)
    connection_make(team, user)
    response = api.post(f"/v2/user/refresh/{user.id}?timeout=5")
    assert response.status_code == 202
    assert response.json() == {
        "success": True,
        "user_id": str(user.id),
        "refreshed_sources": [],
        "in_progress_sources": ["oura"],
        "failed_sources": [],
    }


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_refresh_is_200_once_a_worker_has_done_it(team: Tenant, api: ApiClient, simulator: Simulator) -> None:
    user = user_make(team, client_user_id="ada")
    connected(team, user, "oura")
    with start_worker(app, perform_ping_check=False, pool="solo"):
        response = api.post(f"/v2/user/refresh/{user.id}?timeout=30")
    assert response.status_code == 200
    assert response.json()["refreshed_sources"] == ["oura"]
    assert response.json()["in_progress_sources"] == []
    with team_scope(team.context):
        done = Pull.objects.filter(status="success").values_list("kind", "resource")
        assert len(set(done)) == 2 * len(provider_find("oura").resources)
