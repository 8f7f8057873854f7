"""Pages of users, newest first, for lists that tell something of many users."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import Q

from aggregation import cursors
from aggregation.store.days import instant_of_us, us_of_instant
from healthsvc.kernel.principal import TeamContext
from users import selectors as user_selectors
from users.models import User

_CURSOR: Final = struct.Struct(">qQQ")
_LOW: Final = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class UsersPage:
    """Users of one page, and the cursor of the next one or None."""

    user_ids: Sequence[UUID]
    next_cursor: str | None


def users_page(
    team: TeamContext, *, user_id: UUID | None, cursor: str | None, limit: int, filters: tuple[str, ...]
) -> UsersPage:
    """At most `limit` living users after a cursor, or the one who is named; 404 where that one is not there.

    `filters` are the rest of the query: a cursor is good only with the same ones.
    """
    query = (str(team.team_id), str(team.environment), str(user_id), *filters)
    if user_id is not None:
        if cursor:
            cursors.cursor_read(query, cursor, _CURSOR)
        return UsersPage([user_selectors.user_get(team, user_id).pk], None)
    users = User.objects.for_team(team).living()
    if cursor:
        created_at, last_id = _position(cursors.cursor_read(query, cursor, _CURSOR))
        users = users.filter(Q(created_at__lt=created_at) | Q(created_at=created_at, id__lt=last_id))
    rows = list(users.order_by("-created_at", "-id").values_list("id", "created_at")[: limit + 1])
    if len(rows) <= limit:
        return UsersPage([row[0] for row in rows], None)
    last_id, created_at = rows[limit - 1]
    position = _CURSOR.pack(us_of_instant(created_at), last_id.int >> 64, last_id.int & _LOW)
    return UsersPage([row[0] for row in rows[:limit]], cursors.cursor_make(query, position))


def _position(numbers: tuple[int, ...]) -> tuple[datetime, UUID]:
    at_us, high, low = numbers
    return instant_of_us(at_us), UUID(int=high << 64 | low)
