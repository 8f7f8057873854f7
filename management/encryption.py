"""Sealing everything again under the current key, so that an old key can be dropped."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.db import connection, transaction
from psycopg import sql

from healthsvc.kernel.crypto import EncryptedTextField, current_key_id, seal, sealed_key_id, unseal
from healthsvc.kernel.scope import SystemScope, system_scope

_BATCH_ROWS = 500


@dataclass(frozen=True, slots=True)
class SealedColumn:
    """A column of sealed values, with the columns of its table's primary key."""

    table: str
    column: str
    key_columns: tuple[str, ...]

    @property
    def place(self) -> str:
        """The associated data of its values."""
        return f"{self.table}.{self.column}"


def sealed_columns() -> Iterator[SealedColumn]:
    """Every column of sealed values in the project."""
    for model in apps.get_models():
        for field in model._meta.local_fields:
            if isinstance(field, EncryptedTextField):
                keys = tuple(str(part.column) for part in model._meta.pk_fields)
                yield SealedColumn(model._meta.db_table, str(field.column), keys)


def column_rotate(sealed: SealedColumn) -> int:
    """Seal every value of a column under the current key, in batches; how many were sealed again.

    A value changed by somebody else meanwhile is left: it was sealed under the current key.
    """
    rotated = 0
    # The purge scope is the one that every team-owned table admits.
    with system_scope(SystemScope.PURGE):
        after: tuple[Any, ...] | None = None
        while rows := _rows(sealed, after):
            with transaction.atomic():
                rotated += sum(_row_rotate(sealed, row) for row in rows)
            after = rows[-1][:-1]
    return rotated


def _rows(sealed: SealedColumn, after: tuple[Any, ...] | None) -> list[tuple[Any, ...]]:
    keys = sql.SQL(", ").join(map(sql.Identifier, sealed.key_columns))
    later: sql.Composable = sql.SQL("")
    if after is not None:
        later = sql.SQL(" AND ({}) > ({})").format(keys, sql.SQL(", ").join([sql.Placeholder()] * len(after)))
    statement = sql.SQL("SELECT {}, {} FROM {} WHERE {} IS NOT NULL{} ORDER BY {} LIMIT {}").format(
        keys,
        sql.Identifier(sealed.column),
        sql.Identifier(sealed.table),
        sql.Identifier(sealed.column),
        later,
        keys,
        sql.Literal(_BATCH_ROWS),
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, list(after or ()))
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def _row_rotate(sealed: SealedColumn, row: tuple[Any, ...]) -> int:
    *key, value = row
    old = bytes(value)
    if sealed_key_id(old) == current_key_id():
        return 0
    matches = [sql.SQL("{} = {}").format(sql.Identifier(name), sql.Placeholder()) for name in sealed.key_columns]
    statement = sql.SQL("UPDATE {table} SET {column} = {new} WHERE {column} = {old} AND {matches}").format(
        table=sql.Identifier(sealed.table),
        column=sql.Identifier(sealed.column),
        new=sql.Placeholder(),
        old=sql.Placeholder(),
        matches=sql.SQL(" AND ").join(matches),
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, [seal(unseal(old, place=sealed.place), place=sealed.place), old, *key])
        return int(cursor.rowcount)
