"""Readiness says what does not answer, and never waits long."""

from typing import Any

from django.db import InterfaceError, connection

from management.health import readiness


def test_a_broken_connection_is_not_ready(db: None) -> None:
    def broken(*_arguments: Any) -> None:
        raise InterfaceError("connection already closed")

    with connection.execute_wrapper(broken):
        found = readiness()
    assert (found.database, found.ready) == (False, False)


def test_the_database_gets_a_second(db: None) -> None:
    assert readiness().database
    with connection.cursor() as cursor:  # the test's own transaction is around, so the setting is still there
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone() == ("1s",)
