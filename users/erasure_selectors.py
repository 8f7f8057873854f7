"""Reads of erasures."""

from dataclasses import dataclass
from uuid import UUID

from healthsvc.kernel.errors import not_found
from healthsvc.kernel.principal import Environment, TeamContext
from healthsvc.kernel.scope import team_scope
from management.constants import PAGE_SIZE
from management.models import Team
from users.models import Erasure


@dataclass(frozen=True, slots=True)
class ErasurePage:
    """Erasures of one page, newest first, and where the next page begins or None."""

    erasures: list[Erasure]
    next_cursor: UUID | None


def team_erasures_page(
    organisation_id: UUID, team_id: UUID, *, environment: str | None, cursor: UUID | None, size: int = PAGE_SIZE
) -> ErasurePage:
    """One page of a team's erasures, in one environment or both; 404 for a team that never was the organisation's.

    The team may be deleted or erased. A query for each environment.
    """
    if not Team.objects.for_organisation(organisation_id).filter(pk=team_id).exists():
        raise not_found()
    found: list[Erasure] = []
    for one in [Environment(environment)] if environment else Environment:
        team = TeamContext(team_id, one)
        with team_scope(team):
            rows = Erasure.objects.for_team(team).order_by("-pk")
            found += (rows if cursor is None else rows.filter(pk__lt=cursor))[: size + 1]
    found.sort(key=lambda row: row.pk, reverse=True)
    return ErasurePage(found[:size], found[size - 1].pk if len(found) > size else None)
