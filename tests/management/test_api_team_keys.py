"""Team keys at the management address: shown once, masked afterwards, rotated with an overlap, ended at once."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from healthsvc.kernel import clock
from healthsvc.kernel.principal import Environment
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management import services
from management.keys import key_make
from management.models import Organisation, TeamKey
from tests import factories
from tests.clients import ApiClient
from tests.management.organising import base, locs, trail


@pytest.fixture
def path(organisation: Organisation) -> str:
    """Keys of the sandboxes in the United States."""
    return f"{base(organisation)}/team_api_keys/sandbox/us"


def _make(api: ApiClient, path: str, team: factories.Tenant, label: str = "New") -> dict[str, Any]:
    body: dict[str, Any] = api.post(path, {"label": label, "team_id": str(team.team.pk)}).json()
    return body


def _opens(text: str) -> bool:
    return ApiClient(team_key=text).get("/v2/user").status_code == 200


def test_a_key_is_shown_once(
    management_api: ApiClient, organisation: Organisation, team: factories.Tenant, path: str
) -> None:
    answer = management_api.post(path, {"label": " Backend ", "team_id": str(team.team.pk)})
    made = answer.json()
    assert (made["label"], made["team_id"], made["expires_at"], made["last_used_at"]) == (
        "Backend",
        str(team.team.pk),
        None,
        None,
    )
    assert answer["Cache-Control"] == "no-store"
    assert made["value"].startswith("sk_us_")
    assert _opens(made["value"])
    listed = management_api.get(path).json()["api_keys"]
    assert [key["label"] for key in listed] == ["Backend", "test"]
    head, tail = made["value"][: len("sk_us_12345678_")], made["value"][-4:]
    assert listed[0]["value"] == f"{head}…{tail}"
    assert {name: value for name, value in listed[0].items() if name not in ("value", "last_used_at")} == {
        name: value for name, value in made.items() if name not in ("value", "last_used_at")
    }
    ids = {"team_id": str(team.team.pk), "api_key_id": made["id"]}
    assert trail(organisation) == [("POST /v1/org/<org_id>/team_api_keys/<env>/<region>", ids)]


def test_a_repeated_request_makes_another_key_and_keeps_no_reply(
    management_api: ApiClient, team: factories.Tenant, path: str
) -> None:
    body = {"label": "New", "team_id": str(team.team.pk)}
    texts = {management_api.post(path, body, Idempotency_Key="once").json()["value"] for _ in range(2)}
    assert len(texts) == 2


def test_environments_and_regions_are_apart(
    management_api: ApiClient, organisation: Organisation, team: factories.Tenant, production: factories.Tenant
) -> None:
    nordic = factories.tenant_make(organisation, name="Nordic", region="eu")
    for environment, region, owner in (
        ("sandbox", "us", team),
        ("production", "us", production),
        ("sandbox", "eu", nordic),
    ):
        listed = management_api.get(f"{base(organisation)}/team_api_keys/{environment}/{region}").json()["api_keys"]
        assert [key["value"][:15] for key in listed] == [owner.key[:15]]
    wrong = f"{base(organisation)}/team_api_keys/sandbox/eu"
    refused = management_api.post(wrong, {"label": "x", "team_id": str(team.team.pk)})
    assert (refused.status_code, refused.json()["detail"]) == (404, "This team is in the region us: use …/sandbox/us.")
    for environment, region, found in (("staging", "us", ["env"]), ("x", "mars", ["env", "region"])):
        answer = management_api.get(f"{base(organisation)}/team_api_keys/{environment}/{region}")
        assert locs(answer) == [(["path", name], "enum") for name in found]


def test_a_cursor_walks_every_key_once(management_api: ApiClient, team: factories.Tenant, path: str) -> None:
    for number in range(60):
        services.team_key_create(team=team.team, environment=Environment.SANDBOX, label=str(number), created_by="test")
    first = management_api.get(path).json()
    second = management_api.get(path, {"next_cursor": first["next_cursor"]}).json()
    labels = [key["label"] for key in first["api_keys"] + second["api_keys"]]
    assert (labels, len(first["api_keys"])) == ([*map(str, range(59, -1, -1)), "test"], 50)
    assert second["next_cursor"] is None
    assert management_api.get(path, {"next_cursor": "x"}).status_code == 422


def test_keys_are_deleted_at_once_and_others_are_not_found(
    management_api: ApiClient, team: factories.Tenant, production: factories.Tenant, other_team: factories.Tenant,
    path: str,
) -> None:  # fmt: skip
    made = _make(management_api, path, team)
    with system_scope(SystemScope.STAFF):
        others = list(TeamKey.objects.exclude(team=team.team, environment="sandbox").values_list("pk", flat=True))
    assert len(others) == 2
    missing = [*map(str, others), str(uuid4())]
    url = f"{path}?" + "&".join(f"api_key_id={key}" for key in [made["id"], *missing, made["id"]])
    assert management_api.delete(url).json() == {"success": [made["id"]], "failure": [], "not_found": missing}
    assert not _opens(made["value"])
    assert [_opens(tenant.key) for tenant in (team, production, other_team)] == [True] * 3
    again = {"success": [], "failure": [], "not_found": [made["id"]]}
    assert management_api.delete(f"{path}?api_key_id={made['id']}").json() == again
    for query in ("", "?api_key_id=x", "?" + "&".join(f"api_key_id={uuid4()}" for _ in range(101))):
        assert management_api.delete(f"{path}{query}").status_code == 422


def test_a_rotated_key_lives_on_beside_the_new_one(
    management_api: ApiClient, team: factories.Tenant, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = _make(management_api, path, team, "Backend")
    new = management_api.post(f"{path}/{old['id']}/rotate", {"overlap_seconds": 3600}).json()
    assert (new["label"], new["team_id"], new["expires_at"]) == ("Backend", old["team_id"], None)
    assert (_opens(old["value"]), _opens(new["value"])) == (True, True)
    later = clock.now() + timedelta(seconds=3601)
    monkeypatch.setattr(clock, "now", lambda: later)
    assert (_opens(old["value"]), _opens(new["value"])) == (False, True)
    assert [key["id"] for key in management_api.get(path).json()["api_keys"] if key["label"] == "Backend"] == [
        new["id"]
    ]
    assert management_api.post(f"{path}/{old['id']}/rotate", {}).status_code == 404


def test_a_rotation_never_lengthens_a_life(management_api: ApiClient, team: factories.Tenant, path: str) -> None:
    ends = clock.now() + timedelta(minutes=5)
    made = services.team_key_create(
        team=team.team, environment=Environment.SANDBOX, label="short", created_by="test", expires_at=ends
    )
    new = management_api.post(f"{path}/{made.key_id}/rotate", {}).json()
    with team_scope(team.context):
        assert [TeamKey.objects.get(pk=pk).expires_at for pk in (made.key_id, new["id"])] == [ends, ends]
    assert management_api.post(f"{path}/{new['id']}/rotate", {"overlap_seconds": 0}).status_code == 200
    assert (_opens(made.text), _opens(new["value"])) == (True, False)


def test_a_key_has_one_successor(management_api: ApiClient, team: factories.Tenant, path: str) -> None:
    old = _make(management_api, path, team)
    rotate = f"{path}/{old['id']}/rotate"
    assert management_api.post(rotate, {}).status_code == 200
    keys = management_api.get(path).json()
    again = management_api.post(rotate, {"overlap_seconds": 0})
    assert (again.status_code, again.json()["detail"]) == (409, "This key has a successor already. Rotate that one.")
    assert management_api.get(path).json() == keys


def test_a_key_ends_when_it_was_asked_to(
    management_api: ApiClient, team: factories.Tenant, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = clock.now() + timedelta(hours=1)
    asked = {"label": "short", "team_id": str(team.team.pk), "expires_at": ends.isoformat()}
    made = management_api.post(path, asked).json()
    assert (made["expires_at"], _opens(made["value"])) == (clock.utc_text(ends), True)
    assert management_api.get(path).json()["api_keys"][0]["expires_at"] == clock.utc_text(ends)
    assert management_api.post(path, {**asked, "expires_at": None}).json()["expires_at"] is None
    monkeypatch.setattr(clock, "now", lambda: ends + timedelta(seconds=1))
    assert not _opens(made["value"])


@pytest.mark.parametrize(
    ("sent", "loc", "kind"),
    [
        ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at", "key_end_past"),
        ({"expires_at": "2120-01-01"}, "expires_at", "instant"),
        ({"expires_at": 4102444800}, "expires_at", "string_type"),
        ({"expiresAt": "2120-01-01T00:00:00Z"}, "expiresAt", "extra_forbidden"),
    ],
)
def test_a_bad_or_misspelt_end_makes_no_key(
    management_api: ApiClient, organisation: Organisation, team: factories.Tenant, path: str, sent: dict[str, Any],
    loc: str, kind: str,
) -> None:  # fmt: skip
    answer = management_api.post(path, {"label": "x", "team_id": str(team.team.pk), **sent})
    assert locs(answer) == [(["body", loc], kind)]
    assert len(management_api.get(path).json()["api_keys"]) == 1
    keys = f"{base(organisation)}/management_key"
    assert locs(management_api.post(keys, {"label": "x", "role": "org_admin", **sent})) == [(["body", loc], kind)]
    assert [key["label"] for key in management_api.get(keys).json()["data"]] == ["test", "first key"]


@pytest.mark.parametrize("seconds", [-1, 30 * 24 * 3600 + 1, "x", 1.5, True])
def test_a_bad_overlap_changes_nothing(
    management_api: ApiClient, team: factories.Tenant, path: str, seconds: object
) -> None:
    made = _make(management_api, path, team)
    answer = management_api.post(f"{path}/{made['id']}/rotate", {"overlap_seconds": seconds})
    assert locs(answer)[0][0] == ["body", "overlap_seconds"]
    assert len(management_api.get(path).json()["api_keys"]) == 2


@pytest.mark.parametrize("label", ["", "  ", "x" * 101, 5])
def test_bad_labels_are_named(management_api: ApiClient, team: factories.Tenant, path: str, label: object) -> None:
    answer = management_api.post(path, {"label": label, "team_id": str(team.team.pk)})
    assert locs(answer)[0][0] == ["body", "label"]


def test_keys_of_others_can_be_neither_made_nor_rotated(
    management_api: ApiClient, other_team: factories.Tenant, production: factories.Tenant, path: str
) -> None:
    assert management_api.post(path, {"label": "x", "team_id": str(other_team.team.pk)}).status_code == 404
    with system_scope(SystemScope.STAFF):
        rows = TeamKey.objects.all()
        theirs = rows.get(team=other_team.team)
        live = rows.get(environment="production")
        for key in (theirs, live):
            assert management_api.post(f"{path}/{key.pk}/rotate", {}).status_code == 404
        assert [row.expires_at for row in rows] == [None] * 3


def test_a_team_that_is_deleted_while_its_key_is_made_gets_none(
    management_api: ApiClient, team: factories.Tenant, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(prefix: str) -> Any:
        services.team_delete(team_id=team.team.pk)
        return key_make(prefix)

    monkeypatch.setattr("management.services.keys.key_make", late)
    assert management_api.post(path, {"label": "late", "team_id": str(team.team.pk)}).status_code == 404
    with team_scope(team.context):
        assert [key.label for key in TeamKey.objects.all()] == ["test"]
