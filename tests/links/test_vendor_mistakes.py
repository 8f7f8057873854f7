"""What a vendor gets wrong in good answers: units, buckets that are not complete, a clock that runs ahead."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from healthsvc.kernel import clock
from healthsvc.kernel.scope import team_scope
from links.constants import PullKind
from links.models import Connection, Pull
from links.services.pull_rows import pulls_schedule
from links.services.pulls import pull_run
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.links.events import events_of
from tests.links.linking import connected
from tests.links.simulators import Simulator
from users.models import User


def pulled(tenant: Tenant, connection: Connection, resource: str) -> str:
    """Pull one resource again; how it ended."""
    with team_scope(tenant.context):
        user = User.objects.get(pk=connection.user_id)
        pulls_schedule(connections=[connection], kind=PullKind.REFRESH, user=user)
        pull = Pull.objects.get(connection=connection, resource=resource, kind="refresh", status="scheduled")
    pull_run(pull_id=pull.pk)
    with team_scope(tenant.context):
        Pull.objects.filter(connection=connection, status="scheduled").delete()
        return str(Pull.objects.get(pk=pull.pk).status)


@pytest.fixture
def connection(team: Tenant, simulator: Simulator) -> Connection:
    """Somebody's Oura, with nothing owed."""
    made = connected(team, user_make(team), "oura")
    with team_scope(team.context):
        Pull.objects.all().delete()
    return made


def heart_rates(api: ApiClient, connection: Connection) -> list[dict[str, Any]]:
    """Every heart rate of the last days."""
    today = clock.now().date()
    path = f"/v2/timeseries/{connection.user_id}/heartrate/grouped"
    query = {"start_date": (today - timedelta(days=6)).isoformat(), "end_date": (today + timedelta(days=4)).isoformat()}
    groups = api.get(path, query).json()["groups"].get("oura", [])
    return [sample for group in groups for sample in group["data"]]


def test_values_in_a_wrong_unit_are_refused_and_right_ones_taken_later(
    api: ApiClient, team: Tenant, simulator: Simulator, connection: Connection
) -> None:
    simulator.fault("oura", "wrong_units", "/v2/usercollection/heartrate", times=100)
    assert pulled(team, connection, "heartrate") == "success"
    assert heart_rates(api, connection) == []
    simulator.reset_faults()
    assert pulled(team, connection, "heartrate") == "success"
    values = [sample["value"] for sample in heart_rates(api, connection)]
    assert values
    assert (min(values) > 20) & (max(values) < 250)


def test_a_revised_bucket_replaces_what_was_there(
    api: ApiClient, team: Tenant, simulator: Simulator, connection: Connection
) -> None:
    simulator.fault("oura", "half_buckets", "/v2/usercollection/daily_activity", times=100)
    assert pulled(team, connection, "activity") == "success"
    simulator.reset_faults()
    half = [data["steps"] for kind, data in events_of(team) if kind.startswith("daily.data.activity")]
    assert pulled(team, connection, "activity") == "success"
    told = [(kind, data["steps"]) for kind, data in events_of(team) if kind.startswith("daily.data.activity")]
    assert [kind for kind, _ in told] == ["daily.data.activity.created"] * len(half) + [
        "daily.data.activity.updated"
    ] * len(half)
    assert [steps // 2 for _, steps in told[len(half) :]] == half


def test_nothing_of_the_future_is_kept(
    api: ApiClient, team: Tenant, simulator: Simulator, connection: Connection
) -> None:
    simulator.fault("oura", "clock_ahead", "/v2/usercollection/heartrate", times=100)
    assert pulled(team, connection, "heartrate") == "success"
    latest = clock.now() + timedelta(days=1)
    stamps = [datetime.fromisoformat(sample["timestamp"]) for sample in heart_rates(api, connection)]
    assert stamps
    assert max(stamps) <= latest


def test_nights_on_which_the_clocks_change_arrive_whole(
    api: ApiClient, team: Tenant, simulator: Simulator, connection: Connection
) -> None:
    with team_scope(team.context):
        user = User.objects.get(pk=connection.user_id)
        Pull.objects.create(
            team=team.team,
            environment=str(team.context.environment),
            connection=connection,
            user=user,
            resource="sleep",
            kind="backfill",
            start_on="2026-10-20",
            end_on="2026-11-05",
            not_before=clock.now(),
            created_at=clock.now(),
        )
        pull_id = Pull.objects.get().pk
    pull_run(pull_id=pull_id)
    query = {"start_date": "2026-10-20", "end_date": "2026-11-05"}
    nights = api.get(f"/v2/summary/sleep/{user.id}", query).json()["sleep"]
    long = [night for night in nights if night["type"] == "long_sleep"]
    assert len({night["calendar_date"] for night in long}) == 17
    for night in long:
        start, stop = (datetime.fromisoformat(night[name]) for name in ("bedtime_start", "bedtime_stop"))
        assert (stop - start).total_seconds() == night["duration"]
