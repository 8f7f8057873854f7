"""Changes to a team's source priorities."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.db import transaction

from aggregation import registry
from aggregation.constants import SOURCE_IDS
from aggregation.models import SourcePriority
from healthsvc.kernel.errors import Problem, invalid
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.rows import team_values


@dataclass(frozen=True, slots=True)
class PriorityChange:
    """New priorities of one kind of data by provider slug; None takes a provider off the list."""

    data_type: str
    priorities: Mapping[str, int | None] = field(default_factory=dict)


def source_priorities_update(*, team: TeamContext, changes: Sequence[PriorityChange]) -> None:
    """Set what is named and leave the rest. 422, and nothing is changed, where a provider is unknown or named twice."""
    problems = _problems(changes)
    if problems:
        raise invalid(problems)
    wanted = {
        (change.data_type, provider): priority for change in changes for provider, priority in change.priorities.items()
    }
    rows = [
        SourcePriority(**team_values(team), data_type=data_type, provider=provider, priority=priority)
        for (data_type, provider), priority in sorted(wanted.items(), key=lambda item: item[0])
        if priority is not None
    ]
    with transaction.atomic():
        # Held in one order, as the new ones are made in one, so that two writers never wait for each other.
        list(SourcePriority.objects.for_team(team).order_by("pk").select_for_update())
        SourcePriority.objects.bulk_create(
            rows,
            update_conflicts=True,
            unique_fields=["team", "environment", "data_type", "provider"],
            update_fields=["priority"],
        )
        for change in changes:
            gone = [provider for provider, priority in change.priorities.items() if priority is None]
            if gone:
                ours = SourcePriority.objects.for_team(team)
                ours.filter(data_type=change.data_type, provider__in=gone).delete()


def _problems(changes: Sequence[PriorityChange]) -> list[Problem]:
    found: list[Problem] = []
    seen: set[tuple[str, str]] = set()
    for place, change in enumerate(changes):
        loc = ("body", place, "priorities") if len(changes) > 1 else ("body", "priorities")
        if not all(_is_provider(provider) for provider in change.priorities):
            found.append(Problem(loc, "Names a provider that is not known.", "enum"))
        named = {(change.data_type, provider) for provider in change.priorities}
        if named & seen:
            found.append(Problem(loc, "Names a provider that was named before for this data_type.", "duplicate"))
        seen |= named
    return found


def _is_provider(slug: str) -> bool:
    return slug in SOURCE_IDS or any(answer(slug) is not None for answer in registry.provider_names)
