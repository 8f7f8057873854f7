"""The provider catalogue: complete, checked, and with a mark for everyone."""

import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from aggregation.catalogue import RESOURCES
from healthsvc.kernel.principal import Environment
from links import selectors
from links.catalogue import (
    LoginKind,
    OAuthConfiguration,
    PasswordConfiguration,
    Provider,
    ProviderState,
    RateLimit,
    ResourceOffer,
    ResourceScopes,
    ResourceWords,
    SourceType,
    TokenEnvelope,
    catalogue,
    provider_find,
    resource_words,
)
from links.catalogue.load import provider_read
from links.catalogue.shapes import ClientAuthentication
from links.connectors.oauth import application_of, authorize_address
from links.connectors.registry import CONNECTORS
from tests.links.linking import query_of

ROOT = Path(__file__).resolve().parents[2]

#: The interface's 40 slugs and the later one (source: enumerations of the public models).
SLUGS = [
    "oura",
    "fitbit",
    "garmin",
    "whoop",
    "strava",
    "renpho",
    "peloton",
    "wahoo",
    "zwift",
    "freestyle_libre",
    "abbott_libreview",
    "tandem_source",
    "freestyle_libre_ble",
    "eight_sleep",
    "withings",
    "apple_health_kit",
    "manual",
    "ihealth",
    "google_fit",
    "beurer_api",
    "beurer_ble",
    "omron",
    "omron_ble",
    "onetouch_ble",
    "accuchek_ble",
    "contour_ble",
    "dexcom",
    "dexcom_v3",
    "hammerhead",
    "my_fitness_pal",
    "health_connect",
    "samsung_health",
    "polar",
    "cronometer",
    "kardia",
    "whoop_v2",
    "ultrahuman",
    "my_fitness_pal_v2",
    "map_my_fitness",
    "runkeeper",
    "google_health",
]
PASSWORD_SLUGS = [
    "whoop",
    "renpho",
    "peloton",
    "zwift",
    "eight_sleep",
    "beurer_api",
    "dexcom",
    "hammerhead",
    "my_fitness_pal",
    "kardia",
    "abbott_libreview",
    "tandem_source",
]
OAUTH_SLUGS = [
    "oura",
    "fitbit",
    "garmin",
    "strava",
    "wahoo",
    "ihealth",
    "withings",
    "google_fit",
    "dexcom_v3",
    "polar",
    "cronometer",
    "omron",
    "whoop_v2",
    "my_fitness_pal_v2",
    "ultrahuman",
    "runkeeper",
    "google_health",
    "map_my_fitness",
]


def test_every_provider_of_the_interface_is_there_and_no_other() -> None:
    assert len(SLUGS) == 41
    assert set(catalogue()) == set(SLUGS)


def test_kinds_of_login_are_the_interfaces() -> None:
    by_kind = {kind: {slug for slug, provider in catalogue().items() if provider.login is kind} for kind in LoginKind}
    assert by_kind[LoginKind.PASSWORD] == set(PASSWORD_SLUGS)
    assert by_kind[LoginKind.OAUTH] == set(OAUTH_SLUGS)
    assert by_kind[LoginKind.EMAIL] == {"freestyle_libre"}
    assert by_kind[LoginKind.APP] == {"apple_health_kit", "health_connect", "samsung_health"}
    assert by_kind[LoginKind.NONE] == {"manual"}
    assert by_kind[LoginKind.DEVICE] == {slug for slug in SLUGS if slug.endswith("_ble")}


def test_the_interfaces_lists_are_subsets_of_the_catalogue() -> None:
    assert len(SLUGS) - 1 == 40
    assert len(PASSWORD_SLUGS) == 12
    assert set(PASSWORD_SLUGS) < set(catalogue())
    # The list of OAuth paths has 17; map_my_fitness is OAuth in the vendor's documents and not in that list.
    assert len(set(OAUTH_SLUGS) - {"map_my_fitness"}) == 17
    assert set(OAUTH_SLUGS) < set(catalogue())


@pytest.mark.parametrize("slug", SLUGS)
def test_every_provider_says_what_a_person_and_a_developer_ask(slug: str) -> None:
    provider = catalogue()[slug]
    assert re.fullmatch(r"[A-Z][^.]+\.", provider.description)
    assert provider.resources
    assert all(offer.granularity for offer in provider.resources.values())
    assert provider.rank < 1000
    assert provider.state is not ProviderState.CLOSED or provider.note or provider.closed_on
    if provider.login in (LoginKind.PASSWORD, LoginKind.EMAIL):
        assert provider.password is not None


