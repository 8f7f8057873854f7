"""Days and news that are asked for while a pull is at work: they are read before it ends."""

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import orjson
import pytest
import time_machine

from healthsvc.kernel.scope import team_scope
from links.catalogue import provider_find
from links.connectors.oura.client import OuraConnector
from links.constants import PullKind
from links.models import Connection, Pull
from links.services.pull_rows import (
    pull_advance,
    pull_claim,
    pull_postpone,
    pulls_schedule,
)
from links.services.pulls import pull_run
from links.services.refreshes import Refreshed, user_refresh
from links.services.schedule import pulls_owe
from tests.factories import Tenant, user_make
from tests.links.linking import connected
from tests.links.simulators import Simulator, call
from users.models import User

pytestmark = [pytest.mark.slow, pytest.mark.django_db]

#: A fixed present, so that the month is the same in every run. Noon: yesterday is over everywhere.
NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _present(simulator: Simulator) -> Iterator[None]:
    call("POST", f"{simulator.url}/_control/clock", orjson.dumps({"now": NOW.isoformat()}).decode(), _JSON)
    with time_machine.travel(NOW, tick=False):
        yield


_JSON = {"Content-Type": "application/json"}


@pytest.fixture
def user(team: Tenant) -> User:
    """Whose data are pulled."""
    return user_make(team, client_user_id="ada")


def pulls_of(tenant: Tenant, **wanted: Any) -> dict[str, Pull]:
    """Pulls by resource."""
    with team_scope(tenant.context):
        return {pull.resource: pull for pull in Pull.objects.filter(**wanted).order_by("id")}


@pytest.fixture
def reading(team: Tenant, user: User, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[tuple[date, date]]]:
    """Lets something happen while a refresh of the activity has been read and not stored yet; once. The days asked."""

    def begun(meanwhile: Callable[[Connection], object]) -> list[tuple[date, date]]:
        connection = connected(team, user, "oura")
        with team_scope(team.context):
            Pull.objects.all().delete()
            pulls_schedule(connections=[connection], kind=PullKind.REFRESH, user=user)
        pull = OuraConnector.pull
        asked: list[tuple[date, date]] = []

        def read(*args: Any) -> Any:
            asked.append(args[-2:])
            found = pull(*args)
            if len(asked) == 1:
                meanwhile(connection)
            return found

        monkeypatch.setattr(OuraConnector, "pull", read)
        pull_run(pull_id=pulls_of(team, kind="refresh")["activity"].pk)
        return asked

    return begun


FIRST_DAYS = (date(2026, 11, 12), date(2026, 11, 16))


def test_a_running_pull_goes_on_to_the_days_that_came_since(
    team: Tenant, user: User, reading: Callable[..., list[tuple[date, date]]]
) -> None:
    def tomorrow(connection: Connection) -> None:
        with time_machine.travel(NOW + timedelta(days=1), tick=False):
            pulls_schedule(connections=[connection], kind=PullKind.REFRESH, user=user, is_told=False)

    assert reading(tomorrow) == [FIRST_DAYS, (date(2026, 11, 17), date(2026, 11, 17))]
    ended = pulls_of(team, kind="refresh")["activity"]
    assert (ended.status, ended.done_until_on, ended.end_on) == ("success", date(2026, 11, 17), date(2026, 11, 17))


def test_a_change_that_is_told_while_its_pull_runs_is_read(
    team: Tenant, user: User, reading: Callable[..., list[tuple[date, date]]]
) -> None:
    def notice(connection: Connection) -> None:
        pulls_owe(connection=connection, resources=["activity"])

    asked = reading(notice)
    waiting = pulls_of(team, kind="refresh")["activity"]
    assert (asked, waiting.status, waiting.not_before) == ([FIRST_DAYS], "retrying", NOW)
    pull_run(pull_id=waiting.pk)
    ended = pulls_of(team, kind="refresh")["activity"]
    assert (asked, ended.status, ended.asked_again) == ([FIRST_DAYS] * 2, "success", False)


def test_a_refresh_that_is_asked_for_is_not_told_of_data_read_before(
    team: Tenant, user: User, reading: Callable[..., list[tuple[date, date]]]
) -> None:
    told: list[Refreshed] = []

    def ask(_: Connection) -> None:
        told.append(user_refresh(team=team.context, user_id=user.id, timeout_seconds=0))

    reading(ask)
    assert (told[0].in_progress, told[0].refreshed) == (("oura",), ())
    assert pulls_of(team, kind="refresh")["activity"].status == "retrying"


def test_what_was_asked_for_again_outlives_a_failure_and_a_dead_worker(
    team: Tenant, user: User, simulator: Simulator
) -> None:
    connection = connected(team, user, "oura")
    with team_scope(team.context):
        Pull.objects.all().delete()
        pulls_schedule(connections=[connection], kind=PullKind.REFRESH, user=user)
        pull = Pull.objects.get(resource="activity", kind="refresh")
        for lease_until in (NOW + timedelta(minutes=1), NOW - timedelta(minutes=1)):
            held = pull_claim(pull_id=pull.pk)
            assert held is not None
            pull_advance(held, done_until_on=pull.end_on)
            pulls_owe(connection=connection, resources=["activity"])
            Pull.objects.filter(pk=pull.pk).update(lease_until=lease_until)
            if lease_until > NOW:
                pull_postpone(held, error_code="late", wait_seconds=0)
        taken = pull_claim(pull_id=pull.pk)
        assert taken is not None
        assert (taken.done_until_on, taken.asked_again) == (None, False)
        # Half done and waiting: what was read before is read again too.
        pull_advance(taken, done_until_on=pull.end_on)
        pull_postpone(taken, error_code="late", wait_seconds=60)
        pulls_owe(connection=connection, resources=["activity"])
        assert Pull.objects.get(pk=pull.pk).done_until_on is None


def test_reconnecting_wakes_a_backfill_that_rests(team: Tenant, user: User) -> None:
    connected(team, user, "oura")
    later = NOW + timedelta(hours=1)
    with team_scope(team.context):
        Pull.objects.filter(resource="sleep").update(status="retrying", not_before=later, attempts=6)
        Pull.objects.filter(resource="activity").update(status="in_progress", not_before=later, lease_until=later)
    connected(team, user, "oura")
    assert {name: pull.not_before for name, pull in pulls_of(team).items()} == {
        **dict.fromkeys(provider_find("oura").resources, NOW),
        "activity": later,
    }
