"""Wake-ups: sent after commit through our own application, and never a reason to fail."""

import os
import subprocess
import sys
from uuid import uuid4

import pytest
import redis
from django.conf import settings
from django.db import transaction
from pytest_django import DjangoCaptureOnCommitCallbacks

from healthsvc.kernel import jobs


@pytest.fixture(autouse=True)
def _broker_is_near() -> None:
    jobs.broker.away_until = 0.0


def _queued() -> int:
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        return int(client.llen("celery"))


def test_a_task_is_sent_after_commit_with_ids_only(
    db: None, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    user_id = uuid4()
    with django_capture_on_commit_callbacks(execute=True):
        jobs.enqueue("some.task", user_id=user_id)
        assert _queued() == 0
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        [message] = client.lrange("celery", 0, -1)
    assert b"some.task" in message
    assert _queued() == 1


@pytest.mark.django_db(transaction=True)
def test_a_change_that_is_undone_sends_nothing(transactional_db: None) -> None:
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        jobs.enqueue("some.task", user_id=uuid4())
        raise ZeroDivisionError
    assert _queued() == 0


def test_a_process_that_only_serves_requests_sends_through_our_broker() -> None:
    program = (
        "import django; django.setup(); from healthsvc.kernel.jobs import broker;"
        "broker.send('some.task', {'user_id': 'x'}); assert broker.away_until == 0.0"
    )
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "healthsvc.settings", "REDIS_URL": settings.REDIS_URL}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment, cwd=settings.BASE_DIR)
    assert _queued() == 1


def test_without_a_broker_sending_gives_up_at_once_and_then_lets_a_moment_pass() -> None:
    program = (
        "import django; django.setup(); from healthsvc.kernel.jobs import broker;"
        "broker.send('some.task', {}); assert broker.away_until > 0; broker.send('some.task', {})"
    )
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "healthsvc.settings",
        "REDIS_URL": "unix:///nonexistent/redis.sock?db=0",
    }
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=True, env=environment, cwd=settings.BASE_DIR, capture_output=True, text=True, timeout=20,
    )  # fmt: skip
    assert done.stderr.count("broker_unreachable") == 1
