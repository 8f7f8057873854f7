"""What can happen to a connection, for tests that let two of them happen at once."""

from typing import Any

from django.db import transaction

from healthsvc.kernel import clock
from links.constants import ConnectionErrorType
from links.models import Connection
from links.services.connections import (
    connection_break,
    connection_disconnect,
    connection_store,
    connections_pause,
    user_disconnect,
)
from links.services.refreshes import user_refresh
from links.services.renewal import access_get
from links.services.schedule import pulls_owe, pulls_schedule_due
from tests.factories import Tenant
from tests.links.granting import grant_make, tokens_make
from users.models import User


class Actions:
    """What can happen to a connection, as functions without arguments."""

    def __init__(self, team: Tenant, user: User, ring: Connection) -> None:
        self.team, self.user, self.ring = team.context, user, ring

    def connect(self) -> Connection:
        """The same account logs in again."""
        grant = grant_make(tokens=tokens_make(2))
        return connection_store(team=self.team, user_id=self.user.id, grant=grant)

    def disconnect(self) -> bool:
        """The customer ends it."""
        return connection_disconnect(team=self.team, user_id=self.user.id, provider="oura")

    def break_(self) -> bool:
        """The provider refuses the first pair of tokens."""
        return connection_break(
            connection_id=self.ring.pk, token_version=1, error_type=ConnectionErrorType.TOKEN_REFRESH_FAILED
        )

    def pause(self) -> int:
        """The customer pauses it."""
        return connections_pause(team=self.team, user_ids=[self.user.id], provider="oura")

    def delete_user(self) -> int:
        """The customer deletes the person."""
        with transaction.atomic():
            User.objects.filter(pk=self.user.pk).update(deleted_at=clock.now())
            return user_disconnect(self.team, self.user.id)

    def hook(self) -> int:
        """The provider says that something changed."""
        return len(pulls_owe(connection=self.ring))

    def schedule(self) -> int:
        """The hour has come."""
        return pulls_schedule_due()

    def refresh(self) -> Any:
        """The customer asks for the last days."""
        return user_refresh(team=self.team, user_id=self.user.id, timeout_seconds=0)

    def renew(self) -> int:
        """A worker needs a fresh access token."""
        return access_get(connection_id=self.ring.pk)[1]
