"""Deleted teams: nobody opens them, and nothing goes on for them by itself, until they are brought back or erased.

Whatever finds rows of every team, for a key that is shown or for work that is owed, finds those of living teams alone.
Rows are left as they are, so that a team that is brought back goes on where it was. What is owed to a person all the
same goes on: the erasure of a deleted user, and the end of a grant.
"""

from uuid import UUID

from django.db.models import Exists, OuterRef, Q

from management.models import Team


def of_living_team(team_id: str = "team_id") -> Q:
    """Rows whose team was not deleted; by its key alone, so that a row can be held or changed in the same statement."""
    return Q(~Exists(Team.objects.filter(pk=OuterRef(team_id)).exclude(deleted_at=None)))


def team_is_living(team_id: UUID) -> bool:
    """Whether the team was not deleted. One query."""
    return Team.objects.living().filter(pk=team_id).exists()
