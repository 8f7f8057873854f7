"""Polar over HTTP: registering first, a month over both changes of clocks, its notices, and the end of a grant."""

import hashlib
import hmac
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import count
from typing import Any

import orjson
import pytest
import time_machine
from pytest_django import Settings

from aggregation.catalogue import SERIES_BY_SLUG
from aggregation.records import SeriesBatch
from aggregation.store.checking import Ingestion, sample_reasons, summary_reason
from healthsvc.kernel.principal import Environment
from links.connectors.base import Pulled
from links.connectors.failures import FailureKind, ProviderFailure
from links.connectors.hooks import ApplicationKeys, HookCall, HookRefused, HookSecrets, Notice, Revokes, TakesHooks
from links.connectors.polar.client import PolarConnector
from links.connectors.registry import connector_of
from links.connectors.wire import Access
from links.constants import SIMULATOR_CLIENT_ID, SIMULATOR_CLIENT_SECRET
from simulator.day import day_of
from simulator.person import Person, person_of
from tests.links.hooking import JSON, hooks_at
from tests.links.payloads import DATA
from tests.links.simulators import Simulator, call
from tests.links.stub_server import Asked, stub_running

POLAR = PolarConnector()
#: American and European clocks went back in the four weeks before it.
NOW = datetime(2026, 11, 10, 12, tzinfo=UTC)
FIRST, LAST = date(2026, 10, 15), date(2026, 11, 9)
SERIES = ("heartrate", "steps", "hrv", "respiratory_rate")
SUMMARIES = ("sleep", "sleep_cycle", "activity", "workouts", "workout_stream")
POLAR_SLEEP = ("sleep", "sleep_cycle", "hrv", "respiratory_rate")
#: Nobody has been registered under these, whatever ran before.
ACCOUNTS = count()
#: In Los Angeles, in Helsinki.
PEOPLE = ("eve@example.com", "cy@example.com")


@pytest.fixture(autouse=True)
def _present(simulator: Simulator) -> Iterator[None]:
    call("POST", f"{simulator.url}/_control/clock", orjson.dumps({"now": NOW.isoformat()}).decode(), JSON)
    with time_machine.travel(NOW, tick=False):
        yield


def access_of(simulator: Simulator, account: str = "") -> Access:
    """An access to a simulated person; one who was never registered where no account is named."""
    account = account or f"polar-{next(ACCOUNTS)}@example.com"
    form = f"client_id={SIMULATOR_CLIENT_ID}&client_secret={SIMULATOR_CLIENT_SECRET}&account={account}"
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    url = f"{simulator.url}/polar/demo/account"
    status, _, body = call("POST", url, f"{form}&scope=accesslink.read_all", headers)
    assert status == 200, body
    return Access(f"{simulator.url}/polar", str(orjson.loads(body)["access_token"]), frozenset({"accesslink.read_all"}))


def keys_of(simulator: Simulator) -> ApplicationKeys:
    return ApplicationKeys(SIMULATOR_CLIENT_ID, SIMULATOR_CLIENT_SECRET, f"{simulator.url}/polar")


def whole(access: Access, resource: str, start_on: date = FIRST, end_on: date = LAST) -> list[Pulled]:
    """Every window of a stretch of days."""
    days = POLAR.window_days[resource]
    found = []
    while start_on <= end_on:
        until = min(end_on, start_on + timedelta(days=days - 1))
        found.append(POLAR.pull(access, resource, start_on, until))
        start_on = until + timedelta(days=1)
    return found


def batches(pulled: list[Pulled]) -> list[SeriesBatch]:
    found = [batch for one in pulled for batch in one.series]
    assert [one.refusals for one in pulled] == [()] * len(pulled)
    for batch in found:
        assert sample_reasons(SERIES_BY_SLUG[batch.resource], batch.samples, Ingestion()) == []
    return found


def rows_of(pulled: list[Pulled]) -> dict[int, float]:
    """Values by their instants, each instant once."""
    listed = [
        row
        for batch in batches(pulled)
        for row in zip(batch.samples.start_us.tolist(), batch.samples.values.tolist(), strict=True)
    ]
    found = dict(listed)
    assert len(found) == len(listed)
    return found


def days_of(person: Person) -> list[Any]:
    return [day_of(person, FIRST + timedelta(days=day)) for day in range((LAST - FIRST).days + 1)]


