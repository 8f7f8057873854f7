"""Whatever goes away between a commit and its acknowledgement: nothing is lost, and what comes twice is the same."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import psycopg
import pytest
import redis
from django.db import OperationalError, connection, connections
from kombu.exceptions import OperationalError as BrokerError
from pytest_django import Settings

from healthsvc.celery import app as service_app
from healthsvc.kernel import clock, jobs
from healthsvc.kernel.scope import SystemScope, system_scope
from healthsvc.runtime.redis import EmbeddedRedis, find_server
from tests import factories
from tests.clients import ApiClient
from tests.databases import ROOT, url_with_database
from tests.factories import Tenant
from tests.webhooks import own_broker
from tests.webhooks.conftest import attempts, deliveries, emit, endpoint_make, make_due, pump
from tests.webhooks.receiving import Answer, Receiver
from tests.webhooks.waiting import wait_until
from webhooks import tasks
from webhooks.models import Endpoint, Event
from webhooks.pump import PumpCalls, PumpOptions, pump_run
from webhooks.services import wakes

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


class OwnRedis:
    """A Redis of the test's own, without persistence."""

    def __init__(self, folder: Path) -> None:
        program = find_server()
        assert program is not None
        self._folder = folder
        self.server = EmbeddedRedis(folder, program, say=lambda _text: None, durable=False)
        self.urls = self.server.start(folder / "run")

    def pid(self) -> int:
        """Its process."""
        with redis.Redis.from_url(self.urls.client_url) as client:
            info: dict[str, Any] = client.info("server")
        return int(info["process_id"])

    def kill(self) -> None:
        """kill -9."""
        os.kill(self.pid(), signal.SIGKILL)
        wait_until("it is gone", lambda: not self.server.accepts())

    def start(self) -> None:
        """Start an empty one."""
        self.server.stop()
        self.server.start(self._folder / "run")

    def empty(self) -> None:
        """Forget everything, its queues' names too."""
        with redis.Redis.from_url(self.urls.client_url) as client:
            client.flushall()

    def messages(self) -> list[str]:
        """Names of the tasks that wait."""
        with redis.Redis.from_url(self.urls.client_url) as client:
            return [orjson.loads(item)["headers"]["task"] for item in client.lrange("celery", 0, -1)]


