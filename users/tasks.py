"""Tasks of the users app."""

from uuid import UUID

from celery import shared_task

from users.services import erasure, exports

#: Ten years of many devices take minutes; a worker that hangs is stopped, and the archive is begun anew by another.
_EXPORT_SECONDS = 2 * 3600


@shared_task(name="users.erasures_sweep")
def erasures_sweep() -> None:
    """Hand erasures that are due to workers."""
    erasure.erasures_wake()


@shared_task(name="users.erasure_run")
def erasure_run(erasure_id: str) -> None:
    """Erase a deleted user whose time is over."""
    erasure.erasure_run(erasure_id=UUID(erasure_id))


@shared_task(name=exports.TASK, time_limit=_EXPORT_SECONDS, soft_time_limit=_EXPORT_SECONDS - 60)
def export_run(job_id: str) -> None:
    """Make the archive of a user."""
    exports.export_run(job_id=UUID(job_id))


@shared_task(name="users.exports_sweep")
def exports_sweep() -> None:
    """Take up archives that nobody works on."""
    exports.exports_wake()


@shared_task(name="users.exports_purge")
def exports_purge() -> None:
    """Remove archives whose time is over."""
    exports.exports_purge()
