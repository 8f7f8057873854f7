"""Vendors' notifications: who is believed, what they make us pull, for whom, and what a copy of one does."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import orjson
import pytest
import time_machine
from django.test import Client
from pytest_django import Settings

from healthsvc.kernel.scope import team_scope
from links.models import Connection, ProviderHook, Pull
from links.states import PullStatus
from tests.factories import Tenant, user_make
from tests.links.events import event_types_of
from tests.links.hooking import JSON, Notified, delivered, echo_running, notices, subscribed
from tests.links.linking import connected
from tests.links.simulators import Person, Simulator, call
from users.models import User

pytestmark = [pytest.mark.slow, pytest.mark.django_db]

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
ACCOUNT = "ada@example.com"
#: What a scheduled pull reads, to tomorrow by UTC.
LAST_DAYS = (date(2026, 11, 12), date(2026, 11, 16))


@pytest.fixture(scope="module")
def _echo() -> Iterator[str]:
    with echo_running() as url:
        yield url


@pytest.fixture(autouse=True)
def _present(simulator: Simulator, settings: Settings, _echo: str) -> Iterator[None]:
    settings.BASE_URL = _echo
    call("POST", f"{simulator.url}/_control/clock", orjson.dumps({"now": NOW.isoformat()}).decode(), JSON)
    with time_machine.travel(NOW, tick=False):
        yield


@pytest.fixture
def user(team: Tenant) -> User:
    """Whose data change."""
    return user_make(team, client_user_id="ada")


def linked(tenant: Tenant, user: User, slug: str, account: str = ACCOUNT) -> Connection:
    """A connection whose first pulls are over, so that what a notice owes stands alone."""
    connection = connected(tenant, user, slug, Person(account=account))
    with team_scope(tenant.context):
        Pull.objects.filter(connection=connection).delete()
        subscribed(connection)
    return connection


def owed(tenant: Tenant, connection: Connection) -> dict[str, tuple[date, date]]:
    """The open refreshes of a connection: resource → first and last day. What was never pulled is owed whole beside."""
    with team_scope(tenant.context):
        rows = Pull.objects.filter(connection=connection, status=PullStatus.SCHEDULED, kind="refresh")
        return {row.resource: (row.start_on, row.end_on) for row in rows}


def one(found: list[Notified]) -> Notified:
    (notice,) = found
    return notice


def test_a_notice_of_oura_owes_its_resources_of_the_last_days(team: Tenant, user: User, simulator: Simulator) -> None:
    connection = linked(team, user, "oura")
    notice = one(notices(simulator, "oura", ACCOUNT, resource="update.sleep"))
    answer = notice.bring()
    assert (answer.status_code, answer.content) == (200, b"")
    expected = ("heartrate", "hrv", "sleep", "sleep_cycle")
    assert owed(team, connection) == dict.fromkeys(expected, LAST_DAYS)
    assert ProviderHook.objects.get(topic="update.sleep").called_at == NOW


def test_a_notice_of_withings_owes_the_days_it_names(team: Tenant, user: User, simulator: Simulator) -> None:
    connection = linked(team, user, "withings")
    notice = one(notices(simulator, "withings", ACCOUNT, resource="1", day="2026-11-10"))
    assert notice.bring().status_code == 200
    # Two instants, or a date: either way with room for every clock.
    days = (date(2026, 11, 9), date(2026, 11, 11))
    assert owed(team, connection) == dict.fromkeys(("body", "fat", "lean_body_mass", "weight"), days)
    activity = one(notices(simulator, "withings", ACCOUNT, resource="16", day="2026-11-10"))
    assert activity.bring().status_code == 200
    assert owed(team, connection)["activity"] == days


def test_a_copy_of_a_notice_owes_nothing_more(team: Tenant, user: User, simulator: Simulator) -> None:
    connection = linked(team, user, "oura")
    notice = one(notices(simulator, "oura", ACCOUNT, resource="update.workout"))
    assert [notice.bring().status_code for _ in range(3)] == [200, 200, 200]
    assert owed(team, connection) == dict.fromkeys(("heartrate", "workouts"), LAST_DAYS)
    with team_scope(team.context):
        assert Pull.objects.filter(connection=connection, kind="refresh").count() == 2


def test_every_team_with_the_account_gets_the_data(
    team: Tenant, other_team: Tenant, user: User, simulator: Simulator
) -> None:
    ours = linked(team, user, "oura")
    theirs = linked(other_team, user_make(other_team, client_user_id="theirs"), "oura")
    strangers = linked(team, user_make(team, client_user_id="bo"), "oura", "bo@example.com")
    # One registration, one subscription, one call for an account that two teams share.
    one(notices(simulator, "oura", ACCOUNT, resource="update.workout")).bring()
    assert set(owed(team, ours)) == set(owed(other_team, theirs)) == {"heartrate", "workouts"}
    assert owed(team, strangers) == {}


def test_a_subscription_of_one_connection_speaks_of_no_other(
    team: Tenant, other_team: Tenant, user: User, simulator: Simulator
) -> None:
    ours = linked(team, user, "withings")
    theirs = linked(other_team, user_make(other_team, client_user_id="theirs"), "withings")
    found = notices(simulator, "withings", ACCOUNT, resource="44", day="2026-11-10")
    assert len(found) == 2
    mine = next(one for one in found if str(_hook_of(ours, "44").pk) in one.url)
    assert mine.bring().status_code == 200
    assert set(owed(team, ours)) == {"heartrate", "hrv", "sleep", "sleep_cycle"}
    assert owed(other_team, theirs) == {}


def _hook_of(connection: Connection, topic: str) -> ProviderHook:
    return ProviderHook.objects.get(connection_id=connection.pk, topic=topic)


@pytest.mark.parametrize(
    "change",
    [
        {"headers": {"x-oura-signature": "0" * 64}},
        {"headers": {"x-oura-signature": ""}},
        {"headers": {"x-oura-timestamp": str(int(NOW.timestamp()) + 1)}},
        {"headers": {"x-oura-timestamp": "nonsense"}},
        {"body": '{"event_type":"update","data_type":"sleep","user_id":"x"}'},
    ],
    ids=["another signature", "none", "another time", "no time", "another body"],
)
def test_a_call_that_is_not_the_vendors_does_nothing(
    team: Tenant, user: User, simulator: Simulator, change: dict[str, Any]
) -> None:
    connection = linked(team, user, "oura")
    answer = one(notices(simulator, "oura", ACCOUNT, resource="update.sleep")).bring(**change)
    assert (answer.status_code, orjson.loads(answer.content)["code"]) == (403, "not_allowed")
    assert owed(team, connection) == {}
    assert ProviderHook.objects.get(topic="update.sleep").called_at is None


@pytest.mark.parametrize(("seconds", "status"), [(299, 200), (301, 403), (-301, 403)])
def test_an_old_signature_is_somebodys_copy(
    team: Tenant, user: User, simulator: Simulator, seconds: int, status: int
) -> None:
    connection = linked(team, user, "oura")
    notice = one(notices(simulator, "oura", ACCOUNT, resource="update.sleep", signed_seconds_ago=seconds))
    assert notice.bring().status_code == status
    assert bool(owed(team, connection)) == (status == 200)


def test_a_notice_is_only_good_at_its_own_vendors_address(team: Tenant, user: User, simulator: Simulator) -> None:
    connection = linked(team, user, "oura")
    notice = one(notices(simulator, "oura", ACCOUNT, resource="update.sleep"))
    hook = ProviderHook.objects.get(topic="update.sleep")
    for path in (f"/link/hook/oura/{uuid4()}", f"/link/hook/withings/{hook.pk}", f"/link/hook/none/{hook.pk}"):
        answer = notice.bring(path=path)
        assert (answer.status_code, orjson.loads(answer.content)["code"]) == (404, "not_found")
    assert owed(team, connection) == {}


def test_an_unknown_account_is_answered_and_owes_nothing(team: Tenant, user: User, simulator: Simulator) -> None:
    connection = linked(team, user, "withings")
    hook = _hook_of(connection, "1")
    form = urlencode({"userid": "12345678", "appli": "1", "startdate": "1793188800", "enddate": "1793275200"})
    path = f"/link/hook/withings/{hook.pk}"
    kind = "application/x-www-form-urlencoded"
    assert Client().generic("POST", path, form.encode(), content_type=kind).status_code == 200
    assert Client().generic("POST", path, b"\xff\xfe", content_type=kind).status_code == 400
    assert owed(team, connection) == {}


@pytest.mark.parametrize(
    ("first", "last", "days"),
    [
        ("2025-01-01", "2026-11-10", (date(2026, 8, 17), date(2026, 11, 11))),
        ("2026-11-10", "2030-01-01", (date(2026, 11, 9), date(2026, 11, 16))),
        ("2025-01-01", "2025-01-02", None),
    ],
    ids=["long ago", "to come", "all too old"],
)
def test_a_notice_may_not_ask_for_years(
    team: Tenant, user: User, simulator: Simulator, first: str, last: str, days: tuple[date, date] | None
) -> None:
    connection = linked(team, user, "withings")
    hook = _hook_of(connection, "2")
    start, end = (int(datetime.fromisoformat(f"{text}T11:00:00+00:00").timestamp()) for text in (first, last))
    form = {"userid": connection.external_user_id, "appli": "2", "startdate": str(start), "enddate": str(end)}
    encoded = urlencode(form).encode()
    kind = "application/x-www-form-urlencoded"
    assert Client().generic("POST", f"/link/hook/withings/{hook.pk}", encoded, content_type=kind).status_code == 200
    assert owed(team, connection) == ({"body_temperature": days} if days else {})


def test_a_deregistration_breaks_the_connection_once(team: Tenant, user: User, simulator: Simulator) -> None:
    connection = linked(team, user, "withings")
    notice = one(notices(simulator, "withings", ACCOUNT, kind="deregistered"))
    assert [notice.bring().status_code for _ in range(2)] == [200, 200]
    with team_scope(team.context):
        found = Connection.objects.get(pk=connection.pk)
    assert (found.status, found.error_type) == ("error", "deregistered_per_provider")
    assert event_types_of(team).count("provider.connection.error") == 1
    assert one([notice]).bring().status_code == 200
    assert owed(team, connection) == {}


def test_a_deleted_user_is_not_fetched_for(team: Tenant, user: User, simulator: Simulator) -> None:
    linked(team, user, "oura")
    with team_scope(team.context):
        User.objects.filter(pk=user.pk).update(deleted_at=NOW)
    assert one(notices(simulator, "oura", ACCOUNT, resource="update.sleep")).bring().status_code == 200
    with team_scope(team.context):
        assert Pull.objects.count() == 0


def test_a_paused_or_broken_connection_owes_nothing(team: Tenant, user: User, simulator: Simulator) -> None:
    connection = linked(team, user, "oura")
    notice = one(notices(simulator, "oura", ACCOUNT, resource="update.sleep"))
    with team_scope(team.context):
        Connection.objects.filter(pk=connection.pk).update(status="paused")
    assert notice.bring().status_code == 200
    with team_scope(team.context):
        Connection.objects.filter(pk=connection.pk).update(status="error", error_type="unknown", errored_at=NOW)
    assert notice.bring().status_code == 200
    assert owed(team, connection) == {}


def test_a_challenge_is_answered_to_who_knows_the_token(team: Tenant, user: User, simulator: Simulator) -> None:
    linked(team, user, "oura")
    hook = ProviderHook.objects.get(topic="create.sleep")
    path = f"/link/hook/oura/{hook.pk}"
    good = Client().get(path, {"verification_token": hook.verify_token, "challenge": "c-1"})
    assert (good.status_code, orjson.loads(good.content)) == (200, {"challenge": "c-1"})
    assert good["Content-Type"] == "application/json"
    for query in ({"verification_token": "x", "challenge": "c-1"}, {"challenge": "c-1"}, {}):
        assert Client().get(path, query).status_code == 403


def test_withings_finds_the_address_alive(team: Tenant, user: User, simulator: Simulator) -> None:
    hook = _hook_of(linked(team, user, "withings"), "1")
    assert Client().head(f"/link/hook/withings/{hook.pk}").status_code == 200
    assert Client().get(f"/link/hook/withings/{hook.pk}").status_code == 200


def test_what_is_too_large_or_no_method_of_ours_reaches_nobody(team: Tenant, user: User, simulator: Simulator) -> None:
    hook = _hook_of(linked(team, user, "withings"), "1")
    path = f"/link/hook/withings/{hook.pk}"
    large = Client().generic("POST", path, b"x" * 256_001, content_type="application/x-www-form-urlencoded")
    assert (large.status_code, orjson.loads(large.content)["code"]) == (413, "too_large")
    assert Client().put(path).status_code == 405
    assert Client(enforce_csrf_checks=True).post(path, b"", content_type="text/plain").status_code == 200


@pytest.mark.django_db(transaction=True)
def test_the_whole_way_over_http(
    live_server: Any, team: Tenant, user: User, simulator: Simulator, settings: Settings
) -> None:
    settings.BASE_URL = live_server.url
    connection = linked(team, user, "oura")
    assert set(ProviderHook.objects.values_list("status", flat=True)) == {"active"}
    # The service's clock stands still in its own process only here: what is signed is signed now.
    assert delivered(simulator, "oura", ACCOUNT, resource="create.workout") == [{"status": 200, "failure": ""}]
    assert set(owed(team, connection)) == {"heartrate", "workouts"}
