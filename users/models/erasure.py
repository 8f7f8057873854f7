"""Erasures: that a deleted user's data are to go, how far that is, and the receipt that stays."""

from django.db import models

from healthsvc.kernel.ids import uuid_ordered
from healthsvc.kernel.principal import Environment, TeamContext
from healthsvc.kernel.rows import TeamQuerySet, choice_check, environment_check, environment_field
from users.constants import ERASURE_ERROR_MAXIMUM_CHARACTERS
from users.states import OPEN, ErasureStatus

_STATUSES = [status.value for status in ErasureStatus]
_OPEN = sorted(status.value for status in OPEN)


class Erasure(models.Model):
    """One deletion of a user, from the request to the receipt. Names the person no longer than their row is there."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    team = models.ForeignKey("management.Team", models.PROTECT, related_name="+")
    environment = environment_field()
    #: No foreign key: this row outlives the user's. Null once they are erased.
    user_id = models.UUIDField(null=True)
    status = models.CharField(
        max_length=10,
        choices=[(status, status) for status in _STATUSES],
        default=ErasureStatus.PENDING.value,
    )
    requested_at = models.DateTimeField()
    due_at = models.DateTimeField()
    undone_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    erased_at = models.DateTimeField(null=True)

    #: Counts claims, so that a worker whose lease ran out can't write any more.
    claim = models.PositiveIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    not_before = models.DateTimeField()
    #: When a message was sent to whichever worker is free; taken back by the one that claims it.
    woken_at = models.DateTimeField(null=True)
    #: Failures since something was erased last.
    failures = models.PositiveIntegerField(default=0)
    error_code = models.CharField(max_length=ERASURE_ERROR_MAXIMUM_CHARACTERS, blank=True, default="")
    #: Rows that were erased so far, by table.
    rows_erased = models.JSONField(default=dict)
    #: Grants that their vendors could not be made to end.
    grants_not_revoked = models.PositiveIntegerField(default=0)

    #: What is signed, as it was signed (`users.receipts`).
    receipt = models.TextField(blank=True, default="")
    receipt_signature = models.BinaryField(max_length=64, null=True)
    receipt_public_key = models.BinaryField(max_length=32, null=True)

    objects = TeamQuerySet["Erasure"].as_manager()

    class Meta:
        db_table = "users_erasure"
        constraints = [
            models.UniqueConstraint(
                fields=["team", "environment", "user_id"],
                condition=models.Q(status__in=_OPEN),
                name="users_erasure_open_once",
            ),
            models.CheckConstraint(
                condition=~models.Q(status__in=_OPEN) | models.Q(user_id__isnull=False),
                name="users_erasure_open_has_user",
            ),
            models.CheckConstraint(
                condition=~models.Q(status=ErasureStatus.ERASED.value)
                | models.Q(
                    user_id=None,
                    erased_at__isnull=False,
                    receipt_signature__isnull=False,
                    receipt_public_key__isnull=False,
                ),
                name="users_erasure_receipt_kept",
            ),
            choice_check("status", _STATUSES, "users_erasure"),
            environment_check("users_erasure"),
        ]
        indexes = [
            models.Index(fields=["not_before"], name="users_erasure_due", condition=models.Q(status__in=_OPEN)),
            models.Index(fields=["user_id"], name="users_erasure_of_user", condition=models.Q(user_id__isnull=False)),
        ]

    def __str__(self) -> str:
        return str(self.id)

    @property
    def context(self) -> TeamContext:
        """The tenant whose user it is."""
        return TeamContext(self.team_id, Environment(self.environment))
