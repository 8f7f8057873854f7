"""Notes how endpoints fare, disables those that fail for good, and keeps the books of rate limits."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

import structlog
from django.db import connection, transaction
from django.db.models import Q

from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.jobs import enqueue
from healthsvc.kernel.principal import Environment, TeamContext
from healthsvc.kernel.typing import JSONObject
from webhooks import walker
from webhooks.addresses import url_without_query
from webhooks.constants import DISABLED_FAILING, DISABLED_GONE, FAILING_MAXIMUM_SECONDS
from webhooks.events import WEBHOOK_ENDPOINT_DISABLED, WEBHOOK_ENDPOINT_FAILING
from webhooks.health import Health, health_after, is_given_up, rate_free_after
from webhooks.models import Delivery, Endpoint, EndpointHealth
from webhooks.records import Outcome, OwedEndpoint
from webhooks.services.events import Emission, events_emit_mixed
from webhooks.services.fan_out import endpoints_wanting
from webhooks.states import OPEN

log = structlog.get_logger(__name__)

_TELL_TASK: Final = "webhooks.letters_send"
_HEALTH_FIELDS: Final = (
    "first_failure_at", "last_failure_at", "failing_since", "struggling_since", "connection_failures", "paused_until",
)  # fmt: skip

#: Rows in the order of their endpoints, as everyone makes and locks them: two batches never wait for each other.
_ROWS_MAKE: Final = """
INSERT INTO webhooks_endpoint_health (endpoint_id, team_id, environment, connection_failures, updated_at)
SELECT endpoint.id, endpoint.team_id, endpoint.environment, 0, %s
  FROM webhooks_endpoint AS endpoint WHERE endpoint.id = ANY (%s::uuid[])
 ORDER BY endpoint.id
    ON CONFLICT (endpoint_id) DO NOTHING
"""
_NOTE: Final = """
UPDATE webhooks_endpoint_health AS health
   SET first_failure_at = noted.first_failure_at, last_failure_at = noted.last_failure_at,
       failing_since = noted.failing_since,
       struggling_since = noted.struggling_since, connection_failures = noted.connection_failures,
       paused_until = noted.paused_until, updated_at = %s
  FROM unnest(%s::uuid[], %s::timestamptz[], %s::timestamptz[], %s::timestamptz[], %s::timestamptz[], %s::int[],
              %s::timestamptz[])
       AS noted (endpoint_id, first_failure_at, last_failure_at, failing_since, struggling_since, connection_failures,
                 paused_until)
 WHERE health.endpoint_id = noted.endpoint_id
"""
_SPEND: Final = """
UPDATE webhooks_endpoint_health AS health
   SET rate_free_at = spent.rate_free_at, updated_at = %s
  FROM unnest(%s::uuid[], %s::timestamptz[]) AS spent (endpoint_id, rate_free_at)
 WHERE health.endpoint_id = spent.endpoint_id
