"""What one team may owe in bulk, and how little of the workers' time it takes from the others."""

import threading
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
import time_machine
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from healthsvc.kernel import clock
from healthsvc.kernel.errors import ServiceError
from healthsvc.kernel.scope import team_scope
from links.catalogue import provider_find
from links.constants import BULK_OPS_OPEN_MAXIMUM, PULL_WOKEN_SECONDS, PullKind
from links.models import BulkOp, Pull
from links.services import bulk, pull_rows
from links.services.bulk import bulk_op_run, bulk_ops_wake, bulk_trigger_begin
from links.services.pull_rows import pull_claim, pulls_schedule, pulls_wake
from tests.clients import ApiClient
from tests.factories import Tenant, tenant_make, user_make
from tests.links.granting import pulls_done, stored
from tests.links.test_bulk import imported, recipe

TRIGGER = "/v2/link/bulk_trigger_historical_pull"
Sent = list[tuple[str, dict[str, Any]]]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """Messages to workers."""
    found: Sent = []

    def note(name: str, **ids: Any) -> None:
        found.append((name, ids))

    monkeypatch.setattr(bulk, "enqueue", note)
    monkeypatch.setattr(pull_rows, "enqueue", note)
    return found


def pulls_sent(sent: Sent) -> list[UUID]:
    """The pulls that workers were told of."""
    return [ids["pull_id"] for name, ids in sent if name == "links.pull_run"]


def triggered(api: ApiClient, *user_ids: UUID) -> Any:
    """A trigger's answer."""
    return api.post(TRIGGER, {"provider": "oura", "user_ids": [str(one) for one in user_ids]})


def op_ids(tenant: Tenant) -> list[UUID]:
    """The team's operations."""
    with team_scope(tenant.context):
        return list(BulkOp.objects.for_team(tenant.context).order_by("id").values_list("pk", flat=True))


def test_a_team_has_few_operations_open(api: ApiClient, other_api: ApiClient, team: Tenant, production: Tenant) -> None:
    for _ in range(BULK_OPS_OPEN_MAXIMUM):
        assert triggered(api, uuid4()).status_code == 202
    refused = triggered(api, uuid4())
    assert (refused.status_code, refused.json()["code"], refused["Retry-After"]) == (429, "rate_limited", "30")
    assert len(op_ids(team)) == BULK_OPS_OPEN_MAXIMUM
    # Neither another team's nor another environment's.
    assert triggered(other_api, uuid4()).status_code == 202
    assert triggered(ApiClient(team_key=production.key), uuid4()).status_code == 202
    bulk_op_run(op_id=op_ids(team)[0])
    assert triggered(api, uuid4()).status_code == 202


@pytest.mark.django_db(transaction=True)
def test_operations_that_begin_together_keep_to_the_number() -> None:
    team = tenant_make()
    provider, start = provider_find("oura"), threading.Barrier(8)
    refused: list[int] = []

    def run() -> None:
        try:
            start.wait(10)
            with team_scope(team.context):
                bulk_trigger_begin(team=team.context, provider=provider, user_ids=[uuid4()])
        except ServiceError as error:
            refused.append(error.code.status)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert refused == [429] * (8 - BULK_OPS_OPEN_MAXIMUM)
    assert len(op_ids(team)) == BULK_OPS_OPEN_MAXIMUM


