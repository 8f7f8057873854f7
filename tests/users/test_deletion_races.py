"""Deleting, undoing and erasing at the same moment, and while data come in: one order or the other, nothing between."""

import threading
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.db import connection
from pytest_django import Settings

from aggregation import imports
from aggregation.imports import import_accept, import_run
from aggregation.models import Block
from aggregation.services import health_data_store, user_hold
from healthsvc.kernel.errors import ErrorCode, ServiceError
from healthsvc.kernel.scope import team_scope
from links.connectors.base import Pulled
from links.models import Connection, Pull, Revocation
from links.services import pulls
from links.services.pulls import pull_run
from management.models import BackgroundJob, StoredFile
from tests import factories
from tests.aggregation.samples import heartrates, us
from tests.factories import Tenant
from tests.links.granting import open_pulls, stored
from tests.links.overlapping import Overlap
from tests.users.erasing import after_grace, deleted, erased, reloaded
from users.models import Erasure, User
from users.services import deletion, user_create
from users.services.erasure import erasure_run

pytestmark = pytest.mark.django_db(transaction=True)

EXPORT = Path(__file__).resolve().parent.parent / "data" / "apple_health" / "export.xml"
SAMPLES = heartrates({us(2026, 1, 1, 12): 61.0})


@pytest.fixture
def tenant(transactional_db: None) -> Iterator[Tenant]:
    """A team whose rows are committed."""
    yield factories.tenant_make()
    connection.close()


