"""Attempts: each request to an endpoint, and what came of it."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from django.db.models import Q

from healthsvc.kernel.errors import not_found
from healthsvc.kernel.ids import uuid_floor
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.rows import TeamQuerySet
from users.closed import of_no_deleted_user
from webhooks.constants import ATTEMPT_LATE_SECONDS
from webhooks.filters import names_type
from webhooks.log_selectors.paging import id_page
from webhooks.models import Attempt, Delivery, Endpoint
from webhooks.registry import event_types
from webhooks.states import DeliveryStatus


class AttemptOutcome(StrEnum):
    """Whether the endpoint took the message."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class AttemptFilters:
    """What to list; None: whatever. `after` and `before` bound when it was made, the first including its moment."""

    outcome: AttemptOutcome | None = None
    status_code: int | None = None
    event_type: str | None = None
    after: datetime | None = None
    before: datetime | None = None


@dataclass(frozen=True, slots=True)
class AttemptShown:
    """A request and its answer, and where its delivery stands now. `error` says why there was no answer."""

    id: UUID
    delivery_id: UUID
    event_id: UUID
    message_id: str
    event_type: str
    endpoint_id: UUID
    number: int
    attempted_at: datetime
    duration_milliseconds: int
    status_code: int | None
    error: str | None
    answer_excerpt: str | None
    delivery_status: DeliveryStatus
    next_attempt_at: datetime | None

    @property
    def outcome(self) -> AttemptOutcome:
        """Any 2xx is a success."""
        succeeded = self.status_code is not None and 200 <= self.status_code <= 299
        return AttemptOutcome.SUCCEEDED if succeeded else AttemptOutcome.FAILED


@dataclass(frozen=True, slots=True)
class AttemptPage:
    """Attempts of one page, those that began last first. A page may hold few or none and still have a next one."""

    attempts: list[AttemptShown]
    next_cursor: UUID | None


def attempt_page(
    team: TeamContext,
    *,
    endpoint_id: UUID | None = None,
    message_id: UUID | None = None,
    cursor: UUID | None = None,
    limit: int,
    filters: AttemptFilters = AttemptFilters(),
) -> AttemptPage:
    """One page of the attempts at an endpoint, of a message, at both; or at all of the team's endpoints.

    Without those with messages about deleted people; where some would be on it, it is looked for twice.
    """
    branches = [_in_time(branch, filters) for branch in _branches(team, endpoint_id, message_id)]
    if filters.outcome == AttemptOutcome.FAILED:
        branches = [branch.filter(FAILED) for branch in branches]
    also = _also(filters)
    page = id_page(branches, also=also, cursor=cursor, limit=limit)
    shown = _shown(team, page.ids)
    if len(shown) < len(page.ids):
        page = id_page(branches, also=_SHOWN & (also or Q()), cursor=cursor, limit=limit)
        shown = _shown(team, page.ids)
    return AttemptPage(shown, page.next_cursor)


def attempt_get(team: TeamContext, attempt_id: UUID) -> AttemptShown:
    """One attempt; 404 where the team has none of this id, or its message is about a deleted person."""
    found = _shown(team, [attempt_id])
    if not found:
        raise not_found()
    return found[0]


#: Any 2xx.
SUCCEEDED = Q(status_code__range=(200, 299))
#: As the partial index of failures says it.
FAILED = Q(status_code=None) | ~Q(status_code__range=(200, 299))
#: Whose message is shown.
_SHOWN = of_no_deleted_user("delivery__event__user_id")


def _branches(team: TeamContext, endpoint_id: UUID | None, message_id: UUID | None) -> list[TeamQuerySet[Attempt]]:
    attempts = Attempt.objects.for_team(team)
    if message_id is not None:
        # A message has few deliveries, and a delivery few attempts.
        deliveries = Delivery.objects.for_team(team).filter(event_id=message_id)
        if endpoint_id is not None:
            deliveries = deliveries.filter(endpoint_id=endpoint_id)
        return [attempts.filter(delivery_id__in=list(deliveries.values_list("pk", flat=True)))]
    if endpoint_id is not None:
        return [attempts.filter(endpoint_id=endpoint_id)]
    return [attempts.filter(endpoint_id=one) for one in _endpoint_ids(team)]


def _endpoint_ids(team: TeamContext) -> list[UUID]:
    return list(Endpoint.objects.for_team(team).kept().order_by("-id").values_list("pk", flat=True))


def _in_time(attempts: TeamQuerySet[Attempt], filters: AttemptFilters) -> TeamQuerySet[Attempt]:
    """Rows are made when their request has ended, so their ids are a little later than `attempted_at`."""
    if filters.after is not None:
        attempts = attempts.filter(pk__gte=uuid_floor(filters.after))
    if filters.before is not None:
        attempts = attempts.filter(pk__lt=uuid_floor(filters.before + timedelta(seconds=ATTEMPT_LATE_SECONDS)))
    return attempts


def _also(filters: AttemptFilters) -> Q | None:
    also = Q()
    if filters.outcome == AttemptOutcome.SUCCEEDED:
        also &= SUCCEEDED
    if filters.status_code is not None:
        also &= Q(status_code=filters.status_code)
    if filters.event_type is not None:
        wanted = filters.event_type
        names = {wanted, *(name for name in event_types() if names_type(wanted, name))}
        also &= Q(event_type__in=sorted(names))
    if filters.after is not None:
        also &= Q(attempted_at__gte=filters.after)
    if filters.before is not None:
        also &= Q(attempted_at__lt=filters.before)
    return also or None


def _shown(team: TeamContext, ids: Collection[UUID]) -> list[AttemptShown]:
    rows = Attempt.objects.for_team(team).filter(_SHOWN, pk__in=ids).select_related("delivery")
    return [
        AttemptShown(
            id=row.id,
            delivery_id=row.delivery_id,
            event_id=row.delivery.event_id,
            message_id=f"msg_{row.delivery.event_id}",
            event_type=row.event_type,
            endpoint_id=row.endpoint_id,
            number=row.number,
            attempted_at=row.attempted_at,
            duration_milliseconds=row.duration_milliseconds,
            status_code=row.status_code,
            error=row.error or None,
            answer_excerpt=row.answer_excerpt,
            delivery_status=DeliveryStatus(row.delivery.status),
            next_attempt_at=row.delivery.next_attempt_at,
        )
        for row in rows.order_by("-attempted_at", "-id")
    ]
