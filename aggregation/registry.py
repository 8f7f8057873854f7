"""What the aggregation app needs from the apps above it; they fill it in `AppConfig.ready()`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias
from uuid import UUID

from healthsvc.kernel.principal import TeamContext


@dataclass(frozen=True, slots=True)
class ProviderName:
    """A provider as people see it: its name, and the address of its logo (empty where there is none)."""

    name: str
    logo: str


#: Answers a provider's slug with its name, or None where the provider is not theirs. Asked in order.
provider_names: list[Callable[[str], ProviderName | None]] = []


def provider_name(slug: str) -> ProviderName:
    """A provider's name; made of the slug where nobody knows it."""
    for answer in provider_names:
        found = answer(slug)
        if found is not None:
            return found
    return ProviderName(slug.replace("_", " ").title(), "")


@dataclass(frozen=True, slots=True)
class DevicePush:
    """A person's telephone may push for a provider. `backfilled`: the resources whose first backfill has ended."""

    backfilled: frozenset[str]


#: Answers whether this user's device may push for a provider now; None where it may not. Asked in order.
device_pushes: list[Callable[[TeamContext, UUID, str], DevicePush | None]] = []


def device_push(team: TeamContext, user_id: UUID, provider: str) -> DevicePush | None:
    """What a signed-in device of the user may push for a provider; None where nothing."""
    for answer in device_pushes:
        found = answer(team, user_id, provider)
        if found is not None:
            return found
    return None


class AttemptStatus(StrEnum):
    """How a pull ended."""

    SUCCESS = "success"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True)
class PullAttempt:
    """When a pull of a resource ended, and how."""

    ended_at: datetime
    status: AttemptStatus


#: Attempts by user, provider slug and resource slug.
Attempts: TypeAlias = Mapping[tuple[UUID, str, str], PullAttempt]

#: Answers for many users at once when their resources were last pulled.
attempt_sources: list[Callable[[TeamContext, Sequence[UUID]], Attempts]] = []


def last_attempts(team: TeamContext, user_ids: Sequence[UUID]) -> Attempts:
    """The last pull of each resource that was ever pulled."""
    found: dict[tuple[UUID, str, str], PullAttempt] = {}
    for answer in attempt_sources:
        found.update(answer(team, user_ids))
    return found
