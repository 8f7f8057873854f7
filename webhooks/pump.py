"""Delivers what is owed: fans out, claims by lease, sends many at once, acknowledges in batches.

The database alone says what is owed, so a pump may die at any moment: what it had claimed and not acknowledged is
claimed again once its lease runs out, and arrives a second time under the same id. Any number may run side by side.
"""

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

import orjson
import structlog
from django.db import InterfaceError, OperationalError, connection, transaction

from healthsvc.kernel import clock
from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.scope import SystemScope, system_scope
from healthsvc.kernel.typing import JSONObject
from webhooks import constants, selectors, services, walker
from webhooks.events import MESSAGE_ATTEMPT_EXHAUSTED
from webhooks.models import Attempt, Delivery, Event
from webhooks.records import Acknowledgement, Claim, Outcome, Outgoing
from webhooks.retries import acknowledgement_of
from webhooks.sender import Sender
from webhooks.signatures import secret_key
from webhooks.states import DeliveryCommand

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class PumpOptions:
    """How a pump runs. The lease must be longer than the timeout."""

    timeout_seconds: float = constants.TIMEOUT_SECONDS
    lease_seconds: float = constants.LEASE_SECONDS
    idle_seconds: float = constants.PUMP_IDLE_SECONDS
    run_seconds: float = constants.PUMP_RUN_SECONDS
    in_flight: int = constants.IN_FLIGHT_MAXIMUM
    in_flight_endpoint: int = constants.IN_FLIGHT_ENDPOINT_MAXIMUM

    def __post_init__(self) -> None:
        if self.lease_seconds <= self.timeout_seconds:
            raise ValueError("The lease must outlast the request.")


@dataclass(slots=True)
class PumpReport:
    """What a run did."""

    fanned_out: int = 0
    attempted: int = 0
    delivered: int = 0


def pump_run(options: PumpOptions = PumpOptions()) -> PumpReport:
    """Deliver until there was nothing to do for `idle_seconds`, or `run_seconds` are over; then finish what is sent."""
    report = PumpReport()
    with system_scope(SystemScope.DELIVERY), Sender(timeout_seconds=options.timeout_seconds) as sender:
        begun = busy_at = time.monotonic()
        while True:
            worked = False
            if time.monotonic() - begun < options.run_seconds:
                worked = _take_up(sender, options, report)
            elif not sender.in_flight:
                break
            outcomes = sender.collect(wait_seconds=0 if worked else constants.PUMP_POLL_SECONDS)
            if outcomes:
                _acknowledge(outcomes, report)
            if worked or outcomes or sender.in_flight:
                busy_at = time.monotonic()
            elif time.monotonic() - busy_at >= options.idle_seconds:
                break
    return report


def pump_run_alone(options: PumpOptions = PumpOptions()) -> PumpReport | None:
    """`pump_run` unless another process runs this function now; None then. So workers keep slots for other tasks.

    What is left at its end, or came while it held the lock, gets a successor, so that nothing waits for the sweep.
    """
    with _pump_lock() as locked:
        if not locked:
            return None
        report = pump_run(options)
    with system_scope(SystemScope.DELIVERY):
        if selectors.is_anything_owed():
            services.pump_wake()
    return report


