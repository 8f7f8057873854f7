"""Connections to providers."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from healthsvc.kernel.crypto import EncryptedTextField
from healthsvc.kernel.ids import uuid_ordered
from healthsvc.kernel.rows import TeamQuerySet, choice_check, environment_check
from links.catalogue.shapes import LoginKind
from links.constants import ConnectionErrorType
from links.models.rows import TeamRow, choices_of
from links.states import ConnectionStatus, RevocationStatus

_CONNECTION_STATUSES = [status.value for status in ConnectionStatus]
_REVOCATION_STATUSES = [status.value for status in RevocationStatus]
_LOGINS = [kind.value for kind in LoginKind]


class ProviderApplication(TeamRow):
    """A team's own registration with a provider, used in the place of the operator's.

    A registration with another client id is another row: tokens live and die with the client they were made for.
    """

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    provider = models.CharField(max_length=40)
    client_id = models.CharField(max_length=500)
    client_secret = EncryptedTextField()
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    #: Since when new logins use another registration; what was made with this one still does.
    retired_at = models.DateTimeField(null=True)

    objects = TeamQuerySet["ProviderApplication"].as_manager()

    class Meta:
        db_table = "links_provider_application"
        constraints = [
            models.UniqueConstraint(
                fields=["team", "environment", "provider"],
                condition=models.Q(retired_at=None),
                name="links_provider_application_once",
            ),
            environment_check("links_provider_application"),
        ]


class Connection(TeamRow):
    """A person's account at a provider, and the tokens that open it."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    user = models.ForeignKey("users.User", models.PROTECT, related_name="+")
    provider = models.CharField(max_length=40)
    status = models.CharField(
        max_length=10, choices=choices_of(_CONNECTION_STATUSES), default=ConnectionStatus.CONNECTED.value
    )
    login = models.CharField(max_length=10, choices=choices_of(_LOGINS), default=LoginKind.OAUTH.value)
    #: Where the account is kept, for providers that divide the world; empty elsewhere.
    region = models.CharField(max_length=8, blank=True, default="")
    #: The team's own registration that the tokens belong to; null for the operator's.
    application = models.ForeignKey(ProviderApplication, models.PROTECT, null=True, related_name="+")
    #: The account's own id at the provider; empty where the provider tells none.
    external_user_id = models.CharField(max_length=200, blank=True, default="")
    created_at = models.DateTimeField()
    connected_at = models.DateTimeField()
    disconnected_at = models.DateTimeField(null=True)

    #: The next scheduled pull; null where nothing is pulled.
    next_pull_at = models.DateTimeField(null=True)
    #: When a demo ends; null for a real account.
    expires_at = models.DateTimeField(null=True)

    access_token = EncryptedTextField()
    refresh_token = EncryptedTextField()
    #: What a password provider's adapter needs to log in again, as its own JSON; null elsewhere.
    credentials = EncryptedTextField(null=True)
    access_expires_at = models.DateTimeField(null=True)
    #: Counts up with every new pair of tokens, so that an older pair is never written over a newer one.
    token_version = models.PositiveIntegerField(default=1)
    token_lease_until = models.DateTimeField(null=True)
    token_refusals = models.PositiveSmallIntegerField(default=0)
    scopes_granted = ArrayField(models.CharField(max_length=200), default=list, blank=True)
    scopes_denied = ArrayField(models.CharField(max_length=200), default=list, blank=True)

    error_type = models.CharField(max_length=40, choices=ConnectionErrorType.choices, blank=True, default="")
    errored_at = models.DateTimeField(null=True)

    objects = TeamQuerySet["Connection"].as_manager()

    class Meta:
        db_table = "links_connection"
        constraints = [
            models.UniqueConstraint(
                fields=["team", "environment", "user", "provider"],
                condition=models.Q(disconnected_at=None),
                name="links_connection_living_once",
            ),
            choice_check("status", _CONNECTION_STATUSES, "links_connection"),
            choice_check("error_type", ["", *ConnectionErrorType.values], "links_connection"),
            models.CheckConstraint(
                condition=models.Q(status__in=["connected", "paused"], error_type="", errored_at=None)
                | (models.Q(status=ConnectionStatus.ERROR, errored_at__isnull=False) & ~models.Q(error_type="")),
                name="links_connection_error_told",
            ),
            choice_check("login", _LOGINS, "links_connection"),
            environment_check("links_connection"),
        ]
        indexes = [
            models.Index(
                fields=["next_pull_at"],
                name="links_connection_due",
                condition=models.Q(disconnected_at=None, status=ConnectionStatus.CONNECTED, next_pull_at__isnull=False),
            ),
            models.Index(
                fields=["provider", "external_user_id"],
                name="links_connection_of_account",
                condition=models.Q(disconnected_at=None),
            ),
            models.Index(
                fields=["expires_at"],
                name="links_connection_demo_end",
                condition=models.Q(disconnected_at=None, expires_at__isnull=False),
            ),
        ]


