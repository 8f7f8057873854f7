"""Credentials that open nothing: ended, out of time, never made, or another address's."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from django.conf import settings

from healthsvc.kernel import clock
from healthsvc.kernel.principal import Environment
from healthsvc.kernel.scope import team_scope
from links.authentication import DeviceSessionAuthentication, LinkTokenAuthentication, LinkTokenOfAnyStateAuthentication
from links.models import LinkToken, SessionToken
from links.services.sessions import sessions_revoke
from links.services.tokens import link_token_create
from management import services
from management.authentication import (
    AccessTokenAuthentication,
    ManagementKeyAuthentication,
    TeamKeyAuthentication,
)
from management.constants import ACCESS_TOKEN_PREFIX, MANAGEMENT_KEY_PREFIX
from management.keys import key_make, team_key_prefix
from management.models import Organisation, TeamAccessToken, TeamKey
from management.services.access_tokens import access_token_create
from tests.clients import ApiClient
from tests.documents import MANAGEMENT_URLCONF, TEAM_URLCONF
from tests.factories import Tenant, organisation_make, tenant_make, user_make
from tests.invariants.closed_callers import Door, access_token, doors_of
from tests.invariants.closed_cast import Cast
from tests.invariants.test_routes import ROUTES, Route
from tests.links.linking import query_of
from tests.links.signing_in import session_of

Headers = Mapping[str, str]

_TEAM_KEY: Final = settings.TEAM_KEY_HEADERS[0]
_MANAGEMENT_KEY: Final = settings.MANAGEMENT_KEY_HEADERS[0]
_LINK_TOKEN: Final = settings.LINK_TOKEN_HEADERS[0]
_BEARER: Final = "Authorization"


#: Shown at every route of their address; the others at one route of each kind of door.
_EVERYWHERE: Final = {
    "a revoked key",
    "an expired key",
    "no key at all",
    "a revoked management key",
    "an expired management key",
    "no management key at all",
}
_LINK_DOORS: Final = frozenset({LinkTokenAuthentication, LinkTokenOfAnyStateAuthentication})


@dataclass(frozen=True, slots=True)
class Credential:
    """What a caller shows. It opens routes that have one of the `doors`, and no other; without one it opens none."""

    name: str
    headers: Headers
    doors: frozenset[Door] = frozenset()
    #: The address at which it is shown; None for both.
    urlconf: str | None = None
    is_shown_everywhere: bool = True
    #: Tables in which its end is written down when it is shown.
    notes: frozenset[str] = frozenset()

    def is_refused_by(self, route: Route) -> bool:
        """Whether the route must refuse it, and is asked whether it does."""
        if self.urlconf not in (None, route.urlconf) or doors_of(route) & self.doors:
            return False
        return self.is_shown_everywhere or _first_of_its_doors(route)


def refused_credentials(cast: Cast) -> list[Credential]:
    """Everything that opens nothing, and everything that opens other routes."""
    organisation = organisation_make(name="Ended")
    dead = {
        **_team_keys(cast, organisation),
        **_access_tokens(organisation),
        **_ended_devices(organisation),
        "a link token that nobody made": {_LINK_TOKEN: "x" * 43},
    }
    managing = _management_keys(cast, organisation)
    link, device = {_LINK_TOKEN: cast.ours.held["link_token"]}, _bearer(cast.ours.held["access_token"])
    return [
        *(Credential(one, dead[one], frozenset(), TEAM_URLCONF, one in _EVERYWHERE) for one in dead),
        *(Credential(one, managing[one], frozenset(), MANAGEMENT_URLCONF, one in _EVERYWHERE) for one in managing),
        Credential(
            "an expired link token",
            _ended_link_token(organisation),
            # Where the answer says what is wrong with a token, an ended one is let in to be told.
            frozenset({LinkTokenOfAnyStateAuthentication}),
            notes=frozenset({"links_link_token"}),
        ),
        Credential("a living link token", link, _LINK_DOORS),
        Credential("a living device", device, frozenset({DeviceSessionAuthentication})),
        Credential("a team key", {_TEAM_KEY: cast.ours.tenant.key}, frozenset({TeamKeyAuthentication})),
        Credential("an access token", _bearer(access_token(cast.ours)), frozenset({AccessTokenAuthentication})),
        Credential("a management key", _management(cast), frozenset({ManagementKeyAuthentication})),
    ]


@lru_cache(maxsize=1000)
def _first_of_its_doors(route: Route) -> bool:
    of_its_kind = (one for one in ROUTES if (one.urlconf, doors_of(one)) == (route.urlconf, doors_of(route)))
    return next(of_its_kind) == route


def _team_keys(cast: Cast, organisation: Organisation) -> dict[str, Headers]:
    ended, expired, deleted = (tenant_make(organisation, name=name) for name in ("Ended", "Expired", "Deleted"))
    with team_scope(ended.context):
        services.key_revoke(key_id=TeamKey.objects.get().pk)
    with team_scope(expired.context):
        TeamKey.objects.update(expires_at=clock.now())
    services.team_delete(team_id=deleted.team.pk)
    texts = {
        "a revoked key": ended.key,
        "an expired key": expired.key,
        "a key of a deleted team": deleted.key,
        "a key that nobody made": key_make(team_key_prefix(Environment.SANDBOX, "us")).text,
        "no key at all": "sk_something",
        "a management key as a team's": cast.ours.held["management_key"],
    }
    return {name: {_TEAM_KEY: text} for name, text in texts.items()}


def _management_keys(cast: Cast, organisation: Organisation) -> dict[str, Headers]:
    made = [
        services.management_key_create(organisation_id=organisation.pk, label="test", created_by="test", expires_at=at)
        for at in (None, clock.now())
    ]
    services.key_revoke(key_id=made[0].key_id)
    texts = {
        "a revoked management key": made[0].text,
        "an expired management key": made[1].text,
        "a management key that nobody made": key_make(MANAGEMENT_KEY_PREFIX).text,
        "no management key at all": "mg_something",
        "a team key as a management key": cast.ours.tenant.key,
    }
    return {name: {_MANAGEMENT_KEY: text} for name, text in texts.items()}


def _access_tokens(organisation: Organisation) -> dict[str, Headers]:
    tenant, texts = tenant_make(organisation, name="Tokens"), []
    for _ in range(2):
        key = services.management_key_create(organisation_id=organisation.pk, label="test", created_by="test")
        made = access_token_create(team=tenant.context, management_key_id=key.key_id)
        texts.append((key.key_id, made))
    services.key_revoke(key_id=texts[0][0])
    with team_scope(tenant.context):
        TeamAccessToken.objects.filter(pk=texts[1][1].token_id).update(expires_at=clock.now())
    return {
        "an access token whose maker is revoked": _bearer(texts[0][1].text),
        "an expired access token": _bearer(texts[1][1].text),
        "an access token that nobody made": _bearer(f"{ACCESS_TOKEN_PREFIX}{'x' * 43}"),
    }


def _ended_devices(organisation: Organisation) -> dict[str, Headers]:
    ended, expired = (_signed_in(tenant_make(organisation, name=name)) for name in ("Signed out", "Late"))
    with team_scope(ended[0].context):
        user_id = SessionToken.objects.select_related("session").first()
        assert user_id is not None
        sessions_revoke(team=ended[0].context, user_id=user_id.session.user_id)
    with team_scope(expired[0].context):
        SessionToken.objects.update(expires_at=clock.now())
    return {
        "a device that was signed out": _bearer(ended[1]["access_token"]),
        "a device's expired token": _bearer(expired[1]["access_token"]),
        "a device's refresh token": _bearer(expired[1]["refresh_token"]),
        "a token that nobody made": _bearer("x" * 43),
    }


def _ended_link_token(organisation: Organisation) -> Headers:
    tenant = tenant_make(organisation, name="Links")
    with team_scope(tenant.context):
        made = link_token_create(team=tenant.context, user_id=user_make(tenant).pk)
        LinkToken.objects.update(expires_at=clock.now())
    return {_LINK_TOKEN: query_of(made.web_url)["token"]}


def _management(cast: Cast) -> Headers:
    return {_MANAGEMENT_KEY: cast.ours.held["management_key"]}


def _signed_in(tenant: Tenant) -> tuple[Tenant, dict[str, str]]:
    return tenant, session_of(ApiClient(team_key=tenant.key), user_make(tenant))


def _bearer(text: str) -> Headers:
    return {_BEARER: f"Bearer {text}"}
