"""Work that nobody waits for leaves one record too. Of pulls and hosted pages: `tests/links/test_audit_links.py`."""

from pathlib import Path

import pytest
from pytest_django import Settings

from aggregation import imports
from healthsvc.kernel.scope import team_scope
from management.models import BackgroundJob
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.management.trailing import told
from tests.users.erasing import erased

EXPORT = Path(__file__).resolve().parent.parent / "data" / "apple_health" / "export.xml"


def test_an_erasure_leaves_one_record(team: Tenant) -> None:
    user = user_make(team)
    erasure = erased(team, user.id)
    assert told(team) == [("erase user", user.id, str(erasure.pk), None)]


def test_an_import_leaves_one_record_however_often_it_is_taken_up(
    team: Tenant, api: ApiClient, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DATA_DIR = tmp_path
    settings.MEDIA_ROOT = tmp_path / "files"
    monkeypatch.setattr(imports, "IMPORT_BATCH_ITEMS", 10)
    user = user_make(team)
    path = f"/v2/user/{user.id}/import/apple_health"
    api.request("POST", path, data=EXPORT.read_bytes(), content_type="application/xml")
    with team_scope(team.context):
        job = BackgroundJob.objects.get()
    imports.import_run(job_id=job.pk)
    imports.import_run(job_id=job.pk)
    assert told(team) == [("run apple_health_import", user.id, str(job.pk), None)]
