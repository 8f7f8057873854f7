"""Events: written with their change, fanned out to endpoints, sent again, and purged when their time is over."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q, QuerySet

from healthsvc.kernel import clock
from healthsvc.kernel.jobs import enqueue
from healthsvc.kernel.json_io import json_encode
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.rows import team_values
from healthsvc.kernel.scope import SystemScope, system_scope
from healthsvc.kernel.typing import JSONValue
from webhooks import walker
from webhooks.constants import EMIT_CHARACTERS, EMIT_ROWS, FAN_OUT_ROWS, PURGE_ROWS, RETENTION_DAYS
from webhooks.models import Attempt, Delivery, Endpoint, Event
from webhooks.registry import is_registered

_FAN_OUT_TASK: Final = "webhooks.event_fan_out"
_PUMP_TASK: Final = "webhooks.pump_run"


@dataclass(frozen=True, slots=True)
class FanOut:
    """What one batch did."""

    events: int
    deliveries: int


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
    _fan_out_wake()
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
        _fan_out_wake()
    return count


def event_emit_to(endpoint: Endpoint, *, team: TeamContext, event_type: str, data: JSONValue) -> UUID:
    """As `event_emit`, to one endpoint only, whatever it filters."""
    _require_transaction()
    event = _event(team, event_type, data, None, None, endpoint=endpoint)
    event.save(force_insert=True)
    _fan_out_wake()
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


def _fan_out_wake() -> None:
    """One message a transaction, however many events it writes. Rolling back a savepoint takes both back."""
    if not any(_fan_out_enqueue in entry for entry in connection.run_on_commit):
        transaction.on_commit(_fan_out_enqueue)


def _fan_out_enqueue() -> None:
    enqueue(_FAN_OUT_TASK)


def pump_wake() -> None:
    """Ask for a pump once the transaction commits."""
    enqueue(_PUMP_TASK)


def events_fan_out(*, limit: int = FAN_OUT_ROWS) -> FanOut:
    """Make the deliveries of the oldest waiting events. Safe to repeat and to run side by side. In delivery scope."""
    with transaction.atomic():
        waiting = Event.objects.filter(fanned_out_at=None).defer("body").order_by("id")
        events = list(waiting.select_for_update(no_key=True, skip_locked=True)[:limit])
        if not events:
            return FanOut(0, 0)
        now = clock.now()
        endpoints = _endpoints_of(events)
        deliveries = [
            Delivery(
                team_id=event.team_id,
                environment=event.environment,
                event=event,
                endpoint=endpoint,
                next_attempt_at=now,
                created_at=now,
            )
            for event in events
            for endpoint in endpoints.get((event.team_id, event.environment), [])
            if _wants(endpoint, event)
        ]
        Delivery.objects.bulk_create(deliveries, ignore_conflicts=True)
        Event.objects.filter(pk__in=[event.pk for event in events]).update(fanned_out_at=now)
    return FanOut(len(events), len(deliveries))


def _endpoints_of(events: Sequence[Event]) -> dict[tuple[UUID, str], list[Endpoint]]:
    """Living endpoints of the tenants of `events`."""
    tenants = {(event.team_id, event.environment) for event in events}
    condition = Q()
    for team_id, environment in tenants:
        condition |= Q(team_id=team_id, environment=environment)
    found: dict[tuple[UUID, str], list[Endpoint]] = {}
    rows = Endpoint.objects.kept().filter(condition, disabled=False)
    for endpoint in rows.only("id", "team_id", "environment", "filter_types", "channels"):
        found.setdefault((endpoint.team_id, endpoint.environment), []).append(endpoint)
    return found


def _wants(endpoint: Endpoint, event: Event) -> bool:
    if event.endpoint_id is not None:
        return event.endpoint_id == endpoint.id
    if endpoint.channels is not None and not set(endpoint.channels) & set(event.channels):
        return False
    return endpoint.filter_types is None or any(
        event.event_type == wanted or event.event_type.startswith(wanted.removesuffix(".*") + ".")
        for wanted in endpoint.filter_types
    )


def deliveries_resend(*, deliveries: QuerySet[Delivery]) -> int:
    """Send ended deliveries again, under the same message id; how many. In the scope of the team or of staff."""
    with transaction.atomic():
        count = walker.deliveries_resend(deliveries)
        if count:
            pump_wake()
    return count


def events_purge() -> int:
    """Remove events whose time is over, with their deliveries and attempts; how many events."""
    before = clock.now() - timedelta(days=RETENTION_DAYS)
    purged = 0
    with system_scope(SystemScope.PURGE):
        while ids := list(Event.objects.filter(created_at__lt=before).values_list("pk", flat=True)[:PURGE_ROWS]):
            with transaction.atomic():
                Attempt.objects.filter(delivery__event_id__in=ids).delete()
                Delivery.objects.filter(event_id__in=ids).delete()
                Event.objects.filter(pk__in=ids).delete()
            purged += len(ids)
        named = Q(pk__in=Delivery.objects.values("endpoint_id")) | Q(
            pk__in=Event.objects.exclude(endpoint=None).values("endpoint_id")
        )
        Endpoint.objects.filter(deleted_at__lt=before).exclude(named).delete()
    return purged
