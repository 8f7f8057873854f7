"""Bulk operations that meet trouble: nobody's tokens are thrown away for it, and nothing is tried for ever."""

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from celery.exceptions import SoftTimeLimitExceeded

from healthsvc.kernel import clock
from healthsvc.kernel.scope import team_scope
from links.constants import BULK_ATTEMPTS_MAXIMUM, BULK_KEPT_SECONDS, BULK_LEASE_SECONDS
from links.models import BulkOp, BulkOpItem
from links.services import schedule
from links.services.bulk import bulk_op_run, bulk_ops_purge, bulk_ops_wake
from links.services.connections import connection_store
from links.services.schedule import pulls_schedule_due
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.links.granting import stored
from tests.links.test_bulk import connections, imported, ops, recipe, worked


def failing(monkeypatch: pytest.MonkeyPatch, user_id: object, error: Exception, times: int) -> None:
    """Let storing one user's connection fail so often."""
    real = connection_store
    left = [times]

    def store(**values: Any) -> Any:
        if values["user_id"] == user_id and left[0]:
            left[0] -= 1
            raise error
        return real(**values)

    monkeypatch.setattr("links.services.bulk.connection_store", store)


def items(tenant: Tenant) -> list[tuple[str, str, object]]:
    """Status, error and refresh token of each user."""
    with team_scope(tenant.context):
        return [(one.status, one.error_code, one.refresh_token) for one in BulkOpItem.objects.order_by("id")]


def test_a_worker_that_is_out_of_time_throws_no_tokens_away(
    api: ApiClient, team: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob = user_make(team), user_make(team)
    failing(monkeypatch, bob.id, SoftTimeLimitExceeded(), 1)
    imported(api, recipe(ada), recipe(bob))
    (op,) = ops(team)
    with pytest.raises(SoftTimeLimitExceeded):
        bulk_op_run(op_id=op.pk)
    assert items(team) == [("processed", "", None), ("pending", "", "refresh-of-elsewhere")]
    with time_machine.travel(clock.now() + timedelta(seconds=BULK_LEASE_SECONDS + 1)):
        assert bulk_ops_wake() == 1
        op = worked(team)
    assert (op.status, op.processed, op.failed) == ("success", 2, 0)
    assert [one.user_id for one in connections(team)] == [ada.id, bob.id]


def test_what_nobody_foresaw_is_tried_again_with_the_tokens_kept(
    api: ApiClient, team: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob = user_make(team), user_make(team)
    failing(monkeypatch, ada.id, RuntimeError("broken"), 1)
    imported(api, recipe(ada), recipe(bob))
    op = worked(team)
    assert (op.status, op.processed, op.failed) == ("in_progress", 1, 0)
    assert items(team) == [("pending", "", "refresh-of-elsewhere"), ("processed", "", None)]
    # Not at once: it rests until its lease is over.
    assert bulk_ops_wake() == 0
    with time_machine.travel(clock.now() + timedelta(seconds=BULK_LEASE_SECONDS + 1)):
        assert bulk_ops_wake() == 1
        assert worked(team).status == "success"
    assert {one.user_id for one in connections(team)} == {ada.id, bob.id}


def test_attempts_are_bounded(api: ApiClient, team: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = user_make(team)
    failing(monkeypatch, ada.id, RuntimeError("broken"), 1_000)
    imported(api, recipe(ada))
    for attempt in range(BULK_ATTEMPTS_MAXIMUM):
        assert ops(team)[0].status == "in_progress"
        with time_machine.travel(clock.now() + timedelta(seconds=attempt * (BULK_LEASE_SECONDS + 1))):
            worked(team)
    (op,) = ops(team)
    assert (op.status, op.failed) == ("failure", 1)
    assert items(team) == [("failed", "unexpected_error", None)]


def test_an_import_with_which_nothing_could_be_read_says_so(api: ApiClient, team: Tenant) -> None:
    ada, bob = user_make(team), user_make(team)
    imported(api, recipe(ada, oauth_scopes=[]), recipe(bob, oauth_scopes=["personal", "made_up"]))
    assert worked(team).status == "failure"
    assert items(team) == [("failed", "required_scopes_not_granted", None)] * 2
    assert connections(team) == []


def test_operations_are_removed_a_month_after_their_end(
    api: ApiClient, team: Tenant, other_team: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported(api, recipe(user_make(team)), recipe(user_make(team)))
    worked(team)
    imported(api, recipe(user_make(team)))
    assert bulk_ops_purge() == 0
    with time_machine.travel(clock.now() + timedelta(seconds=BULK_KEPT_SECONDS + 60)):
        # An operation and its two users; the one that never ended stays.
        assert bulk_ops_purge() == 3
    assert [op.status for op in ops(team)] == ["in_progress"]
    assert len(items(team)) == 1
    with team_scope(team.context):
        assert BulkOp.objects.count() == 1


def test_a_schedule_that_is_out_of_time_stops(team: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    ring = stored(team, user_make(team))
    with team_scope(team.context):
        type(ring).objects.update(next_pull_at=clock.now())

    def slow(*args: Any, **values: Any) -> Any:
        raise SoftTimeLimitExceeded

    monkeypatch.setattr(schedule, "pulls_schedule", slow)
    with pytest.raises(SoftTimeLimitExceeded):
        pulls_schedule_due()
