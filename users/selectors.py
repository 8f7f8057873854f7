"""Reads of the users app."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from healthsvc.kernel.errors import not_found
from healthsvc.kernel.principal import TeamContext
from users import registry
from users.models import User


@dataclass(frozen=True, slots=True)
class UserPage:
    """Users of one page, newest first, with how many there are."""

    users: list[User]
    total: int
    sources: Mapping[UUID, Sequence[registry.ConnectedSource]]


def user_get(team: TeamContext, user_id: UUID, *, lock: bool = False) -> User:
    """A living user of the team; 404 otherwise. `lock` holds the row until the transaction ends."""
    users = User.objects.for_team(team).living()
    user = (users.select_for_update() if lock else users).filter(pk=user_id).first()
    if user is None:
        raise not_found()
    return user


def user_resolve(team: TeamContext, client_user_id: str) -> User:
    """The living user with this client_user_id; 404 otherwise."""
    user = User.objects.for_team(team).living().filter(client_user_id=client_user_id).first()
    if user is None:
        raise not_found()
    return user


def user_page(team: TeamContext, *, offset: int, limit: int) -> UserPage:
    """One page of living users. Costs a count, a page and one query a registered source of connections."""
    living = User.objects.for_team(team).living()
    users = list(living.order_by("-created_at", "-id")[offset : offset + limit])
    return UserPage(users, living.count(), sources_of(team, users))


def sources_of(team: TeamContext, users: Sequence[User]) -> dict[UUID, list[registry.ConnectedSource]]:
    """The connected sources of each user, asked for all of them at once."""
    found: dict[UUID, list[registry.ConnectedSource]] = {user.id: [] for user in users}
    if not users:
        return found
    for answer in registry.connected_sources:
        for user_id, sources in answer(team, [user.id for user in users]).items():
            found[user_id].extend(sources)
    return found
