"""Imports of export files: as a background job that a dead worker leaves resumable, or at once from a command.

A file is read in batches that are the same every time it is read. Each batch is one transaction, in which the job's
checkpoint is written too: how many batches are in, and what came of them. A worker that takes a job over reads the
file again from its beginning, passes over the batches that are in, and goes on; so nothing is counted twice. It can't
begin in the middle: a deflated file has no middle to enter, and nights, meals and cycles are made of records from all
over the file. Passing over costs the reading only.
"""

import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeAlias
from uuid import UUID

import numpy as np
import structlog
from django.conf import settings
from django.db import transaction

from aggregation.apple_health import activity, workouts
from aggregation.apple_health.categories import CATEGORIES
from aggregation.apple_health.collector import READABLE, ExportItem
from aggregation.apple_health.limits import ExportRefusalCode, ExportRefusedError
from aggregation.apple_health.quantities import QUANTITIES
from aggregation.apple_health.reader import read_export
from aggregation.apple_health.tally import ExportTally
from aggregation.catalogue import SERIES_BY_SLUG, STREAM_BY_SLUG, SUMMARY_BY_SLUG
from aggregation.constants import (
    APPLE_HEALTH_JOB,
    APPLE_HEALTH_PROVIDER,
    EXPORT_FILE_PURPOSE,
    IMPORT_BATCH_ITEMS,
    IMPORT_RENEW_SECONDS,
)
from aggregation.learning import person_learn
from aggregation.records import SeriesBatch, StoreResult, StreamRecord, SummaryRecord
from aggregation.services import health_data_store, historical_announce, user_hold
from aggregation.store.days import instant_of_us, us_of_day, us_of_instant
from healthsvc.kernel.crypto import DecryptionError
from healthsvc.kernel.errors import ErrorCode, ServiceError
from healthsvc.kernel.jobs import enqueue
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.scope import team_scope
from healthsvc.kernel.typing import JSONObject
from management.audit import worker_record
from management.files import file_chunks, file_keep, file_remove, file_write
from management.jobs import (
    ATTEMPTS_MAXIMUM,
    job_claim,
    job_create,
    job_finish,
    job_renew,
    job_team,
    jobs_left_behind,
)
from management.models import BackgroundJob, StoredFile
from users.selectors import user_get

log = structlog.get_logger(__name__)

TASK: Final = "aggregation.apple_health_import"
OnProgress: TypeAlias = Callable[[int, int], None]
Batch: TypeAlias = list[ExportItem]


def _kinds() -> dict[str, str]:
    """The export's own type name of what a resource's refusals are about, where there is just one."""
    found: dict[str, list[str]] = {
        workouts.RESOURCE: [workouts.ELEMENT],
        activity.RESOURCE: [activity.ELEMENT],
    }
    resources = [(kind, rule.resource) for kind, rule in QUANTITIES.items()]
    resources += [(kind, rule.resource) for kind, rule in CATEGORIES.items()]
    for kind, resource in resources:
        found.setdefault(resource, []).append(kind)
    return {resource: kinds[0] for resource, kinds in found.items() if len(kinds) == 1}


_KINDS: Final[Mapping[str, str]] = _kinds()


#: Samples that take the memory of one summary, so that a batch of meals is no larger than one of heart rates.
_SUMMARY_SIZE: Final = 50
#: Devices are no data of a time and have events of their own, which a backfill does not send.
_ANNOUNCED: Final = frozenset({*SERIES_BY_SLUG, *SUMMARY_BY_SLUG, *STREAM_BY_SLUG} - {"device"})


class LeaseLostError(Exception):
    """Another worker has taken the job over; what this one has in hand must be undone."""


class _OtherBatchesError(Exception):
    """The file was cut into other batches the time before: by another release of this code."""