@contextmanager
def _pump_lock() -> Iterator[bool]:
    """A lock on the database session, so that it goes with the worker that held it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [constants.PUMP_LOCK])
        (locked,) = cursor.fetchone()
    try:
        yield locked
    finally:
        if locked:
            _pump_unlock()


def _pump_unlock() -> None:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [constants.PUMP_LOCK])
    except (OperationalError, InterfaceError):
        connection.close()  # the session is gone, and the lock with it


def _take_up(sender: Sender, options: PumpOptions, report: PumpReport) -> bool:
    """Fan out waiting events, claim what is due and start sending it; whether there was anything."""
    fanned_out = services.events_fan_out().events
    report.fanned_out += fanned_out
    room = min(options.in_flight - sender.in_flight, constants.CLAIM_ROWS)
    if room <= 0:
        return fanned_out > 0
    claims = walker.deliveries_claim(
        limit=room,
        endpoint_limit=options.in_flight_endpoint,
        lease_seconds=options.lease_seconds,
        busy=sender.busy_endpoints(options.in_flight_endpoint),
    )
    if claims:
        sender.submit(requests_of(claims))
    return bool(fanned_out or claims)


def requests_of(claims: Sequence[Claim]) -> list[Outgoing]:
    """The requests of claims. Those that can't be made any more, for a dead endpoint or payload, are cancelled."""
    events = selectors.events_with_body({claim.event_id for claim in claims})
    endpoints = selectors.endpoints_living({claim.endpoint_id for claim in claims})
    now = clock.now()
    made: list[Outgoing] = []
    dead: list[UUID] = []
    for claim in claims:
        event, endpoint = events.get(claim.event_id), endpoints.get(claim.endpoint_id)
        if event is None or event.body is None or endpoint is None:
            dead.append(claim.delivery_id)
            continue
        keys = tuple(secret_key(secret) for secret in selectors.secrets_signing(endpoint, now))
        body = event.body.encode()
        made.append(Outgoing(claim, endpoint.url, event.message_id, endpoint.headers, keys, body))
    if dead:
        walker.deliveries_cancel(Delivery.objects.filter(pk__in=dead))
    return made


def _acknowledge(outcomes: Sequence[Outcome], report: PumpReport) -> None:
    """Write a batch of attempts and move their deliveries on, in one transaction."""
    now = clock.now()
    decided = [acknowledgement_of(outcome, now, random.random()) for outcome in outcomes]  # noqa: S311 - only jitter
    gone = {outcome.claim.endpoint_id for outcome in outcomes if outcome.gone}
    with transaction.atomic():
        if gone:
            services.endpoints_lock(gone)
        ours = walker.deliveries_acknowledge(decided)
        if gone:
            services.endpoints_disable_gone(gone)
        # A purge may have removed a delivery while it was in flight.
        kept = Delivery.objects.in_bulk([item.claim.delivery_id for item in decided])
        Attempt.objects.bulk_create(_attempt(outcome) for outcome in outcomes if outcome.claim.delivery_id in kept)
        for outcome, item in zip(outcomes, decided, strict=True):
            if item.command is DeliveryCommand.EXHAUST and item.claim.delivery_id in ours:
                _exhausted_emit(outcome, item)
    report.attempted += len(outcomes)
    report.delivered += sum(outcome.succeeded for outcome in outcomes)


def _attempt(outcome: Outcome) -> Attempt:
    claim = outcome.claim
    return Attempt(
        team_id=claim.team.team_id,
        environment=claim.team.environment,
        delivery_id=claim.delivery_id,
        endpoint_id=claim.endpoint_id,
        event_type=claim.event_type,
        number=claim.number,
        attempted_at=outcome.attempted_at,
        duration_milliseconds=outcome.duration_milliseconds,
        status_code=outcome.status_code,
        error=outcome.error or "",
        answer_excerpt=outcome.answer_excerpt,
    )


def _exhausted_emit(outcome: Outcome, item: Acknowledgement) -> None:
    """Tell the team that a message was given up, but not that such a notice itself was."""
    event = Event.objects.get(pk=item.claim.event_id)
    if event.event_type == MESSAGE_ATTEMPT_EXHAUSTED:
        return
    envelope = orjson.loads(event.body) if event.body else {}
    data: JSONObject = {
        "message_id": event.message_id,
        "event_type": event.event_type,
        "endpoint_id": str(item.claim.endpoint_id),
        "attempts": item.failures,
        "last_attempt": {
            "attempted_at": utc_text(outcome.attempted_at),
            "status_code": outcome.status_code,
            "error": outcome.error,
        },
    }
    services.event_emit(
        team=event.context,
        event_type=MESSAGE_ATTEMPT_EXHAUSTED,
        data=data,
        user_id=event.user_id,
        client_user_id=envelope.get("client_user_id"),
    )
