"""Tasks of the webhooks app. Their messages carry nothing but ids: the database says what is owed."""

from datetime import timedelta
from uuid import UUID

from celery import shared_task

from healthsvc.kernel import clock
from healthsvc.kernel.scope import SystemScope, system_scope
from webhooks import pump, selectors, services
from webhooks.constants import PUMP_LINGER_SECONDS, PUMP_TASK, REPAIR_SECONDS, REPAIR_TASK, SWEEP_EVENT_AGE_SECONDS
from webhooks.services import notices


@shared_task(name=PUMP_TASK)
def pump_run() -> None:
    """Fan out and deliver what is owed, unless as many pumps as there may be run already."""
    pump.pump_run_alone(pump.PumpOptions(linger_seconds=PUMP_LINGER_SECONDS))


@shared_task(name="webhooks.sweep")
def sweep() -> None:
    """Wake a pump for what a lost message or a dead worker left: it fans out, and claims what has no living lease."""
    with system_scope(SystemScope.DELIVERY):
        if selectors.is_anything_owed(events_before=clock.now() - timedelta(seconds=SWEEP_EVENT_AGE_SECONDS)):
            services.pump_wake()


@shared_task(name="webhooks.letters_send")
def letters_send() -> None:
    """Write to those who are owed a letter about a disabled endpoint, and try again what a mail server did not take."""
    notices.letters_send_due()


@shared_task(name="webhooks.purge")
def purge() -> None:
    """Remove what is older than the log is kept."""
    services.log_purge()


@shared_task(name=REPAIR_TASK, time_limit=REPAIR_SECONDS, soft_time_limit=REPAIR_SECONDS - 30)
def repair_run(job_id: str) -> None:
    """Work one recovery or replay."""
    services.repair_run(job_id=UUID(job_id))


@shared_task(name="webhooks.repairs_sweep")
def repairs_sweep() -> None:
    """Take up the repairs that were left behind."""
    services.repairs_sweep()
