"""Users of a team: the people whose data the service keeps."""

from typing import Self

from django.db import models
from django.db.models.functions import Collate

from healthsvc.kernel.crypto import EncryptedTextField
from healthsvc.kernel.ids import uuid_random
from healthsvc.kernel.rows import TeamQuerySet, environment_check, environment_field
from users.constants import CLIENT_USER_ID_MAXIMUM_CHARACTERS


class UserQuerySet(TeamQuerySet["User"]):
    """Queries over users."""

    def living(self) -> Self:
        """Users that are not on their way out."""
        return self.filter(deleted_at=None)


class User(models.Model):
    """A person. `client_user_id` is the customer's own reference, unique among the team's living users."""

    id = models.UUIDField(primary_key=True, default=uuid_random, editable=False)
    team = models.ForeignKey("management.Team", models.PROTECT, related_name="+")
    environment = environment_field()
    client_user_id = models.CharField(max_length=CLIENT_USER_ID_MAXIMUM_CHARACTERS)
    created_at = models.DateTimeField()

    fallback_time_zone = models.CharField(max_length=64, null=True)
    fallback_time_zone_source = models.CharField(max_length=40, blank=True, default="")
    fallback_time_zone_updated_at = models.DateTimeField(null=True)
    #: YYYY-MM-DD, sealed: a date of birth helps to name a person.
    fallback_birth_date = EncryptedTextField(null=True)
    fallback_birth_date_source = models.CharField(max_length=40, blank=True, default="")
    fallback_birth_date_updated_at = models.DateTimeField(null=True)
    ingestion_start_on = models.DateField(null=True)
    ingestion_end_on = models.DateField(null=True)

    deleted_at = models.DateTimeField(null=True)

    objects = UserQuerySet.as_manager()

    class Meta:
        db_table = "users_user"
        constraints = [
            models.UniqueConstraint(
                fields=["team", "environment", "client_user_id"],
                condition=models.Q(deleted_at=None),
                name="users_user_client_user_id_once",
            ),
            environment_check("users_user"),
        ]
        indexes = [
            models.Index(
                "team",
                "environment",
                models.F("created_at").desc(),
                models.F("id").desc(),
                condition=models.Q(deleted_at=None),
                name="users_user_newest_first",
            ),
            # For searches by the beginning of either: ranges, which row-level security lets an index answer.
            models.Index(
                "team",
                "environment",
                Collate("client_user_id", "C"),
                condition=models.Q(deleted_at=None),
                name="users_user_by_client_user_id",
            ),
            models.Index(
                fields=["team", "environment", "id"],
                condition=models.Q(deleted_at=None),
                name="users_user_by_id",
            ),
            # To count them: a tenth of the size of the others, and read without the table.
            models.Index(fields=["team", "environment"], condition=models.Q(deleted_at=None), name="users_user_living"),
            # For whoever brings one back.
            models.Index(
                fields=["team", "environment", "client_user_id"],
                condition=models.Q(deleted_at__isnull=False),
                name="users_user_deleted",
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)
