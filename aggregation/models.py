"""Health data: series of samples in compressed blocks, and summaries.

These tables, and only these, may one day be spread over several servers by `user_id` (see
docs/decisions/0004-sample-store.md). So `user_id` leads every key, nothing here refers to another table or is referred
to, no trigger fires, and times are sent as parameters.
"""

from django.db import models

from aggregation.constants import SOURCE_TEXT_MAXIMUM_CHARACTERS
from healthsvc.kernel.ids import uuid_ordered
from healthsvc.kernel.rows import TeamQuerySet, environment_check, environment_field


class SourcedRow(models.Model):
    """What series and summaries have in common: whose they are and where they come from.

    `app_id` and `device_id` are empty where the sender named none, so that they can be part of a unique key.
    """

    user_id = models.UUIDField()
    team_id = models.UUIDField()
    environment = environment_field()
    resource = models.CharField(max_length=60)
    provider = models.CharField(max_length=60)
    source_type = models.CharField(max_length=30)
    app_id = models.CharField(max_length=SOURCE_TEXT_MAXIMUM_CHARACTERS)
    device_id = models.CharField(max_length=SOURCE_TEXT_MAXIMUM_CHARACTERS)

    class Meta:
        abstract = True


class Series(SourcedRow):
    """Samples of one resource from one source. Its row is the lock of its blocks: writers raise `rev` first."""

    pk = models.CompositePrimaryKey("user_id", "series_id")
    #: Random, unique within the user.
    series_id = models.BigIntegerField()
    #: The width of its blocks.
    bucket_seconds = models.IntegerField()
    rev = models.BigIntegerField(default=1)

    objects = TeamQuerySet["Series"].as_manager()

    class Meta:
        db_table = "aggregation_series"
        constraints = [
            models.UniqueConstraint(
                fields=["user_id", "resource", "provider", "source_type", "app_id", "device_id"],
                name="aggregation_series_once",
            ),
            models.CheckConstraint(
                condition=models.Q(bucket_seconds__gt=0), name="aggregation_series_bucket_seconds_positive"
            ),
            environment_check("aggregation_series"),
        ]


class Block(models.Model):
    """Samples of one series whose start lies in [bucket, bucket + 1) x bucket_seconds since 1970, UTC."""

    pk = models.CompositePrimaryKey("user_id", "series_id", "bucket")
    user_id = models.UUIDField()
    series_id = models.BigIntegerField()
    bucket = models.IntegerField()
    team_id = models.UUIDField()
    environment = environment_field()
    #: How many samples `data` holds.
    n = models.IntegerField()
    #: See `aggregation.codec`.
    data = models.BinaryField()

    objects = TeamQuerySet["Block"].as_manager()

    class Meta:
        db_table = "aggregation_block"
        constraints = [
            models.CheckConstraint(condition=models.Q(n__gt=0), name="aggregation_block_holds_samples"),
            environment_check("aggregation_block"),
        ]


class Summary(SourcedRow):
    """A night, a day, a workout: the last version received of what its source calls `external_id`."""

    pk = models.CompositePrimaryKey("user_id", "id")
    id = models.UUIDField(default=uuid_ordered)
    external_id = models.CharField(max_length=SOURCE_TEXT_MAXIMUM_CHARACTERS)
    #: The person's own day.
    calendar_date = models.DateField()
    starts_at = models.DateTimeField(null=True)
    ends_at = models.DateTimeField(null=True)
    timezone_offset_seconds = models.IntegerField(null=True)
    #: The resource's fields by the names of the catalogue.
    payload = models.JSONField()
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    objects = TeamQuerySet["Summary"].as_manager()

    class Meta:
        db_table = "aggregation_summary"
        constraints = [
            models.UniqueConstraint(
                fields=["user_id", "resource", "provider", "external_id"], name="aggregation_summary_once"
            ),
            environment_check("aggregation_summary"),
        ]
        indexes = [models.Index(fields=["user_id", "resource", "calendar_date"], name="aggregation_summary_by_day")]
