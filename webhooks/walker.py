"""The one place where a delivery's status changes. Every change is guarded by the table in `webhooks.states`."""

from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction
from django.db.models import QuerySet

from healthsvc.kernel import clock
from healthsvc.kernel.principal import Environment, TeamContext
from webhooks.models import Delivery
from webhooks.records import Acknowledgement, Claim
from webhooks.states import DeliveryCommand, DeliveryStatus, status_after, statuses_before

#: Endpoints that are owed anything are found by skipping through the index, one step each; then each gives its oldest
#: due rows, in random order of endpoints, so that none is always last. Rows that another pump holds are skipped.
_CLAIM: Final = """
WITH RECURSIVE owed (endpoint_id) AS (
    (SELECT endpoint_id FROM webhooks_delivery WHERE status IN ('pending', 'sending') ORDER BY endpoint_id LIMIT 1)
    UNION ALL
    SELECT (SELECT later.endpoint_id FROM webhooks_delivery AS later
             WHERE later.status IN ('pending', 'sending') AND later.endpoint_id > owed.endpoint_id
             ORDER BY later.endpoint_id LIMIT 1)
      FROM owed WHERE owed.endpoint_id IS NOT NULL
), picked AS MATERIALIZED (
    SELECT due.id
      FROM (SELECT endpoint_id FROM owed
             WHERE endpoint_id IS NOT NULL AND endpoint_id <> ALL (%(busy)s::uuid[]) ORDER BY random()) AS chosen
     CROSS JOIN LATERAL (
        SELECT id FROM webhooks_delivery
         WHERE endpoint_id = chosen.endpoint_id AND status IN ('pending', 'sending') AND next_attempt_at <= %(now)s
         ORDER BY next_attempt_at LIMIT %(endpoint_limit)s
           FOR UPDATE SKIP LOCKED) AS due
     LIMIT %(limit)s
)
UPDATE webhooks_delivery AS delivery
   SET status = %(status)s, claims = delivery.claims + 1, next_attempt_at = %(lease_until)s
  FROM picked WHERE delivery.id = picked.id
RETURNING delivery.id, delivery.claims, delivery.failures, delivery.endpoint_id, delivery.event_id,
          delivery.team_id, delivery.environment,
          (SELECT event_type FROM webhooks_event AS event WHERE event.id = delivery.event_id)
"""
_ACKNOWLEDGE: Final = """
UPDATE webhooks_delivery AS delivery
   SET status = done.status, failures = done.failures, next_attempt_at = done.next_attempt_at, ended_at = done.ended_at
  FROM unnest(%s::uuid[], %s::int[], %s::text[], %s::int[], %s::timestamptz[], %s::timestamptz[])
       AS done (id, claims, status, failures, next_attempt_at, ended_at)
 WHERE delivery.id = done.id AND delivery.claims = done.claims AND delivery.status = %s
RETURNING delivery.id
"""


def deliveries_claim(
    *, limit: int, endpoint_limit: int, lease_seconds: float, busy: Collection[UUID] = ()
) -> list[Claim]:
    """Take due deliveries, and those whose lease ran out, for this pump; none of the endpoints in `busy`."""
    now = clock.now()
    parameters: dict[str, Any] = {
        "busy": list(busy),
        "now": now,
        "endpoint_limit": endpoint_limit,
        "limit": limit,
        "status": str(status_after(DeliveryCommand.CLAIM)),
        "lease_until": now + timedelta(seconds=lease_seconds),
    }
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM, parameters)
        rows = cursor.fetchall()
    return [_claim(*row) for row in rows]


def _claim(
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
    return Claim(delivery_id, number, failures, endpoint_id, event_id, event_type, team)


def deliveries_acknowledge(acknowledgements: Sequence[Acknowledgement]) -> set[UUID]:
    """Move claimed deliveries on; the ids of those that were still ours. A lease that was lost changes nothing."""
    now = clock.now()
    columns: list[list[Any]] = [[] for _ in range(6)]
    for item in acknowledgements:
        after = status_after(item.command)
        open_still = after is DeliveryStatus.PENDING
        row = (
            item.claim.delivery_id,
            item.claim.number,
            str(after),
            item.failures,
            item.next_attempt_at if open_still else None,
            None if open_still else now,
        )
        for column, value in zip(columns, row, strict=True):
            column.append(value)
    with transaction.atomic(), connection.cursor() as cursor:
        _lock(Delivery.objects.filter(pk__in=columns[0]))
        cursor.execute(_ACKNOWLEDGE, [*columns, str(DeliveryStatus.SENDING)])
        return {row[0] for row in cursor.fetchall()}


def deliveries_cancel(deliveries: QuerySet[Delivery]) -> int:
    """End what is still owed; how many there were."""
    return _walk(deliveries, DeliveryCommand.CANCEL, next_attempt_at=None, ended_at=clock.now())


def deliveries_resend(deliveries: QuerySet[Delivery]) -> int:
    """Owe ended deliveries again, now and with all attempts; how many. One that is being sent is left alone."""
    return _walk(deliveries, DeliveryCommand.RESEND, next_attempt_at=clock.now(), ended_at=None, failures=0)


def _walk(deliveries: QuerySet[Delivery], command: DeliveryCommand, **values: object) -> int:
    allowed = deliveries.filter(status__in=statuses_before(command))
    with transaction.atomic():
        ids = _lock(allowed)
        return allowed.model.objects.filter(pk__in=ids).update(status=str(status_after(command)), **values)


def _lock(deliveries: QuerySet[Delivery]) -> list[UUID]:
    """Lock rows in the order of their ids, as everyone does, so that two batches never wait for each other."""
    return list(deliveries.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))
