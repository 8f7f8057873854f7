"""What every table of this app has."""

from django.db import models

from healthsvc.kernel.principal import Environment, TeamContext
from healthsvc.kernel.rows import environment_field


def choices_of(values: list[str]) -> list[tuple[str, str]]:
    """A field's choices, each its own label."""
    return [(value, value) for value in values]


class TeamRow(models.Model):
    """What every table of this app has: its team in one environment."""

    team = models.ForeignKey("management.Team", models.PROTECT, related_name="+")
    environment = environment_field()

    class Meta:
        abstract = True

    @property
    def context(self) -> TeamContext:
        """The tenant this row belongs to."""
        return TeamContext(self.team_id, Environment(self.environment))