@pytest.mark.slow
@pytest.mark.parametrize("account", PEOPLE)
def test_four_weeks_of_nights_and_days_come_whole_and_once(simulator: Simulator, account: str) -> None:
    access, person = access_of(simulator, account), person_of(f"polar:{account}")
    for resource in SUMMARIES:
        pulled = whole(access, resource)
        assert [one.refusals for one in pulled] == [()] * len(pulled)
        records = [one for window in pulled for one in window.summaries]
        assert all(summary_reason(one, Ingestion()) is None for one in records)
        identities = [(one.resource, one.external_id) for one in records]
        assert len(set(identities)) == len(identities)
    days = days_of(person)
    nights = [one for window in whole(access, "sleep") for one in window.summaries]
    assert [one.calendar_date for one in nights] == [day.on for day in days]
    # The changes of clocks move no night.
    found = [(one.starts_at.timestamp(), one.ends_at.timestamp()) for one in nights if one.starts_at and one.ends_at]
    assert found == [(day.night.starts_at, day.night.ends_at) for day in days]
    assert [one.fields["hr_lowest"] for one in nights] == [min(day.night.bpm) for day in days]
    assert all(one.fields["average_hrv"] is not None for one in nights)
    activities = [one for window in whole(access, "activity") for one in window.summaries]
    assert [one.fields["steps"] for one in activities] == [sum(slot.steps for slot in day.slots) for day in days]


