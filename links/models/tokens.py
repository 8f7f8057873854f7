"""Link tokens, the browsers that opened them, and their departures to a provider's login."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from healthsvc.kernel.crypto import EncryptedTextField
from healthsvc.kernel.ids import uuid_ordered, uuid_random
from healthsvc.kernel.rows import TeamQuerySet, choice_check, environment_check
from links.constants import REDIRECT_URL_MAXIMUM_CHARACTERS, LinkErrorType
from links.models.rows import TeamRow, choices_of
from links.states import TokenStatus

_TOKEN_STATUSES = [status.value for status in TokenStatus]


class LinkToken(TeamRow):
    """Lets one person connect one provider within the hour. The token itself is never stored."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    user = models.ForeignKey("users.User", models.PROTECT, related_name="+")
    token_hash = models.BinaryField(max_length=32, unique=True)
    status = models.CharField(max_length=10, choices=choices_of(_TOKEN_STATUSES), default=TokenStatus.NEW.value)
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
    #: A provider that the customer's own widget asked for; the page goes straight there, past its filter.
    asked_provider = models.CharField(max_length=40, blank=True, default="")
    #: Optional scopes that the person left out on our page; they are not asked for.
    scopes_left_out = ArrayField(models.CharField(max_length=200), default=list, blank=True)
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
    #: The team's own registration with the provider; null for the operator's.
    application = models.ForeignKey("links.ProviderApplication", models.CASCADE, null=True, related_name="+")
    scopes_asked = ArrayField(models.CharField(max_length=200), default=list, blank=True)
    #: The PKCE verifier (RFC 7636); empty where the provider takes none.
    code_verifier = EncryptedTextField()
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    objects = TeamQuerySet["OAuthState"].as_manager()

    class Meta:
        db_table = "links_oauth_state"
        constraints = [environment_check("links_oauth_state")]
