"""DELETE /v2/user/{user_id}/{provider}, and what ends with a user."""

import pytest
from django.db import connection as database
from django.test.utils import CaptureQueriesContext

from healthsvc.kernel import clock
from healthsvc.kernel.scope import team_scope
from links.models import Connection, ProviderHook, Pull, Revocation
from links.services.connections import connection_disconnect, user_disconnect
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.links.events import event_types_of
from tests.links.granting import open_pulls, stored
from tests.links.test_api_connections import connection_make
from users import registry
from users.models import User

pytestmark = pytest.mark.django_db


@pytest.fixture
def user(team: Tenant) -> User:
    """Who is connected."""
    return user_make(team, client_user_id="ada")


def test_a_connection_ends_at_once(api: ApiClient, team: Tenant, user: User) -> None:
    made = stored(team, user)
    kept = stored(team, user, provider="withings", external_user_id="scale", scopes_granted=("user.metrics",))
    before = event_types_of(team)
    response = api.delete(f"/v2/user/{user.id}/oura")
    assert (response.status_code, response.json()) == (200, {"success": True})
    listed = api.get(f"/v2/user/providers/{user.id}").json()["providers"]
    assert [one["slug"] for one in listed] == ["withings"]
    sources = api.get(f"/v2/user/{user.id}").json()["connected_sources"]
    assert [one["source"]["slug"] for one in sources] == ["withings"]
    assert open_pulls(team, made) == {}
    assert open_pulls(team, kept) != {}
    with team_scope(team.context):
        row = Connection.objects.get(pk=made.pk)
        (revocation,) = Revocation.objects.all()
    assert row.disconnected_at is not None
    assert (row.access_token, row.refresh_token, row.credentials, row.next_pull_at) == ("", "", None, None)
    assert (row.token_version, row.token_lease_until) == (2, None)
    assert (revocation.connection_id, revocation.refresh_token, revocation.status) == (made.pk, "refresh-1", "owed")
    # The customer asked for it: there is nothing to tell them.
    assert event_types_of(team) == before


def test_its_own_subscriptions_are_dropped(api: ApiClient, team: Tenant, user: User) -> None:
    made = stored(team, user)
    now = clock.now()
    values = {"provider": "oura", "environment": "sandbox", "verify_token": "x", "not_before": now, "created_at": now}
    own = ProviderHook.objects.create(**values, connection_id=made.pk, topic="one", status="active")
    shared = ProviderHook.objects.create(**values, topic="other", status="active")
    api.delete(f"/v2/user/{user.id}/oura")
    own.refresh_from_db()
    shared.refresh_from_db()
    assert (own.status, shared.status) == ("unwanted", "active")


def test_doing_it_again_succeeds_and_changes_nothing(api: ApiClient, team: Tenant, user: User) -> None:
    stored(team, user)
    api.delete(f"/v2/user/{user.id}/oura")
    with team_scope(team.context):
        before = Connection.objects.values().get()
    again = api.delete(f"/v2/user/{user.id}/oura")
    assert (again.status_code, again.json()) == (200, {"success": True})
    with team_scope(team.context):
        assert Connection.objects.values().get() == before
        assert Revocation.objects.count() == 1


def test_a_broken_and_an_unknown_connection_can_be_ended(api: ApiClient, team: Tenant, user: User) -> None:
    connection_make(team, user, status="error", error_type="token_refresh_failed", errored_at=clock.now())
    connection_make(team, user, provider="new_gadget")
    for slug in ("oura", "new_gadget"):
        assert api.delete(f"/v2/user/{user.id}/{slug}").json() == {"success": True}
    assert api.get(f"/v2/user/providers/{user.id}").json() == {"providers": []}


def test_a_provider_that_was_never_connected_is_404(api: ApiClient, team: Tenant, user: User) -> None:
    assert api.delete(f"/v2/user/{user.id}/oura").status_code == 404


def test_what_is_no_provider_is_422(api: ApiClient, team: Tenant, user: User) -> None:
    response = api.delete(f"/v2/user/{user.id}/nonsense")
    assert response.status_code == 422
    assert response.json()["detail"][0]["loc"] == ["path", "provider"]
    assert api.delete("/v2/user/nobody/oura").status_code == 422


def test_a_user_who_is_gone_is_404(api: ApiClient, team: Tenant, user: User) -> None:
    stored(team, user)
    with team_scope(team.context):
        User.objects.filter(pk=user.pk).update(deleted_at=clock.now())
    assert api.delete(f"/v2/user/{user.id}/oura").status_code == 404
    with team_scope(team.context):
        assert Connection.objects.get().disconnected_at is None


def test_another_teams_connection_does_not_exist(
    api: ApiClient, team: Tenant, other_team: Tenant, production: Tenant
) -> None:
    missing = api.delete("/v2/user/00000000-0000-4000-8000-000000000000/oura")
    assert missing.status_code == 404
    for tenant in (other_team, production):
        stranger = user_make(tenant)
        stored(tenant, stranger)
        response = api.delete(f"/v2/user/{stranger.id}/oura")
        assert response.status_code == 404
        assert {**response.json(), "request_id": ""} == {**missing.json(), "request_id": ""}
        with team_scope(tenant.context):
            assert Connection.objects.get().disconnected_at is None


def test_the_other_addresses_below_a_user_are_still_reached(api: ApiClient, team: Tenant, user: User) -> None:
    for path in (f"providers/{user.id}", f"{user.id}/device", f"{user.id}/sessions"):
        assert api.get(f"/v2/user/{path}").status_code == 200, path


def test_connecting_after_the_end_begins_anew(api: ApiClient, team: Tenant, user: User) -> None:
    made = stored(team, user)
    api.delete(f"/v2/user/{user.id}/oura")
    again = stored(team, user)
    assert again.pk != made.pk
    assert open_pulls(team, again) != {}


def test_everything_of_a_user_ends_with_them(team: Tenant, user: User) -> None:
    stored(team, user)
    stored(team, user, provider="withings", external_user_id="scale", scopes_granted=("user.metrics",))
    other = stored(team, user_make(team), external_user_id="ring-2")
    assert user_disconnect in registry.disconnectors
    with team_scope(team.context):
        User.objects.filter(pk=user.pk).update(deleted_at=clock.now())
        assert user_disconnect(team.context, user.id) == 2
        assert user_disconnect(team.context, user.id) == 0
        assert list(Connection.objects.filter(disconnected_at=None).values_list("pk", flat=True)) == [other.pk]
        assert set(Pull.objects.filter(user=user).values_list("status", flat=True)) == {"failure"}
        assert Revocation.objects.count() == 2


def test_nothing_to_end_says_so(team: Tenant, user: User) -> None:
    with team_scope(team.context):
        assert not connection_disconnect(team=team.context, user_id=user.id, provider="oura")


@pytest.mark.parametrize("count", [1, 3])
def test_ending_takes_the_same_statements_for_any_number_of_pulls(team: Tenant, count: int) -> None:
    user = user_make(team)
    scopes = ("personal", "daily", "heartrate", "workout")[: count + 1]
    stored(team, user, scopes_granted=scopes)
    with team_scope(team.context), CaptureQueriesContext(database) as captured:
        connection_disconnect(team=team.context, user_id=user.id, provider="oura")
    statements = [one["sql"] for one in captured if "SAVEPOINT" not in one["sql"]]
    # user, connection, pulls, hooks, revocation, tokens, end
    assert len(statements) <= 10, statements
