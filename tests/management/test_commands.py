"""Operator commands."""

import base64
from datetime import date
from io import StringIO
from pathlib import Path
from typing import Any

import orjson
import pytest
import time_machine
from django.core.management import CommandError, call_command
from django.db import connection
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

from healthsvc.kernel import clock
from healthsvc.kernel.rows import team_values
from healthsvc.kernel.scope import team_scope
from management import files
from management.encryption import sealed_columns
from management.models import Organisation, StaffUser, Team
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from users.models import User
from webhooks.models import Attempt, Delivery, Endpoint, Event

NOW = clock.now()
NEW_KEY = f"k2:{base64.b64encode(bytes(range(32))).decode()}"


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


@pytest.mark.parametrize("owner", ["--team", "--org"])
def test_a_key_may_end_with_a_day(team: Tenant, owner: str) -> None:
    owner_id = str(team.team.id if owner == "--team" else team.team.organisation_id)
    with time_machine.travel("2026-03-01T12:00:00Z"):
        made = run("key_create", owner, owner_id, "--label", "short", "--expires-on", "2026-03-01")
        with pytest.raises(CommandError, match="over"):
            run("key_create", owner, owner_id, "--label", "late", "--expires-on", "2026-02-28")
        for text in ("1 March", "2026-3", "20260301"):
            with pytest.raises(CommandError, match="YYYY-MM-DD"):
                run("key_create", owner, owner_id, "--label", "odd", "--expires-on", text)
    expiries = {row["key_id"]: row["expires_at"] for row in run("key_list", owner, owner_id)["keys"]}
    assert expiries.pop(made["key_id"]) == "2026-03-01T23:59:59+00:00"
    assert set(expiries.values()) == {None}
    client, path = (
        (ApiClient(team_key=made["api_key"]), "/v2/user")
        if owner == "--team"
        else (ApiClient(management_key=made["management_key"]), f"/v1/org/{owner_id}/team")
    )
    for moment, status in (("2026-03-01T23:59:58Z", 200), ("2026-03-02T00:00:00Z", 401)):
        with time_machine.travel(moment):
            assert client.get(path).status_code == status


def _rotated() -> dict[str, tuple[int, int]]:
    """Values sealed again and values that remain, by column."""
    return {
        row["column"]: (row["sealed_again"], row["remaining"])
        for row in run(
            "encryption_rotate",
        )["columns"]
    }


def test_every_sealed_column_can_be_sealed_again(db: None, settings: Settings) -> None:
    columns = list(sealed_columns())
    assert {"webhooks_attempt.answer_excerpt", "links_connection.access_token"} <= {item.place for item in columns}
    with connection.cursor() as cursor:
        for column in columns:
            cursor.execute(
                "SELECT c.relrowsecurity AND NOT EXISTS (SELECT FROM pg_policies p WHERE p.tablename = c.relname"
                " AND p.cmd IN ('UPDATE', 'ALL') AND p.qual LIKE '%%purge%%')"
                " FROM pg_class c WHERE c.oid = %s::regclass",
                [column.table],
            )
            assert cursor.fetchone() == (False,), column.place


def test_rotation_reaches_the_log_of_attempts(team: Tenant, settings: Settings) -> None:
    user_make(team, fallback_birth_date=date(1980, 1, 1))
    with team_scope(team.context):
        endpoint = Endpoint.objects.create(
            **team_values(team.context), url="https://a.example", secret="s", created_at=NOW, updated_at=NOW
        )
        event = Event.objects.create(**team_values(team.context), event_type="a", body="{}", created_at=NOW)
        delivery = Delivery.objects.create(
            **team_values(team.context), event=event, endpoint=endpoint, created_at=NOW, next_attempt_at=NOW
        )
        Attempt.objects.create(
            **team_values(team.context), delivery=delivery, endpoint=endpoint, event_type=event.event_type,
            number=1, attempted_at=NOW, duration_milliseconds=1,
            answer_excerpt="oops",
        )  # fmt: skip
    settings.FIELD_ENCRYPTION_KEYS = f"{NEW_KEY},{settings.FIELD_ENCRYPTION_KEYS}"
    rotated = _rotated()
    for place in ("webhooks_attempt.answer_excerpt", "webhooks_event.body", "users_user.fallback_birth_date"):
        assert rotated[place] == (1, 0), place
    settings.FIELD_ENCRYPTION_KEYS = NEW_KEY
    with team_scope(team.context):
        assert Attempt.objects.get().answer_excerpt == "oops"
        assert Attempt.objects.update(error="forged") == 0
        # Nobody has its key any more once this test is over.
        Event.objects.update(body=None)


def test_what_could_not_be_sealed_again_is_counted(
    team: Tenant, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_make(team, fallback_birth_date=date(1980, 1, 1))
    settings.FIELD_ENCRYPTION_KEYS = f"{NEW_KEY},{settings.FIELD_ENCRYPTION_KEYS}"
    monkeypatch.setattr("management.encryption._row_rotate", lambda *_: 0)
    assert _rotated()["users_user.fallback_birth_date"] == (0, 1)


def test_files_are_sealed_again(
    in_team: Tenant, settings: Settings, tmp_path: Path,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:  # fmt: skip
    settings.STORAGES = {
        **settings.STORAGES, "default": {**settings.STORAGES["default"], "OPTIONS": {"location": str(tmp_path)}}
    }  # fmt: skip
    kept, lost = (
        files.file_store(team=in_team.context, user_id=None, purpose="test", chunks=iter([b"report"])) for _ in range(2)
    )
    (tmp_path / lost.storage_name).unlink()
    settings.FIELD_ENCRYPTION_KEYS = f"{NEW_KEY},{settings.FIELD_ENCRYPTION_KEYS}"
    with django_capture_on_commit_callbacks(execute=True):
        first = run("encryption_rotate")
    assert (first["files_sealed_again"], first["files_under_old_keys"]) == (1, 1)
    assert run("encryption_rotate")["files_sealed_again"] == 0
    settings.FIELD_ENCRYPTION_KEYS = NEW_KEY
    # `kept` still says the old name, as a worker's would that read the row before.
    assert b"".join(files.file_chunks(kept)) == b"report"
    assert [path.is_file() for path in tmp_path.glob("*/*")] == [True]


def test_encryption_rotates_to_the_first_key(team: Tenant, settings: Settings) -> None:
    for number in range(3):
        user_make(team, fallback_birth_date=date(1980, 1, 1 + number))
    old = settings.FIELD_ENCRYPTION_KEYS
    new = NEW_KEY
    settings.FIELD_ENCRYPTION_KEYS = f"{new},{old}"
    assert _rotated()["users_user.fallback_birth_date"] == (3, 0)
    assert _rotated()["users_user.fallback_birth_date"] == (0, 0)
    settings.FIELD_ENCRYPTION_KEYS = new
    with team_scope(team.context):
        born = User.objects.order_by("created_at").values_list("fallback_birth_date", flat=True)
        assert [str(day) for day in born] == ["1980-01-01", "1980-01-02", "1980-01-03"]
