"""What a team is told about itself: GET /v2/team/{team_id} and GET /v2/user/metrics."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from healthsvc.kernel import clock
from healthsvc.kernel.rows import team_values
from healthsvc.kernel.scope import team_scope
from links.brand import team_logo_url
from links.models import Connection
from management.models import TeamLogo, TeamSettings
from management.services import team_logo_set, team_settings_change
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.links.granting import stored
from users.metrics import week_starts
from users.models import User

#: A Thursday.
NOW = datetime(2026, 3, 19, 15, 30, tzinfo=UTC)


def test_a_team_reads_itself_without_any_secret(api: ApiClient, team: Tenant) -> None:
    answer = api.get(f"/v2/team/{team.team.id}")
    assert answer.json() == {
        "id": str(team.team.id),
        "org_id": str(team.team.organisation_id),
        "name": "Our team",
        "svix_app_id": None,
        "client_id": "",
        "client_secret": "",
        "airtable_api_key": "",
        "airtable_base_id": "",
        "webhook_secret": "",
        "api_key": "",
        "api_keys": None,
        "configuration": {
            "libreview": {"practice_id": None, "strip_tz": False},
            "texts_enabled": True,
            "push_historical_data": False,
            "provider_raw_data": False,
            "reject_duplicate_connection": False,
            "sdk_per_device_activity_timeseries": False,
            "partial_webhooks_enabled": False,
            "minor_ordering_enabled": False,
            "eds_preferences": {"preferred": "svix", "enabled": ["svix"]},
            "event_type_prefixes": None,
        },
        "testkits_texts_enabled": True,
        "lab_tests_patient_communication_enabled": True,
        "lab_tests_patient_sms_communication_enabled": True,
        "lab_tests_patient_email_communication_enabled": True,
        "logo_url": None,
        "delegated_flow": "order_and_results_with_customer_physician_network",
        "critical_result_notification_email": None,
    }
    assert team.key not in answer.content.decode()


def test_its_switches_are_those_of_the_keys_environment(api: ApiClient, team: Tenant, production: Tenant) -> None:
    with team_scope(production.context):
        TeamSettings.objects.create(
            **team_values(production.context),
            duplicate_account_policy="refuse",
            event_type_prefixes=["daily.data."],
            minor_ordering_enabled=True,
            partial_webhooks_enabled=True,
            sdk_per_device_activity_timeseries=True,
            lab_tests_patient_sms_communication_enabled=False,
            logo_url="https://app.example/logo.png",
            critical_result_notification_email="lab@app.example",
        )
    there = ApiClient(team_key=production.key).get(f"/v2/team/{team.team.id}").json()
    switches = there["configuration"]
    assert switches["event_type_prefixes"] == ["daily.data."]
    on = ("reject_duplicate_connection", "minor_ordering_enabled", "partial_webhooks_enabled")
    assert [switches[name] for name in (*on, "sdk_per_device_activity_timeseries")] == [True] * 4
    assert (switches["texts_enabled"], there["testkits_texts_enabled"]) == (False, False)
    assert there["lab_tests_patient_communication_enabled"] is True
    assert (there["logo_url"], there["critical_result_notification_email"]) == (
        "https://app.example/logo.png",
        "lab@app.example",
    )
    assert api.get(f"/v2/team/{team.team.id}").json()["configuration"]["minor_ordering_enabled"] is False


def test_its_logo_is_the_one_that_pages_show(api: ApiClient, team: Tenant) -> None:
    path = f"/v2/team/{team.team.id}"
    team_settings_change(team=team.context, changes={"logo_url": "https://app.example/logo.png"})
    assert api.get(path).json()["logo_url"] == "https://app.example/logo.png"
    team_logo_set(team=team.context, content=b"\xff\xd8\xff\xe0 a picture")
    shown = api.get(path).json()["logo_url"]
    with team_scope(team.context):
        assert shown == team_logo_url(team.context)
        assert str(TeamLogo.objects.get().pk) in shown


def test_another_team_is_as_a_missing_one(api: ApiClient, other_team: Tenant) -> None:
    answers = [api.get(f"/v2/team/{one}") for one in (other_team.team.id, UUID(int=7))]
    assert [answer.status_code for answer in answers] == [404, 404]
    first, second = ({**answer.json(), "request_id": ""} for answer in answers)
    assert first == second


def test_weeks_begin_on_mondays_in_utc() -> None:
    starts = week_starts(NOW)
    assert len(starts) == 12
    assert starts[-1] == datetime(2026, 3, 16, tzinfo=UTC)
    assert {later - earlier for earlier, later in pairwise(starts)} == {timedelta(weeks=1)}
    assert week_starts(datetime(2026, 3, 16, tzinfo=UTC))[-1] == datetime(2026, 3, 16, tzinfo=UTC)
    assert week_starts(datetime(2026, 3, 15, 23, 59, tzinfo=UTC))[-1] == datetime(2026, 3, 9, tzinfo=UTC)


def test_a_new_team_has_figures_of_nothing(api: ApiClient, team: Tenant) -> None:
    body = api.get("/v2/user/metrics").json()
    weeks = body.pop("number_of_connected_sources_by_week")
    assert body == {
        "team_id": str(team.team.id),
        "number_of_users": 0,
        "number_of_connected_sources": 0,
        "number_of_errored_connected_sources": 0,
        "number_of_ordered_tests": 0,
    }
    assert len(weeks) == 12
    assert {(week["value"], week["all"]) for week in weeks} == {(0.0, 0.0)}


def connection_of(tenant: Tenant, provider: str, made_on: str, ended_on: str | None = None) -> Connection:
    """A connection of a user of its own that began and ended on these days."""
    made = stored(tenant, user_make(tenant), provider=provider, external_user_id=f"{provider}-{made_on}")
    ended_at = datetime.fromisoformat(f"{ended_on}T00:00:00+00:00") if ended_on else None
    with team_scope(tenant.context):
        Connection.objects.filter(pk=made.pk).update(
            created_at=datetime.fromisoformat(f"{made_on}T00:00:00+00:00"), disconnected_at=ended_at
        )
    return made


def test_figures_by_week(
    api: ApiClient, team: Tenant, other_team: Tenant, production: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection_of(team, "oura", "2024-05-01")
    connection_of(team, "oura", "2025-12-31", "2026-03-02")
    connection_of(team, "oura", "2026-03-09", "2026-03-10")
    connection_of(team, "oura", "2026-03-15")
    broken = connection_of(team, "oura", "2026-03-16")
    with team_scope(team.context):
        Connection.objects.filter(pk=broken.pk).update(
            status="error", error_type="token_refresh_failed", errored_at=NOW
        )
        User.objects.filter(pk=broken.user_id).update(deleted_at=NOW)
    for other in (other_team, production):
        connection_of(other, "oura", "2026-03-16")
    monkeypatch.setattr(clock, "now", lambda: NOW)
    body = api.get("/v2/user/metrics").json()
    assert body["number_of_users"] == 4
    assert body["number_of_connected_sources"] == 3
    assert body["number_of_errored_connected_sources"] == 1
    weeks = body["number_of_connected_sources_by_week"]
    assert [(week["date"][:10], week["value"], week["all"]) for week in weeks] == [
        ("2025-12-29", 1.0, 2.0),
        *((day, 0.0, 2.0) for day in ("2026-01-05", "2026-01-12", "2026-01-19", "2026-01-26", "2026-02-02")),
        *((day, 0.0, 2.0) for day in ("2026-02-09", "2026-02-16")),
        ("2026-02-23", 0.0, 2.0),
        ("2026-03-02", 0.0, 1.0),
        ("2026-03-09", 2.0, 2.0),
        ("2026-03-16", 1.0, 3.0),
    ]


@pytest.mark.parametrize("connections", [1, 5])
def test_figures_cost_the_same_queries_for_any_number(api: ApiClient, team: Tenant, connections: int) -> None:
    for number in range(connections):
        connection_of(team, "oura", f"2026-03-0{number + 1}")
    api.get("/v2/user/metrics")
    with CaptureQueriesContext(connection) as captured:
        api.get("/v2/user/metrics")
    # key, connections, users, audit
    assert len(captured) == 4, [query["sql"] for query in captured]
