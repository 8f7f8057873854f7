"""Wake-ups: few messages for many commits, and no event that waits for the sweep."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from io import StringIO

import orjson
import pytest
import redis
from django.conf import settings
from django.core.management import call_command
from django.db import transaction

from healthsvc.kernel import jobs
from healthsvc.kernel.scope import team_scope
from tests import factories
from tests.factories import Tenant
from tests.webhooks.conftest import SOME_EVENT, deliveries, emit, endpoint_make
from tests.webhooks.receiving import Answer, Receiver
from tests.webhooks.waiting import beside, wait_until
from webhooks import services, tasks
from webhooks.services import wakes

pytestmark = pytest.mark.django_db(transaction=True)


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Iterator[Clock]:
    """The clock that wake-ups go by."""
    made, ours = Clock(), wakes.cover.clock
    wakes.cover.clock = made
    yield made
    wakes.cover.clock = ours


@pytest.fixture
def tenant(hook: Receiver) -> Tenant:
    """A team with an endpoint, committed."""
    made = factories.tenant_make()
    endpoint_make(made, f"{hook.url}/a")
    return made


def messages() -> list[str]:
    """Names of the tasks that wait in the broker."""
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        return [orjson.loads(item)["headers"]["task"] for item in client.lrange("celery", 0, -1)]


def test_commits_within_half_the_idle_time_share_a_message(tenant: Tenant, clock: Clock) -> None:
    for _ in range(20):
        emit(tenant)
        clock.seconds += 0.024
    assert messages() == ["webhooks.pump_run"]
    clock.seconds = 100.5
    emit(tenant)
    assert messages() == ["webhooks.pump_run"] * 2


def test_a_wake_up_covers_from_before_its_commit(tenant: Tenant, clock: Clock) -> None:
    with team_scope(tenant.context), transaction.atomic():
        emit(tenant)
        clock.seconds += 0.4  # the transaction goes on for so long
    emit(tenant)
    clock.seconds += 0.1
    emit(tenant)
    assert messages() == ["webhooks.pump_run"] * 2


def test_one_that_could_not_be_sent_covers_nothing(
    tenant: Tenant, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "CELERY_APP", "tests.webhooks.nowhere.app")
    jobs._app.cache_clear()
    emit(tenant)
    monkeypatch.undo()
    jobs._app.cache_clear()
    jobs.broker.away_until = 0.0
    assert messages() == []
    emit(tenant)
    assert messages() == ["webhooks.pump_run"]


def test_what_was_rolled_back_covers_nothing(tenant: Tenant, clock: Clock) -> None:
    with pytest.raises(ValueError, match="no"), team_scope(tenant.context), transaction.atomic():
        emit(tenant)
        raise ValueError("no")
    assert messages() == []
    with team_scope(tenant.context), transaction.atomic():
        with pytest.raises(ValueError, match="no"), transaction.atomic():
            emit(tenant)
            raise ValueError("no")
        emit(tenant)
    assert messages() == ["webhooks.pump_run"]


def test_what_is_sent_again_covers_no_event(tenant: Tenant, clock: Clock) -> None:
    services.pump_wake()
    emit(tenant)
    assert messages() == ["webhooks.pump_run"] * 2


@pytest.mark.slow
@pytest.mark.parametrize("pump", [tasks.pump_run, partial(call_command, "webhooks_pump", "--once", stdout=StringIO())])
def test_a_covered_event_is_found_by_the_pump_that_found_the_one_before(
    tenant: Tenant, hook: Receiver, pump: Callable[[], object]
) -> None:
    """With the true clock: whatever pump finds the first event, as soon as its message is sent, waits for the second.

    The command may find it before the pump that the message starts.
    """
    emit(tenant)
    with beside(pump):
        wait_until("the first has ended", lambda: [row.status for row in deliveries()] == ["delivered"])
        time.sleep(wakes.COVER_SECONDS - 0.2)
        covered_emit(tenant)
    assert messages() == ["webhooks.pump_run"]
    assert [row.status for row in deliveries()] == ["delivered", "delivered"]


@pytest.mark.slow
def test_the_pump_of_a_worker_stays_for_the_first_repeat(tenant: Tenant, hook: Receiver) -> None:
    hook.answers = [Answer(500)]
    emit(tenant)
    tasks.pump_run()
    assert [row.status for row in deliveries()] == ["delivered"]
    assert len(hook.received) == 2


def covered_emit(tenant: Tenant) -> None:
    """An event that another's wake-up covers."""
    with team_scope(tenant.context), transaction.atomic():
        services.event_emit(
            team=tenant.context, event_type=SOME_EVENT, data={"score": 82}, user_id=None, client_user_id=None
        )
        wakes.cover.until = wakes.cover.clock() + 1  # however slow this machine is, no message is sent
