"""Lists of an organisation's keys, members and invitations: pages of rows, newest first."""

from dataclasses import dataclass
from typing import Generic, TypeVar
from uuid import UUID

from django.db.models import Model, Q, QuerySet

from healthsvc.kernel import clock
from healthsvc.kernel.principal import Environment, TeamContext
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management.constants import PAGE_SIZE
from management.models import Invite, ManagementKey, Member, ScopeRequirement, Team, TeamInOrganisation, TeamKey

M = TypeVar("M", bound=Model)


@dataclass(frozen=True, slots=True)
class Page(Generic[M]):
    """Rows of one page and the cursor of the next, None where there is none."""

    rows: list[M]
    next_cursor: UUID | None


def team_keys_page(
    teams: TeamInOrganisation, environment: Environment, *, team_id: UUID | None, cursor: UUID | None
) -> Page[TeamKey]:
    """Living keys of these teams in one environment. One query."""
    if team_id is not None:
        teams = teams.filter(pk=team_id)
    keys = TeamKey.objects.select_related("team").filter(_alive(), team__in=teams, environment=environment)
    with system_scope(SystemScope.KEY_LOOKUP):
        return _page(keys, cursor)


def team_key_get(key_id: UUID) -> TeamKey:
    """A key that was just made, with its team."""
    with system_scope(SystemScope.KEY_LOOKUP):
        return TeamKey.objects.select_related("team").get(pk=key_id)


def management_keys_page(
    organisation_id: UUID, *, team_id: UUID | None, role: str | None, cursor: UUID | None
) -> Page[ManagementKey]:
    """Living management keys, of a role and bound to a team where these are named. One query."""
    keys = ManagementKey.objects.filter(_alive(), organisation_id=organisation_id)
    if team_id is not None:
        keys = keys.filter(team_ids__contains=[team_id])
    if role is not None:
        keys = keys.filter(role=role)
    return _page(keys, cursor)


def members_page(organisation_id: UUID, *, search: str, cursor: UUID | None) -> Page[Member]:
    """Members with `search` in the name or the address, in any case. One query."""
    members = Member.objects.filter(organisation_id=organisation_id)
    if search:
        members = members.filter(Q(name__icontains=search) | Q(email__icontains=search))
    return _page(members, cursor)


def invites_page(organisation_id: UUID, *, search: str, cursor: UUID | None) -> Page[Invite]:
    """Invitations with `search` in the address, in any case. One query."""
    invites = Invite.objects.filter(organisation_id=organisation_id)
    if search:
        invites = invites.filter(email__icontains=search)
    return _page(invites, cursor)


def scope_requirements(team: TeamContext, provider: str | None = None) -> list[ScopeRequirement]:
    """What the team's people must and may grant, by provider. One query."""
    with team_scope(team):
        rows = ScopeRequirement.objects.for_team(team).order_by("provider")
        return list(rows if provider is None else rows.filter(provider=provider))


def team_by_integration_id(teams: TeamInOrganisation, integration_team_id: str) -> Team | None:
    """The team that the customer calls so, among these."""
    return teams.filter(integration_team_id=integration_team_id).first()


def _alive() -> Q:
    return Q(revoked_at=None) & (Q(expires_at=None) | Q(expires_at__gt=clock.now()))


def _page(rows: QuerySet[M], cursor: UUID | None) -> Page[M]:
    if cursor is not None:
        rows = rows.filter(pk__lt=cursor)
    found = list(rows.order_by("-pk")[: PAGE_SIZE + 1])
    return Page(found[:PAGE_SIZE], found[PAGE_SIZE - 1].pk if len(found) > PAGE_SIZE else None)
