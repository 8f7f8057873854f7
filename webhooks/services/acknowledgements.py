"""Acknowledgement: what came of a batch of requests is written, in one transaction, however many teams it is of."""

import random
from collections.abc import Collection, Sequence
from typing import Final
from uuid import UUID

import orjson
from django.db import transaction

from healthsvc.kernel import clock
from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.crypto import seal
from healthsvc.kernel.ids import uuid_ordered
from healthsvc.kernel.postgres.statements import rows_of
from healthsvc.kernel.typing import JSONObject
from webhooks import walker
from webhooks.events import MESSAGE_ATTEMPT_EXHAUSTED
from webhooks.models import Event
from webhooks.records import Acknowledgement, Outcome
from webhooks.retries import acknowledgement_of
from webhooks.services.events import Emission, events_emit_mixed
from webhooks.services.figures import outcomes_count
from webhooks.services.health import endpoints_to_disable, outcomes_note
from webhooks.states import DeliveryCommand

#: A purge may have removed a delivery while it was in flight; those that are there are held by the acknowledgement.
_ATTEMPTS: Final = """
INSERT INTO webhooks_attempt
    (id, team_id, environment, delivery_id, endpoint_id, event_type, number, attempted_at, duration_milliseconds,
     status_code, error, answer_excerpt)
SELECT given.id, delivery.team_id, delivery.environment, delivery.id, delivery.endpoint_id, given.event_type,
       given.number, given.attempted_at, given.duration_milliseconds, given.status_code, given.error, given.excerpt
  FROM unnest(%(ids)b::uuid[], %(deliveries)b::uuid[], %(types)b::text[], %(numbers)b::int[],
              %(attempted)b::timestamptz[], %(milliseconds)b::int[], %(statuses)b::int[], %(errors)b::text[],
              %(excerpts)b::bytea[])
       AS given (id, delivery_id, event_type, number, attempted_at, duration_milliseconds, status_code, error, excerpt)
  JOIN webhooks_delivery AS delivery ON delivery.id = given.delivery_id
"""


def outcomes_acknowledge(outcomes: Sequence[Outcome]) -> None:
    """Move a batch of deliveries on, write their attempts, and note and count how they went. In delivery scope.

    Six statements, some more where something failed: neither deliveries, endpoints nor teams add any.
    """
    now = clock.now()
    decided = [acknowledgement_of(outcome, now, random.random()) for outcome in outcomes]  # noqa: S311 - only jitter
    with transaction.atomic():
        # Endpoints are held before deliveries, as everyone does, and figures last.
        doomed = endpoints_to_disable(outcomes, now)
        ours = walker.deliveries_acknowledge(decided)
        _attempts_write(outcomes, ours)
        outcomes_note(outcomes, ours, now, doomed)
        exhausted = [
            (outcome, item)
            for outcome, item in zip(outcomes, decided, strict=True)
            if item.command is DeliveryCommand.EXHAUST and item.claim.delivery_id in ours
        ]
        if exhausted:
            _exhausted_emit(exhausted)
        outcomes_count(outcomes, {item.claim.delivery_id for _, item in exhausted}, now)


def _attempts_write(outcomes: Sequence[Outcome], ours: Collection[UUID]) -> None:
    # What was cancelled meanwhile may be an erased person's: nothing of its answer is kept.
    excerpts = [outcome.answer_excerpt if outcome.claim.delivery_id in ours else None for outcome in outcomes]
    parameters = {
        "ids": [uuid_ordered() for _ in outcomes],
        "deliveries": [outcome.claim.delivery_id for outcome in outcomes],
        "types": [outcome.claim.event_type for outcome in outcomes],
        "numbers": [outcome.claim.number for outcome in outcomes],
        "attempted": [outcome.attempted_at for outcome in outcomes],
        "milliseconds": [outcome.duration_milliseconds for outcome in outcomes],
        "statuses": [outcome.status_code for outcome in outcomes],
        "errors": [str(outcome.error or "") for outcome in outcomes],
        "excerpts": [None if text is None else _sealed(text) for text in excerpts],
    }
    rows_of(_ATTEMPTS, parameters)


def _sealed(excerpt: str) -> bytes:
    return seal(excerpt.encode(), place="webhooks_attempt.answer_excerpt")


def _exhausted_emit(exhausted: Collection[tuple[Outcome, Acknowledgement]]) -> None:
    """Tell each team which messages were given up, but not that such a notice itself was."""
    events = Event.objects.exclude(event_type=MESSAGE_ATTEMPT_EXHAUSTED).in_bulk(
        {item.claim.event_id for _, item in exhausted}
    )
    emissions: list[Emission] = []
    for outcome, item in exhausted:
        event = events.get(item.claim.event_id)
        if event is not None:
            emissions.append(
                Emission(
                    team=event.context,
                    event_type=MESSAGE_ATTEMPT_EXHAUSTED,
                    data=_exhausted_data(event.message_id, outcome, item),
                    user_id=event.user_id,
                    client_user_id=orjson.loads(event.body).get("client_user_id") if event.body else None,
                )
            )
    events_emit_mixed(emissions)


def _exhausted_data(message_id: str, outcome: Outcome, item: Acknowledgement) -> JSONObject:
    claim = item.claim
    last: JSONObject = {
        "attempted_at": utc_text(outcome.attempted_at),
        "status_code": outcome.status_code,
        "error": outcome.error,
    }
    return {
        "message_id": message_id,
        "event_type": claim.event_type,
        "endpoint_id": str(claim.endpoint_id),
        "attempts": item.failures,
        "last_attempt": last,
    }
