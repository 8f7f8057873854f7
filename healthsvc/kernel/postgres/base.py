"""The database wrapper that Django loads for `ENGINE = "healthsvc.kernel.postgres"`."""

from typing import Final

from django.conf import settings
from django.db.backends.postgresql import base

from healthsvc.kernel import scope

#: No statement of the service takes this long; one that does must not hold its locks for ever.
_SET_TIMEOUT: Final = "SELECT set_config('statement_timeout', %s, false)"


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection that knows its scope from its first statement on."""

    def init_connection_state(self) -> None:
        """Write the current scope, so that a reconnect in the middle of a request loses nothing."""
        super().init_connection_state()
        if self.alias in scope.SCOPED_ALIASES:
            scope.scope_write(self)
            with self.connection.cursor() as cursor:
                cursor.execute(_SET_TIMEOUT, [f"{settings.DATABASE_STATEMENT_SECONDS}s"])
