"""What becomes of a connection whose calls are refused with 403: by a proxy for a while, or for good by its scopes."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import orjson
import pytest
import time_machine

from healthsvc.kernel.http import HttpReply
from healthsvc.kernel.scope import team_scope
from links.connectors.failures import FailureKind
from links.connectors.wire import failure_of
from links.models import Connection, Pull
from links.services.pulls import pull_run
from links.services.schedule import pulls_schedule_due
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.links.events import event_types_of
from tests.links.linking import connected
from tests.links.simulators import Simulator, call

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
#: A resource that was refused rests for a day.
DAY = timedelta(hours=25)


@pytest.mark.parametrize(
    ("headers", "body", "kind"),
    [
        ({"WWW-Authenticate": 'Bearer realm="x", error="insufficient_scope", scope="daily"'}, b"", "scope_missing"),
        ({"WWW-Authenticate": 'Bearer error="invalid_scope"'}, b"", "scope_missing"),
        ({"WWW-Authenticate": "Basic"}, b"", "provider_forbidden"),
        ({}, b'{"error": "insufficient_scope"}', "scope_missing"),
        ({}, b'{"detail": "The access token lacks the scope daily."}', "scope_missing"),
        ({}, b'{"error": {"details": [{"reason": "ACCESS_TOKEN_SCOPE_INSUFFICIENT"}]}}', "scope_missing"),
        ({}, b'{"message": "User has not accepted all mandatory consents"}', "scope_missing"),
        ({}, b'{"scope": 7, "message": null}', "provider_forbidden"),
        ({}, b'{"detail": "Forbidden"}', "provider_forbidden"),
        ({}, b"<html>You are out of scope.</html>", "provider_forbidden"),
        ({}, b'["scope"]', "provider_forbidden"),
        ({}, b'{"a":' * 400 + b'"scope"' + b"}" * 400, "provider_forbidden"),
        ({}, b"", "provider_forbidden"),
    ],
)
def test_a_403_is_of_the_scope_only_where_it_says_so(headers: dict[str, str], body: bytes, kind: str) -> None:
    assert failure_of(HttpReply(403, headers, body)).kind == FailureKind(kind)


@pytest.fixture
def oura(team: Tenant, simulator: Simulator) -> Iterator[Connection]:
    """A connection whose first pulls are owed, at a fixed time."""
    clock = orjson.dumps({"now": NOW.isoformat()}).decode()
    call("POST", f"{simulator.url}/_control/clock", clock, {"Content-Type": "application/json"})
    with time_machine.travel(NOW, tick=False):
        yield connected(team, user_make(team), "oura")


def day(team: Tenant, present: datetime) -> str:
    """Owe and work what is due; the connection's status afterwards."""
    with time_machine.travel(present, tick=False):
        pulls_schedule_due()
        with team_scope(team.context):
            due = list(Pull.objects.filter(status__in=["scheduled", "retrying"]).values_list("pk", flat=True))
        for pull_id in due:
            pull_run(pull_id=pull_id)
    with team_scope(team.context):
        return Connection.objects.get().status


def ends(team: Tenant) -> set[tuple[str, str]]:
    """How pulls stand."""
    with team_scope(team.context):
        return set(Pull.objects.values_list("status", "error_code"))


@pytest.mark.slow
@pytest.mark.django_db
def test_a_proxy_that_refuses_everything_for_a_while_breaks_nothing(
    team: Tenant, oura: Connection, simulator: Simulator, api: ApiClient
) -> None:
    simulator.fault("oura", "http_403", "/v2/", times=1000)
    assert day(team, NOW) == "connected"
    assert ends(team) == {("retrying", "provider_forbidden")}
    told = api.get("/v2/introspect/historical_pull").json()["data"][0]["provider"]["oura"]["pulled"]["sleep"]
    assert (told["status"], told["error_details"]) == ("retrying", "provider_unavailable")
    simulator.reset_faults()
    assert day(team, NOW + timedelta(seconds=5)) == "connected"
    assert ends(team) == {("success", "")}


@pytest.mark.slow
@pytest.mark.django_db
def test_a_proxy_that_refuses_for_weeks_breaks_nothing_and_is_asked_less(
    team: Tenant, oura: Connection, simulator: Simulator
) -> None:
    simulator.fault("oura", "http_403", "/v2/usercollection/workout", times=10_000)
    owed = []
    for hour in range(0, 26, 2):
        assert day(team, NOW + timedelta(hours=hour)) == "connected"
        with team_scope(team.context):
            mine = Pull.objects.filter(resource="workouts", status="retrying")
            owed.append(sorted(mine.values_list("kind", flat=True)))
    # Given up after eight tries each, the resource rests for a day; the others are pulled every time.
    assert owed == [["backfill"], *[["backfill", "refresh"]] * 6, ["refresh"], *[[]] * 5]
    with team_scope(team.context):
        ended = Pull.objects.filter(resource="workouts", status="failure")
        assert set(ended.values_list("kind", "error_code")) == {
            ("backfill", "provider_forbidden"),
            ("refresh", "provider_forbidden"),
        }
        assert Pull.objects.filter(resource="sleep", kind="refresh", status="success").count() == 12


@pytest.mark.slow
@pytest.mark.django_db
def test_scopes_that_are_missing_day_after_day_break_it(team: Tenant, oura: Connection, simulator: Simulator) -> None:
    simulator.fault("oura", "scope_missing", "/v2/", times=1000)
    assert [day(team, NOW + DAY * number) for number in range(3)] == ["connected", "connected", "error"]
    with team_scope(team.context):
        connection = Connection.objects.get()
    assert connection.error_type == "required_scopes_not_granted"
    assert event_types_of(team).count("provider.connection.error") == 1


@pytest.mark.slow
@pytest.mark.django_db
def test_one_resource_that_can_be_read_keeps_it(team: Tenant, oura: Connection, simulator: Simulator) -> None:
    simulator.fault("oura", "scope_missing", "/v2/usercollection/d", times=1000)
    simulator.fault("oura", "scope_missing", "/v2/usercollection/s", times=1000)
    simulator.fault("oura", "scope_missing", "/v2/usercollection/w", times=1000)
    assert [day(team, NOW + DAY * number) for number in range(5)] == ["connected"] * 5


@pytest.mark.slow
@pytest.mark.django_db
def test_one_good_day_begins_the_count_anew(team: Tenant, oura: Connection, simulator: Simulator) -> None:
    statuses = []
    for number in range(6):
        simulator.reset_faults()
        if number != 2:
            simulator.fault("oura", "scope_missing", "/v2/", times=1000)
        statuses.append(day(team, NOW + DAY * number))
    assert statuses == [*["connected"] * 5, "error"]
