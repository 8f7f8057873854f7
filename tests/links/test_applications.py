"""A team's own registration with a provider: used before the operator's, and for as long as anything rests on it."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection as database
from django.test import Client
from django.test.utils import CaptureQueriesContext

from healthsvc.kernel import clock
from healthsvc.kernel.principal import Environment
from healthsvc.kernel.scope import team_scope
from links.applications import application_find, application_of_connection, keys_of
from links.catalogue import catalogue, provider_get
from links.models import Connection, OAuthState, ProviderApplication, Revocation
from links.services.connections import connection_disconnect
from links.services.registrations import application_register, application_retire, application_secret_change
from links.services.renewal import access_get
from links.services.revocations import revocation_run
from management.models import StaffUser
from tests.factories import Tenant, environment_make, tenant_make, user_make
from tests.links.linking import browser, connected, departed, opened, path_of, query_of, token_make
from tests.links.simulators import Person, Simulator
from tests.links.vendors import provider_make

pytestmark = pytest.mark.django_db


@pytest.fixture
def live(team: Tenant) -> Iterator[Tenant]:
    """Our team in production, and its scope."""
    made = environment_make(team, Environment.PRODUCTION)
    with team_scope(made.context):
        yield made


@pytest.fixture
def vendor(simulator: Simulator, monkeypatch: pytest.MonkeyPatch) -> Simulator:
    """Oura's production addresses, played by the simulator: the same code as for a vendor."""
    base = f"{simulator.url}/oura"
    played = provider_make(
        authorize_url=f"{base}/oauth/authorize",
        token_url=f"{base}/oauth/token",
        revoke_url=f"{base}/oauth/revoke",
        api_url=base,
    )
    monkeypatch.setitem(catalogue(), "oura", played)
    return simulator


def registered(tenant: Tenant, client_id: str = "mine", **values: Any) -> ProviderApplication:
    """The team's registration with Oura. The simulator takes any client with its one secret."""
    given = {"client_secret": "simulator-secret", **values}
    with team_scope(tenant.context):
        return application_register(team=tenant.context, provider=provider_get("oura"), client_id=client_id, **given)


def operator_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The operator's own registration."""
    monkeypatch.setenv("PROVIDER_OURA_CLIENT_ID", "operator")
    monkeypatch.setenv("PROVIDER_OURA_CLIENT_SECRET", "simulator-secret")


