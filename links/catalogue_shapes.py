"""Providers as the API shows them."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlencode

from django.conf import settings

from aggregation.constants import SOURCE_ID_UNLISTED, SOURCE_IDS
from healthsvc.kernel.principal import Environment
from healthsvc.kernel.typing import JSONObject
from links import selectors
from links.catalogue import LoginKind, PasswordConfiguration, Provider, ProviderState

#: Our kinds of login in the interface's words.
_AUTH_TYPES: Final[Mapping[LoginKind, str]] = {
    LoginKind.OAUTH: "oauth",
    LoginKind.PASSWORD: "password",
    LoginKind.EMAIL: "email",
    LoginKind.APP: "app",
    LoginKind.DEVICE: "sdk",
    LoginKind.NONE: "",
}
_REGION_LABEL: Final = "Where your account is kept"


def provider_detailed_json(provider: Provider, *, available: bool) -> JSONObject:
    """A provider with everything the catalogue says of it."""
    return {
        **_source(provider),
        "auth_type": _AUTH_TYPES[provider.login],
        "supported_resources": list(provider.resources),
        "source_type": str(provider.source_type),
        "state": str(provider.state),
        "closed_on": provider.closed_on.isoformat() if provider.closed_on else None,
        "regions": list(provider.password.regions) if provider.password else [],
        "resources": {
            name: {
                "required": list(offer.required),
                "optional": list(offer.optional),
                "granularity": offer.granularity,
                "reach_back_days": offer.reach_back_days,
            }
            for name, offer in provider.resources.items()
        },
        "available": available,
    }


def source_link_json(provider: Provider, environment: Environment, link_token: str = "") -> JSONObject:
    """A provider of a list to choose from. `link_token` is the token as it was shown, where one was."""
    way = selectors.login_way(provider, environment)
    to_login = bool(link_token) and way is LoginKind.OAUTH
    return {
        "id": _id(provider),
        **_source(provider),
        "oauth_url": oauth_url(provider, link_token) if to_login else None,
        "auth_type": _AUTH_TYPES[way],
        "form_components": _form(provider, way),
    }


def source_json(provider: Provider, link_token: str) -> JSONObject:
    """One provider with the address that begins its login."""
    return {
        "id": _id(provider),
        **_source(provider),
        "group": None,
        "oauth_url": oauth_url(provider, link_token),
        "auth_type": _AUTH_TYPES[LoginKind.OAUTH],
        "source_type": str(provider.source_type),
        "is_active": provider.state is not ProviderState.CLOSED,
        "backfill_num_days": provider.backfill_days,
    }


def oauth_url(provider: Provider, link_token: str) -> str:
    """Our own address that opens a browser's session and goes straight on to the provider's login."""
    return f"{settings.BASE_URL}/link/open?{urlencode({'token': link_token, 'provider': provider.slug})}"


def _source(provider: Provider) -> JSONObject:
    return {
        "name": provider.name,
        "slug": provider.slug,
        "description": provider.description,
        "logo": selectors.logo_url(provider.slug),
    }


def _id(provider: Provider) -> int:
    return SOURCE_IDS.get(provider.slug, SOURCE_ID_UNLISTED)


def _form(provider: Provider, way: LoginKind) -> JSONObject:
    """What a person fills in, by the field's name in the body of the login."""
    manners = provider.password or PasswordConfiguration()
    fields: JSONObject = {}
    if way is LoginKind.PASSWORD:
        fields["username"] = {"label": manners.username, "type": "text"}
        fields["password"] = {"label": "Password", "type": "password"}
    elif way is LoginKind.EMAIL:
        fields["email"] = {"label": "E-mail address", "type": "email"}
    if fields and manners.regions:
        fields["region"] = {"label": _REGION_LABEL, "type": "choice", "choices": list(manners.regions)}
    return fields
