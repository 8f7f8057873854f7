"""A team's figures: its users, their connections by week, the tests it ordered."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Final

from healthsvc.kernel import clock
from healthsvc.kernel.principal import TeamContext
from users import registry
from users.constants import METRIC_WEEKS
from users.models import User

_WEEK: Final = timedelta(weeks=1)


@dataclass(frozen=True, slots=True)
class Week:
    """A week, Monday to Sunday in UTC: connections made in it, and standing at its end or now."""

    starts_at: datetime
    made: int
    standing: int


@dataclass(frozen=True, slots=True)
class TeamMetrics:
    """The figures, with the last weeks, oldest first, the current one at the end."""

    users: int
    connected_sources: int
    errored_connected_sources: int
    weeks: list[Week]
    ordered_tests: int


def team_metrics(team: TeamContext) -> TeamMetrics:
    """Count. One query for users and one for each app that registered."""
    starts = week_starts(clock.now())
    counted = [count(team, starts) for count in registry.connection_counts]
    return TeamMetrics(
        users=User.objects.for_team(team).living().count(),
        connected_sources=sum(one.living for one in counted),
        errored_connected_sources=sum(one.errored for one in counted),
        weeks=[_week(start, [one.by_week[index] for one in counted]) for index, start in enumerate(starts)],
        ordered_tests=sum(count(team) for count in registry.ordered_tests),
    )


def week_starts(now: datetime) -> list[datetime]:
    """The Mondays that the last weeks begin with, at midnight UTC, oldest first."""
    today = now.astimezone(UTC).date()
    current = datetime.combine(today - timedelta(days=today.weekday()), time.min, UTC)
    return [current - _WEEK * weeks for weeks in range(METRIC_WEEKS - 1, -1, -1)]


def _week(start: datetime, counted: Sequence[registry.WeekOfConnections]) -> Week:
    return Week(start, sum(one.made for one in counted), sum(one.standing for one in counted))
