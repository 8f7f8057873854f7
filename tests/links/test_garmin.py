"""Garmin over HTTP: uploads, older days that are asked for, what is not shared, its pings, and the end of a grant."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Any

import orjson
import pytest
import time_machine
from pytest_django import Settings

from aggregation.catalogue import SERIES_BY_SLUG
from aggregation.store.checking import Ingestion, sample_reasons, summary_reason
from healthsvc.kernel.principal import Environment
from links.connectors.failures import FailureKind, ProviderFailure
from links.connectors.garmin.catalogue import SUMMARIES
from links.connectors.garmin.client import GarminConnector
from links.connectors.hooks import ApplicationKeys, HookCall, HookRefused, HookSecrets, Notice
from links.connectors.registry import connector_of
from links.connectors.wire import Access
from links.constants import SIMULATOR_CLIENT_ID, SIMULATOR_CLIENT_SECRET
from tests.links.payloads import DATA
from tests.links.simulators import Simulator, call
from tests.links.stub_server import StubServer, stub_running

GARMIN = GarminConnector()
NOW = datetime(2026, 11, 15, 12, 20, tzinfo=UTC)
TODAY = NOW.date()
MONTH = (TODAY - timedelta(days=30), TODAY + timedelta(days=1))
DAYS = (TODAY - timedelta(days=3), TODAY + timedelta(days=1))
JSON = {"Content-Type": "application/json"}
SECRETS = HookSecrets(verify_token="", client_secret="unused")
USER = "d3315b1072421d0dd7c8f6b8e1de4df8"


@pytest.fixture(autouse=True)
def _present() -> Iterator[None]:
    with time_machine.travel(NOW, tick=False):
        yield


def access_of(simulator: Simulator, account: str = "ada@example.com") -> Access:
    """An access to a simulated user, at the test's own time."""
    call("POST", f"{simulator.url}/_control/clock", orjson.dumps({"now": NOW.isoformat()}).decode(), JSON)
    form = f"client_id={SIMULATOR_CLIENT_ID}&client_secret={SIMULATOR_CLIENT_SECRET}&account={account}&scope="
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    status, _, body = call("POST", f"{simulator.url}/garmin/demo/account", form, headers)
    assert status == 200, body
    return Access(f"{simulator.url}/garmin", str(orjson.loads(body)["access_token"]), frozenset())


def keys_of(simulator: Simulator) -> ApplicationKeys:
    return ApplicationKeys(SIMULATOR_CLIENT_ID, SIMULATOR_CLIENT_SECRET, f"{simulator.url}/garmin")


def known(pulled: Any) -> dict[str, set[Any]]:
    """What a pull told, by what it is known by."""
    return {
        "summaries": {(one.resource, one.external_id) for one in pulled.summaries},
        "samples": {(one.resource, at) for one in pulled.series for at in one.samples.start_us.tolist()},
    }


@pytest.mark.slow
@pytest.mark.parametrize("account", ["ada@example.com", "c@x.y"])
def test_a_month_comes_whole_and_once(simulator: Simulator, account: str) -> None:
    access = access_of(simulator, account)
    nights: set[str] = set()
    for resource in SUMMARIES:
        pulled = GARMIN.pull(access, resource, *MONTH)
        assert pulled.refusals == (), resource
        assert all(summary_reason(one, Ingestion()) is None for one in pulled.summaries)
        assert len(known(pulled)["summaries"]) == len(pulled.summaries)
        for batch in pulled.series:
            assert batch.resource == resource
            assert sample_reasons(SERIES_BY_SLUG[resource], batch.samples, Ingestion()) == []
            assert len(set(batch.samples.start_us.tolist())) == len(batch.samples) > 5
        if resource == "activity":
            days = {one.calendar_date for one in pulled.summaries}
            assert days >= {MONTH[0] + timedelta(days=step) for step in range(1, 31)}
        if resource == "sleep":
            nights = {one.external_id for one in pulled.summaries}
            assert len(nights) >= 30
        if resource == "sleep_cycle":
            assert {one.fields["sleep_external_id"] for one in pulled.summaries if one.resource == resource} == nights
            assert {one.external_id for one in pulled.summaries if one.resource == "sleep"} == nights
        if resource in ("workouts", "body"):
            assert len(pulled.summaries) > 5
    # The second time is a duplicate to Garmin, and gives the same.
    assert known(GARMIN.pull(access, "activity", *MONTH)) == known(GARMIN.pull(access, "activity", *MONTH))


