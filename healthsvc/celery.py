"""The Celery application, and what beat sends when."""

import os
from typing import Any, Self

from celery import Celery
from celery.app.amqp import AMQP
from celery.signals import beat_init, setup_logging, worker_init, worker_ready
from django.conf import settings
from kombu import Connection

from healthsvc.checks import refuse_unsafe_start

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "healthsvc.settings")

#: Seconds after which an unacknowledged message is handed out again.
VISIBILITY_TIMEOUT_SECONDS = 120
#: Between two looks of a worker or beat whether the broker is back: by default they grow to half a minute.
BROKER_RETRY_SECONDS = 2
#: A broker that accepts and says nothing holds up a sender for so long, and a worker that waits for messages so long.
SEND_TIMEOUT_SECONDS = 1
READ_TIMEOUT_SECONDS = 10


class ServiceConnection(Connection):
    """A connection that is tried again every BROKER_RETRY_SECONDS, so that work goes on soon after a long outage."""

    def ensure_connection(self, *args: Any, **options: Any) -> Self:
        """Connect, however often it takes."""
        steps = {"interval_start": BROKER_RETRY_SECONDS, "interval_step": 0, "interval_max": BROKER_RETRY_SECONDS}
        return super().ensure_connection(*args, **{**steps, **options})


class ServiceAMQP(AMQP):
    """Makes such connections."""

    Connection = ServiceConnection


class ServiceCelery(Celery):
    """Sends with less patience than it receives: the database remembers what is owed, and a request waits."""

    def connection_for_write(self, url: str | None = None, **options: Any) -> Connection:
        """A connection to send through."""
        given = options.pop("transport_options", None) or {}
        patience = {"socket_timeout": SEND_TIMEOUT_SECONDS} if settings.REDIS_URL else {}
        return super().connection_for_write(url, transport_options={**patience, **given}, **options)


app = ServiceCelery("healthsvc", task_cls="healthsvc.kernel.jobs:ServiceTask", amqp=ServiceAMQP)


def _broker() -> dict[str, object]:
    if not settings.REDIS_URL:
        folder = str(settings.BROKER_DIR)
        settings.BROKER_DIR.mkdir(parents=True, exist_ok=True)
        return {
            "broker_url": "filesystem://",
            "broker_transport_options": {"data_folder_in": folder, "data_folder_out": folder},
        }
    url = settings.REDIS_URL
    if url.startswith("unix://"):
        url = "redis+socket://" + url.removeprefix("unix://").replace("?db=", "?virtual_host=")
    return {
        "broker_url": url,
        "broker_transport_options": {
            "visibility_timeout": VISIBILITY_TIMEOUT_SECONDS,
            "unacked_restore_throttle": 1,
            "socket_connect_timeout": 1,
            # A sender gives up at once: the database remembers what is owed.
            "max_retries": 1,
            "interval_start": 0,
            "interval_step": 0.1,
            "interval_max": 0.1,
            "socket_timeout": READ_TIMEOUT_SECONDS,
        },
    }


app.conf.update(
    **_broker(),
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_ignore_result=True,
    task_store_errors_even_if_ignored=False,
    task_time_limit=600,
    task_soft_time_limit=570,
    worker_prefetch_multiplier=1,
    worker_soft_shutdown_timeout=20,
    worker_hijack_root_logger=False,
    # What runs goes on while the broker is away: its message comes again, as it does after the visibility timeout.
    # Stopped, a pump would leave what it has in flight to its lease, a minute, and to be sent twice.
    worker_cancel_long_running_tasks_on_connection_loss=False,
    task_serializer="json",
    accept_content=["json"],
    timezone="UTC",
    enable_utc=True,
    # Imports, repairs and purges run for minutes; a worker of their own takes them, so that nothing else ever waits.
    task_routes={
        name: {"queue": "imports"}
        for name in (
            "aggregation.apple_health_import",
            "management.teams_erase_due",
            "users.export_run",
            "webhooks.repair_run",
            "webhooks.purge",
        )
    },
    beat_schedule={
        name: {"task": task, "schedule": seconds, "options": {"expires": seconds}}
        for name, task, seconds in (
            ("worker_seen", "management.worker_seen", 10.0),
            ("idempotency_purge", "management.idempotency_purge", 3600.0),
            ("access_tokens_purge", "management.access_tokens_purge", 3600.0),
            ("teams_erase_due", "management.teams_erase_due", 60.0),
            ("files_sweep", "management.files_sweep", 3600.0),
            ("trail_seal", "management.trail_seal", 300.0),
            ("trail_months", "management.trail_months", 6 * 3600.0),
            ("users_erasures_sweep", "users.erasures_sweep", 60.0),
            ("users_exports_sweep", "users.exports_sweep", 10.0),
            ("users_exports_purge", "users.exports_purge", 600.0),
            ("webhooks_sweep", "webhooks.sweep", 5.0),
            ("webhooks_letters_send", "webhooks.letters_send", 60.0),
            ("webhooks_repairs_sweep", "webhooks.repairs_sweep", 10.0),
            ("webhooks_purge", "webhooks.purge", 600.0),
            ("aggregation_jobs_sweep", "aggregation.jobs_sweep", 10.0),
            ("aggregation_tails_fold", "aggregation.tails_fold", 60.0),
            ("aggregation_pushes_purge", "aggregation.pushes_purge", 3600.0),
            ("links_hooks_reconcile", "links.hooks_reconcile", 300.0),
            ("links_pulls_schedule_due", "links.pulls_schedule_due", 60.0),
            ("links_pulls_sweep", "links.pulls_sweep", 30.0),
            ("links_bulk_ops_sweep", "links.bulk_ops_sweep", 30.0),
            ("links_demos_end", "links.demos_end", 600.0),
            ("links_revocations_sweep", "links.revocations_sweep", 30.0),
            ("links_tokens_purge", "links.tokens_purge", 3600.0),
            ("links_vendors_purge", "links.vendors_purge", 3600.0),
        )
    },
)
app.autodiscover_tasks()


@setup_logging.connect
def _keep_our_logging(**_ignored: object) -> None:
    """Celery would replace the root logger's handlers; Django's LOGGING stands."""


@worker_init.connect
@beat_init.connect
def _refuse_unsafe_start(**_ignored: object) -> None:
    """Workers and beat start under the same checks as the web processes."""
    refuse_unsafe_start()


@worker_ready.connect
def _say_hello(**_ignored: object) -> None:
    """A worker that has just started is seen at once, not at beat's next turn."""
    app.send_task("management.worker_seen", ignore_result=True)
