"""Reads of the management app."""

import base64
import binascii
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from django.db.models import Q

from healthsvc.kernel.errors import Problem, invalid, not_found
from healthsvc.kernel.principal import Environment, Principal, Role, TeamContext
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management.closed import of_living_team
from management.constants import TEAM_PAGE_SIZE
from management.models import Organisation, Team, TeamInOrganisation, TeamLogo, TeamSettings


@dataclass(frozen=True, slots=True)
class TeamPage:
    """Teams of one page, newest first, and the cursor of the next page or None."""

    teams: list[Team]
    next_cursor: str | None


def teams_visible(principal: Principal, organisation_id: UUID, *, with_deleted: bool = False) -> TeamInOrganisation:
    """The organisation's teams that a management key may see; 404 where the organisation is not its own."""
    if principal.organisation_id != organisation_id:
        raise not_found()
    teams = Team.objects.for_organisation(organisation_id)
    teams = teams if with_deleted else teams.living()
    return teams.filter(pk__in=principal.team_ids) if principal.role is Role.TEAM_ADMIN else teams


def team_page(
    teams: TeamInOrganisation, *, regions: list[str], search_query: str, cursor: str | None, size: int = TEAM_PAGE_SIZE
) -> TeamPage:
    """One page of `teams`: in any of `regions` where given, with `search_query` in the name in any case."""
    if regions:
        teams = teams.filter(region__in=regions)
    if search_query.strip():
        teams = teams.filter(name__icontains=search_query.strip())
    if cursor is not None:
        created_at, team_id = _cursor_read(cursor)
        teams = teams.filter(Q(created_at__lt=created_at) | Q(created_at=created_at, id__lt=team_id))
    rows = list(teams.order_by("-created_at", "-id")[: size + 1])
    more = len(rows) > size
    return TeamPage(rows[:size], _cursor_make(rows[size - 1]) if more else None)


def _cursor_make(team: Team) -> str:
    microseconds = round(team.created_at.timestamp() * 1_000_000)
    return base64.urlsafe_b64encode(microseconds.to_bytes(8) + team.id.bytes).decode().rstrip("=")


def _cursor_read(cursor: str) -> tuple[datetime, UUID]:
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        if len(raw) != 24:
            raise ValueError
        moment = datetime.fromtimestamp(int.from_bytes(raw[:8]) / 1_000_000, UTC)
    except (ValueError, OverflowError, OSError, binascii.Error):
        problem = Problem(("query", "next_cursor"), "Not a cursor that this list gave.", "cursor_invalid")
        raise invalid([problem]) from None
    return moment, UUID(bytes=raw[8:])


def team_settings(team: TeamContext) -> TeamSettings:
    """The team's switches; an unsaved row of defaults where none was ever set."""
    found = TeamSettings.objects.for_team(team).first()
    return found or TeamSettings(team_id=team.team_id, environment=str(Environment(team.environment)))


def team_settings_of(team: Team, environments: Collection[Environment]) -> dict[Environment, TeamSettings]:
    """The team's switches in each of these environments. One query for each."""
    found = {}
    for environment in Environment:
        if environment in environments:
            context = TeamContext(team.pk, environment)
            with team_scope(context):
                found[environment] = team_settings(context)
    return found


def organisation_get(organisation_id: UUID) -> Organisation:
    """The organisation, or 404."""
    organisation = Organisation.objects.filter(pk=organisation_id).first()
    if organisation is None:
        raise not_found()
    return organisation


def team_logo_id(team: TeamContext) -> UUID | None:
    """The team's logo, where it has one. One query, which leaves the picture where it is."""
    return TeamLogo.objects.for_team(team).values_list("pk", flat=True).first()


def team_logo_find(logo_id: UUID) -> TeamLogo | None:
    """A logo by its id, for whoever asks: it is shown on pages that everybody may open."""
    with system_scope(SystemScope.KEY_LOOKUP):
        return TeamLogo.objects.filter(of_living_team(), pk=logo_id).first()
