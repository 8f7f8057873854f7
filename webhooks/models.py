"""Endpoints, the events that are owed to them, and how each delivery went."""

from typing import Self

from django.contrib.postgres.fields import ArrayField
from django.db import models

from healthsvc.kernel.crypto import EncryptedJSONField, EncryptedTextField
from healthsvc.kernel.ids import uuid_ordered
from healthsvc.kernel.principal import Environment, TeamContext
from healthsvc.kernel.rows import TeamQuerySet, choice_check, environment_check, environment_field
from webhooks.constants import (
    DESCRIPTION_MAXIMUM_CHARACTERS,
    EVENT_TYPE_MAXIMUM_CHARACTERS,
    URL_MAXIMUM_CHARACTERS,
)
from webhooks.states import OPEN, DeliveryStatus

_STATUS_CHOICES = [(status.value, status.value) for status in DeliveryStatus]
_OPEN = [status.value for status in OPEN]


class EndpointQuerySet(TeamQuerySet["Endpoint"]):
    """Queries over endpoints."""

    def kept(self) -> Self:
        """Endpoints that were not deleted."""
        return self.filter(deleted_at=None)


class Endpoint(models.Model):
    """An address of the customer's that events are sent to. A deleted one keeps its log and loses its secrets."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    team = models.ForeignKey("management.Team", models.PROTECT, related_name="+")
    environment = environment_field()
    url = models.CharField(max_length=URL_MAXIMUM_CHARACTERS)
    description = models.CharField(max_length=DESCRIPTION_MAXIMUM_CHARACTERS, blank=True, default="")
    #: Event types or beginnings of some; null: all.
    filter_types = ArrayField(models.CharField(max_length=EVENT_TYPE_MAXIMUM_CHARACTERS), null=True)
    disabled = models.BooleanField(default=False)
    #: Empty where the owner disabled it.
    disabled_reason = models.CharField(max_length=20, blank=True, default="")
    #: Messages a second that the owner wishes at most.
    rate_limit = models.PositiveIntegerField(null=True)
    headers = EncryptedJSONField(default=dict)
    secret = EncryptedTextField()
    #: Secrets before the last rotations that still sign: a list of {"key", "until"}.
    secrets_before = EncryptedJSONField(default=list)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    deleted_at = models.DateTimeField(null=True)

    objects = EndpointQuerySet.as_manager()

    class Meta:
        db_table = "webhooks_endpoint"
        constraints = [environment_check("webhooks_endpoint")]
        indexes = [
            models.Index(
                "team",
                "environment",
                models.F("id").desc(),
                condition=models.Q(deleted_at=None),
                name="webhooks_endpoint_newest_first",
            )
        ]

    def __str__(self) -> str:
        return str(self.id)


class Event(models.Model):
    """Something that happened, in the very bytes that are sent. Written in the transaction of its change."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    team = models.ForeignKey("management.Team", models.PROTECT, related_name="+")
    environment = environment_field()
    event_type = models.CharField(max_length=EVENT_TYPE_MAXIMUM_CHARACTERS)
    user_id = models.UUIDField(null=True)
    #: The body as it is sent, sealed.
    body = EncryptedTextField(null=True)
    #: Set where the event is for one endpoint only.
    endpoint = models.ForeignKey(Endpoint, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField()
    fanned_out_at = models.DateTimeField(null=True)

    objects = TeamQuerySet["Event"].as_manager()

    class Meta:
        db_table = "webhooks_event"
        constraints = [environment_check("webhooks_event")]
        indexes = [
            models.Index(fields=["id"], condition=models.Q(fanned_out_at=None), name="webhooks_event_waiting"),
            models.Index(fields=["team", "environment", "created_at"], name="webhooks_event_of_team"),
            models.Index(fields=["team", "environment", "user_id"], name="webhooks_event_of_user"),
            models.Index(fields=["created_at"], name="webhooks_event_age"),
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
    """One event's way to one endpoint. `webhooks.walker` alone changes `status`."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    team = models.ForeignKey("management.Team", models.PROTECT, related_name="+")
    environment = environment_field()
    event = models.ForeignKey(Event, models.CASCADE, related_name="deliveries")
    endpoint = models.ForeignKey(Endpoint, models.PROTECT, related_name="deliveries")
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
            models.Index(fields=["team", "environment", "created_at"], name="webhooks_delivery_of_team"),
        ]


class Attempt(models.Model):
    """One request to an endpoint and what came of it. Rows are added, never changed."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    team = models.ForeignKey("management.Team", models.PROTECT, related_name="+")
    environment = environment_field()
    delivery = models.ForeignKey(Delivery, models.CASCADE, related_name="attempts")
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
