"""Wahoo over HTTP: pages, files and where they may be, days, its notices, ten tokens, and the end of a grant."""

from collections.abc import Iterator
from datetime import UTC, date, timedelta
from typing import Any

import numpy as np
import orjson
import pytest
from pytest_django import Settings

from aggregation.records import Refusal, SummaryRecord
from aggregation.store.checking import Ingestion, summary_reason
from healthsvc.kernel import clock
from healthsvc.kernel.http import HttpReply
from healthsvc.kernel.principal import Environment
from links.connectors.failures import FailureKind, ProviderFailure
from links.connectors.hooks import ApplicationKeys, HookCall, HookRefused, HookSecrets, Notice
from links.connectors.registry import connector_of
from links.connectors.wahoo.client import WahooConnector
from links.connectors.wahoo.limits import wait_seconds
from links.connectors.wire import Access
from links.constants import SIMULATOR_CLIENT_ID, SIMULATOR_CLIENT_SECRET
from tests.links.fit_files import fit_file
from tests.links.payloads import DATA, mapping, rows
from tests.links.simulators import Person, Simulator, call
from tests.links.stub_server import Asked, StubServer, stub_running

SCOPES = ["user_read", "workouts_read", "offline_data"]
WAHOO = WahooConnector()
MONTH = (date(2026, 10, 1), date(2026, 10, 31))


def access_of(simulator: Simulator, account: str = "ada@example.com", scopes: list[str] = SCOPES) -> Access:
    """An access to a simulated user."""
    form = f"client_id={SIMULATOR_CLIENT_ID}&client_secret={SIMULATOR_CLIENT_SECRET}&account={account}"
    form += "&scope=" + "+".join(scopes)
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    status, _, body = call("POST", f"{simulator.url}/wahoo/demo/account", form, headers)
    assert status == 200, body
    return Access(f"{simulator.url}/wahoo", str(orjson.loads(body)["access_token"]), frozenset(scopes))


def keys_of(simulator: Simulator) -> ApplicationKeys:
    return ApplicationKeys(SIMULATOR_CLIENT_ID, SIMULATOR_CLIENT_SECRET, f"{simulator.url}/wahoo")


def test_a_month_comes_whole_and_once(simulator: Simulator) -> None:
    access = access_of(simulator)
    pulled = WAHOO.pull(access, "workouts", *MONTH)
    assert pulled.refusals == ()
    assert pulled.streams == ()
    assert all(summary_reason(one, Ingestion()) is None for one in pulled.summaries)
    assert len({one.external_id for one in pulled.summaries}) == len(pulled.summaries) > 5
    assert {MONTH[0] <= one.starts_at.date() <= MONTH[1] for one in pulled.summaries if one.starts_at} == {True}
    recorded = [one for one in pulled.summaries if one.fields.get("max_hr")]
    assert 0 < len(recorded) < len(pulled.summaries)
    # Where Wahoo names no zone, the file tells the offset.
    assert {one.timezone_offset_seconds is None for one in recorded} == {False}
    assert pulled.time_zone is not None


def test_streams_come_with_the_workouts_they_belong_to(simulator: Simulator) -> None:
    access = access_of(simulator)
    workouts = {one.external_id: one for one in WAHOO.pull(access, "workouts", *MONTH).summaries}
    pulled = WAHOO.pull(access, "workout_stream", *MONTH)
    assert pulled.refusals == ()
    assert {one.workout for one in pulled.streams} == {one.external_id for one in pulled.summaries}
    assert {one.external_id: one for one in pulled.summaries}.items() <= workouts.items()
    for stream in pulled.streams:
        workout = workouts[stream.workout]
        assert workout.starts_at is not None
        assert workout.ends_at is not None
        assert stream.time_us[0] == int(workout.starts_at.timestamp()) * 1_000_000
        assert stream.time_us[-1] == int(workout.ends_at.timestamp()) * 1_000_000
        assert int(np.nanmax(stream.channels["heartrate"])) == workout.fields["max_hr"]


@pytest.mark.parametrize("account", ["ada@example.com", "c@x.y", "eve@example.com"])
def test_windows_that_touch_tell_the_same_as_one(simulator: Simulator, account: str) -> None:
    # Both changes of clocks lie within.
    access, first, days = access_of(simulator, account), date(2026, 10, 19), 21
    whole = WAHOO.pull(access, "workouts", first, first + timedelta(days=days - 1)).summaries
    parts = [
        one
        for start in range(0, days, 7)
        for one in WAHOO.pull(
            access, "workouts", first + timedelta(days=start), first + timedelta(days=start + 6)
        ).summaries
    ]
    assert {one.external_id: one for one in parts} == {one.external_id: one for one in whole}
    assert len(parts) == len(whole)


