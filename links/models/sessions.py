"""What a person's own telephone holds: link codes, sign-in tokens, and the sessions they begin."""

from django.db import models

from healthsvc.kernel.ids import uuid_ordered
from healthsvc.kernel.rows import TeamQuerySet, choice_check, environment_check
from links.constants import SessionEnd, SessionTokenKind
from links.models.rows import TeamRow


class LinkCode(TeamRow):
    """A short code that a person types or scans once, and that becomes a sign-in token. Kept as a keyed hash."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    user = models.ForeignKey("users.User", models.PROTECT, related_name="+")
    code_hash = models.BinaryField(max_length=32, unique=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    objects = TeamQuerySet["LinkCode"].as_manager()

    class Meta:
        db_table = "links_link_code"
        constraints = [environment_check("links_link_code")]
        indexes = [models.Index(fields=["expires_at"], name="link_code_expiry")]


class SignInToken(TeamRow):
    """Lets one device of a person begin a session, once."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    user = models.ForeignKey("users.User", models.PROTECT, related_name="+")
    token_hash = models.BinaryField(max_length=32, unique=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    objects = TeamQuerySet["SignInToken"].as_manager()

    class Meta:
        db_table = "links_sign_in_token"
        constraints = [environment_check("links_sign_in_token")]
        indexes = [models.Index(fields=["expires_at"], name="sign_in_token_expiry")]


class DeviceSession(TeamRow):
    """One signed-in device of a person: the family of every token that was made for it."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    user = models.ForeignKey("users.User", models.PROTECT, related_name="+")
    created_at = models.DateTimeField()
    last_used_at = models.DateTimeField()
    #: Counts up with every new pair of tokens. Only the refresh token of the last pair is good.
    generation = models.PositiveIntegerField(default=1)
    ended_at = models.DateTimeField(null=True)
    end_reason = models.CharField(max_length=20, choices=SessionEnd.choices, blank=True, default="")

    objects = TeamQuerySet["DeviceSession"].as_manager()

    class Meta:
        db_table = "links_device_session"
        constraints = [
            choice_check("end_reason", ["", *SessionEnd.values], "links_device_session"),
            environment_check("links_device_session"),
        ]
        indexes = [models.Index(fields=["team", "environment", "user"], name="device_session_of_user")]


class SessionToken(TeamRow):
    """An access or refresh token of a session, kept as a keyed hash. A refresh token works once.

    `used_at` is the first use: it proves that the device has received the pair.
    """

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    session = models.ForeignKey(DeviceSession, models.CASCADE, related_name="tokens")
    kind = models.CharField(max_length=10, choices=SessionTokenKind.choices)
    #: Which of the session's pairs it belongs to.
    generation = models.PositiveIntegerField()
    token_hash = models.BinaryField(max_length=32, unique=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    objects = TeamQuerySet["SessionToken"].as_manager()

    class Meta:
        db_table = "links_session_token"
        constraints = [
            choice_check("kind", SessionTokenKind.values, "links_session_token"),
            environment_check("links_session_token"),
        ]
        indexes = [models.Index(fields=["expires_at"], name="session_token_expiry")]


class GuessCount(models.Model):
    """How many codes that we never made were tried in one window. Names no team and no person."""

    #: `code:<the code's first four letters>`, or `address:<keyed hash of the caller's network>`.
    key = models.CharField(max_length=80, primary_key=True)
    window_started_at = models.DateTimeField()
    failures = models.PositiveIntegerField(default=0)

    class Meta:
        db_table = "links_guess_count"
        indexes = [models.Index(fields=["window_started_at"], name="guess_count_window")]
