"""Where imports stand."""

from uuid import UUID

from aggregation.constants import APPLE_HEALTH_JOB
from healthsvc.kernel.errors import not_found
from healthsvc.kernel.principal import TeamContext
from management.models import BackgroundJob


def import_get(team: TeamContext, user_id: UUID, job_id: UUID) -> BackgroundJob:
    """An import of this user; 404 where there is none."""
    jobs = BackgroundJob.objects.for_team(team).filter(pk=job_id, user_id=user_id, kind=APPLE_HEALTH_JOB)
    job = jobs.first()
    if job is None:
        raise not_found()
    return job
