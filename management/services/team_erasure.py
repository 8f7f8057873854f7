"""The end of a deleted team: once its grace period is over, everything of it is erased, portion by portion.

Each portion is a transaction, so a worker that is killed loses one at most, and whoever comes next begins with the
first eraser again, which finds nothing left. Once every eraser has found nothing in one and the same round, the team is
called erased. From the first portion on it can't be brought back, whatever another machine's clock says.
"""

import time
from collections.abc import Iterator
from typing import Final
from uuid import UUID

import structlog
from django.db.models import F

from healthsvc.kernel import clock
from healthsvc.kernel.jobs import is_interruption
from healthsvc.kernel.principal import Environment, TeamContext
from healthsvc.kernel.scope import SystemScope, system_scope
from management.constants import ERASED_TEAM_NAME, TEAM_ERASURE_SECONDS, TEAMS_ERASED_AT_ONCE
from management.models import Team, TeamInOrganisation, TeamKey
from management.registry import TeamEraser, TeamErasureWaits, team_erasers
from management.team_erasure import OWN

log = structlog.get_logger(__name__)

#: A team that waits, or fails, takes no time from the others; one that is large takes its share of a run.
_SECONDS_AT_LEAST: Final = 5.0


def teams_erase_due(*, run_seconds: float = TEAM_ERASURE_SECONDS) -> int:
    """Take every team whose grace period is over some way towards its end; how many got there.

    A team that fails is left to the next run and holds up no other.
    """
    if not team_erasers:
        return 0  # nobody here erases people, so nothing may be called erased
    due = list(_due().order_by("erase_due_at", "pk").values_list("pk", flat=True)[:TEAMS_ERASED_AT_ONCE])
    ended = 0
    for team_id in due:
        try:
            ended += team_erase(team_id=team_id, run_seconds=max(run_seconds / len(due), _SECONDS_AT_LEAST))
        except Exception as error:
            if is_interruption(error):
                raise
            log.error("team_erasure_failed", team_id=str(team_id), exc_info=error)
    return ended


def team_erase(*, team_id: UUID, run_seconds: float = TEAM_ERASURE_SECONDS) -> bool:
    """Erase a team that is due, or a part of what there is; whether nothing is left. Safe to call by anyone."""
    ends_at = time.monotonic() + run_seconds
    with system_scope(SystemScope.PURGE):
        # Due from the very beginning: an undo on a machine whose clock is behind comes too late too.
        if not _due().filter(pk=team_id).update(erase_due_at=F("deleted_at")):
            return False
        try:
            for _portion in _rounds(team_id):
                if time.monotonic() >= ends_at:
                    return False
        except TeamErasureWaits:
            return False
        return _finish(team_id)


def _due() -> TeamInOrganisation:
    return Team.objects.filter(erase_due_at__lte=clock.now(), erased_at=None)


def _rounds(team_id: UUID) -> Iterator[None]:
    """Go through all erasers until a whole round finds nothing; a step is a transaction that erased something.

    Ends without an error only where nothing is left.
    """
    while True:
        erased, waits = 0, False
        from_above = list(reversed(team_erasers))
        # Sorting keeps the order of those that are alike.
        for eraser in (*sorted(from_above, key=lambda one: not one.is_first), OWN):
            if waits and eraser.is_referred_to:
                continue
            portions = _portions(eraser, team_id)
            try:
                for rows in portions:
                    erased += rows
                    yield
            except TeamErasureWaits:
                waits = True
        if not erased and waits:
            raise TeamErasureWaits
        if not erased:
            return


def _portions(eraser: TeamEraser, team_id: UUID) -> Iterator[int]:
    """Of both environments; what waits in one does not hold up the other."""
    waits: TeamErasureWaits | None = None
    for environment in Environment:
        try:
            yield from eraser.portions(TeamContext(team_id, environment))
        except TeamErasureWaits as reason:
            waits = reason
    if waits is not None:
        raise waits


def _finish(team_id: UUID) -> bool:
    now = clock.now()
    TeamKey.objects.filter(team_id=team_id, revoked_at=None).update(revoked_at=now)
    ended = Team.objects.filter(pk=team_id, erased_at=None)
    return bool(ended.update(erased_at=now, name=ERASED_TEAM_NAME, integration_team_id=None))
