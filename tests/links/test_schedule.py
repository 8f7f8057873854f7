"""Pulls that nobody asks for: when they are owed, of what, and what keeps them from being lost or doubled."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection as database
from django.test.utils import CaptureQueriesContext

from healthsvc.celery import app
from healthsvc.kernel.scope import team_scope
from links.connectors.failures import FailureKind, ProviderFailure
from links.connectors.oura.client import OuraConnector
from links.constants import ConnectionErrorType
from links.models import Connection, ProviderHook, Pull
from links.services import schedule
from links.services.connections import connection_break, connection_disconnect, connections_pause
from links.services.pull_purge import pulls_forget
from links.services.pull_rows import pull_claim, pull_complete, pulls_schedule
from links.services.pulls import pull_run
from links.services.schedule import connections_take, pulls_owe, pulls_schedule_due
from tests.factories import Tenant, user_make
from tests.links.granting import open_pulls, pulls_done, stored
from users.models import User

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
TODAY = NOW.date()
#: An interval with its spread.
LATER = NOW + timedelta(minutes=67)


@pytest.fixture(autouse=True)
def _present() -> Iterator[None]:
    with time_machine.travel(NOW, tick=False):
        yield


@pytest.fixture
def user(team: Tenant) -> User:
    """Who is connected."""
    return user_make(team, client_user_id="ada")


@pytest.fixture
def ring(team: Tenant, user: User) -> Connection:
    """A connection whose first pulls have ended well."""
    made = stored(team, user)
    with team_scope(team.context):
        pulls_done(made)
    return made


def due_run(moment: datetime = LATER) -> int:
    """Run the schedule at a moment."""
    with time_machine.travel(moment, tick=False):
        return pulls_schedule_due()


def next_pull_of(connection: Connection) -> datetime | None:
    """When the connection is due."""
    with team_scope(connection.context):
        return Connection.objects.get(pk=connection.pk).next_pull_at


def test_beat_runs_it_every_minute() -> None:
    entry = app.conf.beat_schedule["links_pulls_schedule_due"]
    assert (entry["task"], entry["schedule"]) == ("links.pulls_schedule_due", 60.0)


def test_an_hour_later_the_last_days_are_owed(team: Tenant, ring: Connection) -> None:
    assert due_run(NOW + timedelta(minutes=53)) == 0
    assert open_pulls(team) == {}
    assert due_run() == 1
    owed = open_pulls(team)
    assert {kind for _, kind in owed} == {"refresh"}
    assert {"sleep", "activity", "workouts", "heartrate"} <= {resource for resource, _ in owed}
    spans = {(pull.start_on, pull.end_on) for pull in owed.values()}
    assert spans == {(TODAY - timedelta(days=3), TODAY + timedelta(days=1))}
    following = next_pull_of(ring)
    assert following is not None
    assert timedelta(minutes=54) <= following - LATER <= timedelta(minutes=66)
    assert due_run() == 0


def test_pulls_never_pile_up(team: Tenant, ring: Connection) -> None:
    moment, runs = LATER, []
    for _ in range(5):
        runs.append(due_run(moment))
        moment += timedelta(minutes=67)
    assert runs == [1] * 5
    with team_scope(team.context):
        refreshes = Pull.objects.filter(kind="refresh")
        assert refreshes.count() == len(set(refreshes.values_list("resource", flat=True)))


@pytest.mark.parametrize(
    ("hook", "hours"),
    [
        ({"status": "active", "called_at": NOW}, 6),
        ({"status": "active", "called_at": NOW - timedelta(hours=25)}, 1),
        ({"status": "active", "called_at": None}, 1),
        ({"status": "failed", "called_at": NOW}, 1),
        ({"status": "active", "called_at": NOW, "provider": "withings"}, 1),
        ({"status": "active", "called_at": NOW, "environment": "production"}, 1),
    ],
)
def test_a_provider_that_calls_us_is_asked_less_often(
    team: Tenant, ring: Connection, hook: dict[str, Any], hours: int
) -> None:
    ProviderHook.objects.all().delete()
    values = {"provider": "oura", "environment": "sandbox", "verify_token": "x", "not_before": NOW, "created_at": NOW}
    ProviderHook.objects.create(**{**values, **hook})
    due_run()
    following = next_pull_of(ring)
    assert following is not None
    assert 0.9 * hours <= (following - LATER) / timedelta(hours=1) <= 1.1 * hours


def test_what_gives_no_data_is_not_scheduled(team: Tenant) -> None:
    broken, paused, ended, gone = (
        stored(team, user_make(team), external_user_id=f"ring-{number}") for number in range(4)
    )
    with team_scope(team.context):
        connection_break(connection_id=broken.pk, token_version=1, error_type=ConnectionErrorType.UNKNOWN)
        connections_pause(team=team.context, user_ids=[paused.user_id], provider="oura")
        connection_disconnect(team=team.context, user_id=ended.user_id, provider="oura")
        pulls_done(gone)
        User.objects.filter(pk=gone.user_id).update(deleted_at=NOW)
    assert due_run() == 1
    assert open_pulls(team) == {}


@pytest.mark.parametrize(("days_after", "is_owed"), [(1, True), (7, True), (8, False)])
def test_late_data_of_the_ingestion_bounds_are_pulled_for_a_week(team: Tenant, days_after: int, is_owed: bool) -> None:
    end_on = TODAY - timedelta(days=days_after)
    made = stored(team, user_make(team, ingestion_end=end_on))
    with team_scope(team.context):
        pulls_done(made)
    assert due_run() == 1
    spans = {(pull.start_on, pull.end_on) for pull in open_pulls(team).values()}
    assert spans == ({(end_on - timedelta(days=3), end_on)} if is_owed else set())
    # The bounds may be moved, so it is looked at again.
    assert next_pull_of(made) is not None


def test_a_gap_that_no_refresh_reaches_is_owed_as_a_backfill_once_a_day(team: Tenant, ring: Connection) -> None:
    moment = NOW + timedelta(days=50)
    due_run(moment)
    owed = {kind: pull for (resource, kind), pull in open_pulls(team).items() if resource == "sleep"}
    assert owed["backfill"].start_on == TODAY - timedelta(days=3)
    assert owed["refresh"].start_on == moment.date() - timedelta(days=30)
    with team_scope(team.context):
        ended = {"ended_at": moment, "status": "failure", "done_until_on": TODAY + timedelta(days=20)}
        Pull.objects.filter(kind="backfill", status="scheduled").update(**ended)
        Pull.objects.filter(kind="refresh").update(status="success", ended_at=moment)
    due_run(moment + timedelta(hours=2))
    assert {kind for _, kind in open_pulls(team)} == {"refresh"}
    due_run(moment + timedelta(hours=25))
    owed = {kind: pull for (resource, kind), pull in open_pulls(team).items() if resource == "sleep"}
    # It goes on where it stopped, and good refreshes since then do not hide it.
    assert owed["backfill"].start_on == TODAY + timedelta(days=20)


@pytest.mark.parametrize(
    ("error_code", "rests"), [("scope_missing", True), ("non_retriable_error", True), ("provider_unavailable", False)]
)
def test_a_refused_resource_rests_for_a_day_and_the_others_go_on(
    team: Tenant, ring: Connection, error_code: str, rests: bool
) -> None:
    due_run()
    with time_machine.travel(LATER, tick=False), team_scope(team.context):
        Pull.objects.filter(kind="refresh", resource="sleep").update(
            status="failure", error_code=error_code, ended_at=LATER
        )
        pulls_done(ring)
    due_run(LATER + timedelta(hours=2))
    owed = {resource for resource, _ in open_pulls(team)}
    assert ("sleep" not in owed, "activity" in owed) == (rests, True)
    with team_scope(team.context):
        Pull.objects.filter(status="scheduled").delete()
    due_run(LATER + timedelta(hours=26))
    assert "sleep" in {resource for resource, _ in open_pulls(team)}


def test_a_new_login_wakes_what_rested(team: Tenant, ring: Connection, user: User) -> None:
    with team_scope(team.context):
        Pull.objects.filter(resource="sleep").update(status="failure", error_code="scope_missing")
    with time_machine.travel(NOW + timedelta(seconds=1), tick=False):
        stored(team, user)
    assert ("sleep", "backfill") in open_pulls(team)
    due_run()
    assert ("sleep", "refresh") in open_pulls(team)


def test_a_run_that_dies_half_way_is_made_up_for(
    team: Tenant, ring: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    with time_machine.travel(LATER, tick=False):
        # Taken by a run that dies: nobody else takes them for a while, then somebody does.
        assert [one.pk for one in connections_take()] == [ring.pk]
        assert pulls_schedule_due() == 0
    assert open_pulls(team) == {}
    assert due_run(LATER + timedelta(seconds=601)) == 1
    assert open_pulls(team) != {}


def test_what_goes_wrong_with_one_keeps_nobody_waiting(
    team: Tenant, other_team: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = stored(team, user_make(team))
    second = stored(other_team, user_make(other_team))
    for tenant, made in ((team, first), (other_team, second)):
        with team_scope(tenant.context):
            pulls_done(made)

    def stumble(**values: Any) -> Any:
        if values["connections"][0].pk == first.pk:
            raise ValueError
        return pulls_schedule(**values)

    monkeypatch.setattr(schedule, "pulls_schedule", stumble)
    assert due_run() == 2
    assert (open_pulls(team), open_pulls(other_team) != {}) == ({}, True)
    assert next_pull_of(first) == LATER + timedelta(seconds=600)


def test_a_batch_is_followed_by_the_next(team: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "CONNECTIONS_A_BATCH", 2)
    for number in range(5):
        made = stored(team, user_make(team), external_user_id=f"ring-{number}")
        with team_scope(team.context):
            pulls_done(made)
    assert due_run() == 5
    with team_scope(team.context):
        assert len(set(Pull.objects.filter(kind="refresh").values_list("connection", flat=True))) == 5


def test_taking_a_batch_costs_two_statements(team: Tenant, ring: Connection) -> None:
    with time_machine.travel(LATER, tick=False), CaptureQueriesContext(database) as captured:
        connections_take()
    assert len([one for one in captured if "SAVEPOINT" not in one["sql"]]) == 2


def test_a_hook_asks_for_days_of_some_resources(team: Tenant, ring: Connection) -> None:
    with team_scope(team.context):
        pulls_owe(connection=ring, resources=["sleep", "nonsense"], start_on=TODAY, end_on=TODAY)
        first = open_pulls(team)
        # Never later than the last good pull: a good pull of today alone would hide the days before.
        assert {key: (one.start_on, one.end_on) for key, one in first.items()} == {
            ("sleep", "refresh"): (TODAY - timedelta(days=3), TODAY)
        }
        pulls_owe(connection=ring, resources=["sleep"], start_on=TODAY - timedelta(days=9), end_on=TODAY)
    (again,) = open_pulls(team).values()
    assert (again.pk, again.start_on) == (first["sleep", "refresh"].pk, TODAY - timedelta(days=9))


def test_a_running_pull_begins_again_where_earlier_days_are_wanted(team: Tenant, ring: Connection) -> None:
    with team_scope(team.context):
        (pull,) = pulls_owe(connection=ring, resources=["sleep"])
    running = pull_claim(pull_id=pull.pk)
    assert running is not None
    with team_scope(team.context):
        Pull.objects.filter(pk=pull.pk).update(done_until_on=TODAY)
        pulls_owe(connection=ring, resources=["sleep"], start_on=TODAY - timedelta(days=20))
        assert not pull_complete(running)
        pull.refresh_from_db()
    assert (pull.status, pull.start_on, pull.done_until_on) == ("retrying", TODAY - timedelta(days=20), None)
    assert pull_claim(pull_id=pull.pk) is not None


def test_ended_refreshes_do_not_stay_for_ever(team: Tenant, ring: Connection) -> None:
    with team_scope(team.context):
        for days_ago in (2, 4, 9):
            moment = NOW - timedelta(days=days_ago)
            Pull.objects.create(
                team=team.team,
                environment="sandbox",
                connection=ring,
                user_id=ring.user_id,
                resource="sleep",
                kind="refresh",
                status="success",
                start_on=moment.date(),
                end_on=moment.date(),
                not_before=moment,
                created_at=moment,
                ended_at=moment,
            )
        (pull,) = pulls_owe(connection=ring, resources=["sleep"])
        pulls_done(ring)
        pulls_forget(pull)
        ends = set(Pull.objects.filter(resource="sleep", kind="refresh").values_list("end_on", flat=True))
        assert ends == {TODAY + timedelta(days=1), TODAY - timedelta(days=2)}
        assert Pull.objects.filter(resource="sleep", kind="backfill").count() == 1


def test_a_scope_that_is_missing_marks_its_resource_alone(
    team: Tenant, ring: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    due_run()
    pull = open_pulls(team)["sleep", "refresh"]

    def refuse(*args: Any) -> Any:
        raise ProviderFailure(FailureKind.SCOPE_MISSING)

    monkeypatch.setattr(OuraConnector, "pull", refuse)
    with team_scope(team.context):
        Connection.objects.update(access_expires_at=NOW + timedelta(days=1))
    with time_machine.travel(LATER, tick=False):
        pull_run(pull_id=pull.pk)
    with team_scope(team.context):
        pull.refresh_from_db()
        assert (pull.status, pull.error_code) == ("failure", "scope_missing")
        assert Connection.objects.get().status == "connected"
    assert ("activity", "refresh") in open_pulls(team)
