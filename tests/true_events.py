"""Holds the events that a test wrote against the OpenAPI document that receivers read."""

from itertools import groupby
from operator import itemgetter
from pathlib import Path

import orjson
from django.db import connection

from healthsvc.kernel.scope import SystemScope, system_scope
from tests.documents import event_problems
from tests.parts import shortened
from webhooks.models import Event

_DELIVERY_TESTS = Path(__file__).parent / "webhooks"


def check_events(test_file: Path) -> None:
    """Fail where the body of an event in the database is not as the document says.

    Of very many of a type, those at either end. Tests of delivery send what they like in the name of other apps'
    events; there only the app's own are held to it.
    """
    if connection.needs_rollback:
        return
    with system_scope(SystemScope.DELIVERY):
        rows = Event.objects.exclude(body=None)
        if test_file.is_relative_to(_DELIVERY_TESTS):
            rows = rows.filter(event_type__regex=r"^(webhook|message)\.")
        names = rows.order_by("pk").values_list("event_type", "pk")
        few = [pk for _, pks in groupby(sorted(names), itemgetter(0)) for _, pk in shortened(list(pks))]
        bodies = [orjson.loads(body or "") for body in rows.filter(pk__in=few).values_list("body", flat=True)]
    problems = [problem for body in bodies for problem in event_problems(shortened(body))]
    assert not problems, problems
