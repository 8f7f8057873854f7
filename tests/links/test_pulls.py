"""Backfills and later pulls from a simulated provider: what is stored, and what happens when it goes wrong."""

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

import orjson
import pytest
import time_machine

from healthsvc.kernel import clock
from healthsvc.kernel.http import HttpReply, fetch
from healthsvc.kernel.scope import team_scope
from links.connectors.oura.client import OuraConnector
from links.connectors.wire import Access
from links.constants import PULL_ATTEMPTS_MAXIMUM, PullKind
from links.models import Connection, Pull
from links.services.pull_rows import (
    pull_advance,
    pull_claim,
    pull_complete,
    pull_fail,
    pull_give_up,
    pulls_due,
    pulls_schedule,
    pulls_wake,
)
from links.services.pulls import pull_run
from links.services.refusals import LeaseLost
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.links.events import event_types_of, events_of
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
OURA = ["activity", "blood_oxygen", "device", "heartrate", "hrv", "profile", "sleep", "sleep_cycle", "workouts"]
WITHINGS = [
    "activity", "blood_oxygen", "blood_pressure", "body", "body_temperature", "calories_active", "device", "distance",
    "fat", "floors_climbed", "heartrate", "hrv", "lean_body_mass", "sleep", "sleep_cycle", "steps", "weight",
    "workouts",
]  # fmt: skip


@pytest.fixture
def user(team: Tenant) -> User:
    """Whose data are pulled."""
    return user_make(team, client_user_id="ada")


def pulls_of(tenant: Tenant, **wanted: Any) -> dict[str, Pull]:
    """Pulls by resource."""
    with team_scope(tenant.context):
        return {pull.resource: pull for pull in Pull.objects.filter(**wanted).order_by("id")}


def run_all(tenant: Tenant) -> None:
    """Work every pull that is due."""
    for pull in pulls_of(tenant).values():
        pull_run(pull_id=pull.pk)


def samples(api: ApiClient, user: User, path: str) -> list[dict[str, Any]]:
    """Every sample of a series, through the API."""
    query = {"start_date": "2026-10-01", "end_date": "2026-11-30"}
    found: list[dict[str, Any]] = []
    while True:
        body = api.get(f"/v2/timeseries/{user.id}/{path}/grouped", query).json()
        found += [one for groups in body["groups"].values() for group in groups for one in group["data"]]
        if not body["next_cursor"]:
            return found
        query["next_cursor"] = body["next_cursor"]


def summaries(api: ApiClient, user: User, resource: str) -> list[dict[str, Any]]:
    """Every summary of a resource, through the API."""
    query = {"start_date": "2026-10-01", "end_date": "2026-11-30"}
    body = api.get(f"/v2/summary/{resource}/{user.id}", query).json()
    found: list[dict[str, Any]] = body[resource]
    return found


def raw_oura(connection: Connection, simulator: Simulator, name: str, query: Mapping[str, str]) -> list[Any]:
    """What the simulator itself tells, page by page, past our connector."""
    access = Access(f"{simulator.url}/oura", connection.access_token, frozenset())
    rows: list[Any] = []
    following = dict(query)
    while True:
        page: Any = access.get(f"/v2/usercollection/{name}", following)
        rows += page["data"]
        if not page["next_token"]:
            return rows
        following = {**query, "next_token": page["next_token"]}


def seconds_asleep(cycle: dict[str, Any]) -> int:
    """Light, deep and REM sleep of a sleep cycle."""
    spans = zip(cycle["stage_type"], cycle["stage_start_offset_second"], cycle["stage_end_offset_second"], strict=True)
    return sum(end - start for stage, start, end in spans if stage in (1, 2, 3))