"""


def endpoints_to_disable(outcomes: Sequence[Outcome], now: datetime) -> dict[UUID, str]:
    """Endpoints that these outcomes disable, each with the reason; they and what they are owed are held.

    To be asked at the beginning of the acknowledgement's transaction, before deliveries are held: endpoints come
    first. One query where an attempt failed, none otherwise. In delivery scope. Who fails is only guessed here, for
    health is held last: `outcomes_note` looks again.
    """
    doomed = {outcome.claim.endpoint_id: DISABLED_GONE for outcome in outcomes if outcome.gone}
    failed = {outcome.claim.endpoint_id for outcome in outcomes if not outcome.succeeded} - set(doomed)
    if failed:
        before = now - timedelta(seconds=FAILING_MAXIMUM_SECONDS)
        long = EndpointHealth.objects.filter(pk__in=failed, failing_since__lte=before)
        for row in long:
            theirs = [outcome for outcome in outcomes if outcome.claim.endpoint_id == row.pk]
            if is_given_up(health_after(_health(row), theirs), theirs):
                doomed[row.pk] = DISABLED_FAILING
    if doomed:
        _hold(doomed, [outcome.claim.delivery_id for outcome in outcomes])
    return doomed


def _hold(endpoint_ids: Collection[UUID], delivery_ids: Collection[UUID]) -> None:
    """Hold endpoints, then in one turn what is acknowledged and what will be cancelled.

    Two turns would let two batches, each of which disables an endpoint of the other's, wait for each other.
    """
    endpoints = Endpoint.objects.filter(pk__in=endpoint_ids)
    held = Delivery.objects.filter(Q(pk__in=delivery_ids) | Q(endpoint_id__in=endpoint_ids, status__in=OPEN))
    for rows in (endpoints, held):
        list(rows.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))


def endpoints_disable(endpoint_ids: Collection[UUID], reason: str, now: datetime, *, health_held: bool = False) -> int:
    """Disable endpoints for `reason`, cancel what they are owed, and owe the notices of it; how many there were.

    In delivery scope, in a transaction that holds them already. One that is disabled or deleted keeps its reason.
    Where their health is held too, what others hold is not waited for, as they may wait for that health; the next
    claim cancels it.
    """
    living = Endpoint.objects.kept().filter(pk__in=endpoint_ids, disabled=False).select_related("health")
    found = list(living.only("team_id", "environment", "url", "health__failing_since").order_by("pk"))
    Endpoint.objects.filter(pk__in=[row.pk for row in found]).update(
        disabled=True,
        disabled_reason=reason,
        disabled_at=now,
        disabled_told_at=None,
        disabled_told_staff_at=None,
        disabled_tell_at=now,
        updated_at=now,
    )
    walker.deliveries_cancel(Delivery.objects.filter(endpoint_id__in=endpoint_ids), skip_held=health_held)
    events_emit_mixed([_notice(row, WEBHOOK_ENDPOINT_DISABLED, _disabled_data(row, reason, now)) for row in found])
    if found:
        enqueue(_TELL_TASK)
    for row in found:
        _warn_after_commit(row, reason)
    return len(found)


def outcomes_note(
    outcomes: Sequence[Outcome], ours: set[UUID], now: datetime, doomed: Mapping[UUID, str] | None = None
) -> None:
    """Note what a batch says about its endpoints, and disable those of `doomed` (from `endpoints_to_disable`).

    In the acknowledgement's transaction, after it: deliveries are held before health. Outcomes of deliveries that are
    not `ours` any more count for nothing. No statement where all succeeded and nothing was noted when they were
    claimed; else at most three, however many outcomes there are.
    """
    by_endpoint: dict[UUID, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        if outcome.claim.delivery_id in ours:
            by_endpoint[outcome.claim.endpoint_id].append(outcome)
    doomed = {pk: why for pk, why in (doomed or {}).items() if pk in by_endpoint}
    gone = [pk for pk, why in doomed.items() if why == DISABLED_GONE]
    if gone:
        endpoints_disable(gone, DISABLED_GONE, now)
    failed = [pk for pk, theirs in by_endpoint.items() if not all(outcome.succeeded for outcome in theirs)]
    noted = [pk for pk, theirs in by_endpoint.items() if any(outcome.claim.noted for outcome in theirs)]
    if not failed and not noted:
        return
    if failed:
        _rows_make(failed, now)
    changed: list[tuple[EndpointHealth, Health, Health]] = []
    given_up: list[UUID] = []
    for row in _rows_lock({*failed, *noted}):
        before = _health(row)
        after = health_after(before, by_endpoint[row.pk])
        if after != before:
            changed.append((row, before, after))
        # Another batch may have noted a success since they were looked at.
        if doomed.get(row.pk) == DISABLED_FAILING and is_given_up(after, by_endpoint[row.pk]):
            given_up.append(row.pk)
    if given_up:
        endpoints_disable(given_up, DISABLED_FAILING, now, health_held=True)
    if changed:
        _note(changed, now)
        begun = [
            (row, after.failing_since)
            for row, before, after in changed
            if after.failing_since is not None and before.failing_since is None
        ]
        if begun:
            events_emit_mixed(_warnings(begun))


def health_clear(endpoint_id: UUID) -> None:
    """Forget what was noted of an endpoint, for one that is enabled again; what it spent of its rate stays."""
    EndpointHealth.objects.filter(pk=endpoint_id).update(
        first_failure_at=None,
        last_failure_at=None,
        failing_since=None,
        struggling_since=None,
        connection_failures=0,
        paused_until=None,
    )


def rates_hold(owed: Sequence[OwedEndpoint], now: datetime) -> list[OwedEndpoint]:
    """The owed endpoints with what is left of their rate limits, held until the transaction ends.

    Those with a limit that another pump holds are left out this turn. No statement where none has a limit.
    """
    limited = [item.endpoint_id for item in owed if item.rate_limit is not None]
    if not limited:
        return list(owed)
    held = rates_lock(limited, now)
    return [
        item if item.rate_limit is None else replace(item, rate_free_at=held[item.endpoint_id])
        for item in owed
        if item.rate_limit is None or item.endpoint_id in held
    ]


def rates_lock(endpoint_ids: Collection[UUID], now: datetime) -> dict[UUID, datetime | None]:
    """Hold the books of endpoints with a rate limit; `rate_free_at` of those that no other pump holds."""
    rows = EndpointHealth.objects.filter(pk__in=endpoint_ids).order_by("pk").values_list("pk", "rate_free_at")
    known = set(EndpointHealth.objects.filter(pk__in=endpoint_ids).values_list("pk", flat=True))
    missing = set(endpoint_ids) - known
    if missing:
        _rows_make(missing, now)
    return dict(rows.select_for_update(skip_locked=True))


def rates_spend(spent: Mapping[UUID, int], now: datetime) -> None:
    """Write off what was claimed of endpoints with a rate limit; others of `spent` are left alone.

    In the transaction that holds their books (`rates_hold`). Two statements, none for an empty `spent`.
    """
    if not spent:
        return
    limited = EndpointHealth.objects.filter(pk__in=spent, endpoint__rate_limit__isnull=False)
    rows = limited.order_by("pk").values_list("pk", "rate_free_at", "endpoint__rate_limit")
    free = {
        pk: rate_free_after(rate_limit, rate_free_at, spent[pk], now)
        for pk, rate_free_at, rate_limit in rows
        if rate_limit is not None
    }
    if free:
        with connection.cursor() as cursor:
            cursor.execute(_SPEND, [now, list(free), list(free.values())])


def _health(row: EndpointHealth) -> Health:
    return Health(
        row.first_failure_at,
        row.last_failure_at,
        row.failing_since,
        row.struggling_since,
        row.connection_failures,
        row.paused_until,
    )


def _rows_make(endpoint_ids: Iterable[UUID], now: datetime) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_ROWS_MAKE, [now, list(endpoint_ids)])


def _rows_lock(endpoint_ids: Collection[UUID]) -> list[EndpointHealth]:
    return list(EndpointHealth.objects.filter(pk__in=endpoint_ids).order_by("pk").select_for_update(no_key=True))


def _note(changed: Sequence[tuple[EndpointHealth, Health, Health]], now: datetime) -> None:
    columns: list[list[Any]] = [[row.pk for row, _before, _after in changed]]
    columns += [[getattr(after, field) for _row, _before, after in changed] for field in _HEALTH_FIELDS]
    with connection.cursor() as cursor:
        cursor.execute(_NOTE, [now, *columns])


def _warnings(begun: Sequence[tuple[EndpointHealth, datetime]]) -> Iterator[Emission]:
    """The early notices that endpoints have begun to fail: to each of the team's others that wants them."""
    tenants = {(row.team_id, row.environment) for row, _ in begun}
    wanting = endpoints_wanting(list(tenants), WEBHOOK_ENDPOINT_FAILING)
    for row, failing_since in begun:
        data: JSONObject = {
            "endpoint_id": str(row.pk),
            "failing_since": utc_text(failing_since),
            "disabled_after": utc_text(failing_since + timedelta(seconds=FAILING_MAXIMUM_SECONDS)),
        }
        for endpoint_id in wanting[row.team_id, row.environment]:
            if endpoint_id != row.pk:
                yield replace(_notice(row, WEBHOOK_ENDPOINT_FAILING, data), endpoint_id=endpoint_id)


def _disabled_data(endpoint: Endpoint, reason: str, now: datetime) -> JSONObject:
    health = getattr(endpoint, "health", None)
    failing_since = health.failing_since if health and reason == DISABLED_FAILING else None
    return {
        "endpoint_id": str(endpoint.pk),
        "url": url_without_query(endpoint.url),
        "reason": reason,
        "disabled_at": utc_text(now),
        "failing_since": utc_text(failing_since) if failing_since else None,
    }


def _notice(row: Endpoint | EndpointHealth, event_type: str, data: JSONObject) -> Emission:
    team = TeamContext(row.team_id, Environment(row.environment))
    return Emission(team, event_type, data, user_id=None, client_user_id=None)


def _warn_after_commit(endpoint: Endpoint, reason: str) -> None:
    def warn() -> None:
        log.warning(
            "endpoint_disabled", endpoint_id=str(endpoint.pk), team_id=str(endpoint.team_id),
            environment=endpoint.environment, reason=reason,
        )  # fmt: skip

    transaction.on_commit(warn)
