"""Password logins that wait for a second factor."""

from django.db import models

from healthsvc.kernel.crypto import EncryptedTextField
from healthsvc.kernel.ids import uuid_ordered
from healthsvc.kernel.rows import TeamQuerySet, environment_check
from links.models.rows import TeamRow
from links.models.tokens import LinkToken


class PasswordLogin(TeamRow):
    """A login at a password provider that asked for a code. The password itself is in `challenge` at most."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    user = models.ForeignKey("users.User", models.PROTECT, related_name="+")
    #: Null where a team's key began it.
    link_token = models.ForeignKey(LinkToken, models.CASCADE, null=True, related_name="password_logins")
    provider = models.CharField(max_length=40)
    region = models.CharField(max_length=8, blank=True, default="")
    #: What the provider's adapter needs to go on, and the method and hint it told, as JSON.
    challenge = EncryptedTextField()
    attempts = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    objects = TeamQuerySet["PasswordLogin"].as_manager()

    class Meta:
        db_table = "links_password_login"
        constraints = [environment_check("links_password_login")]
        indexes = [
            models.Index(fields=["expires_at"], name="password_login_expiry"),
            models.Index(
                fields=["team", "environment", "user", "provider"],
                name="password_login_open",
                condition=models.Q(ended_at=None),
            ),
        ]
