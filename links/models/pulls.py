"""Pulls: days of a resource that are owed from a connection."""

from django.db import models

from healthsvc.kernel.ids import uuid_ordered
from healthsvc.kernel.rows import TeamQuerySet, choice_check, environment_check
from links.constants import PullKind
from links.models.connections import Connection
from links.models.rows import TeamRow, choices_of
from links.states import PULL_OPEN, PullStatus

_PULL_STATUSES = [status.value for status in PullStatus]


class Pull(TeamRow):
    """Days of one resource that are owed from a connection, and how far they have come."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    connection = models.ForeignKey(Connection, models.CASCADE, related_name="pulls")
    user = models.ForeignKey("users.User", models.PROTECT, related_name="+")
    resource = models.CharField(max_length=60)
    kind = models.CharField(max_length=10, choices=PullKind.choices)
    status = models.CharField(max_length=12, choices=choices_of(_PULL_STATUSES), default=PullStatus.SCHEDULED.value)
    #: First and last day wanted, both included; `done_until_on` is the last day that is stored already.
    start_on = models.DateField()
    end_on = models.DateField()
    done_until_on = models.DateField(null=True)
    #: Failures so far; a window that was stored sets it back to nought.
    attempts = models.PositiveSmallIntegerField(default=0)
    #: Something changed at the provider, or somebody asked, while a worker was at it: what it has read may be old.
    asked_again = models.BooleanField(default=False)
    #: Backfills of the resource that were given up in a row before this one.
    given_up_before = models.PositiveSmallIntegerField(default=0)
    #: Counts claims, so that a worker whose lease ran out can't write any more.
    claim = models.PositiveIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    #: When a worker was told of it last; null once one has taken it, or found that it must wait.
    woken_at = models.DateTimeField(null=True)
    not_before = models.DateTimeField()
    error_code = models.CharField(max_length=60, blank=True, default="")
    created_at = models.DateTimeField()
    #: The first claim by a worker.
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    objects = TeamQuerySet["Pull"].as_manager()

    class Meta:
        db_table = "links_pull"
        constraints = [
            models.UniqueConstraint(
                fields=["team", "environment", "connection", "resource", "kind"],
                condition=models.Q(status__in=[status.value for status in PULL_OPEN]),
                name="links_pull_open_once",
            ),
            choice_check("kind", PullKind.values, "links_pull"),
            choice_check("status", _PULL_STATUSES, "links_pull"),
            models.CheckConstraint(condition=models.Q(start_on__lte=models.F("end_on")), name="links_pull_range"),
            environment_check("links_pull"),
        ]
        indexes = [
            models.Index(
                fields=["not_before"],
                name="links_pull_due",
                condition=models.Q(status__in=[status.value for status in PULL_OPEN]),
            ),
            models.Index(fields=["connection", "resource", "end_on"], name="links_pull_of_connection"),
            models.Index(
                fields=["lease_until"],
                name="links_pull_running",
                condition=models.Q(status=PullStatus.IN_PROGRESS.value),
            ),
            models.Index(
                fields=["woken_at"],
                name="links_pull_woken",
                condition=models.Q(woken_at__isnull=False),
            ),
        ]
