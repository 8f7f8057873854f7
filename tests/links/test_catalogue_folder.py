"""An operator's own provider files: new providers, other words for shipped ones, and mistakes that stop the start."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings

from healthsvc.kernel.principal import Environment
from links import selectors
from links.catalogue import catalogue, catalogue_reload, catalogue_shipped
from links.connectors.registry import CONNECTORS, connector_of, registry_check
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.links.linking import browser, opened, path_of

ROOT = Path(__file__).resolve().parents[2]

FILE = """
slug = "acme_band"
name = "Acme Band"
description = "Sleep and steps from the Acme band."
login = "oauth"
state = "open"
rank = 5
backfill_days = 30
connector = "acme_health_band:BandConnector"

[oauth]
authorize_url = "https://login.acme.example/authorize"
token_url = "https://login.acme.example/token"
api_url = "https://api.acme.example"
client_authentication = "body"
pkce = true
refresh_rotates = true
scope_separator = " "
token_envelope = "plain"
simulator_token_path = "/oauth/token"

[resources]
sleep = { required = ["sleep"], granularity = "each sleep" }
steps = { required = ["activity"], granularity = "1 minute", reach_back_days = 90 }
"""

MODULE = '''
"""An operator's connector."""

from links.connectors.base import Pulled


class BandConnector:
    window_days = {"sleep": 30, "steps": 7}

    def account_id(self, access):
        return "band"

    def pull(self, access, resource, start_on, end_on):
        return Pulled()


class Unfinished:
    window_days = {"sleep": 30}

    def __init__(self, needed):
        self.needed = needed


class HalfConnector:
    window_days = {"sleep": 30}
