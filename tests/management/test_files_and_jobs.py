"""Stored files lie sealed and whole; background jobs are worked once."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

from aggregation import imports
from healthsvc.kernel import clock
from healthsvc.kernel.crypto import DecryptionError
from healthsvc.kernel.scope import team_scope
from management import files, jobs, tasks
from management.constants import JobStatus
from management.models import BackgroundJob, StoredFile
from management.states import TRANSITIONS, JobCommand
from management.storage import CHUNK_BYTES, EncryptedFileSystemStorage
from tests.factories import Tenant, user_make


@pytest.fixture
def storage(tmp_path: Path) -> EncryptedFileSystemStorage:
    return EncryptedFileSystemStorage(location=tmp_path)


@pytest.mark.parametrize("size", [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES])
def test_a_file_reads_back(storage: EncryptedFileSystemStorage, tmp_path: Path, size: int) -> None:
    content = bytes(number % 251 for number in range(size))
    pieces = iter([content[: size // 3], content[size // 3 :]])
    assert storage.write_chunks("folder/name", pieces) == size
    assert b"".join(storage.read_chunks("folder/name")) == content
    raw = (tmp_path / "folder/name").read_bytes()
    assert size < 20 or content[:20] not in raw
    assert (tmp_path / "folder/name").stat().st_mode & 0o777 == 0o600


def test_a_cut_swapped_or_moved_file_does_not_open(storage: EncryptedFileSystemStorage, tmp_path: Path) -> None:
    storage.write_chunks("a", iter([bytes(2 * CHUNK_BYTES + 5)]))
    path = tmp_path / "a"
    raw = path.read_bytes()
    first = 4 + int.from_bytes(raw[:4])
    second = first + 4 + int.from_bytes(raw[first : first + 4])
    for broken in (raw[:first], raw[:second], raw[first:], raw[first:second] + raw[:first] + raw[second:], b""):
        path.write_bytes(broken)
        with pytest.raises(DecryptionError):
            list(storage.read_chunks("a"))
    path.write_bytes(raw)
    path.rename(tmp_path / "b")
    with pytest.raises(DecryptionError):
        list(storage.read_chunks("b"))


def test_an_existing_file_is_never_overwritten(storage: EncryptedFileSystemStorage) -> None:
    storage.write_chunks("a", iter([b"first"]))
    with pytest.raises(FileExistsError):
        storage.write_chunks("a", iter([b"second"]))
    assert b"".join(storage.read_chunks("a")) == b"first"


def test_an_upload_that_breaks_off_leaves_no_file(storage: EncryptedFileSystemStorage, tmp_path: Path) -> None:
    def pieces() -> Iterator[bytes]:
        yield bytes(2 * CHUNK_BYTES)
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        storage.write_chunks("folder/name", pieces())
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_stored_file_goes_with_its_row(
    in_team: Tenant, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"report"

    stored = files.file_store(team=in_team.context, user_id=uuid4(), purpose="test", chunks=pieces())
    assert stored.size_bytes == 6
    assert b"".join(files.file_chunks(stored)) == b"report"
    with django_capture_on_commit_callbacks(execute=True):
        files.file_remove(stored)
    assert StoredFile.objects.count() == 0
    with pytest.raises(FileNotFoundError):
        list(files.file_chunks(stored))


def _job(tenant: Tenant) -> BackgroundJob:
    return jobs.job_create(team=tenant.context, kind="test", user_id=uuid4(), parameters={})


def test_a_job_is_claimed_once_and_again_when_its_worker_died(in_team: Tenant) -> None:
    job = _job(in_team)
    first = jobs.job_claim(job_id=job.id)
    assert first is not None
    assert jobs.job_claim(job_id=job.id) is None
    assert jobs.jobs_left_behind("test") == []
    BackgroundJob.objects.update(lease_until=clock.now() - timedelta(seconds=1))
    assert jobs.jobs_left_behind("test") == [job.id]
    second = jobs.job_claim(job_id=job.id)
    assert second is not None
    assert second.attempts == 2
    assert not jobs.job_renew(first, progress_done=5)
    assert not jobs.job_finish(first, receipt={"by": "first"})
    assert jobs.job_renew(second, progress_done=7, checkpoint={"batch": 3})
    assert jobs.job_finish(second, receipt={"by": "second"})
    job.refresh_from_db()
    assert (job.status, job.receipt, job.progress_done, job.checkpoint) == (
        "succeeded",
        {"by": "second"},
        7,
        {"batch": 3},
    )
    assert jobs.job_claim(job_id=job.id) is None


def test_a_failed_job_says_why(in_team: Tenant) -> None:
    job = _job(in_team)
    claimed = jobs.job_claim(job_id=job.id)
    assert claimed is not None
    assert jobs.job_finish(claimed, receipt={}, error_code="unreadable")
    job.refresh_from_db()
    assert (job.status, job.error_code) == ("failed", "unreadable")
    assert job.ended_at is not None


def test_a_job_that_waits_too_long_is_found(in_team: Tenant, other_team: Tenant) -> None:
    job = _job(in_team)
    assert jobs.jobs_left_behind("test") == []
    BackgroundJob.objects.update(created_at=clock.now() - timedelta(seconds=61))
    assert jobs.jobs_left_behind("test") == [job.id]
    with team_scope(other_team.context):
        assert BackgroundJob.objects.count() == 0


def _end(job: BackgroundJob) -> int:
    assert job.user_id is not None
    return jobs.jobs_end(team=jobs.job_team(job), user_id=job.user_id, kind=job.kind, error_code="user_gone")


WALKS: dict[JobCommand, Callable[[BackgroundJob], object]] = {
    JobCommand.CLAIM: lambda job: jobs.job_claim(job_id=job.pk),
    JobCommand.RENEW: lambda job: jobs.job_renew(job, progress_done=9),
    JobCommand.SUCCEED: lambda job: jobs.job_finish(job, receipt={"by": "test"}),
    JobCommand.FAIL: lambda job: jobs.job_finish(job, receipt={"by": "test"}, error_code="broken"),
    JobCommand.END: _end,
}


@pytest.mark.parametrize("command", list(JobCommand))
@pytest.mark.parametrize("status", list(JobStatus))
def test_every_status_with_every_command(in_team: Tenant, status: JobStatus, command: JobCommand) -> None:
    job = _job(in_team)
    BackgroundJob.objects.update(status=status, attempts=1, lease_until=clock.now() - timedelta(seconds=1))
    before = BackgroundJob.objects.values().get()
    job.refresh_from_db()
    assert bool(WALKS[command](job)) is ((status, command) in TRANSITIONS)
    after = BackgroundJob.objects.values().get()
    expected = TRANSITIONS.get((status, command))
    if expected is None:
        assert after == before
    else:
        assert after["status"] == expected
        assert after != before


def test_files_that_no_row_names_are_swept_after_a_day(in_team: Tenant, settings: Settings, tmp_path: Path) -> None:
    options = {**settings.STORAGES["default"], "OPTIONS": {"location": str(tmp_path)}}
    settings.STORAGES = {**settings.STORAGES, "default": options}
    kept = files.file_store(team=in_team.context, user_id=None, purpose="test", chunks=iter([b"a"]))
    left = files.file_write(team=in_team.context, chunks=iter([b"b"]))
    fresh = files.file_write(team=in_team.context, chunks=iter([b"c"]))
    day_ago = clock.now().timestamp() - files.ROWLESS_SECONDS - 1
    for name in (kept.storage_name, left.storage_name):
        os.utime(tmp_path / name, (day_ago, day_ago))
    tasks.files_sweep()
    names = {path.relative_to(tmp_path).as_posix() for path in tmp_path.glob("*/*")}
    assert names == {kept.storage_name, fresh.storage_name}


_KILLED = """
import os, signal, sys
from management.storage import EncryptedFileSystemStorage
def chunks():
    yield bytes(3 << 20)
    os.kill(os.getpid(), signal.SIGKILL)
