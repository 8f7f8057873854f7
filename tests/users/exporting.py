"""Steps that tests of exports share: asking, making, opening the archive."""

import io
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson

from healthsvc.kernel.exporting import ExportPart
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management.models import BackgroundJob, StoredFile
from management.storage import default_storage
from tests.factories import Tenant
from users.models import Export
from users.services.exports import export_request, export_run


@dataclass(frozen=True, slots=True)
class Opened:
    """An archive's files by path, and its manifest."""

    files: dict[str, bytes]
    manifest: dict[str, Any]

    def lines(self, path: str) -> list[dict[str, Any]]:
        """The records of a JSON Lines file."""
        return [orjson.loads(line) for line in self.files[path].splitlines()]


def asked(tenant: Tenant, user_id: UUID) -> Export:
    """The export that is owed."""
    with team_scope(tenant.context):
        return export_request(team=tenant.context, user_id=user_id)[0]


def made(tenant: Tenant, user_id: UUID) -> Export:
    """An export that a worker has worked."""
    export = asked(tenant, user_id)
    export_run(job_id=export.job_id)
    return reloaded(export)


def reloaded(export: Export) -> Export:
    """The row as it is now."""
    with system_scope(SystemScope.PURGE):
        return Export.objects.get(pk=export.pk)


def job_of(export: Export) -> BackgroundJob:
    """The job as it is now."""
    with system_scope(SystemScope.PURGE):
        return BackgroundJob.objects.get(pk=export.job_id)


def archive_bytes(export: Export) -> bytes:
    """The stored archive."""
    with system_scope(SystemScope.PURGE):
        assert export.file_id is not None
        file = StoredFile.objects.get(pk=export.file_id)
    return b"".join(default_storage().read_chunks(file.storage_name))


def unpacked(content: bytes) -> Opened:
    """An archive, every file of which is whole."""
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        assert packed.testzip() is None
        files = {name: packed.read(name) for name in packed.namelist()}
    return Opened(files, orjson.loads(files["manifest.json"]))


def unpacked_lines(part: ExportPart, tenant: Tenant, user_id: UUID) -> list[dict[str, Any]]:
    """The records of one part that is a table, in the scope of the team."""
    files = part.files(tenant.context, user_id)
    return [orjson.loads(line) for file in files for piece in file.pieces for line in piece.data.splitlines()]


def opened(tenant: Tenant, user_id: UUID) -> Opened:
    """Everything about a user."""
    export = made(tenant, user_id)
    assert export.status == "ready", export.error_code
    return unpacked(archive_bytes(export))


def stored_names() -> set[str]:
    """Every file in the storage."""
    root = Path(default_storage().path(""))
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