def test_no_two_providers_share_a_rank() -> None:
    ranks = [provider.rank for provider in catalogue().values()]
    assert len(ranks) == len(set(ranks))


def test_kinds_of_source_are_the_interfaces() -> None:
    kinds = {slug: str(provider.source_type) for slug, provider in catalogue().items()}
    assert set(kinds.values()) == {"app", "ble", "device", "provider"}
    assert {slug for slug, kind in kinds.items() if kind == "ble"} == {slug for slug in SLUGS if slug.endswith("_ble")}


def test_what_closed_is_closed_since_its_day() -> None:
    closed = {slug: one.closed_on for slug, one in catalogue().items() if one.closed_on}
    assert closed == {"fitbit": date(2026, 11, 2), "google_fit": date(2024, 5, 1), "peloton": date(2025, 10, 1)}
    assert all(catalogue()[slug].state is ProviderState.CLOSED for slug in closed)


def test_hammerhead_takes_a_password_and_has_oauth_behind_it() -> None:
    hammerhead = catalogue()["hammerhead"]
    assert hammerhead.login is LoginKind.PASSWORD
    assert hammerhead.oauth is not None
    assert hammerhead.scopes == ("activity:read",)
    assert selectors.login_way(hammerhead, Environment.SANDBOX) is LoginKind.PASSWORD
    assert selectors.login_way(hammerhead, Environment.PRODUCTION) is LoginKind.OAUTH
    assert selectors.login_way(catalogue()["zwift"], Environment.PRODUCTION) is LoginKind.PASSWORD


def test_every_oauth_provider_can_be_played_and_an_open_one_reached() -> None:
    for slug in OAUTH_SLUGS:
        provider = catalogue()[slug]
        assert provider.oauth is not None, slug
        assert provider.state is not ProviderState.OPEN or provider.oauth.authorize_url, slug
        assert bool(provider.oauth.authorize_url) == bool(provider.oauth.token_url) == bool(provider.oauth.api_url)


def test_scopes_and_limits_of_those_that_publish_them() -> None:
    scopes = {slug: set(catalogue()[slug].scopes) for slug in ("polar", "dexcom_v3", "whoop_v2", "wahoo", "garmin")}
    assert scopes == {
        "polar": {"accesslink.read_all"},
        "dexcom_v3": {"offline_access"},
        "whoop_v2": {
            "offline", "read:profile", "read:sleep", "read:cycles", "read:workout", "read:recovery",
            "read:body_measurement",
        },
        "wahoo": {"user_read", "offline_data", "workouts_read"},
        "garmin": set(),
    }  # fmt: skip
    limits = {
        slug: [(limit.requests, limit.window_seconds) for limit in provider.oauth.rate_limits]
        for slug in ("oura", "withings", "whoop_v2", "dexcom_v3")
        if (provider := catalogue()[slug]).oauth
    }
    assert limits == {
        "oura": [(5000, 300)],
        "withings": [(120, 60)],
        "whoop_v2": [(100, 60), (10_000, 86_400)],
        "dexcom_v3": [(60_000, 3600)],
    }


@pytest.mark.parametrize("slug", [*SLUGS, "_provider"])
def test_every_provider_has_a_mark_of_our_own(slug: str) -> None:
    mark = (ROOT / "static" / "links" / "logos" / f"{slug}.svg").read_text()
    assert mark.startswith("<svg xmlns=")
    assert not re.search(r"<script|href|url\(|<image|on\w+=", mark)


def test_connected_providers_offer_what_they_pull_and_the_store_keeps() -> None:
    stored = {spec.slug for spec in RESOURCES}
    for slug, connector in CONNECTORS.items():
        provider = catalogue()[slug]
        assert provider.resources
        # No more than is pulled, so that nobody is promised it; no less, so that nothing is pulled unseen.
        assert set(provider.resources) == stored & set(connector.window_days)
        assert 30 <= provider.backfill_days <= 365
    assert set(catalogue()["oura"].resources) >= {"activity", "sleep", "heartrate", "workouts"}
    assert set(catalogue()["withings"].resources) >= {"activity", "sleep", "heartrate", "workouts", "steps"}


