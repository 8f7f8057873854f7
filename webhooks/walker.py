"""The one place where a delivery's status changes. Every change is guarded by the table in `webhooks.states`."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from healthsvc.kernel import clock
from healthsvc.kernel.postgres.statements import rows_of
from healthsvc.kernel.principal import Environment, TeamContext
from webhooks.constants import CLAIM_ROWS
from webhooks.models import Delivery
from webhooks.records import Acknowledgement, Claim, OwedEndpoint
from webhooks.states import DeliveryCommand, DeliveryStatus, status_after, statuses_before

#: Endpoints with something open are found by skipping through their index, one step each, which lands on the row that
#: is due first; what is not due yet, or asked for a pause, is left out. In random order, so that none is always last.
#: Where nothing is due at all no step is made: thousands may have something open that waits for hours.
_OWED: Final = """
WITH RECURSIVE open (endpoint_id, next_attempt_at) AS (
    (SELECT endpoint_id, next_attempt_at FROM webhooks_delivery
      WHERE status IN ('pending', 'sending')
        AND (SELECT due.next_attempt_at FROM webhooks_delivery AS due WHERE due.status IN ('pending', 'sending')
              ORDER BY due.next_attempt_at LIMIT 1) <= %(now)b::timestamptz
      ORDER BY endpoint_id, next_attempt_at LIMIT 1)
    UNION ALL
    SELECT later.endpoint_id, later.next_attempt_at
      FROM open
     CROSS JOIN LATERAL (
        SELECT endpoint_id, next_attempt_at FROM webhooks_delivery
         WHERE status IN ('pending', 'sending') AND endpoint_id > open.endpoint_id
         ORDER BY endpoint_id, next_attempt_at LIMIT 1) AS later
)
SELECT open.endpoint_id, endpoint.team_id, endpoint.rate_limit, health.struggling_since IS NOT NULL,
       health.paused_until, health.rate_free_at,
       coalesce(health.first_failure_at, health.failing_since, health.struggling_since, health.paused_until)
           IS NOT NULL OR coalesce(health.connection_failures, 0) > 0
  FROM open
  JOIN webhooks_endpoint AS endpoint ON endpoint.id = open.endpoint_id
  JOIN management_team AS team ON team.id = endpoint.team_id AND team.deleted_at IS NULL
  LEFT JOIN webhooks_endpoint_health AS health ON health.endpoint_id = open.endpoint_id
 WHERE open.next_attempt_at <= %(now)b::timestamptz
   AND (health.paused_until IS NULL OR health.paused_until <= %(now)b::timestamptz)
 ORDER BY random() LIMIT %(limit)b::bigint
"""
#: Of each endpoint the oldest due rows, as many as it is allowed. Rows that another pump holds are skipped.
_CLAIM: Final = """
WITH picked AS MATERIALIZED (
    SELECT due.id
      FROM unnest(%(endpoints)b::uuid[], %(counts)b::int[]) WITH ORDINALITY AS allowed (endpoint_id, most, place)
     CROSS JOIN LATERAL (
        SELECT id FROM webhooks_delivery
         WHERE endpoint_id = allowed.endpoint_id AND status IN ('pending', 'sending')
           AND next_attempt_at <= %(now)b::timestamptz
         ORDER BY next_attempt_at LIMIT allowed.most
           FOR NO KEY UPDATE SKIP LOCKED) AS due
     LIMIT %(limit)b::bigint
)
UPDATE webhooks_delivery AS delivery
   SET status = %(status)b, claims = delivery.claims + 1, next_attempt_at = %(lease_until)b::timestamptz
  FROM picked, webhooks_event AS event
 WHERE delivery.id = picked.id AND event.id = delivery.event_id
RETURNING delivery.id, delivery.claims, delivery.failures, delivery.endpoint_id, delivery.event_id,
          delivery.team_id, delivery.environment, event.event_type
"""
#: Rows are locked in the order of their ids, as everyone does, so that two batches never wait for each other.
_ACKNOWLEDGE: Final = """
WITH held AS MATERIALIZED (
    SELECT id FROM webhooks_delivery WHERE id = ANY (%(ids)b::uuid[]) ORDER BY id FOR NO KEY UPDATE
)
UPDATE webhooks_delivery AS delivery
   SET status = done.status, failures = done.failures, next_attempt_at = done.next_attempt_at, ended_at = done.ended_at
  FROM unnest(%(ids)b::uuid[], %(claims)b::int[], %(statuses)b::text[], %(failures)b::int[],
              %(next_attempts)b::timestamptz[], %(ends)b::timestamptz[])
       AS done (id, claims, status, failures, next_attempt_at, ended_at)
  JOIN held ON held.id = done.id
 WHERE delivery.id = done.id AND delivery.claims = done.claims AND delivery.status = %(sending)b
