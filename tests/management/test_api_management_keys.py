"""Management keys at the management address: roles, teams, rotation, and the last one of an organisation."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection

from healthsvc.kernel import clock
from management import services
from management.models import ManagementKey, Organisation
from tests import factories
from tests.clients import ApiClient
from tests.management.organising import base, locs, meanwhile, trail


@pytest.fixture
def path(organisation: Organisation) -> str:
    """The organisation's keys."""
    return f"{base(organisation)}/management_key"


@pytest.fixture
def first(organisation: Organisation) -> ManagementKey:
    """The key that came with the organisation."""
    return ManagementKey.objects.get(organisation=organisation, label="first key")


def test_a_key_is_shown_once_and_opens_what_its_role_says(
    management_api: ApiClient, organisation: Organisation, team: factories.Tenant, path: str
) -> None:
    factories.tenant_make(organisation, name="Hidden")
    bindings = [{"team_id": str(team.team.pk)}]
    made = management_api.post(path, {"label": "Ops", "role": "team_admin", "team_role_bindings": bindings * 2}).json()
    assert made == {
        "id": made["id"],
        "label": "Ops",
        "created_at": made["created_at"],
        "creator": {"type": "management_key"},
        "role": "team_admin",
        "team_role_bindings": bindings,
        "expires_at": None,
        "last_used_at": None,
        "key": made["key"],
    }
    assert made["key"].startswith("mg_")
    listed = management_api.get(path).json()
    assert listed["data"][0] == {name: value for name, value in made.items() if name != "key"}
    assert made["key"][15:] not in str(listed)
    client = ApiClient(management_key=made["key"])
    assert [item["name"] for item in client.get(f"{base(organisation)}/team").json()["teams"]] == ["Our team"]
    with connection.cursor() as cursor:
        cursor.execute("SELECT management_management_key::text FROM management_management_key")
        assert made["key"].split("_")[2] not in str(cursor.fetchall())
    assert trail(organisation) == [("POST /v1/org/<org_id>/management_key", {"key_id": made["id"]})]


def test_keys_are_listed_by_role_and_team(
    management_api: ApiClient, organisation: Organisation, team: factories.Tenant, path: str
) -> None:
    factories.management_key_make(organisation, label="bound", role="team_admin", team_ids=[team.team.pk])

    def labels(**query: object) -> list[str]:
        return [key["label"] for key in management_api.get(path, query).json()["data"]]

    assert labels() == ["bound", "test", "first key"]
    assert labels(role="org_admin") == ["test", "first key"]
    assert labels(team_id=str(team.team.pk)) == ["bound"]
    assert labels(team_id=str(uuid4())) == []
    assert management_api.get(path, {"role": "owner"}).status_code == 422


def test_a_cursor_walks_every_key_once(management_api: ApiClient, organisation: Organisation, path: str) -> None:
    for number in range(55):
        factories.management_key_make(organisation, label=str(number))
    page = management_api.get(path).json()
    rest = management_api.get(path, {"next_cursor": page["next_cursor"]}).json()
    labels = [key["label"] for key in page["data"] + rest["data"]]
    assert labels == [*map(str, range(54, -1, -1)), "test", "first key"]
    assert (len(page["data"]), rest["next_cursor"]) == (50, None)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"role": "owner"}, "enum"),
        ({"role": "team_admin"}, "too_short"),
        ({"role": "team_admin", "team_role_bindings": []}, "too_short"),
        ({"role": "team_admin", "team_role_bindings": None}, "too_short"),
        ({"role": "team_admin", "team_role_bindings": [{"team_id": "{theirs}"}]}, "team_unknown"),
        ({"role": "team_admin", "team_role_bindings": [{"team_id": "{deleted}"}]}, "team_unknown"),
        ({"role": "org_admin", "team_role_bindings": [{"team_id": "{ours}"}]}, "role_bindings"),
        ({"role": "org_admin", "label": " "}, "string_too_short"),
        ({"role": "org_admin", "team_role_bindings": ["x"]}, "value_error"),
    ],
)
def test_bad_keys_are_refused_and_not_made(
    management_api: ApiClient, organisation: Organisation, team: factories.Tenant, other_team: factories.Tenant,
    path: str, body: dict[str, Any], kind: str,
) -> None:  # fmt: skip
    deleted = factories.tenant_make(organisation, name="Deleted")
    services.team_delete(team_id=deleted.team.pk)
    ids = {"{ours}": team.team.pk, "{theirs}": other_team.team.pk, "{deleted}": deleted.team.pk}
    bindings = [
        {"team_id": str(ids[item["team_id"]])} if isinstance(item, dict) else item
        for item in body.get("team_role_bindings") or []
    ]
    sent = {"label": "New", **body, **({"team_role_bindings": bindings} if bindings else {})}
    answer = management_api.post(path, sent)
    assert [found for _loc, found in locs(answer)] == [kind]
    assert ManagementKey.objects.filter(organisation=organisation).count() == 2


