"""Writes of the webhooks app: what other apps and doors call."""

from webhooks.services.acknowledgements import outcomes_acknowledge
from webhooks.services.endpoints import (
    endpoint_create,
    endpoint_delete,
    endpoint_headers_patch,
    endpoint_headers_put,
    endpoint_patch,
    endpoint_secret_rotate,
)
from webhooks.services.events import event_emit, events_emit
from webhooks.services.fan_out import FanOut, events_fan_out
from webhooks.services.repair_work import repair_run, repairs_sweep
from webhooks.services.repairs import (
    RepairShown,
    delivery_resend,
    event_send_now,
    recover_begin,
    repair_get,
    repairs_recent,
    replay_begin,
)
from webhooks.services.retention import Purged, log_purge
from webhooks.services.wakes import pump_wake

__all__ = [
    "FanOut",
    "Purged",
    "RepairShown",
    "delivery_resend",
    "endpoint_create",
    "endpoint_delete",
    "endpoint_headers_patch",
    "endpoint_headers_put",
    "endpoint_patch",
    "endpoint_secret_rotate",
    "event_emit",
    "event_send_now",
    "events_emit",
    "events_fan_out",
    "log_purge",
    "outcomes_acknowledge",
    "pump_wake",
    "recover_begin",
    "repair_get",
    "repair_run",
    "repairs_recent",
    "repairs_sweep",
    "replay_begin",
]
