"""Holds the events that a test wrote against the OpenAPI document that receivers read."""

from pathlib import Path

import orjson
from django.db import connection

from healthsvc.kernel.scope import SystemScope, system_scope
from tests.documents import event_problems
from webhooks.models import Event

_DELIVERY_TESTS = Path(__file__).parent / "webhooks"


def check_events(test_file: Path) -> None:
    """Fail where the body of an event in the database is not as the document says.

    Tests of delivery send what they like in the name of other apps' events; there only the app's own are held to it.
    """
    if connection.needs_rollback:
        return
    with system_scope(SystemScope.DELIVERY):
        rows = Event.objects.exclude(body=None)
        if test_file.is_relative_to(_DELIVERY_TESTS):
            rows = rows.filter(event_type__regex=r"^(webhook|message)\.")
        bodies = [orjson.loads(body) for body in rows.values_list("body", flat=True) if body is not None]
    problems = [problem for body in bodies for problem in event_problems(body)]
    assert not problems, problems
