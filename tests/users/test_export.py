"""Archives of everything about a user: made once, whole or not at all, kept for some days, gone with the user."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import date, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db.models import QuerySet
from pytest_django import Settings

from healthsvc.kernel import clock
from healthsvc.kernel.errors import ErrorCode, ServiceError
from healthsvc.kernel.exporting import ExportedFile, ExportPart, Piece, UnreadableError, table_part
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from links.models import Connection
from management import jobs
from management.files import file_store, files_sweep
from management.jobs import job_claim
from management.models import AccessRecord, BackgroundJob, StoredFile
from tests.factories import Tenant, user_make
from tests.management.trailing import recorded
from tests.users.erasing import deleted, erased, later
from tests.users.exporting import archive_bytes, asked, job_of, made, opened, reloaded, stored_names
from users import registry, tasks
from users.constants import EXPORT_WOKEN_SECONDS
from users.models import Export, User
from users.services import deletion, exports
from users.services.exports import LeaseLostError, export_run, exports_purge, exports_wake

Committed = Callable[..., AbstractContextManager[object]]

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _own_files(settings: Settings, tmp_path: Path) -> None:
    storage = {**settings.STORAGES["default"], "OPTIONS": {"location": str(tmp_path)}}
    settings.STORAGES = {**settings.STORAGES, "default": storage}


@pytest.fixture
def user(team: Tenant) -> User:
    """Whose data are exported."""
    return user_make(team, client_user_id="ada", fallback_birth_date=date(1987, 6, 5))


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[UUID]:
    """The jobs that were handed to workers."""
    found: list[UUID] = []
    monkeypatch.setattr(exports, "enqueue", lambda task, *, job_id: found.append(job_id))
    return found


def only(monkeypatch: pytest.MonkeyPatch, *pieces: Piece | Exception) -> None:
    """Have one exporter: a file of these pieces, or one that fails where an exception stands."""

    def taken() -> Iterator[Piece]:
        for piece in pieces:
            if isinstance(piece, Exception):
                raise piece
            yield piece

    def files(team: TeamContext, user_id: UUID) -> Iterator[ExportedFile]:
        yield ExportedFile("some.txt", taken())

    part = ExportPart("some", frozenset(), files)
    monkeypatch.setattr(registry, "exporters", [registry.Exporter((part,), {})])


def test_an_archive_says_what_is_in_it_and_what_is_not(team: Tenant, user: User) -> None:
    archive = opened(team, user.id)
    (person,) = archive.lines("users/person.jsonl")
    assert (person["client_user_id"], person["fallback_birth_date"]) == ("ada", "1987-06-05")
    manifest = archive.manifest
    assert (manifest["schema_version"], manifest["user_id"]) == (1, str(user.id))
    told = {file["path"]: file for part in manifest["parts"] for file in part["files"]}
    assert set(told) == set(archive.files) - {"manifest.json", "README.txt"}
    for path, file in told.items():
        assert file["sha256"] == hashlib.sha256(archive.files[path]).hexdigest()
        assert file["bytes"] == len(archive.files[path])
        assert file["records"] == len(archive.lines(path))
    assert manifest["records"] == sum(file["records"] for file in told.values())
    assert {
        "table": "links_connection",
        "column": "access_token",
        "reason": "opens the person's account at the provider",
    } in manifest["left_out"]
    assert {
        (one["table"], one["column"])
        for one in manifest["left_out"]
        if one["reason"].startswith("how the service's own")
    } >= {("management_access_record", "position"), ("links_pull", "claim"), ("links_pull", "given_up_before")}
    readme = archive.files["README.txt"].decode()
    assert "\nusers/person.jsonl\n    You: the customer's own name for you" in readme
    assert "\naggregation/samples/<resource>.parquet\n    Measurements, a row each" in readme
    assert {one["table"] for one in manifest["left_out"] if one["column"] is None} == {
        "links_oauth_state",
        "links_provider_hook",
        "links_session_token",
        "management_access_named",
        "management_idempotent_reply",
    }


def test_records_of_lists_are_in_the_archive_without_the_others(team: Tenant, user: User) -> None:
    recorded(team, action="GET /v2/user", user_ids=[uuid4(), user.id])
    recorded(team, action="GET /v2/user", user_ids=[uuid4()])
    told = opened(team, user.id).lines("management/access_records.jsonl")
    listed = [one["object_ids"] for one in told if one["action"] == "GET /v2/user"]
    assert listed == [{"user_ids": [str(user.id)]}]


def test_documents_are_as_they_were_stored_and_archives_in_no_archive(team: Tenant, user: User) -> None:
    with team_scope(team.context):
        file = file_store(
            team=team.context, user_id=user.id, purpose="lab_report", chunks=iter([b"%PDF", bytes(2_000_000)])
        )
    first, second = opened(team, user.id), opened(team, user.id)
    for archive in (first, second):
        assert archive.files[f"management/files/{file.pk}"] == b"%PDF" + bytes(2_000_000)
        (row,) = archive.lines("management/stored_files.jsonl")
        assert (row["purpose"], "storage_name" in row) == ("lab_report", False)
    for path, ended in (("users/exports.jsonl", "ready"), ("management/background_jobs.jsonl", "succeeded")):
        assert path not in first.files, "the archive in hand"
        assert [row["status"] for row in second.lines(path)] == [ended]


def test_a_document_whose_bytes_are_lost_is_told_not_passed_over(team: Tenant, user: User, tmp_path: Path) -> None:
    with team_scope(team.context):
        file = file_store(team=team.context, user_id=user.id, purpose="lab_report", chunks=iter([b"%PDF"]))
    (tmp_path / file.storage_name).unlink()
    export = made(team, user.id)
    assert (export.status, export.error_code, stored_names()) == ("failed", "unreadable", set())
    assert (job_of(export).status, job_of(export).error_code) == ("failed", "unreadable")


def test_whoever_asks_while_one_is_made_gets_that_one(team: Tenant, user: User, sent: list[UUID]) -> None:
    with team_scope(team.context):
        first, is_new = exports.export_request(team=team.context, user_id=user.id)
        again, is_another = exports.export_request(team=team.context, user_id=user.id)
    assert (first.pk, is_new, is_another) == (again.pk, True, False)
    assert sent == [first.job_id]
    export_run(job_id=first.job_id)
    assert asked(team, user.id).pk != first.pk


def test_a_team_has_so_many_made_at_once(
    team: Tenant, production: Tenant, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "EXPORTS_MAKING_A_TEAM", 1)
    first = asked(team, user.id)
    asked(production, user_make(production).id)
    with pytest.raises(ServiceError) as refused:
        asked(team, user_make(team).id)
    assert (refused.value.code, refused.value.headers["Retry-After"]) == (ErrorCode.RATE_LIMITED, "60")
    export_run(job_id=first.job_id)
    assert asked(team, user_make(team).id).status == "making"


def test_progress_goes_by_parts_and_ends_at_all_of_them(
    team: Tenant, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, int]] = []
    renew = jobs.job_renew

    def renewed(job: BackgroundJob, *, progress_done: int, checkpoint: dict[str, int]) -> bool:
        seen.append((progress_done, checkpoint["records"]))
        return renew(job, progress_done=progress_done, checkpoint=checkpoint)

    monkeypatch.setattr(exports, "job_renew", renewed)
    export = made(team, user.id)
    job = job_of(export)
    parts = sum(len(exporter.parts) for exporter in registry.exporters)
    assert [done for done, _records in seen] == list(range(1, parts + 1))
    assert (job.progress_done, job.progress_total, job.status) == (parts, parts, "succeeded")
    assert job.receipt == {"records": export.records, "files": 1}
    assert seen[-1] == (parts, export.records)


def test_an_archive_that_fails_half_way_leaves_no_file_and_is_begun_anew(
    team: Tenant, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    export = asked(team, user.id)
    with monkeypatch.context() as patched:
        only(patched, Piece(b"half"), OSError("No space left on device"))
        with pytest.raises(OSError, match="No space"):
            export_run(job_id=export.job_id)
    assert (reloaded(export).status, job_of(export).status, stored_names()) == ("making", "running", set())
    export_run(job_id=export.job_id)
    assert reloaded(export).status == "making", "its lease runs still"
    with later(31):
        export_run(job_id=export.job_id)
    assert (reloaded(export).status, job_of(export).attempts) == ("ready", 2)
    assert len(stored_names()) == 1


class Killed(BaseException):
    """The worker is gone."""


def test_a_worker_that_dies_with_a_whole_file_leaves_nothing_to_download(
    team: Tenant, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    export = asked(team, user.id)

    def killed(*_args: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(exports, "_finish", killed)
        with pytest.raises(Killed):
            export_run(job_id=export.job_id)
    (orphan,) = stored_names()
    assert (reloaded(export).status, reloaded(export).file_id) == ("making", None)
    with later(31):
        export_run(job_id=export.job_id)
    assert (reloaded(export).status, len(stored_names())) == ("ready", 2)
    with later(86_400 + 60):
        assert files_sweep() == 1
    assert orphan not in stored_names()
    assert archive_bytes(reloaded(export))


def test_the_sweep_finds_what_nobody_works_on(team: Tenant, user: User, sent: list[UUID]) -> None:
    export = asked(team, user.id)
    assert (exports_wake(), sent) == (0, [export.job_id])
    with later(31):
        tasks.exports_sweep()
        # Nobody took it yet: it is not sent again and again.
        assert exports_wake() == 0
    assert sent == [export.job_id] * 2
    with later(31 + EXPORT_WOKEN_SECONDS):
        assert exports_wake() == 1
    tasks.export_run(str(export.job_id))
    with later(31):
        assert exports_wake() == 0


def test_one_that_fails_again_and_again_is_given_up(team: Tenant, user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    export = asked(team, user.id)
    with monkeypatch.context() as patched:
        only(patched, OSError("gone"))
        for attempt in range(5):
            with later(31 * attempt), pytest.raises(OSError, match="gone"):
                export_run(job_id=export.job_id)
    with later(31 * 5):
        export_run(job_id=export.job_id)
    assert (reloaded(export).status, reloaded(export).error_code) == ("failed", "given_up")
    assert asked(team, user.id).pk != export.pk


def test_a_worker_that_was_taken_over_leaves_its_file_to_nobody(
    team: Tenant, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    export = asked(team, user.id)
    finish = exports._finish

    def taken_over(*args: object) -> None:
        BackgroundJob.objects.filter(pk=export.job_id).update(lease_until=clock.now() - timedelta(seconds=1))
        monkeypatch.setattr(exports, "_finish", finish)
        export_run(job_id=export.job_id)
        assert reloaded(export).status == "ready"
        finish(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(exports, "_finish", taken_over)
    export_run(job_id=export.job_id)
    row = reloaded(export)
    with system_scope(SystemScope.PURGE):
        file = StoredFile.objects.get()
    assert (row.status, row.file_id, stored_names()) == ("ready", file.pk, {file.storage_name})


def test_a_lease_that_is_lost_ends_the_work(team: Tenant, user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    export = asked(team, user.id)
    job = job_claim(job_id=export.job_id)
    assert job is not None
    with team_scope(team.context):
        BackgroundJob.objects.filter(pk=job.pk).update(attempts=7)
        with pytest.raises(LeaseLostError):
            exports._make(job, export, user)
    assert stored_names() == set()


@pytest.mark.parametrize("moment", ["queued", "finishing"])
def test_a_deletion_ends_what_is_made(team: Tenant, user: User, monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    export = asked(team, user.id)
    finish = exports._finish

    def finish_later(*args: object) -> None:
        deleted(team, user.id)
        finish(*args)  # type: ignore[arg-type]

    if moment == "finishing":
        monkeypatch.setattr(exports, "_finish", finish_later)
    else:
        deleted(team, user.id)
    export_run(job_id=export.job_id)
    row = reloaded(export)
    assert (row.status, row.error_code, row.file_id) == ("cancelled", "user_gone", None)
    assert (job_of(export).status, job_of(export).error_code) == ("failed", "user_gone")
    assert stored_names() == set()


def test_a_deletion_that_is_undone_brings_the_archive_back_and_none_that_was_made(team: Tenant, user: User) -> None:
    finished = made(team, user.id)
    making = asked(team, user.id)
    deleted(team, user.id)
    with team_scope(team.context):
        deletion.user_delete_undo(team=team.context, user_id=user.id)
    export_run(job_id=making.job_id)
    assert (reloaded(finished).status, reloaded(making).status) == ("ready", "cancelled")


def test_a_user_has_one_finished_archive_the_newest(
    team: Tenant, user: User, django_capture_on_commit_callbacks: Committed
) -> None:
    first, other = made(team, user.id), made(team, user_make(team).id)
    with django_capture_on_commit_callbacks(execute=True):
        second = made(team, user.id)
    assert [reloaded(one).status for one in (first, second, other)] == ["expired", "ready", "ready"]
    assert reloaded(first).file_id is None
    assert len(stored_names()) == 2


def test_an_archive_is_removed_once_its_days_are_over(
    team: Tenant, user: User, settings: Settings, django_capture_on_commit_callbacks: Committed
) -> None:
    settings.USER_EXPORT_DAYS = 2
    committed = django_capture_on_commit_callbacks
    export = made(team, user.id)
    assert export.expires_at is not None
    with later(2 * 86_400 - 60):
        assert exports_purge() == 0
    assert archive_bytes(export)
    with later(2 * 86_400 + 60), committed(execute=True):
        tasks.exports_purge()
        assert exports_purge() == 0
    row = reloaded(export)
    assert (row.status, row.file_id, stored_names()) == ("expired", None, set())
    with later(100 * 86_400):
        exports_purge()
    with system_scope(SystemScope.PURGE):
        assert (Export.objects.count(), StoredFile.objects.count()) == (0, 0)


def test_who_read_everything_is_written_down(team: Tenant, user: User) -> None:
    export = made(team, user.id)
    with team_scope(team.context):
        (row,) = AccessRecord.objects.all()
    assert (row.actor_kind, row.actor_id, row.user_id, row.action) == (
        "worker",
        str(export.pk),
        user.id,
        "export user",
    )


def test_an_erasure_takes_the_archive_with_it(team: Tenant, user: User) -> None:
    made(team, user.id)
    erasure = erased(team, user.id)
    assert (erasure.status, stored_names()) == ("erased", set())
    assert {name: erasure.rows_erased[name] for name in ("users_export", "management_stored_file")} == {
        "users_export": 1,
        "management_stored_file": 1,
    }


def test_an_export_of_a_user_who_is_not_there_is_refused(team: Tenant, other_team: Tenant) -> None:
    gone = user_make(team)
    deleted(team, gone.id)
    for user_id in (uuid4(), gone.id, user_make(other_team).id):
        with pytest.raises(ServiceError) as refused:
            asked(team, user_id)
        assert refused.value.code is ErrorCode.NOT_FOUND
    with system_scope(SystemScope.PURGE):
        assert (Export.objects.count(), BackgroundJob.objects.count()) == (0, 0)


def test_what_cannot_be_opened_is_an_archive_that_fails_at_once(
    team: Tenant, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    only(monkeypatch, Piece(b"half"), UnreadableError())
    export = made(team, user.id)
    assert (export.status, export.error_code, stored_names()) == ("failed", "unreadable", set())


def nothing(team: TeamContext, user_id: UUID) -> QuerySet[Connection]:
    """No rows."""
    return Connection.objects.none()


def test_a_sealed_column_that_nobody_decided_about_stops_the_process() -> None:
    tokens = {"access_token": "why", "refresh_token": "why"}
    with pytest.raises(ImproperlyConfigured, match="credentials"):
        table_part("planted", Connection, nothing, left_out=tokens)
    with pytest.raises(ImproperlyConfigured, match="no_column"):
        table_part("planted", Connection, nothing, left_out={**tokens, "credentials": "why", "no_column": "why"})
