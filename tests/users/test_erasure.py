"""Erasing users whose time is over: when, by whom, in portions, through failures, to the end."""

import base64
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path
from uuid import UUID

import orjson
import pytest
from django.core.files.storage import FileSystemStorage
from django.db import OperationalError, connection
from pytest_django import Settings

from healthsvc.kernel import clock
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.rows import team_values
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from links.models import Connection, Revocation
from management.files import file_seal_again, file_store, files_empty, files_forget
from management.jobs import job_create
from management.models import BackgroundJob, IdempotentReply, StoredFile, Team
from management.services.team_erasure import team_erase
from management.storage import default_storage
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.links.granting import stored
from tests.users.erasing import after_grace, deleted, erased, later, reloaded
from users import registry, tasks
from users.constants import ERASURE_GRACE_SECONDS, ERASURE_LEASE_SECONDS, ERASURE_WAIT_SECONDS, ERASURE_WOKEN_SECONDS
from users.models import Erasure, User
from users.registry import Eraser, ErasureWaits
from users.services import deletion, erasure
from users.services.erasure import erasure_run, erasures_wake

pytestmark = pytest.mark.django_db


@pytest.fixture
def user(team: Tenant) -> User:
    """Who is erased."""
    return user_make(team, client_user_id="ada")


@pytest.fixture
def erasers(monkeypatch: pytest.MonkeyPatch) -> list[Eraser]:
    """Those that are registered, to which a test may add."""
    listed = list(registry.erasers)
    monkeypatch.setattr(registry, "erasers", listed)
    return listed


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[UUID]:
    """The erasures that were handed to workers."""
    found: list[UUID] = []
    monkeypatch.setattr(erasure, "enqueue", lambda task, *, erasure_id: found.append(erasure_id))
    return found


def failing(error: Exception) -> Eraser:
    """One that fails."""

    def portion(team: TeamContext, user_id: UUID) -> Mapping[str, int]:
        raise error

    return Eraser(frozenset(), portion)


def counted(portions: int) -> tuple[Eraser, list[UUID]]:
    """One that finds so many portions of two rows, and whom it was asked for."""
    asked: list[UUID] = []

    def portion(team: TeamContext, user_id: UUID) -> Mapping[str, int]:
        asked.append(user_id)
        return {"somewhere": 2} if len(asked) <= portions else {}

    return Eraser(frozenset(), portion), asked


def users_left(tenant: Tenant) -> set[UUID]:
    """Ids of all there are."""
    with team_scope(tenant.context):
        return set(User.objects.values_list("pk", flat=True))


def test_nothing_is_due_before_the_days_are_over(team: Tenant, user: User, sent: list[UUID]) -> None:
    row = deleted(team, user.id)
    with later(ERASURE_GRACE_SECONDS - 5):
        assert erasures_wake() == 0
        erasure_run(erasure_id=row.pk)
    assert reloaded(row).status == "pending"
    with after_grace():
        tasks.erasures_sweep()
    assert sent == [row.pk]


def test_the_sweep_hands_out_what_nobody_has(team: Tenant, other_team: Tenant, sent: list[UUID]) -> None:
    rows = [deleted(team, user_make(team).id), deleted(other_team, user_make(other_team).id)]
    undone = deleted(team, (back := user_make(team)).id)
    with team_scope(team.context):
        deletion.user_delete_undo(team=team.context, user_id=back.id)
    with after_grace():
        assert erasures_wake() == 2
        # Nobody took them yet: they are not sent again and again.
        assert erasures_wake() == 0
        with system_scope(SystemScope.PURGE):
            told = clock.now() - timedelta(seconds=ERASURE_WOKEN_SECONDS)
            Erasure.objects.update(woken_at=told)
            held = clock.now() + timedelta(seconds=1)
            Erasure.objects.filter(pk=rows[0].pk).update(status="erasing", lease_until=held)
        assert erasures_wake() == 1
        tasks.erasure_run(str(rows[0].pk))
        erasure_run(erasure_id=undone.pk)
    assert sent == [rows[0].pk, rows[1].pk, rows[1].pk]
    assert (reloaded(rows[0]).status, reloaded(undone).status) == ("erasing", "undone")
    assert back.id in users_left(team)


