"""The database wrapper that Django loads for `ENGINE = "healthsvc.kernel.postgres"`."""

from django.db.backends.postgresql import base

from healthsvc.kernel import scope


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection that knows its scope from its first statement on."""

    def init_connection_state(self) -> None:
        """Write the current scope, so that a reconnect in the middle of a request loses nothing."""
        super().init_connection_state()
        if self.alias in scope.SCOPED_ALIASES:
            scope.scope_write(self)
