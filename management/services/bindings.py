"""Roles, and the teams that a team_admin is bound to: the rule for keys, members and invitations alike."""

from collections.abc import Sequence
from uuid import UUID

from healthsvc.kernel.errors import Problem, invalid
from management.constants import KeyRole
from management.models import Team

_LOC = ("body", "team_role_bindings")


def bindings_check(*, organisation_id: UUID, role: str, team_ids: Sequence[UUID]) -> list[UUID]:
    """The teams, each once. 422 where a team_admin has none, another role some, or one is not the organisation's."""
    once = list(dict.fromkeys(team_ids))
    if role != KeyRole.TEAM_ADMIN:
        if once:
            raise invalid([Problem(_LOC, "Only a team_admin is bound to teams.", "role_bindings")])
        return []
    if not once:
        raise invalid([Problem(_LOC, "A team_admin needs one team at least.", "too_short")])
    teams = Team.objects.for_organisation(organisation_id).living()
    known = set(teams.filter(pk__in=once).values_list("pk", flat=True))
    problems = [
        Problem((*_LOC, place, "team_id"), "Not a team of this organisation.", "team_unknown")
        for place, team_id in enumerate(team_ids)
        if team_id not in known
    ]
    if problems:
        raise invalid(problems)
    return once
