"""Work on many connections at once: imports of tokens and triggered backfills."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from healthsvc.kernel.crypto import EncryptedTextField
from healthsvc.kernel.ids import uuid_ordered
from healthsvc.kernel.rows import TeamQuerySet, choice_check, environment_check
from links.constants import BulkOpType
from links.models.rows import TeamRow, choices_of
from links.states import BulkItemStatus, BulkOpStatus

_STATUSES = [status.value for status in BulkOpStatus]
_ITEM_STATUSES = [status.value for status in BulkItemStatus]


class BulkOp(TeamRow):
    """One bulk operation and how far it is."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    type = models.CharField(max_length=40, choices=BulkOpType.choices)
    provider = models.CharField(max_length=40)
    status = models.CharField(max_length=12, choices=choices_of(_STATUSES), default=BulkOpStatus.IN_PROGRESS.value)
    total = models.PositiveIntegerField()
    processed = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    claim = models.PositiveIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    objects = TeamQuerySet["BulkOp"].as_manager()

    class Meta:
        db_table = "links_bulk_op"
        constraints = [
            choice_check("type", BulkOpType.values, "links_bulk_op"),
            choice_check("status", _STATUSES, "links_bulk_op"),
            environment_check("links_bulk_op"),
        ]
        indexes = [
            models.Index("team", "environment", models.F("id").desc(), name="links_bulk_op_newest_first"),
            models.Index(
                fields=["lease_until"], name="links_bulk_op_open", condition=models.Q(status=BulkOpStatus.IN_PROGRESS)
            ),
        ]


class BulkOpItem(TeamRow):
    """One user of a bulk operation. Tokens to import are kept until they are in their connection, no longer."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    op = models.ForeignKey(BulkOp, models.CASCADE, related_name="items")
    user_id = models.UUIDField()
    status = models.CharField(max_length=10, choices=choices_of(_ITEM_STATUSES), default=BulkItemStatus.PENDING.value)
    access_token = EncryptedTextField(null=True)
    refresh_token = EncryptedTextField(null=True)
    external_user_id = models.CharField(max_length=200, blank=True, default="")
    access_expires_at = models.DateTimeField(null=True)
    scopes = ArrayField(models.CharField(max_length=200), default=list, blank=True)
    #: How often it failed for a reason nobody foresaw.
    attempts = models.PositiveSmallIntegerField(default=0)
    error_code = models.CharField(max_length=60, blank=True, default="")

    objects = TeamQuerySet["BulkOpItem"].as_manager()

    class Meta:
        db_table = "links_bulk_op_item"
        constraints = [
            models.UniqueConstraint(fields=["op", "user_id"], name="links_bulk_op_item_once"),
            choice_check("status", _ITEM_STATUSES, "links_bulk_op_item"),
            environment_check("links_bulk_op_item"),
        ]
