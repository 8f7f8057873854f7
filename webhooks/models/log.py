"""The log: what happened, to whom it is owed, how each request went, and how many there were."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from healthsvc.kernel.crypto import EncryptedTextField
from healthsvc.kernel.ids import uuid_ordered
from healthsvc.kernel.principal import Environment, TeamContext
from healthsvc.kernel.rows import TeamQuerySet, choice_check, environment_check, environment_field
from webhooks.constants import CHANNEL_MAXIMUM_CHARACTERS, EVENT_TYPE_MAXIMUM_CHARACTERS
from webhooks.models.endpoints import Endpoint
from webhooks.states import OPEN, DeliveryStatus

_STATUS_CHOICES = [(status.value, status.value) for status in DeliveryStatus]
_OPEN = [status.value for status in OPEN]


class Event(models.Model):
    """Something that happened, in the very bytes that are sent. Written in the transaction of its change."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    team = models.ForeignKey("management.Team", models.PROTECT, related_name="+", db_index=False)
    environment = environment_field()
    event_type = models.CharField(max_length=EVENT_TYPE_MAXIMUM_CHARACTERS)
    #: What endpoints may choose by besides the type: `user.<id>`, `provider.<slug>`.
    channels = ArrayField(models.CharField(max_length=CHANNEL_MAXIMUM_CHARACTERS), default=list)
    user_id = models.UUIDField(null=True)
    #: The body as it is sent, sealed; null once it was erased or its time is over.
    body = EncryptedTextField(null=True)
    #: Set where the event is for one endpoint only.
    endpoint = models.ForeignKey(Endpoint, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField()
    fanned_out_at = models.DateTimeField(null=True)

    objects = TeamQuerySet["Event"].as_manager()

    class Meta:
        db_table = "webhooks_event"
        #: Payloads are health data: seeing that there was an event is not enough to see what it said.
        permissions = [("view_payload", "Can see payloads of events")]
        constraints = [environment_check("webhooks_event")]
        indexes = [
            models.Index(fields=["id"], condition=models.Q(fanned_out_at=None), name="webhooks_event_waiting"),
            # Ids are ordered by time, so that they serve as the log's order, its cursors and its age.
            models.Index(fields=["team", "environment", "id"], name="webhooks_event_of_team"),
            models.Index(fields=["team", "environment", "user_id", "id"], name="webhooks_event_of_user"),
            models.Index(fields=["team", "environment", "event_type", "id"], name="webhooks_event_of_type"),
        ]

    def __str__(self) -> str:
        return f"{self.event_type} {self.message_id}"

    @property
    def message_id(self) -> str:
        """The id that every attempt carries, the same on each."""
        return f"msg_{self.id}"

    @property
    def context(self) -> TeamContext:
        """The tenant the event is of."""
        return TeamContext(self.team_id, Environment(self.environment))


class Delivery(models.Model):
    """One event's way to one endpoint. `webhooks.walker` alone changes `status`.

    Many are written a second, so nothing is checked twice: the team is that of the event, which has its constraint,
    and foreign keys that begin another index have none of their own.
    """

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    team = models.ForeignKey("management.Team", models.PROTECT, related_name="+", db_constraint=False, db_index=False)
    environment = environment_field()
    event = models.ForeignKey(Event, models.CASCADE, related_name="deliveries", db_index=False)
    endpoint = models.ForeignKey(Endpoint, models.PROTECT, related_name="deliveries", db_index=False)
    status = models.CharField(max_length=10, choices=_STATUS_CHOICES, default=DeliveryStatus.PENDING.value)
    #: How often it was claimed; a claim is acknowledged only while this is still its own number.
    claims = models.PositiveIntegerField(default=0)
    #: Failed attempts since it was first sent or sent again; says which wait comes next.
    failures = models.PositiveIntegerField(default=0)
    #: When it is due; while it is being sent, when the lease of the claim runs out; null once it has ended.
    next_attempt_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    objects = TeamQuerySet["Delivery"].as_manager()

    class Meta:
        db_table = "webhooks_delivery"
        verbose_name_plural = "deliveries"
        constraints = [
            models.UniqueConstraint(fields=["event", "endpoint"], name="webhooks_delivery_once"),
            choice_check("status", [status.value for status in DeliveryStatus], "webhooks_delivery"),
            models.CheckConstraint(
                condition=models.Q(status__in=_OPEN, next_attempt_at__isnull=False, ended_at=None)
                | (~models.Q(status__in=_OPEN) & models.Q(next_attempt_at=None, ended_at__isnull=False)),
                name="webhooks_delivery_open_or_ended",
            ),
            environment_check("webhooks_delivery"),
        ]
        indexes = [
            models.Index(
                fields=["endpoint", "next_attempt_at"],
                condition=models.Q(status__in=_OPEN),
                name="webhooks_delivery_owed",
            ),
            models.Index(
                fields=["next_attempt_at"], condition=models.Q(status__in=_OPEN), name="webhooks_delivery_due"
            ),
            models.Index(fields=["endpoint", "id"], name="webhooks_delivery_log"),
            # What a recovery takes up: given up, or failed and waiting for the next attempt.
            models.Index(
                fields=["endpoint", "id"],
                condition=models.Q(status=DeliveryStatus.FAILED.value)
                | models.Q(status=DeliveryStatus.PENDING.value, failures__gt=0),
                name="webhooks_delivery_failed",
            ),
        ]

    def __str__(self) -> str:
        return f"delivery {self.pk}"


class Attempt(models.Model):
    """One request to an endpoint and what came of it. Rows are added, never changed."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    team = models.ForeignKey("management.Team", models.PROTECT, related_name="+", db_constraint=False, db_index=False)
    environment = environment_field()
    #: No constraint: whoever writes attempts holds their deliveries, and so does the purge.
    delivery = models.ForeignKey(Delivery, models.CASCADE, related_name="attempts", db_constraint=False, db_index=False)
    #: Twice told, so that an endpoint's attempts are found by it: no constraint, the delivery's stands.
    endpoint = models.ForeignKey(Endpoint, models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    event_type = models.CharField(max_length=EVENT_TYPE_MAXIMUM_CHARACTERS)
    #: The number of its claim; a gap is a worker that died.
    number = models.PositiveIntegerField()
    attempted_at = models.DateTimeField()
    duration_milliseconds = models.PositiveIntegerField()
    status_code = models.PositiveSmallIntegerField(null=True)
    #: Why there was no answer; empty where there was one.
    error = models.CharField(max_length=20, blank=True, default="")
    #: The beginning of a failed answer, scrubbed and sealed.
    answer_excerpt = EncryptedTextField(null=True)

    objects = TeamQuerySet["Attempt"].as_manager()

    class Meta:
        db_table = "webhooks_attempt"
        constraints = [
            models.UniqueConstraint(fields=["delivery", "number"], name="webhooks_attempt_once"),
            environment_check("webhooks_attempt"),
        ]
        indexes = [
            models.Index(fields=["endpoint", "id"], name="webhooks_attempt_log"),
            models.Index(
                fields=["endpoint", "id"],
                condition=models.Q(status_code=None) | ~models.Q(status_code__range=(200, 299)),
                name="webhooks_attempt_failures",
            ),
        ]

    def __str__(self) -> str:
        return f"attempt {self.pk}"


class Tally(models.Model):
    """How an endpoint's attempts went in one span of five minutes: for pictures and metrics, without counting rows."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    team = models.ForeignKey("management.Team", models.PROTECT, related_name="+", db_constraint=False, db_index=False)
    environment = environment_field()
    endpoint = models.ForeignKey(Endpoint, models.CASCADE, related_name="+", db_index=False)
    #: The beginning of the span, UTC.
    span_at = models.DateTimeField()
    delivered = models.BigIntegerField(default=0)
    failed = models.BigIntegerField(default=0)
    #: Deliveries that were given up.
    exhausted = models.BigIntegerField(default=0)
    #: Of all attempts together.
    duration_milliseconds = models.BigIntegerField(default=0)

    objects = TeamQuerySet["Tally"].as_manager()

    class Meta:
        db_table = "webhooks_tally"
        verbose_name_plural = "tallies"
        constraints = [
            models.UniqueConstraint(fields=["endpoint", "span_at"], name="webhooks_tally_once"),
            environment_check("webhooks_tally"),
        ]
        indexes = [models.Index(fields=["team", "environment", "span_at"], name="webhooks_tally_of_team")]


class Total(models.Model):
    """How many there ever were, for the operator's metrics: only ever grows, and names no team."""

    name = models.CharField(max_length=40, primary_key=True)
    value = models.BigIntegerField(default=0)

    class Meta:
        db_table = "webhooks_total"
