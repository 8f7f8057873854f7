"""GET /v2/providers, /v2/link/providers, /v2/link/provider/oauth/{oauth_provider} and /v2/team/link/config."""

from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import time_machine
from django.db import connection as database
from django.test.utils import CaptureQueriesContext

from healthsvc.kernel import clock
from healthsvc.kernel.scope import team_scope
from links.catalogue import LoginKind, ProviderState, catalogue
from links.connectors.registry import connector_of
from links.models import LinkToken, ProviderApplication
from links.services.tokens import link_token_create
from links.services.walk import walk
from links.states import TOKEN_TRANSITIONS, TokenCommand
from management.models import TeamSettings
from tests.clients import ApiClient
from tests.factories import Tenant, user_make

PROVIDERS, LISTED, OAUTH, CONFIG = (
    "/v2/providers",
    "/v2/link/providers",
    "/v2/link/provider/oauth",
    "/v2/team/link/config",
)
HEADER = "x-service-link-token"
BROWSER = (LoginKind.OAUTH, LoginKind.PASSWORD, LoginKind.EMAIL)


def _token(tenant: Tenant, **values: Any) -> str:
    with team_scope(tenant.context):
        return link_token_create(team=tenant.context, user_id=user_make(tenant).id, **values).token


def _with(token: str, *, key: str | None = None) -> ApiClient:
    client = ApiClient(team_key=key)
    client.headers[HEADER] = token
    return client


def _slugs(client: ApiClient, path: str = LISTED) -> list[str]:
    response = client.get(path)
    assert response.status_code == 200, response.content
    return [one["slug"] for one in response.json()]


def _settings(tenant: Tenant, **values: Any) -> None:
    with team_scope(tenant.context):
        TeamSettings.objects.create(team=tenant.team, environment=str(tenant.context.environment), **values)


def _register(monkeypatch: pytest.MonkeyPatch, slug: str) -> None:
    monkeypatch.setenv(f"PROVIDER_{slug.upper()}_CLIENT_ID", "operator")
    monkeypatch.setenv(f"PROVIDER_{slug.upper()}_CLIENT_SECRET", "hidden")


def _playable(tenant: Tenant) -> set[str]:
    """What the simulator plays: an OAuth login where there is something to pull, and every password's and e-mail's."""
    environment = tenant.context.environment
    return {
        slug
        for slug, one in catalogue().items()
        if one.login in BROWSER and (one.login is not LoginKind.OAUTH or connector_of(slug, environment))
    }


def test_the_catalogue_with_every_field(api: ApiClient) -> None:
    found = {one["slug"]: one for one in api.get(PROVIDERS).json()}
    assert list(found) == list(catalogue())
    oura = found["oura"]
    assert {name: oura[name] for name in oura if name not in ("resources", "supported_resources")} == {
        "name": "Oura",
        "slug": "oura",
        "description": catalogue()["oura"].description,
        "logo": "http://localhost:8000/static/links/logos/oura.svg",
        "auth_type": "oauth",
        "source_type": "device",
        "state": "open",
        "closed_on": None,
        "regions": [],
        "available": True,
    }
    assert oura["supported_resources"] == list(catalogue()["oura"].resources)
    assert oura["resources"]["heartrate"] == {
        "required": ["heartrate"],
        "optional": ["daily"],
        "granularity": "5 minutes",
        "reach_back_days": None,
    }
    assert (found["fitbit"]["state"], found["fitbit"]["closed_on"]) == ("closed", "2026-11-02")
    assert found["freestyle_libre"]["regions"] == ["us", "eu", "de", "fr", "ca", "au"]
    assert found["polar"]["resources"]["sleep"]["reach_back_days"] == 28
    auth_types = {slug: found[slug]["auth_type"] for slug in ("zwift", "freestyle_libre", "apple_health_kit", "manual")}
    assert auth_types == {"zwift": "password", "freestyle_libre": "email", "apple_health_kit": "app", "manual": ""}
    assert found["omron_ble"]["auth_type"] == "sdk"


def test_available_is_of_this_keys_environment(
    api: ApiClient, production: Tenant, monkeypatch: pytest.MonkeyPatch, team: Tenant
) -> None:
    telephone = {slug for slug, one in catalogue().items() if one.login not in BROWSER}
    assert len(telephone) == 10
    assert {one["slug"] for one in api.get(PROVIDERS).json() if one["available"]} == telephone | _playable(team)
    live = ApiClient(team_key=production.key)
    assert {one["slug"] for one in live.get(PROVIDERS).json() if one["available"]} == telephone
    _register(monkeypatch, "withings")
    assert {one["slug"] for one in live.get(PROVIDERS).json() if one["available"]} == {*telephone, "withings"}


def test_a_source_type_narrows_the_list(api: ApiClient) -> None:
    meters = _slugs(api, f"{PROVIDERS}?source_type=ble")
    assert set(meters) == {slug for slug in catalogue() if slug.endswith("_ble")}
    assert _slugs(api, f"{PROVIDERS}?source_type=lab") == []
    assert _slugs(api, f"{PROVIDERS}?source_type=nonsense") == []