def test_what_a_day_told_agrees_with_its_quarters(simulator: Simulator) -> None:
    access = access_of(simulator)
    days = {one.calendar_date: one for one in GARMIN.pull(access, "activity", *MONTH).summaries}
    (steps,) = GARMIN.pull(access, "steps", *MONTH).series
    on = TODAY - timedelta(days=9)
    offset = days[on].timezone_offset_seconds
    assert offset is not None
    first = int(datetime(on.year, on.month, on.day, tzinfo=UTC).timestamp()) - offset
    told = zip(steps.samples.start_us.tolist(), steps.samples.values.tolist(), strict=True)
    assert sum(value for at, value in told if first <= at // 1_000_000 < first + 86_400) == days[on].fields["steps"]


def test_the_last_days_ask_for_uploads_alone(simulator: Simulator) -> None:
    access = access_of(simulator)
    days = {one.calendar_date for one in GARMIN.pull(access, "activity", *DAYS).summaries}
    assert {TODAY - timedelta(days=step) for step in range(4)} <= days
    assert simulator.count("garmin", "/garmin/dailies") == 4
    assert simulator.count("garmin", "/garmin/backfill/dailies") == 0
    assert simulator.count("garmin", "/garmin/user/permissions") == 0


@pytest.mark.parametrize("resource", ["activity", "sleep", "heartrate", "workouts", "stress_level"])
def test_windows_that_touch_tell_the_same_as_one(simulator: Simulator, resource: str) -> None:
    access = access_of(simulator)
    whole = GARMIN.pull(access, resource, TODAY - timedelta(days=5), TODAY)
    parts = [
        GARMIN.pull(access, resource, TODAY - timedelta(days=back), TODAY - timedelta(days=back - 2)) for back in (5, 2)
    ]
    together = [known(one) for one in parts]
    for name, found in known(whole).items():
        assert together[0][name] | together[1][name] == found


def test_older_days_are_asked_for_and_come_as_uploads_of_today(simulator: Simulator) -> None:
    access, old = access_of(simulator), (TODAY - timedelta(days=60), TODAY - timedelta(days=50))
    assert GARMIN.pull(access, "sleep", *old).summaries == ()
    assert simulator.count("garmin", "/garmin/backfill/sleeps") == 1
    assert simulator.count("garmin", "/garmin/sleeps") == 0
    came = {one.calendar_date for one in GARMIN.pull(access, "sleep", TODAY, TODAY).summaries}
    assert {old[0] + timedelta(days=step) for step in range(1, 11)} <= came


def test_activities_are_asked_for_by_thirty_days(simulator: Simulator) -> None:
    access = access_of(simulator)
    GARMIN.pull(access, "workouts", TODAY - timedelta(days=89), TODAY)
    assert simulator.count("garmin", "/garmin/backfill/activities") == 3
    GARMIN.pull(access, "hrv", TODAY - timedelta(days=89), TODAY)
    assert simulator.count("garmin", "/garmin/backfill/hrv") == 1


def test_who_shares_no_history_has_what_comes_from_now_on(simulator: Simulator) -> None:
    access = access_of(simulator, "no-history@example.com")
    days = {one.calendar_date for one in GARMIN.pull(access, "activity", *MONTH).summaries}
    assert min(days) >= TODAY - timedelta(days=8)
    assert simulator.count("garmin", "/garmin/backfill/dailies") == 0


def test_what_is_not_shared_is_a_missing_scope(simulator: Simulator) -> None:
    access = access_of(simulator, "no-health@example.com")
    with pytest.raises(ProviderFailure) as failed:
        GARMIN.pull(access, "sleep", *DAYS)
    assert failed.value.kind is FailureKind.SCOPE_MISSING
    assert GARMIN.pull(access, "workouts", *MONTH).summaries


@pytest.mark.parametrize("path", ["/dailies", "/user/permissions", "/backfill"])
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("http_429", FailureKind.RATE_LIMITED),
        ("http_500", FailureKind.UNAVAILABLE),
        ("token_dead", FailureKind.TOKEN_REJECTED),
    ],
)
def test_failures_are_told_by_kind(simulator: Simulator, path: str, fault: str, kind: FailureKind) -> None:
    access = access_of(simulator)
    simulator.fault("garmin", fault, path)
    with pytest.raises(ProviderFailure) as failed:
        GARMIN.pull(access, "activity", *MONTH)
    assert failed.value.kind is kind


