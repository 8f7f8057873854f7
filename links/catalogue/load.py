"""Reads and checks the catalogue's files. A mistake in one stops the process with the file and the field named.

The shipped files stand beside this module; those in PROVIDER_CATALOGUE_DIR add providers or take a shipped one's place.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from aggregation.catalogue import RESOURCES
from healthsvc.kernel.errors import not_found
from links.catalogue.fields import Fields
from links.catalogue.shapes import (
    ClientAuthentication,
    LoginKind,
    OAuthConfiguration,
    PasswordConfiguration,
    Provider,
    ProviderState,
    RateLimit,
    ResourceOffer,
    ResourceWords,
    SourceType,
    TokenEnvelope,
)
from links.regions import REGIONS

FOLDER: Final = Path(__file__).parent
_SHIPPED: Final = FOLDER / "providers"
_SLUG: Final = re.compile(r"[a-z][a-z0-9_]{1,39}")
#: A backfill reaches at most this far; more needs a decision about rate limits.
_BACKFILL_MAXIMUM_DAYS: Final = 365
_REACH_BACK_MAXIMUM_DAYS: Final = 40_000
_RANK_DEFAULT, _RANK_MAXIMUM = 1000, 1_000_000
_CODE_DEFAULT_SECONDS: Final = 600
_DAY_SECONDS: Final = 86_400
_MFA_METHODS: Final = frozenset({"sms", "email"})


@lru_cache(maxsize=1)
def resource_words() -> Mapping[str, ResourceWords]:
    """Every resource a provider may name, in the order pages show them."""
    source = Fields("resources.toml", _toml(FOLDER / "resources.toml"))
    found: dict[str, ResourceWords] = {}
    for name in source.names():
        table = source.table(name)
        found[name] = ResourceWords(table.take("title", str), table.take("words", str))
        table.end()
    return found


@lru_cache(maxsize=1)
def catalogue() -> Mapping[str, Provider]:
    """Every provider by its slug, in the order of their names."""
    return _read({**_folder(_SHIPPED), **_own_files()})


@lru_cache(maxsize=1)
def catalogue_shipped() -> Mapping[str, Provider]:
    """The providers that come with the service, each with a mark of its own, whatever an operator put beside them."""
    return _read(_folder(_SHIPPED))


def _read(files: Mapping[str, Path]) -> Mapping[str, Provider]:
    providers = [_storable(provider_read(path.name, _toml(path), str(path))) for path in files.values()]
    return {provider.slug: provider for provider in sorted(providers, key=lambda one: one.name.casefold())}


def _own_files() -> Mapping[str, Path]:
    own = settings.PROVIDER_CATALOGUE_DIR
    if not own:
        return {}
    if not Path(own).is_dir():
        raise ImproperlyConfigured(f"links/catalogue: PROVIDER_CATALOGUE_DIR: there is no folder {own}.")
    return _folder(Path(own))


def _folder(folder: Path) -> Mapping[str, Path]:
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def catalogue_reload() -> None:
    """Forget what was read: the files, or the setting that names their folder, have changed."""
    catalogue.cache_clear()
    resource_words.cache_clear()


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
        raise ImproperlyConfigured(f"links/catalogue: {path} can't be read: {error}") from None


def _storable(provider: Provider) -> Provider:
    """Without the resources that would be fetched and could not be kept: what isn't kept is not asked for."""
    stored = {spec.slug for spec in RESOURCES}
    return replace(provider, resources={name: needs for name, needs in provider.resources.items() if name in stored})


def provider_read(file_name: str, values: Mapping[str, Any], shown_as: str = "") -> Provider:
    """A provider from its file's values; ImproperlyConfigured where they don't fit together."""
    source = Fields(shown_as or file_name, values)
    slug: str = source.take("slug", str)
    if not _SLUG.fullmatch(slug) or f"{slug}.toml" != file_name:
        raise source.fail("slug", "must be the file's own name.")
    login, state = source.choice("login", LoginKind), source.choice("state", ProviderState)
    oauth = _oauth(source.table("oauth"), state) if "oauth" in source.names() else None
    provider = Provider(
        slug=slug,
        name=source.take("name", str),
        description=source.take("description", str),
        login=login,
        state=state,
        closed_on=_closed_on(source, state),
        note=source.take("note", str, ""),
        source_type=source.choice("source_type", SourceType, SourceType.DEVICE),
        rank=source.number("rank", 1, _RANK_MAXIMUM, _RANK_DEFAULT),
        backfill_days=source.number("backfill_days", 0, _BACKFILL_MAXIMUM_DAYS, 0),
        resources=_resources(source.table("resources")),
        oauth=oauth,
        password=_password(source.table("password")) if "password" in source.names() else None,
        connector=source.class_path("connector"),
        password_adapter=source.class_path("password_adapter"),
        words=source.texts("words"),
        scope_words=_scope_words(source.table("scope_words", {})),
        file=source.name,
    )
    source.end()
    _check_together(source, provider)
    _check_words(source, provider)
    return provider


def _closed_on(source: Fields, state: ProviderState) -> date | None:
    closed_on: date = source.take("closed_on", date, date.min)
    if closed_on != date.min and state is not ProviderState.CLOSED:
        raise source.fail("closed_on", "is only for a closed provider.")
    return None if closed_on == date.min else closed_on