def test_an_operation_makes_way_and_goes_on(
    api: ApiClient, team: Tenant, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    users = [user_make(team) for _ in range(3)]
    triggered(api, *[user.id for user in users])
    (op_id,) = op_ids(team)
    monkeypatch.setattr(bulk, "BULK_ITEMS_AT_ONCE", 1)
    monkeypatch.setattr(bulk, "BULK_TURN_SECONDS", 0)
    sent.clear()
    bulk_op_run(op_id=op_id)
    assert sent == [("links.bulk_op_run", {"op_id": op_id, "claim": 1})]
    # It is told of already, so the sweep leaves it alone, and a copy of an earlier message does nothing.
    assert bulk_ops_wake() == 0
    bulk_op_run(op_id=op_id)
    bulk_op_run(op_id=op_id, claim=0)
    with team_scope(team.context):
        assert BulkOp.objects.get().processed == 1
    for claim in (1, 2, 3):
        bulk_op_run(op_id=op_id, claim=claim)
    with team_scope(team.context):
        op = BulkOp.objects.get()
    assert (op.status, op.processed, op.claim) == ("failure", 3, 4)


def test_a_message_that_was_lost_is_made_up_for(
    api: ApiClient, team: Tenant, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    triggered(api, user_make(team).id)
    (op_id,) = op_ids(team)
    monkeypatch.setattr(bulk, "BULK_TURN_SECONDS", 0)
    bulk_op_run(op_id=op_id)
    with time_machine.travel(clock.now() + timedelta(seconds=61), tick=False):
        assert bulk_ops_wake() == 1


def test_users_that_there_are_not_are_refused_together(api: ApiClient, team: Tenant, other_team: Tenant) -> None:
    gone = user_make(team)
    with team_scope(team.context):
        gone.deleted_at = clock.now()
        gone.save(update_fields=["deleted_at"])
    strangers = [uuid4() for _ in range(17)]
    triggered(api, *strangers, gone.id, user_make(other_team).id, user_make(team).id)
    with CaptureQueriesContext(connection) as captured:
        bulk_op_run(op_id=op_ids(team)[0])
    with team_scope(team.context):
        op = BulkOp.objects.get()
        codes = list(op.items.order_by("id").values_list("error_code", flat=True))
    assert (op.status, op.processed, op.failed) == ("failure", 20, 20)
    assert codes == ["user_not_found"] * 19 + ["not_connected"]
    assert len([one for one in captured if "links_bulk_op_item" in one["sql"] and "UPDATE" in one["sql"]]) == 3


def test_what_is_owed_in_bulk_waits_for_its_turn(api: ApiClient, team: Tenant, sent: Sent, settings: Settings) -> None:
    settings.WORKER_CONCURRENCY = 3
    users = [user_make(team) for _ in range(4)]
    imported(api, *[recipe(user) for user in users[:2]])
    for user in users[2:]:
        pulls = stored(team, user, external_user_id=str(user.id))
        with team_scope(team.context):
            pulls_done(pulls)
    triggered(api, *[user.id for user in users[2:]])
    sent.clear()
    for op_id in op_ids(team):
        bulk_op_run(op_id=op_id)
    assert sent == []
    with team_scope(team.context):
        owed = Pull.objects.filter(status="scheduled").count()
    assert owed >= 20
    # The sweep tells of as many as five for each worker, and of no more until they are taken.
    assert (pulls_wake(), pulls_wake()) == (15, 0)
    first = pulls_sent(sent)[0]
    assert pull_claim(pull_id=first) is not None
    assert (pulls_wake(), pulls_wake()) == (1, 0)
    with time_machine.travel(clock.now() + timedelta(seconds=PULL_WOKEN_SECONDS + 1), tick=False):
        assert pulls_wake() == 15


def test_somebody_who_has_just_connected_is_told_of_at_once(team: Tenant, sent: Sent) -> None:
    stored(team, user_make(team))
    with team_scope(team.context):
        owed = set(Pull.objects.values_list("pk", flat=True))
    assert set(pulls_sent(sent)) == owed
    # A thousand who connect at once are not.
    for number in range(6):
        stored(team, user_make(team), external_user_id=f"ring-{number + 2}")
    assert len(pulls_sent(sent)) == 20


def test_teams_take_turns_however_much_one_of_them_owes(
    team: Tenant, other_team: Tenant, sent: Sent, settings: Settings
) -> None:
    settings.WORKER_CONCURRENCY = 3
    now = clock.now()
    with time_machine.travel(now - timedelta(hours=1), tick=False):
        for number in range(6):
            stored(team, user_make(team), external_user_id=f"ring-{number}")
    stored(other_team, user_make(other_team), external_user_id="theirs")
    with team_scope(other_team.context):
        theirs = set(Pull.objects.for_team(other_team.context).values_list("pk", flat=True))
    # Nobody was told of anything yet; then a worker takes one of ours, which is the longest due.
    for tenant in (team, other_team):
        with team_scope(tenant.context):
            Pull.objects.for_team(tenant.context).update(woken_at=None)
    sent.clear()
    pulls_wake(8)
    assert [pull_id in theirs for pull_id in pulls_sent(sent)] == [False, True] * 4
    # One at a time, as each worker asks for the next when it is done: never the same team twice.
    for tenant in (team, other_team):
        with team_scope(tenant.context):
            Pull.objects.for_team(tenant.context).update(woken_at=None)
    sent.clear()
    for _ in range(8):
        assert pulls_wake(1) == 1
    assert [pull_id in theirs for pull_id in pulls_sent(sent)] == [False, True] * 4


def test_fresh_data_of_one_team_come_before_history_of_another(team: Tenant, other_team: Tenant, sent: Sent) -> None:
    stored(team, user_make(team))
    ring = stored(other_team, user_make(other_team), external_user_id="theirs")
    with team_scope(other_team.context):
        pulls_done(ring)
        fresh = pulls_schedule(connections=[ring], kind=PullKind.REFRESH, user=ring.user)
        Pull.objects.for_team(other_team.context).update(woken_at=None)
    sent.clear()
    pulls_wake(3)
    assert set(pulls_sent(sent)) <= {pull.pk for pull in fresh}


def test_a_pull_that_must_wait_is_told_of_again_in_its_turn(team: Tenant, sent: Sent, settings: Settings) -> None:
    settings.WORKER_CONCURRENCY = 2
    stored(team, user_make(team))
    first, second = pulls_sent(sent)[:2]
    assert pull_claim(pull_id=first) is not None
    # History may take one of two workers only.
    assert pull_claim(pull_id=second) is None
    with team_scope(team.context):
        assert Pull.objects.get(pk=second).woken_at is None
        Pull.objects.filter(pk=first).update(status="success", lease_until=None, ended_at=clock.now())
    sent.clear()
    assert pulls_wake(1) == 1
    assert pulls_sent(sent) == [second]


def test_what_is_refused_is_not_read(api: ApiClient, team: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("links.services.bulk.BULK_OPS_OPEN_MAXIMUM", 0)
    # A body that would be 422, were it read.
    answer = api.post("/v2/link/bulk_trigger_historical_pull", {"user_ids": ["nobody"], "provider": "oura"})
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "30")
