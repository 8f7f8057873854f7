"""Keys and short-lived access tokens. Of each only a hash is stored."""

from datetime import datetime

from django.contrib.postgres.fields import ArrayField
from django.db import models

from healthsvc.kernel.ids import uuid_ordered
from healthsvc.kernel.principal import Environment, TeamContext
from healthsvc.kernel.rows import TeamQuerySet, choice_check, environment_check, environment_field
from management.constants import KeyRole
from management.models.tenants import Organisation, Team


class KeyRow(models.Model):
    """What team keys and management keys have in common. The secret itself is never stored."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    public_id = models.CharField(max_length=8, unique=True)
    secret_hash = models.BinaryField(max_length=32)
    last_characters = models.CharField(max_length=4)
    label = models.CharField(max_length=100)
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=100)
    last_used_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True)
    #: Since when there is a successor.
    rotated_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.label} (…{self.last_characters})"

    def is_alive(self, now: datetime) -> bool:
        """Neither revoked nor over."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)


class TeamKey(KeyRow):
    """A key that opens one team in one environment."""

    team = models.ForeignKey(Team, models.PROTECT, related_name="keys")
    environment = environment_field()

    objects = TeamQuerySet["TeamKey"].as_manager()

    class Meta:
        db_table = "management_team_key"
        constraints = [environment_check("management_team_key")]
        indexes = [models.Index(fields=["team", "environment", "created_at"], name="team_key_of_team")]

    @property
    def context(self) -> TeamContext:
        """The tenant this key opens."""
        return TeamContext(self.team_id, Environment(self.environment))


class ManagementKey(KeyRow):
    """A key that opens the management address for one organisation."""

    organisation = models.ForeignKey(Organisation, models.PROTECT, related_name="keys")
    role = models.CharField(max_length=10, choices=KeyRole.choices)
    #: Teams that a team_admin key is bound to; empty for org_admin.
    team_ids = ArrayField(models.UUIDField(), default=list)

    class Meta:
        db_table = "management_management_key"
        constraints = [
            choice_check("role", KeyRole.values, "management_management_key"),
            models.CheckConstraint(
                condition=models.Q(role="team_admin") | models.Q(team_ids=[]), name="management_key_org_admin_unbound"
            ),
        ]
        indexes = [models.Index(fields=["organisation", "created_at"], name="management_key_of_org")]


class TeamAccessToken(models.Model):
    """A token that a management key made, to open one team in one environment for some minutes."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    team = models.ForeignKey(Team, models.PROTECT, related_name="+")
    environment = environment_field()
    token_hash = models.BinaryField(max_length=32, unique=True)
    #: It opens nothing once this key is revoked or no longer bound to the team.
    management_key = models.ForeignKey(ManagementKey, models.PROTECT, related_name="+")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()

    objects = TeamQuerySet["TeamAccessToken"].as_manager()

    class Meta:
        db_table = "management_team_access_token"
        constraints = [environment_check("management_team_access_token")]
        indexes = [models.Index(fields=["expires_at"], name="team_access_token_expiry")]

    @property
    def context(self) -> TeamContext:
        """The tenant this token opens."""
        return TeamContext(self.team_id, Environment(self.environment))
