"""The end of a deleted team: once its grace period is over, everything of it is erased, some at a time."""

from uuid import UUID

from django.db import transaction

from healthsvc.kernel import clock
from healthsvc.kernel.principal import Environment, TeamContext
from healthsvc.kernel.scope import SystemScope, system_scope
from management import files
from management.constants import ERASED_AT_ONCE, ERASED_TEAM_NAME, TEAMS_ERASED_AT_ONCE
from management.models import (
    BackgroundJob,
    IdempotentReply,
    ScopeRequirement,
    StoredFile,
    Team,
    TeamAccessToken,
    TeamKey,
    TeamLogo,
    TeamSettings,
)
from management.registry import team_erasers


def teams_erase_due() -> int:
    """Take every team whose grace period is over some way towards its end; how many got there."""
    if not team_erasers:
        return 0  # nobody here erases people, so nothing may be called erased
    now = clock.now()
    due = Team.objects.filter(erase_due_at__lte=now, erased_at=None).order_by("erase_due_at", "pk")
    return sum(_erase(team_id) for team_id in list(due.values_list("pk", flat=True)[:TEAMS_ERASED_AT_ONCE]))


def _work_erase(team: TeamContext) -> bool:
    """Jobs, files and kept replies that named no person, some at a time; whether none is left."""
    with system_scope(SystemScope.PURGE):
        for file in StoredFile.objects.for_team(team).order_by("pk")[:ERASED_AT_ONCE]:
            files.file_remove(file)
        for rows in (BackgroundJob.objects.for_team(team), IdempotentReply.objects.for_team(team)):
            rows.filter(pk__in=list(rows.order_by("pk").values_list("pk", flat=True)[:ERASED_AT_ONCE])).delete()
        kinds = (StoredFile, BackgroundJob, IdempotentReply)
        return not any(kind.objects.for_team(team).exists() for kind in kinds)


def _erase(team_id: UUID) -> bool:
    """Whether nothing is left. The team's own rows go last: what the apps above erase may need them."""
    contexts = [TeamContext(team_id, environment) for environment in Environment]
    # Every one is asked, so that one which is at its end does not hold up the next sweep.
    left = [eraser for eraser in team_erasers for context in contexts if not eraser(context)]
    if left or not all(map(_work_erase, contexts)):
        return False
    with system_scope(SystemScope.PURGE), transaction.atomic():
        for rows in (TeamSettings, TeamLogo, ScopeRequirement, TeamAccessToken):
            rows.objects.filter(team_id=team_id).delete()
        now = clock.now()
        TeamKey.objects.filter(team_id=team_id, revoked_at=None).update(revoked_at=now)
        ended = Team.objects.filter(pk=team_id, erased_at=None)
        return bool(ended.update(erased_at=now, name=ERASED_TEAM_NAME, integration_team_id=None))
