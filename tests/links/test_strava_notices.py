"""Strava's notices through the service's address: subscribed by the worker, checked, and turned into owed pulls."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import orjson
import pytest
import time_machine
from pytest_django import Settings

from healthsvc.kernel.scope import team_scope
from links.models import Connection, ProviderHook, Pull
from links.services.pulls import pull_run
from links.states import HookStatus, PullStatus
from simulator.person import person_of
from simulator.strava_documents import activity_of
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.links.events import event_types_of
from tests.links.hooking import JSON, notices, subscribed
from tests.links.linking import connected
from tests.links.simulators import Person, Simulator, call
from tests.links.stub_server import Asked, stub_running

pytestmark = [pytest.mark.slow, pytest.mark.django_db]

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
ACCOUNT = "ada@example.com"
PERSON = person_of(f"strava:{ACCOUNT}")


@pytest.fixture(scope="module")
def _echo() -> Iterator[str]:
    """An address that answers Strava's challenge; that the service does is shown in the connector's own tests."""
    with stub_running(_echoed) as stub:
        yield stub.url


def _echoed(asked: Asked) -> tuple[int, bytes]:
    query = parse_qs(urlsplit(asked.path).query)
    return 200, orjson.dumps({"hub.challenge": query["hub.challenge"][0]})


@pytest.fixture(autouse=True)
def _present(simulator: Simulator, settings: Settings, _echo: str) -> Iterator[None]:
    settings.BASE_URL = _echo
    present(simulator, NOW)
    with time_machine.travel(NOW, tick=False):
        yield


def present(simulator: Simulator, at: datetime) -> None:
    call("POST", f"{simulator.url}/_control/clock", orjson.dumps({"now": at.isoformat()}).decode(), JSON)


def linked(tenant: Tenant) -> Connection:
    """A connection with its subscription, whose first pulls are over."""
    connection = connected(tenant, user_make(tenant, client_user_id="ada"), "strava", Person(account=ACCOUNT))
    with team_scope(tenant.context):
        for pull in Pull.objects.all():
            pull_run(pull_id=pull.pk)
        subscribed(connection)
    return connection


def owed(tenant: Tenant) -> dict[str, tuple[date, date]]:
    with team_scope(tenant.context):
        rows = Pull.objects.filter(status=PullStatus.SCHEDULED)
        return {row.resource: (row.start_on, row.end_on) for row in rows}


def test_a_new_activity_is_read_and_told(team: Tenant, api: ApiClient, simulator: Simulator) -> None:
    connection = linked(team)
    hook = ProviderHook.objects.get(provider="strava")
    assert (hook.status, hook.topic, hook.connection_id) == (HookStatus.ACTIVE, "", None)
    assert hook.external_id.isdigit()
    later = next(
        at
        for day in range(1, 30)
        if (at := activity_of(PERSON, NOW.date() + timedelta(days=day))) is not None and not at.manual
    )
    ended_at = datetime.fromtimestamp(later.workout.ends_at, UTC) + timedelta(minutes=5)
    present(simulator, ended_at)
    with time_machine.travel(ended_at, tick=False):
        (notice,) = notices(simulator, "strava", ACCOUNT, resource="create")
        assert notice.bring().status_code == 200
        assert sorted(owed(team)) == ["workout_stream", "workouts"]
        with team_scope(team.context):
            for pull in Pull.objects.filter(status=PullStatus.SCHEDULED).order_by("resource"):
                pull_run(pull_id=pull.pk)
    days = {"start_date": later.on.isoformat(), "end_date": later.on.isoformat()}
    (workout,) = api.get(f"/v2/summary/workouts/{connection.user_id}", days).json()["workouts"]
    assert workout["provider_id"] == str(later.id)
    told = event_types_of(team)
    assert told.count("daily.data.workouts.created") == 1
    assert told.count("daily.data.workout_stream.created") == 1


@pytest.mark.parametrize(
    "change",
    [
        {"headers": {"x-strava-signature": f"t={int(NOW.timestamp())},v1={'0' * 64}"}},
        {"body": '{"object_type":"activity","aspect_type":"create","owner_id":1,"subscription_id":1}'},
    ],
    ids=["another signature", "another body"],
)
def test_a_call_that_is_not_strava_s_does_nothing(
    team: Tenant, simulator: Simulator, change: dict[str, object]
) -> None:
    linked(team)
    (notice,) = notices(simulator, "strava", ACCOUNT, resource="create")
    assert notice.bring(**change).status_code == 403
    assert owed(team) == {}


def test_a_deleted_activity_owes_nothing(team: Tenant, simulator: Simulator) -> None:
    linked(team)
    (notice,) = notices(simulator, "strava", ACCOUNT, resource="delete")
    assert notice.bring().status_code == 200
    assert owed(team) == {}


def test_an_athlete_who_takes_the_grant_back_breaks_the_connection(team: Tenant, simulator: Simulator) -> None:
    linked(team)
    (notice,) = notices(simulator, "strava", ACCOUNT, kind="deregistered")
    assert notice.bring().status_code == 200
    with team_scope(team.context):
        connection = Connection.objects.get()
    assert (connection.status, connection.error_type) == ("error", "deregistered_per_provider")
    assert event_types_of(team).count("provider.connection.error") == 1


def unsigned(simulator: Simulator) -> None:
    """Somebody says that the athlete has taken the grant back; Strava's own word for it, without its signature."""
    (notice,) = notices(simulator, "strava", ACCOUNT, kind="deregistered")
    headers = {name: text for name, text in notice.headers.items() if name != "X-Strava-Signature"}
    assert replace(notice, headers=headers).bring().status_code == 200


def work_owed(tenant: Tenant) -> None:
    """Work what a notice owes."""
    with team_scope(tenant.context):
        for pull in Pull.objects.filter(status__in=[PullStatus.SCHEDULED, PullStatus.RETRYING]).order_by("resource"):
            pull_run(pull_id=pull.pk)


def test_an_end_that_nobody_signed_is_asked_about_and_changes_nothing(team: Tenant, simulator: Simulator) -> None:
    linked(team)
    before = event_types_of(team)
    unsigned(simulator)
    assert sorted(owed(team)) == ["workout_stream", "workouts"]
    work_owed(team)
    with team_scope(team.context):
        assert Connection.objects.get().status == "connected"
    assert "provider.connection.error" not in [*before, *event_types_of(team)]


def test_an_end_that_nobody_signed_and_is_true_is_found_out(team: Tenant, simulator: Simulator) -> None:
    linked(team)
    simulator.fault("strava", "token_dead", "/api/v3/athlete")
    unsigned(simulator)
    for minutes in (0, 2, 20, 40):
        with time_machine.travel(NOW + timedelta(minutes=minutes), tick=False):
            work_owed(team)
    with team_scope(team.context):
        connection = Connection.objects.get()
    assert connection.status == "error"
    assert event_types_of(team).count("provider.connection.error") == 1
