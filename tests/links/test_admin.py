"""What staff see of links: everything but what opens something."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.db import connection as database
from django.test import Client
from django.test.utils import CaptureQueriesContext

from healthsvc.kernel.scope import team_scope
from links.models import Connection, LinkToken, Revocation
from links.services.connections import connection_disconnect
from management.models import AccessRecord, StaffUser
from tests.factories import Tenant, user_make
from tests.links.granting import open_pulls, pulls_done, stored
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


@pytest.mark.parametrize("model", ["linktoken", "connection", "pull", "revocation"])
def test_nothing_is_added_changed_or_removed_there(staff: Client, team: Tenant, model: str) -> None:
    assert staff.get(f"/admin/links/{model}/add/").status_code == 403
    made = connection_make(team, user_make(team))
    assert staff.post(f"/admin/links/connection/{made.pk}/change/", {"status": "error"}).status_code == 403
    assert staff.post(f"/admin/links/connection/{made.pk}/delete/").status_code == 403


@pytest.mark.parametrize("model", ["linktoken", "connection", "pull", "revocation"])
def test_lists_take_the_same_queries_for_any_number(staff: Client, team: Tenant, model: str) -> None:
    taken = []
    for _ in range(2):
        user = user_make(team)
        stored(team, user, external_user_id=str(user.id))
        with team_scope(team.context):
            connection_disconnect(team=team.context, user_id=user.id, provider="oura")
        stored(team, user, external_user_id=str(user.id))
        token_make(team, user)
        with CaptureQueriesContext(database) as captured:
            assert staff.get(f"/admin/links/{model}/").status_code == 200
        taken.append(len(captured))
    assert taken[0] == taken[1]


def chosen(staff: Client, action: str, *rows: Connection) -> None:
    """Staff carry out an action on these connections."""
    given = {"action": action, "_selected_action": [str(one.pk) for one in rows]}
    assert staff.post("/admin/links/connection/", given).status_code == 302


def actions_traced(tenant: Tenant) -> list[str]:
    """What staff did, as the audit trail has it."""
    with team_scope(tenant.context):
        return sorted(AccessRecord.objects.filter(actor_kind="staff").values_list("action", flat=True))


def test_staff_pull_again_what_lives(staff: Client, team: Tenant, other_team: Tenant) -> None:
    first, second = stored(team, user_make(team)), stored(other_team, user_make(other_team))
    ended = stored(team, user_make(team), external_user_id="ring-2")
    with team_scope(team.context):
        pulls_done(first)
        connection_disconnect(team=team.context, user_id=ended.user_id, provider="oura")
    chosen(staff, "pull_again", first, second, ended)
    assert {kind for _, kind in open_pulls(team)} == {"refresh"}
    assert {pull.connection_id for pull in open_pulls(team).values()} == {first.pk}
    assert ("sleep", "refresh") in open_pulls(other_team)
    assert actions_traced(team) == ["pull_again links.connection"]


def test_staff_disconnect(staff: Client, team: Tenant) -> None:
    made, kept = stored(team, user_make(team)), stored(team, user_make(team), external_user_id="ring-2")
    chosen(staff, "disconnect", made)
    with team_scope(team.context):
        assert list(Connection.objects.filter(disconnected_at=None).values_list("pk", flat=True)) == [kept.pk]
        (revocation,) = Revocation.objects.all()
    assert actions_traced(team) == ["disconnect links.connection"]
    body = staff.get(f"/admin/links/revocation/{revocation.pk}/change/").content.decode()
    assert "oura" in body
    assert "refresh-1" not in body
    assert "access-1" not in body


def test_a_connection_that_took_the_place_of_a_chosen_one_stays(
    staff: Client, team: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = user_make(team)
    made = stored(team, user)

    def meanwhile(**values: Any) -> None:
        stored(team, user, external_user_id="ring-2")

    monkeypatch.setattr("links.connection_admin.access_record", meanwhile)
    chosen(staff, "disconnect", made)
    with team_scope(team.context):
        assert Connection.objects.get(disconnected_at=None).external_user_id == "ring-2"


def test_who_only_looks_disconnects_nothing(team: Tenant, db: None) -> None:
    made = stored(team, user_make(team))
    looker = StaffUser.objects.create(username="looker", is_staff=True)
    looker.user_permissions.add(Permission.objects.get(codename="view_connection"))
    client = Client()
    client.force_login(looker)
    assert client.get("/admin/links/connection/").status_code == 200
    client.post("/admin/links/connection/", {"action": "disconnect", "_selected_action": [str(made.pk)]})
    with team_scope(team.context):
        assert Connection.objects.get().disconnected_at is None


@pytest.mark.parametrize(
    ("query", "count"), [("provider=oura", 1), ("provider=withings", 0), ("ended=no", 1), ("ended=yes", 0)]
)
def test_connections_are_found_by_provider_and_end(staff: Client, team: Tenant, query: str, count: int) -> None:
    stored(team, user_make(team))
    page = staff.get(f"/admin/links/connection/?{query}")
    assert page.context["cl"].result_count == count
