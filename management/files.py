"""Stored files: a row for each, its bytes sealed in the configured storage."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import reduce
from itertools import islice
from operator import or_
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet

from healthsvc.kernel import clock
from healthsvc.kernel.ids import uuid_ordered
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.rows import team_values
from healthsvc.kernel.scope import SystemScope, system_scope
from management.models import StoredFile
from management.storage import default_storage

#: A file without a row is let be this long: its row may be about to be written.
ROWLESS_SECONDS: Final = 24 * 3600
_SWEEP_BATCH: Final = 500
#: Bytes are removed one file after another.
_EMPTIED_AT_ONCE: Final = 20


@dataclass(frozen=True, slots=True)
class FileWritten:
    """Sealed bytes in the storage that no row names yet."""

    file_id: UUID
    storage_name: str
    size_bytes: int


def file_write(*, team: TeamContext, chunks: Iterator[bytes]) -> FileWritten:
    """Write the bytes, which may take as long as an upload; `file_keep` gives them a row in the caller's transaction.

    A crash between leaves a file without a row, which `files_sweep` removes; never a row without a file.
    """
    file_id = uuid_ordered()
    name = f"{team.team_id}/{file_id}"
    return FileWritten(file_id, name, default_storage().write_chunks(name, chunks))


def file_keep(*, team: TeamContext, user_id: UUID | None, purpose: str, written: FileWritten) -> StoredFile:
    """The row of a file that was written."""
    return StoredFile.objects.create(
        id=written.file_id,
        **team_values(team),
        user_id=user_id,
        purpose=purpose,
        storage_name=written.storage_name,
        size_bytes=written.size_bytes,
        created_at=clock.now(),
    )


def file_discard(written: FileWritten) -> None:
    """Remove bytes that get no row after all."""
    default_storage().delete(written.storage_name)


def file_store(*, team: TeamContext, user_id: UUID | None, purpose: str, chunks: Iterator[bytes]) -> StoredFile:
    """Write the bytes, then the row."""
    return file_keep(team=team, user_id=user_id, purpose=purpose, written=file_write(team=team, chunks=chunks))


def file_chunks(file: StoredFile) -> Iterator[bytes]:
    """The file's plaintext, a chunk at a time."""
    try:
        yield from default_storage().read_chunks(file.storage_name)
    except FileNotFoundError:
        # Raised before the first chunk. The file may have been sealed again under a new name since the row was read.
        name = StoredFile.objects.filter(pk=file.pk).values_list("storage_name", flat=True).first()
        if name in (None, file.storage_name):
            raise
        yield from default_storage().read_chunks(str(name))


def file_key_id(file: StoredFile) -> str:
    """The id of the key the file is sealed with."""
    return default_storage().key_id(file.storage_name)


def file_seal_again(file: StoredFile) -> bool:
    """Write the file anew under the current key and point its row there; False where the row was gone meanwhile."""
    storage, old = default_storage(), file.storage_name
    new = f"{file.team_id}/{uuid_ordered()}"
    storage.write_chunks(new, storage.read_chunks(old))
    with transaction.atomic():
        moved = StoredFile.objects.filter(pk=file.pk, storage_name=old).update(storage_name=new)
        transaction.on_commit(lambda: storage.delete(old if moved else new))
    return bool(moved)


def files_sweep() -> int:
    """Remove files older than a day that no row names: what a crash left between writing and committing."""
    storage = default_storage()
    removed = 0
    # Without this scope no row would be seen, and every file would seem to be without one.
    with system_scope(SystemScope.PURGE):
        old = storage.names_before(clock.now() - timedelta(seconds=ROWLESS_SECONDS))
        while names := list(islice(old, _SWEEP_BATCH)):
            named = set(StoredFile.objects.filter(storage_name__in=names).values_list("storage_name", flat=True))
            for name in names:
                if name not in named:
                    storage.delete(name)
                    removed += 1
    return removed


def files_empty(rows: QuerySet[StoredFile]) -> list[StoredFile]:
    """Remove the bytes of some of these files, perhaps far away, so outside of a transaction; which files."""
    found = list(rows.order_by("pk")[:_EMPTIED_AT_ONCE])
    for file in found:
        default_storage().delete(file.storage_name)
    return found


def files_forget(emptied: Sequence[StoredFile]) -> int:
    """Remove the rows of files without bytes; how many. One that was sealed again meanwhile has bytes, and stays."""
    same = [Q(pk=file.pk, storage_name=file.storage_name) for file in emptied]
    return StoredFile.objects.filter(reduce(or_, same)).delete()[0] if same else 0


def file_remove(file: StoredFile) -> None:
    """Remove the row, and the bytes once that is committed."""
    with transaction.atomic():
        StoredFile.objects.filter(pk=file.pk).delete()
        transaction.on_commit(lambda: default_storage().delete(file.storage_name))
