"""How an endpoint stands, in words for people."""

from dataclasses import dataclass
from datetime import datetime

from webhooks.constants import DISABLED_GONE
from webhooks.log_selectors import EndpointStats, EndpointStatus, endpoint_status
from webhooks.models import Endpoint, EndpointHealth
from webhooks.portal.wording import count_text


@dataclass(frozen=True, slots=True)
class Standing:
    """A badge (`mark` is its class), since or until when, and what to do about it; `advice` empty for nothing."""

    mark: str
    badge: str
    at: datetime | None = None
    at_words: str = ""
    advice: str = ""


def arrives_nothing(*, delivered: int, failed: int) -> bool:
    """Whether all that was tried in the last 24 hours failed."""
    return failed > 0 and delivered == 0


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a message waits for, and the moment that the words lead up to; None where there is none."""

    words: str
    at: datetime | None = None


def waiting_of(endpoint: Endpoint | None, due_at: datetime | None, now: datetime) -> Waiting:
    """What a message that is due at a moment waits for at its endpoint, whose health was fetched with it."""
    health: EndpointHealth | None = getattr(endpoint, "health", None)
    paused_until = health.paused_until if health is not None else None
    if paused_until is not None and paused_until > max(now, due_at or now):
        return Waiting("Held: the endpoint asked for a pause until", paused_until)
    if due_at is not None and due_at > now:
        return Waiting("Next attempt", due_at)
    if endpoint is None or health is None:
        return Waiting("Due now.")
    if health.struggling_since is not None:
        return Waiting("Held: the endpoint struggles, so few requests are made to it at once.")
    if endpoint.rate_limit is not None and health.rate_free_at is not None and health.rate_free_at > now:
        return Waiting(f"Held: the endpoint is sent at most {endpoint.rate_limit} a second, and others come first.")
    return Waiting("Due now.")


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
    if status is EndpointStatus.STRUGGLING and health is not None:
        return Standing(
            "warn",
            "Struggling",
            health.struggling_since,
            "since",
            "It lets requests hang, so few are made at once until one succeeds.",
        )
    if arrives_nothing(delivered=stats.delivered, failed=stats.failed):
        tried = "The one attempt" if stats.failed == 1 else f"All {count_text(stats.failed)} attempts"
        return Standing(
            "warn", "Nothing arrives", advice=f"{tried} of the last 24 hours failed. The last attempts say why."
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
