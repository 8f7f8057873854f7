"""What was pulled of whom: the first pulls of each connection, and when each resource was last asked for."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, Final
from uuid import UUID

from django.db.models import QuerySet

from aggregation.introspection import DaysWanted, days_with_data
from aggregation.registry import Attempts, AttemptStatus, PullAttempt
from healthsvc.kernel.principal import TeamContext
from links.catalogue import catalogue
from links.connection_selectors import SECRET_FIELDS
from links.constants import PullKind
from links.models import Connection, DeviceSync, Pull
from links.states import PullStatus

_ENDED: Final[Mapping[PullStatus, AttemptStatus]] = {
    PullStatus.SUCCESS: AttemptStatus.SUCCESS,
    PullStatus.FAILURE: AttemptStatus.FAILURE,
}
_ONE_OF_EACH: Final = ("user_id", "connection__provider", "resource")


@dataclass(frozen=True, slots=True)
class HistoricalPull:
    """The last first pull of one resource, from one day to another, both included."""

    id: UUID
    status: PullStatus
    start_on: date
    end_on: date
    scheduled_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    days_with_data: int
    error_code: str


@dataclass(frozen=True, slots=True)
class ProviderPulls:
    """First pulls of one provider by resource, and what the provider has that was never asked for."""

    pulled: dict[str, HistoricalPull]
    not_pulled: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UserPulls:
    """First pulls of one user by provider."""

    user_id: UUID
    providers: dict[str, ProviderPulls]


def last_attempts(team: TeamContext, user_ids: Sequence[UUID]) -> Attempts:
    """The last pull that ended, by user, provider and resource. One statement."""
    rows = Pull.objects.for_team(team).filter(user_id__in=user_ids, status__in=[status.value for status in _ENDED])
    newest = rows.order_by(*_ONE_OF_EACH, "-ended_at", "-id").distinct(*_ONE_OF_EACH)
    return {
        (user_id, provider, resource): PullAttempt(ended_at, _ENDED[PullStatus(status)])
        for user_id, provider, resource, ended_at, status in newest.values_list(*_ONE_OF_EACH, "ended_at", "status")
    }


def historical_pulls(team: TeamContext, user_ids: Sequence[UUID], provider: str = "") -> list[UserPulls]:
    """Of each user who is connected or was pulled from, in the order given. Five statements, whatever the number."""
    connected = _connected(team, user_ids, provider)
    pulls = _pulls(team, user_ids, provider)
    found: list[UserPulls] = []
    for user_id in user_ids:
        slugs = sorted({slug for one, slug in {*connected, *pulls} if one == user_id})
        providers = {
            slug: _provider_pulls(slug, pulls.get((user_id, slug), {}), (user_id, slug) in connected) for slug in slugs
        }
        if providers:
            found.append(UserPulls(user_id, providers))
    return found


def _provider_pulls(slug: str, pulled: dict[str, HistoricalPull], is_connected: bool) -> ProviderPulls:
    offered = catalogue()[slug].resources if is_connected and slug in catalogue() else ()
    return ProviderPulls(pulled, tuple(resource for resource in offered if resource not in pulled))


def _connected(team: TeamContext, user_ids: Sequence[UUID], provider: str) -> set[tuple[UUID, str]]:
    rows = Connection.objects.for_team(team).filter(user_id__in=user_ids, disconnected_at=None)
    return set(_of_provider(rows, "provider", provider).values_list("user_id", "provider"))


def _pulls(
    team: TeamContext, user_ids: Sequence[UUID], provider: str
) -> dict[tuple[UUID, str], dict[str, HistoricalPull]]:
    """First pulls, and what a telephone has said it sent whole, by user and provider, then resource."""
    first = [*_pulled(team, user_ids, provider), *_marked(team, user_ids, provider)]
    counts = days_with_data(team, [days for days, _ in first])
    found: dict[tuple[UUID, str], dict[str, HistoricalPull]] = {}
    for (days, pull), count in zip(first, counts, strict=True):
        found.setdefault((days.user_id, days.provider), {})[days.resource] = replace(pull, days_with_data=count)
    return found


def _pulled(team: TeamContext, user_ids: Sequence[UUID], provider: str) -> Iterator[tuple[DaysWanted, HistoricalPull]]:
    rows = Pull.objects.for_team(team).filter(user_id__in=user_ids, kind=PullKind.BACKFILL)
    newest = _of_provider(rows, "connection__provider", provider)
    newest = newest.order_by(*_ONE_OF_EACH, "-created_at", "-id").distinct(*_ONE_OF_EACH)
    # Without the connection's tokens, which would be decrypted.
    for pull in newest.select_related("connection").defer(*(f"connection__{name}" for name in SECRET_FIELDS)):
        days = DaysWanted(pull.user_id, pull.connection.provider, pull.resource, pull.start_on, pull.end_on)
        yield (
            days,
            HistoricalPull(
                id=pull.pk,
                status=PullStatus(pull.status),
                start_on=pull.start_on,
                end_on=pull.end_on,
                scheduled_at=pull.created_at,
                started_at=pull.started_at,
                ended_at=pull.ended_at,
                days_with_data=0,
                error_code=pull.error_code,
            ),
        )


def _marked(team: TeamContext, user_ids: Sequence[UUID], provider: str) -> Iterator[tuple[DaysWanted, HistoricalPull]]:
    """Marks by which a device said that its first sync of a resource is over."""
    rows = DeviceSync.objects.for_team(team).filter(user_id__in=user_ids, stage="historical")
    newest = _of_provider(rows, "connection__provider", provider)
    marks = newest.order_by(*_ONE_OF_EACH, "-completed_at", "-id").distinct(*_ONE_OF_EACH)
    names = ("id", "user_id", "connection__provider", "resource", "start_at", "end_at", "completed_at")
    for mark_id, user_id, slug, resource, start_at, end_at, completed_at in marks.values_list(*names):
        yield (
            DaysWanted(user_id, slug, resource, start_at.date(), end_at.date()),
            HistoricalPull(
                id=mark_id,
                status=PullStatus.SUCCESS,
                start_on=start_at.date(),
                end_on=end_at.date(),
                scheduled_at=completed_at,
                started_at=None,
                ended_at=completed_at,
                days_with_data=0,
                error_code="",
            ),
        )


def _of_provider(rows: "QuerySet[Any]", field: str, provider: str) -> "QuerySet[Any]":
    return rows.filter(**{field: provider}) if provider else rows
