"""The events a team is owed, as tests read them."""

from typing import Any

import orjson

from healthsvc.kernel.scope import team_scope
from tests.factories import Tenant
from webhooks.models import Event


def events_of(tenant: Tenant) -> list[tuple[str, dict[str, Any]]]:
    """Type and data of every event, oldest first."""
    with team_scope(tenant.context):
        rows = list(Event.objects.for_team(tenant.context).order_by("id"))
    return [(row.event_type, orjson.loads(row.body or "{}")["data"]) for row in rows]


def event_types_of(tenant: Tenant) -> list[str]:
    """The type of every event, oldest first."""
    return [event_type for event_type, _ in events_of(tenant)]
