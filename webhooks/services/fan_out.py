"""Fan-out: from an event that waits to one delivery for each endpoint that wants it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Final, TypeAlias
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from healthsvc.kernel import clock
from healthsvc.kernel.ids import uuid_ordered
from healthsvc.kernel.postgres.statements import rows_of
from management.models import TeamSettings
from webhooks.constants import FAN_OUT_DELIVERIES, FAN_OUT_ROWS, TOTAL_EVENTS_FANNED_OUT
from webhooks.filters import is_wanted
from webhooks.models import Endpoint
from webhooks.services.figures import totals_add
from webhooks.states import DeliveryStatus

Tenant: TypeAlias = tuple[UUID, str]

#: Rows another pump holds are skipped.
_WAITING: Final = """
SELECT id, team_id, environment, event_type, channels, endpoint_id FROM webhooks_event
 WHERE fanned_out_at IS NULL ORDER BY id LIMIT %(limit)b::bigint
   FOR NO KEY UPDATE SKIP LOCKED
"""
#: The team is that of the event. One that is there already was made by a fan-out whose mark was lost.
_FAN_OUT: Final = """
WITH made AS (
    INSERT INTO webhooks_delivery
        (id, team_id, environment, event_id, endpoint_id, status, claims, failures, next_attempt_at, created_at)
    SELECT given.id, given.team_id, given.environment, given.event_id, given.endpoint_id, %(status)b, 0, 0,
           %(now)b::timestamptz, %(now)b::timestamptz
      FROM unnest(%(ids)b::uuid[], %(teams)b::uuid[], %(environments)b::text[], %(events)b::uuid[],
                  %(endpoints)b::uuid[]) AS given (id, team_id, environment, event_id, endpoint_id)
        ON CONFLICT (event_id, endpoint_id) DO NOTHING
)
UPDATE webhooks_event SET fanned_out_at = %(now)b::timestamptz WHERE id = ANY (%(done)b::uuid[])
"""


@dataclass(frozen=True, slots=True)
class FanOut:
    """What one batch did. `more`: it left events for the next one."""

    events: int
    deliveries: int
    more: bool = False


@dataclass(frozen=True, slots=True)
class _Waiting:
    """An event that waits, without its body."""

    id: UUID
    team_id: UUID
    environment: str
    event_type: str
    channels: list[str]
    endpoint_id: UUID | None

    @property
    def tenant(self) -> Tenant:
        return (self.team_id, self.environment)


@dataclass(frozen=True, slots=True)
class _Wish:
    """What an endpoint wants to be sent."""

    endpoint_id: UUID
    filter_types: list[str] | None
    channels: list[str] | None


def events_fan_out(*, limit: int = FAN_OUT_ROWS) -> FanOut:
    """Make the deliveries of the oldest waiting events. Safe to repeat and to run side by side. In delivery scope.

    It takes no more events at once than make FAN_OUT_DELIVERIES deliveries, but at least one.
    """
    with transaction.atomic():
        waiting = [_Waiting(*row) for row in rows_of(_WAITING, {"limit": limit})]
        if not waiting:
            return FanOut(0, 0)
        pairs, taken = _pairs(waiting)
        now = clock.now()
        parameters = {
            "ids": [uuid_ordered() for _ in pairs],
            "teams": [event.team_id for event, _ in pairs],
            "environments": [event.environment for event, _ in pairs],
            "events": [event.id for event, _ in pairs],
            "endpoints": [endpoint_id for _, endpoint_id in pairs],
            "status": str(DeliveryStatus.PENDING),
            "done": [event.id for event in waiting[:taken]],
            "now": now,
        }
        rows_of(_FAN_OUT, parameters)
        totals_add({TOTAL_EVENTS_FANNED_OUT: taken})
    return FanOut(taken, len(pairs), taken < len(waiting) or len(waiting) == limit)


def _pairs(waiting: Sequence[_Waiting]) -> tuple[list[tuple[_Waiting, UUID]], int]:
    """Each event with each endpoint that is sent it, and how many of the events these are."""
    tenants = list({event.tenant for event in waiting})
    wishes, prefixes = _wishes(tenants), _prefixes(tenants)
    #: Most events of a batch are of few kinds.
    known: dict[tuple[Tenant, str, frozenset[str]], list[UUID]] = {}
    pairs: list[tuple[_Waiting, UUID]] = []
    for number, event in enumerate(waiting):
        if event.endpoint_id is not None:
            living = any(wish.endpoint_id == event.endpoint_id for wish in wishes.get(event.tenant, []))
            found = [event.endpoint_id] if living else []
        else:
            kind = (event.tenant, event.event_type, frozenset(event.channels))
            if kind not in known:
                known[kind] = _wanting(kind, wishes.get(event.tenant, []), prefixes.get(event.tenant))
            found = known[kind]
        if pairs and len(pairs) + len(found) > FAN_OUT_DELIVERIES:
            return pairs, number
        pairs += [(event, endpoint_id) for endpoint_id in found]
    return pairs, len(waiting)


def endpoints_wanting(tenants: Sequence[Tenant], event_type: str) -> dict[Tenant, list[UUID]]:
    """Which of the tenants' endpoints would be sent an event of a type that has no channels. In delivery scope."""
    wishes, prefixes = _wishes(tenants), _prefixes(tenants)
    return {
        tenant: _wanting((tenant, event_type, frozenset()), wishes.get(tenant, []), prefixes.get(tenant))
        for tenant in tenants
    }


def _wanting(
    kind: tuple[Tenant, str, frozenset[str]], wishes: Sequence[_Wish], prefixes: Sequence[str] | None
) -> list[UUID]:
    """The endpoints that are sent events of a kind: the team's own limit comes before its endpoints' wishes."""
    _, event_type, channels = kind
    if not is_wanted(filter_types=prefixes, channels=None, event_type=event_type, event_channels=channels):
        return []
    return [
        wish.endpoint_id
        for wish in wishes
        if is_wanted(
            filter_types=wish.filter_types, channels=wish.channels, event_type=event_type, event_channels=channels
        )
    ]


def _wishes(tenants: Sequence[Tenant]) -> dict[Tenant, list[_Wish]]:
    """Living endpoints of the tenants."""
    found: dict[Tenant, list[_Wish]] = {}
    rows = Endpoint.objects.kept().filter(_of(tenants), disabled=False)
    columns = rows.values_list("team_id", "environment", "id", "filter_types", "channels").order_by("id")
    for team_id, environment, endpoint_id, filter_types, channels in columns:
        found.setdefault((team_id, environment), []).append(_Wish(endpoint_id, filter_types, channels))
    return found


def _prefixes(tenants: Sequence[Tenant]) -> dict[Tenant, list[str]]:
    """What the tenants limit themselves to; those without a limit are not among them."""
    rows = TeamSettings.objects.filter(_of(tenants)).exclude(event_type_prefixes=[])
    return {
        (team_id, environment): prefixes
        for team_id, environment, prefixes in rows.values_list("team_id", "environment", "event_type_prefixes")
    }


def _of(tenants: Sequence[Tenant]) -> Q:
    """Rows of any of the tenants."""
    return reduce(or_, (Q(team_id=team_id, environment=environment) for team_id, environment in tenants))
