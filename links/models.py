"""Link tokens, the browsers that opened them, connections to providers, and the pulls that are owed."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from healthsvc.kernel.crypto import EncryptedTextField
from healthsvc.kernel.ids import uuid_ordered, uuid_random
from healthsvc.kernel.principal import Environment, TeamContext
from healthsvc.kernel.rows import TeamQuerySet, choice_check, environment_check, environment_field
from links.constants import REDIRECT_URL_MAXIMUM_CHARACTERS, ConnectionErrorType, LinkErrorType, PullKind
from links.states import PULL_OPEN, ConnectionStatus, PullStatus, TokenStatus

_TOKEN_STATUSES = [status.value for status in TokenStatus]
_CONNECTION_STATUSES = [status.value for status in ConnectionStatus]
_PULL_STATUSES = [status.value for status in PullStatus]


def _choices(values: list[str]) -> list[tuple[str, str]]:
    return [(value, value) for value in values]


class TeamRow(models.Model):
    """What every table of this app has: its team in one environment."""

    team = models.ForeignKey("management.Team", models.PROTECT, related_name="+")
    environment = environment_field()

    class Meta:
        abstract = True

    @property
    def context(self) -> TeamContext:
        """The tenant this row belongs to."""
        return TeamContext(self.team_id, Environment(self.environment))


class LinkToken(TeamRow):
    """Lets one person connect one provider within the hour. The token itself is never stored."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    user = models.ForeignKey("users.User", models.PROTECT, related_name="+")
    token_hash = models.BinaryField(max_length=32, unique=True)
    status = models.CharField(max_length=10, choices=_choices(_TOKEN_STATUSES), default=TokenStatus.NEW.value)
    provider = models.CharField(max_length=40, blank=True, default="")
    redirect_url = models.CharField(max_length=REDIRECT_URL_MAXIMUM_CHARACTERS, blank=True, default="")
    #: Empty: every provider. Limits the hosted page only.
    filter_on_providers = ArrayField(models.CharField(max_length=40), default=list, blank=True)
    redirects_on_error = models.BooleanField(default=False)
    redirects_on_close = models.BooleanField(default=False)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()

    objects = TeamQuerySet["LinkToken"].as_manager()

    class Meta:
        db_table = "links_link_token"
        constraints = [
            choice_check("status", _TOKEN_STATUSES, "links_link_token"),
            environment_check("links_link_token"),
        ]
        indexes = [
            models.Index(fields=["expires_at"], name="link_token_expiry"),
            models.Index(fields=["team", "environment", "user"], name="link_token_of_user"),
        ]


class LinkSession(TeamRow):
    """One browser that opened a link token; its cookie is kept as a keyed hash."""

    id = models.UUIDField(primary_key=True, default=uuid_random, editable=False)
    link_token = models.ForeignKey(LinkToken, models.CASCADE, related_name="sessions")
    cookie_hash = models.BinaryField(max_length=32)
    #: What the last try came to: the provider, and why it failed, if it did.
    provider = models.CharField(max_length=40, blank=True, default="")
    error_type = models.CharField(max_length=40, choices=LinkErrorType.choices, blank=True, default="")
    created_at = models.DateTimeField()

    objects = TeamQuerySet["LinkSession"].as_manager()

    class Meta:
        db_table = "links_link_session"
        constraints = [
            choice_check("error_type", ["", *LinkErrorType.values], "links_link_session"),
            environment_check("links_link_session"),
        ]


class OAuthState(TeamRow):
    """One departure to a provider's login: comes back once, to the same browser, within ten minutes."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    link_session = models.ForeignKey(LinkSession, models.CASCADE, related_name="oauth_states")
    provider = models.CharField(max_length=40)
    state_hash = models.BinaryField(max_length=32, unique=True)
    #: The PKCE verifier (RFC 7636); empty where the provider takes none.
    code_verifier = EncryptedTextField()
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    objects = TeamQuerySet["OAuthState"].as_manager()

    class Meta:
        db_table = "links_oauth_state"
        constraints = [environment_check("links_oauth_state")]


class Connection(TeamRow):
    """A person's account at a provider, and the tokens that open it."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    user = models.ForeignKey("users.User", models.PROTECT, related_name="+")
    provider = models.CharField(max_length=40)
    status = models.CharField(
        max_length=10, choices=_choices(_CONNECTION_STATUSES), default=ConnectionStatus.CONNECTED.value
    )
    #: The account's own id at the provider; empty where the provider tells none.
    external_user_id = models.CharField(max_length=200, blank=True, default="")
    created_at = models.DateTimeField()
    connected_at = models.DateTimeField()
    disconnected_at = models.DateTimeField(null=True)

    access_token = EncryptedTextField()
    refresh_token = EncryptedTextField()
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
                condition=models.Q(status=ConnectionStatus.CONNECTED, error_type="", errored_at=None)
                | (models.Q(status=ConnectionStatus.ERROR, errored_at__isnull=False) & ~models.Q(error_type="")),
                name="links_connection_error_told",
            ),
            environment_check("links_connection"),
        ]


class Pull(TeamRow):
    """Days of one resource that are owed from a connection, and how far they have come."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    connection = models.ForeignKey(Connection, models.CASCADE, related_name="pulls")
    user = models.ForeignKey("users.User", models.PROTECT, related_name="+")
    resource = models.CharField(max_length=60)
    kind = models.CharField(max_length=10, choices=PullKind.choices)
    status = models.CharField(max_length=12, choices=_choices(_PULL_STATUSES), default=PullStatus.SCHEDULED.value)
    #: First and last day wanted, both included; `done_until_on` is the last day that is stored already.
    start_on = models.DateField()
    end_on = models.DateField()
    done_until_on = models.DateField(null=True)
    #: Failures so far; a window that was stored sets it back to nought.
    attempts = models.PositiveSmallIntegerField(default=0)
    #: Counts claims, so that a worker whose lease ran out can't write any more.
    claim = models.PositiveIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    not_before = models.DateTimeField()
    error_code = models.CharField(max_length=60, blank=True, default="")
    created_at = models.DateTimeField()
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
        ]
