"""Who read or changed what: of a team's people, and of an organisation."""

from django.db import models

from healthsvc.kernel.ids import uuid_ordered
from healthsvc.kernel.rows import TeamQuerySet, environment_check, environment_field
from management.models.tenants import Organisation


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


class OrganisationRecord(models.Model):
    """What was changed at the management address. The database lets rows be added and read, never changed."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    organisation = models.ForeignKey(Organisation, models.PROTECT, related_name="+")
    actor_kind = models.CharField(max_length=20)
    actor_id = models.CharField(max_length=64)
    action = models.CharField(max_length=200)
    object_ids = models.JSONField(default=dict)
    request_id = models.CharField(max_length=64)
    address = models.CharField(max_length=45)
    occurred_at = models.DateTimeField()

    class Meta:
        db_table = "management_organisation_record"
        indexes = [models.Index(fields=["organisation", "-id"], name="organisation_record_newest")]
