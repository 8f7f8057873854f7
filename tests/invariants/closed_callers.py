"""Who calls, what is theirs, and whose ids they name that are not theirs to see."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final
from uuid import UUID, uuid4

from django.conf import settings
from rest_framework.authentication import BaseAuthentication

from healthsvc.kernel.principal import TeamContext
from links.authentication import DeviceSessionAuthentication, LinkTokenOfAnyStateAuthentication
from management.authentication import (
    AccessTokenAuthentication,
    ManagementKeyAuthentication,
    TeamKeyAuthentication,
)
from management.models import ManagementKey
from management.services.access_tokens import access_token_create
from tests.clients import ApiClient
from tests.invariants.closed_cast import Cast, Estate, bound_key
from tests.invariants.closed_slots import Slot, slots_of
from tests.invariants.test_routes import Route

Ids = Mapping[str, str]
Door = type[BaseAuthentication]

#: What is of one environment, and hidden by its path from a key that may see the whole team.
_OF_AN_ENVIRONMENT: Final = frozenset(
    {"access_record", "actor", "attempt", "channel", "event", "job", "message", "repair", "team_key", "user", "webhook"}
)
#: Whoever holds one of these may do what it opens, so that another's is not shut out by its team.
CREDENTIALS: Final = frozenset({"link_code", "link_token", "refresh_token", "sign_in_token"})


@dataclass(frozen=True, slots=True)
class Caller:
    """A credential that is good, and the ids of others by whose they are. `is_told` says that its own are found."""

    name: str
    client: ApiClient
    own: Estate
    door: Door
    #: Something that it may ask, for the first use of a credential is noted.
    first_path: str
    foreign: Mapping[str, Ids]
    is_told: bool = False
    #: Opens a whole organisation, but where a path names an environment.
    is_wide: bool = False

    def strangers(self, cast: Cast, route: Route) -> list[Estate]:
        """Of whom nothing may be shown on a route."""
        wide = self.is_wide and "<environment>" not in route.route
        organisation = self.own.ids["organisation"]
        return [one for one in cast.others(self.own) if not wide or one.ids["organisation"] != organisation]


@dataclass(frozen=True, slots=True)
class Question:
    """The same request twice: with ids of others, and with ids of nobody in their place. The rest is the caller's."""

    about: tuple[Slot, ...]
    of_whom: str
    foreign: Mapping[Slot, str]
    missing: Mapping[Slot, str]
    own: Mapping[Slot, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{', '.join(map(str, self.about))} of {self.of_whom}"


def callers_of(cast: Cast) -> list[Caller]:
    """Everybody who calls. Each has called before."""
    found = [*_at_the_team_address(cast), *_at_the_management_address(cast)]
    for caller in found:
        assert caller.client.get(caller.first_path).status_code == 200
    return found


def _at_the_team_address(cast: Cast) -> Iterator[Caller]:
    ours, theirs = cast.ours, cast.theirs
    others = {estate.name: estate.ids for estate in cast.others(ours)}
    yield Caller(
        "our key", ApiClient(team_key=ours.tenant.key), ours, TeamKeyAuthentication, "/v2/user", others, is_told=True
    )
    key = ApiClient(team_key=cast.production.tenant.key)
    yield Caller(
        "our other environment's key", key, cast.production, TeamKeyAuthentication, "/v2/user", {ours.name: ours.ids}
    )
    token = bearer(access_token(theirs))
    yield Caller("their access token", token, theirs, AccessTokenAuthentication, "/v2/user", {ours.name: ours.ids})
    people = {"our other user": {"user": ours.ids["neighbour"]}, theirs.name: theirs.ids}
    link = with_link_token(ours.held["link_token"])
    yield Caller("our user's link token", link, ours, LinkTokenOfAnyStateAuthentication, "/v2/link/state", people)
    device = bearer(ours.held["access_token"])
    yield Caller("our user's device", device, ours, DeviceSessionAuthentication, "/v2/session", people)


def _at_the_management_address(cast: Cast) -> Iterator[Caller]:
    ours, theirs, door = cast.ours, cast.theirs, ManagementKeyAuthentication
    path = {estate.mark: f"/v1/org/{estate.ids['organisation']}" for estate in (ours, theirs)}
    hidden = {
        estate.name: {kind: value for kind, value in estate.ids.items() if kind in _OF_AN_ENVIRONMENT}
        for estate in (cast.production, cast.sibling)
    }
    del hidden[cast.sibling.name]["team_key"]  # of a team that an organisation's key may see
    foreign = {theirs.name: theirs.ids, **hidden}
    admin = ApiClient(management_key=ours.held["management_key"])
    yield Caller("our organisation's key", admin, ours, door, path[ours.mark], foreign, is_told=True, is_wide=True)
    bound = ApiClient(management_key=bound_key(ours))
    yield Caller("our team's management key", bound, ours, door, path[ours.mark], {cast.sibling.name: cast.sibling.ids})
    other = ApiClient(management_key=theirs.held["management_key"])
    yield Caller(
        "their organisation's key", other, theirs, door, path[theirs.mark], {ours.name: ours.ids}, is_wide=True
    )


def opens(route: Route, door: Door) -> bool:
    """Whether a route takes credentials of a kind."""
    return any(issubclass(taken, door) for taken in doors_of(route))


@lru_cache(maxsize=1000)
def doors_of(route: Route) -> frozenset[Door]:
    """Every kind of credential that a route takes."""
    return frozenset(type(one) for one in route.view().get_authenticators())


def access_token(estate: Estate) -> str:
    """A token for one team and environment, made with its organisation's key."""
    key = ManagementKey.objects.get(pk=estate.ids["management_key"])
    context = TeamContext(estate.tenant.team.pk, estate.tenant.context.environment)
    return access_token_create(team=context, management_key_id=key.pk).text


def bearer(token: str) -> ApiClient:
    """A client with a bearer token."""
    client = ApiClient()
    client.headers["Authorization"] = f"Bearer {token}"
    return client


def with_link_token(token: str) -> ApiClient:
    """A client with a link token."""
    client = ApiClient()
    client.headers[settings.LINK_TOKEN_HEADERS[0]] = token
    return client


def questions(caller: Caller, route: Route) -> Iterator[Question]:
    """With every id another's; with each one alone, the rest the caller's own; and each optional one added."""
    slots = [slot for slot in slots_of(route) if slot.kind not in CREDENTIALS]
    own = {slot: _id_of(slot, caller.own.ids) for slot in slots}
    for of_whom, ids in caller.foreign.items():
        strange = [slot for slot in slots if _is_there(slot, ids) and _id_of(slot, ids) != own[slot]]
        needed = [slot for slot in strange if slot.required]
        asked = [tuple(needed)] if needed else []
        asked += [(slot,) for slot in needed] if len(needed) > 1 else []
        asked += [(slot,) for slot in strange if not slot.required]
        for about in asked:
            base = {slot: own[slot] for slot in slots if slot.required or slot in about}
            foreign = {slot: _id_of(slot, ids) for slot in about}
            missing = {slot: nobodys(slot, foreign[slot]) for slot in about}
            yield Question(about, of_whom, base | foreign, base | missing, base)


def _is_there(slot: Slot, ids: Ids) -> bool:
    return slot.kind.removesuffix("_cursor") in ids


def _id_of(slot: Slot, ids: Ids) -> str:
    return ids[slot.kind.removesuffix("_cursor")]


def nobodys(slot: Slot, like: str) -> str:
    """An id of the same form that names nothing. A cursor's is its neighbour, for cursors are places in a list too."""
    if slot.kind.endswith("_cursor"):
        prefix, text = ("msg_", like[4:]) if like.startswith("msg_") else ("", like)
        return f"{prefix}{UUID(int=UUID(text).int ^ 1)}"
    if slot.kind in ("message", "channel"):
        return f"{like[: -len(str(uuid4()))]}{uuid4()}"
    if slot.kind == "export_token":
        return f"{like[:-1]}{'A' if like[-1] != 'A' else 'B'}"
    if slot.kind == "payor":
        return f"T-{'Z' * 10}"
    if like.startswith("mark"):
        return f"mark{uuid4().hex[:8]}{like[12:]}"
    return str(uuid4())
