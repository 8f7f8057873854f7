"""Events in the archive of a user: what was sent is there as JSON."""

import pytest

from healthsvc.kernel import clock
from healthsvc.kernel.exporting import UnreadableError
from healthsvc.kernel.rows import team_values
from healthsvc.kernel.scope import team_scope
from tests.factories import Tenant, user_make
from tests.users.exporting import unpacked_lines
from webhooks.exporting import EXPORTER
from webhooks.models import Event

pytestmark = pytest.mark.django_db


def test_a_body_is_json_and_no_text_of_it(team: Tenant) -> None:
    user = user_make(team)
    bodies = ['{"event_type": "x", "data": {"steps": [1, 2.5]}}', None]
    with team_scope(team.context):
        for body in bodies:
            Event.objects.create(
                **team_values(team.context), event_type="x", user_id=user.id, body=body, created_at=clock.now()
            )
        lines = unpacked_lines(EXPORTER.parts[0], team, user.id)
    assert [line["body"] for line in lines] == [{"event_type": "x", "data": {"steps": [1, 2.5]}}, None]


def test_a_body_that_is_no_json_is_told_not_passed_over(team: Tenant) -> None:
    user = user_make(team)
    with team_scope(team.context):
        Event.objects.create(
            **team_values(team.context), event_type="x", user_id=user.id, body="{", created_at=clock.now()
        )
        with pytest.raises(UnreadableError):
            unpacked_lines(EXPORTER.parts[0], team, user.id)
        Event.objects.update(body=None)
