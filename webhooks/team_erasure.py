"""Erasing a team: its endpoints with their secrets, the outbox, the log and what was seen of it in the portal."""

from collections.abc import Iterator
from typing import Any, Final

from django.db.models import QuerySet

from healthsvc.kernel.principal import TeamContext
from management.team_erasure import rows_erased
from webhooks.models import Attempt, Delivery, Endpoint, EndpointHealth, Event, PortalSession, Tally

TABLES: Final = frozenset(
    model._meta.db_table for model in (Attempt, Delivery, Endpoint, EndpointHealth, Event, PortalSession, Tally)
)


def team_portions(team: TeamContext) -> Iterator[int]:
    """Erase everything of a team, a portion and a transaction a step. Nothing of it is sent any more."""
    for rows in _rows(team):
        yield from rows_erased(rows)


def _rows(team: TeamContext) -> Iterator[QuerySet[Any]]:
    """Everything, what refers to others before them; by what its index begins with."""
    endpoints = Endpoint.objects.for_team(team).values("pk")
    yield Attempt.objects.filter(endpoint__in=endpoints)
    yield Delivery.objects.filter(endpoint__in=endpoints)
    yield EndpointHealth.objects.filter(endpoint__in=endpoints)
    yield Tally.objects.for_team(team)
    yield Event.objects.for_team(team)
    yield PortalSession.objects.for_team(team)
    yield Endpoint.objects.for_team(team)
