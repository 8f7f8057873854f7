"""Who read or changed what: of a team's people, and of an organisation; and the seals over the former."""

from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models.functions import Cast

from healthsvc.kernel.ids import uuid_ordered
from healthsvc.kernel.rows import TeamQuerySet, environment_check, environment_field
from management.models.tenants import Organisation


class TransactionNumber(models.Func):
    """The number of the transaction that writes the row."""

    function = "pg_current_xact_id"
    arity = 0
    output_field = models.TextField()


class AccessRecord(models.Model):
    """Who read or changed what. The database lets rows be added and read, never changed.

    Partitioned by month over `id`. `status_code` is that of the answer, null for what was no request. `position` is
    the number of the transaction that wrote the row: seals go by it.
    """

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
    status_code = models.PositiveSmallIntegerField(null=True)
    position = models.BigIntegerField(
        db_default=Cast(Cast(TransactionNumber(), models.TextField()), models.BigIntegerField()), editable=False
    )

    objects = TeamQuerySet["AccessRecord"].as_manager()

    class Meta:
        db_table = "management_access_record"
        constraints = [environment_check("management_access_record")]
        indexes = [
            models.Index(fields=["team_id", "environment", "id"], name="access_record_newest"),
            models.Index(fields=["team_id", "environment", "position", "id"], name="access_record_to_seal"),
            # What these name is of one team.
            models.Index(fields=["user_id", "id"], name="access_record_of_person"),
            models.Index(fields=["actor_id", "id"], name="access_record_of_actor"),
            models.Index(fields=["request_id"], name="access_record_of_request"),
        ]
        permissions = [("export_accessrecord", "Can export the audit trail")]

    def __str__(self) -> str:
        return f"{self.actor_kind}: {self.action}"


class AccessNamed(models.Model):
    """A person whom a record names among others in `object_ids.user_ids`: what such a record is found by.

    The database writes it with the record; it goes with the record's month. No seal covers it: the record has the ids.
    """

    pk = models.CompositePrimaryKey("user_id", "record_id", "team_id", "environment")
    team_id = models.UUIDField()
    environment = environment_field()
    user_id = models.UUIDField()
    record_id = models.UUIDField()

    objects = TeamQuerySet["AccessNamed"].as_manager()

    class Meta:
        db_table = "management_access_named"
        constraints = [environment_check("management_access_named")]
        # Rows come nearly in the order of their records, and leave by it.
        indexes = [BrinIndex(fields=["record_id"], name="access_named_age", autosummarize=True)]


class AccessSeal(models.Model):
    """A link of a team's chain: it covers the records after the seal before it, up to `to_position` and `to_id`.

    `entries` holds 32 bytes for each record, its id and half a SHA-256; it is emptied once all of them are dropped.
    """

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    team_id = models.UUIDField()
    environment = environment_field()
    number = models.PositiveIntegerField()
    to_position = models.BigIntegerField()
    to_id = models.UUIDField()
    row_count = models.PositiveIntegerField()
    first_id = models.UUIDField()
    last_id = models.UUIDField()
    entries = models.BinaryField()
    entries_digest = models.BinaryField(max_length=32)
    previous_digest = models.BinaryField(max_length=32)
    digest = models.BinaryField(max_length=32)
    signature = models.BinaryField(max_length=64)
    sealed_at = models.DateTimeField()

    objects = TeamQuerySet["AccessSeal"].as_manager()

    class Meta:
        db_table = "management_access_seal"
        constraints = [
            environment_check("management_access_seal"),
            models.UniqueConstraint(fields=["team_id", "environment", "number"], name="access_seal_number_once"),
        ]

    def __str__(self) -> str:
        return f"seal {self.number} of team {self.team_id}, {self.environment}"


class TrailMark(models.Model):
    """Where a transaction's number was at an instant: everything younger was begun later.

    `sealed`: every team's records below `position` are sealed, and none from there on is older than `seen_at`.
    `looked`: what the former becomes once every transaction below it is over.
    """

    name = models.CharField(max_length=10, primary_key=True)
    position = models.BigIntegerField()
    seen_at = models.DateTimeField()

    class Meta:
        db_table = "management_trail_mark"


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
