"""What is left of a deleted team after its grace period, and what is not."""

from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

import pytest

from healthsvc.kernel import clock
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management import registry, services
from management.files import file_store
from management.jobs import job_create
from management.models import (
    BackgroundJob,
    ScopeRequirement,
    StoredFile,
    Team,
    TeamAccessToken,
    TeamKey,
    TeamLogo,
    TeamSettings,
)
from management.services import team_erasure
from management.services.team_erasure import teams_erase_due as teams_erase
from management.tasks import teams_erase_due
from tests import factories
from tests.clients import ApiClient
from tests.management.organising import team_path

PICTURE = b"\xff\xd8\xff\xe0 a picture"
OWNED = (TeamSettings, TeamLogo, ScopeRequirement, TeamAccessToken, StoredFile, BackgroundJob)


@pytest.fixture
def asked() -> Iterator[dict[TeamContext, int]]:
    """How often the one eraser there is was asked for a team; the first time something of it must end by itself."""
    counts: dict[TeamContext, int] = {}

    def portions(team: TeamContext) -> Iterator[int]:
        counts[team] = counts.get(team, 0) + 1
        yield from ()
        if counts[team] == 1:
            raise registry.TeamErasureWaits

    before = list(registry.team_erasers)
    registry.team_erasers[:] = [registry.TeamEraser(frozenset({"planted"}), portions)]
    yield counts
    registry.team_erasers[:] = before


def _furnish(tenant: factories.Tenant, management_api: ApiClient) -> None:
    path = team_path(tenant)
    management_api.patch(path, {"integration_team_id": "clinic 7", "sandbox": {"minor_ordering_enabled": True}})
    management_api.post(f"{path}/scope_requirements", {"provider": "oura", "required": ["a"], "optional": []})
    management_api.post(f"{path}/create_api_access_token", {"env": "sandbox"})
    services.team_logo_set(team=tenant.context, content=PICTURE)
    with team_scope(tenant.context):
        job_create(team=tenant.context, kind="apple_health_import", user_id=None, parameters={})
        file_store(team=tenant.context, user_id=None, purpose="export", chunks=iter([b"bytes"]))


def _rows(team: Team) -> dict[str, int]:
    with system_scope(SystemScope.PURGE):
        return {model.__name__: model._default_manager.filter(team=team).count() for model in OWNED}


def test_a_team_is_erased_when_its_time_is_over_and_not_before(
    management_api: ApiClient, team: factories.Tenant, asked: dict[TeamContext, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbour = factories.tenant_make(team.team.organisation, name="Neighbour")
    _furnish(team, management_api)
    services.team_settings_change(team=neighbour.context, changes={"minor_ordering_enabled": True})
    full = {**dict.fromkeys([model.__name__ for model in OWNED], 1), "ScopeRequirement": 2}
    assert _rows(team.team) == full
    management_api.delete(team_path(team))
    now = moment = clock.now()
    # Of the third run the first round removes the team's own rows, and the second finds that nothing is left.
    for seconds, asked_so_far, left in ((-5, 0, full), (0, 1, full), (60, 3, dict.fromkeys(full, 0))):
        moment = now + timedelta(days=7, seconds=seconds)
        monkeypatch.setattr(clock, "now", lambda moment=moment: moment)
        teams_erase_due()
        assert (sorted(asked.values()), _rows(team.team)) == ([asked_so_far] * 2 if asked_so_far else [], left)
    team.team.refresh_from_db()
    assert (team.team.name, team.team.integration_team_id, team.team.erased_at) == ("Erased team", None, moment)
    with system_scope(SystemScope.STAFF):
        key = TeamKey.objects.get(team=team.team)
        assert (key.revoked_at, key.label) == (moment, "")
    teams_erase_due()
    assert sorted(asked.values()) == [3, 3]
    assert _rows(neighbour.team)["TeamSettings"] == 1


def test_an_erased_team_does_not_come_back(
    management_api: ApiClient, team: factories.Tenant, asked: dict[TeamContext, int]
) -> None:
    management_api.delete(team_path(team))
    Team.objects.filter(pk=team.team.pk).update(erase_due_at=clock.now())
    teams_erase_due()
    teams_erase_due()
    assert management_api.post(f"{team_path(team)}/undo_delete").status_code == 404
    assert ApiClient(team_key=team.key).get("/v2/user").status_code == 401


def test_nothing_is_called_erased_where_nobody_erases_people(
    management_api: ApiClient, team: factories.Tenant, asked: dict[TeamContext, int]
) -> None:
    registry.team_erasers.clear()
    management_api.delete(team_path(team))
    Team.objects.filter(pk=team.team.pk).update(erase_due_at=clock.now())
    teams_erase_due()
    team.team.refresh_from_db()
    assert (team.team.erased_at, asked) == (None, {})


def test_a_team_that_fails_holds_up_no_other(
    management_api: ApiClient, team: factories.Tenant, asked: dict[TeamContext, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbour = factories.tenant_make(team.team.organisation, name="Neighbour")
    for tenant in (team, neighbour):
        management_api.delete(team_path(tenant))
    Team.objects.update(erase_due_at=clock.now())

    def broken(context: TeamContext) -> Iterator[int]:
        if context.team_id == team.team.pk:
            raise ValueError("broken")
        yield from ()

    registry.team_erasers[:] = [registry.TeamEraser(frozenset(), broken)]
    assert teams_erase() == 1
    team.team.refresh_from_db()
    neighbour.team.refresh_from_db()
    assert (team.team.erased_at is None, neighbour.team.erased_at is None) == (True, False)


def test_what_was_begun_is_not_undone_by_a_clock_that_is_behind(
    management_api: ApiClient, team: factories.Tenant, asked: dict[TeamContext, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    management_api.delete(team_path(team))
    now = clock.now()
    monkeypatch.setattr(clock, "now", lambda: now + timedelta(days=7, seconds=1))
    assert teams_erase() == 0
    monkeypatch.setattr(clock, "now", lambda: now + timedelta(days=6))
    assert management_api.post(f"{team_path(team)}/undo_delete").status_code == 404
    team.team.refresh_from_db()
    assert (team.team.deleted_at is not None, team.team.erased_at) == (True, None)


def test_an_undo_just_before_the_first_portion_wins(
    management_api: ApiClient, team: factories.Tenant, asked: dict[TeamContext, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    management_api.delete(team_path(team))
    now = clock.now()
    real = team_erasure.team_erase

    def overtaken(*, team_id: UUID, run_seconds: float) -> bool:
        monkeypatch.setattr(clock, "now", lambda: now)
        assert management_api.post(f"{team_path(team)}/undo_delete").status_code == 200
        monkeypatch.setattr(clock, "now", lambda: now + timedelta(days=7, seconds=1))
        return real(team_id=team_id, run_seconds=run_seconds)

    monkeypatch.setattr(team_erasure, "team_erase", overtaken)
    monkeypatch.setattr(clock, "now", lambda: now + timedelta(days=7, seconds=1))
    assert teams_erase() == 0
    assert asked == {}
    monkeypatch.setattr(clock, "now", lambda: now)
    assert ApiClient(team_key=team.key).get("/v2/user/").status_code == 200
