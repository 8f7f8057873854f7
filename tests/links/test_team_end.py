"""Grants of a deleted team: kept for as long as it may come back, and taken back at the vendor before it is erased."""

import pytest

from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from links.models import Connection, Pull, Revocation
from links.services.revocations import revocation_run
from management import services
from management.services.team_erasure import team_erase
from tests.factories import Tenant, tenant_make, user_make
from tests.links.linking import connected
from tests.links.simulators import Person, Simulator
from tests.links.test_revocations import works
from tests.users.erasing import after_grace
from users.models import User

pytestmark = [pytest.mark.slow, pytest.mark.django_db]


def left(tenant: Tenant) -> dict[str, int]:
    """How much there still is of a team."""
    with system_scope(SystemScope.PURGE):
        return {model.__name__: model.objects.filter(team=tenant.team).count() for model in (User, Connection, Pull)}


def test_grants_are_taken_back_at_the_end_and_not_before(team: Tenant, simulator: Simulator) -> None:
    neighbour = tenant_make(team.team.organisation, name="Neighbour")
    ours = connected(team, user_make(team), "oura")
    theirs = connected(neighbour, user_make(neighbour), "oura", Person(account="ben@example.com"))
    full = left(neighbour)
    services.team_delete(team_id=team.team.id)
    with team_scope(team.context):
        assert Revocation.objects.count() == 0
    assert works(simulator, ours.access_token)
    with after_grace():
        # The tokens are needed yet; everything that needs none is gone.
        assert team_erase(team_id=team.team.id) is False
        assert left(team) == {"User": 1, "Connection": 1, "Pull": 0}
        with team_scope(team.context):
            (owed,) = Revocation.objects.values_list("pk", flat=True)
        revocation_run(revocation_id=owed)
        assert team_erase(team_id=team.team.id) is True
    assert (works(simulator, ours.access_token), works(simulator, theirs.access_token)) == (False, True)
    assert (left(team), left(neighbour)) == ({"User": 0, "Connection": 0, "Pull": 0}, full)
