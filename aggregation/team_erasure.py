"""Erasing a team: everybody's samples, summaries and receipts of pushes, person by person, and the team's priorities.

The store is found by its people alone: no key of it begins with a team.
"""

from collections.abc import Iterator
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from aggregation.erasure import user_portion_erase
from aggregation.models import Block, Push, Series, SourcePriority, Summary, Tail
from healthsvc.kernel.principal import TeamContext
from management.team_erasure import rows_erased
from users.models import User

_STORE: Final = (Block, Series, Summary, Tail)
TABLES: Final = frozenset(model._meta.db_table for model in (*_STORE, Push, SourcePriority))
#: People who are looked at with one query for who has anything.
_USERS: Final = 500


def team_portions(team: TeamContext) -> Iterator[int]:
    """Erase everything of a team, a portion and a transaction a step."""
    yield from rows_erased(Push.objects.for_team(team))
    yield from rows_erased(SourcePriority.objects.for_team(team))
    for user_id in _users_with_data(team):
        while rows := _portion_erase(team, user_id):
            yield rows


def _portion_erase(team: TeamContext, user_id: UUID) -> int:
    with transaction.atomic():
        return sum(user_portion_erase(team, user_id).values())


def _users_with_data(team: TeamContext) -> Iterator[UUID]:
    """People of the team with something in the store, deleted ones too; some hundreds are looked at at once."""
    has_data = Q(*(Exists(model._base_manager.filter(user_id=OuterRef("pk"))) for model in _STORE), _connector=Q.OR)
    last: UUID | None = None
    while True:
        users = User.objects.for_team(team).order_by("pk")
        page = list((users if last is None else users.filter(pk__gt=last)).values_list("pk", flat=True)[:_USERS])
        if not page:
            return
        yield from User.objects.filter(has_data, pk__in=page).values_list("pk", flat=True)
        last = page[-1]