'''


@pytest.fixture
def folder(tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder of provider files that the service looks into, and a module of connectors on the path."""
    modules, files = tmp_path / "modules", tmp_path / "providers"
    modules.mkdir()
    files.mkdir()
    (modules / "acme_health_band.py").write_text(MODULE)
    monkeypatch.syspath_prepend(modules)
    settings.PROVIDER_CATALOGUE_DIR = str(files)
    yield files
    settings.PROVIDER_CATALOGUE_DIR = ""
    catalogue_reload()
    sys.modules.pop("acme_health_band", None)


def _put(folder: Path, text: str = FILE, slug: str = "acme_band") -> None:
    (folder / f"{slug}.toml").write_text(text)
    catalogue_reload()


def test_a_new_provider_is_there_beside_the_shipped_ones(folder: Path) -> None:
    _put(folder)
    registry_check()
    assert set(catalogue()) == {*catalogue_shipped(), "acme_band"}
    assert "acme_band" not in catalogue_shipped()
    connector = connector_of("acme_band", Environment.PRODUCTION)
    assert type(connector).__name__ == "BandConnector"
    assert connector is connector_of("acme_band", Environment.SANDBOX)
    assert set(CONNECTORS) == {slug for slug, one in catalogue().items() if one.connector}
    assert len(CONNECTORS) == len(set(CONNECTORS))
    assert selectors.resources_available("acme_band", ["activity"], Environment.PRODUCTION) == ["steps"]


def test_a_new_provider_is_reachable_in_every_list(folder: Path, api: ApiClient, team: Tenant) -> None:
    _put(folder)
    detailed = {one["slug"]: one for one in api.get("/v2/providers").json()}
    assert detailed["acme_band"]["supported_resources"] == ["sleep", "steps"]
    assert detailed["acme_band"]["available"] is True
    assert detailed["acme_band"]["logo"] == "http://localhost:8000/static/links/logos/_provider.svg"
    first = api.get("/v2/link/providers").json()[0]
    assert (first["slug"], first["id"], first["name"]) == ("acme_band", 0, "Acme Band")
    made = api.post("/v2/link/token", {"user_id": str(user_make(team).id), "filter_on_providers": ["acme_band"]})
    assert made.status_code == 200
    client = browser()
    page = client.get(opened(client, path_of(made.json()["link_web_url"]))).content.decode()
    assert "Acme Band" in page
    assert "Oura" not in page


def test_a_new_provider_works_in_production_with_its_own_registration(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _put(folder)
    band = catalogue()["acme_band"]
    assert not selectors.provider_works(band, Environment.PRODUCTION)
    assert selectors.provider_works(band, Environment.PRODUCTION, {"acme_band"})
    monkeypatch.setenv("PROVIDER_ACME_BAND_CLIENT_ID", "operator")
    monkeypatch.setenv("PROVIDER_ACME_BAND_CLIENT_SECRET", "hidden")
    assert selectors.provider_works(band, Environment.PRODUCTION)


def test_a_file_takes_the_place_of_the_shipped_one(folder: Path) -> None:
    text = FILE.replace("acme_band", "omron").replace("Acme Band", "Omron by contract")
    _put(folder, text, "omron")
    assert set(catalogue()) == set(catalogue_shipped())
    assert (catalogue()["omron"].name, catalogue_shipped()["omron"].name) == ("Omron by contract", "Omron")
    assert selectors.logo_url("omron").endswith("/links/logos/omron.svg")


def test_a_password_provider_works_in_production_with_an_adapter_and_a_connector(folder: Path) -> None:
    text = """
slug = "zwift"
name = "Zwift"
description = "Rides by agreement."
login = "password"
state = "partner"
connector = "acme_health_band:BandConnector"
password_adapter = "acme_health_band:BandConnector"
[resources]
sleep = {}
"""
    assert not selectors.provider_works(catalogue()["zwift"], Environment.PRODUCTION)
    _put(folder, text, "zwift")
    assert selectors.provider_works(catalogue()["zwift"], Environment.PRODUCTION)
    _put(folder, text.replace('state = "partner"', 'state = "closed"\nnote = "Gone."'), "zwift")
    assert not selectors.provider_works(catalogue()["zwift"], Environment.PRODUCTION)
    _put(folder, text.replace("connector =", "# connector ="), "zwift")
    assert not selectors.provider_works(catalogue()["zwift"], Environment.PRODUCTION)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('state = "open"', 'state = "ajar"', "acme_band.toml: state must be one of"),
        ("pkce = true", "pkce = 1", "acme_band.toml [oauth]: pkce must be true or false"),
        ('"acme_band"', '"acme"', "acme_band.toml: slug must be the file's own name"),
        ("[resources]", "[resources", "acme_band.toml can't be read"),
        ("rank = 5", 'rank = "5"', "acme_band.toml: rank must be a whole number."),
        ('name = "Acme Band"', "name = 5", 'acme_band.toml: name must be a text: "in quotes".'),
        ('required = ["activity"]', 'required = "activity"', '[steps]: required must be a list: ["one", "another"].'),
        (
            "[resources]",
            "[words]\nglucose = 'Blood'\n\n[resources]",
            "words tell of glucose, which [resources] does not",
        ),
        ('"activity"]', '"activity"], optional = ["gps"]', "scope_words must tell a person what they give with gps."),
        (
            "acme_health_band:",
            "acme_nowhere:",
            "acme_band.toml: connector acme_nowhere:BandConnector can't be made: there is no module acme_nowhere;",
        ),
        ("BandConnector", "NoSuchClass", "acme_band.toml: connector acme_health_band:NoSuchClass can't be made"),
        ("BandConnector", "Unfinished", "Unfinished can't be made: it is made without arguments."),
        ("BandConnector", "HalfConnector", "acme_band.toml: resources name steps, which the connector can't pull"),
    ],
)
def test_a_mistake_names_the_file_and_the_field(folder: Path, before: str, after: str, message: str) -> None:
    _put(folder, FILE.replace(before, after))
    with pytest.raises(ImproperlyConfigured) as found:
        registry_check()
    assert message in str(found.value)
    # An operator has files in many places: the whole path tells which.
    assert f"links/catalogue: {folder}/acme_band.toml" in str(found.value)


def test_a_password_adapter_that_cannot_be_made_is_named(folder: Path) -> None:
    text = """
slug = "acme_scale"
name = "Acme Scale"
description = "Weight from the Acme scale."
login = "password"
state = "open"
password_adapter = "acme_health_band:NoLogin"
[resources]
weight = {}
"""
    _put(folder, text, "acme_scale")
    with pytest.raises(ImproperlyConfigured, match=r"acme_scale\.toml: password_adapter acme_health_band:NoLogin"):
        registry_check()


def test_a_folder_that_is_not_there_is_named(settings: Settings, tmp_path: Path) -> None:
    settings.PROVIDER_CATALOGUE_DIR = str(tmp_path / "nowhere")
    catalogue_reload()
    try:
        with pytest.raises(ImproperlyConfigured, match="PROVIDER_CATALOGUE_DIR: there is no folder"):
            catalogue()
    finally:
        settings.PROVIDER_CATALOGUE_DIR = ""
        catalogue_reload()


@pytest.mark.slow
def test_a_mistake_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "acme_band.toml").write_text(FILE.replace("pkce = true", "pkce = 1"))
    environment = {
        **os.environ,
        "PROVIDER_CATALOGUE_DIR": str(tmp_path),
        "DJANGO_SETTINGS_MODULE": "healthsvc.settings",
    }
    code = "import django; django.setup()"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    assert f"{tmp_path}/acme_band.toml [oauth]: pkce must be true or false." in done.stderr
