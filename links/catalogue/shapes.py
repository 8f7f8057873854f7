"""What the catalogue says of a provider."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum


class LoginKind(StrEnum):
    """How a person lets the service in."""

    OAUTH = "oauth"  # at the provider's own pages
    PASSWORD = "password"  # noqa: S105 - a kind of login
    EMAIL = "email"  # the provider writes to the person
    APP = "app"  # a telephone's own store of health data, read by an app there
    DEVICE = "device"  # a meter that a telephone reads
    NONE = "none"  # nothing to log in to


class ProviderState(StrEnum):
    """Whether an operator can get access today."""

    OPEN = "open"
    PARTNER = "partner"  # only with an agreement
    CLOSED = "closed"  # by its vendor


class SourceType(StrEnum):
    """What kind of source a provider is, in the interface's words."""

    APP = "app"
    BLE = "ble"
    DEVICE = "device"
    LAB = "lab"
    PROVIDER = "provider"


class TokenEnvelope(StrEnum):
    """How a token endpoint wraps its answer."""

    PLAIN = "plain"  # as RFC 6749 has it
    STATUS_AND_BODY = "status_and_body"  # always HTTP 200: {"status": 0, "body": {…}}


class ClientAuthentication(StrEnum):
    """Where the client's secret goes in a token request."""

    BODY = "body"
    BASIC = "basic"


@dataclass(frozen=True, slots=True)
class ResourceScopes:
    """The scopes one resource needs, and those that make it better."""

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ResourceOffer:
    """A resource of one provider: its scopes, how fine it is, and how far back it reaches.

    `granularity` is in words for people (`5 minutes`, `one a night`); `reach_back_days` None where the vendor names
    no limit.
    """

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    granularity: str = ""
    reach_back_days: int | None = None


@dataclass(frozen=True, slots=True)
class RateLimit:
    """At most `requests` in each `window_seconds`, counted for the whole application."""

    requests: int
    window_seconds: int


@dataclass(frozen=True, slots=True)
class PasswordConfiguration:
    """A password or e-mail provider's manners. `regions` empty: the world is one.

    `mfa_methods` are those that the provider may ask for (`sms`, `email`); `username` what the person types.
    """

    regions: tuple[str, ...] = ()
    mfa_methods: tuple[str, ...] = ()
    username: str = "E-mail address"


@dataclass(frozen=True, slots=True)
class ResourceWords:
    """A resource as a person reads of it."""

    title: str
    words: str


@dataclass(frozen=True, slots=True)
class OAuthConfiguration:
    """A provider's OAuth 2.0 manners. `api_url` is what its data addresses begin with.

    The addresses are empty where they come with a partner's contract. `has_scopes` False: what is shared is chosen when
    the application is registered, not by the person.

    `simulator_token_path` is the token endpoint's path under the provider's address at the simulator.
    """

    authorize_url: str
    token_url: str
    api_url: str
    client_authentication: ClientAuthentication
    pkce: bool
    refresh_rotates: bool
    scope_separator: str
    token_envelope: TokenEnvelope
    simulator_token_path: str
    revoke_url: str = ""
    base_scopes: tuple[str, ...] = ()
    token_parameters: Mapping[str, str] = field(default_factory=dict)
    #: Sent with the person to the login: `access_type=offline` and the like.
    authorize_parameters: Mapping[str, str] = field(default_factory=dict)
    #: Sent with every data request beside the token.
    extra_headers: Mapping[str, str] = field(default_factory=dict)
    #: How long a code is good for at the vendor.
    code_seconds: int = 600
    rate_limits: tuple[RateLimit, ...] = ()
    #: Where the token answer names the account, as names joined by dots: `userid`, `athlete.id`. Empty: it doesn't.
    account_field: str = ""
    #: The form field in which `revoke_url` takes the token: `token` (RFC 7009), or `access_token`, which must be alive.
    revoke_parameter: str = "token"
    has_scopes: bool = True


@dataclass(frozen=True, slots=True)
class Provider:
    """One provider. `resources` is in the order the hosted page shows them.

    `connector` and `password_adapter` are `module:Class` paths, empty where the service has none. `rank` orders the
    hosted page: lower is asked for more often. `words` is what a person reads of a resource where it is not what
    resources.toml says, and `scope_words` what they read of an optional scope that they may give on top. `file` is
    where it was read.
    """

    slug: str
    name: str
    login: LoginKind
    state: ProviderState
    resources: Mapping[str, ResourceOffer]
    closed_on: date | None = None
    note: str = ""
    backfill_days: int = 0
    oauth: OAuthConfiguration | None = None
    password: PasswordConfiguration | None = None
    description: str = ""
    source_type: SourceType = SourceType.DEVICE
    rank: int = 1000
    connector: str = ""
    password_adapter: str = ""
    words: Mapping[str, str] = field(default_factory=dict)
    scope_words: Mapping[str, ResourceWords] = field(default_factory=dict)
    file: str = field(default="", compare=False)

    @property
    def scopes(self) -> tuple[str, ...]:
        """Every scope to ask for, once each."""
        asked = list(self.oauth.base_scopes) if self.oauth else []
        for needs in self.resources.values():
            asked += [*needs.required, *needs.optional]
        return tuple(dict.fromkeys(asked))

    @property
    def asks_for_scopes(self) -> bool:
        """Whether its login asks a person for scopes."""
        return self.oauth is not None and self.oauth.has_scopes

    @property
    def scopes_on_top(self) -> Mapping[str, tuple[str, ...]]:
        """The scopes that nothing needs, each with the resources that it adds to."""
        needed = {scope for needs in self.resources.values() for scope in needs.required}
        needed |= set(self.oauth.base_scopes if self.oauth else ())
        found: dict[str, tuple[str, ...]] = {}
        for name, needs in self.resources.items():
            for scope in needs.optional:
                if scope not in needed:
                    found[scope] = (*found.get(scope, ()), name)
        return found
