"""What every team-owned row has: its team, its environment, and the query that keeps to them."""

from typing import Any, Self, TypeVar

from django.db import models

from healthsvc.kernel.principal import Environment, TeamContext

M = TypeVar("M", bound=models.Model)

ENVIRONMENT_CHOICES = [(environment.value, environment.value) for environment in Environment]


class TeamQuerySet(models.QuerySet[M]):
    """Queries that name their team. The database would refuse others' rows anyway; this makes it an index search."""

    def for_team(self, team: TeamContext) -> Self:
        """Rows of this team in this environment."""
        return self.filter(team_id=team.team_id, environment=team.environment)


def environment_field() -> "models.CharField[str, str]":
    """The column `environment` of a team-owned table."""
    return models.CharField(max_length=10, choices=ENVIRONMENT_CHOICES)


def choice_check(field: str, values: list[str], table: str) -> models.CheckConstraint:
    """The constraint that stands behind a field's choices."""
    return models.CheckConstraint(condition=models.Q(**{f"{field}__in": values}), name=f"{table}_{field}_known")


def environment_check(table: str) -> models.CheckConstraint:
    """The constraint behind `environment`."""
    return choice_check("environment", [environment.value for environment in Environment], table)


def team_values(team: TeamContext) -> dict[str, Any]:
    """The two columns, for creating a row."""
    return {"team_id": team.team_id, "environment": str(team.environment)}