def test_a_key_ends_when_it_was_asked_to(
    management_api: ApiClient, organisation: Organisation, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = clock.now() + timedelta(hours=1)
    made = management_api.post(path, {"label": "New", "role": "org_admin", "expires_at": ends.isoformat()}).json()
    client = ApiClient(management_key=made["key"])
    assert (made["expires_at"], client.get(base(organisation)).status_code) == (clock.utc_text(ends), 200)
    assert management_api.get(path).json()["data"][0]["expires_at"] == clock.utc_text(ends)
    monkeypatch.setattr(clock, "now", lambda: ends + timedelta(seconds=1))
    assert client.get(base(organisation)).status_code == 401


def test_a_patch_changes_label_and_teams_and_never_the_role(
    management_api: ApiClient, organisation: Organisation, team: factories.Tenant, path: str
) -> None:
    second = factories.tenant_make(organisation, name="Second")
    text = factories.management_key_make(organisation, label="bound", role="team_admin", team_ids=[team.team.pk])
    key = ManagementKey.objects.get(label="bound")
    to_second = [{"team_id": str(second.team.pk)}]
    changed = management_api.patch(
        f"{path}/{key.pk}", {"label": "Moved", "team_role_bindings": to_second, "role": "org_admin"}
    ).json()
    assert (changed["label"], changed["role"], changed["team_role_bindings"]) == ("Moved", "team_admin", to_second)
    names = ApiClient(management_key=text).get(f"{base(organisation)}/team").json()["teams"]
    assert [item["name"] for item in names] == ["Second"]
    assert management_api.patch(f"{path}/{key.pk}", {"label": None, "team_role_bindings": None}).json() == {
        **changed,
        "last_used_at": management_api.get(path).json()["data"][0]["last_used_at"],
    }
    assert locs(management_api.patch(f"{path}/{key.pk}", {"team_role_bindings": []}))[0][1] == "too_short"


def test_an_org_admin_key_has_no_teams(
    management_api: ApiClient, team: factories.Tenant, path: str, first: ManagementKey
) -> None:
    bindings = [{"team_id": str(team.team.pk)}]
    answer = management_api.patch(f"{path}/{first.pk}", {"label": "New", "team_role_bindings": bindings})
    assert locs(answer) == [(["body", "team_role_bindings"], "role_bindings")]
    first.refresh_from_db()
    assert (first.label, first.team_ids) == ("first key", [])
    assert management_api.patch(f"{path}/{first.pk}", {"team_role_bindings": []}).status_code == 200


def test_keys_of_another_organisation_are_missing(
    management_api: ApiClient, other_team: factories.Tenant, path: str
) -> None:
    theirs = ManagementKey.objects.get(organisation=other_team.team.organisation)
    for key_id in (theirs.pk, uuid4()):
        for method, address in (("PATCH", ""), ("DELETE", ""), ("POST", "/rotate")):
            body: dict[str, str] | None = None if method == "DELETE" else {}
            assert management_api.request(method, f"{path}/{key_id}{address}", json=body).status_code == 404
    theirs.refresh_from_db()
    assert (theirs.revoked_at, theirs.expires_at) == (None, None)


def test_a_deleted_key_opens_nothing(
    management_api: ApiClient, organisation: Organisation, path: str, first: ManagementKey
) -> None:
    text = factories.management_key_make(organisation, label="going")
    going = ManagementKey.objects.get(label="going")
    assert management_api.delete(f"{path}/{going.pk}").json()["label"] == "going"
    assert ApiClient(management_key=text).get(base(organisation)).status_code == 401
    assert management_api.delete(f"{path}/{going.pk}").status_code == 404
    assert [key["label"] for key in management_api.get(path).json()["data"]] == ["test", "first key"]


def test_the_last_org_admin_key_stays(
    management_api: ApiClient, organisation: Organisation, team: factories.Tenant, path: str, first: ManagementKey
) -> None:
    ours = ManagementKey.objects.get(label="test")
    factories.management_key_make(organisation, label="bound", role="team_admin", team_ids=[team.team.pk])
    assert management_api.delete(f"{path}/{first.pk}").status_code == 200
    refused = management_api.delete(f"{path}/{ours.pk}")
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert management_api.get(base(organisation)).status_code == 200
    factories.management_key_make(organisation, label="passing", expires_at=clock.now() + timedelta(seconds=60))
    # One that ends soon is no successor of one that does not.
    assert management_api.delete(f"{path}/{ours.pk}").status_code == 409
    passing = ManagementKey.objects.get(label="passing")
    assert management_api.delete(f"{path}/{passing.pk}").status_code == 200
    factories.management_key_make(organisation, label="successor")
    assert management_api.delete(f"{path}/{ours.pk}").status_code == 200
    assert management_api.get(base(organisation)).status_code == 401


@pytest.mark.django_db(transaction=True)
def test_two_keys_can_not_delete_each_other(organisation: Organisation, monkeypatch: pytest.MonkeyPatch) -> None:
    factories.management_key_make(organisation, label="second")
    first, second = ManagementKey.objects.order_by("pk").values_list("pk", flat=True)
    save, others = ManagementKey.save, []

    def delete(key_id: UUID) -> None:
        services.management_key_delete(organisation_id=organisation.pk, key_id=key_id)

    def late(row: ManagementKey, **values: Any) -> None:
        """The sibling was seen, this key is about to end."""
        monkeypatch.setattr(ManagementKey, "save", save)
        others.append(meanwhile(lambda: delete(second)))
        save(row, **values)

    monkeypatch.setattr(ManagementKey, "save", late)
    delete(first)
    assert [ended() for ended in others] == ["conflict"]
    assert [key.pk for key in ManagementKey.objects.filter(revoked_at=None)] == [second]


def test_a_key_rotates_itself_with_an_overlap(
    organisation: Organisation, path: str, first: ManagementKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = factories.management_key_make(organisation, label="robot")
    robot = ManagementKey.objects.get(label="robot")
    old = ApiClient(management_key=text)
    made = old.post(f"{path}/{robot.pk}/rotate", {"overlap_seconds": 600}).json()
    new = ApiClient(management_key=made["key"])
    assert (made["label"], made["role"], made["expires_at"]) == ("robot", "org_admin", None)
    assert [client.get(base(organisation)).status_code for client in (old, new)] == [200, 200]
    later = clock.now() + timedelta(seconds=601)
    monkeypatch.setattr(clock, "now", lambda: later)
    assert [client.get(base(organisation)).status_code for client in (old, new)] == [401, 200]


def test_a_successor_keeps_its_predecessors_end_and_is_the_only_one(
    organisation: Organisation, management_api: ApiClient, path: str
) -> None:
    ends = clock.now() + timedelta(hours=1)
    old = services.management_key_create(
        organisation_id=organisation.pk, label="short", created_by="test", expires_at=ends
    )
    made = management_api.post(f"{path}/{old.key_id}/rotate", {"overlap_seconds": 600}).json()
    assert ManagementKey.objects.get(pk=made["id"]).expires_at == ends
    again = management_api.post(f"{path}/{old.key_id}/rotate", {})
    assert (again.status_code, again.json()["detail"]) == (409, "This key has a successor already. Rotate that one.")
    assert ManagementKey.objects.filter(label="short").count() == 2