def test_a_month_of_oura(team: Tenant, user: User, api: ApiClient, simulator: Simulator) -> None:
    connection = connected(team, user, "oura")
    run_all(team)
    pulls = pulls_of(team)
    assert {name: (pull.status, pull.error_code) for name, pull in pulls.items()} == dict.fromkeys(
        OURA, ("success", "")
    )
    days = {"start_date": "2026-10-16", "end_date": "2026-11-15"}
    activity = summaries(api, user, "activity")
    told = raw_oura(connection, simulator, "daily_activity", days)
    assert len(told) == 30
    assert {one["calendar_date"]: one["steps"] for one in activity} == {one["day"]: one["steps"] for one in told}
    nights = [one for one in raw_oura(connection, simulator, "sleep", days) if one["type"] == "long_sleep"]
    stored = [one for one in summaries(api, user, "sleep") if one["type"] == "long_sleep"]
    assert len(nights) == 30
    assert sorted(one["total"] for one in stored) == sorted(one["total_sleep_duration"] for one in nights)
    assert all(one["score"] for one in stored)
    workouts = raw_oura(connection, simulator, "workout", days)
    assert len(workouts) == len(summaries(api, user, "workouts")) == 8
    span = {"start_datetime": "2026-10-16T00:00:00Z", "end_datetime": "2026-11-16T00:00:00Z"}
    points = raw_oura(connection, simulator, "heartrate", span)
    beats = samples(api, user, "heartrate")
    assert len(points) == 9072
    assert {datetime.fromisoformat(one["timestamp"]): one["value"] for one in beats} == {
        datetime.fromisoformat(one["timestamp"]): one["bpm"] for one in points
    }
    assert None not in {one["timezone_offset"] for one in beats}
    assert {one["unit"] for one in beats} == {"bpm"}
    cycles = summaries(api, user, "sleep_cycle")
    assert {one["sleep_id"] for one in cycles} == {one["id"] for one in summaries(api, user, "sleep")}
    asleep = {one["sleep_id"]: seconds_asleep(one) for one in cycles}
    assert asleep == {one["id"]: one["total"] for one in summaries(api, user, "sleep")}
    profile = api.get(f"/v2/summary/profile/{user.id}").json()
    assert (profile["source"]["slug"], profile["height"] > 100) == ("oura", True)


def test_a_month_of_withings(team: Tenant, user: User, api: ApiClient, simulator: Simulator) -> None:
    connection = connected(team, user, "withings")
    run_all(team)
    assert {name: pull.status for name, pull in pulls_of(team).items()} == dict.fromkeys(WITHINGS, "success")
    access = Access(f"{simulator.url}/withings", connection.access_token, frozenset())
    days = {"startdateymd": "2026-10-16", "enddateymd": "2026-11-15", "data_fields": "steps"}
    rows: list[Any] = []
    body: Any = {"more": True, "offset": 0}
    while body["more"]:
        form = {"action": "getactivity", "offset": str(body["offset"]), **days}
        answer: Any = access.post("/v2/measure", form)
        body = answer["body"]
        rows += body["activities"]
    activity = {one["calendar_date"]: one["steps"] for one in summaries(api, user, "activity")}
    assert len(rows) == 30
    assert activity == {one["date"]: one["steps"] for one in rows}
    steps = samples(api, user, "steps")
    assert {one["type"] for one in steps} == {None}
    # The simulator's day totals are the sums of its five-minute entries, in the person's own days.
    by_day: dict[str, float] = {}
    for one in steps:
        local = datetime.fromisoformat(one["timestamp"]) + timedelta(seconds=one["timezone_offset"])
        by_day[local.date().isoformat()] = by_day.get(local.date().isoformat(), 0) + one["value"]
    whole_days = sorted(activity)[1:]
    assert {day: by_day[day] for day in whole_days} == {day: float(activity[day]) for day in whole_days}
    # The watch's five minutes, and a pulse with each weighing and each reading of the cuff.
    pulses = len(samples(api, user, "body_weight")) + len(samples(api, user, "blood_pressure"))
    assert len(samples(api, user, "heartrate")) == 8721 + pulses
    assert len(summaries(api, user, "sleep")) == 34
    cuffs = samples(api, user, "blood_pressure")
    assert cuffs
    assert all(90 < one["systolic"] < 160 and 50 < one["diastolic"] < 110 for one in cuffs)
    scales = samples(api, user, "body_weight")
    assert [one["weight"] for one in summaries(api, user, "body")] == [one["value"] for one in scales]
    # What the provider tells of the person's clock is kept with the user.
    zone = api.get(f"/v2/user/{user.id}").json()["fallback_time_zone"]
    assert (zone["id"], zone["source_slug"]) == ("Europe/Helsinki", "withings")
    # The end of the last whole window; what is confirmed within a day is not dated anew.
    assert datetime.fromisoformat(zone["updated_at"]) == NOW.replace(hour=0)


