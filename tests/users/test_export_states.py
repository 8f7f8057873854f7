"""Every status of an export with every command: what the table allows happens, and nothing else does anything."""

from typing import Any
from uuid import uuid4

import pytest

from healthsvc.kernel import clock
from healthsvc.kernel.rows import team_values
from tests.factories import Tenant, user_make
from users.models import Export
from users.services.exports import export_walk
from users.states import EXPORT_TRANSITIONS, ExportCommand, ExportStatus

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("command", list(ExportCommand))
@pytest.mark.parametrize("status", list(ExportStatus))
def test_every_status_with_every_command(in_team: Tenant, status: ExportStatus, command: ExportCommand) -> None:
    now = clock.now()
    finished: dict[str, Any] = {"file_id": uuid4(), "ready_at": now, "expires_at": now}
    values = finished if status is ExportStatus.READY else {}
    user = user_make(in_team)
    Export.objects.create(
        **team_values(in_team.context), user=user, job_id=uuid4(), requested_at=now, status=status, **values
    )
    before = Export.objects.values().get()
    changes = finished if command is ExportCommand.FINISH else {"file_id": None, "error_code": "why"}
    expected = EXPORT_TRANSITIONS.get((status, command))
    assert export_walk(Export.objects.all(), command, **changes) == (expected is not None)
    after = Export.objects.values().get()
    assert after["status"] == (expected or status)
    assert (after == before) == (expected is None)
