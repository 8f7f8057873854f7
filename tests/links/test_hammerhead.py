"""Hammerhead: a list and its FIT files become workouts and courses; days, faults, notices and the end of a grant."""

import base64
import hashlib
import hmac
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta

import numpy as np
import orjson
import pytest
from pytest_django import Settings

from aggregation.records import DataSource, Refusal, SummaryRecord
from aggregation.store.checking import Ingestion, summary_reason
from healthsvc.kernel.principal import Environment
from healthsvc.kernel.typing import JSONValue
from links.connectors.failures import FailureKind, ProviderFailure
from links.connectors.fit.reader import activity_read
from links.connectors.hammerhead.client import HammerheadConnector
from links.connectors.hammerhead.convert import stream_from_file, workout_from_activity
from links.connectors.hooks import ApplicationKeys, HookCall, HookRefused, HookSecrets, Notice
from links.connectors.registry import connector_of
from links.connectors.wire import Access
from links.constants import SIMULATOR_CLIENT_ID, SIMULATOR_CLIENT_SECRET
from tests.links.fit_files import fit_file
from tests.links.payloads import DATA, changed, mapping, rows, without
from tests.links.simulators import Simulator, call
from tests.links.stub_server import Asked, StubServer, stub_running

HAMMERHEAD = HammerheadConnector()
RIDE, MINUTE = rows("hammerhead/activities.json", "data")
RIDE_ID = "192184.activity.06112a72-5f09-401f-a9a0-ef38d64e10e3"
COMPUTER = DataSource(provider="hammerhead", type="unknown")
FILE = activity_read(fit_file())
MONTH = (date(2026, 10, 1), date(2026, 10, 31))
SPAN = (date(2026, 3, 5), date(2026, 3, 11))
JSON = {"Content-Type": "application/json"}


def record(converted: SummaryRecord | Refusal) -> SummaryRecord:
    assert isinstance(converted, SummaryRecord), converted
    assert summary_reason(converted, Ingestion()) is None
    return converted


def test_a_ride() -> None:
    ride = record(workout_from_activity(RIDE, file=FILE))
    assert (ride.resource, ride.source, ride.external_id) == ("workouts", COMPUTER, RIDE_ID)
    assert (ride.calendar_date, ride.timezone_offset_seconds) == (date(2026, 3, 7), -8 * 3_600)
    assert ride.starts_at == datetime(2026, 3, 7, 13, 30, tzinfo=UTC)
    assert ride.ends_at == datetime(2026, 3, 7, 14, 30, 0, 500_000, tzinfo=UTC)
    assert dict(ride.fields) == {
        "title": "Mulholland before dawn",
        "time_start": "2026-03-07T13:30:00+00:00",
        "time_end": "2026-03-07T14:30:00.500000+00:00",
        "timezone_offset": -8 * 3_600,
        "sport": "mountain_biking",
        "average_hr": 141,
        "max_hr": 172,
        "calories": 640.0,
        "distance": 24_890.25,
        "moving_time": 3_500,
        "total_elevation_gain": 320.0,
        "elev_high": pytest.approx(402.4),
        "elev_low": pytest.approx(12.2),
        "average_speed": 6.914,
        "max_speed": 14.2,
        "average_watts": 182.0,
        "device_watts": 182.0,
        "max_watts": 611.0,
        "weighted_average_watts": 197.0,
        "steps": None,
        "provider_id": RIDE_ID,
    }
    assert ride.raw == RIDE


def test_the_course_belongs_to_the_ride_and_names_may_be_missing() -> None:
    stream = stream_from_file(FILE, RIDE)
    assert stream is not None
    assert (stream.workout, stream.source, len(stream.time_us)) == (RIDE_ID, COMPUTER, 3)
    assert record(workout_from_activity(MINUTE, file=FILE)).fields["title"] is None


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        (7, "not_an_object"),
        (without(RIDE, "id"), "missing_field:id"),
        (changed(RIDE, id="../../v1/user"), "wrong_type:id"),
        (changed(RIDE, id="a" * 201), "wrong_type:id"),
        (changed(RIDE, name=["x"]), "wrong_type:name"),
    ],
)
def test_malformed_activities_are_refused_with_a_reason(payload: JSONValue, expected: str) -> None:
    refused = workout_from_activity(payload, file=FILE)
    assert isinstance(refused, Refusal)
    assert refused.reason == expected


def access_of(simulator: Simulator, account: str = "ada@example.com") -> Access:
    """An access to a simulated rider, who logged in with a password."""
    body = orjson.dumps({"username": account, "password": "simulator", "region": ""}).decode()
    status, _, answer = call("POST", f"{simulator.url}/hammerhead/password/login", body, JSON)
    assert status == 200, answer
    return Access(f"{simulator.url}/hammerhead", str(orjson.loads(answer)["access_token"]), frozenset())


