"""Which provider a caller may connect, by which login: asked by every door, and where a link token is used up."""

from collections.abc import Collection
from typing import Final

from healthsvc.kernel.principal import TeamContext
from links import selectors
from links.catalogue import LoginKind, Provider, catalogue
from links.device_selectors import MANUAL_LOGINS
from links.models import LinkToken

#: What a door says of a provider that is logged in to in another way, by the ways it takes.
_OTHER_WAYS: Final = {
    LoginKind.OAUTH: "Not a provider with an OAuth login.",
    LoginKind.PASSWORD: "This provider has no password login here.",
    LoginKind.EMAIL: "This provider has no e-mail login here.",
}


def token_leads_to(token: LinkToken, provider: str) -> bool:
    """Whether a token connects a provider: one that names its own connects no other. Its filter limits the hosted page
    only, and is not asked here.
    """
    return token.provider in ("", provider)


def provider_refusal(
    team: TeamContext, slug: str, ways: Collection[LoginKind], link_token: LinkToken | None
) -> str | None:
    """Why this team's caller, with this link token or a key alone, can't connect a provider by one of these logins;
    None where that is possible. A query in production for a login in a browser.
    """
    if link_token is not None and not token_leads_to(link_token, slug):
        return "The link token is for another provider."
    provider = catalogue().get(slug)
    if provider is None:
        return "Not a provider of the catalogue."
    way = selectors.login_way(provider, team.environment)
    if way not in ways:
        return _other_way(provider, way, ways)
    if way not in MANUAL_LOGINS and not selectors.provider_connectable(team, provider):
        return selectors.refusal_of(provider)
    return None


def _other_way(provider: Provider, way: LoginKind, ways: Collection[LoginKind]) -> str:
    told = next((text for known, text in _OTHER_WAYS.items() if known in ways), None)
    if told is None:
        return "Not a provider that is connected without a login."
    return f"{told} Use GET /v2/link/provider/oauth/{provider.slug}." if way is LoginKind.OAUTH else told