def test_an_answer_cut_short_is_tried_again(simulator: Simulator) -> None:
    access = access_of(simulator)
    simulator.fault("garmin", "truncated_json", "/dailies", skip=1)
    with pytest.raises(ProviderFailure) as failed:
        GARMIN.pull(access, "activity", *DAYS)
    assert failed.value.kind is FailureKind.TRANSPORT


def test_the_user_s_id_and_the_end_of_a_grant(simulator: Simulator) -> None:
    access, keys = access_of(simulator), keys_of(simulator)
    assert len(GARMIN.account_id(access)) == 32
    GARMIN.revoke(keys, access, refresh_token="", external_user_id="")
    with pytest.raises(ProviderFailure) as failed:
        GARMIN.account_id(access)
    assert failed.value.kind is FailureKind.TOKEN_REJECTED
    GARMIN.revoke(keys, access, refresh_token="", external_user_id="")
    simulator.fault("garmin", "http_500", "/user/registration")
    with pytest.raises(ProviderFailure):
        GARMIN.revoke(keys, access, refresh_token="", external_user_id="")


def test_the_simulator_refuses_what_garmin_refuses(simulator: Simulator) -> None:
    access = access_of(simulator)
    at = int(NOW.timestamp())
    for path, query, status in (
        ("/dailies", {}, 400),
        ("/dailies", {"uploadStartTimeInSeconds": str(at - 86_401), "uploadEndTimeInSeconds": str(at)}, 400),
        ("/dailies", {"uploadStartTimeInSeconds": str(at), "uploadEndTimeInSeconds": str(at)}, 400),
        ("/backfill/hrv", {"summaryStartTimeInSeconds": "1700000000", "summaryEndTimeInSeconds": str(at)}, 400),
    ):
        assert access.call("GET", path, query=query).status == status
    asked = {"summaryStartTimeInSeconds": str(at - 86_400), "summaryEndTimeInSeconds": str(at)}
    assert [access.call("GET", "/backfill/hrv", query=asked).status for _ in range(2)] == [202, 409]


def told(document: Any) -> HookCall:
    return HookCall("POST", {}, {}, orjson.dumps(document))


def test_a_ping_names_the_days_of_the_uploads() -> None:
    answer = GARMIN.hook_answer(HookCall("POST", {}, {}, (DATA / "garmin/pings.json").read_bytes()), SECRETS)
    day = date(2026, 3, 8)
    assert answer.notices == (
        Notice(USER, resources=("activity", "heartrate", "respiratory_rate"), start_on=day, end_on=day),
        Notice(USER, resources=("sleep", "sleep_cycle"), start_on=date(2026, 3, 7), end_on=day),
    )
    assert (answer.status, GARMIN.hook_answer(HookCall("GET", {}, {}, b""), SECRETS).notices) == (200, ())


@pytest.mark.parametrize(
    "entry",
    [
        {"summaryId": "x", "steps": 7},
        {"callbackURL": "https://apis.garmin.com/wellness-api/rest/dailies?uploadStartTimeInSeconds=soon"},
        {"callbackURL": "http://[broken"},
        {"callbackURL": "https://x?uploadStartTimeInSeconds=1772949600&uploadEndTimeInSeconds=1772946000"},
        {"callbackURL": "https://x?uploadStartTimeInSeconds=99999999999&uploadEndTimeInSeconds=99999999999"},
    ],
)
def test_a_push_is_of_the_last_day(entry: dict[str, Any]) -> None:
    (notice,) = GARMIN.hook_answer(told({"hrv": [{"userId": USER, **entry}]}), SECRETS).notices
    assert notice == Notice(USER, resources=("hrv",), start_on=TODAY - timedelta(days=1), end_on=TODAY)


def test_who_is_gone_and_who_shares_something_else() -> None:
    both = {
        "deregistrations": [{"userId": USER}],
        "userPermissionsChange": [{"userId": "other", "permissions": [], "changeTimeInSeconds": 1}],
    }
    assert GARMIN.hook_answer(told(both), SECRETS).notices == (Notice(USER, deregistered=True), Notice("other"))


@pytest.mark.parametrize(
    "document",
    [{}, {"dailies": {}}, {"dailies": [7, {"userId": 7}, {"userId": ""}]}, {"moonPhases": [{"userId": "x"}]}],
)
def test_a_notification_that_means_nothing_to_us_does_nothing(document: Any) -> None:
    assert GARMIN.hook_answer(told(document), SECRETS).notices == ()