def test_a_backfill_announces_each_resource_once_and_sends_no_data(team: Tenant, user: User) -> None:
    connected(team, user, "oura")
    run_all(team)
    run_all(team)
    types = event_types_of(team)
    assert types[0] == "provider.connection.created"
    told = [resource for resource in OURA if resource != "device"]
    historical = [f"historical.data.{resource}.created" for resource in told]
    # The ring has no history to announce: it is told itself.
    assert sorted(types[1:]) == [*historical, "provider.device.created"]
    for event_type, data in events_of(team)[1:]:
        if event_type == "provider.device.created":
            assert data["provider"] == "oura"
            continue
        assert (data["provider"], data["is_final"], data["user_id"]) == ("oura", True, str(user.id))
        assert datetime.fromisoformat(data["start_date"]) == datetime(2026, 10, 16, tzinfo=UTC)


def test_the_same_month_again_changes_nothing(team: Tenant, user: User, api: ApiClient) -> None:
    connection = connected(team, user, "oura")
    run_all(team)
    before = (samples(api, user, "heartrate"), summaries(api, user, "sleep"))
    with team_scope(team.context):
        pulls_schedule(connections=[connection], kind=PullKind.BACKFILL, user=user)
    run_all(team)
    assert (samples(api, user, "heartrate"), summaries(api, user, "sleep")) == before
    assert len(pulls_of(team, status="success")) == len(OURA)


def test_a_pull_goes_on_where_a_dead_worker_left_it(team: Tenant, user: User, simulator: Simulator) -> None:
    connected(team, user, "oura")
    pull = pulls_of(team)["heartrate"]
    claimed = pull_claim(pull_id=pull.pk)
    assert claimed is not None
    assert pull_claim(pull_id=pull.pk) is None
    assert pull.pk not in pulls_due()
    with team_scope(team.context):
        Pull.objects.filter(pk=pull.pk).update(done_until_on=date(2026, 11, 5))
    before = simulator.count("oura", "/oura/v2/usercollection/daily_activity")
    with time_machine.travel(NOW + timedelta(seconds=121), tick=False):
        assert pull.pk in pulls_due()
        pull_run(pull_id=pull.pk)
    # Eleven of 32 days were left: two windows of seven.
    pages_a_window = 1
    assert simulator.count("oura", "/oura/v2/usercollection/daily_activity") - before == 2 * pages_a_window
    ended = pulls_of(team)["heartrate"]
    assert (ended.status, ended.claim, ended.attempts) == ("success", 2, 0)


def test_a_worker_that_lost_its_lease_writes_nothing_more(team: Tenant, user: User) -> None:
    connected(team, user, "oura")
    pull = pulls_of(team)["sleep"]
    asleep = pull_claim(pull_id=pull.pk)
    assert asleep is not None
    with time_machine.travel(NOW + timedelta(seconds=121), tick=False):
        awake = pull_claim(pull_id=pull.pk)
        assert awake is not None
        with team_scope(team.context):
            with pytest.raises(LeaseLost):
                pull_advance(asleep, done_until_on=date(2026, 11, 1))
            assert not pull_complete(asleep)
            pull_fail(asleep, error_code="late")
            pull_give_up(asleep, error_code="late")
            assert pull_complete(awake)
    ended = pulls_of(team)["sleep"]
    assert (ended.status, ended.error_code, ended.done_until_on) == ("success", "", None)


