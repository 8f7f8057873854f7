"""Ultrahuman over HTTP: a month, a request a day, partial grants, and its failures."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import orjson
import pytest
from pytest_django import Settings

from aggregation.catalogue import SERIES_BY_SLUG
from aggregation.store.checking import Ingestion, sample_reasons, summary_reason
from healthsvc.kernel import clock
from healthsvc.kernel.principal import Environment
from links.connectors.base import Pulled
from links.connectors.failures import FailureKind, ProviderFailure
from links.connectors.hooks import Revokes, TakesHooks
from links.connectors.registry import connector_of
from links.connectors.ultrahuman.client import UltrahumanConnector
from links.connectors.wire import Access
from links.constants import SIMULATOR_CLIENT_ID, SIMULATOR_CLIENT_SECRET
from simulator.day import Day, day_of
from simulator.person import person_of
from tests.links.simulators import Simulator, call
from tests.links.stub_server import stub_running

ULTRAHUMAN = UltrahumanConnector()
#: American and European clocks go back within it.
FIRST, LAST = date(2026, 10, 10), date(2026, 11, 8)
SERIES = ("heartrate", "hrv", "body_temperature", "steps", "glucose")
SUMMARIES = ("sleep", "sleep_cycle", "activity")
SCOPES = ("profile", "ring_data", "cgm_data")
#: In New York, in Helsinki.
PEOPLE = ("eve@example.com", "cy@example.com")


def access_of(simulator: Simulator, account: str = PEOPLE[0], scopes: tuple[str, ...] = SCOPES) -> Access:
    """An access to a simulated person."""
    form = f"client_id={SIMULATOR_CLIENT_ID}&client_secret={SIMULATOR_CLIENT_SECRET}&account={account}"
    form += "&scope=" + "+".join(scopes)
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    status, _, body = call("POST", f"{simulator.url}/ultrahuman/demo/account", form, headers)
    assert status == 200, body
    return Access(f"{simulator.url}/ultrahuman", str(orjson.loads(body)["access_token"]), frozenset(scopes))


def whole(access: Access, resource: str) -> list[Pulled]:
    """Every window of the month."""
    days = timedelta(days=ULTRAHUMAN.window_days[resource])
    found, start_on = [], FIRST
    while start_on <= LAST:
        found.append(ULTRAHUMAN.pull(access, resource, start_on, min(LAST, start_on + days - timedelta(days=1))))
        start_on += days
    return found


def rows_of(pulled: list[Pulled]) -> dict[int, tuple[float, int]]:
    """Values and offsets by their instants, each instant once."""
    listed: list[Any] = []
    for batch in (batch for one in pulled for batch in one.series):
        columns = batch.samples
        assert sample_reasons(SERIES_BY_SLUG[batch.resource], columns, Ingestion()) == []
        listed += zip(
            columns.start_us.tolist(),
            zip(columns.values.tolist(), columns.offset_seconds.tolist(), strict=True),
            strict=True,
        )
    found = dict(listed)
    assert len(found) == len(listed)
    return found


def days_of(account: str) -> list[Day]:
    person = person_of(f"ultrahuman:{account}")
    return [day_of(person, FIRST + timedelta(days=day)) for day in range((LAST - FIRST).days + 1)]


@pytest.mark.slow
@pytest.mark.parametrize("account", PEOPLE)
def test_a_month_comes_whole_and_once(simulator: Simulator, account: str) -> None:
    access, days = access_of(simulator, account), days_of(account)
    for resource in SUMMARIES:
        pulled = whole(access, resource)
        assert [one.refusals for one in pulled] == [()] * len(pulled)
        assert {one.time_zone for one in pulled} == {person_of(f"ultrahuman:{account}").zone}
        records = [one for window in pulled for one in window.summaries]
        assert all(summary_reason(one, Ingestion()) is None for one in records)
        assert [one.calendar_date for one in records if one.resource == resource] == [day.on for day in days]
    nights = [one for window in whole(access, "sleep") for one in window.summaries]
    for night, day in zip(nights, days, strict=True):
        assert night.starts_at == datetime.fromtimestamp(day.night.starts_at, UTC)
        assert (night.fields["duration"], night.fields["hr_resting"]) == (day.night.in_bed_seconds, min(day.night.bpm))
        assert night.fields["total"] == day.night.asleep_seconds
    beats = rows_of(whole(access, "heartrate"))
    worn = {slot.starts_at // 300: slot.bpm for day in days for slot in day.slots if slot.bpm is not None}
    assert {at_us // 300_000_000: value for at_us, (value, _) in beats.items()} == worn
    assert len({offset for _, offset in beats.values()}) == 2
    # A reading every five minutes of a month that has an hour more.
    assert len(rows_of(whole(access, "glucose"))) == 30 * 288 + 12
    steps = rows_of(whole(access, "steps"))
    worn_steps = sum(slot.steps for day in days for slot in day.slots if slot.bpm is not None)
    assert sum(value for value, _ in steps.values()) == worn_steps


@pytest.mark.parametrize("resource", [*SERIES, *SUMMARIES])
def test_windows_that_touch_tell_the_same_as_one(simulator: Simulator, resource: str) -> None:
    access, middle, days = access_of(simulator), date(2026, 11, 1), timedelta(days=2)
    longer = ULTRAHUMAN.pull(access, resource, middle - days, middle + days)
    halves = [
        ULTRAHUMAN.pull(access, resource, middle - days, middle),
        ULTRAHUMAN.pull(access, resource, middle + timedelta(days=1), middle + days),
    ]
    assert rows_of(halves) == rows_of([longer])
    found = [{(one.resource, one.external_id): one for one in pulled.summaries} for pulled in (*halves, longer)]
    assert found[0] | found[1] == found[2]
    assert not found[0].keys() & found[1].keys()


def test_a_day_costs_a_request(simulator: Simulator) -> None:
    access = access_of(simulator)
    ULTRAHUMAN.pull(access, "heartrate", FIRST, FIRST + timedelta(days=6))
    assert simulator.count("ultrahuman", "/ultrahuman/api/partners/v1/user_data/metrics") == 7


def test_the_present_is_told_as_far_as_it_has_come(simulator: Simulator) -> None:
    now = clock.now()
    pulled = ULTRAHUMAN.pull(access_of(simulator), "glucose", now.date() - timedelta(days=1), now.date())
    newest = max(rows_of([pulled])) / 1_000_000
    assert 0 <= now.timestamp() - newest < 900
    ahead = now.date() + timedelta(days=3)
    assert ULTRAHUMAN.pull(access_of(simulator), "glucose", ahead, ahead).series == ()


def test_who_shares_the_ring_alone_shares_no_glucose(simulator: Simulator) -> None:
    ring = access_of(simulator, scopes=("profile", "ring_data"))
    assert ULTRAHUMAN.pull(ring, "glucose", FIRST, FIRST).series == ()
    assert len(ULTRAHUMAN.pull(ring, "sleep", FIRST, FIRST).summaries) == 1
    sensor = access_of(simulator, scopes=("profile", "cgm_data"))
    assert ULTRAHUMAN.pull(sensor, "sleep", FIRST, FIRST).summaries == ()
    assert len(rows_of([ULTRAHUMAN.pull(sensor, "glucose", FIRST, FIRST)])) == 288
    with pytest.raises(ProviderFailure) as failed:
        ULTRAHUMAN.pull(access_of(simulator, scopes=("profile",)), "sleep", FIRST, FIRST)
    assert failed.value.kind is FailureKind.SCOPE_MISSING


def test_the_account(simulator: Simulator) -> None:
    assert ULTRAHUMAN.account_id(access_of(simulator)) == str(person_of(f"ultrahuman:{PEOPLE[0]}").user_id)
    assert ULTRAHUMAN.account_id(access_of(simulator, scopes=("ring_data",))) == ""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"data": {"user_id": "a7"}}', "a7"),
        (b'{"data": {"id": 7}}', "7"),
        (b'{"user_id": "user_123", "email": "a@example.com"}', "user_123"),
        (b'{"data": {"user_id": true}, "error": null}', ""),
    ],
)
def test_the_account_s_forms(settings: Settings, body: bytes, expected: str) -> None:
    with stub_running(lambda asked: (200, body)) as stub:
        settings.LOOPBACK_ORIGINS = [stub.url]
        assert ULTRAHUMAN.account_id(Access(stub.url, "token", frozenset(SCOPES))) == expected


@pytest.mark.parametrize("body", [b'{"data": null}', b'{"data": {"metrics": []}}', b'{"data": {"metrics": {"x": []}}}'])
def test_answers_of_no_documented_form(settings: Settings, body: bytes) -> None:
    with stub_running(lambda asked: (200, body)) as stub, pytest.raises(ProviderFailure) as failed:
        settings.LOOPBACK_ORIGINS = [stub.url]
        ULTRAHUMAN.pull(Access(stub.url, "token", frozenset(SCOPES)), "sleep", FIRST, FIRST)
    assert failed.value.kind is FailureKind.TRANSPORT


def test_another_day_in_an_answer_is_another_request_s(settings: Settings) -> None:
    body = b'{"data": {"metrics": {"2026-10-09": [{"type": "steps", "object": {"total": 9}}], "2026-10-10": []}}}'
    with stub_running(lambda asked: (200, body)) as stub:
        settings.LOOPBACK_ORIGINS = [stub.url]
        assert ULTRAHUMAN.pull(Access(stub.url, "token", frozenset(SCOPES)), "activity", FIRST, FIRST) == Pulled()


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("http_429", FailureKind.RATE_LIMITED),
        ("http_500", FailureKind.UNAVAILABLE),
        ("truncated_json", FailureKind.TRANSPORT),
        ("token_dead", FailureKind.TOKEN_REJECTED),
    ],
)
@pytest.mark.parametrize("resource", ["sleep", "glucose"])
def test_failures_are_told_by_kind(simulator: Simulator, fault: str, kind: FailureKind, resource: str) -> None:
    access = access_of(simulator)
    simulator.fault("ultrahuman", fault, "/api/partners", skip=2)
    with pytest.raises(ProviderFailure) as failed:
        ULTRAHUMAN.pull(access, resource, FIRST, FIRST + timedelta(days=6))
    assert failed.value.kind is kind


def test_nothing_else_is_pulled(simulator: Simulator) -> None:
    with pytest.raises(ProviderFailure) as failed:
        ULTRAHUMAN.pull(access_of(simulator), "workouts", FIRST, FIRST)
    assert failed.value.kind is FailureKind.REFUSED


def test_sandbox_and_production_have_the_connector() -> None:
    for environment in Environment:
        assert isinstance(connector_of("ultrahuman", environment), UltrahumanConnector)
    # Ultrahuman has neither notifications nor an address that ends a grant.
    assert not isinstance(ULTRAHUMAN, TakesHooks)
    assert not isinstance(ULTRAHUMAN, Revokes)
