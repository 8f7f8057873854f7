"""How an endpoint stands, in words for people."""

from dataclasses import dataclass
from datetime import datetime

from webhooks.constants import DISABLED_GONE
from webhooks.log_selectors import EndpointStats, EndpointStatus, endpoint_status
from webhooks.models import Endpoint


@dataclass(frozen=True, slots=True)
class Standing:
    """A badge (`mark` is its class), since or until when, and what to do about it; `advice` empty for nothing."""

    mark: str
    badge: str
    at: datetime | None = None
    at_words: str = ""
    advice: str = ""


def standing_of(endpoint: Endpoint, stats: EndpointStats, now: datetime) -> Standing:
    """The badge of an endpoint."""
    health = stats.health
    status = endpoint_status(endpoint, health, now)
    if status is EndpointStatus.DISABLED:
        return _disabled(endpoint)
    if status is EndpointStatus.FAILING and health is not None:
        return Standing(
            "bad",
            "Failing",
            health.failing_since,
            "since",
            "Every attempt since then has failed. After five days of it the endpoint is disabled.",
        )
    if status is EndpointStatus.PAUSED and health is not None:
        return Standing("warn", "Paused", health.paused_until, "until", "It asked for a pause in its last answer.")
    if health is not None and health.struggling_since is not None:
        return Standing(
            "warn",
            "Struggling",
            health.struggling_since,
            "since",
            "It lets requests hang, so few are made at once until one succeeds.",
        )
    return Standing("good", "Enabled")


def _disabled(endpoint: Endpoint) -> Standing:
    if not endpoint.disabled_reason:
        return Standing("", "Disabled by you", endpoint.disabled_at, "since", "Nothing is sent to it.")
    if endpoint.disabled_reason == DISABLED_GONE:
        why = "It answered 410 Gone, which says that nothing is to be sent there any more."
    else:
        why = "Every attempt had failed for days."
    return Standing("bad", "Disabled", endpoint.disabled_at, "since", f"{why} Enable it once it answers again.")
