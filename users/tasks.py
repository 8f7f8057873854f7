"""Tasks of the users app."""

from uuid import UUID

from celery import shared_task

from users.services import erasure


@shared_task(name="users.erasures_sweep")
def erasures_sweep() -> None:
    """Hand erasures that are due to workers."""
    erasure.erasures_wake()


@shared_task(name="users.erasure_run")
def erasure_run(erasure_id: str) -> None:
    """Erase a deleted user whose time is over."""
    erasure.erasure_run(erasure_id=UUID(erasure_id))
