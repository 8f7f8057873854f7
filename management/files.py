"""Stored files: a row for each, its bytes sealed in the configured storage."""

from collections.abc import Iterator
from uuid import UUID

from django.db import transaction

from healthsvc.kernel import clock
from healthsvc.kernel.ids import uuid_ordered
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.rows import team_values
from management.models import StoredFile
from management.storage import default_storage


def file_store(*, team: TeamContext, user_id: UUID | None, purpose: str, chunks: Iterator[bytes]) -> StoredFile:
    """Write the bytes, then the row: a crash between leaves a file without a row, never a row without a file."""
    file_id = uuid_ordered()
    name = f"{team.team_id}/{file_id}"
    size_bytes = default_storage().write_chunks(name, chunks)
    return StoredFile.objects.create(
        id=file_id,
        **team_values(team),
        user_id=user_id,
        purpose=purpose,
        storage_name=name,
        size_bytes=size_bytes,
        created_at=clock.now(),
    )


def file_chunks(file: StoredFile) -> Iterator[bytes]:
    """The file's plaintext, a chunk at a time."""
    return default_storage().read_chunks(file.storage_name)


def file_remove(file: StoredFile) -> None:
    """Remove the row, and the bytes once that is committed."""
    with transaction.atomic():
        StoredFile.objects.filter(pk=file.pk).delete()
        transaction.on_commit(lambda: default_storage().delete(file.storage_name))
