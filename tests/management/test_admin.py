"""The staff admin: every page opens, secrets are never shown, and what staff read is written down."""

import re
from datetime import date

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext

from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management.models import AccessRecord, ManagementKey, Organisation, OrganisationRecord, StaffUser, Team, TeamKey
from management.services.keys import management_key_create
from tests import factories
from tests.clients import ApiClient
from users.models import User

MODELS: list[type[Model]] = sorted(admin.site._registry, key=lambda model: model._meta.label)
#: Session, staff, and a page of rows with their count.
QUERY_BOUND = 12
LISTS: list[type[Model]] = [User, Team, TeamKey, Organisation, ManagementKey]


@pytest.fixture
def staff(db: None) -> Client:
    """A browser of signed-in staff."""
    client = Client()
    client.force_login(StaffUser.objects.create_superuser(username="ada", email="", password="correct horse battery"))
    return client


def _address(model: type[Model], page: str = "") -> str:
    return f"/admin/{model._meta.app_label}/{model._meta.model_name}/{page}"


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model._meta.label)
def test_every_list_opens_with_bounded_queries(staff: Client, model: type[Model]) -> None:
    for _ in range(3):
        factories.user_make(factories.tenant_make())
    with CaptureQueriesContext(connection) as captured:
        response = staff.get(_address(model))
    assert response.status_code == 200
    assert len(captured) <= QUERY_BOUND, len(captured)


@pytest.mark.parametrize("model", LISTS, ids=lambda model: model._meta.label)
def test_more_rows_are_no_more_queries(staff: Client, model: type[Model]) -> None:
    counts = []
    for rows in (1, 5):
        while True:
            with system_scope(SystemScope.STAFF):
                if model._default_manager.count() == rows:
                    break
            factories.user_make(factories.tenant_make())
        staff.get(_address(model))
        with CaptureQueriesContext(connection) as captured:
            page = staff.get(_address(model)).content.decode()
        assert page.count('<th class="field-') == rows
        counts.append(len(captured))
    assert counts[0] == counts[1]


def _clerk(*permissions: str) -> Client:
    """Staff who may do only this."""
    clerk = StaffUser.objects.create_user(username="bo", password="correct horse battery", is_staff=True)
    clerk.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(clerk)
    return client


@pytest.mark.parametrize("action", ["make_sandbox_key", "make_production_key"])
def test_seeing_teams_is_not_enough_to_make_keys(team: factories.Tenant, action: str) -> None:
    clerk = _clerk("view_team", "change_team")
    assert action not in clerk.get(_address(Team)).content.decode()
    clerk.post(_address(Team), {"action": action, "_selected_action": [str(team.team.id)]})
    with system_scope(SystemScope.STAFF):
        assert list(TeamKey.objects.values_list("label", flat=True)) == ["test"]


def test_who_may_add_keys_makes_them(team: factories.Tenant) -> None:
    clerk = _clerk("view_team", "add_teamkey")
    page = clerk.post(_address(Team), {"action": "make_sandbox_key", "_selected_action": [str(team.team.id)]})
    assert "sk_us_" in page.content.decode()


@pytest.mark.parametrize(("extra", "status"), [([], 200), (["change_teamkey"], 401)])
def test_ending_keys_needs_a_right_of_its_own(team: factories.Tenant, extra: list[str], status: int) -> None:
    with system_scope(SystemScope.STAFF):
        row = TeamKey.objects.get()
    _clerk("view_teamkey", *extra).post(_address(TeamKey), {"action": "revoke", "_selected_action": [str(row.pk)]})
    assert ApiClient(team_key=team.key).get("/v2/user").status_code == status


def test_adding_an_organisation_needs_the_right_to_make_its_key(db: None) -> None:
    clerk = _clerk("view_organisation", "add_organisation")
    assert clerk.post(_address(Organisation, "add/"), {"name": "Acme"}).status_code == 403
    assert Organisation.objects.count() == 0


def test_refused_names_are_errors_of_the_form(staff: Client, team: factories.Tenant) -> None:
    forms: list[tuple[Organisation | Team, dict[str, object]]] = [
        (team.team.organisation, {}),
        (team.team, {"organisation": team.team.organisation_id, "region": "us"}),
    ]
    for row, values in forms:
        before = type(row).objects.count()
        for page in ("add/", f"{row.pk}/change/"):
            answer = staff.post(_address(type(row), page), {"name": "a<b", **values})
            assert answer.status_code == 200
            assert "1 to 80 letters" in answer.content.decode()
        staff.post(_address(type(row), f"{row.pk}/change/"), {"name": "Renamed", **values})
        assert type(row).objects.count() == before
        assert type(row).objects.get(pk=row.pk).name == "Renamed"


