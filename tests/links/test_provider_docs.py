"""docs/providers.md: every provider, every field of a file, and an example that is a good file."""

import re
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from healthsvc.reference_docs import PAGES
from links.catalogue import (
    OAuthConfiguration,
    PasswordConfiguration,
    Provider,
    RateLimit,
    ResourceOffer,
    catalogue_shipped,
)
from links.catalogue.load import provider_read

PAGE = Path(__file__).resolve().parents[2] / "docs" / "providers.md"


def test_the_page_is_as_the_catalogue_says() -> None:
    assert PAGE.read_text() == PAGES["docs/providers.md"]()


@pytest.mark.parametrize("slug", list(catalogue_shipped()))
def test_every_provider_has_its_row_and_its_resources(slug: str) -> None:
    provider, page = catalogue_shipped()[slug], PAGES["docs/providers.md"]()
    assert page.count(f"| [{provider.name}](#{slug}) | `{slug}` | ") == 1
    section = page.partition(f'<a id="{slug}"></a>')[2].partition("\n<a id=")[0].partition("\n## A file")[0]
    assert section.startswith(f"\n\n## {provider.name}\n")
    rows = dict(re.findall(r"^\| `(\w+)` \|(.*)$", section, flags=re.MULTILINE))
    assert list(rows) == list(provider.resources)
    for name, offer in provider.resources.items():
        assert offer.granularity in rows[name]
        assert all(f"`{scope}`" in rows[name] for scope in (*offer.required, *offer.optional))


def test_the_page_says_what_was_not_tried() -> None:
    assert "read, not\nexercised against a live account" in PAGES["docs/providers.md"]()


def test_every_field_of_a_file_is_told() -> None:
    told = PAGES["docs/providers.md"]().partition("## A file of your own")[2]
    for kind in (Provider, OAuthConfiguration, PasswordConfiguration, ResourceOffer, RateLimit):
        assert [field.name for field in fields(kind) if not re.search(rf"\b{field.name}\b", told)] == []


def test_the_example_is_a_good_file() -> None:
    told = PAGES["docs/providers.md"]().partition("## A file of your own")[2]
    example, password = re.findall(r"```toml\n(.*?)```", told, flags=re.DOTALL)
    provider = provider_read("acme_band.toml", tomllib.loads(example))
    assert list(provider.resources) == ["sleep", "steps"]
    assert provider.oauth is not None
    values = {
        **tomllib.loads(password),
        "slug": "acme_scale",
        "name": "Acme",
        "description": "Weight.",
        "state": "open",
    }
    values |= {"login": "password", "resources": {"weight": {}}, "password_adapter": "acme_health.band:BandLogin"}
    scale = provider_read("acme_scale.toml", values)
    assert scale.password == PasswordConfiguration(("us", "eu"), ("sms", "email"), "E-mail address")