@pytest.fixture
def overlap(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> Overlap:
    """Two things in the chosen order."""
    return Overlap(tenant, monkeypatch)


@pytest.fixture
def user(tenant: Tenant) -> User:
    """Who is deleted."""
    return factories.user_make(tenant, client_user_id="ada")


class Doing:
    """What can happen to a user, as functions without arguments."""

    def __init__(self, tenant: Tenant, user: User) -> None:
        self.team, self.user = tenant.context, user

    def delete(self) -> Erasure:
        """The customer deletes."""
        return deletion.user_delete(team=self.team, user_id=self.user.id)

    def undo(self) -> User:
        """The customer has second thoughts."""
        return deletion.user_delete_undo(team=self.team, user_id=self.user.id)

    def name_taken(self) -> User:
        """The customer makes another user of the same name."""
        return user_create(team=self.team, client_user_id="ada")

    def store(self) -> Any:
        """Data come in."""
        return health_data_store(team=self.team, user_id=self.user.id, series=[SAMPLES])


@pytest.fixture
def doing(tenant: Tenant, user: User) -> Doing:
    """What can happen to the user."""
    return Doing(tenant, user)


def purge(erasure: Erasure) -> Any:
    """A worker, after the days are over; the clock of whoever is stopped has been read by then."""

    def run() -> None:
        with time_machine.travel(erasure.due_at):
            erasure_run(erasure_id=erasure.pk)

    return run


def code_of(result: Any) -> ErrorCode:
    """Why something was refused."""
    assert isinstance(result, ServiceError), result
    return result.code


def living(tenant: Tenant) -> int:
    """How many users there are."""
    with team_scope(tenant.context):
        return User.objects.living().count()


def blocks(tenant: Tenant) -> int:
    """How many blocks of samples there are."""
    with team_scope(tenant.context):
        return Block.objects.count()


def test_of_several_deletions_at_once_one_counts(tenant: Tenant, doing: Doing, overlap: Overlap) -> None:
    results = overlap.together(*[doing.delete] * 4)
    refused = [result for result in results if not isinstance(result, Erasure)]
    assert [(code_of(one), one.detail) for one in refused] == [
        (ErrorCode.NOT_FOUND, "The user has been scheduled for deletion as per your previous request")
    ] * 3
    with team_scope(tenant.context):
        assert Erasure.objects.count() == 1


def test_of_several_undoings_at_once_one_counts(tenant: Tenant, doing: Doing, overlap: Overlap) -> None:
    erasure = deleted(tenant, doing.user.id)
    results = overlap.together(*[doing.undo] * 3)
    refused = [result for result in results if not isinstance(result, User)]
    assert [code_of(one) for one in refused] == [ErrorCode.CONFLICT] * 2
    assert (reloaded(erasure).status, living(tenant)) == ("undone", 1)


def test_a_purge_that_comes_between_check_and_act_of_an_undoing_wins(
    tenant: Tenant, doing: Doing, overlap: Overlap
) -> None:
    erasure = deleted(tenant, doing.user.id)
    undone, _purged = overlap.run(doing.undo, purge(erasure), stop_at="users.services.deletion.erasure_walk")
    assert code_of(undone) is ErrorCode.CONFLICT
    assert (reloaded(erasure).status, living(tenant)) == ("erased", 0)


def test_an_undoing_that_comes_between_check_and_act_of_a_purge_loses(
    tenant: Tenant, doing: Doing, overlap: Overlap
) -> None:
    erasure = deleted(tenant, doing.user.id)

    def undo_with_an_older_clock() -> User:
        with time_machine.travel(erasure.requested_at):
            return doing.undo()

    _purged, undone = overlap.run(
        purge(erasure), undo_with_an_older_clock, stop_at="users.services.erasure.erasure_walk"
    )
    assert code_of(undone) is ErrorCode.CONFLICT
    assert (reloaded(erasure).status, living(tenant)) == ("erased", 0)


def test_a_purge_leaves_alone_what_is_being_undone(tenant: Tenant, doing: Doing, overlap: Overlap) -> None:
    erasure = deleted(tenant, doing.user.id)
    undone, purged = overlap.run(doing.undo, purge(erasure), stop_at="users.services.deletion._bring_back")
    assert isinstance(undone, User)
    assert purged is None
    assert (reloaded(erasure).status, reloaded(erasure).claim, living(tenant)) == ("undone", 0, 1)
    purge(erasure)()
    assert living(tenant) == 1


def test_a_name_that_is_taken_between_check_and_act_undoes_nothing(
    tenant: Tenant, doing: Doing, overlap: Overlap
) -> None:
    erasure = deleted(tenant, doing.user.id)
    undone, other = overlap.run(doing.undo, doing.name_taken, stop_at="users.services.deletion._bring_back")
    assert code_of(undone) is ErrorCode.CLIENT_USER_ID_CONFLICT
    assert isinstance(other, User)
    assert (reloaded(erasure).status, reloaded(erasure).undone_at, living(tenant)) == ("pending", None, 1)


def test_two_workers_erase_one_user_once(tenant: Tenant, doing: Doing, overlap: Overlap) -> None:
    with team_scope(tenant.context):
        doing.store()
    erasure = deleted(tenant, doing.user.id)
    with after_grace():
        overlap.together(*[lambda: erasure_run(erasure_id=erasure.pk)] * 3)
    row = reloaded(erasure)
    assert (row.status, row.claim) == ("erased", 1)
    assert row.rows_erased == {
        "aggregation_block": 1,
        "aggregation_series": 1,
        "users_user": 1,
        "webhooks_event": 1,
    }


def test_a_write_that_is_under_way_is_waited_for(tenant: Tenant, doing: Doing, overlap: Overlap) -> None:
    wrote, gone = overlap.run(doing.store, doing.delete, stop_at="aggregation.services.series_write")
    assert wrote.created == {"heartrate": 1}
    assert isinstance(gone, Erasure)
    assert (blocks(tenant), living(tenant)) == (1, 0)


def test_a_write_that_comes_during_a_deletion_is_refused(tenant: Tenant, doing: Doing, overlap: Overlap) -> None:
    gone, wrote = overlap.run(doing.delete, doing.store, stop_at="users.services.deletion.team_values")
    assert isinstance(gone, Erasure)
    assert code_of(wrote) is ErrorCode.NOT_FOUND
    assert blocks(tenant) == 0


class _Importing:
    """An import of an export file that is owed."""

    def __init__(self, tenant: Tenant, user: User) -> None:
        self.team = tenant.context
        with team_scope(self.team):
            chunks = iter([EXPORT.read_bytes()])
            self.job = import_accept(team=self.team, user_id=user.id, chunks=chunks)

    def run(self) -> None:
        """A worker."""
        import_run(job_id=self.job.pk)

    def outcome(self) -> tuple[str, str, int]:
        """How it ended, and how many files are left."""
        with team_scope(self.team):
            job = BackgroundJob.objects.get(pk=self.job.pk)
            assert job.lease_until is None
            return job.status, job.error_code, StoredFile.objects.count()


@pytest.fixture
def importing(tenant: Tenant, user: User, settings: Settings, tmp_path: Path) -> _Importing:
    """An import of the user's."""
    options = {**settings.STORAGES["default"], "OPTIONS": {"location": str(tmp_path / "files")}}
    settings.STORAGES = {**settings.STORAGES, "default": options}
    settings.DATA_DIR = tmp_path
    return _Importing(tenant, user)


def test_an_import_that_waits_ends_with_its_user(tenant: Tenant, doing: Doing, importing: _Importing) -> None:
    deleted(tenant, doing.user.id)
    assert importing.outcome() == ("failed", "user_gone", 0)
    importing.run()
    assert (importing.outcome(), blocks(tenant)) == (("failed", "user_gone", 0), 0)
    with team_scope(tenant.context):
        doing.undo()
    importing.run()
    assert blocks(tenant) == 0


def test_an_import_that_reads_stores_nothing_more(
    tenant: Tenant, doing: Doing, importing: _Importing, overlap: Overlap
) -> None:
    ran, gone = overlap.run(importing.run, doing.delete, stop_at="aggregation.imports._digest")
    assert ran is None
    assert isinstance(gone, Erasure)
    assert (importing.outcome(), blocks(tenant)) == (("failed", "user_gone", 0), 0)


def test_an_import_that_stores_a_batch_ends_after_it(
    tenant: Tenant, doing: Doing, importing: _Importing, overlap: Overlap, monkeypatch: pytest.MonkeyPatch
) -> None:
    deletion_over = threading.Event()

    def delete() -> Erasure:
        try:
            return doing.delete()
        finally:
            deletion_over.set()

    def hold_later(*args: Any) -> None:
        # Whoever waits for a row may be overtaken by another who comes when it is free.
        assert deletion_over.wait(20)
        user_hold(*args)

    monkeypatch.setattr(imports, "user_hold", hold_later)
    ran, gone = overlap.run(importing.run, delete, stop_at="aggregation.services.series_write")
    assert ran is None
    assert isinstance(gone, Erasure)
    assert importing.outcome() == ("failed", "user_gone", 0)
    assert blocks(tenant) > 0
    with after_grace():
        erasure_run(erasure_id=gone.pk)
    assert (reloaded(gone).status, blocks(tenant)) == ("erased", 0)


def test_an_import_that_is_ending_ends_well_and_neither_waits_for_the_other_for_ever(
    tenant: Tenant, doing: Doing, importing: _Importing, overlap: Overlap
) -> None:
    ran, gone = overlap.run(importing.run, doing.delete, stop_at="aggregation.imports.historical_announce")
    assert ran is None
    assert isinstance(gone, Erasure)
    assert importing.outcome() == ("succeeded", "", 0)
    assert blocks(tenant) > 0
    with after_grace():
        erasure_run(erasure_id=gone.pk)
    assert (reloaded(gone).status, blocks(tenant)) == ("erased", 0)


def test_a_pull_that_runs_stores_no_more(
    tenant: Tenant, doing: Doing, overlap: Overlap, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = stored(tenant, doing.user)
    pull = open_pulls(tenant, made)["heartrate", "backfill"]
    monkeypatch.setattr(pulls, "_window", lambda *_args: Pulled(series=(SAMPLES,)))
    ran, gone = overlap.run(lambda: pull_run(pull_id=pull.pk), doing.delete, stop_at="links.services.pulls._store")
    assert ran is None
    assert isinstance(gone, Erasure)
    assert blocks(tenant) == 0
    with team_scope(tenant.context):
        assert Pull.objects.get(pk=pull.pk).error_code == "connection_ended"
        assert set(Pull.objects.values_list("status", flat=True)) == {"failure"}


def test_a_login_that_ends_after_a_deletion_connects_nothing(tenant: Tenant, doing: Doing, overlap: Overlap) -> None:
    gone, login = overlap.run(
        doing.delete, lambda: stored(tenant, doing.user), stop_at="users.services.deletion.team_values"
    )
    assert isinstance(gone, Erasure)
    assert type(login).__name__ == "LinkRefused"
    with team_scope(tenant.context):
        assert Connection.objects.count() == Revocation.objects.count() == 0


def test_everything_that_was_written_before_is_erased(tenant: Tenant, doing: Doing) -> None:
    other = factories.user_make(tenant, fallback_birth_date=date(1980, 1, 1))
    with team_scope(tenant.context):
        doing.store()
        health_data_store(team=tenant.context, user_id=other.id, series=[SAMPLES])
    assert erased(tenant, doing.user.id).rows_erased["aggregation_block"] == 1
    with team_scope(tenant.context):
        assert list(Block.objects.values_list("user_id", flat=True)) == [other.id]