@pytest.mark.parametrize("body", [b"", b"[]", b"no json"])
def test_what_is_no_notification_is_refused(body: bytes) -> None:
    with pytest.raises(HookRefused):
        GARMIN.hook_answer(HookCall("POST", {}, {}, body), SECRETS)


def notified(simulator: Simulator, **event: Any) -> tuple[Notice, ...]:
    """What the simulator would send of an event, as it is read."""
    subscription = {"slug": "garmin", "client_id": SIMULATOR_CLIENT_ID, "callback_url": "http://localhost/hook"}
    call("POST", f"{simulator.url}/_control/subscriptions", orjson.dumps(subscription).decode(), JSON)
    asked = {"slug": "garmin", "account": "ada@example.com", "deliver": False, **event}
    _, _, body = call("POST", f"{simulator.url}/_control/notify", orjson.dumps(asked).decode(), JSON)
    (request,) = orjson.loads(body)["requests"]
    assert request["headers"]["garmin-client-id"] == SIMULATOR_CLIENT_ID
    return GARMIN.hook_answer(HookCall("POST", {}, {}, request["body"].encode()), SECRETS).notices


def test_the_simulator_s_notices_are_taken(simulator: Simulator) -> None:
    user = GARMIN.account_id(access_of(simulator))
    sleeps = Notice(user, resources=("sleep", "sleep_cycle"), start_on=TODAY, end_on=TODAY)
    assert notified(simulator, resource="sleeps") == (sleeps,)
    breaths = Notice(user, resources=("respiratory_rate",), start_on=TODAY, end_on=TODAY)
    assert notified(simulator, resource="respiration") == (breaths,)
    assert notified(simulator, resource="userPermissionsChange") == (Notice(user),)
    assert notified(simulator, kind="deregistered") == (Notice(user, deregistered=True),)


def test_older_data_are_told_by_a_ping(simulator: Simulator, settings: Settings) -> None:
    with stub_running(lambda asked: (200, b"")) as stub:
        settings.LOOPBACK_ORIGINS = [simulator.url, stub.url]
        access = access_of(simulator)
        subscription = {"slug": "garmin", "client_id": SIMULATOR_CLIENT_ID, "callback_url": f"{stub.url}/hook"}
        call("POST", f"{simulator.url}/_control/subscriptions", orjson.dumps(subscription).decode(), JSON)
        GARMIN.pull(access, "sleep", TODAY - timedelta(days=60), TODAY - timedelta(days=50))
        (asked,) = stub.asked
    (notice,) = GARMIN.hook_answer(HookCall("POST", {}, {}, asked.body), SECRETS).notices
    assert notice.resources == ("sleep", "sleep_cycle")
    assert GARMIN.pull(access, "sleep", notice.start_on or TODAY, notice.end_on or TODAY).summaries


@pytest.fixture
def vendor(settings: Settings) -> Iterator[StubServer]:
    """A vendor that answers as a test says."""
    with stub_running(lambda asked: (500, b"")) as stub:
        settings.LOOPBACK_ORIGINS = [stub.url]
        yield stub


def test_answers_of_another_shape(vendor: StubServer) -> None:
    access = Access(vendor.url, "token", frozenset())
    vendor.answer = lambda asked: (200, b'{"dailies": []}')
    with pytest.raises(ProviderFailure) as failed:
        GARMIN.pull(access, "activity", *DAYS)
    assert failed.value.kind is FailureKind.TRANSPORT
    vendor.answer = lambda asked: (200, b'{"userId": 7}')
    assert GARMIN.account_id(access) == ""
    with pytest.raises(ProviderFailure) as failed:
        GARMIN.pull(access, "horoscope", *DAYS)
    assert failed.value.kind is FailureKind.REFUSED


def test_no_span_of_uploads_is_longer_than_a_day_or_to_come(vendor: StubServer) -> None:
    vendor.answer = lambda asked: (200, b"[]")
    GARMIN.pull(Access(vendor.url, "token", frozenset()), "activity", *DAYS)
    spans = [asked.path.partition("?")[2] for asked in vendor.asked]
    first = int(datetime(2026, 11, 12, tzinfo=UTC).timestamp())
    ends = [*range(first, first + 4 * 86_400, 86_400), int(NOW.timestamp()) + 1]
    assert spans == [f"uploadStartTimeInSeconds={start}&uploadEndTimeInSeconds={end}" for start, end in pairwise(ends)]


def test_sandbox_and_production_have_the_connector() -> None:
    for environment in Environment:
        assert isinstance(connector_of("garmin", environment), GarminConnector)
