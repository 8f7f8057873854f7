"""Google Health through the service: login, pulls, the API's answers, its notices, and what stands for Fitbit."""

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from io import StringIO
from typing import Any

import orjson
import pytest
import time_machine
from django.core.management import CommandError, call_command

from healthsvc.kernel.scope import team_scope
from links.models import Connection, ProviderHook, Pull, Revocation
from links.services.connections import connection_disconnect
from links.services.pulls import pull_run
from links.services.revocations import revocation_run
from links.services.tokens import link_token_create
from links.states import HookStatus, PullStatus
from simulator.day import day_of
from simulator.person import person_of
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.links.hooking import JSON, delivered, notices, subscribed
from tests.links.linking import connected
from tests.links.simulators import Person, Simulator, call
from users.models import User

pytestmark = [pytest.mark.slow, pytest.mark.django_db]

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
ACCOUNT = "ada@example.com"
PERSON = person_of(f"google_health:{ACCOUNT}")
DAYS = {"start_date": "2026-10-20", "end_date": "2026-11-14"}
_SCOPES = "https://www.googleapis.com/auth/googlehealth."
SLEEP = f"{_SCOPES}sleep.readonly"


@pytest.fixture(autouse=True)
def _present(simulator: Simulator) -> Iterator[None]:
    call("POST", f"{simulator.url}/_control/clock", orjson.dumps({"now": NOW.isoformat()}).decode(), JSON)
    with time_machine.travel(NOW, tick=False):
        yield


def linked(tenant: Tenant, **decision: Any) -> Connection:
    return connected(tenant, user_make(tenant, client_user_id="ada"), "google_health", Person(ACCOUNT), **decision)


def run_all(tenant: Tenant) -> dict[str, str]:
    """Every pull worked to its end, and how each ended."""
    with team_scope(tenant.context):
        for pull in Pull.objects.filter(status=PullStatus.SCHEDULED):
            pull_run(pull_id=pull.pk)
        return {pull.resource: pull.status for pull in Pull.objects.all()}


def test_a_month_is_stored_once_under_the_provider_that_was_connected(team: Tenant, api: ApiClient) -> None:
    connection = linked(team)
    assert connection.external_user_id == f"GH{PERSON.user_id}"
    ended = run_all(team)
    assert len(ended) == 17
    assert set(ended.values()) == {PullStatus.SUCCESS}
    nights = api.get(f"/v2/summary/sleep/{connection.user_id}", {**DAYS, "provider": "google_health"}).json()["sleep"]
    first = date.fromisoformat(DAYS["start_date"])
    lived = [day_of(PERSON, first + timedelta(days=step)) for step in range(26)]
    assert len(nights) == sum(len(day.sleeps) for day in lived)
    assert {(one["source"]["provider"], one["source"]["type"], one["source"]["app_id"]) for one in nights} == {
        ("google_health", "watch", "fitbit")
    }
    activity = api.get(f"/v2/summary/activity/{connection.user_id}", DAYS).json()["activity"]
    walked = {day.on.isoformat(): sum(slot.steps for slot in day.slots) for day in lived}
    assert {one["calendar_date"]: one["steps"] for one in activity} == walked
    pulled = api.get("/v2/introspect/historical_pull", {"user_id": str(connection.user_id)}).json()["data"]
    ((_, told),) = pulled[0]["provider"].items()
    # What came is found under the slug that was connected, or these would be nought.
    assert all(one["days_with_data"] > 0 for one in told["pulled"].values())
    assert told["not_pulled"] == []


def test_again_is_nothing_new(team: Tenant, api: ApiClient) -> None:
    connection = linked(team)
    run_all(team)
    path = f"/v2/summary/workouts/{connection.user_id}"
    before = api.get(path, DAYS).json()
    connected(team, connection_user(connection), "google_health", Person(ACCOUNT))
    run_all(team)
    assert api.get(path, DAYS).json() == before


def connection_user(connection: Connection) -> User:
    with team_scope(connection.context):
        return User.objects.get(pk=connection.user_id)


def test_a_consent_in_part_pulls_its_part(team: Tenant) -> None:
    others = [f"{_SCOPES}{name}.readonly" for name in ("activity_and_fitness", "health_metrics_and_measurements")]
    connection = linked(team, refuse=[*others, f"{_SCOPES}nutrition.readonly"])
    assert connection.scopes_granted == [SLEEP]
    assert run_all(team) == {"sleep": PullStatus.SUCCESS, "sleep_cycle": PullStatus.SUCCESS}


