"""Staff, organisations and teams."""

from typing import Final
from uuid import UUID

from django.contrib.auth.models import AbstractUser
from django.db import models

from healthsvc.kernel.ids import uuid_ordered
from healthsvc.kernel.rows import choice_check
from management.constants import INTEGRATION_TEAM_ID_MAXIMUM_CHARACTERS, NAME_MAXIMUM_CHARACTERS, Region

INTEGRATION_TEAM_ID_ONCE: Final = "team_integration_id_once"


class StaffUser(AbstractUser):
    """A person who works for the operator and may use the admin."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)

    class Meta(AbstractUser.Meta):
        db_table = "management_staff_user"
        verbose_name = "staff login"
        verbose_name_plural = "staff logins"


class Organisation(models.Model):
    """A customer. Owns teams and management keys."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    name = models.CharField(max_length=NAME_MAXIMUM_CHARACTERS)
    created_at = models.DateTimeField()

    class Meta:
        db_table = "management_organisation"

    def __str__(self) -> str:
        return self.name


class TeamInOrganisation(models.QuerySet["Team"]):
    """Teams of one organisation."""

    def for_organisation(self, organisation_id: UUID) -> "TeamInOrganisation":
        """Teams that this organisation owns."""
        return self.filter(organisation_id=organisation_id)

    def living(self) -> "TeamInOrganisation":
        """Teams that were not deleted."""
        return self.filter(deleted_at=None)


class Team(models.Model):
    """A tenant. It has a sandbox and a production; a key fixes which."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    organisation = models.ForeignKey(Organisation, models.PROTECT, related_name="teams")
    name = models.CharField(max_length=NAME_MAXIMUM_CHARACTERS)
    region = models.CharField(max_length=2, choices=Region.choices)
    created_at = models.DateTimeField()
    #: The customer's own name for the team; unique among the living teams of its organisation.
    integration_team_id = models.CharField(max_length=INTEGRATION_TEAM_ID_MAXIMUM_CHARACTERS, null=True, blank=True)
    #: From here on nothing opens the team; until `erase_due_at` it can be brought back.
    deleted_at = models.DateTimeField(null=True, editable=False)
    erase_due_at = models.DateTimeField(null=True, editable=False)
    erased_at = models.DateTimeField(null=True, editable=False)

    objects = TeamInOrganisation.as_manager()

    class Meta:
        db_table = "management_team"
        constraints = [
            choice_check("region", Region.values, "management_team"),
            models.UniqueConstraint(
                fields=["organisation", "integration_team_id"],
                condition=models.Q(deleted_at=None),
                name=INTEGRATION_TEAM_ID_ONCE,
            ),
            models.CheckConstraint(
                condition=models.Q(deleted_at=None, erase_due_at=None, erased_at=None)
                | models.Q(deleted_at__isnull=False, erase_due_at__isnull=False),
                name="management_team_deleted_has_due_date",
            ),
        ]
        indexes = [
            models.Index(
                "organisation", models.F("created_at").desc(), models.F("id").desc(), name="team_newest_first"
            ),
            models.Index(
                fields=["erase_due_at"],
                name="team_erase_due",
                condition=models.Q(erase_due_at__isnull=False, erased_at=None),
            ),
        ]

    def __str__(self) -> str:
        return self.name
