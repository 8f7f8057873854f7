"""Erasing a team: its people with everything of theirs in this app, and its payors. Receipts of erasures stay.

A receipt says what was erased of somebody and when, and nothing of whom: that is owed to them also when the team is no
more. So whoever was deleted before their team is erased by themselves, before everything else of it.
"""

from collections.abc import Iterator
from functools import cache
from typing import Final

from django.apps import apps
from django.db.models import Model

from healthsvc.kernel.principal import TeamContext
from management.registry import TeamErasureWaits
from management.team_erasure import rows_erased
from users.models import Erasure, User
from users.services.erasure import erasure_run, erasures_make_due
from users.states import OPEN, ErasureStatus

_LAST: Final[frozenset[type[Model]]] = frozenset({User, Erasure})
_ERASURES: Final = 500
#: What one person takes of a team's run; a worker of their own goes on where that was not enough.
_RUN_SECONDS: Final = 5.0


def tables() -> frozenset[str]:
    """Those that this app answers for."""
    return frozenset(model._meta.db_table for model in (*_LAST, *_models()))


def pending_portions(team: TeamContext) -> Iterator[int]:
    """Erase the deleted people of a team as if their days were over, each to a receipt; a step is one of them.

    TeamErasureWaits where one is another worker's, or waits.
    """
    erasures_make_due(team=team)
    pending = Erasure.objects.for_team(team).filter(status__in=[*OPEN])
    # Those that wait come last.
    for erasure_id in list(pending.order_by("not_before", "pk").values_list("pk", flat=True)[:_ERASURES]):
        erasure_run(erasure_id=erasure_id, run_seconds=_RUN_SECONDS)
        yield int(not pending.filter(pk=erasure_id).exists())
    if pending.exists():
        raise TeamErasureWaits


def team_portions(team: TeamContext) -> Iterator[int]:
    """Erase everything of a team, its users last: a portion and a transaction a step."""
    for model in _models():
        rows = model._base_manager.filter(team_id=team.team_id, environment=team.environment)
        yield from rows_erased(rows)
    yield from rows_erased(Erasure.objects.for_team(team).filter(status=ErasureStatus.UNDONE.value))
    yield from rows_erased(User.objects.for_team(team))


@cache
def _models() -> tuple[type[Model], ...]:
    """Every table of this app with a team; those made later may refer to those made before, and come first."""
    found = [model for model in apps.get_app_config("users").get_models() if model not in _LAST]
    return tuple(
        model for model in reversed(found) if any(one.attname == "team_id" for one in model._meta.local_fields)
    )
