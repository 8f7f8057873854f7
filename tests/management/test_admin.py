"""The staff admin: every page opens, secrets are never shown, and what staff read is written down."""

import re
from datetime import date

import pytest
from django.contrib import admin
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext

from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management.models import AccessRecord, Organisation, StaffUser, Team, TeamKey
from tests import factories
from tests.clients import ApiClient

MODELS: list[type[Model]] = sorted(admin.site._registry, key=lambda model: model._meta.label)
#: Session, staff, and a page of rows with their count; nothing per row.
QUERY_BOUND = 12


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


def test_strangers_are_sent_to_the_login(db: None) -> None:
    response = Client().get("/admin/")
    assert (response.status_code, response["Location"]) == (302, "/admin/login/?next=/admin/")


def test_a_key_is_shown_once_and_its_hash_never(staff: Client, team: factories.Tenant) -> None:
    response = staff.post(
        _address(Team), {"action": "make_sandbox_key", "_selected_action": [str(team.team.id)]}, follow=True
    )
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


def test_a_new_organisation_gets_its_key(staff: Client) -> None:
    response = staff.post(_address(Organisation, "add/"), {"name": "Acme"}, follow=True)
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