def test_strangers_are_sent_to_the_login(db: None) -> None:
    response = Client().get("/admin/")
    assert (response.status_code, response["Location"]) == (302, "/admin/login/?next=/admin/")


def test_a_key_is_shown_once_and_its_hash_never(staff: Client, team: factories.Tenant) -> None:
    response = staff.post(_address(Team), {"action": "make_sandbox_key", "_selected_action": [str(team.team.id)]})
    assert (response.status_code, "no-store" in response["Cache-Control"]) == (200, True)
    assert "messages" not in response.cookies
    key = re.search(r"sk_us_\w+", response.content.decode())
    assert key is not None
    assert ApiClient(team_key=key[0]).get("/v2/user").status_code == 200
    with system_scope(SystemScope.STAFF):
        row = TeamKey.objects.get(label="made in the admin")
    page = staff.get(_address(TeamKey, f"{row.pk}/change/")).content.decode()
    assert row.last_characters in page
    assert key[0] not in page
    assert "secret_hash" not in page


def test_staff_revoke_keys(staff: Client, team: factories.Tenant) -> None:
    with system_scope(SystemScope.STAFF):
        row = TeamKey.objects.get()
    staff.post(_address(TeamKey), {"action": "revoke", "_selected_action": [str(row.pk)]})
    assert ApiClient(team_key=team.key).get("/v2/user").status_code == 401


def test_whoever_of_the_staff_makes_or_revokes_keys_is_written_down(staff: Client, team: factories.Tenant) -> None:
    ada = StaffUser.objects.get()
    staff.post(_address(Team), {"action": "make_production_key", "_selected_action": [str(team.team.id)]})
    with system_scope(SystemScope.STAFF):
        made, old = TeamKey.objects.get(label="made in the admin"), TeamKey.objects.get(label="test")
    for _ in range(2):
        # The second time it is revoked already.
        staff.post(_address(TeamKey), {"action": "revoke", "_selected_action": [str(old.pk)]})
    told = OrganisationRecord.objects.filter(organisation=team.team.organisation).order_by("pk")
    ids = {"team_id": str(team.team.pk)}
    assert list(told.values_list("action", "actor_kind", "actor_id", "object_ids")) == [
        ("admin make production key", "staff", str(ada.pk), {**ids, "key_id": str(made.pk)}),
        ("admin revoke management.teamkey", "staff", str(ada.pk), {**ids, "key_id": str(old.pk)}),
    ]
    entries = LogEntry.objects.filter(user=ada).order_by("pk").values_list("object_id", "change_message")
    assert list(entries) == [
        (str(team.team.pk), f"Made the production key {made.pk}."),
        (str(old.pk), "Revoked."),
    ]


def test_whoever_revokes_a_management_key_is_written_down(staff: Client, team: factories.Tenant) -> None:
    made = management_key_create(organisation_id=team.team.organisation_id, label="top", created_by="test")
    staff.post(_address(ManagementKey), {"action": "revoke", "_selected_action": [str(made.key_id)]})
    (told,) = OrganisationRecord.objects.values_list("action", "object_ids")
    assert told == ("admin revoke management.managementkey", {"key_id": str(made.key_id)})


def test_a_new_organisation_gets_its_key(staff: Client) -> None:
    response = staff.post(_address(Organisation, "add/"), {"name": "Acme"})
    assert (response.status_code, "no-store" in response["Cache-Control"]) == (200, True)
    assert "messages" not in response.cookies
    key = re.search(r"mg_\w+", response.content.decode())
    assert key is not None
    organisation = Organisation.objects.get()
    assert ApiClient(management_key=key[0]).get(f"/v1/org/{organisation.id}/team").status_code == 200


def test_staff_see_users_but_not_their_birth_dates(staff: Client, team: factories.Tenant) -> None:
    user = factories.user_make(team, client_user_id="anna", fallback_birth_date=date(1987, 6, 5))
    page = staff.get(f"/admin/users/user/{user.pk}/change/").content.decode()
    assert "anna" in page
    assert "1987" not in page


def test_opening_a_person_is_written_down(staff: Client, team: factories.Tenant) -> None:
    user = factories.user_make(team)
    staff.get(f"/admin/users/user/{user.pk}/change/")
    with team_scope(team.context):
        rows = list(AccessRecord.objects.values_list("actor_kind", "actor_id", "action", "user_id"))
    assert rows == [("staff", str(StaffUser.objects.get().pk), "GET admin users.user", user.pk)]


def test_without_staff_rights_nothing_is_seen(db: None, team: factories.Tenant) -> None:
    client = Client()
    client.force_login(StaffUser.objects.create_user(username="eve", password="correct horse battery"))
    assert client.get("/admin/users/user/").status_code == 302
