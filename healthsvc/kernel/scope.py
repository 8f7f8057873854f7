"""Whose rows the database shows: a scope on the connection, which row-level security policies read.

Outside every scope no team-owned row can be seen or written. A scope is held in a context variable, written to the
connection's session when it is entered, taken back when it is left, and written again by the database backend when
a connection is opened anew (see `healthsvc.kernel.postgres`).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import InterfaceError, OperationalError
from psycopg.pq import TransactionStatus

from healthsvc.kernel.principal import Environment, TeamContext

#: Aliases whose sessions carry the scope.
SCOPED_ALIASES = ("default",)

_SET_SCOPE = (
    "SELECT set_config('healthsvc.team_id', %s, false),"
    " set_config('healthsvc.environment', %s, false),"
    " set_config('healthsvc.system', %s, false)"
)


class SystemScope(StrEnum):
    """The service's own reasons to look across teams; each table's policy names those it admits."""

    KEY_LOOKUP = "key_lookup"  # find the key or token that a caller shows
    DELIVERY = "delivery"  # the webhook pump and other workers that claim work of every team
    PURGE = "purge"  # erasure and retention
    STAFF = "staff"  # the admin and operator commands


@dataclass(frozen=True, slots=True)
class Scope:
    """What a connection may see: one team in one environment, or what one system scope is admitted to."""

    team: TeamContext | None = None
    system: SystemScope | None = None

    def parameters(self) -> tuple[str, str, str]:
        """The three session settings, empty where not set."""
        if self.team is None:
            return ("", "", self.system or "")
        return (str(self.team.team_id), self.team.environment, self.system or "")


NOBODY = Scope()
_current: ContextVar[Scope] = ContextVar("healthsvc_scope", default=NOBODY)


def current_scope() -> Scope:
    """The scope this context is in."""
    return _current.get()


@contextmanager
def team_scope(team: TeamContext) -> Iterator[None]:
    """Inside: only rows of this team in this environment exist."""
    with _entered(Scope(team=TeamContext(team.team_id, Environment(team.environment)))):
        yield


@contextmanager
def system_scope(system: SystemScope) -> Iterator[None]:
    """Inside: rows of every team in those tables whose policy admits `system`."""
    with _entered(Scope(system=system)):
        yield


def scope_write(connection: BaseDatabaseWrapper) -> None:
    """Write the current scope to the session of an open connection, past Django's query log."""
    with connection.connection.cursor() as cursor:
        cursor.execute(_SET_SCOPE, _current.get().parameters())


@contextmanager
def _entered(scope: Scope) -> Iterator[None]:
    token = _current.set(scope)
    try:
        for alias in SCOPED_ALIASES:
            _write_where_open(connections[alias])
        yield
    finally:
        _current.reset(token)
        for alias in SCOPED_ALIASES:
            _write_where_open(connections[alias])


def _write_where_open(connection: BaseDatabaseWrapper) -> None:
    if connection.connection is None or connection.connection.closed:
        return  # the backend writes the scope when it connects
    if connection.connection.info.transaction_status is TransactionStatus.INERROR:
        return  # the transaction is doomed; rolling back restores the scope it began with
    try:
        scope_write(connection)
    except (OperationalError, InterfaceError):
        # The server went away. A session with a stale scope must not live on.
        connection.close()
