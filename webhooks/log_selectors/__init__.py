"""Reads of the log: messages, attempts and figures of a team's endpoints, for the API, the portal and the admin."""

from webhooks.log_selectors.attempts import (
    AttemptFilters,
    AttemptOutcome,
    AttemptPage,
    AttemptShown,
    attempt_get,
    attempt_page,
)
from webhooks.log_selectors.figures import (
    EndpointStats,
    EndpointStatus,
    Interval,
    TallyPoint,
    endpoint_stats,
    endpoint_status,
    status_condition,
    tally_series,
    tally_series_by_endpoint,
)
from webhooks.log_selectors.messages import (
    DeliveryCounts,
    DeliveryShown,
    MessageFilters,
    MessageOutcome,
    MessagePage,
    MessageRow,
    MessageShown,
    message_get,
    message_page,
)

__all__ = [
    "AttemptFilters",
    "AttemptOutcome",
    "AttemptPage",
    "AttemptShown",
    "DeliveryCounts",
    "DeliveryShown",
    "EndpointStats",
    "EndpointStatus",
    "Interval",
    "MessageFilters",
    "MessageOutcome",
    "MessagePage",
    "MessageRow",
    "MessageShown",
    "TallyPoint",
    "attempt_get",
    "attempt_page",
    "endpoint_stats",
    "endpoint_status",
    "message_get",
    "message_page",
    "status_condition",
    "tally_series",
    "tally_series_by_endpoint",
]
