"""How a page of a long log is found in bounded time: one index search, or a look at so many rows and no more.

A filter that no index serves could read a whole log to find nothing. Such a page looks at `LOG_SCAN_ROWS` rows at most
and then answers what it found with a cursor to go on from, even where that is nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from django.db import models

from healthsvc.kernel.rows import TeamQuerySet
from webhooks.constants import LOG_SCAN_ROWS

M = TypeVar("M", bound=models.Model)


@dataclass(frozen=True, slots=True)
class IdPage:
    """Ids of one page, newest first, and the cursor of the next; None where there is none."""

    ids: list[UUID]
    next_cursor: UUID | None


def id_page(branches: Sequence[TeamQuerySet[M]], *, also: models.Q | None, cursor: UUID | None, limit: int) -> IdPage:
    """The newest ids of all `branches` together, each of which an index finds in the order of ids.

    `also` is what no index finds; with it, so many rows are looked at. At most two queries.
    """
    if not branches:
        return IdPage([], None)
    if cursor is not None:
        branches = [branch.filter(pk__lt=cursor) for branch in branches]
    floor = None if also is None else _floor(branches)
    if floor is not None:
        branches = [branch.filter(pk__gte=floor) for branch in branches]
    if also is not None:
        branches = [branch.filter(also) for branch in branches]
    ids = list(_together([_newest(branch)[: limit + 1] for branch in branches])[: limit + 1])
    if len(ids) > limit:
        return IdPage(ids[:limit], ids[limit - 1])
    return IdPage(ids, floor)


def _floor(branches: Sequence[TeamQuerySet[M]]) -> UUID | None:
    """The id down to which every branch was looked at once each has given its share; None where all are at an end."""
    share = max(1, LOG_SCAN_ROWS // len(branches))
    lasts = [_newest(branch)[share - 1 : share] for branch in branches]
    return _together(lasts).first()


def _newest(branch: TeamQuerySet[M]) -> models.QuerySet[M, UUID]:
    return branch.order_by("-pk").values_list("pk", flat=True)


def _together(parts: Sequence[models.QuerySet[M, UUID]]) -> models.QuerySet[M, UUID]:
    """Ids of all parts, newest first."""
    return parts[0] if len(parts) == 1 else parts[0].union(*parts[1:], all=True).order_by("-pk")
