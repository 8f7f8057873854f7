"""Without a broker: requests still succeed, and what is owed is found afterwards."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from io import StringIO

import orjson
import pytest
import redis
from django.conf import settings
from django.core.management import call_command
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

from healthsvc.kernel import clock, jobs
from healthsvc.kernel.scope import SystemScope, system_scope
from management.models import Organisation
from tests.clients import ApiClient
from tests.factories import Tenant
from tests.webhooks.conftest import deliveries, emit
from tests.webhooks.receiving import Receiver
from webhooks import tasks
from webhooks.models import Endpoint, Event


@pytest.fixture
def broker(settings: Settings) -> Iterator[Callable[[str], None]]:
    """Says which Celery application messages are sent through."""

    def through(name: str) -> None:
        settings.CELERY_APP = name
        jobs._app.cache_clear()
        jobs.broker.away_until = 0.0

    ours = settings.CELERY_APP
    yield through
    through(ours)


def _messages() -> list[str]:
    """Names of the tasks that wait in the broker."""
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        return [orjson.loads(item)["headers"]["task"] for item in client.lrange("celery", 0, -1)]


@pytest.mark.slow
def test_a_request_succeeds_without_a_broker_and_the_sweep_recovers(
    broker: Callable[[str], None],
    management_api: ApiClient,
    organisation: Organisation,
    team: Tenant,
    endpoint: Endpoint,
    hook: Receiver,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    ours = settings.CELERY_APP
    broker("tests.webhooks.nowhere.app")
    path = f"/v1/org/{organisation.id}/team/{team.team.id}/sandbox/webhook/{endpoint.id}/test"
    with django_capture_on_commit_callbacks(execute=True):
        assert management_api.post(path).status_code == 200
    assert (_messages(), hook.received) == ([], [])

    broker(ours)  # it is back, and knows nothing
    with django_capture_on_commit_callbacks(execute=True):
        tasks.sweep()
    assert _messages() == [], "young events are left to their own message"
    with system_scope(SystemScope.DELIVERY):
        Event.objects.update(created_at=clock.now() - timedelta(seconds=11))
    with django_capture_on_commit_callbacks(execute=True):
        tasks.sweep()
    assert _messages() == ["webhooks.pump_run"]
    tasks.pump_run()
    assert (len(hook.received), deliveries()[0].status) == (1, "delivered")
    with django_capture_on_commit_callbacks(execute=True):
        tasks.sweep()
    assert _messages() == ["webhooks.pump_run"], "nothing is owed any more"


def test_messages_carry_nothing_of_an_event(
    team: Tenant, endpoint: Endpoint, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        emit(team)
    assert _messages() == ["webhooks.pump_run"]
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        (raw,) = client.lrange("celery", 0, -1)
    assert b"customer-1" not in raw
    assert b"sleep" not in raw


def test_the_command_delivers_without_a_broker(team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    emit(team)
    out = StringIO()
    call_command("webhooks_pump", "--once", stdout=out)
    assert out.getvalue() == "1 attempts, 1 delivered\n"
    assert (len(hook.received), _messages()) == (1, [])
