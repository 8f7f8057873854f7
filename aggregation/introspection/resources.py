"""What is kept of each user, by provider and resource, and when it was last asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import Final, TypeAlias
from uuid import UUID

from django.db.models import Count, Max, Min, Sum

from aggregation import registry
from aggregation.catalogue import SUMMARIES
from aggregation.models import Series, Summary
from aggregation.registry import PullAttempt
from aggregation.store.days import instant_of_us, us_of_instant
from healthsvc.kernel.principal import TeamContext

#: User, provider, resource.
Key: TypeAlias = tuple[UUID, str, str]


@dataclass(frozen=True, slots=True)
class Extent:
    """The first and the last start of samples or summaries, microseconds since 1970, and how many there are."""

    oldest_us: int
    newest_us: int
    count: int


@dataclass(frozen=True, slots=True)
class ResourceStatistics:
    """What is kept of one resource: when its oldest and newest record began, how many there are."""

    oldest: datetime | None
    newest: datetime | None
    count: int
    last_attempt: PullAttempt | None


#: Summaries that are of no day, whatever date their rows hold: the profile, devices.
_OF_NO_DAY: Final = frozenset(spec.slug for spec in SUMMARIES if spec.is_undated)


@dataclass(frozen=True, slots=True)
class UserResources:
    """What is kept of one user: resources by provider."""

    user_id: UUID
    providers: dict[str, dict[str, ResourceStatistics]]


def resources_of(team: TeamContext, user_ids: Sequence[UUID], provider: str = "") -> list[UserResources]:
    """Of each user who has data, in the order given. Costs the same statements whatever their number."""
    extents = {**_sample_extents(team, user_ids, provider), **_summary_extents(team, user_ids, provider)}
    with_data = [user_id for user_id in user_ids if user_id in {key[0] for key in extents}]
    attempts = registry.last_attempts(team, with_data)
    found = {user_id: UserResources(user_id, {}) for user_id in with_data}
    for key in sorted({*extents, *attempts}):
        user_id, slug, resource = key
        if provider in ("", slug):
            statistics = _statistics(extents.get(key), attempts.get(key))
            found[user_id].providers.setdefault(slug, {})[resource] = statistics
    return list(found.values())


def _statistics(extent: Extent | None, attempt: PullAttempt | None) -> ResourceStatistics:
    if extent is None:
        return ResourceStatistics(None, None, 0, attempt)
    return ResourceStatistics(instant_of_us(extent.oldest_us), instant_of_us(extent.newest_us), extent.count, attempt)


def _sample_extents(team: TeamContext, user_ids: Sequence[UUID], provider: str) -> dict[Key, Extent]:
    """From what series say of themselves: no block is read."""
    rows = Series.objects.for_team(team).filter(user_id__in=user_ids, samples__gt=0)
    if provider:
        rows = rows.filter(provider=provider)
    grouped = rows.order_by().values_list("user_id", "provider", "resource")
    return {
        (user_id, slug, resource): Extent(oldest_us, newest_us, count)
        for user_id, slug, resource, oldest_us, newest_us, count in grouped.annotate(
            Min("oldest_us"), Max("newest_us"), Sum("samples")
        )
    }


def _summary_extents(team: TeamContext, user_ids: Sequence[UUID], provider: str) -> dict[Key, Extent]:
    """As of samples; a summary of a day begins at midnight UTC, one of no day when it came or changed."""
    rows = Summary.objects.for_team(team).filter(user_id__in=user_ids)
    if provider:
        rows = rows.filter(provider=provider)
    grouped = rows.order_by().values_list("user_id", "provider", "resource")
    found: dict[Key, Extent] = {}
    moments = [Min("created_at"), Max("updated_at")]
    days = [Min("starts_at"), Max("starts_at"), Min("calendar_date"), Max("calendar_date"), Count("id")]
    for user_id, slug, resource, came_at, changed_at, first_at, last_at, first_on, last_on, count in grouped.annotate(
        *moments, *days
    ):
        oldest = first_at or datetime.combine(first_on, time(), UTC)
        newest = last_at or datetime.combine(last_on, time(), UTC)
        if resource in _OF_NO_DAY:
            oldest, newest = came_at, changed_at
        found[user_id, slug, resource] = Extent(us_of_instant(oldest), us_of_instant(newest), count)
    return found
