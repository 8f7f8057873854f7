"""Reads of the users app."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from healthsvc.kernel.errors import ErrorCode, ServiceError
from healthsvc.kernel.principal import TeamContext
from users import registry, user_rows
from users.constants import SEARCH_LIMIT
from users.models import Demographics, PatientDetails, User

#: What reads of a user say, as existing clients know it. The first two are no different for another team's user.
NOT_FOUND: Final = "Not found"
USER_MISSING: Final = "User not found"
DEMOGRAPHICS_MISSING: Final = "User demographics data not found"
ON_THE_WAY_OUT: Final = "You have scheduled this user for deletion."

_UUID_HEX_CHARACTERS: Final = 32
_HYPHENS_AFTER: Final = (8, 13, 18, 23)
_LAST_CODE_POINT: Final = 0x10FFFF
_SURROGATES: Final = (0xD800, 0xDFFF)


@dataclass(frozen=True, slots=True)
class UserPage:
    """Users of one page, newest first, with how many there are."""

    users: list[User]
    total: int
    sources: Mapping[UUID, Sequence[registry.ConnectedSource]]


def user_get(team: TeamContext, user_id: UUID, *, lock: bool = False, missing: str = NOT_FOUND) -> User:
    """A living user of the team; 404 otherwise, which tells of one on the way out and says `missing` of all others.

    `lock` holds the row until the transaction ends.
    """
    if lock:
        user = User.objects.for_team(team).select_for_update().filter(pk=user_id).first()
    else:
        user = user_rows.user_with_id(team, user_id)
    if user is None:
        raise ServiceError(ErrorCode.NOT_FOUND, missing)
    if user.deleted_at is not None:
        raise ServiceError(ErrorCode.NOT_FOUND, ON_THE_WAY_OUT)
    return user


def user_resolve(team: TeamContext, client_user_id: str) -> User:
    """The living user with this client_user_id; 404 otherwise."""
    user = user_rows.user_named(team, client_user_id)
    if user is None:
        raise ServiceError(ErrorCode.NOT_FOUND, NOT_FOUND)
    return user


def user_page(team: TeamContext, *, offset: int, limit: int) -> UserPage:
    """One page of living users. Costs a count, a page and one query a registered source of connections.

    What is skipped is skipped in the index, from whichever end is nearer: the last page costs what the first does.
    """
    living = User.objects.for_team(team).living()
    total = living.count()
    rows = min(limit, max(total - offset, 0))
    behind = max(total - offset - rows, 0)
    if offset <= behind:
        ids = living.order_by("-created_at", "-id").values("pk")[offset : offset + limit]
    else:
        ids = living.order_by("created_at", "id").values("pk")[behind : behind + rows]
    users = list(User.objects.for_team(team).filter(pk__in=ids).order_by("-created_at", "-id"))
    return UserPage(users, total, sources_of(team, users))


def users_search(team: TeamContext, text: str) -> list[User]:
    """Living users whose client_user_id or id begins with `text`, at most `SEARCH_LIMIT`.

    A whole id comes first; then client_user_ids in the order of their characters, a whole one before longer ones; then
    beginnings of ids. Two queries, each a range of an index.
    """
    by_name = user_rows.users_named_within(team, text, _text_after(text), limit=SEARCH_LIMIT)
    ids = _id_range(text)
    by_id = user_rows.users_with_ids_within(team, *ids, limit=SEARCH_LIMIT) if ids else []
    whole = ids is not None and ids[0] == ids[1]
    found = [*by_id, *by_name] if whole else [*by_name, *by_id]
    return list({user.pk: user for user in found}.values())[:SEARCH_LIMIT]


def sources_of(team: TeamContext, users: Sequence[User]) -> dict[UUID, list[registry.ConnectedSource]]:
    """The connected sources of each user, asked for all of them at once."""
    found: dict[UUID, list[registry.ConnectedSource]] = {user.id: [] for user in users}
    if not users:
        return found
    for answer in registry.connected_sources:
        for user_id, sources in answer(team, [user.id for user in users]).items():
            found[user_id].extend(sources)
    return found


def demographics_latest(team: TeamContext, user_id: UUID) -> PatientDetails:
    """What is known of a living user as a patient; 404 where there is no user, or nothing was told."""
    user_get(team, user_id, missing=USER_MISSING)
    found = demographics_find(team, user_id)
    if found is None:
        raise ServiceError(ErrorCode.NOT_FOUND, DEMOGRAPHICS_MISSING)
    return found


def demographics_find(team: TeamContext, user_id: UUID) -> PatientDetails | None:
    """What is known of a user as a patient; None where nothing was told. One query."""
    row = Demographics.objects.for_team(team).filter(user_id=user_id).first()
    return PatientDetails.from_json(row.details) if row else None


def _text_after(beginning: str) -> str | None:
    """The first text, by code points, after all that begin so; None where there is none."""
    for index in range(len(beginning) - 1, -1, -1):
        point = ord(beginning[index]) + 1
        if point <= _LAST_CODE_POINT:
            point = _SURROGATES[1] + 1 if _SURROGATES[0] <= point <= _SURROGATES[1] else point
            return beginning[:index] + chr(point)
    return None


def _id_range(beginning: str) -> tuple[UUID, UUID] | None:
    """The first and last id that begin so in their usual spelling; None where none can."""
    text = beginning.lower()
    hyphens = [index for index, character in enumerate(text) if character == "-"]
    digits = text.replace("-", "")
    if len(digits) > _UUID_HEX_CHARACTERS or not set(digits) <= set("0123456789abcdef"):
        return None
    if hyphens != [index for index in _HYPHENS_AFTER if index < len(text)]:
        return None
    return UUID(digits.ljust(_UUID_HEX_CHARACTERS, "0")), UUID(digits.ljust(_UUID_HEX_CHARACTERS, "f"))
