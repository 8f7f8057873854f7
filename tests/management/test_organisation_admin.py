"""Staff see a customer's people, and let in who was invited."""

import pytest
from django.test import Client

from healthsvc.kernel.scope import SystemScope, system_scope
from management import services
from management.models import Invite, Member, Organisation, StaffUser, TeamKey
from tests import factories

ADD = "/admin/management/member/add/"


@pytest.fixture
def staff(db: None) -> Client:
    """A browser of signed-in staff."""
    client = Client()
    client.force_login(StaffUser.objects.create_superuser(username="ada", email="", password="correct horse battery"))
    return client


def test_adding_a_person_ends_their_invitation(
    staff: Client, organisation: Organisation, team: factories.Tenant
) -> None:
    services.invite_send(
        organisation_id=organisation.pk, email="bo@acme.example", role="no_role", team_ids=[], created_by="test"
    )
    person = {"organisation": str(organisation.pk), "name": "Bo", "email": "Bo@Acme.example", "role": "team_admin"}
    assert staff.post(ADD, {**person, "team_ids": str(team.team.pk)}).status_code == 302
    member = Member.objects.get()
    assert (member.email, member.role, member.team_ids) == ("bo@acme.example", "team_admin", [team.team.pk])
    assert Invite.objects.count() == 0
    again = staff.post(ADD, {**person, "role": "no_role"})
    assert (again.status_code, Member.objects.count()) == (200, 1)


def test_a_person_is_bound_to_teams_of_their_own_organisation(
    staff: Client, organisation: Organisation, other_team: factories.Tenant
) -> None:
    person = {"organisation": str(organisation.pk), "name": "Bo", "email": "bo@acme.example", "role": "team_admin"}
    for team_ids, sentence in (
        (str(other_team.team.pk), "Not a team of this organisation."),
        ("", "one team at least"),
    ):
        page = staff.post(ADD, {**person, "team_ids": team_ids})
        assert (page.status_code, sentence in page.content.decode()) == (200, True)
    assert Member.objects.count() == 0


def test_no_key_is_made_for_a_deleted_team(staff: Client, team: factories.Tenant) -> None:
    services.team_delete(team_id=team.team.pk)
    staff.post("/admin/management/team/", {"action": "make_sandbox_key", "_selected_action": [str(team.team.pk)]})
    with system_scope(SystemScope.STAFF):
        assert [key.label for key in TeamKey.objects.all()] == ["test"]
