"""The service's own standing with providers: who calls us when data change, and how much may be asked of them.

No row here is a team's or a person's.
"""

from django.db import models

from healthsvc.kernel.crypto import EncryptedTextField
from healthsvc.kernel.ids import uuid_random
from healthsvc.kernel.rows import environment_check, environment_field
from links.models.rows import choices_of
from links.states import HookStatus

_HOOK_STATUSES = [status.value for status in HookStatus]


class ProviderHook(models.Model):
    """One subscription to a provider's notifications. Its id is part of the address the provider calls."""

    id = models.UUIDField(primary_key=True, default=uuid_random, editable=False)
    provider = models.CharField(max_length=40)
    environment = environment_field()
    #: The team's own registration; null for the operator's.
    application_id = models.UUIDField(null=True)
    #: Where a provider subscribes account by account; null where one subscription serves the application.
    connection_id = models.UUIDField(null=True)
    #: What is subscribed to, in the provider's words; empty where one subscription tells everything.
    topic = models.CharField(max_length=60, blank=True, default="")
    status = models.CharField(max_length=10, choices=choices_of(_HOOK_STATUSES), default=HookStatus.WANTED.value)
    verify_token = EncryptedTextField()
    #: The provider's own name of the subscription.
    external_id = models.CharField(max_length=200, blank=True, default="")
    expires_at = models.DateTimeField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    not_before = models.DateTimeField()
    error_code = models.CharField(max_length=60, blank=True, default="")
    created_at = models.DateTimeField()
    #: The last call that the provider made to it.
    called_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "links_provider_hook"
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "environment", "application_id", "connection_id", "topic"],
                nulls_distinct=False,
                name="links_provider_hook_once",
            ),
            models.CheckConstraint(
                condition=models.Q(status__in=_HOOK_STATUSES), name="links_provider_hook_status_known"
            ),
            environment_check("links_provider_hook"),
        ]
        indexes = [models.Index(fields=["not_before"], name="links_provider_hook_due")]


class ProviderBudget(models.Model):
    """What has been asked of a provider in one window of one of its limits, by every worker together."""

    #: `<provider>:<environment>:<application or operator>:<window seconds>`, and `…:blocked` for a stop it asked for.
    key = models.CharField(max_length=200, primary_key=True)
    window_started_at = models.DateTimeField()
    used = models.PositiveIntegerField(default=0)
    blocked_until = models.DateTimeField(null=True)

    class Meta:
        db_table = "links_provider_budget"