def test_what_is_planned_is_no_workout(simulator: Simulator) -> None:
    today = clock.now().date()
    pulled = WAHOO.pull(access_of(simulator), "workouts", today, today + timedelta(days=2))
    assert pulled.refusals == ()
    assert all(one.ends_at is not None and one.ends_at <= clock.now() for one in pulled.summaries)


def test_the_user_and_their_number(simulator: Simulator) -> None:
    assert WAHOO.account_id(access_of(simulator)).isdecimal()
    assert WAHOO.account_id(access_of(simulator, scopes=["workouts_read"])) == ""


def test_without_the_scope_nothing_is_read(simulator: Simulator) -> None:
    with pytest.raises(ProviderFailure) as failed:
        WAHOO.pull(access_of(simulator, scopes=["user_read"]), "workouts", *MONTH)
    assert failed.value.kind is FailureKind.SCOPE_MISSING


@pytest.mark.parametrize("path", ["/v1/workouts", "/files"])
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("http_429", FailureKind.RATE_LIMITED),
        ("http_500", FailureKind.UNAVAILABLE),
    ],
)
def test_failures_are_told_by_kind(simulator: Simulator, path: str, fault: str, kind: FailureKind) -> None:
    access = access_of(simulator)
    simulator.fault("wahoo", fault, path, skip=1)
    with pytest.raises(ProviderFailure) as failed:
        WAHOO.pull(access, "workouts", date(2026, 6, 1), MONTH[1])
    assert failed.value.kind is kind


def test_an_answer_cut_short_and_a_dead_token(simulator: Simulator) -> None:
    access = access_of(simulator)
    simulator.fault("wahoo", "truncated_json", "/v1/workouts")
    with pytest.raises(ProviderFailure) as failed:
        WAHOO.pull(access, "workouts", *MONTH)
    assert failed.value.kind is FailureKind.TRANSPORT
    simulator.fault("wahoo", "token_dead", "/v1/workouts")
    with pytest.raises(ProviderFailure) as failed:
        WAHOO.pull(access, "workouts", *MONTH)
    assert failed.value.kind is FailureKind.TOKEN_REJECTED


def test_a_file_cut_short_costs_its_own_stream_alone(simulator: Simulator) -> None:
    access = access_of(simulator)
    whole = WAHOO.pull(access, "workout_stream", *MONTH)
    simulator.fault("wahoo", "truncated_json", "/files")
    broken = WAHOO.pull(access, "workout_stream", *MONTH)
    assert broken.refusals == (Refusal("file", "fit_truncated"),)
    assert len(broken.streams) == len(whole.streams) - 1
    simulator.fault("wahoo", "truncated_json", "/files")
    assert len(WAHOO.pull(access, "workouts", *MONTH).summaries) > len(whole.streams)


def test_a_grant_is_ended_and_ending_it_again_is_no_error(simulator: Simulator) -> None:
    access, keys = access_of(simulator), keys_of(simulator)
    WAHOO.revoke(keys, access, refresh_token="", external_user_id="")
    with pytest.raises(ProviderFailure) as failed:
        WAHOO.pull(access, "workouts", *MONTH)
    assert failed.value.kind is FailureKind.TOKEN_REJECTED
    WAHOO.revoke(keys, access, refresh_token="", external_user_id="")
    simulator.fault("wahoo", "http_500", "/v1/permissions")
    with pytest.raises(ProviderFailure):
        WAHOO.revoke(keys, access, refresh_token="", external_user_id="")


def tokens_asked(simulator: Simulator, **fields: str) -> tuple[int, dict[str, Any]]:
    form = {"client_id": SIMULATOR_CLIENT_ID, "client_secret": SIMULATOR_CLIENT_SECRET, **fields}
    body = "&".join(f"{name}={value}" for name, value in form.items())
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    status, _, text = call("POST", f"{simulator.url}/wahoo/oauth/token", body, headers)
    return status, orjson.loads(text)


def logged_in(simulator: Simulator) -> tuple[int, dict[str, Any]]:
    back = "http://localhost/back"
    asked = f"{simulator.url}/wahoo/oauth/authorize?response_type=code&client_id={SIMULATOR_CLIENT_ID}"
    location = Person().decide(f"{asked}&redirect_uri={back}&scope=user_read+workouts_read+offline_data&state=s")
    code = location.partition("code=")[2].partition("&")[0]
    return tokens_asked(simulator, grant_type="authorization_code", code=code, redirect_uri=back)