RETURNING delivery.id
"""


def endpoints_owed(limit: int, now: datetime) -> list[OwedEndpoint]:
    """Endpoints that a delivery is due to, in random order: one that is paused is none, nor is a deleted team's."""
    return [OwedEndpoint(*row) for row in rows_of(_OWED, {"limit": limit, "now": now})]


def deliveries_claim(
    allowances: Mapping[UUID, int],
    lease_seconds: float,
    *,
    limit: int = CLAIM_ROWS,
    unnoted: Collection[UUID] = (),
) -> list[Claim]:
    """Take due deliveries, and those whose lease ran out, for this pump: of each endpoint at most its allowance.

    At most `limit` in all, of the endpoints that come first. `unnoted` are endpoints of whose health nothing is noted.
    """
    if not allowances or limit <= 0:
        return []
    now = clock.now()
    parameters = {
        "endpoints": list(allowances),
        "counts": list(allowances.values()),
        "now": now,
        "limit": limit,
        "status": str(status_after(DeliveryCommand.CLAIM)),
        "lease_until": now + timedelta(seconds=lease_seconds),
    }
    return [_claim(unnoted, *row) for row in rows_of(_CLAIM, parameters)]


def _claim(
    unnoted: Collection[UUID],
    delivery_id: UUID,
    number: int,
    failures: int,
    endpoint_id: UUID,
    event_id: UUID,
    team_id: UUID,
    environment: str,
    event_type: str,
) -> Claim:
    team = TeamContext(team_id, Environment(environment))
    noted = endpoint_id not in unnoted
    return Claim(delivery_id, number, failures, endpoint_id, event_id, event_type, team, noted)


def deliveries_acknowledge(acknowledgements: Sequence[Acknowledgement]) -> set[UUID]:
    """Move claimed deliveries on; the ids of those that were still ours. A lease that was lost changes nothing.

    Every delivery that is still there is held until the transaction ends, ours or not.
    """
    now = clock.now()
    afters = [status_after(item.command) for item in acknowledgements]
    parameters = {
        "ids": [item.claim.delivery_id for item in acknowledgements],
        "claims": [item.claim.number for item in acknowledgements],
        "statuses": [str(after) for after in afters],
        "failures": [item.failures for item in acknowledgements],
        "next_attempts": [
            item.next_attempt_at if after is DeliveryStatus.PENDING else None
            for item, after in zip(acknowledgements, afters, strict=True)
        ],
        "ends": [None if after is DeliveryStatus.PENDING else now for after in afters],
        "sending": str(DeliveryStatus.SENDING),
    }
    return {row[0] for row in rows_of(_ACKNOWLEDGE, parameters)}


def deliveries_cancel(deliveries: QuerySet[Delivery], *, skip_held: bool = False) -> int:
    """End what is still owed; how many there were. What others hold is waited for, or passed over."""
    return _walk(deliveries, DeliveryCommand.CANCEL, skip_held=skip_held, next_attempt_at=None, ended_at=clock.now())


def deliveries_resend(deliveries: QuerySet[Delivery]) -> int:
    """Owe ended deliveries again, now and with all attempts; how many. One that is being sent is left alone."""
    return _walk(deliveries, DeliveryCommand.RESEND, next_attempt_at=clock.now(), ended_at=None, failures=0)


def _walk(
    deliveries: QuerySet[Delivery], command: DeliveryCommand, *, skip_held: bool = False, **values: object
) -> int:
    allowed = deliveries.filter(status__in=statuses_before(command))
    with transaction.atomic():
        ids = _lock(allowed, skip_held=skip_held)
        return allowed.model.objects.filter(pk__in=ids).update(status=str(status_after(command)), **values)


def _lock(deliveries: QuerySet[Delivery], *, skip_held: bool) -> list[UUID]:
    """Lock rows in the order of their ids, as everyone does, so that two batches never wait for each other."""
    held = deliveries.order_by("pk").select_for_update(no_key=True, skip_locked=skip_held)
    return list(held.values_list("pk", flat=True))
