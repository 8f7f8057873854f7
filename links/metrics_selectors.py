"""How many connections a team has, and had by week."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Count, Q

from healthsvc.kernel.principal import TeamContext
from links.models import Connection
from links.states import ConnectionStatus
from users.registry import ConnectionCounts, WeekOfConnections

_WEEK: Final = timedelta(weeks=1)


def connection_counts(team: TeamContext, week_starts: Sequence[datetime]) -> ConnectionCounts:
    """One query, which passes once over the team's connections. A demonstration counts like any other.

    What stood at a week's end are those made before it and not ended before it; of erased users nothing is counted.
    """
    living = Q(disconnected_at=None)
    wanted = {"living": living, "errored": living & Q(status=ConnectionStatus.ERROR)}
    for index, start in enumerate(week_starts):
        end = start + _WEEK
        wanted[f"made_{index}"] = Q(created_at__gte=start, created_at__lt=end)
        wanted[f"standing_{index}"] = Q(created_at__lt=end) & (living | Q(disconnected_at__gte=end))
    rows = Connection.objects.for_team(team)
    found = rows.aggregate(**{name: Count("pk", filter=condition) for name, condition in wanted.items()})
    weeks = range(len(week_starts))
    return ConnectionCounts(
        living=found["living"],
        errored=found["errored"],
        by_week=[WeekOfConnections(found[f"made_{index}"], found[f"standing_{index}"]) for index in weeks],
    )