@dataclass(slots=True)
class ImportState:
    """What is in the store so far. `digest` is over the batches themselves, so that they are known again."""

    batches: int = 0
    digest: int = 0
    stored: Counter[str] = field(default_factory=Counter)
    replaced: Counter[str] = field(default_factory=Counter)
    unchanged: Counter[str] = field(default_factory=Counter)
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)
    #: The earliest and the latest time of each resource, microseconds since 1970.
    spans_us: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, batch: Batch, digest: int, result: StoreResult) -> None:
        """Count one more batch as stored."""
        self.batches += 1
        self.digest = digest
        self.stored.update(result.created)
        self.replaced.update(result.changed)
        self.unchanged.update(result.unchanged)
        for refusal in result.refused:
            self.refused[_KINDS.get(refusal.kind, refusal.kind), refusal.reason] += refusal.count
        for item in batch:
            first_us, last_us = _span_us(item)
            before = self.spans_us.get(item.resource, (first_us, last_us))
            self.spans_us[item.resource] = (min(before[0], first_us), max(before[1], last_us))

    def as_json(self) -> JSONObject:
        """The checkpoint."""
        return {
            "batches": self.batches,
            "digest": self.digest,
            "stored": dict(self.stored),
            "replaced": dict(self.replaced),
            "unchanged": dict(self.unchanged),
            "refused": [[kind, reason, count] for (kind, reason), count in sorted(self.refused.items())],
            "spans_us": {resource: list(span) for resource, span in self.spans_us.items()},
        }

    @classmethod
    def from_json(cls, checkpoint: Mapping[str, Any]) -> "ImportState":
        """What `as_json` gave; a fresh state of an empty checkpoint."""
        if not checkpoint:
            return cls()
        return cls(
            batches=checkpoint["batches"],
            digest=checkpoint["digest"],
            stored=Counter(checkpoint["stored"]),
            replaced=Counter(checkpoint["replaced"]),
            unchanged=Counter(checkpoint["unchanged"]),
            refused=Counter({(kind, reason): count for kind, reason, count in checkpoint["refused"]}),
            spans_us={resource: (first, last) for resource, (first, last) in checkpoint["spans_us"].items()},
        )

    def receipt(self, tally: ExportTally) -> JSONObject:
        """What the import did, for people. Refused is what was wrong, left out what is sound and has no place here."""
        refused = Counter(self.refused)
        for refusal in tally.refusals():
            refused[refusal.kind, refusal.reason] += refusal.count
        return {
            "read": dict(sorted(tally.read.items())),
            "stored": dict(sorted(self.stored.items())),
            "replaced": dict(sorted(self.replaced.items())),
            "unchanged": dict(sorted(self.unchanged.items())),
            "refused": [
                {"kind": kind, "reason": reason, "count": count}
                for (kind, reason), count in sorted(refused.items())
                if count
            ],
            "left_out": [{"kind": one.kind, "reason": one.reason, "count": one.count} for one in tally.omissions()],
        }


def _span_us(item: ExportItem) -> tuple[int, int]:
    if isinstance(item, SeriesBatch):
        return int(item.samples.start_us.min()), int(item.samples.start_us.max())
    if isinstance(item, StreamRecord):
        return int(item.time_us.min()), int(item.time_us.max())
    at_us = us_of_instant(item.starts_at) if item.starts_at else us_of_day(item.calendar_date)
    return at_us, at_us


def export_import(
    *,
    team: TeamContext,
    user_id: UUID,
    file: BinaryIO | Path,
    state: ImportState | None = None,
    on_stored: Callable[[ImportState], None] | None = None,
    on_progress: OnProgress | None = None,
    batch_items: int = IMPORT_BATCH_ITEMS,
) -> tuple[JSONObject, ImportState]:
    """Store an Apple Health export for a living user; the receipt, and the state at the end.

    `state`: what an earlier run has stored of this very file; its batches are passed over. `on_stored` is called
    inside each batch's transaction: what it raises undoes the batch. `on_progress`: inflated bytes read, and their
    total. Raises ExportRefusedError; 404 where the user is gone. No events: a backfill is announced as a whole.
    Memory: bounded by the reader's limits and `batch_items`, whatever the size of the file.
    """
    state = state or ImportState()
    while True:
        try:
            return _imported(team, user_id, file, state, on_stored, on_progress, batch_items)
        except _OtherBatchesError:
            # Storing what is stored already changes nothing; only the counts begin anew.
            state = ImportState()


