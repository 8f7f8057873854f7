"""The generated page `docs/providers.md`: every provider that ships with the service, and how an operator adds one."""

from collections.abc import Iterator, Mapping

from links.catalogue import LoginKind, OAuthConfiguration, Provider, ProviderState, catalogue_shipped

_LOGINS: Mapping[LoginKind, str] = {
    LoginKind.OAUTH: "OAuth",
    LoginKind.PASSWORD: "password",
    LoginKind.EMAIL: "e-mail address",
    LoginKind.APP: "app on a telephone",
    LoginKind.DEVICE: "meter, read by a telephone",
    LoginKind.NONE: "none",
}

_INTRO = """# Providers

Each is one file in `links/catalogue/providers/`, from which this page is made. What is said of a vendor was **read, not
exercised against a live account**; the files name the documents.

- **state**: *open*, *partner* (only with the vendor's agreement), or *closed* by its vendor, with the day where it is
  known.
- **pulled**: whether the service ships a connector. The simulator plays every login for sandbox keys; production needs
  a connector and a registration with the vendor, or a telephone that sends.
- **resources** of a provider with a connector are exactly those the connector pulls. Of the others they are what the
  provider could give.

| provider | slug | login | state | regions | pulled |
|---|---|---|---|---|---|
"""

_FORMAT = """
## A file of your own

Set `PROVIDER_CATALOGUE_DIR` to a folder. A file `<slug>.toml` in it adds a provider, or stands in the place of the
shipped one of that slug, as a whole. Files are read and checked at start: a mistake stops the process with the file and
the field named. A new provider has `id` 0 in lists and the neutral mark `static/links/logos/_provider.svg`: marks come
from this service only.

A new API also needs a Python class on the path (`PYTHONPATH`), which the file names: `docs/adding.md` says what it has.
Nothing in this repository needs to change.

```toml
slug = "acme_band"                       # the file's own name
name = "Acme Band"
description = "Sleep and steps from the Acme band."
login = "oauth"                          # oauth, password, email, app, device or none
state = "open"                           # open, partner or closed
# closed_on = 2026-11-02                 # only for a closed one
# note = "Ten people until its review."
source_type = "device"                   # app, ble, device, lab or provider
rank = 300                               # lower is nearer to the top of the hosted page; 1000 where left out
backfill_days = 30                       # days read when a person connects, 365 at most; 0 where left out
connector = "acme_health.band:BandConnector"

[oauth]                                  # for OAuth, or where a vendor's OAuth stands in for a password
authorize_url = "https://login.acme.example/authorize"
token_url = "https://login.acme.example/token"
revoke_url = "https://login.acme.example/revoke"   # may be left out
revoke_parameter = "token"               # the form field of revoke_url: token, or access_token
api_url = "https://api.acme.example"
client_authentication = "body"           # body or basic
pkce = true
refresh_rotates = true                   # each refresh token works once
scope_separator = " "
token_envelope = "plain"                 # plain, or status_and_body: {"status": 0, "body": {…}} with HTTP 200
account_field = "user.id"                # where the token answer names the account; may be left out
code_seconds = 600                       # how long a code is good for
has_scopes = true                        # false: what is shared is chosen when the application is registered
base_scopes = ["profile"]                # asked for always
token_parameters = { action = "requesttoken" }        # added to every token request
authorize_parameters = { access_type = "offline" }    # added to the address of the login
extra_headers = { Acme-Version = "2" }                # added to every data request
rate_limits = [{ requests = 100, window_seconds = 60 }]  # for the whole application
simulator_token_path = "/oauth/token"    # the token endpoint's path at the simulator

[resources]                              # of links/catalogue/resources.toml, what the connector can pull
sleep = { required = ["sleep"], granularity = "each sleep" }
steps = { required = ["activity"], optional = ["location"], granularity = "1 minute", reach_back_days = 90 }

[words]                                  # what the person reads, where it is not what resources.toml says of a resource
steps = "Steps, and the places where you took them if you share those"

[scope_words]                            # of each optional scope that nothing requires: the person ticks it by itself
location = { title = "Places", words = "Where you walked" }
```

A password or e-mail login has `password_adapter = "acme_health.band:BandLogin"`, a class with `login`, `mfa_complete`
and `renew` (or `connect`, for e-mail; see `links/connectors/passwords.py`), and a table of manners:

```toml
[password]
username = "E-mail address"              # what the person types
regions = ["us", "eu"]                   # of the API's regions, where accounts are kept; empty where the world is one
mfa_methods = ["sms", "email"]           # what the provider may ask for
```

Addresses (`authorize_url`, `token_url`, `api_url`) may be left out unless the state is open: those that come with a
contract are in your own file. Sandbox keys reach the simulator for such a provider too.
"""


def providers_page(notice: str) -> str:
    """`docs/providers.md`."""
    providers = list(catalogue_shipped().values())
    rows = "".join(
        f"| [{one.name}](#{one.slug}) | `{one.slug}` | {_LOGINS[one.login]} | {_state(one)} | {_regions(one)} |"
        f" {'yes' if one.connector else ''} |\n"
        for one in providers
    )
    sections = "".join("".join(_section(one)) for one in providers)
    return f"{notice}{_INTRO}{rows}{sections}{_FORMAT}"


def _state(provider: Provider) -> str:
    if provider.state is ProviderState.CLOSED and provider.closed_on:
        return f"closed on {provider.closed_on.isoformat()}"
    return str(provider.state)


def _regions(provider: Provider) -> str:
    return ", ".join(provider.password.regions) if provider.password else ""


def _section(provider: Provider) -> Iterator[str]:
    yield f'\n<a id="{provider.slug}"></a>\n\n## {provider.name}\n\n{provider.description}'
    yield f" {provider.note}\n\n" if provider.note else "\n\n"
    facts = "".join(_facts(provider))
    yield f"{facts}\n" if facts else ""
    scoped = bool(provider.oauth and provider.oauth.has_scopes)
    yield f"| resource |{' required scopes | optional scopes |' if scoped else ''} granularity | reaches back |\n"
    yield f"|---|{'---|---|' if scoped else ''}---|---|\n"
    for name, offer in provider.resources.items():
        scopes = f" {_codes(offer.required)} | {_codes(offer.optional)} |" if scoped else ""
        back = f"{offer.reach_back_days} days" if offer.reach_back_days else "no limit named"
        yield f"| `{name}` |{scopes} {offer.granularity} | {back} |\n"


def _facts(provider: Provider) -> Iterator[str]:
    if provider.oauth:
        yield from _oauth_facts(provider.oauth)
    if provider.backfill_days:
        yield f"- read when a person connects: {provider.backfill_days} days\n"


def _oauth_facts(oauth: OAuthConfiguration) -> Iterator[str]:
    if not oauth.authorize_url:
        yield "- addresses: none that are public\n"
    if oauth.base_scopes:
        yield f"- always asked for: {_codes(oauth.base_scopes)}\n"
    if not oauth.has_scopes:
        yield "- no scopes: what is shared is chosen when the application is registered, or in a contract\n"
    if oauth.rate_limits:
        limits = [f"{limit.requests:,} requests in {_span(limit.window_seconds)}" for limit in oauth.rate_limits]
        yield f"- limits of an application: {', '.join(limits)}\n"


def _codes(scopes: tuple[str, ...]) -> str:
    return ", ".join(f"`{scope}`" for scope in scopes)


def _span(seconds: int) -> str:
    for name, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds % length == 0:
            return f"{seconds // length} {name}{'' if seconds == length else 's'}"
    return f"{seconds} seconds"