def keys_of(simulator: Simulator) -> ApplicationKeys:
    return ApplicationKeys(SIMULATOR_CLIENT_ID, SIMULATOR_CLIENT_SECRET, f"{simulator.url}/hammerhead")


@pytest.mark.parametrize("account", ["ada@example.com", "c@x.y"])
def test_a_month_comes_whole_and_once(simulator: Simulator, account: str) -> None:
    access = access_of(simulator, account)
    workouts = HAMMERHEAD.pull(access, "workouts", *MONTH)
    assert (workouts.refusals, workouts.streams) == ((), ())
    assert all(summary_reason(one, Ingestion()) is None for one in workouts.summaries)
    known = {one.external_id: one for one in workouts.summaries}
    assert len(known) == len(workouts.summaries) > 5
    streams = HAMMERHEAD.pull(access, "workout_stream", *MONTH)
    assert {one.external_id: one for one in streams.summaries} == known
    assert {one.workout for one in streams.streams} == set(known)
    for stream in streams.streams:
        workout = known[stream.workout]
        assert workout.starts_at is not None
        assert stream.time_us[0] == int(workout.starts_at.timestamp()) * 1_000_000
        assert int(np.nanmax(stream.channels["heartrate"])) == workout.fields["max_hr"]


def test_windows_that_touch_tell_the_same_as_one(simulator: Simulator) -> None:
    access, first = access_of(simulator), date(2026, 10, 19)
    whole = HAMMERHEAD.pull(access, "workouts", first, first + timedelta(days=20)).summaries
    parts = [
        one
        for start in (0, 7, 14)
        for one in HAMMERHEAD.pull(
            access, "workouts", first + timedelta(days=start), first + timedelta(days=start + 6)
        ).summaries
    ]
    assert {one.external_id: one for one in parts} == {one.external_id: one for one in whole}
    assert len(parts) == len(whole)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("http_429", FailureKind.RATE_LIMITED),
        ("http_500", FailureKind.UNAVAILABLE),
        ("token_dead", FailureKind.TOKEN_REJECTED),
        ("token_expired", FailureKind.TOKEN_REJECTED),
    ],
)
def test_failures_are_told_by_kind_in_the_midst_of_files(simulator: Simulator, fault: str, kind: FailureKind) -> None:
    access = access_of(simulator)
    simulator.fault("hammerhead", fault, "/v1/api", skip=2)
    with pytest.raises(ProviderFailure) as failed:
        HAMMERHEAD.pull(access, "workouts", *MONTH)
    assert failed.value.kind is kind


def test_a_list_cut_short_is_tried_again_and_a_file_cut_short_is_refused(simulator: Simulator) -> None:
    access = access_of(simulator)
    simulator.fault("hammerhead", "truncated_json", "/v1/api/activities")
    with pytest.raises(ProviderFailure) as failed:
        HAMMERHEAD.pull(access, "workouts", *MONTH)
    assert failed.value.kind is FailureKind.TRANSPORT
    simulator.fault("hammerhead", "truncated_json", "/v1/api/activities/")
    pulled = HAMMERHEAD.pull(access, "workouts", *MONTH)
    assert pulled.refusals == (Refusal("file", "fit_truncated"),)
    assert pulled.summaries


def test_a_grant_is_ended_and_ending_it_again_is_no_error(simulator: Simulator) -> None:
    access, keys = access_of(simulator), keys_of(simulator)
    HAMMERHEAD.revoke(keys, access, refresh_token="", external_user_id="")
    with pytest.raises(ProviderFailure) as failed:
        HAMMERHEAD.pull(access, "workouts", *MONTH)
    assert failed.value.kind is FailureKind.TOKEN_REJECTED
    HAMMERHEAD.revoke(keys, access, refresh_token="", external_user_id="")
    simulator.fault("hammerhead", "http_500", "/v1/auth")
    with pytest.raises(ProviderFailure):
        HAMMERHEAD.revoke(keys, access, refresh_token="", external_user_id="")


SECRETS = HookSecrets(verify_token="entered at the portal", client_secret="of the client")
EVENT = (DATA / "hammerhead/event.json").read_bytes()


def told(body: bytes = EVENT, key: str = SECRETS.verify_token, *, in_base64: bool = False) -> HookCall:
    digest = hmac.new(key.encode(), body, hashlib.sha256)
    signature = base64.b64encode(digest.digest()).decode() if in_base64 else digest.hexdigest()
    return HookCall("POST", {}, {"x-hmac-signature": signature}, body)


@pytest.mark.parametrize("call_made", [told(), told(in_base64=True), told(key=SECRETS.client_secret)])
def test_a_notice_names_the_rider(call_made: HookCall) -> None:
    notice = Notice("192184", resources=("workouts", "workout_stream"))
    assert HAMMERHEAD.hook_answer(call_made, SECRETS).notices == (notice,)


