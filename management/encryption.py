"""Sealing everything again under the current key, so that an old key can be dropped."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import structlog
from django.apps import apps
from django.db import connection, transaction
from psycopg import sql

from healthsvc.kernel.crypto import DecryptionError, EncryptedTextField, current_key_id, seal, sealed_key_id, unseal
from healthsvc.kernel.scope import SystemScope, system_scope
from management.files import file_key_id, file_seal_again
from management.models import StoredFile

log = structlog.get_logger(__name__)

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


@dataclass(frozen=True, slots=True)
class Rotation:
    """How many values were sealed again, and how many are under an old key still."""

    sealed_again: int
    remaining: int


def sealed_columns() -> Iterator[SealedColumn]:
    """Every column of sealed values in the project."""
    for model in apps.get_models():
        for field in model._meta.local_fields:
            if isinstance(field, EncryptedTextField):
                keys = tuple(str(part.column) for part in model._meta.pk_fields)
                yield SealedColumn(model._meta.db_table, str(field.column), keys)


def column_rotate(sealed: SealedColumn) -> Rotation:
    """Seal every value of a column under the current key, in batches, then look again at what is there.

    A value changed by somebody else meanwhile is left, and counted as remaining where an old process sealed it.
    """
    rotated = 0
    # The purge scope is the one that every team-owned table admits.
    with system_scope(SystemScope.PURGE):
        for rows in _batches(sealed):
            with transaction.atomic():
                rotated += sum(_row_rotate(sealed, row) for row in rows)
        remaining = sum(_is_old(row[-1]) for rows in _batches(sealed) for row in rows)
    return Rotation(rotated, remaining)


def files_rotate() -> Rotation:
    """Seal every stored file under an old key again. One that can't be opened, or is gone, remains as it is."""
    rotated = remaining = 0
    with system_scope(SystemScope.PURGE):
        for file in StoredFile.objects.order_by("pk").iterator():
            try:
                if file_key_id(file) == current_key_id():
                    continue
                rotated += file_seal_again(file)
            except (FileNotFoundError, DecryptionError) as error:
                # An import that ended meanwhile took its file with it; all else the operator must look at.
                if StoredFile.objects.filter(pk=file.pk).exists():
                    log.warning("file_not_sealed_again", file_id=str(file.pk), reason=type(error).__name__)
                    remaining += 1
    return Rotation(rotated, remaining)


def _batches(sealed: SealedColumn) -> Iterator[list[tuple[Any, ...]]]:
    after: tuple[Any, ...] | None = None
    while rows := _rows(sealed, after):
        yield rows
        after = rows[-1][:-1]


def _is_old(value: bytes) -> bool:
    return sealed_key_id(bytes(value)) != current_key_id()


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
    if not _is_old(old):
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
