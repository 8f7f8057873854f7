"""Events: written with their change, fanned out to endpoints, and sent again."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from uuid import UUID

from django.db import connection, transaction
from django.db.models import QuerySet

from healthsvc.kernel import clock
from healthsvc.kernel.json_io import json_encode
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.rows import team_values
from healthsvc.kernel.typing import JSONValue
from webhooks import walker
from webhooks.constants import EMIT_CHARACTERS, EMIT_ROWS
from webhooks.models import Delivery, Endpoint, Event
from webhooks.registry import is_registered
from webhooks.services.wakes import event_wake, pump_wake


@dataclass(frozen=True, slots=True)
class Emission:
    """One of many events that need not be of one team; `event_emit` says what each is."""

    team: TeamContext
    event_type: str
    data: JSONValue
    user_id: UUID | None
    client_user_id: str | None
    channels: Collection[str] = ()


def event_emit(
    *,
    team: TeamContext,
    event_type: str,
    data: JSONValue,
    user_id: UUID | None,
    client_user_id: str | None,
    channels: Collection[str] = (),
) -> UUID:
    """Owe an event to the team's endpoints, as part of the caller's transaction; the event's id.

    The bytes that are sent are made here, so that every attempt sends the same. Must be called in the scope of the
    team (or of delivery) and inside the transaction of the change that the event tells of: RuntimeError outside one.
    `channels` are what endpoints may choose by besides the type, as `provider.oura`; the user's own is added.
    ValueError for an event that no app registered.
    """
    _require_transaction()
    event = _event(team, event_type, data, user_id, client_user_id, channels)
    event.save(force_insert=True)
    event_wake()
    return event.id


def events_emit(
    *,
    team: TeamContext,
    events: Iterable[tuple[str, JSONValue]],
    user_id: UUID | None,
    client_user_id: str | None,
    channels: Collection[str] = (),
) -> int:
    """As `event_emit`, for many events of one user: (type, data), owed in their order; how many.

    They are taken from `events` as they are written, some hundreds or some megabytes in a statement, so that neither
    the statements nor the memory grow with each event.
    """
    _require_transaction()
    count = 0
    made = (_event(team, event_type, data, user_id, client_user_id, channels) for event_type, data in events)
    for batch in _batches(made):
        Event.objects.bulk_create(batch)
        count += len(batch)
    if count:
        event_wake()
    return count


def events_emit_mixed(emissions: Iterable[Emission]) -> int:
    """As `events_emit`, for events of many users and teams, so in the scope of delivery; how many."""
    _require_transaction()
    count = 0
    made = (
        _event(item.team, item.event_type, item.data, item.user_id, item.client_user_id, item.channels)
        for item in emissions
    )
    for batch in _batches(made):
        Event.objects.bulk_create(batch)
        count += len(batch)
    if count:
        event_wake()
    return count


def event_emit_to(endpoint: Endpoint, *, team: TeamContext, event_type: str, data: JSONValue) -> UUID:
    """As `event_emit`, to one endpoint only, whatever it filters."""
    _require_transaction()
    event = _event(team, event_type, data, None, None, endpoint=endpoint)
    event.save(force_insert=True)
    event_wake()
    return event.id


def _require_transaction() -> None:
    if not connection.in_atomic_block:
        raise RuntimeError("An event is written in the transaction of its change; there is none.")


def _event(
    team: TeamContext,
    event_type: str,
    data: JSONValue,
    user_id: UUID | None,
    client_user_id: str | None,
    channels: Collection[str] = (),
    *,
    endpoint: Endpoint | None = None,
) -> Event:
    """The event, not yet written."""
    if not is_registered(event_type):
        raise ValueError(f"No app has registered the event {event_type}.")
    envelope = {
        "event_type": event_type,
        "data": data,
        "team_id": str(team.team_id),
        "user_id": str(user_id) if user_id else None,
        "client_user_id": client_user_id,
    }
    return Event(
        **team_values(team),
        event_type=event_type,
        channels=[*channels, *([f"user.{user_id}"] if user_id else [])],
        user_id=user_id,
        body=json_encode(envelope).decode(),
        endpoint=endpoint,
        created_at=clock.now(),
    )


def _batches(events: Iterable[Event]) -> Iterator[list[Event]]:
    """Events by the statement, at least one in each."""
    batch: list[Event] = []
    characters = 0
    for event in events:
        batch.append(event)
        characters += len(event.body or "")
        if len(batch) >= EMIT_ROWS or characters >= EMIT_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def deliveries_resend(*, deliveries: QuerySet[Delivery]) -> int:
    """Send ended deliveries again, under the same message id; how many. In the scope of the team or of staff."""
    with transaction.atomic():
        count = walker.deliveries_resend(deliveries)
        if count:
            pump_wake()
    return count
