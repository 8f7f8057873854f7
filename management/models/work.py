"""Background jobs, stored files, kept replies and what workers were seen."""

from django.db import models

from healthsvc.kernel.crypto import EncryptedJSONField
from healthsvc.kernel.ids import uuid_ordered
from healthsvc.kernel.rows import TeamQuerySet, choice_check, environment_check, environment_field
from management.constants import JobStatus, ReplyState
from management.models.tenants import Organisation, Team


class BackgroundJob(models.Model):
    """Work that outlives its request: what is owed, how far it is, and what came of it."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    team = models.ForeignKey(Team, models.PROTECT, related_name="+")
    environment = environment_field()
    user_id = models.UUIDField(null=True)
    kind = models.CharField(max_length=60)
    status = models.CharField(max_length=10, choices=JobStatus.choices, default=JobStatus.QUEUED)
    progress_done = models.BigIntegerField(default=0)
    progress_total = models.BigIntegerField(default=0)
    #: What the job works on: ids and names, no health data.
    parameters = models.JSONField(default=dict)
    #: Counts by type and reason once it ends, and the point to go on from while it runs.
    receipt = models.JSONField(default=dict)
    checkpoint = models.JSONField(default=dict)
    attempts = models.PositiveIntegerField(default=0)
    error_code = models.CharField(max_length=60, blank=True, default="")
    created_at = models.DateTimeField()
    lease_until = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    objects = TeamQuerySet["BackgroundJob"].as_manager()

    class Meta:
        db_table = "management_background_job"
        constraints = [
            choice_check("status", JobStatus.values, "management_background_job"),
            environment_check("management_background_job"),
        ]
        indexes = [
            models.Index(fields=["team", "environment", "user_id", "created_at"], name="background_job_of_user"),
            models.Index(
                fields=["status", "lease_until"],
                name="background_job_open",
                condition=models.Q(status__in=["queued", "running"]),
            ),
        ]


class StoredFile(models.Model):
    """A file kept encrypted in the configured storage."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    team = models.ForeignKey(Team, models.PROTECT, related_name="+")
    environment = environment_field()
    user_id = models.UUIDField(null=True)
    purpose = models.CharField(max_length=60)
    storage_name = models.CharField(max_length=200, unique=True)
    size_bytes = models.BigIntegerField()
    created_at = models.DateTimeField()

    objects = TeamQuerySet["StoredFile"].as_manager()

    class Meta:
        db_table = "management_stored_file"
        constraints = [environment_check("management_stored_file")]
        indexes = [models.Index(fields=["team", "environment", "user_id"], name="stored_file_of_user")]


class ReplyRow(models.Model):
    """The answer to a POST that came with an idempotency key, so that a repeat does nothing twice."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    key_hash = models.BinaryField(max_length=32)
    request_hash = models.BinaryField(max_length=32)
    state = models.CharField(max_length=10, choices=ReplyState.choices, default=ReplyState.RUNNING)
    status_code = models.PositiveSmallIntegerField(null=True)
    reply: "EncryptedJSONField" = EncryptedJSONField(null=True)
    started_at = models.DateTimeField()
    expires_at = models.DateTimeField()

    class Meta:
        abstract = True


class IdempotentReply(ReplyRow):
    """One of the team API."""

    team = models.ForeignKey(Team, models.PROTECT, related_name="+")
    environment = environment_field()
    user_id = models.UUIDField(null=True)

    objects = TeamQuerySet["IdempotentReply"].as_manager()

    class Meta:
        db_table = "management_idempotent_reply"
        constraints = [
            models.UniqueConstraint(fields=["team", "environment", "key_hash"], name="idempotent_reply_once"),
            choice_check("state", ReplyState.values, "management_idempotent_reply"),
            environment_check("management_idempotent_reply"),
        ]
        indexes = [
            models.Index(fields=["expires_at"], name="idempotent_reply_expiry"),
            models.Index(
                fields=["team", "environment", "user_id"],
                condition=models.Q(user_id__isnull=False),
                name="idempotent_reply_of_user",
            ),
        ]


class OrganisationReply(ReplyRow):
    """One of the management address."""

    organisation = models.ForeignKey(Organisation, models.PROTECT, related_name="+")

    class Meta:
        db_table = "management_organisation_reply"
        constraints = [
            models.UniqueConstraint(fields=["organisation", "key_hash"], name="organisation_reply_once"),
            choice_check("state", ReplyState.values, "management_organisation_reply"),
        ]
        indexes = [models.Index(fields=["expires_at"], name="organisation_reply_expiry")]


class WorkerSighting(models.Model):
    """When a worker last ran a task; `/readyz` reads it."""

    name = models.CharField(primary_key=True, max_length=40)
    seen_at = models.DateTimeField()

    class Meta:
        db_table = "management_worker_sighting"
