"""Writes of the webhooks app: what other apps and doors call."""

from webhooks.services.endpoints import (
    endpoint_create,
    endpoint_delete,
    endpoint_headers_put,
    endpoint_patch,
    endpoint_secret_rotate,
    endpoint_test,
    endpoints_disable_gone,
    endpoints_lock,
)
from webhooks.services.events import (
    FanOut,
    deliveries_resend,
    event_emit,
    events_emit,
    events_fan_out,
    events_purge,
    pump_wake,
)

__all__ = [
    "FanOut",
    "deliveries_resend",
    "endpoint_create",
    "endpoint_delete",
    "endpoint_headers_put",
    "endpoint_patch",
    "endpoint_secret_rotate",
    "endpoint_test",
    "endpoints_disable_gone",
    "endpoints_lock",
    "event_emit",
    "events_emit",
    "events_fan_out",
    "events_purge",
    "pump_wake",
]