def _imported(
    team: TeamContext,
    user_id: UUID,
    file: BinaryIO | Path,
    state: ImportState,
    on_stored: Callable[[ImportState], None] | None,
    on_progress: OnProgress | None,
    batch_items: int,
) -> tuple[JSONObject, ImportState]:
    tally = ExportTally()
    resources = READABLE & {*SERIES_BY_SLUG, *SUMMARY_BY_SLUG, *STREAM_BY_SLUG}
    items = read_export(file, tally=tally, on_progress=on_progress, resources=resources)
    passed, digest = 0, 0
    for batch in _batches(items, batch_items):
        digest = _digest(batch, digest)
        if passed < state.batches:
            passed += 1
            if passed == state.batches and digest != state.digest:
                raise _OtherBatchesError
            continue
        summaries = [item for item in batch if isinstance(item, SummaryRecord)]
        with transaction.atomic():
            # Before the store holds the user.
            person_learn(
                team=team,
                user_id=user_id,
                provider=APPLE_HEALTH_PROVIDER,
                time_zone=None,
                summaries=summaries,
                known_at=None,
            )
            result = health_data_store(
                team=team,
                user_id=user_id,
                series=[item for item in batch if isinstance(item, SeriesBatch)],
                summaries=summaries,
                streams=[item for item in batch if isinstance(item, StreamRecord)],
                emit=False,
            )
            state.add(batch, digest, result)
            passed += 1
            if on_stored is not None:
                on_stored(state)
    if passed < state.batches:
        raise _OtherBatchesError
    if tally.nothing_readable:
        raise ExportRefusedError(ExportRefusalCode.NOTHING_READABLE)
    return state.receipt(tally), state


def _batches(items: Iterator[ExportItem], batch_items: int) -> Iterator[Batch]:
    batch: Batch = []
    size = 0
    for item in items:
        batch.append(item)
        size += _size(item)
        if size >= batch_items:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _size(item: ExportItem) -> int:
    if isinstance(item, SeriesBatch):
        return len(item.samples)
    return len(item.time_us) if isinstance(item, StreamRecord) else _SUMMARY_SIZE


def _digest(batch: Batch, digest: int) -> int:
    for item in batch:
        if isinstance(item, SeriesBatch):
            digest = zlib.crc32(item.resource.encode(), digest)
            digest = zlib.crc32(np.ascontiguousarray(item.samples.start_us).tobytes(), digest)
            if item.samples.value is not None:
                digest = zlib.crc32(np.ascontiguousarray(item.samples.value).tobytes(), digest)
        elif isinstance(item, StreamRecord):
            digest = zlib.crc32(item.workout.encode(), digest)
            digest = zlib.crc32(np.ascontiguousarray(item.time_us).tobytes(), digest)
        else:
            digest = zlib.crc32(f"{item.resource}\x00{item.external_id}".encode(), digest)
    return digest


def import_accept(*, team: TeamContext, user_id: UUID, chunks: Iterator[bytes]) -> BackgroundJob:
    """Take an uploaded export in, sealed, and owe its import; 404 for a user who is not there."""
    user_get(team, user_id)
    first = next(chunks)  # what can be seen at once is refused before a file is begun
    written = file_write(team=team, chunks=chain((first,), chunks))
    with transaction.atomic():
        file = file_keep(team=team, user_id=user_id, purpose=EXPORT_FILE_PURPOSE, written=written)
        job = job_create(
            team=team,
            kind=APPLE_HEALTH_JOB,
            user_id=user_id,
            parameters={"file_id": str(file.pk)},
            progress_total=file.size_bytes,
        )
        enqueue(TASK, job_id=job.pk)
    return job


def import_run(*, job_id: UUID) -> None:
    """Work an import job, unless it has ended or another worker is at it."""
    job = job_claim(job_id=job_id)
    if job is None:
        return
    with team_scope(job_team(job)):
        error_code = _attempt(job)
        if error_code:
            _fail(job, error_code)