@pytest.mark.slow
def test_wahoo_lets_ten_tokens_live(simulator: Simulator) -> None:
    first = logged_in(simulator)[1]
    for _ in range(9):
        assert logged_in(simulator)[0] == 200
    status, refused = logged_in(simulator)
    assert (status, refused["error"]) == (400, "invalid_grant")
    # A refresh ends the token before it, and so is no eleventh.
    status, renewed = tokens_asked(simulator, grant_type="refresh_token", refresh_token=first["refresh_token"])
    assert status == 200
    access = Access(f"{simulator.url}/wahoo", renewed["access_token"], frozenset(SCOPES))
    old = Access(access.api_url, first["access_token"], access.scopes)
    with pytest.raises(ProviderFailure):
        WAHOO.account_id(old)
    WAHOO.revoke(keys_of(simulator), access, refresh_token="", external_user_id="")
    assert logged_in(simulator)[0] == 200


EVENT = orjson.loads((DATA / "wahoo/event.json").read_bytes())
SECRETS = HookSecrets(verify_token="chosen-for-this-address", client_secret="unused")


def told(event: Any) -> HookCall:
    return HookCall("POST", {}, {}, orjson.dumps(event))


def test_a_notice_names_the_day_to_read() -> None:
    answer = WAHOO.hook_answer(told(EVENT), SECRETS)
    day = date(2026, 3, 7)
    resources = ("workouts", "workout_stream")
    assert answer.notices == (Notice("60462", resources=resources, start_on=day, end_on=day),)
    undated = {**EVENT, "workout_summary": None}
    assert WAHOO.hook_answer(told(undated), SECRETS).notices == (Notice("60462", resources=resources),)


@pytest.mark.parametrize(
    "changes", [{"event_type": "plan"}, {"user": None}, {"user": {"id": "60462"}}, {"user": {"id": True}}]
)
def test_a_notice_that_means_nothing_to_us_does_nothing(changes: dict[str, Any]) -> None:
    assert WAHOO.hook_answer(told({**EVENT, **changes}), SECRETS).notices == ()


@pytest.mark.parametrize(
    "call_made",
    [
        told({**EVENT, "webhook_token": "another"}),
        told({**EVENT, "webhook_token": None}),
        told({**EVENT, "webhook_token": ""}),
        told({}),
        HookCall("POST", {}, {}, b"no json"),
    ],
)
def test_what_is_not_wahoo_s_is_refused(call_made: HookCall) -> None:
    with pytest.raises(HookRefused):
        WAHOO.hook_answer(call_made, SECRETS)


def test_the_simulator_s_notice_is_taken(simulator: Simulator) -> None:
    access = access_of(simulator)
    (workout, *_) = WAHOO.pull(access, "workouts", *MONTH).summaries
    json = {"Content-Type": "application/json"}
    subscription = {"slug": "wahoo", "client_id": SIMULATOR_CLIENT_ID, "callback_url": "http://localhost/hook"}
    subscription["verify_token"] = SECRETS.verify_token
    assert call("POST", f"{simulator.url}/_control/subscriptions", orjson.dumps(subscription).decode(), json)[0] == 201
    event = {"slug": "wahoo", "account": "ada@example.com", "deliver": False, "day": workout.calendar_date.isoformat()}
    _, _, body = call("POST", f"{simulator.url}/_control/notify", orjson.dumps(event).decode(), json)
    (request,) = orjson.loads(body)["requests"]
    (notice,) = WAHOO.hook_answer(HookCall("POST", {}, {}, request["body"].encode()), SECRETS).notices
    assert notice.external_user_id == WAHOO.account_id(access)
    assert workout.starts_at is not None
    assert notice.start_on == workout.starts_at.astimezone(UTC).date()


PLANNED, GYM, RIDE = rows("wahoo/workouts.json", "workouts")
SPAN = (date(2026, 3, 5), date(2026, 3, 11))


@pytest.fixture
def vendor(settings: Settings) -> Iterator[StubServer]:
    """A vendor that answers as a test says."""
    with stub_running(lambda asked: (500, b"")) as stub:
        settings.LOOPBACK_ORIGINS = [stub.url]
        yield stub


def ride_at(address: str) -> Any:
    return {**mapping(RIDE), "workout_summary": {**mapping(mapping(RIDE)["workout_summary"]), "file": {"url": address}}}


