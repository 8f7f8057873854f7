"""What staff see of links: everything but what opens something."""

import pytest
from django.db import connection as database
from django.test import Client
from django.test.utils import CaptureQueriesContext

from healthsvc.kernel.scope import team_scope
from links.models import LinkToken
from management.models import AccessRecord, StaffUser
from tests.factories import Tenant, user_make
from tests.links.linking import query_of, token_make
from tests.links.test_api_connections import connection_make


@pytest.fixture
def staff(db: None) -> Client:
    """A browser in which staff are signed in."""
    client = Client()
    client.force_login(StaffUser.objects.create(username="staff", is_staff=True, is_superuser=True))
    return client


def test_a_connection_is_shown_without_its_tokens_and_leaves_a_trace(staff: Client, team: Tenant) -> None:
    user = user_make(team)
    made = connection_make(team, user)
    body = staff.get(f"/admin/links/connection/{made.pk}/change/").content.decode()
    assert "oura" in body
    assert "access_token" not in body
    assert ">access<" not in body
    assert ">refresh<" not in body
    with team_scope(team.context):
        (record,) = AccessRecord.objects.filter(actor_kind="staff")
    assert record.user_id == user.id


def test_a_link_token_is_shown_without_its_hash(staff: Client, team: Tenant) -> None:
    page = token_make(team, user_make(team), redirect_url="https://app.example/done")
    with team_scope(team.context):
        row = LinkToken.objects.get()
    body = staff.get(f"/admin/links/linktoken/{row.pk}/change/").content.decode()
    assert "https://app.example/done" in body
    assert query_of(page)["token"] not in body
    assert "token_hash" not in body
    assert bytes(row.token_hash).hex() not in body


@pytest.mark.parametrize("model", ["linktoken", "connection", "pull"])
def test_nothing_is_added_changed_or_removed_there(staff: Client, team: Tenant, model: str) -> None:
    assert staff.get(f"/admin/links/{model}/add/").status_code == 403
    made = connection_make(team, user_make(team))
    assert staff.post(f"/admin/links/connection/{made.pk}/change/", {"status": "error"}).status_code == 403
    assert staff.post(f"/admin/links/connection/{made.pk}/delete/").status_code == 403


@pytest.mark.parametrize("model", ["linktoken", "connection"])
def test_lists_take_the_same_queries_for_any_number(staff: Client, team: Tenant, model: str) -> None:
    taken = []
    for _ in range(2):
        user = user_make(team)
        connection_make(team, user)
        token_make(team, user)
        with CaptureQueriesContext(database) as captured:
            assert staff.get(f"/admin/links/{model}/").status_code == 200
        taken.append(len(captured))
    assert taken[0] == taken[1]
