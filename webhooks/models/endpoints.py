"""Endpoints, and how each of them fares."""

from typing import Self

from django.contrib.postgres.fields import ArrayField
from django.db import models

from healthsvc.kernel.crypto import EncryptedJSONField, EncryptedTextField
from healthsvc.kernel.ids import uuid_ordered
from healthsvc.kernel.rows import TeamQuerySet, environment_check, environment_field
from webhooks.addresses import url_short
from webhooks.constants import (
    CHANNEL_MAXIMUM_CHARACTERS,
    DESCRIPTION_MAXIMUM_CHARACTERS,
    EVENT_TYPE_MAXIMUM_CHARACTERS,
    HEADER_NAME_MAXIMUM_CHARACTERS,
    URL_MAXIMUM_CHARACTERS,
)


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
    #: Only events with at least one of these channels; null: all.
    channels = ArrayField(models.CharField(max_length=CHANNEL_MAXIMUM_CHARACTERS), null=True)
    disabled = models.BooleanField(default=False)
    #: Empty where the owner disabled it.
    disabled_reason = models.CharField(max_length=20, blank=True, default="")
    #: When it was disabled for its failures, and when the team and the staff were written to.
    disabled_at = models.DateTimeField(null=True)
    disabled_told_at = models.DateTimeField(null=True)
    disabled_told_staff_at = models.DateTimeField(null=True)
    #: When they are written to, or it is tried again; null where nobody is owed a letter.
    disabled_tell_at = models.DateTimeField(null=True)
    #: Messages a second that the owner wishes at most.
    rate_limit = models.PositiveIntegerField(null=True)
    headers = EncryptedJSONField(default=dict)
    #: Names of headers whose values the owner does not want shown, besides those that are secrets by their name.
    headers_sensitive = ArrayField(models.CharField(max_length=HEADER_NAME_MAXIMUM_CHARACTERS), default=list)
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
            ),
            models.Index(
                fields=["disabled_tell_at"],
                condition=models.Q(disabled_tell_at__isnull=False),
                name="webhooks_endpoint_to_tell",
            ),
        ]

    def __str__(self) -> str:
        return url_short(self.url)


class EndpointHealth(models.Model):
    """How an endpoint answers, as the pumps have seen it. No row: nothing worth noting has happened yet.

    Written by `webhooks.services.health` alone, and only when something changes.
    """

    endpoint = models.OneToOneField(Endpoint, models.CASCADE, primary_key=True, related_name="health")
    team = models.ForeignKey("management.Team", models.PROTECT, related_name="+", db_constraint=False, db_index=False)
    environment = environment_field()
    #: The first failure after the last success, or after a day without attempts; and the last one before the next.
    first_failure_at = models.DateTimeField(null=True)
    last_failure_at = models.DateTimeField(null=True)
    #: Since when every attempt has failed, counted from a failure that came twelve hours or more after another one
    #: within a day. From then on the last failure is noted no more.
    failing_since = models.DateTimeField(null=True)
    #: Since when it lets requests hang; few of its requests are made at once until one succeeds.
    struggling_since = models.DateTimeField(null=True)
    #: Connections in a row that were refused or broke; some of them count as hanging.
    connection_failures = models.PositiveSmallIntegerField(default=0)
    #: It asked for a pause; nothing is sent before.
    paused_until = models.DateTimeField(null=True)
    #: With a rate limit: from when on its allowance is whole again.
    rate_free_at = models.DateTimeField(null=True)
    updated_at = models.DateTimeField()

    objects = TeamQuerySet["EndpointHealth"].as_manager()

    class Meta:
        db_table = "webhooks_endpoint_health"
        verbose_name_plural = "health of endpoints"
        constraints = [environment_check("webhooks_endpoint_health")]
