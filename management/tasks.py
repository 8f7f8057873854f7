"""Tasks of the management app."""

import structlog
from celery import shared_task

from healthsvc.kernel import clock
from healthsvc.kernel.scope import SystemScope, system_scope
from management import files, services, trail_partitions, trail_sealing
from management.models import IdempotentReply, OrganisationReply, WorkerSighting

log = structlog.get_logger(__name__)


@shared_task(name="management.worker_seen")
def worker_seen() -> None:
    """Note that a worker is alive; `/readyz` reads it."""
    WorkerSighting.objects.update_or_create(name="default", defaults={"seen_at": clock.now()})


@shared_task(name="management.idempotency_purge")
def idempotency_purge() -> None:
    """Remove kept replies whose time is over."""
    with system_scope(SystemScope.PURGE):
        IdempotentReply.objects.filter(expires_at__lt=clock.now()).delete()
    OrganisationReply.objects.filter(expires_at__lt=clock.now()).delete()


@shared_task(name="management.access_tokens_purge")
def access_tokens_purge() -> None:
    """Remove access tokens that are over."""
    services.access_tokens_purge()


@shared_task(name="management.teams_erase_due")
def teams_erase_due() -> None:
    """Erase what is left of deleted teams whose grace period is over, some at a time."""
    erased = services.teams_erase_due()
    if erased:
        log.info("teams_erased", count=erased)


@shared_task(name="management.trail_seal")
def trail_seal() -> None:
    """Seal what was written to the audit trail."""
    trail_sealing.trail_seal()


@shared_task(name="management.trail_months")
def trail_months() -> None:
    """Make the audit trail's months ahead, and drop those whose time is over."""
    made, dropped = trail_partitions.months_ensure(), trail_partitions.months_drop()
    if made or dropped:
        log.info("audit_months", made=made, dropped=dropped)


@shared_task(name="management.files_sweep")
def files_sweep() -> None:
    """Remove stored files that no row names."""
    removed = files.files_sweep()
    if removed:
        log.warning("files_without_rows_removed", count=removed)
