"""Statements past Django's cursor, which binds on the client: bound and prepared on the server, in binary."""

import time
from collections.abc import Mapping
from typing import Any, Final, LiteralString

import psycopg
from django.db import connection

_PREPARE_THRESHOLD: Final = 5


def rows_of(statement: LiteralString, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Run a statement in the current transaction; its rows, none where it answers none.

    Statements are prepared once a connection, which saves more than half the time of a short one. That needs a pooler,
    where there is one, in session mode; so does the scope.
    """
    connection.ensure_connection()
    session = connection.connection
    if session.prepare_threshold is None:
        # Django turns preparing off; its own cursors bind on the client and never prepare, whatever stands here.
        session.prepare_threshold = _PREPARE_THRESHOLD
    started = time.monotonic()
    with connection.wrap_database_errors, psycopg.Cursor(session) as cursor:
        cursor.execute(statement, parameters, prepare=True, binary=True)
        rows = cursor.fetchall() if cursor.description else []
    if connection.queries_logged:
        # Django counts what passes its own cursor; a test that counts queries must see these too.
        connection.queries_log.append({"sql": statement, "time": f"{time.monotonic() - started:.3f}"})
    return rows
