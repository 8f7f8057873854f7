"""Strava's notifications and the end of a grant: what is checked, what is told, what is asked of the vendor."""

import hashlib
import hmac
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import orjson
import pytest
import time_machine
from pytest_django import Settings

from healthsvc.kernel.typing import JSONValue
from links.connectors.failures import FailureKind, ProviderFailure
from links.connectors.hooks import (
    ApplicationKeys,
    HookAnswer,
    HookCall,
    HookRefused,
    HookSecrets,
    Notice,
    Subscribed,
    SubscriptionScope,
)
from links.connectors.strava.client import StravaConnector
from links.connectors.wire import Access
from simulator.person import person_of
from tests.links.payloads import changed, load, without
from tests.links.stub_server import Asked, StubServer, stub_running
from tests.simulator.running import CLIENT_ID, CLIENT_SECRET, RunningSimulator

STRAVA = StravaConnector()
SECRETS = HookSecrets("chosen", "application-secret", "120475")
CREATED, DEREGISTERED = load("strava/event_create.json"), load("strava/event_deauthorized.json")
NOW = datetime(2026, 3, 8, 20, tzinfo=UTC)
ALL = "read,activity:read,activity:read_all"
PULLED = ("workouts", "workout_stream")


def posted(event: JSONValue, headers: Mapping[str, str] | None = None) -> HookCall:
    return HookCall("POST", {}, headers or {}, orjson.dumps(event))


def signature(body: bytes, at: datetime = NOW, key: str = SECRETS.client_secret) -> str:
    signed_at = str(int(at.timestamp()))
    made = hmac.new(key.encode(), signed_at.encode() + b"." + body, hashlib.sha256).hexdigest()
    return f"t={signed_at},v1={made}"


def test_one_subscription_serves_the_application_and_tells_everything() -> None:
    assert STRAVA.subscription_scope is SubscriptionScope.APPLICATION
    assert STRAVA.hook_topics(frozenset({"read"})) == ("",)


def test_a_challenge_is_echoed_to_who_knows_the_token() -> None:
    query = {"hub.mode": "subscribe", "hub.verify_token": "chosen", "hub.challenge": "15f7d1a91c1f40"}
    assert STRAVA.hook_answer(HookCall("GET", query, {}, b""), SECRETS) == HookAnswer(
        status=200, body=b'{"hub.challenge":"15f7d1a91c1f40"}', content_type="application/json"
    )


@pytest.mark.parametrize(
    "strange",
    [
        {"hub.verify_token": "guessed"},
        {"hub.verify_token": ""},
        {"hub.verify_token": "ünknown"},
        {"hub.mode": "unsubscribe"},
        {"hub.challenge": ""},
    ],
)
def test_a_challenge_of_somebody_else_is_refused(strange: dict[str, str]) -> None:
    query = {"hub.mode": "subscribe", "hub.verify_token": "chosen", "hub.challenge": "15f7d1a91c1f40"}
    with pytest.raises(HookRefused):
        STRAVA.hook_answer(HookCall("GET", {**query, **strange}, {}, b""), SECRETS)
    with pytest.raises(HookRefused):
        STRAVA.hook_answer(HookCall("GET", {}, {}, b""), SECRETS)


@pytest.mark.parametrize(
    ("event", "notices"),
    [
        (CREATED, (Notice("134815", resources=PULLED),)),
        (changed(CREATED, aspect_type="update", updates={"title": "Messy"}), (Notice("134815", resources=PULLED),)),
        # What is stored stays: the store knows no deletion.
        (changed(CREATED, aspect_type="delete"), ()),
        # Anybody may have said so: Strava is asked.
        (DEREGISTERED, (Notice("134815", resources=PULLED),)),
        (changed(DEREGISTERED, updates={"authorized": "true"}), ()),
        (changed(DEREGISTERED, updates={}), ()),
        (changed(DEREGISTERED, updates=None), ()),
        (changed(CREATED, object_type="segment"), ()),
        (changed(CREATED, owner_id=None), ()),
        (changed(CREATED, owner_id="134815"), ()),
        (changed(CREATED, owner_id=True), ()),
    ],
)
def test_what_an_event_tells(event: JSONValue, notices: tuple[Notice, ...]) -> None:
    assert STRAVA.hook_answer(posted(event), SECRETS) == HookAnswer(notices=notices)


@time_machine.travel(NOW, tick=False)
@pytest.mark.parametrize(
    ("event", "occurred_at"),
    [(DEREGISTERED, datetime(2026, 3, 8, 20, 1, 40, tzinfo=UTC)), (without(DEREGISTERED, "event_time"), None)],
)
def test_an_end_that_is_signed_is_believed(event: JSONValue, occurred_at: datetime | None) -> None:
    call = posted(event, {"x-strava-signature": signature(orjson.dumps(event))})
    told = Notice("134815", deregistered=True, occurred_at=occurred_at)
    assert STRAVA.hook_answer(call, SECRETS) == HookAnswer(notices=(told,))