@pytest.mark.parametrize(
    ("fault", "error_code", "wait_seconds", "attempts"),
    [
        ({"kind": "http_500"}, "provider_unavailable", 5, 1),
        ({"kind": "truncated_json"}, "transport_failure", 5, 1),
        ({"kind": "http_429", "retry_after_seconds": 40}, "provider_rate_limit_exceeded", 40, 0),
    ],
)
def test_a_failure_waits_and_is_tried_again(
    team: Tenant,
    user: User,
    simulator: Simulator,
    fault: dict[str, Any],
    error_code: str,
    wait_seconds: int,
    attempts: int,
) -> None:
    connected(team, user, "oura")
    pull_id = pulls_of(team)["activity"].pk
    simulator.fault("oura", path_prefix="/v2/usercollection/daily_activity", **fault)
    pull_run(pull_id=pull_id)
    waiting = pulls_of(team)["activity"]
    assert (waiting.status, waiting.error_code, waiting.attempts) == ("retrying", error_code, attempts)
    assert waiting.not_before == NOW + timedelta(seconds=wait_seconds)
    pull_run(pull_id=pull_id)
    assert pulls_of(team)["activity"].status == "retrying"
    with time_machine.travel(NOW + timedelta(seconds=wait_seconds), tick=False):
        assert pull_id in pulls_due()
        pull_run(pull_id=pull_id)
    assert pulls_of(team)["activity"].status == "success"


def test_a_rate_limit_in_the_envelope_waits_too(team: Tenant, user: User, simulator: Simulator) -> None:
    connected(team, user, "withings")
    simulator.fault("withings", "rate_limited", "/v2/sleep")
    pull_run(pull_id=pulls_of(team)["sleep"].pk)
    waiting = pulls_of(team)["sleep"]
    assert (waiting.status, waiting.error_code) == ("retrying", "provider_rate_limit_exceeded")
    assert waiting.not_before == NOW + timedelta(seconds=60)


def test_what_never_works_is_given_up(team: Tenant, user: User, simulator: Simulator) -> None:
    connected(team, user, "oura")
    pull_id = pulls_of(team)["workouts"].pk
    simulator.fault("oura", "http_500", "/v2/usercollection/workout", times=100)
    present = NOW
    for _ in range(PULL_ATTEMPTS_MAXIMUM):
        with time_machine.travel(present, tick=False):
            pull_run(pull_id=pull_id)
        present = max(present, pulls_of(team)["workouts"].not_before)
    ended = pulls_of(team)["workouts"]
    assert (ended.status, ended.error_code) == ("failure", "provider_unavailable")
    assert present - NOW == timedelta(seconds=5 + 15 + 60 + 300 + 900 + 3600 + 3600)
    assert "historical.data.workouts.created" not in event_types_of(team)


def test_a_user_who_is_gone_ends_the_pull(team: Tenant, user: User) -> None:
    connected(team, user, "oura")
    with team_scope(team.context):
        User.objects.filter(pk=user.pk).update(deleted_at=clock.now())
    pull_run(pull_id=pulls_of(team)["sleep"].pk)
    ended = pulls_of(team)["sleep"]
    assert (ended.status, ended.error_code) == ("failure", "user_gone")


def test_ingestion_bounds_limit_what_is_asked_for(team: Tenant, simulator: Simulator) -> None:
    bounded = user_make(team, ingestion_start=date(2026, 11, 10), ingestion_end=date(2026, 11, 12))
    outside = user_make(team, ingestion_end=date(2026, 1, 1))
    connected(team, bounded, "oura")
    connected(team, outside, "oura")
    with team_scope(team.context):
        spans = set(Pull.objects.values_list("user_id", "start_on", "end_on"))
    assert spans == {(bounded.id, date(2026, 11, 10), date(2026, 11, 12))}


def test_the_sweep_wakes_what_is_due(team: Tenant, user: User) -> None:
    connected(team, user, "oura")
    # They were told of when they were owed; who has not come by then may never have heard of it.
    assert pulls_wake() == 0
    with time_machine.travel(NOW + timedelta(seconds=60), tick=False):
        assert pulls_wake() == len(OURA)
    run_all(team)
    assert pulls_wake() == 0


def _taken_over(pull_id: UUID) -> None:
    """Another worker takes the pull after its lease ran out."""
    with time_machine.travel(clock.now() + timedelta(seconds=121), tick=False):
        assert pull_claim(pull_id=pull_id) is not None


