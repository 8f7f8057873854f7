"""What is kept here of a person, for the archive of everything about them: the trail, jobs, and stored documents."""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, Final
from uuid import UUID

from django.db.models import QuerySet

from healthsvc.kernel.exporting import ExportedFile, ExportPart, Piece, UnreadableError, internal, table_part
from healthsvc.kernel.principal import TeamContext
from management.constants import JobStatus
from management.files import file_chunks
from management.models import AccessNamed, AccessRecord, BackgroundJob, IdempotentReply, StoredFile
from management.trail_selectors import user_record_ids

#: The purpose of the archives themselves, which are in no archive.
ARCHIVE_PURPOSE: Final = "user_export_archive"
#: The kind of the background job that makes one.
ARCHIVE_JOB: Final = "user_export"
_PAGE: Final = 200
_PER_FILE: Final = 1

LEFT_OUT: Final[Mapping[str, str]] = {
    AccessNamed._meta.db_table: "an index: in which records of many users one is named; those records are exported",
    IdempotentReply._meta.db_table: "copies of answers, kept for hours to answer a repeat; what they tell is exported",
}


def _records(team: TeamContext, user_id: UUID) -> QuerySet[Any]:
    return AccessRecord.objects.for_team(team).filter(pk__in=user_record_ids(team, user_id))


def _record_of_one(user_id: UUID, record: dict[str, Any]) -> dict[str, Any]:
    """Without the others whom a page showed."""
    if "user_ids" not in record["object_ids"]:
        return record
    ids = {**record["object_ids"], "user_ids": [one for one in record["object_ids"]["user_ids"] if one == str(user_id)]}
    return {**record, "object_ids": ids}


def _jobs(team: TeamContext, user_id: UUID) -> QuerySet[Any]:
    """Without the one that is making this archive: it would be told as running for ever."""
    jobs = BackgroundJob.objects.for_team(team).filter(user_id=user_id)
    return jobs.exclude(kind=ARCHIVE_JOB, status__in=[JobStatus.QUEUED, JobStatus.RUNNING])


def _documents(team: TeamContext, user_id: UUID) -> QuerySet[Any]:
    return StoredFile.objects.for_team(team).filter(user_id=user_id).exclude(purpose=ARCHIVE_PURPOSE)


def _document_files(team: TeamContext, user_id: UUID) -> Iterator[ExportedFile]:
    after: UUID | None = None
    while True:
        rows = _documents(team, user_id).order_by("id")
        page = list((rows if after is None else rows.filter(id__gt=after))[:_PAGE])
        for file in page:
            pieces = _document_pieces(file)
            if pieces is not None:
                yield ExportedFile(f"management/files/{file.pk}", pieces, is_of_one_moment=False)
        if len(page) < _PAGE:
            return
        after = page[-1].pk


def _document_pieces(file: StoredFile) -> Iterator[Piece] | None:
    """The bytes; None where the file was removed since it was listed. UnreadableError where it was lost."""
    chunks = file_chunks(file)
    try:
        first = next(chunks)
    except FileNotFoundError as error:
        if StoredFile.objects.filter(pk=file.pk).exists():
            raise UnreadableError from error
        return None
    return chain([Piece(first, _PER_FILE)], map(Piece, chunks))


PARTS: Final = (
    table_part(
        "management.access_records",
        AccessRecord,
        _records,
        left_out=internal("position"),
        shown=_record_of_one,
        about="The audit trail: who read or changed what of yours, when, and from which address.",
    ),
    table_part(
        "management.background_jobs",
        BackgroundJob,
        _jobs,
        left_out=internal("lease_until", "checkpoint"),
        about="Long work on your data, such as reading an uploaded file, and what came of it; not the making of this.",
    ),
    table_part(
        "management.stored_files",
        StoredFile,
        _documents,
        left_out={"storage_name": "where the service keeps the bytes; they are in management/files/<id>"},
        about="Documents that are kept: what each is for, its size, and when it came.",
    ),
    ExportPart(
        "management.files",
        frozenset({StoredFile._meta.db_table}),
        _document_files,
        about="The documents themselves as they were stored, under the ids of stored_files.jsonl.",
        pattern="management/files/<id>",
    ),
)
