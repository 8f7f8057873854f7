"""What is kept here of a person, for the archive of everything about them: the trail, jobs, and stored documents."""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, Final
from uuid import UUID

from django.db.models import QuerySet

from healthsvc.kernel.exporting import ExportedFile, ExportPart, Piece, UnreadableError, own_rows, table_part
from healthsvc.kernel.principal import TeamContext
from management.files import file_chunks
from management.models import AccessRecord, BackgroundJob, IdempotentReply, StoredFile

#: The purpose of the archives themselves, which are in no archive.
ARCHIVE_PURPOSE: Final = "user_export_archive"
_PAGE: Final = 200
_PER_FILE: Final = 1

LEFT_OUT: Final[Mapping[str, str]] = {
    IdempotentReply._meta.db_table: "copies of answers, kept for hours to answer a repeat; what they tell is exported",
}


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
    table_part("management.access_records", AccessRecord, own_rows(AccessRecord)),
    table_part("management.background_jobs", BackgroundJob, own_rows(BackgroundJob)),
    table_part(
        "management.stored_files",
        StoredFile,
        _documents,
        left_out={"storage_name": "where the service keeps the bytes; they are in management/files/<id>"},
    ),
    ExportPart("management.files", frozenset({StoredFile._meta.db_table}), _document_files),
)
