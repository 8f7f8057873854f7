"""What was pulled of whom: the first pulls of each connection, and when each resource was last asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from links.models import Connection, Pull
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
    """Of each user who is connected or was pulled from, in the order given. Four statements, whatever the number."""
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
    rows = Pull.objects.for_team(team).filter(user_id__in=user_ids, kind=PullKind.BACKFILL)
    newest = _of_provider(rows, "connection__provider", provider)
    newest = newest.order_by(*_ONE_OF_EACH, "-created_at", "-id").distinct(*_ONE_OF_EACH)
    # Without the connection's tokens, which would be decrypted.
    pulls = list(newest.select_related("connection").defer(*(f"connection__{name}" for name in SECRET_FIELDS)))
    days = days_with_data(
        team,
        [
            DaysWanted(pull.user_id, pull.connection.provider, pull.resource, pull.start_on, pull.end_on)
            for pull in pulls
        ],
    )
    found: dict[tuple[UUID, str], dict[str, HistoricalPull]] = {}
    for pull, count in zip(pulls, days, strict=True):
        found.setdefault((pull.user_id, pull.connection.provider), {})[pull.resource] = HistoricalPull(
            id=pull.pk,
            status=PullStatus(pull.status),
            start_on=pull.start_on,
            end_on=pull.end_on,
            scheduled_at=pull.created_at,
            started_at=pull.started_at,
            ended_at=pull.ended_at,
            days_with_data=count,
            error_code=pull.error_code,
        )
    return found


def _of_provider(rows: "QuerySet[Any]", field: str, provider: str) -> "QuerySet[Any]":
    return rows.filter(**{field: provider}) if provider else rows