EncryptedFileSystemStorage(location=sys.argv[1]).write_chunks(sys.argv[2], chunks())
"""


def test_what_a_killed_writer_left_is_swept_after_a_day(in_team: Tenant, settings: Settings, tmp_path: Path) -> None:
    options = {**settings.STORAGES["default"], "OPTIONS": {"location": str(tmp_path)}}
    settings.STORAGES = {**settings.STORAGES, "default": options}
    path = tmp_path / str(in_team.team.id) / str(uuid4())
    argv = [sys.executable, "-c", _KILLED, str(tmp_path), path.relative_to(tmp_path).as_posix()]
    assert subprocess.run(argv, cwd=settings.BASE_DIR, check=False).returncode == -signal.SIGKILL
    assert path.exists()
    assert (files.files_sweep(), path.exists()) == (0, True), "somebody may be writing it"
    day_ago = clock.now().timestamp() - files.ROWLESS_SECONDS - 1
    os.utime(path, (day_ago, day_ago))
    assert (files.files_sweep(), path.exists()) == (1, False)


def test_a_file_is_on_the_disk_with_its_folder_when_writing_returns(
    storage: EncryptedFileSystemStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    sync = os.fsync

    def note(descriptor: int) -> None:
        synced.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    storage.write_chunks("folder/name", iter([b"report"]))
    assert synced == [str(tmp_path / "folder/name"), str(tmp_path / "folder"), str(tmp_path)]


def test_a_file_is_kept_only_with_its_job(in_team: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(**_values: object) -> BackgroundJob:
        raise SystemExit

    monkeypatch.setattr(imports, "job_create", die)
    with pytest.raises(SystemExit):
        imports.import_accept(team=in_team.context, user_id=user_make(in_team).pk, chunks=iter([b"<HealthData/>"]))
    assert StoredFile.objects.count() == 0