def _attempt(job: BackgroundJob) -> str:
    """Run the job; the code of why it can never succeed, or "" where it succeeded or is another worker's now."""
    if job.attempts > ATTEMPTS_MAXIMUM:
        return "given_up"
    file = StoredFile.objects.for_team(job_team(job)).filter(pk=UUID(job.parameters["file_id"])).first()
    if file is None:
        return "file_lost"
    try:
        _work(job, file)
    except ExportRefusedError as refusal:
        return str(refusal.code.code)
    except (FileNotFoundError, DecryptionError):
        return "file_lost"
    except LeaseLostError:
        log.warning("import_taken_over", job_id=str(job.pk))
    except ServiceError as error:
        if error.code is not ErrorCode.NOT_FOUND:
            raise
        return "user_gone"
    return ""


def _work(job: BackgroundJob, file: StoredFile) -> None:
    team, user_id = job_team(job), job.user_id
    if user_id is None:
        raise ServiceError(ErrorCode.NOT_FOUND)
    lease = _Lease(job, file.size_bytes)
    with tempfile.TemporaryFile(dir=_private_folder()) as plain:  # has no name: gone with the process, however it ends
        for chunk in file_chunks(file):
            plain.write(chunk)
            lease.renew_in_time()
        receipt, state = export_import(
            team=team,
            user_id=user_id,
            file=plain,
            state=ImportState.from_json(job.checkpoint),
            on_stored=lease.keep,
            on_progress=lease.progress,
            batch_items=IMPORT_BATCH_ITEMS,
        )
    with transaction.atomic():
        # The person before their job, as a deletion does, so that neither waits for the other for ever.
        user_hold(team, user_id)
        lease.renew()
        for resource, (first_us, last_us) in state.spans_us.items():
            if resource in _ANNOUNCED and (state.stored[resource] or state.replaced[resource]):
                historical_announce(
                    team=team,
                    user_id=user_id,
                    provider=APPLE_HEALTH_PROVIDER,
                    resources=[resource],
                    start=instant_of_us(first_us),
                    end=instant_of_us(last_us),
                )
        if not job_finish(job, receipt=receipt):
            raise LeaseLostError
        file_remove(file)


def _fail(job: BackgroundJob, error_code: str) -> None:
    with transaction.atomic():
        if job_finish(job, receipt={}, error_code=error_code):
            file = StoredFile.objects.for_team(job_team(job)).filter(pk=UUID(job.parameters["file_id"])).first()
            if file is not None:
                file_remove(file)


class _Lease:
    """Keeps the job ours while it is worked, and tells how far it is: in bytes of the file as it was sent."""

    def __init__(self, job: BackgroundJob, total_bytes: int) -> None:
        self._job = job
        self._total_bytes = total_bytes
        self._done_bytes = job.progress_done
        self._renewed = time.monotonic()

    def progress(self, read_bytes: int, inflated_bytes: int) -> None:
        """Note how much of the file is read; a job that was taken over never goes backwards."""
        done_bytes = self._total_bytes * read_bytes // max(1, inflated_bytes)
        self._done_bytes = max(self._done_bytes, min(self._total_bytes, done_bytes))
        self.renew_in_time()

    def renew_in_time(self) -> None:
        """Say that we live, where that was not said for a while."""
        if time.monotonic() - self._renewed > IMPORT_RENEW_SECONDS:
            self.renew()

    def renew(self) -> None:
        """Say that we live."""
        self._renew(None)

    def keep(self, state: ImportState) -> None:
        """Write the checkpoint, in the transaction of its batch; with the first one goes the trail's record."""
        self._renew(state.as_json())
        if state.batches == 1 and self._job.user_id is not None:
            worker_record(
                team=job_team(self._job),
                user_id=self._job.user_id,
                action=f"run {self._job.kind}",
                work_id=self._job.pk,
            )

    def _renew(self, checkpoint: JSONObject | None) -> None:
        if not job_renew(self._job, progress_done=self._done_bytes, checkpoint=checkpoint):
            raise LeaseLostError
        self._renewed = time.monotonic()


def _private_folder() -> Path:
    folder = Path(settings.DATA_DIR) / "imports"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def imports_sweep() -> Sequence[UUID]:
    """Wake the imports that nobody works on: their message was lost, or their worker died."""
    left = jobs_left_behind(APPLE_HEALTH_JOB)
    for job_id in left:
        enqueue(TASK, job_id=job_id)
    return left