def test_the_catalogue_needs_a_team_key(team: Tenant) -> None:
    assert _with(_token(team)).get(PROVIDERS).status_code == 401


def test_a_team_key_lists_what_the_team_can_connect(api: ApiClient, team: Tenant) -> None:
    found = api.get(LISTED).json()
    assert {one["slug"] for one in found} == _playable(team)
    ranks = [catalogue()[one["slug"]].rank for one in found]
    assert ranks == sorted(ranks)
    first = found[0]
    assert first == {
        "id": 1,
        "name": "Oura",
        "slug": "oura",
        "description": catalogue()["oura"].description,
        "logo": "http://localhost:8000/static/links/logos/oura.svg",
        "oauth_url": None,
        "auth_type": "oauth",
        "form_components": {},
    }


def test_forms_are_told_to_those_who_draw_them(api: ApiClient) -> None:
    forms = {one["slug"]: one["form_components"] for one in api.get(LISTED).json()}
    assert forms["zwift"] == {
        "username": {"label": "E-mail address", "type": "text"},
        "password": {"label": "Password", "type": "password"},
    }
    assert forms["freestyle_libre"] == {
        "email": {"label": "E-mail address", "type": "email"},
        "region": {
            "label": "Where your account is kept",
            "type": "choice",
            "choices": ["us", "eu", "de", "fr", "ca", "au"],
        },
    }


def test_a_link_token_lists_what_its_page_would(team: Tenant) -> None:
    token = _token(team, filter_on_providers=["zwift", "oura", "apple_health_kit"])
    found = {one["slug"]: one for one in _with(token).get(LISTED).json()}
    assert list(found) == ["oura", "zwift"]
    assert found["oura"]["oauth_url"] == f"http://localhost:8000/link/open?token={token}&provider=oura"
    assert found["zwift"]["oauth_url"] is None
    assert _slugs(_with(token, key=team.key)) == ["oura", "zwift"]


def test_a_token_for_one_provider_lists_that_one(team: Tenant) -> None:
    _settings(team, link_providers=["oura"])
    assert _slugs(_with(_token(team, provider="withings"))) == ["withings"]
    assert _slugs(_with(_token(team, provider="omron_ble"))) == []


def test_a_teams_choice_limits_and_orders_its_page(api: ApiClient, team: Tenant) -> None:
    _settings(team, link_providers=["zwift", "withings", "gone_gadget", "oura", "zwift"])
    assert _slugs(_with(_token(team))) == ["zwift", "withings", "oura"]
    assert _slugs(_with(_token(team, filter_on_providers=["oura", "kardia", "zwift"]))) == ["zwift", "oura"]
    # What the team can connect by programme is not what its page lists.
    assert set(_slugs(api)) == _playable(team)


