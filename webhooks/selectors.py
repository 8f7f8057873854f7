"""Reads of the webhooks app."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from healthsvc.kernel import clock
from healthsvc.kernel.errors import not_found
from healthsvc.kernel.principal import TeamContext
from users.closed import of_no_deleted_user
from webhooks import walker
from webhooks.constants import HEADER_WORDS_SENSITIVE
from webhooks.models import Delivery, Endpoint, Event
from webhooks.states import OPEN


@dataclass(frozen=True, slots=True)
class EndpointPage:
    """Endpoints of one page, newest first, and the id that the next page begins after, or None."""

    endpoints: list[Endpoint]
    next_cursor: UUID | None


@dataclass(frozen=True, slots=True)
class HeadersShown:
    """Custom headers that may be shown, and the names of those that may not."""

    headers: Mapping[str, str]
    sensitive: list[str]


def endpoint_get(team: TeamContext, endpoint_id: UUID, *, lock: bool = False) -> Endpoint:
    """An endpoint of the team; 404 otherwise. `lock` holds the row until the transaction ends."""
    endpoints = Endpoint.objects.for_team(team).kept()
    found = (endpoints.select_for_update(no_key=True) if lock else endpoints).filter(pk=endpoint_id).first()
    if found is None:
        raise not_found()
    return found


def endpoint_require_logged(team: TeamContext, endpoint_id: UUID) -> None:
    """404 where the team has no such endpoint, and had none whose log is still there: a deleted one keeps it."""
    if not Endpoint.objects.for_team(team).filter(pk=endpoint_id).exists():
        raise not_found()


def endpoint_page(team: TeamContext, *, cursor: UUID | None, limit: int) -> EndpointPage:
    """One page with the health of each; one query. Ids are ordered by time, so they serve as cursors."""
    endpoints = Endpoint.objects.for_team(team).kept()
    if cursor is not None:
        endpoints = endpoints.filter(pk__lt=cursor)
    rows = list(endpoints.select_related("health").order_by("-id")[: limit + 1])
    return EndpointPage(rows[:limit], rows[limit - 1].id if len(rows) > limit else None)


def event_require(team: TeamContext, event_id: UUID) -> None:
    """404 where the team has no such event, or it is about a deleted person."""
    if not Event.objects.for_team(team).filter(of_no_deleted_user(), pk=event_id).exists():
        raise not_found()


def headers_shown(endpoint: Endpoint) -> HeadersShown:
    """An endpoint's custom headers without the values of those that are secrets by their name or their owner's wish."""
    headers: dict[str, str] = endpoint.headers
    sensitive = [
        name
        for name in headers
        if name.lower() in endpoint.headers_sensitive or any(word in name.lower() for word in HEADER_WORDS_SENSITIVE)
    ]
    return HeadersShown({name: value for name, value in headers.items() if name not in sensitive}, sensitive)


def secrets_signing(endpoint: Endpoint, now: datetime) -> list[str]:
    """The secrets that sign now: the current one, then those whose overlap still runs."""
    before = [item["key"] for item in endpoint.secrets_before if datetime.fromisoformat(item["until"]) > now]
    return [endpoint.secret, *before]


def is_anything_owed(*, events_before: datetime | None = None) -> bool:
    """Whether a delivery is due or its lease ran out, or an event (made before a moment) waits for its fan-out.

    What is owed to an endpoint that asked for a pause is not due before that is over. In the delivery scope.
    """
    waiting = Event.objects.filter(fanned_out_at=None)
    if events_before is not None:
        waiting = waiting.filter(created_at__lt=events_before)
    return waiting.exists() or bool(walker.endpoints_owed(1, clock.now()))


def seconds_until_due(within_seconds: float) -> float | None:
    """How long until the next delivery is due, or its lease runs out; None where that takes longer than asked for.

    What is due already does not count. In the delivery scope.
    """
    now = clock.now()
    soon = Delivery.objects.filter(
        status__in=OPEN, next_attempt_at__gt=now, next_attempt_at__lte=now + timedelta(seconds=within_seconds)
    )
    due_at = soon.order_by("next_attempt_at").values_list("next_attempt_at", flat=True).first()
    return (due_at - now).total_seconds() if due_at is not None else None
