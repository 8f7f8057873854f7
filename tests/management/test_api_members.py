"""Members of an organisation and its invitations."""

from typing import Any
from uuid import uuid4

import pytest

from healthsvc.kernel.errors import ServiceError
from management import services
from management.models import Invite, Member, Organisation
from tests import factories
from tests.clients import ApiClient
from tests.management.organising import base, locs, meanwhile, together, trail


def _member(organisation: Organisation, name: str, **values: Any) -> Member:
    values = {"email": f"{name.lower()}@acme.example", "role": "org_admin", **values}
    return services.member_create(organisation_id=organisation.pk, name=name, **values)


def test_members_are_listed_and_searched(
    management_api: ApiClient, organisation: Organisation, team: factories.Tenant, other_team: factories.Tenant
) -> None:
    ada = _member(organisation, "Ada", role="team_admin", team_ids=[team.team.pk])
    _member(organisation, "Bo", email="Bo@Other.example")
    _member(other_team.team.organisation, "Ada")
    path = f"{base(organisation)}/member"
    listed = management_api.get(path).json()
    assert [member["email"] for member in listed["members"]] == ["bo@other.example", "ada@acme.example"]
    assert listed["members"][1] == {
        "id": str(ada.pk),
        "name": "Ada",
        "email": "ada@acme.example",
        "created_on": listed["members"][1]["created_on"],
        "role": "team_admin",
        "team_role_bindings": [{"team_id": str(team.team.pk)}],
    }
    assert listed["members"][0]["team_role_bindings"] is None
    for search, found in (("ADA", ["Ada"]), ("other", ["Bo"]), (" bo ", ["Bo"]), ("%", []), ("", ["Bo", "Ada"])):
        answer = management_api.get(path, {"search_query": search}).json()
        assert [member["name"] for member in answer["members"]] == found
    assert management_api.get(path, {"search_query": "x" * 81}).status_code == 422


def test_cursors_walk_everybody_once(management_api: ApiClient, organisation: Organisation) -> None:
    for number in range(55):
        _member(organisation, f"m{number}")
        services.invite_send(
            organisation_id=organisation.pk, email=f"i{number}@a.example", role="no_role", team_ids=[], created_by="t"
        )
    for path, field in (("member", "members"), ("invite", "invites")):
        first = management_api.get(f"{base(organisation)}/{path}").json()
        rest = management_api.get(f"{base(organisation)}/{path}", {"next_cursor": first["next_cursor"]}).json()
        numbers = [int(row["email"].partition("@")[0][1:]) for row in first[field] + rest[field]]
        assert numbers == list(range(54, -1, -1))
        assert (len(first[field]), rest["next_cursor"]) == (50, None)


@pytest.mark.parametrize(
    ("sent", "role", "bound"),
    [
        ({"role": "no_role", "team_role_bindings": None}, "no_role", False),
        ({"role": None, "team_role_bindings": None}, "team_admin", True),
        ({"role": "org_admin", "team_role_bindings": []}, "org_admin", False),
        ({"role": "team_admin", "team_role_bindings": None}, "team_admin", True),
    ],
)
def test_a_members_role_is_changed(
    management_api: ApiClient, organisation: Organisation, team: factories.Tenant, sent: Any, role: str, bound: bool
) -> None:
    ada = _member(organisation, "Ada", role="team_admin", team_ids=[team.team.pk])
    path = f"{base(organisation)}/member/{ada.pk}"
    assert management_api.patch(path, sent).json() is None
    ada.refresh_from_db()
    assert (ada.role, ada.team_ids) == (role, [team.team.pk] if bound else [])
    assert trail(organisation) == [("PATCH /v1/org/<org_id>/member/<member_id>", {"member_id": str(ada.pk)})]


def test_nulls_leave_a_member_of_a_deleted_team_as_they_are(
    management_api: ApiClient, organisation: Organisation, team: factories.Tenant
) -> None:
    ada = _member(organisation, "Ada", role="team_admin", team_ids=[team.team.pk])
    services.team_delete(team_id=team.team.pk)
    answer = management_api.patch(f"{base(organisation)}/member/{ada.pk}", {"role": None, "team_role_bindings": None})
    assert (answer.status_code, answer.json()) == (200, None)
    ada.refresh_from_db()
    assert (ada.role, ada.team_ids) == ("team_admin", [team.team.pk])


def test_bad_roles_change_nothing(
    management_api: ApiClient, organisation: Organisation, team: factories.Tenant, other_team: factories.Tenant
) -> None:
    ada = _member(organisation, "Ada")
    path = f"{base(organisation)}/member/{ada.pk}"
    theirs = [{"team_id": str(other_team.team.pk)}]
    for sent, kind in (
        ({"role": "owner", "team_role_bindings": None}, "enum"),
        ({"role": "team_admin", "team_role_bindings": None}, "too_short"),
        ({"role": "team_admin", "team_role_bindings": theirs}, "team_unknown"),
        ({"role": "org_admin", "team_role_bindings": [{"team_id": str(team.team.pk)}]}, "role_bindings"),
        ({"role": "no_role"}, "missing"),
    ):
        assert [found for _loc, found in locs(management_api.patch(path, sent))] == [kind]
    ada.refresh_from_db()
    assert (ada.role, ada.team_ids) == ("org_admin", [])


