"""A simulated month of what vendors tell beside the usual: oxygen, stages, variability, and the devices themselves."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
import time_machine

from healthsvc.kernel.scope import team_scope
from links.models import Connection, Pull
from links.services.pulls import pull_run
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.links.linking import connected
from tests.links.simulators import Simulator, call
from users.models import User

pytestmark = [pytest.mark.slow, pytest.mark.django_db]

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
MONTH = {"start_date": "2026-10-16", "end_date": "2026-11-16"}


@pytest.fixture(autouse=True)
def _present(simulator: Simulator) -> Iterator[None]:
    body = orjson.dumps({"now": NOW.isoformat()}).decode()
    call("POST", f"{simulator.url}/_control/clock", body, {"Content-Type": "application/json"})
    with time_machine.travel(NOW, tick=False):
        yield


@pytest.fixture
def user(team: Tenant) -> User:
    """Whose data are pulled."""
    return user_make(team, client_user_id="ada")


def pulled(tenant: Tenant, user: User, slug: str, *resources: str) -> Connection:
    """A connection of which these resources have been pulled."""
    connection = connected(tenant, user, slug)
    with team_scope(tenant.context):
        ids = list(Pull.objects.filter(resource__in=resources).values_list("pk", flat=True))
    for pull_id in ids:
        pull_run(pull_id=pull_id)
    with team_scope(tenant.context):
        found = Pull.objects.filter(pk__in=ids).values_list("resource", "status")
        assert dict(found) == dict.fromkeys(resources, "success")
    return connection


def summaries(api: ApiClient, user: User, resource: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = api.get(f"/v2/summary/{resource}/{user.id}", MONTH).json()[resource]
    return found


def test_oxygen_of_oura_where_each_night_ended(team: Tenant, user: User, api: ApiClient) -> None:
    pulled(team, user, "oura", "sleep", "blood_oxygen", "device")
    nights = [one for one in summaries(api, user, "sleep") if one["type"] == "long_sleep"]
    oxygen = api.get(f"/v2/timeseries/{user.id}/blood_oxygen", MONTH).json()
    assert sorted(one["timestamp"] for one in oxygen) == sorted(night["bedtime_stop"] for night in nights)
    assert {one["unit"] for one in oxygen} == {"%"}
    assert all(90 < one["value"] < 100 for one in oxygen)
    (ring,) = api.get(f"/v2/user/{user.id}/device").json()
    assert (ring["provider"], ring["device_manufacturer"], ring["device_version"]) == ("oura", "Oura", "3.4.2")


def test_nights_and_devices_of_withings(team: Tenant, user: User, api: ApiClient) -> None:
    pulled(team, user, "withings", "sleep_cycle", "hrv", "device")
    nights = {one["id"]: one for one in summaries(api, user, "sleep")}
    cycles = summaries(api, user, "sleep_cycle")
    assert {one["sleep_id"] for one in cycles} == set(nights)
    for one in cycles:
        spans = zip(one["stage_start_offset_second"], one["stage_end_offset_second"], one["stage_type"], strict=True)
        asleep = sum(end - start for start, end, stage in spans if stage in (1, 2, 3))
        assert asleep == nights[one["sleep_id"]]["total"]
    variability = api.get(f"/v2/timeseries/{user.id}/hrv", {**MONTH, "limit": 5000}).json()
    assert {one["unit"] for one in variability} == {"rmssd"}
    devices = api.get(f"/v2/user/{user.id}/device").json()
    assert {one["device_model"] for one in devices} == {"ScanWatch 2", "Body Comp", "BPM Connect", "Thermo"}
