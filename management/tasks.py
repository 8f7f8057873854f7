"""Tasks of the management app."""

from celery import shared_task

from healthsvc.kernel import clock
from healthsvc.kernel.scope import SystemScope, system_scope
from management.models import IdempotentReply, WorkerSighting


@shared_task(name="management.worker_seen")
def worker_seen() -> None:
    """Note that a worker is alive; `/readyz` reads it."""
    WorkerSighting.objects.update_or_create(name="default", defaults={"seen_at": clock.now()})


@shared_task(name="management.idempotency_purge")
def idempotency_purge() -> None:
    """Remove kept replies whose time is over."""
    with system_scope(SystemScope.PURGE):
        IdempotentReply.objects.filter(expires_at__lt=clock.now()).delete()
