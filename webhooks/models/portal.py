"""The portal: who of the team's people may see and mend its webhooks in a browser, and for how long."""

from django.db import models

from healthsvc.kernel.ids import uuid_ordered
from healthsvc.kernel.principal import Environment, TeamContext
from healthsvc.kernel.rows import TeamQuerySet, environment_check, environment_field


class PortalSession(models.Model):
    """A link to the portal, and the browser session it opened. A link opens once."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    team = models.ForeignKey("management.Team", models.PROTECT, related_name="+")
    environment = environment_field()
    #: Keyed hash of the link's token.
    link_hash = models.BinaryField(max_length=32, unique=True)
    link_expires_at = models.DateTimeField()
    #: Set once, when the link is opened.
    opened_at = models.DateTimeField(null=True)
    #: Keyed hash of the cookie of the browser that opened it.
    cookie_hash = models.BinaryField(max_length=32, unique=True, null=True)
    expires_at = models.DateTimeField(null=True)
    last_seen_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    #: Whose key asked for it, or which member of staff: a `PrincipalKind` and an id.
    made_by_kind = models.CharField(max_length=20)
    made_by_id = models.CharField(max_length=64)
    created_at = models.DateTimeField()

    objects = TeamQuerySet["PortalSession"].as_manager()

    class Meta:
        db_table = "webhooks_portal_session"
        constraints = [environment_check("webhooks_portal_session")]
        indexes = [models.Index(fields=["created_at"], name="webhooks_portal_session_age")]

    def __str__(self) -> str:
        return f"portal session {self.pk}"

    @property
    def context(self) -> TeamContext:
        """The tenant that it shows."""
        return TeamContext(self.team_id, Environment(self.environment))
