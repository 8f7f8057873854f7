"""Polar, Dexcom and Ultrahuman from the login to the API, and Polar's notices through the service's address."""

from collections.abc import Iterator
from datetime import UTC, date, datetime

import orjson
import pytest
import time_machine
from pytest_django import Settings

from healthsvc.kernel.scope import team_scope
from links.catalogue import provider_find
from links.models import Connection, ProviderHook, Pull
from links.services.pulls import pull_run
from links.states import HookStatus, PullStatus
from simulator.person import person_of
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.links.hooking import JSON, notices, subscribed
from tests.links.linking import connected
from tests.links.simulators import Person, Simulator, call
from tests.links.stub_server import stub_running

pytestmark = [pytest.mark.slow, pytest.mark.django_db]

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
ACCOUNT = "ada@example.com"
DAYS = {"start_date": "2026-10-20", "end_date": "2026-11-30"}
#: What is pulled of the weeks that a backfill has.
WEEK = date(2026, 11, 9)


@pytest.fixture(autouse=True)
def _present(simulator: Simulator, settings: Settings) -> Iterator[None]:
    call("POST", f"{simulator.url}/_control/clock", orjson.dumps({"now": NOW.isoformat()}).decode(), JSON)
    with stub_running(lambda asked: (200, b"")) as stub, time_machine.travel(NOW, tick=False):
        settings.BASE_URL = stub.url
        yield


def linked(tenant: Tenant, slug: str) -> Connection:
    """A connection whose first pulls are over, of the last week alone."""
    connection = connected(tenant, user_make(tenant, client_user_id="ada"), slug, Person(account=ACCOUNT))
    with team_scope(tenant.context):
        Pull.objects.update(start_on=WEEK)
        for pull in Pull.objects.all():
            pull_run(pull_id=pull.pk)
    return connection


def states_of(tenant: Tenant) -> dict[str, tuple[str, str]]:
    with team_scope(tenant.context):
        return {pull.resource: (pull.status, pull.error_code) for pull in Pull.objects.all()}


def owed(tenant: Tenant) -> list[tuple[str, date]]:
    """Resources with the last day to read; how far back a refresh reaches is the service's own affair."""
    with team_scope(tenant.context):
        return list(Pull.objects.filter(status=PullStatus.SCHEDULED).values_list("resource", "end_on"))


@pytest.mark.parametrize("slug", ["polar", "dexcom_v3", "ultrahuman"])
def test_a_week_from_the_login_to_the_store(team: Tenant, slug: str) -> None:
    connection = linked(team, slug)
    assert connection.external_user_id != ""
    wanted = dict.fromkeys(provider_find(slug).resources, (PullStatus.SUCCESS, ""))
    assert states_of(team) == wanted


def test_a_week_of_polar(team: Tenant, api: ApiClient) -> None:
    connection = linked(team, "polar")
    assert connection.external_user_id == str(person_of(f"polar:{ACCOUNT}").user_id)
    nights = api.get(f"/v2/summary/sleep/{connection.user_id}", DAYS).json()["sleep"]
    # By noon seven nights are over.
    assert len(nights) == 7
    assert {one["source"]["provider"] for one in nights} == {"polar"}
    cycles = api.get(f"/v2/summary/sleep_cycle/{connection.user_id}", DAYS).json()["sleep_cycle"]
    assert {one["sleep_id"] for one in cycles} == {one["id"] for one in nights}


def test_polar_s_notices_are_checked_with_the_key_that_it_told(team: Tenant, simulator: Simulator) -> None:
    connection = linked(team, "polar")
    with team_scope(team.context):
        (hook,) = subscribed(connection)
    assert (hook.status, hook.topic, hook.connection_id) == (HookStatus.ACTIVE, "", None)
    (notice,) = notices(simulator, "polar", ACCOUNT, resource="CONTINUOUS_HEART_RATE", day="2026-11-14")
    assert notice.bring(headers={"Polar-Webhook-Signature": "0" * 64}).status_code == 403
    assert owed(team) == []
    assert notice.bring().status_code == 200
    assert owed(team) == [("heartrate", date(2026, 11, 14))]
    assert ProviderHook.objects.get().called_at is not None


def test_glucose_is_told_in_the_api_s_unit(team: Tenant, api: ApiClient) -> None:
    connection = linked(team, "dexcom_v3")
    day = {"start_date": "2026-11-11", "end_date": "2026-11-11"}
    groups = api.get(f"/v2/timeseries/{connection.user_id}/glucose/grouped", day).json()["groups"]
    (group,) = groups["dexcom_v3"]
    assert group["source"]["type"] == "automatic"
    assert {one["unit"] for one in group["data"]} == {"mmol/L"}
    assert len(group["data"]) > 200
    assert all(3 < one["value"] < 13 for one in group["data"])
