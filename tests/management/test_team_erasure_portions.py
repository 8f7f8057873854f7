"""A team's erasure in portions: taken up where it was left, by whoever comes next."""

from collections.abc import Iterator

import pytest
from django.db import DatabaseError

from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.scope import SystemScope, system_scope
from links.models import Connection, Pull
from management import registry, services
from management.models import Team
from management.services.team_erasure import team_erase
from tests.factories import Tenant, user_make
from tests.links.granting import stored
from tests.users.erasing import after_grace
from users.models import User


def left(tenant: Tenant) -> dict[str, int]:
    """How much there still is of a team."""
    with system_scope(SystemScope.PURGE):
        return {model.__name__: model.objects.filter(team=tenant.team).count() for model in (User, Connection, Pull)}


def erased(tenant: Tenant, *, run_seconds: float = 50) -> bool:
    """One run, after the days of grace; whether nothing is left."""
    with after_grace():
        return team_erase(team_id=tenant.team.id, run_seconds=run_seconds)


def test_a_run_that_is_over_is_gone_on_with(team: Tenant) -> None:
    users = [user_make(team) for _ in range(3)]
    for user in users:
        stored(team, user, tokens=None, external_user_id=str(user.id))
    services.team_delete(team_id=team.team.id)
    runs, seen = 0, []
    while not erased(team, run_seconds=0):
        runs += 1
        seen.append(sum(left(team).values()))
        assert runs < 50
    assert seen == sorted(seen, reverse=True)
    assert (runs > 3, left(team)) == (True, {"User": 0, "Connection": 0, "Pull": 0})


def test_a_worker_that_dies_in_a_portion_loses_that_portion_alone(
    team: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_make(team)
    stored(team, user_make(team), tokens=None)
    services.team_delete(team_id=team.team.id)

    def dying(context: TeamContext) -> Iterator[int]:
        yield from registry_before[0].portions(context)
        raise DatabaseError("gone")

    registry_before = list(registry.team_erasers)
    lowest = registry.TeamEraser(registry_before[0].tables, dying, is_referred_to=True)
    monkeypatch.setattr("management.services.team_erasure.team_erasers", [lowest, *registry_before[1:]])
    with pytest.raises(DatabaseError):
        erased(team)
    monkeypatch.undo()
    team.team.refresh_from_db()
    assert team.team.erased_at is None
    assert erased(team) is True
    assert Team.objects.get(pk=team.team.pk).erased_at is not None


def test_only_what_is_due_is_erased(team: Tenant) -> None:
    user_make(team)
    assert erased(team) is False
    services.team_delete(team_id=team.team.id)
    assert team_erase(team_id=team.team.id) is False
    assert left(team)["User"] == 1
    services.team_undelete(organisation_id=team.team.organisation_id, team_id=team.team.id)
    assert erased(team) is False
    assert left(team)["User"] == 1
