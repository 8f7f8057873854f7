"""Reads of archives."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from uuid import UUID

from healthsvc.kernel.errors import ErrorCode, ServiceError, not_found
from healthsvc.kernel.principal import TeamContext
from management.files import file_chunks
from management.models import BackgroundJob, StoredFile
from users.models import Export
from users.selectors import user_get
from users.states import ExportStatus

_NOT_READY = "There is no archive to download: it is being made still, failed, or was removed."


@dataclass(frozen=True, slots=True)
class ExportShown:
    """An archive, and the job that makes or made it; None where that is gone."""

    export: Export
    job: BackgroundJob | None


@dataclass(frozen=True, slots=True)
class ExportPage:
    """Archives of one page, newest first, and where the next page begins or None."""

    exports: list[ExportShown]
    next_cursor: UUID | None


@dataclass(frozen=True, slots=True)
class Download:
    """An archive's bytes, and how many there are."""

    chunks: Iterator[bytes]
    size_bytes: int
    name: str


def export_page(team: TeamContext, user_id: UUID, *, cursor: UUID | None, limit: int) -> ExportPage:
    """One page of a living user's archives; three queries."""
    user_get(team, user_id)
    rows = Export.objects.for_team(team).filter(user_id=user_id).order_by("-id")
    found = list((rows if cursor is None else rows.filter(id__lt=cursor))[: limit + 1])
    shown = found[:limit]
    jobs = BackgroundJob.objects.for_team(team).in_bulk([one.job_id for one in shown])
    next_cursor = shown[-1].pk if len(found) > limit else None
    return ExportPage([ExportShown(one, jobs.get(one.job_id)) for one in shown], next_cursor)


def export_get(team: TeamContext, user_id: UUID, export_id: UUID) -> ExportShown:
    """A living user's archive; 404 otherwise."""
    user_get(team, user_id)
    export = Export.objects.for_team(team).filter(pk=export_id, user_id=user_id).first()
    if export is None:
        raise not_found()
    return ExportShown(export, BackgroundJob.objects.for_team(team).filter(pk=export.job_id).first())


def export_download(team: TeamContext, user_id: UUID, export_id: UUID) -> Download:
    """The archive's bytes; 404 where there is no such archive, 409 where it is not there to be downloaded."""
    export = export_get(team, user_id, export_id).export
    file_id = export.file_id if export.status == ExportStatus.READY else None
    file = file_id and StoredFile.objects.for_team(team).filter(pk=file_id).first()
    if not file:
        raise ServiceError(ErrorCode.CONFLICT, _NOT_READY)
    chunks = file_chunks(file)
    try:
        # Begun while the scope is open; from here on a removal of the file takes nothing from who reads it.
        first = next(chunks)
    except FileNotFoundError:
        raise ServiceError(ErrorCode.CONFLICT, _NOT_READY) from None
    return Download(chain((first,), chunks), file.size_bytes, f"user-{user_id}-{export.requested_at:%Y%m%d}.zip")