def test_an_erasure_that_is_done_is_done(team: Tenant, user: User) -> None:
    row = erased(team, user.id)
    before = reloaded(row)
    with after_grace():
        erasure_run(erasure_id=row.pk)
    after = reloaded(row)
    assert (after.claim, after.erased_at, after.receipt) == (before.claim, before.erased_at, before.receipt)


def test_the_name_is_free_and_others_stay(api: ApiClient, team: Tenant, user: User) -> None:
    kept = user_make(team)
    row = erased(team, user.id)
    assert users_left(team) == {kept.id}
    assert (row.user_id, row.status, row.lease_until) == (None, "erased", None)
    assert api.post("/v2/user", {"client_user_id": "ada"}).status_code == 200


def test_earlier_deletions_that_were_undone_forget_the_user_too(team: Tenant, user: User) -> None:
    first = deleted(team, user.id)
    with team_scope(team.context):
        deletion.user_delete_undo(team=team.context, user_id=user.id)
    erased(team, user.id)
    assert (reloaded(first).user_id, reloaded(first).status) == (None, "undone")


def test_counts_are_of_all_portions_and_of_every_table(team: Tenant, user: User, erasers: list[Eraser]) -> None:
    eraser, asked = counted(3)
    erasers.append(eraser)
    row = erased(team, user.id)
    assert row.rows_erased == {"somewhere": 6, "users_user": 1}
    # Three with something, one without, and one more round in which nothing is found.
    assert asked == [user.id] * 5


def test_a_worker_makes_way_and_goes_on(team: Tenant, user: User, erasers: list[Eraser], sent: list[UUID]) -> None:
    erasers.append(counted(3)[0])
    row = deleted(team, user.id)
    with after_grace():
        for turn in range(1, 4):
            erasure_run(erasure_id=row.pk, run_seconds=0)
            now = reloaded(row)
            assert (now.status, now.rows_erased, now.lease_until) == ("erasing", {"somewhere": 2 * turn}, None)
        assert user.id in users_left(team)
        erasure_run(erasure_id=row.pk, run_seconds=0)
    assert sent == [row.pk] * 3
    assert reloaded(row).rows_erased == {"somewhere": 6, "users_user": 1}
    assert reloaded(row).claim == 4


def test_a_failure_is_told_and_tried_again(team: Tenant, user: User, erasers: list[Eraser], sent: list[UUID]) -> None:
    erasers.append(counted(1)[0])
    erasers.insert(0, failing(ValueError("Ada's data")))
    row = deleted(team, user.id)
    with after_grace():
        for failures in (1, 2):
            with later((failures - 1) * 60), pytest.raises(ValueError, match="Ada's data"):
                erasure_run(erasure_id=row.pk)
            now = reloaded(row)
            assert (now.failures, now.error_code, now.lease_until) == (failures, "ValueError", None)
            assert now.rows_erased == {"somewhere": 2}
        assert erasures_wake() == 0
        del erasers[0]
        with later(60 + 300 + 1):
            assert erasures_wake() == 1
            erasure_run(erasure_id=row.pk)
    assert (reloaded(row).status, reloaded(row).error_code) == ("erased", "")


def test_a_database_that_goes_away_is_no_failure(team: Tenant, user: User, erasers: list[Eraser]) -> None:
    erasers.append(failing(OperationalError("gone")))
    row = deleted(team, user.id)
    with after_grace():
        with pytest.raises(OperationalError):
            erasure_run(erasure_id=row.pk)
        held = reloaded(row)
        assert (held.failures, held.status) == (0, "erasing")
        erasers.pop()
        erasure_run(erasure_id=row.pk)
        assert reloaded(row).status == "erasing"
        with later(ERASURE_LEASE_SECONDS + 1):
            erasure_run(erasure_id=row.pk)
    assert reloaded(row).status == "erased"


