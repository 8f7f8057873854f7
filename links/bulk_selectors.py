"""Reads of bulk operations, and of connections as other systems could take them over."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from aggregation.cursors import cursor_make, cursor_read
from healthsvc.kernel.principal import TeamContext
from links.constants import BULK_EXPORT_PAGE_SIZE
from links.models import BulkOp, BulkOpItem, Connection
from links.states import BulkItemStatus

#: The two halves of a UUID.
_POSITION: Final = struct.Struct(">QQ")


@dataclass(frozen=True, slots=True)
class ExportPage:
    """Connections with their tokens, and the cursor of the next page or None."""

    connections: list[Connection]
    next_token: str | None


@dataclass(frozen=True, slots=True)
class OpPage:
    """Operations, newest first, and the cursor of the next page or None."""

    ops: list[BulkOp]
    next_cursor: str | None


def connections_export(
    team: TeamContext, *, provider: str, user_ids: Sequence[UUID] | None, next_token: str | None
) -> ExportPage:
    """One page of the living OAuth connections with a provider, the oldest first; of these users where given."""
    query = ("bulk_export", provider, sorted(str(one) for one in user_ids or ()))
    rows = Connection.objects.for_team(team).filter(provider=provider, disconnected_at=None, login="oauth")
    rows = rows.filter(user__deleted_at=None)
    if user_ids is not None:
        rows = rows.filter(user_id__in=user_ids)
    if next_token is not None:
        rows = rows.filter(pk__gt=_id_of(cursor_read(query, next_token, _POSITION)))
    found = list(rows.order_by("pk")[: BULK_EXPORT_PAGE_SIZE + 1])
    more = len(found) > BULK_EXPORT_PAGE_SIZE
    page = found[:BULK_EXPORT_PAGE_SIZE]
    return ExportPage(page, cursor_make(query, page[-1].pk.bytes) if more else None)


def bulk_ops_page(team: TeamContext, *, size: int, next_cursor: str | None) -> OpPage:
    """One page of a team's operations, newest first."""
    rows = BulkOp.objects.for_team(team)
    if next_cursor is not None:
        rows = rows.filter(pk__lt=_id_of(cursor_read("bulk_op", next_cursor, _POSITION)))
    found = list(rows.order_by("-pk")[: size + 1])
    page = found[:size]
    more = len(found) > size and bool(page)
    return OpPage(page, cursor_make("bulk_op", page[-1].pk.bytes) if more else None)


def bulk_users(op: BulkOp) -> tuple[list[UUID], list[UUID]]:
    """Users that came through, and users that did not, in the order they were given."""
    rows = BulkOpItem.objects.for_team(op.context).filter(op=op).order_by("id").values_list("user_id", "status")
    statuses = list(rows)
    done = [user_id for user_id, status in statuses if status == BulkItemStatus.PROCESSED]
    return done, [user_id for user_id, status in statuses if status == BulkItemStatus.FAILED]


def _id_of(position: Sequence[int]) -> UUID:
    return UUID(bytes=_POSITION.pack(*position))
