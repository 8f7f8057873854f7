"""Operator commands."""

import base64
from datetime import date
from io import StringIO
from pathlib import Path
from typing import Any

import orjson
import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from healthsvc.kernel.scope import team_scope
from management.models import Organisation, StaffUser, Team
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from users.models import User


def run(name: str, *arguments: str) -> dict[str, Any]:
    """A command's `--json` answer."""
    out = StringIO()
    call_command(name, *arguments, "--json", stdout=out)
    answer: dict[str, Any] = orjson.loads(out.getvalue())
    return answer


def test_from_nothing_to_a_call(db: None) -> None:
    organisation = run("org_create", "--name", "Acme")
    team = run("team_create", "--org", organisation["org_id"], "--name", "Acme EU", "--region", "eu")
    assert team["org_id"] == organisation["org_id"]
    assert team["api_key"].startswith("sk_eu_")
    assert ApiClient(team_key=team["api_key"]).get("/v2/user").status_code == 200
    listed = ApiClient(management_key=organisation["management_key"]).get(f"/v1/org/{organisation['org_id']}/team")
    assert [item["id"] for item in listed.json()["teams"]] == [team["team_id"]]


def test_keys_rotate(team: Tenant) -> None:
    team_id = str(team.team.id)
    new = run("key_create", "--team", team_id, "--label", "next", "--environment", "sandbox")
    for key in (team.key, new["api_key"]):
        assert ApiClient(team_key=key).get("/v2/user").status_code == 200
    rows = run("key_list", "--team", team_id)["keys"]
    assert [row["label"] for row in rows] == ["test", "next"]
    assert new["api_key"] not in str(rows)
    assert run("key_revoke", rows[0]["key_id"]) == {"key_id": rows[0]["key_id"], "revoked": True}
    assert ApiClient(team_key=team.key).get("/v2/user").status_code == 401
    assert ApiClient(team_key=new["api_key"]).get("/v2/user").status_code == 200
    with pytest.raises(CommandError, match="revoked already"):
        run("key_revoke", rows[0]["key_id"])


def test_production_and_management_keys(team: Tenant, organisation: Organisation) -> None:
    live = run("key_create", "--team", str(team.team.id), "--label", "live", "--environment", "production")
    assert live["api_key"].startswith("pk_us_")
    bound = run(
        "key_create", "--org", str(organisation.id), "--label", "bound", "--role", "team_admin",
        "--bind-team", str(team.team.id),
    )  # fmt: skip
    assert bound["management_key"].startswith("mg_")
    kinds = {row["kind"] for row in run("key_list", "--org", str(organisation.id))["keys"]}
    assert kinds == {"sandbox", "production", "org_admin", "team_admin"}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("org_create", ["--name", ""]),
        ("org_create", ["--name", "a<b"]),
        ("team_create", ["--org", "x", "--name", "a", "--region", "us"]),
        ("team_create", ["--org", "00000000-0000-4000-8000-000000000000", "--name", "a", "--region", "us"]),
        ("key_create", ["--team", "00000000-0000-4000-8000-000000000000", "--label", "x"]),
        ("key_create", ["--org", "00000000-0000-4000-8000-000000000000", "--label", "x"]),
        ("key_revoke", ["00000000-0000-4000-8000-000000000000"]),
    ],
)
def test_refusals_are_sentences_and_change_nothing(db: None, name: str, arguments: list[str]) -> None:
    with pytest.raises(CommandError):
        run(name, *arguments)
    assert (Organisation.objects.count(), Team.objects.count()) == (0, 0)


def test_team_create_refuses_an_unknown_region(organisation: Organisation) -> None:
    with pytest.raises(CommandError, match="us, eu"):
        run("team_create", "--org", str(organisation.id), "--name", "a", "--region", "mars")


def test_bootstrap_makes_the_demo_once(db: None, settings: Settings, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path / "data"
    first, second = StringIO(), StringIO()
    call_command("bootstrap", stdout=first)
    call_command("bootstrap", stdout=second)
    kept = orjson.loads((tmp_path / "data" / "demo.json").read_bytes())
    assert (tmp_path / "data" / "demo.json").stat().st_mode & 0o777 == 0o600
    assert ApiClient(team_key=kept["api_key"]).get("/v2/user").status_code == 200
    assert kept["management_key"] in first.getvalue()
    assert second.getvalue() == ""
    assert StaffUser.objects.filter(is_superuser=True).count() == 1


def test_openapi_snapshot_is_as_kept() -> None:
    out = StringIO()
    call_command("openapi_snapshot", "--check", stdout=out)
    assert "as kept" in out.getvalue()


def test_encryption_rotates_to_the_first_key(team: Tenant, settings: Settings) -> None:
    for number in range(3):
        user_make(team, fallback_birth_date=date(1980, 1, 1 + number))
    old = settings.FIELD_ENCRYPTION_KEYS
    new = f"k2:{base64.b64encode(bytes(range(32))).decode()}"
    settings.FIELD_ENCRYPTION_KEYS = f"{new},{old}"
    assert run("encryption_rotate")["users_user.fallback_birth_date"] == 3
    assert run("encryption_rotate")["users_user.fallback_birth_date"] == 0
    settings.FIELD_ENCRYPTION_KEYS = new
    with team_scope(team.context):
        born = User.objects.order_by("created_at").values_list("fallback_birth_date", flat=True)
        assert [str(day) for day in born] == ["1980-01-01", "1980-01-02", "1980-01-03"]
