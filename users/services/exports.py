"""Archives of everything about a user: asked for, made by a worker, kept for some days, removed.

The background job keeps the lease, so that an archive whose worker died is begun anew by another one. A file has a
row only once it is whole, in the transaction that makes the archive ready: what was half-written is no file of
anybody's, and is removed by the writer or, after a crash, by the sweep of files without rows.
"""

import time
from contextlib import closing
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

import structlog
from django.conf import settings
from django.db import connection as database
from django.db import transaction
from django.db.models import Q, QuerySet

from healthsvc.kernel import clock
from healthsvc.kernel.crypto import DecryptionError
from healthsvc.kernel.errors import ErrorCode, ServiceError
from healthsvc.kernel.exporting import UnreadableError
from healthsvc.kernel.jobs import enqueue
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.rows import team_values
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management.audit import worker_record
from management.exporting import ARCHIVE_JOB, ARCHIVE_PURPOSE
from management.files import FileWritten, file_discard, file_keep, file_remove, file_write
from management.jobs import (
    ATTEMPTS_MAXIMUM,
    job_claim,
    job_create,
    job_finish,
    job_renew,
    job_team,
    jobs_end,
    jobs_left_behind,
)
from management.models import BackgroundJob, StoredFile
from users import registry
from users.constants import (
    EXPORT_RENEW_SECONDS,
    EXPORT_ROW_SECONDS,
    EXPORT_WOKEN_SECONDS,
    EXPORTS_A_SWEEP,
    EXPORTS_MAKING_A_TEAM,
    EXPORTS_RETRY_SECONDS,
)
from users.exporting.archive import Archive, Progress
from users.models import Export, User
from users.selectors import user_get
from users.states import ExportCommand, ExportStatus, export_step

log = structlog.get_logger(__name__)

TASK: Final = "users.export_run"
USER_GONE: Final = "user_gone"
GIVEN_UP: Final = "given_up"
UNREADABLE: Final = "unreadable"
_BEGIN_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"


class LeaseLostError(Exception):
    """Another worker has taken the archive over, or the user was deleted: what this one has in hand is discarded."""


def export_walk(rows: QuerySet[Export], command: ExportCommand, **values: Any) -> int:
    """Carry out `command` on those of `rows` whose status allows it; how many that were."""
    before, after = export_step(command)
    return rows.filter(status=before).update(status=after, **values)


def export_request(*, team: TeamContext, user_id: UUID) -> tuple[Export, bool]:
    """Owe an archive of everything about a living user; the archive, and whether it is a new one.

    Whoever asks while one is made gets that one. 404 for a user who is not there; 429 while very many are made for
    the team.
    """
    with transaction.atomic():
        user_get(team, user_id, lock=True)
        making = Export.objects.for_team(team).filter(status=ExportStatus.MAKING)
        running = making.filter(user_id=user_id).first()
        if running is not None:
            return running, False
        _begin_alone(team)
        if making.count() >= EXPORTS_MAKING_A_TEAM:
            raise ServiceError(
                ErrorCode.RATE_LIMITED,
                f"{EXPORTS_MAKING_A_TEAM} exports are being made for this team; ask again when some are done.",
                retry_after_seconds=EXPORTS_RETRY_SECONDS,
            )
        parts = sum(len(exporter.parts) for exporter in registry.exporters)
        job = job_create(team=team, kind=ARCHIVE_JOB, user_id=user_id, parameters={}, progress_total=parts)
        export = Export.objects.create(**team_values(team), user_id=user_id, job_id=job.pk, requested_at=clock.now())
        enqueue(TASK, job_id=job.pk)
    return export, True


def _begin_alone(team: TeamContext) -> None:
    """Until the transaction ends no other archive of the team is begun, so that each counts those before it."""
    with database.cursor() as cursor:
        cursor.execute(_BEGIN_LOCK, [f"users-exports:{team.team_id}:{team.environment}"])


def exports_end(team: TeamContext, user_id: UUID) -> int:
    """Stop what is made of a user who is deleted; how many that were. In the transaction of the deletion.

    The worker finds its lease lost within seconds. A finished archive can't be reached while its user is deleted.
    """
    jobs_end(team=team, user_id=user_id, kind=ARCHIVE_JOB, error_code=USER_GONE)
    rows = Export.objects.for_team(team).filter(user_id=user_id)
    return export_walk(rows, ExportCommand.CANCEL, ended_at=clock.now(), error_code=USER_GONE)


def exports_wake() -> int:
    """Send archives that nobody works on to workers; how many those were."""
    now = clock.now()
    untold = Q(woken_at=None) | Q(woken_at__lte=now - timedelta(seconds=EXPORT_WOKEN_SECONDS))
    left = jobs_left_behind(ARCHIVE_JOB)
    with system_scope(SystemScope.PURGE):
        rows = Export.objects.filter(untold, status=ExportStatus.MAKING, job_id__in=left)
        found = dict(rows.values_list("pk", "job_id"))
        Export.objects.filter(pk__in=found).update(woken_at=now)
    for job_id in found.values():
        enqueue(TASK, job_id=job_id)
    return len(found)