@pytest.mark.parametrize("event", [changed(CREATED, subscription_id=1), without(CREATED, "subscription_id")])
def test_an_event_of_another_subscription_is_refused(event: JSONValue) -> None:
    with pytest.raises(HookRefused):
        STRAVA.hook_answer(posted(event), SECRETS)


def test_an_event_that_comes_before_the_subscription_s_name_is_taken() -> None:
    early = HookSecrets("chosen", "application-secret")
    assert STRAVA.hook_answer(posted(CREATED), early).notices == (Notice("134815", resources=PULLED),)


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'"event"', b"\xff"])
def test_what_is_no_event_is_refused(body: bytes) -> None:
    with pytest.raises(HookRefused):
        STRAVA.hook_answer(HookCall("POST", {}, {}, body), SECRETS)


@time_machine.travel(NOW, tick=False)
def test_a_signature_is_checked_where_there_is_one() -> None:
    body = orjson.dumps(CREATED)
    call = posted(CREATED, {"x-strava-signature": signature(body)})
    assert STRAVA.hook_answer(call, SECRETS).notices == (Notice("134815", resources=PULLED),)


@time_machine.travel(NOW, tick=False)
@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "t=,v1=",
        "nonsense",
        signature(orjson.dumps(CREATED), key="another"),
        signature(orjson.dumps(DEREGISTERED)),
        signature(orjson.dumps(CREATED), at=datetime(2026, 3, 8, 19, 54, 59, tzinfo=UTC)),
        signature(orjson.dumps(CREATED), at=datetime(2026, 3, 8, 20, 5, 1, tzinfo=UTC)),
        signature(orjson.dumps(CREATED)).replace("t=", "t=-"),
        signature(orjson.dumps(CREATED)).replace("t=", "t=99999999999999999999"),
        signature(orjson.dumps(CREATED)).replace("v1=", "v0="),
        signature(orjson.dumps(CREATED)) + "é",
    ],
)
def test_a_wrong_or_old_signature_is_refused(wrong: str) -> None:
    with pytest.raises(HookRefused):
        STRAVA.hook_answer(posted(CREATED, {"x-strava-signature": wrong}), SECRETS)


@pytest.fixture
def simulator(tmp_path: Path, settings: Settings) -> Iterator[RunningSimulator]:
    """A simulator that the service may call."""
    with RunningSimulator(tmp_path / "simulator.sqlite3") as running:
        settings.LOOPBACK_ORIGINS = [running.url]
        yield running


def keys_of(simulator: RunningSimulator) -> ApplicationKeys:
    return ApplicationKeys(CLIENT_ID, CLIENT_SECRET, f"{simulator.url}/strava")


def service(verify_token: str, told: list[HookAnswer], external_id: list[str]) -> Callable[[Asked], tuple[int, bytes]]:
    """The service's address as the connector answers it."""

    def answer(asked: Asked) -> tuple[int, bytes]:
        secrets = HookSecrets(verify_token, CLIENT_SECRET, external_id[0] if external_id else "")
        query = dict(parse_qsl(urlsplit(asked.path).query))
        try:
            answered = STRAVA.hook_answer(HookCall(asked.method, query, asked.headers, asked.body), secrets)
        except HookRefused:
            return 403, b""
        told.append(answered)
        return answered.status, answered.body

    return answer


def test_a_subscription_is_made_proven_used_and_ended(simulator: RunningSimulator) -> None:
    told: list[HookAnswer] = []
    external_id: list[str] = []
    keys = keys_of(simulator)
    simulator.access_token("strava", scope=ALL)
    with stub_running(service("chosen", told, external_id)) as stub:
        url = f"{stub.url}/link/hook/strava/1"
        made = STRAVA.hook_subscribe(keys, None, topic="", callback_url=url, verify_token="chosen")
        external_id.append(made.external_id)
        again = STRAVA.hook_subscribe(keys, None, topic="", callback_url=url, verify_token="chosen")
        assert again == made == Subscribed(made.external_id, None)
        for kind in ("data", "deregistered"):
            event = {"slug": "strava", "account": "ada@example.com", "kind": kind}
            assert simulator.post_json("/_control/notify", event).json["replies"] == [{"status": 200, "failure": ""}]
    athlete = str(person_of("strava:ada@example.com").user_id)
    created, gone = (answer.notices[0] for answer in told[1:])
    assert created == Notice(athlete, resources=PULLED)
    assert (gone.external_user_id, gone.deregistered) == (athlete, True)
    for _ in range(2):
        STRAVA.hook_unsubscribe(keys, None, topic="", external_id=made.external_id, callback_url=url)
    assert orjson.loads(simulator.get("/_control/hooks").body)["subscriptions"] == []