def listing(vendor: StubServer, address: str, file: tuple[int, bytes]) -> None:
    def answer(asked: Asked) -> tuple[int, bytes]:
        if asked.path.startswith("/v1/workouts"):
            known = [PLANNED, ride_at(address)] if "page=1&" in asked.path else []
            return 200, orjson.dumps({"workouts": known})
        return file

    vendor.answer = answer


def the_ride(pulled: Any) -> SummaryRecord:
    (ride,) = pulled.summaries
    assert isinstance(ride, SummaryRecord)
    return ride


def test_the_token_goes_to_the_api_s_own_host(vendor: StubServer) -> None:
    listing(vendor, f"{vendor.url}/ride.fit", (200, fit_file()))
    pulled = WAHOO.pull(Access(vendor.url, "token", frozenset()), "workout_stream", *SPAN)
    assert (len(pulled.streams), the_ride(pulled).fields["max_hr"]) == (1, 172)
    assert vendor.asked[-1].headers["authorization"] == "Bearer token"


@pytest.mark.parametrize(
    "address",
    [
        "http://cdn.wahooligan.com/ride.fit",
        "https://cdn.wahooligan.com:8443/ride.fit",
        "https://cdn.wahooligan.com.example.org/ride.fit",
        "https://user:secret@cdn.wahooligan.com/ride.fit",
        "http://127.0.0.1:1/ride.fit",
        "http://169.254.169.254/latest/meta-data",
        "file:///etc/passwd",
        "ride.fit",
    ],
)
def test_files_elsewhere_are_left_there(vendor: StubServer, address: str) -> None:
    listing(vendor, address, (200, fit_file()))
    pulled = WAHOO.pull(Access(vendor.url, "token", frozenset()), "workouts", *SPAN)
    assert pulled.refusals == (Refusal("file", "file_elsewhere"),)
    assert "max_hr" not in the_ride(pulled).fields
    assert {asked.path.partition("?")[0] for asked in vendor.asked} == {"/v1/workouts"}


@pytest.mark.parametrize(
    ("file", "refusals"),
    [
        ((404, b""), ()),
        ((410, b""), ()),
        ((302, b""), (Refusal("file", "file_refused"),)),
        ((400, b""), (Refusal("file", "file_refused"),)),
        ((200, b"<Error/>"), (Refusal("file", "fit_not_a_file"),)),
        ((200, fit_file(kind=6)), (Refusal("file", "fit_no_activity"),)),
        ((200, b"\x00" * 20_000_001), (Refusal("file", "fit_too_large"),)),
    ],
)
def test_a_file_that_cannot_be_had_leaves_the_workout(
    vendor: StubServer, file: tuple[int, bytes], refusals: tuple[Refusal, ...]
) -> None:
    listing(vendor, f"{vendor.url}/ride.fit", file)
    pulled = WAHOO.pull(Access(vendor.url, "token", frozenset()), "workouts", *SPAN)
    assert pulled.refusals == refusals
    assert the_ride(pulled).fields["average_watts"] == 182.3


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"X-RateLimit-Reset": "300"}, 300),
        ({"X-RateLimit-Reset": "0"}, 1),
        ({"X-RateLimit-Reset": "999999"}, 86_400),
        ({"X-RateLimit-Reset": "soon"}, 60),
        ({"X-RateLimit-Reset": "300", "Retry-After": "7"}, 7),
        ({}, 60),
    ],
)
def test_a_limit_waits_as_long_as_its_header_says(headers: dict[str, str], expected: int) -> None:
    assert wait_seconds(HttpReply(429, headers, b"")) == expected


def test_a_listing_that_never_ends_is_given_up(vendor: StubServer) -> None:
    vendor.answer = lambda asked: (200, orjson.dumps({"workouts": [PLANNED]}))
    with pytest.raises(ProviderFailure) as failed:
        WAHOO.pull(Access(vendor.url, "token", frozenset()), "workouts", *SPAN)
    assert failed.value.kind is FailureKind.REFUSED
    vendor.answer = lambda asked: (200, b'{"workouts": null}')
    with pytest.raises(ProviderFailure) as failed:
        WAHOO.pull(Access(vendor.url, "token", frozenset()), "workouts", *SPAN)
    assert failed.value.kind is FailureKind.TRANSPORT


def test_sandbox_and_production_have_the_connector() -> None:
    for environment in Environment:
        assert isinstance(connector_of("wahoo", environment), WahooConnector)
