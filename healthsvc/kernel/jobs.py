"""Work for later: tasks are enqueued by name, after commit, with ids only.

The database remembers what is owed; a message is only a wake-up. So a broker that can't be reached never fails a
request: the line is logged and the periodic sweep of the owning app finds the work.
"""

import time
from functools import lru_cache, partial
from typing import Any
from uuid import UUID

import structlog
from celery import Celery, Task
from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.db import transaction
from django.utils.module_loading import import_string
from kombu.exceptions import OperationalError

from healthsvc.kernel.errors import is_outage

log = structlog.get_logger(__name__)

#: After the broker could not be reached, wake-ups are left to the sweeps for so long.
AWAY_SECONDS = 2.0


def enqueue(task_name: str, **ids: UUID | int | str) -> None:
    """Send `task_name` once the current transaction commits. `ids` must be identifiers, never health data."""
    message = {name: str(value) if isinstance(value, UUID) else value for name, value in ids.items()}
    transaction.on_commit(partial(broker.send, task_name, message))


def is_interruption(error: BaseException) -> bool:
    """Whether work was stopped rather than failed: the worker's time is over, or the database is away."""
    return isinstance(error, SoftTimeLimitExceeded) or is_outage(error)


class _Broker:
    """Sends wake-ups; after a failure it lets a moment pass, so that an outage slows nobody down twice."""

    def __init__(self) -> None:
        self.away_until = 0.0

    def send(self, task_name: str, message: dict[str, str | int]) -> bool:
        """Send, or log that the broker is away; whether it was sent."""
        if time.monotonic() < self.away_until:
            return False
        try:
            _app().send_task(task_name, kwargs=message, retry=False)
        except (OperationalError, OSError) as error:
            self.away_until = time.monotonic() + AWAY_SECONDS
            log.warning("broker_unreachable", task=task_name, error=type(error).__name__)
            return False
        return True


@lru_cache(maxsize=1)
def _app() -> Celery:
    """The application that settings name: the web process has not imported it for any other reason."""
    app: Celery = import_string(settings.CELERY_APP)
    return app


broker = _Broker()


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
