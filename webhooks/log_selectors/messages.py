"""Messages: what happened, and how far it is on its way to each endpoint."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

import orjson
from django.db.models import Count, Exists, OuterRef, Q

from healthsvc.kernel.errors import not_found
from healthsvc.kernel.ids import uuid_floor, uuid_parse
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.rows import TeamQuerySet
from healthsvc.kernel.typing import JSONObject
from users.closed import of_no_deleted_user
from webhooks.constants import CHANNEL_USER_PREFIX, LOG_TYPE_BRANCHES
from webhooks.filters import names_type
from webhooks.log_selectors.paging import id_page
from webhooks.models import Delivery, Event
from webhooks.registry import event_types
from webhooks.states import OPEN, DeliveryStatus


class MessageOutcome(StrEnum):
    """What became of a message at the endpoints that it was owed to; more than one may be so."""

    DELIVERED = "delivered"  # to all of them
    WAITING = "waiting"  # for one at least, as each of the following
    FAILED = "failed"
    CANCELLED = "cancelled"
    NONE = "none"  # it was owed to no endpoint


@dataclass(frozen=True, slots=True)
class MessageFilters:
    """What to list; None: whatever. `after` and `before` bound when it happened, the first including its moment."""

    message_id: UUID | None = None
    event_type: str | None = None
    user_id: UUID | None = None
    channel: str | None = None
    outcome: MessageOutcome | None = None
    after: datetime | None = None
    before: datetime | None = None


@dataclass(frozen=True, slots=True)
class DeliveryCounts:
    """To how many endpoints a message was delivered, is still owed, was given up or was cancelled."""

    delivered: int = 0
    waiting: int = 0
    failed: int = 0
    cancelled: int = 0


@dataclass(frozen=True, slots=True)
class MessageRow:
    """A line of the log. `endpoint_id` is set where the message was for one endpoint only."""

    id: UUID
    message_id: str
    event_type: str
    user_id: UUID | None
    channels: tuple[str, ...]
    endpoint_id: UUID | None
    created_at: datetime
    is_payload_kept: bool
    counts: DeliveryCounts


@dataclass(frozen=True, slots=True)
class MessagePage:
    """Messages of one page, newest first. A page may hold few or none and still have a next one."""

    messages: list[MessageRow]
    next_cursor: UUID | None


@dataclass(frozen=True, slots=True)
class DeliveryShown:
    """A message's way to one endpoint. `attempts` counts the requests made."""

    id: UUID
    endpoint_id: UUID
    url: str
    status: DeliveryStatus
    next_attempt_at: datetime | None
    attempts: int
    created_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class MessageShown:
    """A message, its payload (None once it was erased or its time is over), and its way to each endpoint."""

    message: MessageRow
    payload: JSONObject | None
    deliveries: list[DeliveryShown]


_COUNTED: Final = {
    DeliveryStatus.DELIVERED: "delivered",
    DeliveryStatus.FAILED: "failed",
    DeliveryStatus.CANCELLED: "cancelled",
    **dict.fromkeys(OPEN, "waiting"),
}


def message_page(
    team: TeamContext, *, cursor: UUID | None, limit: int, filters: MessageFilters = MessageFilters()
) -> MessagePage:
    """One page of the team's messages; three or four queries, whatever is asked for. Twice that where some that would
    be on it are about deleted people.
    """
    branches, also = _branches(team, filters)
    page = id_page(branches, also=also, cursor=cursor, limit=limit)
    rows = _rows(team, page.ids)
    if len(rows) < len(page.ids):
        page = id_page(branches, also=of_no_deleted_user() & (also or Q()), cursor=cursor, limit=limit)
        rows = _rows(team, page.ids)
    return MessagePage(rows, page.next_cursor)