def test_what_waits_for_another_keeps_nothing_else(team: Tenant, user: User, erasers: list[Eraser]) -> None:
    eraser, _asked = counted(2)
    erasers.insert(0, eraser)
    erasers.append(failing(ErasureWaits()))
    row = deleted(team, user.id)
    with after_grace():
        erasure_run(erasure_id=row.pk)
        waiting = reloaded(row)
        assert (waiting.status, waiting.error_code, waiting.failures) == ("erasing", "waits", 0)
        assert waiting.rows_erased == {"somewhere": 4}
        assert erasures_wake() == 0
        erasers.pop()
        with later(ERASURE_WAIT_SECONDS + 1):
            erasure_run(erasure_id=row.pk)
    assert reloaded(row).status == "erased"


def test_a_worker_whose_lease_ran_out_undoes_what_it_has_in_hand(
    team: Tenant, user: User, erasers: list[Eraser]
) -> None:
    with team_scope(team.context):
        job_create(team=team.context, kind="test", user_id=user.id, parameters={})

    def taken_over_between(context: TeamContext, user_id: UUID) -> Mapping[str, int]:
        Erasure.objects.filter(pk=row.pk).update(claim=99)
        return {"jobs": BackgroundJob.objects.filter(user_id=user_id).delete()[0]}

    erasers.append(Eraser(frozenset(), taken_over_between))
    row = deleted(team, user.id)
    with after_grace():
        erasure_run(erasure_id=row.pk)
    now = reloaded(row)
    assert (now.status, now.rows_erased, now.failures) == ("erasing", {}, 0)
    with team_scope(team.context):
        assert BackgroundJob.objects.count() == 1


def test_a_row_that_comes_last_is_found_before_the_user_goes(
    team: Tenant, user: User, erasers: list[Eraser], monkeypatch: pytest.MonkeyPatch
) -> None:
    finish = erasure._finish

    def row_comes_between(row: Erasure) -> None:
        monkeypatch.setattr(erasure, "_finish", finish)
        now = clock.now()
        Connection.objects.create(
            **team_values(team.context), user=user, provider="oura", created_at=now, connected_at=now
        )
        finish(row)

    monkeypatch.setattr(erasure, "_finish", row_comes_between)
    row = deleted(team, user.id)
    with after_grace():
        with pytest.raises(Exception, match="protected"):
            erasure_run(erasure_id=row.pk)
        assert reloaded(row).error_code == "ProtectedError"
        with later(61):
            erasure_run(erasure_id=row.pk)
    assert reloaded(row).rows_erased == {"links_connection": 1, "users_user": 1}


def test_a_grant_that_is_owed_back_keeps_its_tokens_until_it_is(team: Tenant, user: User) -> None:
    made = stored(team, user)
    row = deleted(team, user.id)
    with after_grace():
        erasure_run(erasure_id=row.pk)
        waiting = reloaded(row)
        assert (waiting.status, waiting.error_code) == ("erasing", "waits")
        assert "links_pull" in waiting.rows_erased
        with system_scope(SystemScope.PURGE):
            owed = Revocation.objects.get()
            assert (owed.connection_id, owed.status, owed.refresh_token) == (made.pk, "owed", "refresh-1")
            # The last attempt is asked for at once.
            assert owed.give_up_at is not None
            assert owed.not_before == owed.give_up_at <= clock.now()
            Revocation.objects.update(status="given_up", access_token="", refresh_token="")
        with later(ERASURE_WAIT_SECONDS + 1):
            erasure_run(erasure_id=row.pk)
    done = reloaded(row)
    assert done.status == "erased"
    assert (done.rows_erased["links_connection"], done.rows_erased["links_revocation"]) == (1, 1)
    assert "grants_not_revoked" not in done.rows_erased
    assert (done.grants_not_revoked, orjson.loads(done.receipt)["grants_not_revoked"]) == (1, 1)


@pytest.fixture
def _own_files(settings: Settings, tmp_path: Path) -> None:
    """Stored files in a folder of the test's own."""
    options = {**settings.STORAGES["default"], "OPTIONS": {"location": str(tmp_path)}}
    settings.STORAGES = {**settings.STORAGES, "default": options}


