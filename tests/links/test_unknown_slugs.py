"""A slug that was stored once and that the catalogue no longer knows never breaks an answer."""

from datetime import UTC, date, datetime, timedelta

from aggregation.records import DataSource
from aggregation.services import health_data_store
from healthsvc.kernel import clock
from healthsvc.kernel.principal import Environment
from healthsvc.kernel.scope import team_scope
from links import selectors
from links.catalogue import provider_find
from links.connectors.registry import connector_of
from links.constants import ConnectionErrorType, PullKind
from links.models import Connection, LinkSession, LinkToken, Pull
from links.services.announcing import connection_created_emit, connection_error_emit
from links.services.connections import connection_disconnect
from links.states import ConnectionStatus, PullStatus
from management.models import TeamSettings
from tests.aggregation.samples import heartrates, us
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.links.events import events_of
from tests.links.linking import browser, opened, token_make
from tests.links.test_api_connections import connection_make

GONE = "gone_gadget"
AT = datetime(2026, 4, 1, 12, tzinfo=UTC)
MARK = "http://localhost:8000/static/links/logos/_provider.svg"


def _pull(tenant: Tenant, connection: Connection) -> Pull:
    with team_scope(tenant.context):
        return Pull.objects.create(
            team=tenant.team,
            environment=str(tenant.context.environment),
            connection=connection,
            user_id=connection.user_id,
            resource="heartrate",
            kind=PullKind.BACKFILL,
            status=PullStatus.SUCCESS,
            start_on=date(2026, 3, 1),
            end_on=date(2026, 3, 31),
            not_before=AT,
            created_at=AT,
            ended_at=AT + timedelta(hours=1),
        )


def test_selectors_know_it_by_name_only() -> None:
    gone = provider_find(GONE)
    assert (gone.name, gone.login, dict(gone.resources)) == ("Gone Gadget", "none", {})
    for environment in Environment:
        assert connector_of(GONE, environment) is None
        assert not selectors.provider_works(gone, environment)
        assert selectors.resources_available(GONE, ["daily"], environment) == []
    assert selectors.availability_of(GONE, ["daily"]) == {}
    assert selectors.provider_name(GONE) is None
    assert selectors.logo_url(GONE) == MARK


def test_a_users_connections_and_sources(api: ApiClient, team: Tenant) -> None:
    user = user_make(team)
    connection_make(team, user, provider=GONE)
    (shown,) = api.get(f"/v2/user/providers/{user.id}").json()["providers"]
    assert (shown["name"], shown["slug"], shown["logo"], shown["resource_availability"]) == (
        "Gone Gadget",
        GONE,
        MARK,
        {},
    )
    (source,) = api.get(f"/v2/user/{user.id}").json()["connected_sources"]
    assert source["provider"] == {"name": "Gone Gadget", "slug": GONE, "logo": MARK}
    assert api.get("/v2/user").status_code == 200


def test_introspection(api: ApiClient, team: Tenant) -> None:
    user = user_make(team)
    _pull(team, connection_make(team, user, provider=GONE))
    (pulls,) = api.get("/v2/introspect/historical_pull").json()["data"]
    assert set(pulls["provider"]) == {GONE}
    assert pulls["provider"][GONE]["not_pulled"] == []
    assert api.get("/v2/introspect/resources").status_code == 200


def test_data_that_came_from_it(api: ApiClient, team: Tenant) -> None:
    user = user_make(team)
    series = heartrates({us(2026, 4, 1): 61.0}, source=DataSource(GONE, "watch"))
    with team_scope(team.context):
        health_data_store(team=team.context, user_id=user.id, series=(series,))
    response = api.get(f"/v2/timeseries/{user.id}/heartrate/grouped", {"start_date": "2000-01-01"})
    assert response.status_code == 200
    assert set(response.json()["groups"]) == {GONE}
    (resources,) = api.get("/v2/introspect/resources").json()["data"]
    assert set(resources["provider"]) == {GONE}


def test_events(team: Tenant) -> None:
    user = user_make(team)
    connection = connection_make(team, user, provider=GONE)
    with team_scope(team.context):
        connection_created_emit(connection, user.client_user_id)
        connection.status = ConnectionStatus.ERROR.value
        connection.error_type, connection.errored_at = ConnectionErrorType.UNKNOWN.value, clock.now()
        connection_error_emit(connection, user.client_user_id)
    created, error = [data for _, data in events_of(team)]
    assert created["provider"] == {"name": "Gone Gadget", "slug": GONE, "logo": MARK}
    assert error["provider"] == GONE
    assert created["resource_availability"] == {}


def test_a_refresh_and_an_end_of_its_connection(api: ApiClient, team: Tenant) -> None:
    user = user_make(team)
    connection_make(team, user, provider=GONE)
    refresh = api.post(f"/v2/user/refresh/{user.id}")
    assert (refresh.status_code, refresh.json()["code"]) == (400, "no_connected_sources")
    with team_scope(team.context):
        assert connection_disconnect(team=team.context, user_id=user.id, provider=GONE)
    assert api.get(f"/v2/user/providers/{user.id}").json() == {"providers": []}


def test_hosted_pages(team: Tenant) -> None:
    with team_scope(team.context):
        TeamSettings.objects.create(team=team.team, environment="sandbox", link_providers=[GONE, "oura"])
    client = browser()
    page = opened(client, token_make(team, user_make(team)))
    with team_scope(team.context):
        LinkToken.objects.update(filter_on_providers=[GONE, "oura"])
    listed = client.get(page)
    assert listed.status_code == 200
    assert "Oura" in listed.content.decode()
    assert client.get(f"{page}/provider/{GONE}").status_code == 404
    with team_scope(team.context):
        LinkSession.objects.update(provider=GONE, error_type="provider_api_error")
    result = client.get(f"{page}/result")
    assert result.status_code == 200
    assert "Gone Gadget" in result.content.decode()


def test_a_token_that_is_for_it(team: Tenant) -> None:
    client = browser()
    page = token_make(team, user_make(team))
    with team_scope(team.context):
        LinkToken.objects.update(provider=GONE)
    first = opened(client, page)
    answer = client.get(first, follow=True)
    assert answer.status_code == 404
    assert "be connected here" in answer.content.decode()


def test_lists_of_a_team_that_chose_it(api: ApiClient, team: Tenant) -> None:
    with team_scope(team.context):
        TeamSettings.objects.create(team=team.team, environment="sandbox", link_providers=[GONE, "withings"])
    assert [one["slug"] for one in api.get("/v2/team/link/config").json()["providers"]] == ["withings"]
    assert api.get("/v2/link/providers").status_code == 200