def export_run(*, job_id: UUID) -> None:
    """Make an archive, unless it is made already or another worker is at it. Safe to call at any time, by anyone."""
    job = job_claim(job_id=job_id)
    if job is None:
        return
    with team_scope(job_team(job)):
        error_code = _attempt(job)
        if error_code:
            _fail(job, error_code)


def exports_purge() -> int:
    """Remove archives whose time is over, and what tells of those that ended long ago; how many of the former."""
    now = clock.now()
    removed = 0
    with system_scope(SystemScope.PURGE):
        due = Export.objects.filter(status=ExportStatus.READY, expires_at__lt=now).order_by("expires_at")
        for export in due[:EXPORTS_A_SWEEP]:
            removed += _expire(export)
        old = Export.objects.filter(ended_at__lt=now - timedelta(seconds=EXPORT_ROW_SECONDS)).order_by("ended_at")
        Export.objects.filter(pk__in=list(old.values_list("pk", flat=True)[:EXPORTS_A_SWEEP])).delete()
    return removed


def _expire(export: Export) -> int:
    with transaction.atomic():
        rows = Export.objects.filter(pk=export.pk)
        expired = export_walk(rows, ExportCommand.EXPIRE, ended_at=clock.now(), file_id=None)
        if expired and export.file_id is not None:
            for file in StoredFile.objects.for_team(export.context).filter(pk=export.file_id):
                file_remove(file)
    return expired


def _attempt(job: BackgroundJob) -> str:
    """Make the archive; the code of why it can never be made, or "" where it was or is another worker's now."""
    if job.attempts > ATTEMPTS_MAXIMUM:
        return GIVEN_UP
    try:
        export = _of_job(job).get()
        _make(job, export, user_get(job_team(job), export.user_id))
    except Export.DoesNotExist:
        return USER_GONE
    except (DecryptionError, UnreadableError) as error:
        log.error("export_unreadable", job_id=str(job.pk), exc_info=error)
        return UNREADABLE
    except LeaseLostError:
        log.warning("export_taken_over", job_id=str(job.pk))
    except ServiceError as error:
        if error.code is not ErrorCode.NOT_FOUND:
            raise
        return USER_GONE
    return ""


def _make(job: BackgroundJob, export: Export, user: User) -> None:
    lease = _Lease(job)
    archive = Archive(export, user, tuple(registry.exporters), lease.step)
    with closing(archive.chunks()) as chunks:
        written = file_write(team=export.context, chunks=chunks)
    try:
        _finish(job, export, archive.progress, written)
    except (LeaseLostError, ServiceError):
        file_discard(written)
        raise
    log.info("export_ready", export_id=str(export.pk), records=archive.progress.records, bytes=written.size_bytes)


def _finish(job: BackgroundJob, export: Export, progress: Progress, written: FileWritten) -> None:
    """Make the archive known, and remove the ones before it: a user has one at a time."""
    team, now = export.context, clock.now()
    with transaction.atomic():
        # The person before their job and archive, as a deletion does.
        user_get(team, export.user_id, lock=True)
        if not job_finish(job, receipt={"records": progress.records, "files": progress.files}):
            raise LeaseLostError
        for before in Export.objects.for_team(team).filter(user_id=export.user_id, status=ExportStatus.READY):
            _expire(before)
        file = file_keep(team=team, user_id=export.user_id, purpose=ARCHIVE_PURPOSE, written=written)
        finished = export_walk(
            Export.objects.filter(pk=export.pk),
            ExportCommand.FINISH,
            file_id=file.pk,
            records=progress.records,
            size_bytes=file.size_bytes,
            ready_at=now,
            expires_at=now + timedelta(days=settings.USER_EXPORT_DAYS),
        )
        if not finished:
            raise LeaseLostError
        worker_record(team=team, user_id=export.user_id, action="export user", work_id=export.pk)


def _fail(job: BackgroundJob, error_code: str) -> None:
    with transaction.atomic():
        if job_finish(job, receipt={}, error_code=error_code):
            export_walk(_of_job(job), ExportCommand.FAIL, ended_at=clock.now(), error_code=error_code)


def _of_job(job: BackgroundJob) -> QuerySet[Export]:
    # By the user, which an index finds; a job that was emptied of its user is nobody's.
    rows = Export.objects.for_team(job_team(job)).filter(job_id=job.pk)
    return rows.none() if job.user_id is None else rows.filter(user_id=job.user_id)


class _Lease:
    """Keeps the job ours while the archive is made, and tells how far it is."""

    def __init__(self, job: BackgroundJob) -> None:
        self._job = job
        self._renewed = time.monotonic()

    def step(self, progress: Progress, is_part_done: bool) -> None:
        """Say how far it is, at the end of a part and where that was not said for a while."""
        if not is_part_done and time.monotonic() - self._renewed < EXPORT_RENEW_SECONDS:
            return
        checkpoint = {"records": progress.records, "files": progress.files}
        if not job_renew(self._job, progress_done=progress.parts, checkpoint=checkpoint):
            raise LeaseLostError
        self._renewed = time.monotonic()