def test_sandbox_goes_to_the_simulator_and_production_to_the_vendor(monkeypatch: pytest.MonkeyPatch) -> None:
    withings = catalogue()["withings"]
    sandbox = application_of(withings, Environment.SANDBOX)
    assert sandbox is not None
    assert sandbox.token_url == "http://127.0.0.1:8002/withings/v2/oauth2"
    assert application_of(withings, Environment.PRODUCTION) is None
    assert not selectors.provider_works(withings, Environment.PRODUCTION)
    monkeypatch.setenv("PROVIDER_WITHINGS_CLIENT_ID", "operator")
    monkeypatch.setenv("PROVIDER_WITHINGS_CLIENT_SECRET", "hidden")
    production = application_of(withings, Environment.PRODUCTION)
    assert production is not None
    assert production.token_url == "https://wbsapi.withings.net/v2/oauth2"
    assert selectors.provider_works(withings, Environment.PRODUCTION)
    address = authorize_address(production, state="s", verifier="v" * 43)
    assert address.startswith("https://account.withings.com/oauth2_user/authorize2?")
    query = query_of(address)
    assert query["client_id"] == "operator"
    assert query["code_challenge_method"] == "S256"
    assert set(query["scope"].split(",")) == set(withings.scopes)
    assert "hidden" not in address


@pytest.mark.parametrize("slug", ["zwift", "freestyle_libre", "apple_health_kit", "omron_ble", "manual"])
def test_a_login_without_scopes_gives_everything(slug: str) -> None:
    found = selectors.availability_of(slug, [])
    assert set(found) == set(catalogue()[slug].resources)
    nothing = ResourceScopes()
    assert all(one == selectors.Availability(True, nothing, nothing) for one in found.values())


def test_scopes_count_where_a_login_has_them() -> None:
    assert not any(one.available for one in selectors.availability_of("oura", []).values())
    sleep = selectors.availability_of("oura", ["daily"])["sleep"]
    assert sleep == selectors.Availability(True, ResourceScopes(("daily",)), ResourceScopes())
    heartrate = selectors.availability_of("oura", ["heartrate"])["heartrate"]
    assert heartrate == selectors.Availability(True, ResourceScopes(("heartrate",)), ResourceScopes((), ("daily",)))
    # A vendor without scopes: what is shared was chosen when the application was registered.
    assert all(one.available for one in selectors.availability_of("garmin", []).values())
    # Hammerhead by its password, and by the OAuth behind it.
    assert selectors.availability_of("hammerhead", [])["workouts"].available
    assert selectors.availability_of("hammerhead", ["activity:read"])["workouts"].granted.required == ("activity:read",)
    assert not selectors.availability_of("hammerhead", ["route:write"])["workouts"].available


def test_what_is_pulled_differs_by_environment() -> None:
    assert selectors.resources_available("withings", ["user.metrics"], Environment.PRODUCTION) == [
        name for name, offer in catalogue()["withings"].resources.items() if offer.required == ("user.metrics",)
    ]
    assert selectors.resources_available("zwift", [], Environment.SANDBOX) == list(catalogue()["zwift"].resources)
    assert selectors.resources_available("zwift", [], Environment.PRODUCTION) == []


def test_a_stored_slug_that_nobody_knows_gets_a_plain_entry() -> None:
    unknown = provider_find("new_gadget")
    assert (unknown.name, unknown.state, dict(unknown.resources)) == ("New Gadget", ProviderState.CLOSED, {})
    assert selectors.logo_url("new_gadget").endswith("/links/logos/_provider.svg")


def _file(**changes: Any) -> dict[str, Any]:
    oauth = {
        "authorize_url": "https://vendor.example/authorize",
        "token_url": "https://vendor.example/token",
        "api_url": "https://vendor.example",
        "client_authentication": "body",
        "pkce": True,
        "refresh_rotates": True,
        "scope_separator": " ",
        "token_envelope": "plain",
        "simulator_token_path": "/oauth/token",
    }
    whole = {
        "slug": "vendor",
        "name": "Vendor",
        "description": "Sleep from the vendor's pillow.",
        "login": "oauth",
        "state": "open",
        "oauth": oauth,
        "resources": {"sleep": {"required": ["daily"]}},
    }
    return {**whole, **changes}