@pytest.mark.slow
@pytest.mark.parametrize("account", PEOPLE)
def test_stages_lie_where_they_were(simulator: Simulator, account: str) -> None:
    person = person_of(f"polar:{account}")
    pulled = whole(access_of(simulator, account), "sleep_cycle")
    cycles = [one for window in pulled for one in window.summaries if one.resource == "sleep_cycle"]
    for cycle, day in zip(cycles, days_of(person), strict=True):
        ends, begins = cycle.fields["stage_end_offset_second"], cycle.fields["stage_start_offset_second"]
        assert isinstance(begins, list)
        assert isinstance(ends, list)
        kinds = cycle.fields["stage_type"]
        assert isinstance(kinds, list)
        told = "".join(
            str(kind) * ((int(str(end)) - int(str(begin))) // 300)
            for begin, end, kind in zip(begins, ends, kinds, strict=True)
        )
        assert told == day.night.stages


@pytest.mark.slow
@pytest.mark.parametrize("account", PEOPLE)
def test_samples_come_at_their_instants_over_both_changes(simulator: Simulator, account: str) -> None:
    access, person = access_of(simulator, account), person_of(f"polar:{account}")
    days = days_of(person)
    beats = rows_of(whole(access, "heartrate"))
    worn = {
        slot.starts_at // 300: slot.bpm for day in days for slot in day.slots if slot.bpm and slot.kind != "workout"
    }
    assert {at_us // 300_000_000: value for at_us, value in beats.items()} == worn
    variability = rows_of(whole(access, "hrv"))
    measured = {
        day.night.starts_at + 300 * index: value
        for day in days
        for index, value in enumerate(day.night.rmssd_ms)
        if 6 <= index < 54
    }
    assert {at_us // 1_000_000: value for at_us, value in variability.items()} == measured
    steps = rows_of(whole(access, "steps"))
    assert sum(steps.values()) == sum(slot.steps for day in days for slot in day.slots)


@pytest.mark.slow
def test_a_workout_and_its_course_agree(simulator: Simulator) -> None:
    access = access_of(simulator, PEOPLE[0])
    workouts = {one.external_id: one for window in whole(access, "workouts") for one in window.summaries}
    pulled = whole(access, "workout_stream")
    streams = {one.workout: one for window in pulled for one in window.streams}
    assert set(streams) == set(workouts)
    assert len(workouts) > 3
    assert {one.external_id: one for window in pulled for one in window.summaries} == workouts
    for identity, stream in streams.items():
        workout = workouts[identity]
        assert workout.starts_at is not None
        assert stream.time_us[0] == round(workout.starts_at.timestamp() * 1_000_000)
        assert round(float(stream.channels["heartrate"].max())) == workout.fields["max_hr"]
        zones = workout.fields["hr_zones"]
        assert isinstance(zones, list)
        assert sum(int(str(one)) for one in zones) == workout.fields["moving_time"]


@pytest.mark.parametrize("resource", [*SERIES, *SUMMARIES])
def test_windows_that_touch_tell_the_same_as_one(simulator: Simulator, resource: str) -> None:
    access, middle = access_of(simulator, PEOPLE[1]), date(2026, 11, 1)
    days = timedelta(days=3)
    longer = POLAR.pull(access, resource, middle - days, middle + days)
    halves = [
        POLAR.pull(access, resource, middle - days, middle),
        POLAR.pull(access, resource, middle + timedelta(days=1), middle + days),
    ]
    assert rows_of(halves) == rows_of([longer])
    found = [{(one.resource, one.external_id): one for one in pulled.summaries} for pulled in halves]
    assert found[0] | found[1] == {(one.resource, one.external_id): one for one in longer.summaries}
    assert not found[0].keys() & found[1].keys()


def test_the_present_is_told_as_far_as_it_has_come(simulator: Simulator) -> None:
    access = access_of(simulator, PEOPLE[1])
    today, tomorrow = NOW.date(), NOW.date() + timedelta(days=1)
    (day,) = POLAR.pull(access, "activity", today, tomorrow).summaries
    assert day.calendar_date == today
    newest = max(rows_of([POLAR.pull(access, "heartrate", today, tomorrow)]))
    assert 0 <= NOW.timestamp() - newest / 1_000_000 < 2_400


def test_what_is_older_than_polar_tells_is_nothing(simulator: Simulator) -> None:
    access, old = access_of(simulator, PEOPLE[1]), date(2025, 6, 1)
    for resource in (*SERIES, *SUMMARIES):
        assert POLAR.pull(access, resource, old, old + timedelta(days=3)) == Pulled()


@pytest.mark.slow
def test_a_person_is_registered_with_the_first_question_and_once(simulator: Simulator) -> None:
    access = access_of(simulator)
    POLAR.pull(access, "sleep", FIRST, LAST)
    POLAR.pull(access, "activity", FIRST, LAST)
    assert simulator.count("polar", "/polar/v3/users") == 1
    # Somebody who was registered by another worker meanwhile is told of as well.
    other = access_of(simulator)
    assert POLAR.account_id(other).isdecimal()
    assert POLAR.account_id(other) == ""
    assert POLAR.pull(other, "sleep", FIRST, LAST).summaries != ()


def test_consents_that_are_missing_are_told_as_such(simulator: Simulator) -> None:
    form = f"client_id={SIMULATOR_CLIENT_ID}&client_secret={SIMULATOR_CLIENT_SECRET}&scope=nothing"
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    _, _, body = call("POST", f"{simulator.url}/polar/demo/account", form, headers)
    access = Access(f"{simulator.url}/polar", str(orjson.loads(body)["access_token"]), frozenset())
    with pytest.raises(ProviderFailure) as failed:
        POLAR.pull(access, "sleep", FIRST, LAST)
    assert failed.value.kind is FailureKind.SCOPE_MISSING


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("http_429", FailureKind.RATE_LIMITED),
        ("http_500", FailureKind.UNAVAILABLE),
        ("truncated_json", FailureKind.TRANSPORT),
        ("token_dead", FailureKind.TOKEN_REJECTED),
    ],
)
@pytest.mark.parametrize("resource", [*SERIES, *SUMMARIES])
def test_failures_are_told_by_kind(simulator: Simulator, fault: str, kind: FailureKind, resource: str) -> None:
    access = access_of(simulator, PEOPLE[0])
    POLAR.pull(access, resource, LAST, LAST)
    simulator.fault("polar", fault, "/v3/")
    with pytest.raises(ProviderFailure) as failed:
        POLAR.pull(access, resource, LAST, LAST)
    assert failed.value.kind is kind


@pytest.mark.slow
def test_what_a_window_costs(simulator: Simulator) -> None:
    access = access_of(simulator, PEOPLE[0])
    # Registered once, which costs a question and a registration more.
    POLAR.account_id(access)
    calls: list[int] = []
    counting = Access(access.api_url, access.access_token, access.scopes, before_call=lambda: calls.append(1))
    for resource, asked in (("sleep", 2), ("activity", 1), ("workouts", 1), ("hrv", 2), ("heartrate", 9), ("steps", 3)):
        calls.clear()
        POLAR.pull(counting, resource, LAST - timedelta(days=POLAR.window_days[resource] - 1), LAST)
        assert len(calls) == asked, resource


def test_an_answer_that_is_no_list(settings: Settings) -> None:
    with stub_running(lambda asked: (200, b'{"nights": {}}')) as stub, pytest.raises(ProviderFailure) as failed:
        settings.LOOPBACK_ORIGINS = [stub.url]
        POLAR.pull(Access(stub.url, "token", frozenset()), "sleep", FIRST, LAST)
    assert failed.value.kind is FailureKind.TRANSPORT


def test_nothing_at_all_is_no_failure(settings: Settings) -> None:
    with stub_running(lambda asked: (204, b"")) as stub:
        settings.LOOPBACK_ORIGINS = [stub.url]
        for resource in (*SERIES, *SUMMARIES):
            assert POLAR.pull(Access(stub.url, "token", frozenset()), resource, FIRST, FIRST) == Pulled()


def test_nothing_else_is_pulled(simulator: Simulator) -> None:
    with pytest.raises(ProviderFailure) as failed:
        POLAR.pull(access_of(simulator), "weight", FIRST, LAST)
    assert failed.value.kind is FailureKind.REFUSED


def test_a_grant_is_ended_and_ending_it_again_is_no_error(simulator: Simulator) -> None:
    access, keys = access_of(simulator), keys_of(simulator)
    account = POLAR.account_id(access)
    POLAR.revoke(keys, access, refresh_token="", external_user_id=account)
    with pytest.raises(ProviderFailure) as failed:
        POLAR.pull(access, "sleep", FIRST, LAST)
    assert failed.value.kind is FailureKind.TOKEN_REJECTED
    POLAR.revoke(keys, access, refresh_token="", external_user_id=account)
    simulator.fault("polar", "http_500", "/v3/users/")
    with pytest.raises(ProviderFailure):
        POLAR.revoke(keys, access, refresh_token="", external_user_id=account)
    with pytest.raises(ProviderFailure):
        POLAR.revoke(keys, access, refresh_token="", external_user_id="")


def pinged(asked: Asked) -> tuple[int, bytes]:
    """What the service answers a ping, whatever key it is signed with."""
    answer = POLAR.hook_answer(HookCall("POST", {}, {}, asked.body), HookSecrets("", "", ""))
    assert orjson.loads(asked.body)["event"] == "PING"
    return answer.status, answer.body


def subscribe(simulator: Simulator, url: str) -> str:
    return POLAR.hook_subscribe(keys_of(simulator), None, topic="", callback_url=url, verify_token="").external_id


def test_a_subscription_is_made_pinged_replaced_and_ended(simulator: Simulator) -> None:
    with stub_running(pinged) as stub:
        first = subscribe(simulator, f"{stub.url}/link/hook/polar/1")
        second = subscribe(simulator, f"{stub.url}/link/hook/polar/2")
        assert [one["callback_url"] for one in hooks_at(simulator)] == [f"{stub.url}/link/hook/polar/2"]
        with pytest.raises(ProviderFailure) as failed:
            subscribe(simulator, f"{stub.url}/elsewhere/1")
        assert failed.value.kind is FailureKind.REFUSED
        assert len(stub.asked) == 2
    assert first.partition(":")[0] != second.partition(":")[0]
    assert len(second) <= 200
    for _ in range(2):
        POLAR.hook_unsubscribe(keys_of(simulator), None, topic="", external_id=second, callback_url="")
        assert hooks_at(simulator) == []


def test_an_address_that_does_not_answer_gets_no_subscription(simulator: Simulator) -> None:
    with stub_running(lambda asked: (500, b"")) as stub, pytest.raises(ProviderFailure) as failed:
        subscribe(simulator, f"{stub.url}/link/hook/polar/1")
    assert failed.value.kind is FailureKind.REFUSED
    assert hooks_at(simulator) == []


def test_another_s_secret_subscribes_to_nothing(simulator: Simulator) -> None:
    keys = ApplicationKeys(SIMULATOR_CLIENT_ID, "wrong", f"{simulator.url}/polar")
    with pytest.raises(ProviderFailure) as failed:
        POLAR.hook_subscribe(keys, None, topic="", callback_url="http://127.0.0.1:1/", verify_token="")
    assert failed.value.kind is FailureKind.REFUSED


def notified(simulator: Simulator, external_id: str, resource: str, **changes: Any) -> tuple[Notice, ...]:
    """What the connector makes of a notice that the simulator signs."""
    asked = {"slug": "polar", "account": "ada@example.com", "resource": resource, "day": "2026-11-02", "deliver": False}
    status, _, body = call("POST", f"{simulator.url}/_control/notify", orjson.dumps(asked).decode(), JSON)
    assert status == 200, body
    (made,) = orjson.loads(body)["requests"]
    headers = {name.lower(): value for name, value in made["headers"].items()} | changes.pop("headers", {})
    sent = HookCall("POST", {}, headers, changes.pop("body", made["body"].encode()))
    return tuple(POLAR.hook_answer(sent, HookSecrets("", "", external_id)).notices)


def test_events_name_what_to_read(simulator: Simulator) -> None:
    access_of(simulator, "ada@example.com")
    user_id = str(person_of("polar:ada@example.com").user_id)
    day = date(2026, 11, 2)
    with stub_running(pinged) as stub:
        external_id = subscribe(simulator, f"{stub.url}/link/hook/polar/1")
    for resource, read in (
        ("SLEEP", POLAR_SLEEP),
        ("CONTINUOUS_HEART_RATE", ("heartrate",)),
        ("ACTIVITY_SUMMARY", ("activity", "steps")),
    ):
        told = notified(simulator, external_id, resource)
        assert told == (Notice(user_id, resources=read, start_on=day, end_on=day),)
        assert set(read) <= set(POLAR.window_days)
    assert notified(simulator, external_id, "EXERCISE") == (Notice(user_id, resources=("workouts", "workout_stream")),)
    with pytest.raises(HookRefused):
        notified(simulator, external_id, "SLEEP", body=b'{"event": "SLEEP", "user_id": 1}')
    with pytest.raises(HookRefused):
        notified(simulator, external_id, "SLEEP", headers={"polar-webhook-signature": ""})
    other = external_id[:-8] + ("AAAAAAAA" if external_id[-8:] != "AAAAAAAA" else "BBBBBBBB")
    for wrong in ("", "abdf33", "abdf33:", "abdf33:x", other):
        with pytest.raises(HookRefused):
            notified(simulator, wrong, "SLEEP")


def test_recorded_events_are_read_with_their_recorded_key(settings: Settings) -> None:
    key = orjson.loads((DATA / "polar/webhook.json").read_bytes())["data"]["signature_secret_key"]
    made = (DATA / "polar/webhook.json").read_bytes()
    with stub_running(lambda asked: (201, made)) as stub:
        settings.LOOPBACK_ORIGINS = [stub.url]
        keys = ApplicationKeys("id", "secret", stub.url)
        external_id = POLAR.hook_subscribe(keys, None, topic="", callback_url="x", verify_token="").external_id
    assert external_id.startswith("abdf33:")
    assert key not in external_id
    secrets = HookSecrets("", "", external_id)
    for name, expected in (
        ("event_sleep", Notice("475", POLAR_SLEEP, date(2026, 10, 25), date(2026, 10, 25))),
        ("event_exercise", Notice("475", ("workouts", "workout_stream"))),
    ):
        body = (DATA / f"polar/{name}.json").read_bytes()
        signature = hmac.new(key.encode(), body, hashlib.sha256).hexdigest().upper()
        call_made = HookCall("POST", {}, {"polar-webhook-signature": signature}, body)
        assert POLAR.hook_answer(call_made, secrets).notices == (expected,)
    ping = HookCall("POST", {}, {}, (DATA / "polar/event_ping.json").read_bytes())
    assert (POLAR.hook_answer(ping, secrets).status, POLAR.hook_answer(ping, secrets).notices) == (200, ())
    with pytest.raises(HookRefused):
        POLAR.hook_answer(HookCall("POST", {}, {}, b"no"), secrets)
    assert POLAR.hook_answer(HookCall("GET", {}, {}, b""), secrets).status == 200


def test_sandbox_and_production_have_the_connector() -> None:
    for environment in Environment:
        assert isinstance(connector_of("polar", environment), PolarConnector)
    assert isinstance(POLAR, TakesHooks)
    assert isinstance(POLAR, Revokes)
