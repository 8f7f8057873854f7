"""Organisations, teams, keys, staff, the audit trail, background jobs, stored files and kept replies."""

from uuid import UUID

from django.contrib.auth.models import AbstractUser
from django.contrib.postgres.fields import ArrayField
from django.db import models

from healthsvc.kernel.crypto import EncryptedJSONField
from healthsvc.kernel.ids import uuid_ordered, uuid_random
from healthsvc.kernel.principal import Environment, TeamContext
from healthsvc.kernel.rows import TeamQuerySet, choice_check, environment_check, environment_field
from management.constants import (
    LOGO_MAXIMUM_BYTES,
    NAME_MAXIMUM_CHARACTERS,
    DuplicateAccountPolicy,
    JobStatus,
    KeyRole,
    LogoMediaType,
    Region,
    ReplyState,
)


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


class Team(models.Model):
    """A tenant. It has a sandbox and a production; a key fixes which."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    organisation = models.ForeignKey(Organisation, models.PROTECT, related_name="teams")
    name = models.CharField(max_length=NAME_MAXIMUM_CHARACTERS)
    region = models.CharField(max_length=2, choices=Region.choices)
    created_at = models.DateTimeField()

    objects = TeamInOrganisation.as_manager()

    class Meta:
        db_table = "management_team"
        constraints = [choice_check("region", Region.values, "management_team")]
        indexes = [
            models.Index("organisation", models.F("created_at").desc(), models.F("id").desc(), name="team_newest_first")
        ]

    def __str__(self) -> str:
        return self.name


class TeamSettings(models.Model):
    """Switches of a team in one environment. A missing row means all defaults."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    team = models.ForeignKey(Team, models.PROTECT, related_name="+")
    environment = environment_field()
    aggregation_enabled = models.BooleanField(default=True)
    company_name = models.CharField(max_length=NAME_MAXIMUM_CHARACTERS, blank=True, default="")
    brand_color = models.CharField(max_length=7, blank=True, default="")
    #: Empty: any https address. Else `redirect_url` must begin with one of these.
    redirect_url_prefixes = ArrayField(models.URLField(max_length=500), default=list, blank=True)
    #: Provider slugs that the hosted link page lists, in this order; empty for all that can be connected.
    link_providers = ArrayField(models.CharField(max_length=40), default=list, blank=True)
    #: Origins (`https://app.example`) that may show the hosted link pages in a frame; empty for none.
    link_frame_origins = ArrayField(models.CharField(max_length=300), default=list, blank=True)
    #: What happens when a vendor account that one user has connected is connected by another.
    duplicate_account_policy = models.CharField(
        max_length=10, choices=DuplicateAccountPolicy.choices, default=DuplicateAccountPolicy.ALLOW
    )

    #: Beginnings of event types: the team is sent no others, whatever its endpoints choose; empty for all.
    event_type_prefixes = ArrayField(models.CharField(max_length=200), default=list, blank=True)
    #: Who is written to when an endpoint is disabled for its failures; empty for nobody.
    webhook_notice_email = models.EmailField(blank=True, default="")

    objects = TeamQuerySet["TeamSettings"].as_manager()

    class Meta:
        db_table = "management_team_settings"
        verbose_name_plural = "team settings"
        constraints = [
            models.UniqueConstraint(fields=["team", "environment"], name="team_settings_once"),
            choice_check("duplicate_account_policy", DuplicateAccountPolicy.values, "management_team_settings"),
            environment_check("management_team_settings"),
        ]


class TeamLogo(models.Model):
    """A team's picture on the hosted link pages, served from our own address."""

    id = models.UUIDField(primary_key=True, default=uuid_random, editable=False)
    team = models.ForeignKey(Team, models.PROTECT, related_name="+")
    environment = environment_field()
    media_type = models.CharField(max_length=20, choices=LogoMediaType.choices)
    content = models.BinaryField(max_length=LOGO_MAXIMUM_BYTES)
    created_at = models.DateTimeField()

    objects = TeamQuerySet["TeamLogo"].as_manager()

    class Meta:
        db_table = "management_team_logo"
        constraints = [
            models.UniqueConstraint(fields=["team", "environment"], name="team_logo_once"),
            choice_check("media_type", LogoMediaType.values, "management_team_logo"),
            environment_check("management_team_logo"),
        ]


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

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.label} (…{self.last_characters})"


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


class AccessRecord(models.Model):
    """Who read or changed what. The database lets rows be added and read, never changed."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    team_id = models.UUIDField()
    environment = environment_field()
    user_id = models.UUIDField(null=True)
    actor_kind = models.CharField(max_length=20)
    actor_id = models.CharField(max_length=64)
    action = models.CharField(max_length=200)
    object_ids = models.JSONField(default=dict)
    request_id = models.CharField(max_length=64)
    address = models.CharField(max_length=45)
    occurred_at = models.DateTimeField()

    objects = TeamQuerySet["AccessRecord"].as_manager()

    class Meta:
        db_table = "management_access_record"
        constraints = [environment_check("management_access_record")]
        indexes = [
            models.Index(fields=["team_id", "environment", "user_id", "occurred_at"], name="access_record_of_user")
        ]


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


class IdempotentReply(models.Model):
    """The answer to a POST that came with an idempotency key, so that a repeat does nothing twice."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    team = models.ForeignKey(Team, models.PROTECT, related_name="+")
    environment = environment_field()
    user_id = models.UUIDField(null=True)
    key_hash = models.BinaryField(max_length=32)
    request_hash = models.BinaryField(max_length=32)
    state = models.CharField(max_length=10, choices=ReplyState.choices, default=ReplyState.RUNNING)
    status_code = models.PositiveSmallIntegerField(null=True)
    reply: "EncryptedJSONField" = EncryptedJSONField(null=True)
    started_at = models.DateTimeField()
    expires_at = models.DateTimeField()

    objects = TeamQuerySet["IdempotentReply"].as_manager()

    class Meta:
        db_table = "management_idempotent_reply"
        constraints = [
            models.UniqueConstraint(fields=["team", "environment", "key_hash"], name="idempotent_reply_once"),
            choice_check("state", ReplyState.values, "management_idempotent_reply"),
            environment_check("management_idempotent_reply"),
        ]
        indexes = [models.Index(fields=["expires_at"], name="idempotent_reply_expiry")]


class WorkerSighting(models.Model):
    """When a worker last ran a task; `/readyz` reads it."""

    name = models.CharField(primary_key=True, max_length=40)
    seen_at = models.DateTimeField()

    class Meta:
        db_table = "management_worker_sighting"
