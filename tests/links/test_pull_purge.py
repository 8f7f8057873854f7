"""Pulls that nobody asks about any more: how many stay, which always do, and how a refused one is tried less often."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine

from healthsvc.kernel.scope import team_scope
from links.connection_selectors import coverage_of
from links.connectors.base import Pulled
from links.connectors.failures import FailureKind, ProviderFailure
from links.connectors.oura.client import OuraConnector
from links.models import Connection, Pull
from links.services.connections import connection_disconnect
from links.services.pull_purge import pulls_purge
from links.services.pulls import pull_run
from links.services.schedule import pulls_schedule_due
from links.tasks import vendors_purge
from tests.factories import Tenant, user_make
from tests.links.granting import stored

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _present() -> Iterator[None]:
    with time_machine.travel(NOW, tick=False):
        yield


@pytest.fixture
def ring(team: Tenant) -> Connection:
    """A connection whose first pulls are owed, with tokens that last."""
    made = stored(team, user_make(team))
    with team_scope(team.context):
        Connection.objects.update(access_expires_at=NOW + timedelta(days=999))
    return made


def refuse(*args: Any) -> Any:
    """A provider that gives sleep to nobody, and nothing new of the rest."""
    if args[2] == "sleep":
        raise ProviderFailure(FailureKind.REFUSED)
    return Pulled()


def worked(team: Tenant, present: datetime) -> None:
    """Owe and work what is due."""
    with time_machine.travel(present, tick=False):
        pulls_schedule_due()
        with team_scope(team.context):
            due = list(Pull.objects.filter(status="scheduled").values_list("pk", flat=True))
        for pull_id in due:
            pull_run(pull_id=pull_id)


def test_a_refused_resource_leaves_few_rows_and_is_tried_less_and_less(
    team: Tenant, ring: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OuraConnector, "pull", refuse)
    backfills: list[int] = []
    begun: set[Any] = set()
    for day in range(40):
        worked(team, NOW + timedelta(hours=25) * day)
        with team_scope(team.context):
            rows = Pull.objects.filter(resource="sleep")
            assert rows.count() <= 8
            found = set(rows.filter(kind="backfill").values_list("pk", flat=True))
            if found - begun:
                backfills.append(day)
            begun |= found
            assert Pull.objects.filter(resource="activity").count() <= 6
    # A day, two, four, eight, sixteen: counted from the end of the one before.
    assert backfills == [0, 1, 3, 7, 15, 31]
    with team_scope(team.context):
        known = coverage_of([ring])
        assert known[ring.pk, "sleep"].backfills_given_up == 6
        # What was fetched is known all the same.
        assert known[ring.pk, "activity"].complete_until_on == known[ring.pk, "activity"].refreshed_until_on


def test_a_login_begins_the_count_of_failures_anew(
    team: Tenant, ring: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OuraConnector, "pull", refuse)
    for day in range(4):
        worked(team, NOW + timedelta(hours=25) * day)
    later = NOW + timedelta(days=5)
    with time_machine.travel(later, tick=False), team_scope(team.context):
        stored(team, ring.user)
        again = Pull.objects.get(resource="sleep", kind="backfill", status="scheduled")
    assert again.given_up_before == 0


def test_what_introspection_shows_stays_for_ever(
    team: Tenant, ring: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OuraConnector, "pull", lambda *_: Pulled())
    worked(team, NOW)
    with team_scope(team.context):
        first = Pull.objects.get(resource="sleep")
    for day in (10, 20, 30):
        worked(team, NOW + timedelta(days=day))
    with team_scope(team.context):
        kinds = Pull.objects.filter(resource="sleep").values_list("kind", flat=True)
        assert sorted(kinds) == ["backfill", "refresh"]
        assert Pull.objects.filter(pk=first.pk).exists()


def test_pulls_of_connections_that_ended_long_ago_go(
    team: Tenant, other_team: Tenant, ring: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("links.services.purging.PURGED_AT_ONCE", 2)
    theirs = stored(other_team, user_make(other_team))
    kept = stored(team, user_make(team), external_user_id="ring-2")
    for tenant, gone in ((team, ring), (other_team, theirs)):
        with team_scope(tenant.context):
            connection_disconnect(team=tenant.context, user_id=gone.user_id, provider="oura")
    assert pulls_purge() == 0
    with time_machine.travel(NOW + timedelta(days=31), tick=False):
        vendors_purge()
    with team_scope(other_team.context):
        assert not Pull.objects.exists()
    with team_scope(team.context):
        assert set(Pull.objects.values_list("connection_id", flat=True)) == {kept.pk}
