"""Tasks of the webhooks app. Their messages carry nothing: the database says what is owed."""

from datetime import timedelta

from celery import shared_task

from healthsvc.kernel import clock
from healthsvc.kernel.scope import SystemScope, system_scope
from webhooks import pump, selectors, services
from webhooks.constants import FAN_OUT_ROWS, SWEEP_EVENT_AGE_SECONDS


@shared_task(name="webhooks.event_fan_out")
def event_fan_out() -> None:
    """Make the deliveries of every waiting event, and wake a pump if there are any."""
    with system_scope(SystemScope.DELIVERY):
        while True:
            done = services.events_fan_out()
            if done.deliveries:
                services.pump_wake()
            if done.events < FAN_OUT_ROWS:
                return


@shared_task(name="webhooks.pump_run")
def pump_run() -> None:
    """Deliver what is owed, unless another worker does."""
    pump.pump_run_alone()


@shared_task(name="webhooks.sweep")
def sweep() -> None:
    """Wake a pump for what a lost message or a dead worker left: it fans out, and claims what has no living lease."""
    with system_scope(SystemScope.DELIVERY):
        if selectors.is_anything_owed(events_before=clock.now() - timedelta(seconds=SWEEP_EVENT_AGE_SECONDS)):
            services.pump_wake()


@shared_task(name="webhooks.purge")
def purge() -> None:
    """Remove events, deliveries and attempts whose time is over."""
    services.events_purge()