def test_our_own_older_address_is_replaced_and_somebody_else_s_is_not(simulator: RunningSimulator) -> None:
    keys = keys_of(simulator)
    with stub_running(service("chosen", [], [])) as stub:
        first, second = f"{stub.url}/link/hook/strava/1", f"{stub.url}/link/hook/strava/2"
        STRAVA.hook_subscribe(keys, None, topic="", callback_url=first, verify_token="chosen")
        STRAVA.hook_subscribe(keys, None, topic="", callback_url=second, verify_token="chosen")
        with pytest.raises(ProviderFailure) as caught:
            STRAVA.hook_subscribe(keys, None, topic="", callback_url=f"{stub.url}/other/3", verify_token="chosen")
        assert caught.value.kind is FailureKind.REFUSED
    (standing,) = orjson.loads(simulator.get("/_control/hooks").body)["subscriptions"]
    assert standing["callback_url"] == second


def test_an_address_that_does_not_echo_is_not_subscribed(simulator: RunningSimulator) -> None:
    with stub_running(service("another", [], [])) as stub, pytest.raises(ProviderFailure) as caught:
        url = f"{stub.url}/link/hook/strava/1"
        STRAVA.hook_subscribe(keys_of(simulator), None, topic="", callback_url=url, verify_token="chosen")
    assert caught.value.kind is FailureKind.REFUSED
    assert orjson.loads(simulator.get("/_control/hooks").body)["subscriptions"] == []


def test_a_grant_is_ended_once_and_again(simulator: RunningSimulator) -> None:
    tokens, keys = simulator.tokens("strava", scope=ALL), keys_of(simulator)
    opened = Access(keys.api_url, str(tokens["access_token"]), frozenset())
    for _ in range(2):
        STRAVA.revoke(keys, opened, refresh_token=str(tokens["refresh_token"]), external_user_id="134815")
    assert simulator.get("/strava/api/v3/athlete", opened.access_token).status == 401
    by_access = simulator.access_token("strava", scope=ALL)
    STRAVA.revoke(keys, Access(keys.api_url, by_access, frozenset()), refresh_token="", external_user_id="")
    assert simulator.get("/strava/api/v3/athlete", by_access).status == 401


@pytest.fixture
def vendor(settings: Settings) -> Iterator[StubServer]:
    """A vendor that answers as a test says."""
    with stub_running(lambda asked: (500, b"")) as stub:
        settings.LOOPBACK_ORIGINS = [stub.url]
        yield stub


CALLS: list[Callable[[ApplicationKeys], object]] = [
    lambda keys: STRAVA.hook_subscribe(keys, None, topic="", callback_url="https://a.example/h/1", verify_token="v"),
    lambda keys: STRAVA.hook_unsubscribe(keys, None, topic="", external_id="1", callback_url=""),
    lambda keys: STRAVA.revoke(keys, Access("", "a", frozenset()), refresh_token="r", external_user_id=""),
]


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, FailureKind.REFUSED),
        (403, FailureKind.FORBIDDEN),
        (429, FailureKind.RATE_LIMITED),
        (500, FailureKind.UNAVAILABLE),
        (503, FailureKind.UNAVAILABLE),
    ],
)
@pytest.mark.parametrize("call", CALLS)
def test_what_helps_where_the_vendor_does_not(
    vendor: StubServer, call: Callable[[ApplicationKeys], object], status: int, kind: FailureKind
) -> None:
    vendor.answer = lambda asked: (status, b"{}")
    with pytest.raises(ProviderFailure) as caught:
        call(ApplicationKeys("id", "secret", vendor.url))
    assert caught.value.kind is kind


@pytest.mark.parametrize("body", [b"{}", b'{"id": "7"}', b'{"id": true}', b"[1]", b"{"])
def test_a_subscription_without_a_number_is_a_broken_answer(vendor: StubServer, body: bytes) -> None:
    vendor.answer = lambda asked: (201, body)
    with pytest.raises(ProviderFailure) as caught:
        CALLS[0](ApplicationKeys("id", "secret", vendor.url))
    assert caught.value.kind is FailureKind.TRANSPORT


@pytest.mark.parametrize("standing", [b"[]", b'[{"id": 7}]', b'["row"]'])
def test_a_refused_subscription_where_none_stands_is_refused(vendor: StubServer, standing: bytes) -> None:
    vendor.answer = lambda asked: (400, b"{}") if asked.method == "POST" else (200, standing)
    with pytest.raises(ProviderFailure) as caught:
        CALLS[0](ApplicationKeys("id", "secret", vendor.url))
    assert caught.value.kind is FailureKind.REFUSED
    assert [asked.method for asked in vendor.asked] == ["POST", "GET"]


def test_secrets_of_a_grant_go_in_headers_and_forms(vendor: StubServer) -> None:
    vendor.answer = lambda asked: (200, b"")
    CALLS[2](ApplicationKeys("id:1", "s&cret", vendor.url))
    (asked,) = vendor.asked
    assert (asked.method, asked.path) == ("POST", "/oauth/revoke")
    assert asked.body == b"token=r"
    assert asked.headers["authorization"] == "Basic aWQlM0ExOnMlMjZjcmV0"
