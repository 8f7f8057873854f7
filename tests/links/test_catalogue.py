"""The provider catalogue: complete, checked, and with a mark for everyone."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from aggregation.catalogue import RESOURCES
from healthsvc.kernel.principal import Environment
from links import selectors
from links.catalogue import LoginKind, ProviderState, catalogue, provider_find, resource_words
from links.catalogue.load import provider_read
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


@pytest.mark.parametrize("slug", SLUGS)
def test_every_provider_has_a_mark_of_our_own(slug: str) -> None:
    mark = (ROOT / "static" / "links" / "logos" / f"{slug}.svg").read_text()
    assert mark.startswith("<svg xmlns=")
    assert not re.search(r"<script|href|url\(|<image|on\w+=", mark)


def test_connected_providers_offer_what_they_pull_and_the_store_keeps() -> None:
    stored = {spec.slug for spec in RESOURCES}
    for slug, connector in CONNECTORS.items():
        provider = catalogue()[slug]
        assert provider.resources
        assert set(provider.resources) <= stored & set(connector.window_days)
        assert provider.backfill_days == 30
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


def test_a_stored_slug_that_nobody_knows_gets_a_plain_entry() -> None:
    unknown = provider_find("new_gadget")
    assert (unknown.name, unknown.state, dict(unknown.resources)) == ("New Gadget", ProviderState.CLOSED, {})
    assert selectors.logo_url("new_gadget").endswith("/links/logos/manual.svg")


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
        "login": "oauth",
        "state": "open",
        "oauth": oauth,
        "resources": {"sleep": {"required": ["daily"]}},
    }
    return {**whole, **changes}


def test_a_whole_file_is_read() -> None:
    provider = provider_read("vendor.toml", _file())
    assert provider.scopes == ("daily",)
    assert provider.oauth is not None
    assert provider.oauth.pkce is True


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"slug": "other"}, "slug must be the file's own name"),
        ({"login": "smoke"}, "login must be one of oauth, password"),
        ({"name": None}, "name is missing"),
        ({"colour": "red"}, "colour is not a field"),
        ({"resources": {"mood": {"required": ["daily"]}}}, "mood is not in resources.toml"),
        ({"resources": {"sleep": {}}}, "resources need their scopes"),
        ({"resources": {"sleep": {"required": ["two words"]}}}, "required must be a list of scopes"),
        ({"backfill_days": 9999}, "backfill_days must be from 0 to 365"),
        ({"oauth": {**_file()["oauth"], "token_url": "http://vendor.example"}}, "token_url must be an https address"),
        ({"oauth": {**_file()["oauth"], "pkce": "yes"}}, "pkce must be bool"),
    ],
)
def test_mistakes_in_a_file_are_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=re.escape(message)):
        provider_read("vendor.toml", _file(**changes))


def test_every_resource_has_words_for_people() -> None:
    for words in resource_words().values():
        assert words.title[0].isupper()
        assert len(words.words) > 15