@pytest.fixture
def broker(tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[OwnRedis]:
    """Messages go through a Redis of the test's own."""
    own = OwnRedis(tmp_path)
    ours = settings.CELERY_APP
    monkeypatch.setattr(own_broker, "app", own_broker.application(own.urls.broker_url))
    settings.CELERY_APP = "tests.webhooks.own_broker.app"
    jobs._app.cache_clear()
    jobs.broker.away_until = 0.0
    try:
        yield own
    finally:
        own_broker.app.close()
        settings.CELERY_APP = ours
        jobs._app.cache_clear()
        jobs.broker.away_until = 0.0
        own.server.stop()
        own.server.release()


@pytest.fixture
def tenant(hook: Receiver) -> Tenant:
    """A team, committed."""
    return factories.tenant_make()


@pytest.fixture
def endpoint(tenant: Tenant, hook: Receiver) -> Endpoint:
    """Its endpoint at the receiver, for everything."""
    return endpoint_make(tenant, f"{hook.url}/hook")


@contextmanager
def apart(run: Callable[[], object]) -> Iterator[list[BaseException | None]]:
    """Run something in a thread with connections of its own; what it ended with, once it has ended."""
    ended: list[BaseException | None] = []

    def body() -> None:
        try:
            run()
        except OperationalError as error:
            ended.append(error)
        else:
            ended.append(None)
        finally:
            connections.close_all()

    thread = threading.Thread(target=body)
    thread.start()
    try:
        yield ended
    finally:
        thread.join(30)
        assert not thread.is_alive()


@contextmanager
def program(hook: Receiver, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of the service on this test's database."""
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "healthsvc.settings",
        "DATABASE_URL": url_with_database(os.environ["DATABASE_URL"], connection.settings_dict["NAME"]),
        "HEALTHSVC_LOOPBACK_ORIGINS": hook.url,
        "LOG_LEVEL": "ERROR",
    }
    process = subprocess.Popen([sys.executable, *command], cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait(20)


def sessions_end() -> int:
    """End every other session of this database, as a restart of the server does; how many."""
    statement = (
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
        " WHERE datname = %s AND backend_type = 'client backend' AND pid <> %s"
    )
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (ours,) = cursor.fetchone()
    with psycopg.connect(os.environ["TEST_SUPERUSER_URL"], autocommit=True) as superuser:
        row = superuser.execute(statement, [connection.settings_dict["NAME"], ours]).fetchone()
    assert row is not None
    return int(row[0])


def arrived(hook: Receiver) -> set[tuple[str, bytes]]:
    """The id and body of each request, each once."""
    return {(request.headers["webhook-id"], request.body) for request in hook.received}


def test_a_broker_that_dies_in_the_middle_of_a_request(
    tenant: Tenant, endpoint: Endpoint, hook: Receiver, broker: OwnRedis
) -> None:
    """Killed after the event's row is written and before the commit: the request succeeds, and it is owed."""
    api = ApiClient(management_key=factories.management_key_make(tenant.team.organisation))
    path = f"/v1/org/{tenant.team.organisation_id}/team/{tenant.team.id}/sandbox/webhook/{endpoint.id}/test"
    assert api.post(path).status_code == 200
    assert broker.messages() == ["webhooks.pump_run"]
    killed: list[str] = []

    def kill(execute: Callable[..., Any], sql: str, parameters: Any, many: bool, context: dict[str, Any]) -> Any:
        answer = execute(sql, parameters, many, context)
        if 'INSERT INTO "webhooks_event"' in sql:
            broker.kill()
            killed.append(sql)
        return answer

    wakes.cover.until = 0.0
    with connection.execute_wrapper(kill):
        assert api.post(path).status_code == 200
    assert len(killed) == 1
    assert api.post(path).status_code == 200, "and while it is away"
    with system_scope(SystemScope.DELIVERY):
        assert Event.objects.count() == 3
    pump()
    assert (len(hook.received), {row.status for row in deliveries()}) == (3, {"delivered"})


def test_what_the_broker_forgot_is_found_by_the_sweep(
    tenant: Tenant, endpoint: Endpoint, hook: Receiver, broker: OwnRedis
) -> None:
    """Emptied between the commit and the worker; and the same connection can be used afterwards."""
    emit(tenant)
    assert broker.messages() == ["webhooks.pump_run"]
    broker.empty()
    tasks.sweep()
    assert broker.messages() == [], "young events are left to their own message"
    with system_scope(SystemScope.DELIVERY):
        Event.objects.update(created_at=clock.now() - timedelta(seconds=11))
    tasks.sweep()
    assert broker.messages() == ["webhooks.pump_run"]
    tasks.pump_run()
    assert (len(hook.received), deliveries()[0].status) == (1, "delivered")


def test_a_broker_that_is_back_is_told_of_the_next_event(
    tenant: Tenant, endpoint: Endpoint, broker: OwnRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    emit(tenant)
    broker.kill()
    wakes.cover.until = 0.0
    emit(tenant)
    broker.start()
    emit(tenant)
    assert broker.messages() == [], "nobody is slowed down by asking again at once"
    monkeypatch.setattr(jobs.broker, "away_until", 0.0)
    emit(tenant)
    assert broker.messages() == ["webhooks.pump_run"]


def test_a_broker_that_says_nothing_holds_up_a_sender_once_and_not_for_long(
    tenant: Tenant, endpoint: Endpoint, broker: OwnRedis
) -> None:
    emit(tenant)
    pid = broker.pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        wakes.cover.until = 0.0
        emit(tenant)
        assert jobs.broker.away_until > time.monotonic()
    finally:
        os.kill(pid, signal.SIGCONT)
    with system_scope(SystemScope.DELIVERY):
        assert Event.objects.count() == 2
    sides = (service_app.connection_for_write(), service_app.connection_for_read())
    assert [(side.transport_options or {})["socket_timeout"] for side in sides] == [1, 10]


def test_workers_and_beat_ask_again_every_two_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the broker was away: by default the waits grow to half a minute."""
    monkeypatch.setattr("kombu.utils.functional.sleep", lambda _seconds: None)
    waits: list[float] = []

    def noted(_error: Exception, seconds: float) -> None:
        waits.append(seconds)

    nowhere = "redis+socket:///nonexistent/redis.sock?virtual_host=0"
    with service_app.connection_for_read(nowhere) as read, service_app.connection_for_write(nowhere) as write:
        for side in (read, write):
            with pytest.raises(BrokerError):
                side.ensure_connection(noted, 4)
    assert waits == [2.0] * 8


@pytest.mark.parametrize(("moment", "requests"), [("claimed", 0), ("answered", 1)])
def test_a_pump_that_is_killed(tenant: Tenant, endpoint: Endpoint, hook: Receiver, moment: str, requests: int) -> None:
    """After its claim and before it sent; and after the answer and before it acknowledged."""
    emit(tenant)
    with program(hook, "-m", "tests.webhooks.dying_pump", moment) as process:
        assert process.wait(20) == -signal.SIGKILL
    (row,) = deliveries()
    assert (row.status, row.claims, row.failures, attempts(), len(hook.received)) == ("sending", 1, 0, [], requests)
    assert pump().attempted == 0, "the lease holds"
    make_due()
    assert pump().delivered == 1
    (row,), (attempt,) = deliveries(), attempts()
    assert (row.status, row.claims, row.failures, attempt.number) == ("delivered", 2, 0, 2)
    assert (len(hook.received), len(arrived(hook))) == (requests + 1, 1)


def test_a_pump_whose_database_session_ends_goes_on(tenant: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    """The command, while it waits for an answer that it then can't acknowledge: the same process delivers again."""
    hook.answers = [Answer(hangs=True)]
    emit(tenant)
    with program(hook, "manage.py", "webhooks_pump") as process:
        wait_until("it is in flight", lambda: len(hook.received) == 1)
        assert sessions_end() >= 1
        hook.let_go.set()
        emit(tenant)
        wait_until("delivered", lambda: [row.status for row in deliveries()] == ["sending", "delivered"])
        make_due()
        wait_until("delivered", lambda: [row.status for row in deliveries()] == ["delivered"] * 2)
        assert process.poll() is None
    assert [attempt.number for attempt in attempts()] == [1, 2]
    assert (len(hook.received), len(arrived(hook))) == (3, 2)


def test_a_worker_whose_database_session_ends_leaves_its_slot(
    tenant: Tenant, endpoint: Endpoint, hook: Receiver
) -> None:
    """The task fails, and the next one is not kept out."""
    hook.answers = [Answer(hangs=True)]
    emit(tenant)
    with apart(tasks.pump_run) as ended:
        wait_until("it is in flight", lambda: len(hook.received) == 1)
        assert sessions_end() == 1
        hook.let_go.set()
    (error,) = ended
    assert isinstance(error, OperationalError)
    assert (deliveries()[0].status, attempts()) == ("sending", [])
    make_due()
    tasks.pump_run()
    (row,), (attempt,) = deliveries(), attempts()
    assert (row.status, attempt.number, len(hook.received), len(arrived(hook))) == ("delivered", 2, 2, 1)


@pytest.mark.parametrize("late", [204, 500, 410])
def test_an_answer_that_comes_after_the_lease_changes_nothing(
    tenant: Tenant, endpoint: Endpoint, hook: Receiver, late: int
) -> None:
    """Two pumps: the second claims what the first still waits for, and is through before it."""
    hook.answers = [Answer(late, hangs=True)]
    emit(tenant)
    over = threading.Event()
    options = PumpOptions(timeout_seconds=20, run_seconds=0.3)
    with apart(lambda: pump_run(options, PumpCalls(over=over.set, resume=lambda: False))) as ended:
        wait_until("it is in flight, and nothing more is taken up", lambda: hook.received and over.is_set())
        make_due()
        assert pump().delivered == 1
        before = deliveries()[0]
        assert (before.status, before.claims) == ("delivered", 2)
        hook.let_go.set()
    assert ended == [None]
    after = deliveries()[0]
    assert (after.status, after.claims, after.failures, after.ended_at) == ("delivered", 2, 0, before.ended_at)
    assert sorted((attempt.number, attempt.status_code) for attempt in attempts()) == [(1, late), (2, 204)]
    assert len(arrived(hook)) == 1
