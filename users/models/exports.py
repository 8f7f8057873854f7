"""Exports: that an archive of everything about a user was asked for, how that went, and where it is kept."""

from django.db import models

from healthsvc.kernel.ids import uuid_ordered
from healthsvc.kernel.principal import Environment, TeamContext
from healthsvc.kernel.rows import TeamQuerySet, choice_check, environment_check, environment_field
from users.constants import EXPORT_ERROR_MAXIMUM_CHARACTERS
from users.states import ExportStatus

_STATUSES = [status.value for status in ExportStatus]


class Export(models.Model):
    """One archive, from the request to its end. The background job `job_id` makes it; `file_id` is the stored file."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    team = models.ForeignKey("management.Team", models.PROTECT, related_name="+")
    environment = environment_field()
    user = models.ForeignKey("users.User", models.PROTECT, related_name="+")
    status = models.CharField(
        max_length=10, choices=[(status, status) for status in _STATUSES], default=ExportStatus.MAKING.value
    )
    job_id = models.UUIDField()
    file_id = models.UUIDField(null=True)
    #: Of the finished archive: records in it, bytes of it.
    records = models.BigIntegerField(default=0)
    size_bytes = models.BigIntegerField(default=0)
    requested_at = models.DateTimeField()
    #: When a message was sent last to whichever worker is free.
    woken_at = models.DateTimeField(null=True)
    ready_at = models.DateTimeField(null=True)
    #: When a finished archive is removed.
    expires_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    error_code = models.CharField(max_length=EXPORT_ERROR_MAXIMUM_CHARACTERS, blank=True, default="")

    objects = TeamQuerySet["Export"].as_manager()

    class Meta:
        db_table = "users_export"
        #: The archive is everything there is: making one, or seeing that there is one, is not enough to read it.
        permissions = [("download_export", "Can download archives of users")]
        constraints = [
            models.UniqueConstraint(
                fields=["team", "environment", "user"],
                condition=models.Q(status=ExportStatus.MAKING.value),
                name="users_export_making_once",
            ),
            models.CheckConstraint(
                condition=~models.Q(status=ExportStatus.READY.value)
                | models.Q(file_id__isnull=False, ready_at__isnull=False, expires_at__isnull=False),
                name="users_export_ready_has_file",
            ),
            models.CheckConstraint(
                condition=models.Q(status=ExportStatus.READY.value) | models.Q(file_id=None),
                name="users_export_file_while_ready",
            ),
            choice_check("status", _STATUSES, "users_export"),
            environment_check("users_export"),
        ]
        indexes = [
            models.Index("team", "environment", "user", models.F("id").desc(), name="users_export_newest_first"),
            models.Index(
                fields=["expires_at"],
                name="users_export_expiry",
                condition=models.Q(status=ExportStatus.READY.value),
            ),
            models.Index(fields=["ended_at"], name="users_export_ended", condition=models.Q(ended_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return str(self.id)

    @property
    def context(self) -> TeamContext:
        """The tenant whose user it is."""
        return TeamContext(self.team_id, Environment(self.environment))