def test_members_and_invites_of_others_are_missing(
    management_api: ApiClient, organisation: Organisation, other_team: factories.Tenant
) -> None:
    theirs = other_team.team.organisation
    member = _member(theirs, "Ada")
    _status, invite_id = services.invite_send(
        organisation_id=theirs.pk, email="bo@acme.example", role="no_role", team_ids=[], created_by="test"
    )
    body = {"role": "no_role", "team_role_bindings": None}
    for member_id in (member.pk, uuid4()):
        assert management_api.patch(f"{base(organisation)}/member/{member_id}", body).status_code == 404
        assert management_api.delete(f"{base(organisation)}/member/{member_id}").status_code == 404
    for one in (invite_id, uuid4()):
        assert management_api.delete(f"{base(organisation)}/invite/{one}").status_code == 404
    assert (Member.objects.get().role, Invite.objects.count()) == ("org_admin", 1)


def test_a_person_is_invited_once_and_again_and_comes(
    management_api: ApiClient, organisation: Organisation, team: factories.Tenant
) -> None:
    path = f"{base(organisation)}/invite"
    bindings = [{"team_id": str(team.team.pk)}]
    assert management_api.post(path, {"email": "Ada@Acme.example"}).json() == {"status": "invite_created"}
    (invite,) = management_api.get(path).json()["invites"]
    assert invite == {
        "id": invite["id"],
        "email": "ada@acme.example",
        "invited_at": invite["invited_at"],
        "resent_at": None,
        "creator": {"type": "management_key"},
        "role": "org_admin",
        "team_role_bindings": None,
    }
    again = {"email": "ada@acme.example", "role": "team_admin", "team_role_bindings": bindings}
    assert management_api.post(path, again).json() == {"status": "invite_resent"}
    (resent,) = management_api.get(path, {"search_query": "ACME"}).json()["invites"]
    changed = {"role": "team_admin", "team_role_bindings": bindings, "resent_at": resent["resent_at"]}
    assert (resent, resent["resent_at"] is None) == ({**invite, **changed}, False)
    _member(organisation, "Ada", role="team_admin", team_ids=[team.team.pk])
    assert management_api.get(path).json()["invites"] == []
    (member,) = management_api.get(f"{base(organisation)}/member").json()["members"]
    assert (member["name"], member["role"], member["team_role_bindings"]) == ("Ada", "team_admin", bindings)
    assert management_api.post(path, again).json() == {"status": "already_in_org"}
    assert Invite.objects.count() == 0


def test_a_revoked_invitation_is_gone(management_api: ApiClient, organisation: Organisation) -> None:
    path = f"{base(organisation)}/invite"
    management_api.post(path, {"email": "ada@acme.example", "role": "no_role"})
    invite_id = Invite.objects.get().pk
    assert management_api.delete(f"{path}/{invite_id}").json() is None
    assert management_api.delete(f"{path}/{invite_id}").status_code == 404
    assert Invite.objects.count() == 0


@pytest.mark.parametrize("email", ["", "x", "a@b", "a@b.example, c@d.example", "x" * 250 + "@a.example", 5])
def test_bad_addresses_are_named_and_not_repeated(
    management_api: ApiClient, organisation: Organisation, email: object
) -> None:
    answer = management_api.post(f"{base(organisation)}/invite", {"email": email})
    assert {tuple(loc) for loc, _kind in locs(answer)} == {("body", "email")}
    assert Invite.objects.count() == 0


def test_a_removed_member_is_gone(management_api: ApiClient, organisation: Organisation) -> None:
    ada = _member(organisation, "Ada")
    path = f"{base(organisation)}/member/{ada.pk}"
    assert management_api.delete(path).json() is None
    assert management_api.delete(path).status_code == 404
    assert management_api.get(f"{base(organisation)}/member").json() == {"members": [], "next_cursor": None}


def test_nobody_is_a_member_twice(organisation: Organisation) -> None:
    _member(organisation, "Ada")
    with pytest.raises(ServiceError) as refused:
        _member(organisation, "Eve", email="ADA@acme.example")
    assert refused.value.code.status == 409
    assert [member.name for member in Member.objects.all()] == ["Ada"]


@pytest.mark.django_db(transaction=True)
def test_of_invitations_at_once_one_is_new(organisation: Organisation) -> None:
    def invite() -> str:
        status, _invite_id = services.invite_send(
            organisation_id=organisation.pk, email="ada@acme.example", role="no_role", team_ids=[], created_by="test"
        )
        return status.value

    assert sorted(together(invite, invite, invite)) == ["invite_created", "invite_resent", "invite_resent"]
    assert Invite.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_nobody_is_a_member_and_invited(organisation: Organisation, monkeypatch: pytest.MonkeyPatch) -> None:
    look, others = Invite.objects.get_or_create, []

    def late(**values: Any) -> tuple[Invite, bool]:
        """No member was seen, the invitation is about to be written."""
        others.append(meanwhile(lambda: _member(organisation, "Ada").name))
        return look(**values)

    monkeypatch.setattr(Invite.objects, "get_or_create", late)
    status, _invite_id = services.invite_send(
        organisation_id=organisation.pk, email="ada@acme.example", role="no_role", team_ids=[], created_by="test"
    )
    assert (status, [ended() for ended in others]) == ("invite_created", ["Ada"])
    assert (Member.objects.count(), Invite.objects.count()) == (1, 0)
