"""Events: written with their change."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from uuid import UUID

from django.db import connection

from healthsvc.kernel import clock
from healthsvc.kernel.json_io import json_encode
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.rows import team_values
from healthsvc.kernel.typing import JSONValue
from webhooks.constants import CHANNEL_USER_PREFIX, EMIT_CHARACTERS, EMIT_ROWS
from webhooks.models import Endpoint, Event
from webhooks.registry import EXAMPLE_CLIENT_USER_ID, is_registered
from webhooks.services.wakes import event_wake


@dataclass(frozen=True, slots=True)
class Emission:
    """One of many events that need not be of one team; `event_emit` says what each is."""

    team: TeamContext
    event_type: str
    data: JSONValue
    user_id: UUID | None
    client_user_id: str | None
    channels: Collection[str] = ()
    #: The one endpoint that is sent it, whatever it filters; None: those that want it.
    endpoint_id: UUID | None = None


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
    return _written(Emission(team, event_type, data, user_id, client_user_id, channels))


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
    return events_emit_mixed(
        Emission(team, event_type, data, user_id, client_user_id, channels) for event_type, data in events
    )


def events_emit_mixed(emissions: Iterable[Emission]) -> int:
    """As `events_emit`, for events of many users and teams, so in the scope of delivery; how many."""
    _require_transaction()
    count = 0
    for batch in _batches(map(_event, emissions)):
        Event.objects.bulk_create(batch)
        count += len(batch)
    if count:
        event_wake()
    return count


def event_emit_to(
    endpoint: Endpoint, *, team: TeamContext, event_type: str, data: JSONValue, is_example: bool = False
) -> UUID:
    """As `event_emit`, to one endpoint only, whatever it filters. The event is of no user.

    With `is_example` the envelope names the user that the data name, who is nobody of the team's.
    """
    example_user = data.get("user_id") if is_example and isinstance(data, dict) else None
    client_user_id = EXAMPLE_CLIENT_USER_ID if example_user else None
    emission = Emission(team, event_type, data, None, client_user_id, endpoint_id=endpoint.pk)
    return _written(emission, example_user=example_user)


def _require_transaction() -> None:
    if not connection.in_atomic_block:
        raise RuntimeError("An event is written in the transaction of its change; there is none.")


def _written(emission: Emission, *, example_user: JSONValue = None) -> UUID:
    """Write one event; its id."""
    _require_transaction()
    event = _event(emission, example_user)
    event.save(force_insert=True)
    event_wake()
    return event.id


def _event(emission: Emission, example_user: JSONValue = None) -> Event:
    """The event, not yet written. An example's envelope names a user whose event it is not."""
    if not is_registered(emission.event_type):
        raise ValueError(f"No app has registered the event {emission.event_type}.")
    user_id = emission.user_id
    envelope = {
        "event_type": emission.event_type,
        "data": emission.data,
        "team_id": str(emission.team.team_id),
        "user_id": str(user_id) if user_id else example_user,
        "client_user_id": emission.client_user_id,
    }
    return Event(
        **team_values(emission.team),
        event_type=emission.event_type,
        channels=[*emission.channels, *([f"{CHANNEL_USER_PREFIX}{user_id}"] if user_id else [])],
        user_id=user_id,
        body=json_encode(envelope).decode(),
        endpoint_id=emission.endpoint_id,
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
