"""Every status of an erasure with every command: what the table allows happens, and nothing else does anything."""

from typing import Any
from uuid import uuid4

import pytest

from healthsvc.kernel import clock
from healthsvc.kernel.rows import team_values
from tests.factories import Tenant
from users.models import Erasure
from users.services.erasure import erasure_walk
from users.states import OPEN, TRANSITIONS, ErasureCommand, ErasureStatus

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("command", list(ErasureCommand))
@pytest.mark.parametrize("status", list(ErasureStatus))
def test_every_status_with_every_command(in_team: Tenant, status: ErasureStatus, command: ErasureCommand) -> None:
    now = clock.now()
    done = {"user_id": None, "erased_at": now, "receipt_signature": b"s", "receipt_public_key": b"k"}
    values: dict[str, Any] = done if status is ErasureStatus.ERASED else {"user_id": uuid4()}
    Erasure.objects.create(
        **team_values(in_team.context), requested_at=now, due_at=now, not_before=now, status=status, **values
    )
    before = Erasure.objects.values().get()
    changes = done if command is ErasureCommand.FINISH else {"failures": 7}
    expected = TRANSITIONS.get((status, command))
    assert erasure_walk(Erasure.objects.all(), command, **changes) == (expected is not None)
    after = Erasure.objects.values().get()
    if expected is None:
        assert after == before
    else:
        assert after["status"] == expected
        assert after != before


def test_what_is_open_and_what_is_over() -> None:
    assert {status for status, _command in TRANSITIONS} == OPEN
    assert {status for status in ErasureStatus if status not in OPEN} == {ErasureStatus.UNDONE, ErasureStatus.ERASED}