def _check_together(source: Fields, provider: Provider) -> None:
    """What one part of the file says of another."""
    if provider.state is ProviderState.CLOSED and provider.closed_on is None and not provider.note:
        raise source.fail("closed_on", "or a note is needed: a closed provider has a date, or says that there is none.")
    by_name = provider.login in (LoginKind.PASSWORD, LoginKind.EMAIL)
    if provider.password and not by_name:
        raise source.fail("password", "is only for a password or e-mail login.")
    if provider.password_adapter and not by_name:
        raise source.fail("password_adapter", "is only for a password or e-mail login.")
    if provider.oauth and not (by_name or provider.login is LoginKind.OAUTH):
        raise source.fail("oauth", "is only for an OAuth login, or for one that stands in for a password's.")
    if provider.oauth is None and provider.scopes:
        raise source.fail("resources", "have scopes, and there is no [oauth] part.")
    if provider.oauth and provider.oauth.has_scopes:
        if not all(needs.required for needs in provider.resources.values()):
            raise source.fail("resources", "need their scopes, for this provider has an [oauth] part.")
    elif provider.scopes:
        raise source.fail("resources", "have scopes, and the [oauth] part says that there are none.")


def _resources(source: Fields) -> Mapping[str, ResourceOffer]:
    found: dict[str, ResourceOffer] = {}
    for name in source.names():
        if name not in resource_words():
            raise source.fail(name, "is not in resources.toml.")
        table = source.table(name)
        known = "reach_back_days" in table.names()
        found[name] = ResourceOffer(
            required=table.scopes("required"),
            optional=table.scopes("optional"),
            granularity=table.take("granularity", str, ""),
            reach_back_days=table.number("reach_back_days", 1, _REACH_BACK_MAXIMUM_DAYS) if known else None,
        )
        table.end()
    return {name: found[name] for name in resource_words() if name in found}


def _scope_words(source: Fields) -> Mapping[str, ResourceWords]:
    found: dict[str, ResourceWords] = {}
    for scope in source.names():
        table = source.table(scope)
        found[scope] = ResourceWords(table.take("title", str), table.take("words", str))
        table.end()
    return found


def _check_words(source: Fields, provider: Provider) -> None:
    """People are told of nothing that isn't there, and of everything that they may give on top."""
    unknown = sorted(set(provider.words) - set(provider.resources))
    if unknown:
        raise source.fail("words", f"tell of {', '.join(unknown)}, which [resources] does not name.")
    on_top = set(provider.scopes_on_top)
    untold = sorted(on_top - set(provider.scope_words))
    if untold:
        raise source.fail("scope_words", f"must tell a person what they give with {', '.join(untold)}.")
    idle = sorted(set(provider.scope_words) - on_top)
    if idle:
        raise source.fail("scope_words", f"tell of {', '.join(idle)}, which no resource has as optional alone.")


#: What an authorisation request is made of (RFC 6749, 4.1.1; RFC 7636, 4.3).
_OAUTH_PARAMETERS: Final = frozenset(
    ("client_id", "code_challenge", "code_challenge_method", "redirect_uri", "response_type", "scope", "state")
)


def _password(source: Fields) -> PasswordConfiguration:
    configuration = PasswordConfiguration(
        regions=source.words("regions", frozenset(REGIONS)),
        mfa_methods=source.words("mfa_methods", _MFA_METHODS),
        username=source.take("username", str, PasswordConfiguration().username),
    )
    source.end()
    return configuration


def _oauth(source: Fields, state: ProviderState) -> OAuthConfiguration:
    # Addresses that come with a contract are in an operator's own file; a closed vendor's are of no use.
    address = "" if state is not ProviderState.OPEN and "authorize_url" not in source.names() else None
    configuration = OAuthConfiguration(
        authorize_url=source.https("authorize_url", address),
        token_url=source.https("token_url", address),
        revoke_url=source.https("revoke_url", ""),
        api_url=source.https("api_url", address).rstrip("/"),
        client_authentication=source.choice("client_authentication", ClientAuthentication),
        pkce=source.take("pkce", bool),
        refresh_rotates=source.take("refresh_rotates", bool),
        scope_separator=source.take("scope_separator", str),
        token_envelope=source.choice("token_envelope", TokenEnvelope),
        simulator_token_path=source.take("simulator_token_path", str),
        has_scopes=source.take("has_scopes", bool, True),
        base_scopes=source.scopes("base_scopes"),
        token_parameters=source.texts("token_parameters"),
        authorize_parameters=_authorize_parameters(source),
        extra_headers=source.texts("extra_headers"),
        code_seconds=source.number("code_seconds", 1, _DAY_SECONDS, _CODE_DEFAULT_SECONDS),
        rate_limits=tuple(_rate_limit(table) for table in source.tables("rate_limits")),
        account_field=source.take("account_field", str, ""),
        revoke_parameter=source.take("revoke_parameter", str, "token"),
    )
    source.end()
    return configuration


def _authorize_parameters(source: Fields) -> Mapping[str, str]:
    """What goes with the person to the login, beside what OAuth itself sends."""
    given = source.texts("authorize_parameters")
    taken = sorted(_OAUTH_PARAMETERS & set(given))
    if taken:
        raise source.fail("authorize_parameters", f"may not name {', '.join(taken)}: the service sends it.")
    return given


def _rate_limit(source: Fields) -> RateLimit:
    limit = RateLimit(
        requests=source.number("requests", 1, 10_000_000),
        window_seconds=source.number("window_seconds", 1, 31 * _DAY_SECONDS),
    )
    source.end()
    return limit
