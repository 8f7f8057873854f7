"""Health data: series of samples in compressed blocks, and summaries.

Series, blocks, tails and summaries, and only these, may one day be spread over several servers by `user_id` (see
docs/decisions/0004-sample-store.md). So `user_id` leads every key of theirs, they refer to no other table and no other
refers to them, no trigger fires, and times are sent as parameters.
"""

from django.db import models

from aggregation.constants import (
    BATCH_ID_MAXIMUM_CHARACTERS,
    NO_WORKOUT,
    PRIORITY_MAXIMUM,
    PRIORITY_MINIMUM,
    SOURCE_TEXT_MAXIMUM_CHARACTERS,
    PriorityResource,
)
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
    #: The workout whose course these samples are; the nil UUID in every series that is no stream of a workout.
    workout_id = models.UUIDField(default=NO_WORKOUT)
    #: The width of its blocks.
    bucket_seconds = models.IntegerField()
    rev = models.BigIntegerField(default=1)
    #: What blocks and tails hold, each timestamp counted once: how many samples, and when the first and the last one
    #: begin. Nothing but an erasure removes samples, so every write knows the new numbers.
    samples = models.BigIntegerField(db_default=0)
    oldest_us = models.BigIntegerField(null=True)
    newest_us = models.BigIntegerField(null=True)
    #: The block that live posts go to the tail of: its number, the start of the last sample of block and tail, and how
    #: many rows the tail has. Null until a small post found it out, and again after every other write.
    live_bucket = models.IntegerField(null=True)
    live_last_us = models.BigIntegerField(null=True)
    live_rows = models.IntegerField(null=True)

    objects = TeamQuerySet["Series"].as_manager()

    class Meta:
        db_table = "aggregation_series"
        constraints = [
            models.UniqueConstraint(
                fields=["user_id", "resource", "provider", "source_type", "app_id", "device_id", "workout_id"],
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


class Tail(models.Model):
    """Samples of a block that came in small posts and are not in it yet; later `seq` over earlier, all over the block.

    Part of the store like the block itself: every read includes it.
    """

    pk = models.CompositePrimaryKey("user_id", "series_id", "bucket", "seq")
    user_id = models.UUIDField()
    series_id = models.BigIntegerField()
    bucket = models.IntegerField()
    #: The series' `rev` when it was written.
    seq = models.BigIntegerField()
    team_id = models.UUIDField()
    environment = environment_field()
    #: How many samples `data` holds.
    n = models.IntegerField()
    #: As in a block.
    data = models.BinaryField()
    created_at = models.DateTimeField()

    objects = TeamQuerySet["Tail"].as_manager()

    class Meta:
        db_table = "aggregation_tail"
        constraints = [
            models.CheckConstraint(condition=models.Q(n__gt=0), name="aggregation_tail_holds_samples"),
            environment_check("aggregation_tail"),
        ]
        indexes = [models.Index(fields=["created_at"], name="aggregation_tail_by_age")]


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
    #: The record as its source gave it; null where there is no such form.
    raw = models.JSONField(null=True)
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
        indexes = [
            models.Index(fields=["user_id", "resource", "calendar_date"], name="aggregation_summary_by_day"),
            # Streams are asked for by the summary's id alone.
            models.Index(fields=["id"], name="aggregation_summary_by_id"),
        ]


class Push(models.Model):
    """A batch of pushed data that was stored, with the receipt it got, so that sending it again changes nothing.

    Kept for PUSH_RECEIPT_DAYS. Never spread over servers.
    """

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    team = models.ForeignKey("management.Team", models.PROTECT, related_name="+")
    environment = environment_field()
    user_id = models.UUIDField()
    #: The sender's name for it.
    batch_id = models.CharField(max_length=BATCH_ID_MAXIMUM_CHARACTERS)
    #: SHA-256 of the body as it was sent (inflated).
    digest = models.BinaryField()
    receipt = models.JSONField()
    created_at = models.DateTimeField()

    objects = TeamQuerySet["Push"].as_manager()

    class Meta:
        db_table = "aggregation_push"
        constraints = [
            models.UniqueConstraint(
                fields=["team", "environment", "user_id", "batch_id"], name="aggregation_push_once"
            ),
            environment_check("aggregation_push"),
        ]
        indexes = [models.Index(fields=["created_at"], name="aggregation_push_by_age")]


class SourcePriority(models.Model):
    """How much a team's environment trusts a provider, for one kind of data; the larger number wins."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    team = models.ForeignKey("management.Team", models.PROTECT, related_name="+")
    environment = environment_field()
    data_type = models.CharField(max_length=20, choices=PriorityResource.choices)
    provider = models.CharField(max_length=60)
    priority = models.IntegerField()

    objects = TeamQuerySet["SourcePriority"].as_manager()

    class Meta:
        db_table = "aggregation_source_priority"
        constraints = [
            models.UniqueConstraint(
                fields=["team", "environment", "data_type", "provider"], name="aggregation_source_priority_once"
            ),
            models.CheckConstraint(
                condition=models.Q(data_type__in=PriorityResource.values),
                name="aggregation_source_priority_data_type_known",
            ),
            models.CheckConstraint(
                condition=models.Q(priority__range=(PRIORITY_MINIMUM, PRIORITY_MAXIMUM)),
                name="aggregation_source_priority_in_range",
            ),
            environment_check("aggregation_source_priority"),
        ]