def test_production_lists_what_is_registered_and_open(production: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    live = ApiClient(team_key=production.key)
    assert _slugs(live) == []
    _register(monkeypatch, "oura")
    _register(monkeypatch, "fitbit")  # closed
    _register(monkeypatch, "cronometer")  # no connector, and no addresses
    assert _slugs(live) == ["oura"]
    assert _slugs(_with(_token(production))) == ["oura"]
    with team_scope(production.context):
        ProviderApplication.objects.create(
            team=production.team,
            environment="production",
            provider="withings",
            client_id="ours",
            client_secret="hidden",
            created_at=clock.now(),
            updated_at=clock.now(),
        )
    assert _slugs(live) == ["oura", "withings"]


def test_anothers_registration_is_not_ours(production: Tenant, other_team: Tenant) -> None:
    with team_scope(other_team.context):
        ProviderApplication.objects.create(
            team=other_team.team,
            environment="sandbox",
            provider="withings",
            client_id="theirs",
            client_secret="hidden",
            created_at=clock.now(),
            updated_at=clock.now(),
        )
    assert _slugs(ApiClient(team_key=production.key)) == []


def test_closed_providers_are_never_listed_in_production(production: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    for slug in catalogue():
        _register(monkeypatch, slug)
    listed = set(_slugs(ApiClient(team_key=production.key)))
    assert listed >= {"oura", "withings"}
    assert not [slug for slug in listed if catalogue()[slug].state is ProviderState.CLOSED]


def test_a_spent_token_lists_nothing(team: Tenant) -> None:
    token = _token(team)
    with time_machine.travel(clock.now() + timedelta(minutes=60), tick=False):
        assert _with(token).get(LISTED).status_code == 401
    assert _with("lk_" + "0" * 49).get(LISTED).status_code == 401


@pytest.mark.parametrize("path", [LISTED, f"{OAUTH}/oura", CONFIG])
def test_a_token_and_a_key_of_two_teams_are_refused(team: Tenant, other_team: Tenant, path: str) -> None:
    response = _with(_token(team), key=other_team.key).get(path)
    assert (response.status_code, response.json()["code"]) == (401, "not_authenticated")


def _refused(client: ApiClient, slug: str = "oura") -> str:
    response = client.get(f"{OAUTH}/{slug}")
    assert (response.status_code, response.json()["code"]) == (400, "link_refused"), response.content
    detail = response.json()["detail"]
    assert set(detail) == {"error_type", "error_message"}
    assert detail["error_message"].endswith(".")
    error_type: str = detail["error_type"]
    return error_type


@pytest.mark.parametrize("with_key", [True, False])
def test_an_oauth_login_begins_at_our_own_address(team: Tenant, with_key: bool) -> None:
    token = _token(team)
    response = _with(token, key=team.key if with_key else None).get(f"{OAUTH}/withings")
    assert response.status_code == 200
    assert response.json() == {
        "id": 15,
        "name": "Withings",
        "slug": "withings",
        "description": catalogue()["withings"].description,
        "logo": "http://localhost:8000/static/links/logos/withings.svg",
        "group": None,
        "oauth_url": f"http://localhost:8000/link/open?token={token}&provider=withings",
        "auth_type": "oauth",
        "source_type": "device",
        "is_active": True,
        "backfill_num_days": 30,
    }
    assert parse_qs(urlsplit(response.json()["oauth_url"]).query) == {"token": [token], "provider": ["withings"]}


def test_a_filter_and_a_teams_choice_limit_the_page_only(team: Tenant) -> None:
    _settings(team, link_providers=["zwift"])
    assert _with(_token(team, filter_on_providers=["zwift"])).get(f"{OAUTH}/oura").status_code == 200


def test_a_team_key_alone_is_told_that_the_token_is_missing(api: ApiClient) -> None:
    assert _refused(api) == "MISSING_LINK_TOKEN"


@pytest.mark.parametrize(
    "slug", ["zwift", "freestyle_libre", "apple_health_kit", "omron_ble", "manual", "nokia", "hammerhead"]
)
def test_what_has_no_oauth_login_is_no_provider_of_this_call(team: Tenant, slug: str) -> None:
    assert _refused(_with(_token(team)), slug) == "INVALID_PROVIDER"


def test_what_cannot_be_connected_here_is_refused(production: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    token = _token(production)
    assert _refused(_with(token), "oura") == "INVALID_PROVIDER"
    _register(monkeypatch, "oura")
    assert _with(token).get(f"{OAUTH}/oura").status_code == 200
    _register(monkeypatch, "fitbit")
    assert _refused(_with(token), "fitbit") == "INVALID_PROVIDER"


def test_a_token_for_another_provider_is_refused(team: Tenant) -> None:
    token = _token(team, provider="withings")
    assert _refused(_with(token), "oura") == "INVALID_PROVIDER"
    assert _with(token).get(f"{OAUTH}/withings").status_code == 200


def test_a_spent_token_is_told_by_its_error_type(team: Tenant) -> None:
    token = _token(team)
    with time_machine.travel(clock.now() + timedelta(minutes=60), tick=False):
        assert _refused(_with(token)) == "token_expired"
    used = _token(team)
    with team_scope(team.context):
        rows = LinkToken.objects.exclude(status="expired")
        for command in (TokenCommand.VALIDATE, TokenCommand.CONSUME):
            walk(rows, TOKEN_TRANSITIONS, command)
    assert _refused(_with(used)) == "token_consumed"
    assert _with("lk_" + "0" * 49).get(f"{OAUTH}/oura").status_code == 401


def test_the_pages_configuration(api: ApiClient, team: Tenant) -> None:
    assert api.get(CONFIG).json()["name"] == "Our team"
    _settings(team, company_name="Acme", brand_color="#336699", link_providers=["withings", "oura"])
    token = _token(team)
    for client in (api, _with(token), _with(token, key=team.key)):
        found = client.get(CONFIG).json()
        assert {name: found[name] for name in found if name != "providers"} == {
            "team_id": str(team.team.id),
            "name": "Acme",
            "color": "#336699",
            "logo_url": None,
        }
        assert [one["slug"] for one in found["providers"]] == ["withings", "oura"]


@pytest.mark.parametrize("path", [PROVIDERS, LISTED])
def test_lists_take_no_query_of_their_own_in_the_sandbox(api: ApiClient, path: str) -> None:
    api.get(path)
    with CaptureQueriesContext(database) as captured:
        api.get(path)
    assert [query["sql"] for query in captured if '"links_' in query["sql"]] == []


def test_production_asks_once_for_the_teams_registrations(production: Tenant) -> None:
    live, token = ApiClient(team_key=production.key), _with(_token(production))
    for client in (live, token):
        client.get(LISTED)
        with CaptureQueriesContext(database) as captured:
            client.get(LISTED)
        found = [query["sql"] for query in captured]
        assert len([sql for sql in found if "links_provider_application" in sql]) == 1
        assert len([sql for sql in found if "management_team_settings" in sql]) == (0 if client is live else 1)