@pytest.mark.usefixtures("_own_files")
def test_files_go_with_their_bytes(team: Tenant, user: User) -> None:
    with team_scope(team.context):
        gone, kept = (
            file_store(team=team.context, user_id=user_id, purpose="test", chunks=iter([b"bytes"]))
            for user_id in (user.id, user_make(team).id)
        )
    assert erased(team, user.id).rows_erased == {"management_stored_file": 1, "users_user": 1}
    assert not default_storage().exists(gone.storage_name)
    assert default_storage().exists(kept.storage_name)
    with team_scope(team.context):
        assert list(StoredFile.objects.values_list("pk", flat=True)) == [kept.pk]


@pytest.mark.usefixtures("_own_files")
def test_bytes_are_removed_outside_of_a_transaction(team: Tenant, user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    inside: list[list[str]] = []
    real = FileSystemStorage.delete

    def seen(storage: FileSystemStorage, name: str) -> None:
        inside.append(list(connection.savepoint_ids))
        real(storage, name)

    monkeypatch.setattr(FileSystemStorage, "delete", seen)
    with team_scope(team.context):
        for user_id in (user.id, None):
            file_store(team=team.context, user_id=user_id, purpose="test", chunks=iter([b"bytes"]))
    erased(team, user.id)
    Team.objects.update(deleted_at=clock.now(), erase_due_at=clock.now())
    assert team_erase(team_id=team.team.pk)
    assert inside == [[], []]
    with team_scope(team.context):
        assert StoredFile.objects.count() == 0


@pytest.mark.usefixtures("_own_files")
def test_a_file_that_was_sealed_again_meanwhile_keeps_its_row(team: Tenant, user: User) -> None:
    with team_scope(team.context):
        file = file_store(team=team.context, user_id=user.id, purpose="test", chunks=iter([b"bytes"]))
        file_seal_again(StoredFile.objects.get())
        assert files_forget([file]) == 0
        assert files_forget(files_empty(StoredFile.objects.all())) == 1


def test_kept_replies_go_with_the_deletion_and_late_ones_with_the_erasure(api: ApiClient, team: Tenant) -> None:
    names = ("eve", "late", "kept")
    eve, late, kept = (api.post("/v2/user", {"client_user_id": name}, Idempotency_Key=name).json() for name in names)
    with team_scope(team.context):
        assert IdempotentReply.objects.count() == 3
    row = deleted(team, UUID(eve["user_id"]))
    with team_scope(team.context):
        assert {str(reply.user_id) for reply in IdempotentReply.objects.all()} == {late["user_id"], kept["user_id"]}
        # As if a request that ran beside the deletion had kept its answer after it.
        IdempotentReply.objects.filter(user_id=late["user_id"]).update(user_id=eve["user_id"])
    with after_grace():
        erasure_run(erasure_id=row.pk)
    assert reloaded(row).rows_erased == {"management_idempotent_reply": 1, "users_user": 1}
    with team_scope(team.context):
        assert str(IdempotentReply.objects.get().user_id) == kept["user_id"]


def test_what_can_t_be_opened_any_more_is_erased_all_the_same(team: Tenant, settings: Settings) -> None:
    user = user_make(team, fallback_birth_date=date(1980, 1, 1))
    stored(team, user)
    row = deleted(team, user.id)
    with system_scope(SystemScope.PURGE):
        Revocation.objects.update(status="given_up")
    settings.FIELD_ENCRYPTION_KEYS = "other:" + base64.b64encode(bytes(32)).decode()
    with after_grace():
        erasure_run(erasure_id=row.pk)
    assert reloaded(row).status == "erased"


@pytest.mark.usefixtures("_own_files")
def test_a_file_whose_row_is_left_by_a_crash_goes_the_next_time(team: Tenant, user: User) -> None:
    with team_scope(team.context):
        file = file_store(team=team.context, user_id=user.id, purpose="test", chunks=iter([b"bytes"]))
    default_storage().delete(file.storage_name)
    assert erased(team, user.id).rows_erased["management_stored_file"] == 1