class Revocation(TeamRow):
    """A grant that has to be taken back at the provider, and is tried until it holds."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    #: Null for a grant that was never kept.
    connection = models.ForeignKey(Connection, models.CASCADE, null=True, related_name="revocations")
    user = models.ForeignKey("users.User", models.PROTECT, related_name="+")
    provider = models.CharField(max_length=40)
    application = models.ForeignKey(ProviderApplication, models.PROTECT, null=True, related_name="+")
    external_user_id = models.CharField(max_length=200, blank=True, default="")
    #: Emptied once the revocation has ended.
    access_token = EncryptedTextField()
    refresh_token = EncryptedTextField()
    access_expires_at = models.DateTimeField(null=True)
    status = models.CharField(
        max_length=10, choices=choices_of(_REVOCATION_STATUSES), default=RevocationStatus.OWED.value
    )
    attempts = models.PositiveSmallIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    not_before = models.DateTimeField()
    #: The first attempt that fails after this is the last one; null: once it was owed for very long.
    give_up_at = models.DateTimeField(null=True)
    #: When the last attempt went to the provider: from then on the grant may be over.
    called_at = models.DateTimeField(null=True)
    #: Why the last attempt failed; of one that is done, why nothing had to be revoked, if so.
    error_code = models.CharField(max_length=60, blank=True, default="")
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    objects = TeamQuerySet["Revocation"].as_manager()

    class Meta:
        db_table = "links_revocation"
        constraints = [
            choice_check("status", _REVOCATION_STATUSES, "links_revocation"),
            environment_check("links_revocation"),
        ]
        indexes = [
            models.Index(
                fields=["not_before"], name="links_revocation_due", condition=models.Q(status=RevocationStatus.OWED)
            )
        ]


class DeviceSync(TeamRow):
    """A telephone's word that it has sent everything of a resource for a stretch of time."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    connection = models.ForeignKey(Connection, models.CASCADE, related_name="device_syncs")
    user = models.ForeignKey("users.User", models.PROTECT, related_name="+")
    resource = models.CharField(max_length=60)
    #: `historical` ends the first backfill of the resource; `daily` ends one later sync.
    stage = models.CharField(max_length=10, choices=[("historical", "historical"), ("daily", "daily")])
    start_at = models.DateTimeField()
    end_at = models.DateTimeField()
    completed_at = models.DateTimeField()

    objects = TeamQuerySet["DeviceSync"].as_manager()

    class Meta:
        db_table = "links_device_sync"
        constraints = [
            models.UniqueConstraint(fields=["connection", "resource", "stage"], name="links_device_sync_once"),
            choice_check("stage", ["historical", "daily"], "links_device_sync"),
            models.CheckConstraint(
                condition=models.Q(start_at__lte=models.F("end_at")), name="links_device_sync_range"
            ),
            environment_check("links_device_sync"),
        ]
