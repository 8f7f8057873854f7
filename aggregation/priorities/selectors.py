"""A team's source priorities as they are listed, and as the query engine takes them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from aggregation.constants import PriorityResource
from aggregation.models import SourcePriority
from aggregation.query import Priorities
from healthsvc.kernel.postgres.statements import rows_of
from healthsvc.kernel.principal import TeamContext

#: Asked for by every query, so it is prepared and read without building models.
_PRIORITIES: Final = """
SELECT data_type, provider, priority
FROM aggregation_source_priority
WHERE team_id = %(team_id)b AND environment = %(environment)b
"""

#: The kind of data whose priorities hold for a table of the query; the others have none.
_KIND_OF_TABLE: Final[Mapping[str, PriorityResource]] = MappingProxyType(
    {
        "sleep": PriorityResource.SLEEP,
        "derived_readiness": PriorityResource.SLEEP,
        "activity": PriorityResource.ACTIVITY,
        "workout": PriorityResource.WORKOUTS,
        "body": PriorityResource.BODY,
        "timeseries": PriorityResource.TIMESERIES,
    }
)


def source_priorities(team: TeamContext, data_type: str | None = None) -> list[SourcePriority]:
    """The team's priorities by kind of data, the most trusted provider first."""
    found = SourcePriority.objects.for_team(team)
    if data_type is not None:
        found = found.filter(data_type=data_type)
    return list(found.order_by("data_type", "-priority", "provider"))


def query_priorities(team: TeamContext) -> Priorities:
    """The team's priorities by table of the query; one statement."""
    by_kind: dict[str, dict[str, int]] = {}
    found = rows_of(_PRIORITIES, {"team_id": team.team_id, "environment": str(team.environment)})
    for data_type, provider, priority in found:
        by_kind.setdefault(data_type, {})[provider] = priority
    return Priorities(tables={table: by_kind.get(kind, {}) for table, kind in _KIND_OF_TABLE.items()})
