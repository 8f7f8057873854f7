"""Whose turn it is: fresh data before history, providers one after another, and one worker left for the rest."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.db import connections
from pytest_django import Settings

from healthsvc.kernel.scope import team_scope
from links.constants import PullKind
from links.models import Connection, Pull
from links.services import pulls
from links.services.pull_rows import pull_claim, pulls_due, pulls_schedule
from links.services.pull_turns import TURN_SEEN_SECONDS
from links.services.pulls import pull_run
from tests.factories import Tenant, tenant_make, user_make
from tests.links.granting import pulls_done, stored

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _present() -> Iterator[None]:
    with time_machine.travel(NOW, tick=False):
        yield


@pytest.fixture
def ring(team: Tenant) -> Connection:
    """A connection that owes fresh data, an hour later than others owe their history."""
    made = stored(team, user_make(team))
    with team_scope(team.context):
        pulls_done(made)
        with time_machine.travel(NOW + timedelta(hours=1), tick=False):
            pulls_schedule(connections=[made], kind=PullKind.REFRESH, user=made.user)
    return made


def rings(team: Tenant, count: int) -> None:
    """People who have just connected."""
    for number in range(count):
        stored(team, user_make(team), external_user_id=f"new-{number}")


@pytest.mark.django_db
def test_fresh_data_come_before_a_wave_of_history(team: Tenant, ring: Connection) -> None:
    rings(team, 3)
    with time_machine.travel(NOW + timedelta(hours=1), tick=False), team_scope(team.context):
        refreshes = set(Pull.objects.filter(kind="refresh").values_list("pk", flat=True))
        due = pulls_due()
    assert set(due[: len(refreshes)]) == refreshes
    assert len(due) > 3 * len(refreshes)


@pytest.mark.django_db
def test_providers_take_turns_however_much_one_of_them_owes(team: Tenant) -> None:
    rings(team, 3)
    with time_machine.travel(NOW + timedelta(minutes=1), tick=False):
        stored(team, user_make(team), provider="withings", external_user_id="scale", scopes_granted=("user.metrics",))
        due = pulls_due(6)
    with team_scope(team.context):
        provider_of = dict(Pull.objects.filter(pk__in=due).values_list("pk", "connection__provider"))
    assert [provider_of[pk] for pk in due] == ["oura", "withings"] * 3


@pytest.mark.django_db
def test_history_leaves_a_worker_for_fresh_data(team: Tenant, ring: Connection, settings: Settings) -> None:
    settings.WORKER_CONCURRENCY = 3
    rings(team, 2)
    stored(team, user_make(team), provider="withings", external_user_id="scale", scopes_granted=("user.metrics",))
    with team_scope(team.context):
        history = Pull.objects.filter(kind="backfill", status="scheduled").order_by("connection__provider", "pk")
        oura, *_, withings = history.values_list("pk", flat=True)
        another = history.exclude(pk__in=[oura, withings]).values_list("pk", flat=True)[0]
        fresh = Pull.objects.filter(kind="refresh").values_list("pk", flat=True)[0]
    later = NOW + timedelta(hours=1)
    with time_machine.travel(later, tick=False):
        first = pull_claim(pull_id=oura)
        assert first is not None
        assert pull_claim(pull_id=withings) is not None
        assert pull_claim(pull_id=another) is None
        assert another not in pulls_due()
        assert pull_claim(pull_id=fresh) is not None
    # A worker that died holds nobody's place.
    with time_machine.travel(later + timedelta(seconds=121), tick=False):
        assert pull_claim(pull_id=another) is not None


@pytest.mark.django_db
def test_a_provider_that_hangs_leaves_a_worker_for_the_others(
    team: Tenant, ring: Connection, settings: Settings
) -> None:
    settings.WORKER_CONCURRENCY = 2
    scale = stored(
        team, user_make(team), provider="withings", external_user_id="scale", scopes_granted=("user.metrics",)
    )
    with team_scope(team.context):
        pulls_done(scale)
        pulls_schedule(connections=[scale], kind=PullKind.REFRESH, user=scale.user)
        oura = list(Pull.objects.filter(kind="refresh", connection=ring).values_list("pk", flat=True))
        withings = Pull.objects.filter(kind="refresh", connection=scale).values_list("pk", flat=True)[0]
    with time_machine.travel(NOW + timedelta(hours=1), tick=False):
        assert pull_claim(pull_id=oura[0]) is not None
        assert pull_claim(pull_id=oura[1]) is None
        assert set(pulls_due()).isdisjoint(oura)
        assert pull_claim(pull_id=withings) is not None


@pytest.mark.django_db
def test_one_worker_shares_with_nobody(team: Tenant, settings: Settings) -> None:
    settings.WORKER_CONCURRENCY = 1
    rings(team, 1)
    assert pull_claim(pull_id=pulls_due()[0]) is not None
    assert pulls_due() == []


@pytest.mark.django_db
def test_the_end_of_a_pull_wakes_the_next(team: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    rings(team, 1)
    woken: list[int] = []
    monkeypatch.setattr(pulls, "pulls_wake", woken.append)
    pull_run(pull_id=pulls_due()[0])
    assert woken == [1]


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_workers_that_begin_together_keep_to_the_share(settings: Settings) -> None:
    settings.WORKER_CONCURRENCY = 4
    team = tenant_make()
    rings(team, 1)
    due = pulls_due()[:8]
    start = threading.Barrier(len(due))
    taken: list[bool] = []

    def run(number: int) -> None:
        try:
            start.wait(10)
            taken.append(pull_claim(pull_id=due[number]) is not None)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(due))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (len(taken), sum(taken)) == (len(due), 3)


@pytest.mark.django_db
def test_a_worker_that_died_keeps_its_place_for_half_a_minute(team: Tenant, settings: Settings) -> None:
    settings.WORKER_CONCURRENCY = 2
    rings(team, 2)
    first, second, *_ = pulls_due()
    assert pull_claim(pull_id=first) is not None
    assert pull_claim(pull_id=second) is None
    with time_machine.travel(NOW + timedelta(seconds=TURN_SEEN_SECONDS + 1), tick=False):
        # Its lease still runs: nobody takes that pull over. The others wait no longer.
        assert pull_claim(pull_id=first) is None
        assert pull_claim(pull_id=second) is not None
