"""Background jobs: rows that say what is owed, claimed by a lease, so that a dead worker's work is taken up again."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from django.db.models import F, Q

from healthsvc.kernel import clock
from healthsvc.kernel.principal import Environment, TeamContext
from healthsvc.kernel.rows import TeamQuerySet, team_values
from healthsvc.kernel.scope import SystemScope, system_scope
from management.closed import of_living_team
from management.constants import JobStatus
from management.models import BackgroundJob
from management.states import JobCommand, status_after, statuses_before

#: A running job renews its lease at least this often; a job whose lease ran out is taken up by another worker.
LEASE_SECONDS: Final = 30
#: A job that was begun this often and never ended is given up.
ATTEMPTS_MAXIMUM: Final = 5


def job_create(
    *, team: TeamContext, kind: str, user_id: UUID | None, parameters: Mapping[str, Any], progress_total: int = 0
) -> BackgroundJob:
    """A queued job. The caller enqueues the task that works it, in the same transaction."""
    return BackgroundJob.objects.create(
        **team_values(team),
        kind=kind,
        user_id=user_id,
        parameters=dict(parameters),
        progress_total=progress_total,
        created_at=clock.now(),
    )


def job_claim(*, job_id: UUID) -> BackgroundJob | None:
    """Take the job for this worker: None where it has ended, or another worker's lease is running."""
    now = clock.now()
    with system_scope(SystemScope.DELIVERY):
        free = ~Q(status=JobStatus.RUNNING) | Q(lease_until__lt=now)
        open_jobs = BackgroundJob.objects.filter(of_living_team(), status__in=statuses_before(JobCommand.CLAIM))
        taken = open_jobs.filter(free, pk=job_id).update(
            status=status_after(JobCommand.CLAIM),
            lease_until=now + timedelta(seconds=LEASE_SECONDS),
            attempts=F("attempts") + 1,
        )
        return BackgroundJob.objects.get(pk=job_id) if taken else None


def job_renew(job: BackgroundJob, *, progress_done: int, checkpoint: Mapping[str, Any] | None = None) -> bool:
    """Report progress and keep the lease; False where another worker has it, or its team was deleted."""
    values: dict[str, Any] = {
        "progress_done": progress_done,
        "lease_until": clock.now() + timedelta(seconds=LEASE_SECONDS),
    }
    if checkpoint is not None:
        values["checkpoint"] = dict(checkpoint)
    held = _held(job, JobCommand.RENEW).filter(of_living_team())
    return bool(held.update(status=status_after(JobCommand.RENEW), **values))


def job_finish(job: BackgroundJob, *, receipt: Mapping[str, Any], error_code: str = "") -> bool:
    """End the job with its receipt; with an `error_code` it has failed. False where it is no longer ours."""
    command = JobCommand.FAIL if error_code else JobCommand.SUCCEED
    return bool(
        _held(job, command).update(
            status=status_after(command),
            receipt=dict(receipt),
            error_code=error_code,
            ended_at=clock.now(),
            lease_until=None,
        )
    )


def jobs_end(*, team: TeamContext, user_id: UUID, kind: str, error_code: str) -> int:
    """End a user's jobs of a kind, whoever works on them: they can't report any more. How many that were."""
    rows = BackgroundJob.objects.for_team(team).filter(user_id=user_id, kind=kind)
    open_jobs = rows.filter(status__in=statuses_before(JobCommand.END))
    return open_jobs.update(
        status=status_after(JobCommand.END), error_code=error_code, ended_at=clock.now(), lease_until=None
    )


def jobs_left_behind(kind: str) -> list[UUID]:
    """Jobs of a kind that nobody works on: still queued after a lease's time, or with a lease that ran out."""
    now = clock.now()
    waiting = Q(status=JobStatus.QUEUED, created_at__lt=now - timedelta(seconds=LEASE_SECONDS))
    dead = Q(status=JobStatus.RUNNING, lease_until__lt=now)
    with system_scope(SystemScope.DELIVERY):
        rows = BackgroundJob.objects.filter(waiting | dead, of_living_team(), kind=kind)
        return list(rows.values_list("pk", flat=True)[:1000])


def job_team(job: BackgroundJob) -> TeamContext:
    """The tenant a job works for."""
    return TeamContext(job.team_id, Environment(job.environment))


def _held(job: BackgroundJob, command: JobCommand) -> TeamQuerySet[BackgroundJob]:
    return BackgroundJob.objects.filter(pk=job.pk, status__in=statuses_before(command), attempts=job.attempts)