PASSWORD: dict[str, Any] = {"login": "password", "oauth": None, "resources": {"sleep": {}}}


def _without(changes: dict[str, Any]) -> dict[str, Any]:
    """A file with these changes; a None takes the field away."""
    return {name: value for name, value in _file(**changes).items() if value is not None}


#: What the whole file below says of OAuth.
_WHOLE_OAUTH = OAuthConfiguration(
    authorize_url="https://vendor.example/authorize",
    token_url="https://vendor.example/token",
    api_url="https://vendor.example",
    client_authentication=ClientAuthentication.BODY,
    pkce=True,
    refresh_rotates=True,
    scope_separator=" ",
    token_envelope=TokenEnvelope.PLAIN,
    simulator_token_path="/oauth/token",
    revoke_url="https://vendor.example/revoke",
    base_scopes=("profile",),
    token_parameters={"action": "requesttoken"},
    authorize_parameters={"access_type": "offline"},
    extra_headers={"Vendor-Key": "public"},
    code_seconds=30,
    rate_limits=(RateLimit(100, 60),),
    account_field="user.id",
    revoke_parameter="access_token",
)


def test_a_whole_file_is_read() -> None:
    oauth = {
        **_file()["oauth"],
        "revoke_url": "https://vendor.example/revoke",
        "revoke_parameter": "access_token",
        "account_field": "user.id",
        "base_scopes": ["profile"],
        "token_parameters": {"action": "requesttoken"},
        "authorize_parameters": {"access_type": "offline"},
        "extra_headers": {"Vendor-Key": "public"},
        "code_seconds": 30,
        "rate_limits": [{"requests": 100, "window_seconds": 60}],
    }
    offer = {"required": ["daily"], "optional": ["spo2"], "granularity": "each night", "reach_back_days": 90}
    provider = provider_read(
        "vendor.toml",
        _file(
            oauth=oauth,
            resources={"sleep": offer},
            words={"sleep": "Your nights"},
            scope_words={"spo2": {"title": "Oxygen", "words": "And how much oxygen you had"}},
            source_type="app",
            rank=7,
            connector="vendor.module:Connector",
            backfill_days=14,
            note="Ten people.",
        ),
    )
    assert provider == Provider(
        slug="vendor",
        name="Vendor",
        login=LoginKind.OAUTH,
        state=ProviderState.OPEN,
        resources={"sleep": ResourceOffer(("daily",), ("spo2",), "each night", 90)},
        note="Ten people.",
        backfill_days=14,
        oauth=_WHOLE_OAUTH,
        description="Sleep from the vendor's pillow.",
        source_type=SourceType.APP,
        rank=7,
        connector="vendor.module:Connector",
        words={"sleep": "Your nights"},
        scope_words={"spo2": ResourceWords("Oxygen", "And how much oxygen you had")},
    )
    assert provider.scopes_on_top == {"spo2": ("sleep",)}
    assert provider.scopes == ("profile", "daily", "spo2")


def test_a_password_file_is_read() -> None:
    password = {"regions": ["us", "eu"], "mfa_methods": ["sms"], "username": "User name"}
    values = _without({**PASSWORD, "password": password, "password_adapter": "vendor.module:Login"})
    provider = provider_read("vendor.toml", values)
    assert provider.password == PasswordConfiguration(("us", "eu"), ("sms",), "User name")
    assert provider.password_adapter == "vendor.module:Login"
    assert provider.oauth is None