def message_get(team: TeamContext, message_id: UUID) -> MessageShown:
    """A message with its payload; 404 where the team has none of this id, or it is about a deleted person. Whoever
    shows it writes who has seen it.
    """
    rows = _rows(team, [message_id])
    if not rows:
        raise not_found()
    body = Event.objects.for_team(team).values_list("body", flat=True).get(pk=message_id)
    deliveries = (
        Delivery.objects.for_team(team)
        .filter(event_id=message_id)
        .annotate(attempts_made=Count("attempts"))
        .order_by("id")
        .values_list(
            "id", "endpoint_id", "endpoint__url", "status", "next_attempt_at", "attempts_made", "created_at", "ended_at"
        )
    )
    shown = [
        DeliveryShown(delivery_id, endpoint_id, url, DeliveryStatus(status), due_at, attempts, created_at, ended_at)
        for delivery_id, endpoint_id, url, status, due_at, attempts, created_at, ended_at in deliveries
    ]
    return MessageShown(rows[0], orjson.loads(body) if body else None, shown)


def _rows(team: TeamContext, ids: Collection[UUID]) -> list[MessageRow]:
    """Lines of messages, newest first, without those about deleted people; two queries."""
    events = Event.objects.for_team(team).filter(of_no_deleted_user(), pk__in=ids).order_by("-id")
    lines = events.annotate(is_kept=Q(body__isnull=False)).values_list(
        "id", "event_type", "user_id", "channels", "endpoint_id", "created_at", "is_kept"
    )
    counts: dict[UUID, dict[str, int]] = {}
    statuses = Delivery.objects.for_team(team).filter(event_id__in=ids).order_by().values_list("event_id", "status")
    for event_id, status, count in statuses.annotate(Count("id")):
        counted = counts.setdefault(event_id, {})
        name = _COUNTED[DeliveryStatus(status)]
        counted[name] = counted.get(name, 0) + count
    return [
        MessageRow(
            event_id, f"msg_{event_id}", event_type, user_id, tuple(channels), endpoint_id, created_at, is_kept,
            DeliveryCounts(**counts.get(event_id, {})),
        )
        for event_id, event_type, user_id, channels, endpoint_id, created_at, is_kept in lines
    ]  # fmt: skip


def _branches(team: TeamContext, filters: MessageFilters) -> tuple[list[TeamQuerySet[Event]], Q | None]:
    """What indexes find, and what is left to look at: by user first, then by type, then by time alone."""
    events = Event.objects.for_team(team)
    if filters.message_id is not None:
        events = events.filter(pk=filters.message_id)
    if filters.after is not None:
        events = events.filter(pk__gte=uuid_floor(filters.after))
    if filters.before is not None:
        events = events.filter(pk__lt=uuid_floor(filters.before))
    user_id, channel = filters.user_id, filters.channel
    if channel is not None and user_id is None:
        # Every event of a user has the user's channel, and no other has it.
        user_id = _channel_user(channel)
        channel = None if user_id else channel
    also = Q() if filters.outcome is None else _came_to(team, filters.outcome)
    if channel is not None:
        also &= Q(channels__contains=[channel])
    types = _types_named(filters.event_type)
    if user_id is not None:
        branches = [events.filter(user_id=user_id)]
    elif types and len(types) <= LOG_TYPE_BRANCHES and channel is None:
        return [events.filter(event_type=name) for name in types], also or None
    else:
        branches = [events]
    if types is not None:
        also &= Q(event_type__in=types)
    return branches, also or None


def _came_to(team: TeamContext, outcome: MessageOutcome) -> Q:
    """A message that came to this; each is looked up by the index of its deliveries."""
    ways = Delivery.objects.for_team(team).filter(event_id=OuterRef("pk"))
    if outcome is MessageOutcome.NONE:
        return ~Q(Exists(ways))
    statuses = [status for status, name in _COUNTED.items() if name == outcome]
    found = Q(Exists(ways.filter(status__in=statuses)))
    if outcome is MessageOutcome.DELIVERED:
        found &= ~Q(Exists(ways.exclude(status__in=statuses)))
    return found


def _channel_user(channel: str) -> UUID | None:
    return uuid_parse(channel.removeprefix(CHANNEL_USER_PREFIX)) if channel.startswith(CHANNEL_USER_PREFIX) else None


def _types_named(wanted: str | None) -> list[str] | None:
    """The event types that a whole one or the first words of some stand for; None for all."""
    if wanted is None:
        return None
    return sorted({wanted, *(name for name in event_types() if names_type(wanted, name))})
