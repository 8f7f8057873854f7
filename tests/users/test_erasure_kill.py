"""A worker killed in the middle of an erasure, for real: what it had erased is counted, and another one goes on."""

import os
import signal
import subprocess
import sys
import time
from datetime import date, timedelta

import pytest
from django.db import connection

from aggregation.models import Summary
from healthsvc.kernel import clock
from healthsvc.kernel.rows import team_values
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from tests import factories
from tests.databases import ROOT, url_with_database
from tests.users.erasing import deleted, reloaded
from users.models import Erasure, User
from users.services.erasure import erasure_run

SUMMARIES = 1_500
_WORKER = (
    "import sys, uuid, django; django.setup(); from aggregation import erasure; from users.services.erasure import"
    " erasure_run; erasure._ROWS = 1; erasure_run(erasure_id=uuid.UUID(sys.argv[1]))"
)


def summaries_make(tenant: factories.Tenant, user: User) -> None:
    """Many rows to erase."""
    now = clock.now()
    with team_scope(tenant.context):
        Summary.objects.bulk_create(
            Summary(
                **team_values(tenant.context),
                user_id=user.id,
                resource="sleep",
                provider="oura",
                source_type="ring",
                app_id="",
                device_id="",
                external_id=str(number),
                calendar_date=date(2026, 1, 1),
                payload={},
                created_at=now,
                updated_at=now,
            )
            for number in range(SUMMARIES)
        )


def summaries_left() -> int:
    """How many there are."""
    with system_scope(SystemScope.PURGE):
        return Summary.objects.count()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_killed_worker_s_work_is_taken_up_and_counted_once(team: factories.Tenant) -> None:
    user = factories.user_make(team)
    summaries_make(team, user)
    erasure = deleted(team, user.id)
    past = clock.now() - timedelta(seconds=1)
    with system_scope(SystemScope.PURGE):
        Erasure.objects.update(due_at=past, not_before=past)
    _kill_after_first_portion(erasure)
    killed = reloaded(erasure)
    gone = killed.rows_erased["aggregation_summary"]
    assert 0 < gone < SUMMARIES
    assert (killed.status, summaries_left()) == ("erasing", SUMMARIES - gone)
    erasure_run(erasure_id=erasure.pk)  # its lease runs still
    assert summaries_left() == SUMMARIES - gone
    with system_scope(SystemScope.PURGE):
        Erasure.objects.update(lease_until=past)
    erasure_run(erasure_id=erasure.pk)
    done = reloaded(erasure)
    assert (done.status, done.claim, summaries_left()) == ("erased", 2, 0)
    assert done.rows_erased == {"aggregation_summary": SUMMARIES, "users_user": 1}


def _kill_after_first_portion(erasure: Erasure) -> None:
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "healthsvc.settings",
        "DATABASE_URL": url_with_database(os.environ["DATABASE_URL"], connection.settings_dict["NAME"]),
    }
    worker = subprocess.Popen([sys.executable, "-c", _WORKER, str(erasure.pk)], cwd=ROOT, env=environment)
    try:
        for _ in range(1_500):
            if reloaded(erasure).rows_erased or worker.poll() is not None:
                break
            time.sleep(0.01)
    finally:
        worker.send_signal(signal.SIGKILL)
        worker.wait()