def test_a_partners_file_may_leave_its_addresses_to_the_operators() -> None:
    addresses = ("authorize_url", "token_url", "api_url")
    oauth = {name: value for name, value in _file()["oauth"].items() if name not in addresses}
    provider = provider_read("vendor.toml", _file(state="partner", oauth=oauth))
    assert provider.oauth is not None
    assert provider.oauth.authorize_url == ""
    with pytest.raises(ImproperlyConfigured, match=r"vendor\.toml \[oauth\]: authorize_url is missing"):
        provider_read("vendor.toml", _file(oauth=oauth))
    half = {**oauth, "authorize_url": "https://vendor.example/authorize"}
    with pytest.raises(ImproperlyConfigured, match="token_url is missing"):
        provider_read("vendor.toml", _file(state="partner", oauth=half))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"slug": "other"}, "vendor.toml: slug must be the file's own name"),
        ({"slug": 7}, "slug must be a text"),
        ({"login": "smoke"}, "login must be one of oauth, password"),
        ({"state": "ajar"}, "state must be one of open, partner, closed"),
        ({"closed_on": date(2026, 1, 1)}, "closed_on is only for a closed provider"),
        ({"state": "closed", "closed_on": "soon"}, "closed_on must be a date: 2026-11-02"),
        ({"name": None}, "name is missing"),
        ({"description": None}, "description is missing"),
        ({"source_type": "lamp"}, "source_type must be one of app, ble, device"),
        ({"rank": 0}, "rank must be from 1 to"),
        ({"rank": "first"}, "rank must be a whole number"),
        ({"colour": "red"}, "colour is not a field"),
        ({"connector": "vendor.module"}, "connector must be module:Class"),
        ({"password_adapter": "vendor.module:Login"}, "password_adapter is only for a password or e-mail login"),
        ({"password": {}}, "password is only for a password or e-mail login"),
        ({"login": "app"}, "oauth is only for an OAuth login"),
        ({"oauth": None}, "resources have scopes, and there is no [oauth] part"),
        ({"resources": None}, "resources is missing"),
        ({"resources": {"mood": {"required": ["daily"]}}}, "vendor.toml [resources]: mood is not in resources.toml"),
        ({"resources": {"sleep": {}}}, "resources need their scopes"),
        ({"resources": {"sleep": {"required": ["two words"]}}}, "required must be a list of scopes"),
        ({"resources": {"sleep": {"required": ["a"], "granularity": 5}}}, "[sleep]: granularity must be a text"),
        ({"resources": {"sleep": {"required": ["a"], "reach_back_days": 0}}}, "reach_back_days must be from 1 to"),
        ({"resources": {"sleep": {"required": ["a"], "needs": []}}}, "needs is not a field"),
        ({"backfill_days": 9999}, "backfill_days must be from 0 to 365"),
        ({"backfill_days": True}, "backfill_days must be a whole number"),
        ({"oauth": {"token_url": "http://vendor.example"}}, "token_url must be an https address"),
        ({"oauth": {"pkce": "yes"}}, "pkce must be true or false"),
        ({"oauth": {"client_authentication": "wax"}}, "client_authentication must be one of body, basic"),
        ({"oauth": {"token_parameters": {"a": 1}}}, "token_parameters must be texts"),
        ({"oauth": {"authorize_parameters": {"a": 1}}}, "authorize_parameters must be texts"),
        ({"oauth": {"extra_headers": ["a"]}}, "extra_headers must be a table"),
        ({"oauth": {"code_seconds": 0}}, "code_seconds must be from 1 to"),
        ({"oauth": {"rate_limits": [5]}}, "rate_limits must be a list of tables"),
        ({"oauth": {"rate_limits": [{"requests": 5}]}}, "[oauth] [rate_limits 1]: window_seconds is missing"),
        ({"oauth": {"rate_limits": [{"requests": 5, "window_seconds": 0}]}}, "window_seconds must be from 1 to"),
        ({"oauth": {"rate_limits": [{"requests": 5, "window_seconds": 9, "per": "user"}]}}, "per is not a field"),
        ({"oauth": {"has_scopes": False}}, "resources have scopes, and the [oauth] part says that there are none"),
        ({**PASSWORD, "password": {"regions": ["mars"]}}, "[password]: regions must be a list of ar, at"),
        ({**PASSWORD, "password": {"mfa_methods": ["owl"]}}, "mfa_methods must be a list of email, sms"),
        ({**PASSWORD, "password": {"pin": True}}, "pin is not a field"),
    ],
)
def test_mistakes_in_a_file_are_named(changes: dict[str, Any], message: str) -> None:
    if isinstance(changes.get("oauth"), dict):
        changes = {**changes, "oauth": {**_file()["oauth"], **changes["oauth"]}}
    with pytest.raises(ImproperlyConfigured) as found:
        provider_read("vendor.toml", _without(changes))
    assert message in str(found.value)


def test_every_resource_has_words_for_people() -> None:
    for words in resource_words().values():
        assert words.title[0].isupper()
        assert len(words.words) > 15
