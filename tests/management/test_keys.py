"""API keys: their form, who they open, and how they end."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from healthsvc.kernel import clock
from healthsvc.kernel.principal import Environment
from healthsvc.kernel.scope import SystemScope, system_scope
from management import services
from management.keys import key_make, key_read
from management.models import ManagementKey, Organisation, TeamKey
from tests import factories
from tests.clients import ApiClient


@pytest.mark.parametrize("prefix", ["sk_us", "pk_us", "sk_eu", "pk_eu", "mg"])
def test_a_key_reads_back_and_a_mistyped_one_does_not(prefix: str) -> None:
    made = key_make(prefix)
    shown = key_read(made.text)
    assert shown is not None
    assert (shown.prefix, shown.public_id, shown.secret_hash) == (prefix, made.public_id, made.secret_hash)
    assert made.text.startswith(f"{prefix}_")
    for position in range(len(prefix) + 1, len(made.text)):
        wrong = "x" if made.text[position] != "x" else "y"
        assert key_read(made.text[:position] + wrong + made.text[position + 1 :]) is None
    assert key_read(made.text + "\n") is None


def test_no_two_keys_are_alike() -> None:
    assert len({key_make("mg").text for _ in range(1000)}) == 1000


@pytest.mark.parametrize(
    ("environment", "region", "prefix"),
    [
        (Environment.SANDBOX, "us", "sk_us_"),
        (Environment.PRODUCTION, "us", "pk_us_"),
        (Environment.SANDBOX, "eu", "sk_eu_"),
        (Environment.PRODUCTION, "eu", "pk_eu_"),
    ],
)
def test_team_key_says_environment_and_region(
    organisation: Organisation, environment: Environment, region: str, prefix: str
) -> None:
    tenant = factories.tenant_make(organisation, region=region, environment=environment)
    assert tenant.key.startswith(prefix)


def test_the_secret_is_stored_nowhere(team: factories.Tenant) -> None:
    secret = team.key.split("_")[3]
    with connection.cursor() as cursor, system_scope(SystemScope.STAFF):
        cursor.execute("SELECT management_team_key::text FROM management_team_key")
        rows = cursor.fetchall()
    assert len(rows) == 1
    assert secret not in rows[0][0]
    assert secret.encode().hex() not in rows[0][0]


@pytest.mark.parametrize("header", ["X-Management-Key", "X-Service-Org-Key"])
def test_management_address_takes_both_headers(organisation: Organisation, header: str) -> None:
    client = ApiClient(at="management")
    client.headers[header] = factories.management_key_make(organisation)
    assert client.get(f"/v1/org/{organisation.id}/team").status_code == 200


def test_each_address_refuses_the_others_key(team: factories.Tenant, organisation: Organisation) -> None:
    management_key = factories.management_key_make(organisation)
    path = f"/v1/org/{organisation.id}/team"
    attempts = [
        (ApiClient(team_key=management_key), "/v2/user"),
        (ApiClient(at="team"), "/v2/user"),
        (ApiClient(management_key=team.key), path),
        (ApiClient(at="management"), path),
    ]
    with_team_header = ApiClient(team_key=team.key, at="management")
    with_management_header = ApiClient(at="team")
    with_management_header.headers["X-Management-Key"] = management_key
    for client, address in [*attempts, (with_team_header, path), (with_management_header, "/v2/user")]:
        response = client.get(address)
        assert (response.status_code, response.json()["code"]) == (401, "not_authenticated")


def test_management_routes_are_not_at_the_team_address(team: factories.Tenant, organisation: Organisation) -> None:
    assert ApiClient(team_key=team.key).get(f"/v1/org/{organisation.id}/team").status_code == 404
    client = ApiClient(management_key=factories.management_key_make(organisation))
    assert client.get("/v2/user").status_code == 404


@pytest.mark.parametrize("text", ["", "x", "sk_us_short", "sk_us_" + "A" * 200, "mg_\u00e9", "sk_us_a\tb"])
def test_nonsense_for_a_key_is_401(db: None, text: str) -> None:
    client = ApiClient()
    client.headers["x-service-api-key"] = text.encode().decode("latin-1")
    assert client.get("/v2/user").status_code == 401


def test_revoked_and_expired_keys_are_refused(api: ApiClient, team: factories.Tenant) -> None:
    second = services.team_key_create(
        team=team.team, environment=Environment.SANDBOX, label="second", created_by="test"
    )
    expired = services.team_key_create(
        team=team.team,
        environment=Environment.SANDBOX,
        label="expired",
        created_by="test",
        expires_at=clock.now() - timedelta(seconds=1),
    )
    assert api.get("/v2/user").status_code == 200
    assert ApiClient(team_key=second.text).get("/v2/user").status_code == 200
    assert ApiClient(team_key=expired.text).get("/v2/user").status_code == 401
    services.key_revoke(key_id=second.key_id)
    assert ApiClient(team_key=second.text).get("/v2/user").status_code == 401
    assert api.get("/v2/user").status_code == 200


def test_last_use_is_written_at_most_once_a_minute(api: ApiClient, organisation: Organisation) -> None:
    def writes() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert api.get("/v2/user").status_code == 200
        return sum(query["sql"].startswith('UPDATE "management_team_key"') for query in captured)

    assert [writes(), writes(), writes()] == [1, 0, 0]
    with system_scope(SystemScope.STAFF):
        TeamKey.objects.update(last_used_at=clock.now() - timedelta(seconds=61))
    assert [writes(), writes()] == [1, 0]
    assert ManagementKey.objects.filter(last_used_at=None).count() == 1