def test_a_team_s_own_registration_is_used_before_the_operator_s(live: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    oura = provider_get("oura")
    assert application_find(live.context, oura) is None
    operator_registered(monkeypatch)
    found = application_find(live.context, oura)
    assert found is not None
    assert (found.client_id, found.application_id) == ("operator", None)
    own = registered(live)
    found = application_find(live.context, oura)
    assert found is not None
    assert (found.client_id, found.client_secret, found.application_id) == ("mine", "simulator-secret", own.pk)
    assert (found.revoke_url, keys_of(found).api_url) == (oura.oauth and oura.oauth.revoke_url, found.api_url)
    assert application_retire(application=own)
    assert not application_retire(application=own)
    found = application_find(live.context, oura)
    assert found is not None
    assert found.client_id == "operator"


def test_another_team_and_the_sandbox_have_nothing_of_it(live: Tenant, team: Tenant, other_team: Tenant) -> None:
    registered(live)
    elsewhere = environment_make(other_team, Environment.PRODUCTION)
    with team_scope(elsewhere.context):
        assert application_find(elsewhere.context, provider_get("oura")) is None
    with team_scope(team.context):
        found = application_find(team.context, provider_get("oura"))
    assert found is not None
    assert (found.client_id, found.application_id) == ("healthsvc", None)


def test_another_client_id_is_another_registration_and_an_old_one_can_come_back(live: Tenant) -> None:
    first, second = registered(live), registered(live, "second")
    assert first.pk != second.pk
    assert registered(live, "second", client_secret="renewed").pk == second.pk
    second.refresh_from_db()
    assert second.client_secret == "renewed"
    assert registered(live).pk == first.pk
    assert list(ProviderApplication.objects.filter(retired_at=None).values_list("client_id", flat=True)) == ["mine"]


def test_secrets_are_sealed_at_rest(live: Tenant) -> None:
    registered(live, client_secret="very-secret")
    with database.cursor() as cursor:
        cursor.execute("SELECT client_secret FROM links_provider_application")
        assert b"very-secret" not in bytes(cursor.fetchone()[0])


@pytest.mark.slow
def test_tokens_belong_to_the_registration_that_made_them(
    live: Tenant, vendor: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The simulator refuses a refresh token that is shown by another client than it was made for."""
    operator_registered(monkeypatch)
    user = user_make(live)
    own = registered(live)
    client = browser()
    address = departed(client, opened(client, token_make(live, user)), "oura")
    assert query_of(address)["client_id"] == "mine"
    assert OAuthState.objects.get().application_id == own.pk
    OAuthState.objects.all().delete()
    connection = connected(live, user, "oura")
    assert (connection.status, connection.application_id) == ("connected", own.pk)
    registered(live, "second")
    Connection.objects.update(access_expires_at=clock.now())
    _, version = access_get(connection_id=connection.pk)
    assert version == 2
    found = application_of_connection(connection)
    assert found is not None
    assert found.client_id == "mine"
    assert connection_disconnect(team=live.context, user_id=user.id, provider="oura")
    revocation = Revocation.objects.get()
    assert revocation.application_id == own.pk
    revocation_run(revocation_id=revocation.pk)
    revocation.refresh_from_db()
    assert (revocation.status, revocation.error_code) == ("done", "")
    assert connected(live, user_make(live), "oura").application_id not in (None, own.pk)


@pytest.mark.slow
def test_a_login_that_began_with_one_registration_ends_with_it(live: Tenant, vendor: Simulator) -> None:
    """The team registers anew while the person is at the provider."""
    user, own, client = user_make(live), registered(live), browser()
    back = Person().decide(departed(client, opened(client, token_make(live, user)), "oura"))
    registered(live, "second")
    client.get(path_of(back))
    assert Connection.objects.get().application_id == own.pk


@pytest.mark.slow
def test_a_new_secret_of_the_same_client_serves_its_connections(live: Tenant, vendor: Simulator) -> None:
    user, own = user_make(live), registered(live)
    connection = connected(live, user, "oura")
    application_secret_change(application=own, client_secret="simulator-secret")
    Connection.objects.update(access_expires_at=clock.now() - timedelta(hours=1))
    assert access_get(connection_id=connection.pk)[1] == 2


@pytest.fixture
def staff(db: None) -> Client:
    """A browser in which staff are signed in."""
    client = Client()
    client.force_login(StaffUser.objects.create(username="staff", is_staff=True, is_superuser=True))
    return client


_ADD = "/admin/links/providerapplication/add/"


def form(tenant: Tenant, **values: str) -> dict[str, str]:
    """A registration as staff type it."""
    return {"team": str(tenant.team.pk), "provider": "oura", "client_id": " mine ", "secret": "very-secret", **values}


def test_staff_register_a_team_and_never_see_the_secret_again(staff: Client, live: Tenant) -> None:
    assert staff.post(_ADD, form(live)).status_code == 302
    row = ProviderApplication.objects.get()
    assert (row.client_id, row.client_secret, row.environment) == ("mine", "very-secret", "production")
    change = f"/admin/links/providerapplication/{row.pk}/change/"
    for address in (change, "/admin/links/providerapplication/"):
        body = staff.get(address).content.decode()
        assert "mine" in body
        assert "very-secret" not in body
    assert staff.post(change, {"secret": "renewed"}).status_code == 302
    row.refresh_from_db()
    assert (row.client_id, row.client_secret) == ("mine", "renewed")
    retire = {"action": "retire", "_selected_action": str(row.pk)}
    assert staff.post("/admin/links/providerapplication/", retire).status_code == 302
    row.refresh_from_db()
    assert row.retired_at is not None
    assert staff.post(f"/admin/links/providerapplication/{row.pk}/delete/").status_code == 403


def test_staff_choose_a_provider_among_those_with_oauth(staff: Client, live: Tenant) -> None:
    body = staff.get(_ADD).content.decode()
    assert '<option value="oura">Oura (oura)</option>' in body
    assert 'value="hammerhead"' in body
    assert 'value="manual"' not in body
    refused = staff.post(_ADD, form(live, provider="manual")).content.decode()
    assert "Not a provider with an OAuth login." in refused


@pytest.mark.parametrize("values", [{"provider": "manual"}, {"provider": "nobody"}, {"secret": ""}, {"client_id": " "}])
def test_what_is_no_registration_is_refused(staff: Client, live: Tenant, values: dict[str, str]) -> None:
    assert staff.post(_ADD, form(live, **values)).status_code == 200
    assert ProviderApplication.objects.count() == 0


def test_the_list_takes_the_same_queries_for_any_number(staff: Client, live: Tenant) -> None:
    taken = []
    for _ in range(2):
        registered(environment_make(tenant_make(), Environment.PRODUCTION))
        with CaptureQueriesContext(database) as captured:
            assert staff.get("/admin/links/providerapplication/").status_code == 200
        taken.append(len(captured))
    assert taken[0] == taken[1]