def _untouched(tenant: Tenant, resource: str) -> None:
    """The pull is another worker's, as that one left it."""
    pull = pulls_of(tenant)[resource]
    assert (pull.status, pull.claim, pull.error_code, pull.done_until_on) == ("in_progress", 2, "", None)


def test_a_worker_that_lost_its_lease_stores_nothing(
    team: Tenant, user: User, api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lease is lost after the last call of a window, before its records are stored."""
    connected(team, user, "oura")
    pull_id = pulls_of(team)["activity"].pk
    pull = OuraConnector.pull
    windows: list[int] = []

    def late(*args: Any) -> Any:
        found = pull(*args)
        windows.append(len(found.summaries))
        _taken_over(pull_id)
        return found

    monkeypatch.setattr(OuraConnector, "pull", late)
    pull_run(pull_id=pull_id)
    assert windows == [30]
    assert summaries(api, user, "activity") == []
    _untouched(team, "activity")


def test_every_call_keeps_the_lease(team: Tenant, user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of many slow calls, each shorter than the lease, together far longer."""
    connected(team, user, "oura")
    pull_id = pulls_of(team)["heartrate"].pk
    due: list[bool] = []
    with time_machine.travel(NOW, tick=False) as present:

        def slow(*args: Any, **values: Any) -> HttpReply:
            present.shift(100)
            due.append(pull_id in pulls_due())
            return fetch(*args, **values)

        monkeypatch.setattr("links.connectors.wire.fetch", slow)
        pull_run(pull_id=pull_id)
    assert due == [False] * 18
    assert pulls_of(team)["heartrate"].status == "success"


def test_a_lost_lease_stops_the_calls(team: Tenant, user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    connected(team, user, "oura")
    pull_id = pulls_of(team)["heartrate"].pk
    calls: list[str] = []

    def meanwhile(method: str, *args: Any, **values: Any) -> HttpReply:
        calls.append(method)
        _taken_over(pull_id)
        return fetch(method, *args, **values)

    monkeypatch.setattr("links.connectors.wire.fetch", meanwhile)
    pull_run(pull_id=pull_id)
    assert calls == ["GET"]
    _untouched(team, "heartrate")


@pytest.mark.parametrize("status", [403, 401, 200])
def test_a_worker_that_lost_its_lease_gives_nothing_up(
    team: Tenant, user: User, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    """Refused by the provider; the connection gone; the user gone: whoever has the pull now finds that out itself."""
    connection = connected(team, user, "oura")
    pull_id = pulls_of(team)["activity"].pk

    def meanwhile(*args: Any, **values: Any) -> HttpReply:
        _taken_over(pull_id)
        if status == 401:
            Connection.objects.filter(pk=connection.pk).update(disconnected_at=clock.now())
        if status == 200:
            User.objects.filter(pk=user.pk).update(deleted_at=clock.now())
        return HttpReply(status, {}, b'{"data": [], "next_token": null}')

    monkeypatch.setattr("links.connectors.wire.fetch", meanwhile)
    pull_run(pull_id=pull_id)
    _untouched(team, "activity")


def test_an_open_pull_is_asked_for_the_days_that_came_since(team: Tenant, user: User) -> None:
    connection = connected(team, user, "oura")
    with team_scope(team.context):
        Pull.objects.all().delete()
        pulls_schedule(connections=[connection], kind=PullKind.REFRESH, user=user)
        with time_machine.travel(NOW + timedelta(days=2), tick=False):
            pulls_schedule(connections=[connection], kind=PullKind.REFRESH, user=user)
        refreshes = Pull.objects.filter(kind="refresh")
        spans = set(refreshes.values_list("start_on", "end_on"))
        assert (refreshes.count(), spans) == (len(OURA), {(date(2026, 11, 12), date(2026, 11, 18))})
        pulls_schedule(connections=[connection], kind=PullKind.REFRESH, user=user)
        assert set(Pull.objects.values_list("end_on", flat=True)) == {date(2026, 11, 18)}
