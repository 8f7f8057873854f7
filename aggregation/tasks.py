"""Background tasks of the aggregation app."""

import time
from uuid import UUID

from celery import shared_task

from aggregation import imports, services
from aggregation.push.services import pushes_purge as receipts_remove

#: A ten-year export takes minutes; a worker that hangs is stopped, and the job is taken up by another.
_IMPORT_SECONDS = 6 * 3600
#: Series whose tails are folded in before it is looked anew who is next, and after how long a run leaves the rest to
#: the next one.
_FOLD_SERIES = 200
_FOLD_SECONDS = 50


@shared_task(name=imports.TASK, time_limit=_IMPORT_SECONDS, soft_time_limit=_IMPORT_SECONDS - 60)
def apple_health_import(job_id: str) -> None:
    """Work one import."""
    imports.import_run(job_id=UUID(job_id))


@shared_task(name="aggregation.jobs_sweep")
def jobs_sweep() -> None:
    """Take up the jobs that were left behind."""
    imports.imports_sweep()


@shared_task(name="aggregation.pushes_purge")
def pushes_purge() -> None:
    """Remove receipts of pushes whose time is over."""
    receipts_remove()


@shared_task(name="aggregation.tails_fold")
def tails_fold() -> None:
    """Fold the tails of series that have gone quiet into their blocks."""
    until = time.monotonic() + _FOLD_SECONDS
    # What is due and was not folded has nothing to fold any more, or belongs to a person on the way out.
    while services.tails_fold_due(limit=_FOLD_SERIES) and time.monotonic() < until:
        pass
