"""Strava from the login to the API: a month that is stored once, a grant in part, a token that dies half-way."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import orjson
import pytest
import time_machine

from healthsvc.kernel.scope import team_scope
from links.models import Connection, Pull
from links.services.pulls import pull_run
from simulator.person import person_of
from simulator.strava_documents import Activity, activity_of, course_of
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.links.events import event_types_of
from tests.links.linking import connected
from tests.links.simulators import Simulator, call
from users.models import User

pytestmark = [pytest.mark.slow, pytest.mark.django_db]

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
FIRST, LAST = date(2026, 10, 16), date(2026, 11, 15)
PERSON = person_of("strava:ada@example.com")
RESOURCES = ["profile", "workout_stream", "workouts"]
DAYS = {"start_date": "2026-10-01", "end_date": "2026-11-30"}


@pytest.fixture(autouse=True)
def _present(simulator: Simulator) -> Iterator[None]:
    json = {"Content-Type": "application/json"}
    call("POST", f"{simulator.url}/_control/clock", orjson.dumps({"now": NOW.isoformat()}).decode(), json)
    with time_machine.travel(NOW, tick=False):
        yield


@pytest.fixture
def user(team: Tenant) -> User:
    """Whose data are pulled."""
    return user_make(team, client_user_id="ada")


def worked() -> list[Activity]:
    """What the month holds, past the simulator's addresses."""
    days = [FIRST + timedelta(days=number) for number in range((LAST - FIRST).days + 1)]
    found = [activity for day in days if (activity := activity_of(PERSON, day)) is not None]
    return [one for one in found if one.workout.ends_at <= NOW.timestamp()]


def pulls_of(tenant: Tenant) -> dict[str, Pull]:
    with team_scope(tenant.context):
        return {pull.resource: pull for pull in Pull.objects.all()}


def run_all(tenant: Tenant) -> None:
    for pull in pulls_of(tenant).values():
        pull_run(pull_id=pull.pk)


def states_of(tenant: Tenant) -> dict[str, tuple[str, str]]:
    return {name: (pull.status, pull.error_code) for name, pull in pulls_of(tenant).items()}


def workouts(api: ApiClient, user: User) -> dict[str, dict[str, Any]]:
    """The user's workouts by what Strava calls them."""
    found: list[dict[str, Any]] = api.get(f"/v2/summary/workouts/{user.id}", DAYS).json()["workouts"]
    assert len({one["provider_id"] for one in found}) == len(found)
    return {one["provider_id"]: one for one in found}


@pytest.mark.parametrize("streams_first", [False, True])
def test_a_month_of_strava(team: Tenant, user: User, api: ApiClient, simulator: Simulator, streams_first: bool) -> None:
    connection = connected(team, user, "strava")
    assert connection.external_user_id == str(PERSON.user_id)
    pulls = pulls_of(team)
    assert sorted(pulls) == RESOURCES
    for name in sorted(pulls, reverse=not streams_first):
        pull_run(pull_id=pulls[name].pk)
    assert states_of(team) == dict.fromkeys(RESOURCES, ("success", ""))
    expected, stored = worked(), workouts(api, user)
    assert len(expected) == 8
    assert sorted(stored) == sorted(str(activity.id) for activity in expected)
    assert {one["source"]["slug"] for one in stored.values()} == {"strava"}
    for activity in expected:
        one = stored[str(activity.id)]
        assert datetime.fromisoformat(one["time_start"]).timestamp() == activity.workout.starts_at
        assert one["calendar_date"] == activity.on.isoformat()
        assert one["calories"] > 0
        stream = api.get(f"/v2/timeseries/workouts/{one['id']}/stream")
        if activity.manual:
            assert stream.status_code == 404 or not stream.json()["time"]
            continue
        course, body = course_of(PERSON, activity.on), stream.json()
        assert body["heartrate"] == list(course.bpm)
        assert [moment - activity.workout.starts_at for moment in body["time"]] == list(course.seconds)
    profile = api.get(f"/v2/summary/profile/{user.id}").json()
    assert (profile["source"]["slug"], profile["sex"]) == ("strava", PERSON.sex)
    zone = api.get(f"/v2/user/{user.id}").json()["fallback_time_zone"]
    assert (zone["id"], zone["source_slug"]) == (PERSON.zone, "strava")
    types = event_types_of(team)
    assert sorted(types) == sorted(
        ["provider.connection.created", *(f"historical.data.{resource}.created" for resource in RESOURCES)]
    )


def test_private_activities_that_are_not_allowed_are_absent(
    team: Tenant, user: User, api: ApiClient, simulator: Simulator
) -> None:
    connection = connected(team, user, "strava", refuse=["activity:read_all"])
    assert connection.scopes_denied == ["activity:read_all"]
    run_all(team)
    assert states_of(team) == dict.fromkeys(RESOURCES, ("success", ""))
    public = [str(activity.id) for activity in worked() if not activity.private]
    assert sorted(workouts(api, user)) == sorted(public)
    assert len(public) < len(worked())


@pytest.mark.parametrize(
    ("kind", "error_code"),
    [
        ("http_500", "provider_unavailable"),
        ("truncated_json", "transport_failure"),
        ("http_429", "provider_rate_limit_exceeded"),
    ],
)
def test_a_fault_half_way_loses_and_doubles_nothing(
    team: Tenant, user: User, api: ApiClient, simulator: Simulator, kind: str, error_code: str
) -> None:
    connected(team, user, "strava")
    simulator.fault("strava", kind, "/api/v3/activities", skip=5, times=2, retry_after_seconds=30)
    run_all(team)
    stopped = {error for status, error in states_of(team).values() if status != "success"}
    assert stopped == {error_code}
    with time_machine.travel(NOW + timedelta(minutes=20), tick=False):
        run_all(team)
    with time_machine.travel(NOW + timedelta(minutes=40), tick=False):
        run_all(team)
    assert states_of(team) == dict.fromkeys(RESOURCES, ("success", ""))
    assert sorted(workouts(api, user)) == sorted(str(activity.id) for activity in worked())


def test_an_access_token_that_dies_half_way_is_renewed(
    team: Tenant, user: User, api: ApiClient, simulator: Simulator
) -> None:
    connected(team, user, "strava")
    simulator.fault("strava", "token_expired", "/api/v3/activities", skip=3)
    run_all(team)
    assert states_of(team) == dict.fromkeys(RESOURCES, ("success", ""))
    assert simulator.count("strava", "/strava/api/v3/oauth/token") == 2
    assert sorted(workouts(api, user)) == sorted(str(activity.id) for activity in worked())
    with team_scope(team.context):
        assert Connection.objects.get(user_id=user.id).status == "connected"
