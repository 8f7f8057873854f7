"""Wahoo and Garmin from the login to the API: a month that is stored once, whichever pull comes first, and notices."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import orjson
import pytest
import time_machine
from django.test import Client

from healthsvc.kernel.scope import team_scope
from links.catalogue import provider_find
from links.models import Connection, ProviderHook, Pull
from links.services.pulls import pull_run
from links.states import ConnectionStatus, PullStatus
from simulator.garmin_documents import user_id
from simulator.person import person_of
from simulator.strava_documents import course_of
from simulator.wahoo_documents import days_of, recorded_on, workout_id
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.links.linking import connected
from tests.links.simulators import Simulator, call
from users.models import User

pytestmark = [pytest.mark.slow, pytest.mark.django_db]

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
FIRST, LAST = date(2026, 10, 16), date(2026, 11, 15)
DAYS = {"start_date": "2026-10-01", "end_date": "2026-11-30"}
CYCLIST = person_of("wahoo:ada@example.com")
WEARER = person_of("garmin:ada@example.com")


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


def run_all(tenant: Tenant, *, backwards: bool = False) -> dict[str, str]:
    """Work every pull that is owed; how each ended, by its resource."""
    with team_scope(tenant.context):
        owed = sorted(Pull.objects.filter(status=PullStatus.SCHEDULED), key=lambda pull: pull.resource)
        for pull in reversed(owed) if backwards else owed:
            pull_run(pull_id=pull.pk)
        return {pull.resource: pull.status for pull in Pull.objects.filter(pk__in=[pull.pk for pull in owed])}


def workouts(api: ApiClient, user: User) -> dict[str, dict[str, Any]]:
    found: list[dict[str, Any]] = api.get(f"/v2/summary/workouts/{user.id}", DAYS).json()["workouts"]
    assert len({one["provider_id"] for one in found}) == len(found)
    return {one["provider_id"]: one for one in found}


@pytest.mark.parametrize("backwards", [False, True])
def test_a_month_of_wahoo(team: Tenant, user: User, api: ApiClient, backwards: bool) -> None:
    connection = connected(team, user, "wahoo")
    assert connection.external_user_id == str(CYCLIST.user_id)
    assert run_all(team, backwards=backwards) == dict.fromkeys(provider_find("wahoo").resources, "success")
    recorded = [one for on in days_of(CYCLIST, LAST) if on >= FIRST and (one := recorded_on(CYCLIST, on))]
    expected = {str(workout_id(CYCLIST, one.on)): one for one in recorded if one.workout.ends_at <= NOW.timestamp()}
    stored = workouts(api, user)
    assert set(stored) == set(expected)
    assert len(stored) > 5
    for identity, one in expected.items():
        assert datetime.fromisoformat(stored[identity]["time_start"]).timestamp() == one.workout.starts_at
        stream = api.get(f"/v2/timeseries/workouts/{stored[identity]['id']}/stream")
        if one.manual:
            assert stream.status_code == 404 or not stream.json()["time"]
            continue
        course = course_of(CYCLIST, one.on)
        assert stored[identity]["calendar_date"] == one.on.isoformat()
        assert stored[identity]["max_hr"] == max(course.bpm)
        assert stream.json()["heartrate"] == list(course.bpm)
        assert [moment - one.workout.starts_at for moment in stream.json()["time"]] == list(course.seconds)


@pytest.mark.parametrize("backwards", [False, True])
def test_a_month_of_garmin(team: Tenant, user: User, api: ApiClient, backwards: bool) -> None:
    connection = connected(team, user, "garmin")
    assert (connection.external_user_id, connection.scopes_granted) == (user_id(WEARER), [])
    resources = provider_find("garmin").resources
    assert run_all(team, backwards=backwards) == dict.fromkeys(resources, "success")
    days = api.get(f"/v2/summary/activity/{user.id}", DAYS).json()["activity"]
    dates = [one["calendar_date"] for one in days]
    assert len(set(dates)) == len(dates)
    assert {(FIRST + timedelta(days=step)).isoformat() for step in range(1, 31)} <= set(dates)
    nights = api.get(f"/v2/summary/sleep/{user.id}", DAYS).json()["sleep"]
    assert len(nights) == len({one["bedtime_start"] for one in nights}) >= 30
    pressures = api.get(f"/v2/timeseries/{user.id}/blood_pressure/grouped", DAYS).json()["groups"]
    assert set(pressures) == {"garmin"}
    assert workouts(api, user)


def pinged(hook: ProviderHook, document: dict[str, Any]) -> int:
    body = orjson.dumps(document).decode()
    return Client().post(f"/link/hook/garmin/{hook.pk}", body, content_type="application/json").status_code


def test_garmin_s_notices_owe_pulls_and_end_connections(team: Tenant, user: User) -> None:
    connected(team, user, "garmin")
    run_all(team)
    hook = ProviderHook.objects.get(provider="garmin")
    end = int(NOW.timestamp())
    span = f"uploadStartTimeInSeconds={end - 3_600}&uploadEndTimeInSeconds={end}"
    address = f"https://apis.garmin.com/wellness-api/rest/sleeps?{span}&token=once"
    named = {"userId": user_id(WEARER), "callbackURL": address}
    assert pinged(hook, {"sleeps": [named], "stressDetails": [named, {**named, "userId": "somebody else"}]}) == 200
    with team_scope(team.context):
        owed = {
            pull.resource: (pull.start_on, pull.end_on) for pull in Pull.objects.filter(status=PullStatus.SCHEDULED)
        }
    assert set(owed) == {"sleep", "sleep_cycle", "stress_level"}
    assert all(start_on <= NOW.date() <= end_on for start_on, end_on in owed.values())
    assert run_all(team) == dict.fromkeys(("sleep", "sleep_cycle", "stress_level"), "success")
    assert pinged(hook, {"deregistrations": [{"userId": user_id(WEARER)}]}) == 200
    with team_scope(team.context):
        connection = Connection.objects.get(user_id=user.id)
    assert (connection.status, connection.error_type) == (ConnectionStatus.ERROR, "deregistered_per_provider")
