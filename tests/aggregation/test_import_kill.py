"""A worker killed in the middle of an import, for real: what it had committed stands, and nothing counts twice."""

import os
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from django.db import connection
from pytest_django import Settings

from aggregation import imports
from healthsvc.kernel import clock
from healthsvc.kernel.scope import team_scope
from management.constants import JobStatus
from management.files import file_store
from management.jobs import job_create
from management.models import BackgroundJob, StoredFile
from tests import factories
from tests.aggregation.apple_health.generate import write_export
from tests.aggregation.samples import stored
from tests.databases import ROOT, url_with_database

RECORDS = 60_000
_WORKER = (
    "import sys, uuid, django; django.setup(); from aggregation import imports;"
    " imports.IMPORT_BATCH_ITEMS = 1; imports.import_run(job_id=uuid.UUID(sys.argv[1]))"
)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_killed_worker_loses_nothing_and_doubles_nothing(
    team: factories.Tenant, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = {**settings.STORAGES["default"], "OPTIONS": {"location": str(tmp_path / "files")}}
    settings.STORAGES = {**settings.STORAGES, "default": storage}
    settings.DATA_DIR = tmp_path
    export = tmp_path / "export.xml"
    with export.open("wb") as out:
        write_export(out, RECORDS)
    killed, whole = factories.user_make(team), factories.user_make(team)
    with team_scope(team.context):
        expected, _state = imports.export_import(team=team.context, user_id=whole.id, file=export)
        with export.open("rb") as opened:
            chunks = iter(lambda: opened.read(1 << 20), b"")
            file = file_store(team=team.context, user_id=killed.id, purpose="test", chunks=chunks)
        job_id = job_create(
            team=team.context,
            kind="apple_health_import",
            user_id=killed.id,
            parameters={"file_id": str(file.pk)},
            progress_total=file.size_bytes,
        ).pk
    batches = _kill_after_first_batch(team, job_id, tmp_path)
    with team_scope(team.context):
        job = BackgroundJob.objects.get(pk=job_id)
        assert (job.status, job.checkpoint["batches"]) == (JobStatus.RUNNING, batches)
        BackgroundJob.objects.update(lease_until=clock.now() - timedelta(seconds=1))
    monkeypatch.setattr("aggregation.imports.IMPORT_BATCH_ITEMS", 1)
    imports.import_run(job_id=job_id)
    with team_scope(team.context):
        job = BackgroundJob.objects.get(pk=job_id)
        assert (job.status, job.attempts, job.receipt) == (JobStatus.SUCCEEDED, 2, expected)
        of_killed = stored(team.context, killed.id, "heartrate", "steps")
        assert of_killed == stored(team.context, whole.id, "heartrate", "steps")
        assert StoredFile.objects.count() == 0
    assert sum(len(listed) for listed in of_killed.values()) == RECORDS * 9 // 10


def _kill_after_first_batch(team: factories.Tenant, job_id: UUID, folder: Path) -> int:
    """Run the import in a process of its own, kill it once a batch is in; how many were."""
    name = connection.settings_dict["NAME"]
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "healthsvc.settings",
        "DATABASE_URL": url_with_database(os.environ["DATABASE_URL"], name),
        "HEALTHSVC_DATA_DIR": str(folder),
    }
    worker = subprocess.Popen([sys.executable, "-c", _WORKER, str(job_id)], cwd=ROOT, env=environment)
    try:
        for _ in range(600):
            with team_scope(team.context):
                batches = int(BackgroundJob.objects.get(pk=job_id).checkpoint.get("batches", 0))
            if batches or worker.poll() is not None:
                break
            time.sleep(0.02)
    finally:
        worker.send_signal(signal.SIGKILL)
        worker.wait()
    with team_scope(team.context):
        return int(BackgroundJob.objects.get(pk=job_id).checkpoint["batches"])