@pytest.mark.parametrize("body", [b"{}", b'{"userId": 192184}', b'{"userId": ""}'])
def test_a_notice_of_nobody_does_nothing(body: bytes) -> None:
    assert HAMMERHEAD.hook_answer(told(body), SECRETS).notices == ()


@pytest.mark.parametrize(
    "call_made",
    [
        told(key="another"),
        told(key=""),
        HookCall("POST", {}, {}, EVENT),
        HookCall("POST", {}, told().headers, EVENT + b" "),
        told(b"no json"),
    ],
)
def test_what_is_not_hammerhead_s_is_refused(call_made: HookCall) -> None:
    with pytest.raises(HookRefused):
        HAMMERHEAD.hook_answer(call_made, SECRETS)


def test_the_simulator_s_notice_is_taken(simulator: Simulator) -> None:
    access_of(simulator)
    subscription = {"slug": "hammerhead", "client_id": "password", "callback_url": "http://localhost/hook"}
    subscription["verify_token"] = SECRETS.verify_token
    call("POST", f"{simulator.url}/_control/subscriptions", orjson.dumps(subscription).decode(), JSON)
    event = {"slug": "hammerhead", "account": "ada@example.com", "deliver": False}
    _, _, body = call("POST", f"{simulator.url}/_control/notify", orjson.dumps(event).decode(), JSON)
    (request,) = orjson.loads(body)["requests"]
    headers = {name.lower(): text for name, text in request["headers"].items()}
    (notice,) = HAMMERHEAD.hook_answer(HookCall("POST", {}, headers, request["body"].encode()), SECRETS).notices
    assert notice.external_user_id.isdecimal()


@pytest.fixture
def vendor(settings: Settings) -> Iterator[StubServer]:
    """A vendor that answers as a test says."""
    with stub_running(lambda asked: (500, b"")) as stub:
        settings.LOOPBACK_ORIGINS = [stub.url]
        yield stub


def listing(pages: list[list[JSONValue]], file: tuple[int, bytes]) -> Callable[[Asked], tuple[int, bytes]]:
    def answer(asked: Asked) -> tuple[int, bytes]:
        if asked.path.partition("?")[0] != "/v1/api/activities":
            return file
        page = int(asked.path.rpartition("page=")[2])
        rows_of = pages[page - 1] if page <= len(pages) else []
        return 200, orjson.dumps({"totalPages": len(pages), "currentPage": page, "data": rows_of})

    return answer


def test_rows_that_move_between_pages_come_once_and_strange_ones_harm_nobody(vendor: StubServer) -> None:
    strange: list[JSONValue] = [changed(MINUTE, createdAt="yesterday"), changed(MINUTE, id=7), "ride"]
    vendor.answer = listing([[RIDE, *strange], [RIDE]], (200, fit_file()))
    pulled = HAMMERHEAD.pull(Access(vendor.url, "token", frozenset()), "workouts", *SPAN)
    assert [one.external_id for one in pulled.summaries] == [RIDE_ID]
    assert {(one.kind, one.reason) for one in pulled.refusals} == {
        ("activity", "bad_time:createdAt"),
        ("activity", "wrong_type:id"),
        ("activity", "not_an_object"),
    }
    assert vendor.asked[0].path == "/v1/api/activities?perPage=100&startDate=2026-03-04&page=1"
    assert vendor.asked[-1].path == f"/v1/api/activities/{mapping(RIDE)['id']}/file"


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ((404, b""), "file_missing"),
        ((425, b""), "file_refused"),
        ((200, b"{}"), "fit_not_a_file"),
        ((200, fit_file(records=(), sessions=())), "fit_empty"),
    ],
)
def test_without_its_file_a_ride_is_not_known(vendor: StubServer, file: tuple[int, bytes], reason: str) -> None:
    vendor.answer = listing([[RIDE]], file)
    pulled = HAMMERHEAD.pull(Access(vendor.url, "token", frozenset()), "workout_stream", *SPAN)
    assert (pulled.summaries, pulled.streams) == ((), ())
    assert pulled.refusals == (Refusal("file", reason),)


def test_an_answer_of_another_shape_is_tried_again(vendor: StubServer) -> None:
    vendor.answer = lambda asked: (200, b"{}")
    with pytest.raises(ProviderFailure) as failed:
        HAMMERHEAD.pull(Access(vendor.url, "token", frozenset()), "workouts", *SPAN)
    assert failed.value.kind is FailureKind.TRANSPORT


def test_sandbox_and_production_have_the_connector() -> None:
    for environment in Environment:
        assert isinstance(connector_of("hammerhead", environment), HammerheadConnector)
    assert HAMMERHEAD.account_id(Access("", "", frozenset())) == ""