def test_a_grant_is_revoked_by_its_token(team: Tenant, simulator: Simulator) -> None:
    connection = linked(team)
    with team_scope(team.context):
        assert connection_disconnect(team=team.context, user_id=connection.user_id, provider="google_health")
        row = Revocation.objects.get()
    revocation_run(revocation_id=row.pk)
    with team_scope(team.context):
        row.refresh_from_db()
    assert (row.status, row.error_code) == ("done", "")
    assert simulator.count("google_health", "/{slug}/oauth/revoke") == 1


def subscriber(simulator: Simulator, payload: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """What Google answers the operator who makes the subscriber."""
    headers = {**JSON, "Authorization": "Bearer simulator-secret"}
    url = f"{simulator.url}/google_health/v4/projects/healthsvc/subscribers"
    status, _, body = call("POST", url, json.dumps(payload), headers)
    return status, json.loads(body)


def printed() -> dict[str, Any]:
    out = StringIO()
    call_command("google_health_subscriber", environment="sandbox", stdout=out)
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


def test_a_subscriber_is_verified_and_its_notices_owe_pulls(served: str, team: Tenant, simulator: Simulator) -> None:
    connection = linked(team)
    run_all(team)
    with team_scope(team.context):
        (hook,) = subscribed(connection)
    assert (hook.status, hook.topic, hook.connection_id) == (HookStatus.ACTIVE, "", None)
    payload = printed()
    assert payload["endpointUri"] == f"{served}/link/hook/google_health/{hook.pk}"
    wrong = {**payload, "endpointAuthorization": {"secret": "Bearer another"}}
    assert subscriber(simulator, wrong)[1]["error"]["status"] == "FAILED_PRECONDITION"
    elsewhere = {**payload, "endpointUri": f"{served}/healthz"}
    assert subscriber(simulator, elsewhere)[1]["error"]["status"] == "FAILED_PRECONDITION"
    assert subscriber(simulator, payload)[0] == 200
    assert delivered(simulator, "google_health", ACCOUNT, resource="sleep", day="2026-11-14") == [
        {"status": 204, "failure": ""}
    ]
    with team_scope(team.context):
        owed = {one.resource: (one.start_on, one.end_on) for one in Pull.objects.filter(status=PullStatus.SCHEDULED)}
    assert set(owed) == {"sleep", "sleep_cycle"}
    assert all(first <= date(2026, 11, 14) <= last for first, last in owed.values())
    assert run_all(team)["sleep"] == PullStatus.SUCCESS
    (notice,) = notices(simulator, "google_health", ACCOUNT, resource="steps")
    assert notice.bring(headers={"Authorization": "Bearer another"}).status_code == 403
    with team_scope(team.context):
        assert not Pull.objects.filter(status=PullStatus.SCHEDULED).exists()


@pytest.mark.parametrize("environment", ["sandbox", "production"])
def test_nobody_connected_is_no_address(environment: str) -> None:
    assert ProviderHook.objects.count() == 0
    with pytest.raises(CommandError, match="Connect somebody first"):
        call_command("google_health_subscriber", environment=environment)


def test_a_link_to_fitbit_says_what_to_connect_instead(production: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROVIDER_FITBIT_CLIENT_ID", "operator")
    monkeypatch.setenv("PROVIDER_FITBIT_CLIENT_SECRET", "hidden")
    with team_scope(production.context):
        token = link_token_create(team=production.context, user_id=user_make(production).id).token
    client = ApiClient(team_key=None)
    client.headers["x-service-link-token"] = token
    answer = client.get("/v2/link/provider/oauth/fitbit")
    assert answer.status_code == 400
    told = answer.json()["detail"]
    assert told["error_type"] == "INVALID_PROVIDER"
    assert told["error_message"] == (
        "This provider can't be connected here."
        " Its Web API was shut down. Connect Google Health (google_health) instead:"
        " it has the same accounts and devices."
    )
    other = client.get("/v2/link/provider/oauth/oura").json()["detail"]["error_message"]
    assert other == "This provider can't be connected here."
