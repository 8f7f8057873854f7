"""Background tasks of the aggregation app."""

from uuid import UUID

from celery import shared_task

from aggregation import imports

#: A ten-year export takes minutes; a worker that hangs is stopped, and the job is taken up by another.
_IMPORT_SECONDS = 6 * 3600


@shared_task(name=imports.TASK, time_limit=_IMPORT_SECONDS, soft_time_limit=_IMPORT_SECONDS - 60)
def apple_health_import(job_id: str) -> None:
    """Work one import."""
    imports.import_run(job_id=UUID(job_id))


@shared_task(name="aggregation.jobs_sweep")
def jobs_sweep() -> None:
    """Take up the jobs that were left behind."""
    imports.imports_sweep()
