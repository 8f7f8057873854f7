"""Reads and checks the catalogue's files. A mistake in one stops the process with the file and the field named."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TypeVar

from django.core.exceptions import ImproperlyConfigured

from aggregation.catalogue import RESOURCES
from healthsvc.kernel.errors import not_found
from links.catalogue.shapes import (
    ClientAuthentication,
    LoginKind,
    OAuthConfiguration,
    Provider,
    ProviderState,
    ResourceOffer,
    ResourceWords,
    TokenEnvelope,
)

FOLDER: Final = Path(__file__).parent
_SLUG: Final = re.compile(r"[a-z][a-z0-9_]{1,39}")
_SCOPE: Final = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")
#: A backfill reaches at most this far; more needs a decision about rate limits.
_BACKFILL_MAXIMUM_DAYS: Final = 365

E = TypeVar("E", bound=StrEnum)


class _File:
    """One file being read: takes fields out of it, and knows which were left over."""

    def __init__(self, name: str, values: Mapping[str, Any]) -> None:
        self.name = name
        self._values = dict(values)

    def fail(self, field: str, message: str) -> ImproperlyConfigured:
        return ImproperlyConfigured(f"links/catalogue: {self.name}: {field} {message}")

    def take(self, field: str, kind: type[Any], default: Any = None) -> Any:
        value = self._values.pop(field, default)
        if value is None:
            raise self.fail(field, "is missing.")
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self.fail(field, f"must be {kind.__name__}.")
        return value

    def choice(self, field: str, choices: type[E]) -> E:
        text = self.take(field, str)
        if text not in list(choices):
            raise self.fail(field, f"must be one of {', '.join(choices)}.")
        return choices(text)

    def https(self, field: str, default: str | None = None) -> str:
        url: str = self.take(field, str, default)
        if url != default and not url.startswith("https://"):
            raise self.fail(field, "must be an https address.")
        return url.rstrip("/") if field == "api_url" else url

    def scopes(self, field: str) -> tuple[str, ...]:
        found = self.take(field, list, [])
        if not all(isinstance(scope, str) and _SCOPE.fullmatch(scope) for scope in found):
            raise self.fail(field, "must be a list of scopes.")
        return tuple(found)

    def table(self, field: str, default: Mapping[str, Any] | None = None) -> "_File":
        return _File(f"{self.name} [{field}]", self.take(field, dict, default))

    def names(self) -> list[str]:
        return list(self._values)

    def end(self) -> None:
        if self._values:
            raise self.fail(", ".join(sorted(self._values)), "is not a field of this file.")


@lru_cache(maxsize=1)
def resource_words() -> Mapping[str, ResourceWords]:
    """Every resource a provider may name, in the order pages show them."""
    source = _File("resources.toml", _toml(FOLDER / "resources.toml"))
    found: dict[str, ResourceWords] = {}
    for name in source.names():
        table = source.table(name)
        found[name] = ResourceWords(table.take("title", str), table.take("words", str))
        table.end()
    return found


@lru_cache(maxsize=1)
def catalogue() -> Mapping[str, Provider]:
    """Every provider by its slug, in the order of their names."""
    providers = [_storable(_provider(path)) for path in (FOLDER / "providers").glob("*.toml")]
    return {provider.slug: provider for provider in sorted(providers, key=lambda one: one.name.casefold())}


def provider_find(slug: str) -> Provider:
    """The provider of a slug; a slug that was stored once and is no longer known gets a plain entry of its own."""
    unknown = Provider(
        slug=slug,
        name=slug.replace("_", " ").title(),
        login=LoginKind.NONE,
        state=ProviderState.CLOSED,
        resources={},
    )
    return catalogue().get(slug, unknown)


def provider_get(slug: str) -> Provider:
    """The provider of a slug; 404 where there is none."""
    provider = catalogue().get(slug)
    if provider is None:
        raise not_found()
    return provider


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ImproperlyConfigured(f"links/catalogue: {path.name} can't be read: {error}") from None


def _storable(provider: Provider) -> Provider:
    """Without the resources that would be fetched and could not be kept: what isn't kept is not asked for."""
    if provider.oauth is None:
        return provider
    stored = {spec.slug for spec in RESOURCES}
    return replace(provider, resources={name: needs for name, needs in provider.resources.items() if name in stored})


def _provider(path: Path) -> Provider:
    return provider_read(path.name, _toml(path))


def provider_read(file_name: str, values: Mapping[str, Any]) -> Provider:
    """A provider from its file's values; ImproperlyConfigured where they don't fit together."""
    source = _File(file_name, values)
    slug: str = source.take("slug", str)
    if not _SLUG.fullmatch(slug) or f"{slug}.toml" != file_name:
        raise source.fail("slug", "must be the file's own name.")
    login = source.choice("login", LoginKind)
    state = source.choice("state", ProviderState)
    closed_on = source.take("closed_on", date, date.min)
    if closed_on != date.min and state is not ProviderState.CLOSED:
        raise source.fail("closed_on", "is only for a closed provider.")
    resources = _resources(source.table("resources"))
    backfill_days = source.take("backfill_days", int, 0)
    if not 0 <= backfill_days <= _BACKFILL_MAXIMUM_DAYS:
        raise source.fail("backfill_days", f"must be from 0 to {_BACKFILL_MAXIMUM_DAYS}.")
    oauth = _oauth(source.table("oauth")) if "oauth" in source.names() else None
    if oauth and not all(needs.required for needs in resources.values()):
        raise source.fail("resources", "need their scopes, for this provider has an [oauth] part.")
    provider = Provider(
        slug=slug,
        name=source.take("name", str),
        login=login,
        state=state,
        closed_on=None if closed_on == date.min else closed_on,
        note=source.take("note", str, ""),
        backfill_days=backfill_days,
        resources=resources,
        oauth=oauth,
    )
    source.end()
    return provider


def _resources(source: _File) -> Mapping[str, ResourceOffer]:
    found: dict[str, ResourceOffer] = {}
    for name in source.names():
        if name not in resource_words():
            raise source.fail(name, "is not in resources.toml.")
        table = source.table(name)
        found[name] = ResourceOffer(table.scopes("required"), table.scopes("optional"))
        table.end()
    return {name: found[name] for name in resource_words() if name in found}


def _oauth(source: _File) -> OAuthConfiguration:
    parameters = source.take("token_parameters", dict, {})
    if not all(isinstance(value, str) for value in parameters.values()):
        raise source.fail("token_parameters", "must be texts.")
    configuration = OAuthConfiguration(
        authorize_url=source.https("authorize_url"),
        token_url=source.https("token_url"),
        revoke_url=source.https("revoke_url", ""),
        api_url=source.https("api_url"),
        client_authentication=source.choice("client_authentication", ClientAuthentication),
        pkce=source.take("pkce", bool),
        refresh_rotates=source.take("refresh_rotates", bool),
        scope_separator=source.take("scope_separator", str),
        token_envelope=source.choice("token_envelope", TokenEnvelope),
        simulator_token_path=source.take("simulator_token_path", str),
        base_scopes=source.scopes("base_scopes"),
        token_parameters=parameters,
    )
    source.end()
    return configuration
