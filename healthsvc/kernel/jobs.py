"""Work for later: tasks are enqueued by name, after commit, with ids only.

The database remembers what is owed; a message is only a wake-up. So a broker that can't be reached never fails a
request: the line is logged and the periodic sweep of the owning app finds the work.
"""

from functools import partial
from typing import Any
from uuid import UUID

import structlog
from celery import Task, current_app
from django.db import transaction
from kombu.exceptions import OperationalError

log = structlog.get_logger(__name__)


def enqueue(task_name: str, **ids: UUID | int | str) -> None:
    """Send `task_name` once the current transaction commits. `ids` must be identifiers, never health data."""
    message = {name: str(value) if isinstance(value, UUID) else value for name, value in ids.items()}
    transaction.on_commit(partial(_send, task_name, message))


def _send(task_name: str, message: dict[str, str | int]) -> None:
    try:
        current_app.send_task(task_name, kwargs=message, retry=False)
    except (OperationalError, OSError) as error:
        log.warning("broker_unreachable", task=task_name, error=type(error).__name__)


class ServiceTask(Task):  # type: ignore[type-arg]
    """The base of every task: acknowledged when done, and its failure is told without its arguments."""

    acks_late = True
    ignore_result = True
    abstract = True

    def on_failure(self, exc: Exception, task_id: str, *_rest: Any) -> None:
        """Say which task failed, of what and where; the sweep of the owning app tries again."""
        log.error("task_failed", task=self.name, task_id=task_id, exc_info=exc)

    def on_retry(self, exc: Exception, task_id: str, *_rest: Any) -> None:
        """Say which task will run again, and why."""
        log.warning("task_retried", task=self.name, task_id=task_id, error=type(exc).__name__)
