"""Demo connections: a simulated account for a week."""

from datetime import timedelta

import pytest

from healthsvc.kernel import clock
from healthsvc.kernel.scope import team_scope
from links.models import Connection, Pull
from links.services.demo import demos_end
from links.services.pulls import pull_run
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.links.events import event_types_of
from tests.links.linking import connected
from tests.links.simulators import Simulator


@pytest.mark.parametrize("provider", ["oura", "fitbit", "freestyle_libre", "apple_health_kit"])
def test_a_demo_gives_data_as_a_real_account_does(
    api: ApiClient, team: Tenant, simulator: Simulator, provider: str
) -> None:
    user = user_make(team)
    answer = api.post("/v2/link/connect/demo", {"user_id": str(user.id), "provider": provider})
    assert (answer.status_code, answer.json()["success"]) == (200, True)
    (shown,) = api.get(f"/v2/user/providers/{user.id}").json()["providers"]
    assert (shown["slug"], shown["status"]) == (provider, "connected")
    with team_scope(team.context):
        owed = list(Pull.objects.order_by("id").values_list("pk", flat=True))
    for pull_id in owed:
        pull_run(pull_id=pull_id)
    with team_scope(team.context):
        assert set(Pull.objects.values_list("status", flat=True)) == {"success"}
    told = event_types_of(team)
    assert told[0] == "provider.connection.created"
    # A device is told as one, when it is first seen.
    with team_scope(team.context):
        pulled = set(Pull.objects.exclude(resource="device").values_list("resource", flat=True))
    assert {one for one in told if one.startswith("historical.")} == {
        f"historical.data.{one}.created" for one in pulled
    }
    assert pulled


def test_a_demo_ends_after_a_week(api: ApiClient, team: Tenant, simulator: Simulator) -> None:
    user = user_make(team)
    assert api.post("/v2/link/connect/demo", {"user_id": str(user.id), "provider": "oura"}).status_code == 200
    assert demos_end() == 0
    with team_scope(team.context):
        expires_at = Connection.objects.get().expires_at
        assert expires_at is not None
        assert timedelta(days=6, hours=23) < expires_at - clock.now() <= timedelta(days=7)
        Connection.objects.update(expires_at=clock.now() - timedelta(seconds=1))
    assert demos_end() == 1
    assert api.get(f"/v2/user/providers/{user.id}").json() == {"providers": []}
    assert demos_end() == 0


def test_a_user_with_a_real_connection_gets_no_demo(api: ApiClient, team: Tenant, simulator: Simulator) -> None:
    user = user_make(team)
    connected(team, user, "oura")
    answer = api.post("/v2/link/connect/demo", {"user_id": str(user.id), "provider": "fitbit"})
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")
    with team_scope(team.context):
        assert Connection.objects.count() == 1


def test_demos_are_for_the_sandbox_and_the_team_s_own_users(
    api: ApiClient, team: Tenant, production: Tenant, other_team: Tenant, simulator: Simulator
) -> None:
    real = user_make(production)
    body = {"user_id": str(real.id), "provider": "oura"}
    assert ApiClient(team_key=production.key).post("/v2/link/connect/demo", body).status_code == 403
    assert api.post("/v2/link/connect/demo", body).status_code == 404
    strange = {"user_id": str(user_make(other_team).id), "provider": "oura"}
    assert api.post("/v2/link/connect/demo", strange).status_code == 404
    known = {"user_id": str(user_make(team).id), "provider": "garmin"}
    assert api.post("/v2/link/connect/demo", known).status_code == 422
    assert simulator.requests() == []


def test_a_simulator_that_is_away_is_told(api: ApiClient, team: Tenant, simulator: Simulator) -> None:
    simulator.fault("oura", "http_500", "/demo")
    body = {"user_id": str(user_make(team).id), "provider": "oura"}
    assert api.post("/v2/link/connect/demo", body).status_code == 503
    with team_scope(team.context):
        assert Connection.objects.count() == 0
