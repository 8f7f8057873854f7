"""WHOOP over HTTP: pages, days, scores that come later, its notices, and the end of a grant."""

import base64
import hashlib
import hmac
from datetime import date, timedelta
from typing import Any

import orjson
import pytest

from aggregation.store.checking import Ingestion, summary_reason
from healthsvc.kernel import clock
from healthsvc.kernel.principal import Environment
from links.connectors.failures import FailureKind, ProviderFailure
from links.connectors.hooks import ApplicationKeys, HookCall, HookRefused, HookSecrets, Notice
from links.connectors.registry import connector_of
from links.connectors.whoop.client import WhoopConnector
from links.connectors.wire import Access
from links.constants import SIMULATOR_CLIENT_ID, SIMULATOR_CLIENT_SECRET
from tests.links.simulators import Simulator, call

SCOPES = [
    "offline",
    "read:profile",
    "read:body_measurement",
    "read:cycles",
    "read:recovery",
    "read:sleep",
    "read:workout",
]
SECRETS = HookSecrets(verify_token="", client_secret="shared")
WHOOP = WhoopConnector()


def access_of(simulator: Simulator, account: str = "ada@example.com", scopes: list[str] = SCOPES) -> Access:
    """An access to a simulated member."""
    form = f"client_id={SIMULATOR_CLIENT_ID}&client_secret={SIMULATOR_CLIENT_SECRET}&account={account}"
    form += "&scope=" + "+".join(scopes)
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    status, _, body = call("POST", f"{simulator.url}/whoop_v2/demo/account", form, headers)
    assert status == 200, body
    return Access(f"{simulator.url}/whoop_v2", str(orjson.loads(body)["access_token"]), frozenset(scopes))


def keys_of(simulator: Simulator) -> ApplicationKeys:
    return ApplicationKeys(SIMULATOR_CLIENT_ID, SIMULATOR_CLIENT_SECRET, f"{simulator.url}/whoop_v2")


def test_a_month_comes_whole_and_once(simulator: Simulator) -> None:
    access, first, last = access_of(simulator), date(2026, 10, 1), date(2026, 10, 31)
    for resource in ("sleep", "activity", "workouts"):
        pulled = WHOOP.pull(access, resource, first, last)
        assert pulled.refusals == ()
        assert all(summary_reason(one, Ingestion()) is None for one in pulled.summaries)
        assert len({one.external_id for one in pulled.summaries}) == len(pulled.summaries)
    days = {one.calendar_date for one in WHOOP.pull(access, "activity", first, last).summaries}
    assert {first + timedelta(days=step) for step in range(31)} <= days
    nights = [one for one in WHOOP.pull(access, "sleep", first, last).summaries if one.fields["type"] == "long_sleep"]
    assert {first + timedelta(days=step) for step in range(31)} <= {one.calendar_date for one in nights}
    assert all(one.fields["recovery_readiness_score"] is not None for one in nights)
    for resource in ("hrv", "blood_oxygen"):
        (batch,) = WHOOP.pull(access, resource, first, last).series
        assert batch.resource == resource
        assert len(batch.samples) == len(nights)


def test_windows_that_touch_tell_the_same_as_one(simulator: Simulator) -> None:
    access, first = access_of(simulator), date(2026, 10, 24)
    whole = WHOOP.pull(access, "sleep", first, first + timedelta(days=9)).summaries
    halves = [
        one
        for start in (first, first + timedelta(days=5))
        for one in WHOOP.pull(access, "sleep", start, start + timedelta(days=4)).summaries
    ]
    assert {one.external_id: one for one in halves} == {one.external_id: one for one in whole}


def test_the_cycle_under_way_is_no_mistake(simulator: Simulator) -> None:
    today = clock.now().date()
    pulled = WHOOP.pull(access_of(simulator), "activity", today - timedelta(days=3), today + timedelta(days=1))
    assert pulled.refusals == ()
    assert max(one.calendar_date for one in pulled.summaries) <= today


def test_without_recovery_nights_come_without_it(simulator: Simulator) -> None:
    scopes = [scope for scope in SCOPES if scope != "read:recovery"]
    access = access_of(simulator, scopes=scopes)
    (night, *_) = WHOOP.pull(access, "sleep", date(2026, 10, 2), date(2026, 10, 2)).summaries
    assert "recovery_readiness_score" not in night.fields
    with pytest.raises(ProviderFailure) as failed:
        WHOOP.pull(access, "hrv", date(2026, 10, 2), date(2026, 10, 2))
    assert failed.value.kind is FailureKind.SCOPE_MISSING


def test_the_member_and_their_number(simulator: Simulator) -> None:
    access = access_of(simulator)
    (profile,) = WHOOP.pull(access, "profile", date(2026, 10, 2), date(2026, 10, 2)).summaries
    assert 140 < int(str(profile.fields["height"])) < 200
    assert WHOOP.account_id(access).isdecimal()
    assert WHOOP.account_id(access_of(simulator, scopes=["read:sleep"])) == ""


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("http_429", FailureKind.RATE_LIMITED),
        ("http_500", FailureKind.UNAVAILABLE),
        ("truncated_json", FailureKind.TRANSPORT),
        ("token_dead", FailureKind.TOKEN_REJECTED),
    ],
)
def test_failures_are_told_by_kind(simulator: Simulator, fault: str, kind: FailureKind) -> None:
    access = access_of(simulator)
    simulator.fault("whoop_v2", fault, "/developer", skip=1)
    with pytest.raises(ProviderFailure) as failed:
        WHOOP.pull(access, "sleep", date(2026, 9, 1), date(2026, 10, 20))
    assert failed.value.kind is kind


def test_a_grant_is_ended_and_ending_it_again_is_no_error(simulator: Simulator) -> None:
    access, keys = access_of(simulator), keys_of(simulator)
    WHOOP.revoke(keys, access, refresh_token="", external_user_id="")
    with pytest.raises(ProviderFailure) as failed:
        WHOOP.pull(access, "sleep", date(2026, 10, 2), date(2026, 10, 2))
    assert failed.value.kind is FailureKind.TOKEN_REJECTED
    WHOOP.revoke(keys, access, refresh_token="", external_user_id="")
    simulator.fault("whoop_v2", "http_500", "/developer/v2/user/access")
    with pytest.raises(ProviderFailure):
        WHOOP.revoke(keys, access, refresh_token="", external_user_id="")


def signed(event: dict[str, Any], *, key: str = "shared", age_seconds: float = 0) -> HookCall:
    """An event as WHOOP sends it."""
    body = orjson.dumps(event)
    signed_at = str(int((clock.now().timestamp() - age_seconds) * 1000))
    digest = hmac.new(key.encode(), signed_at.encode() + body, hashlib.sha256).digest()
    headers = {
        "x-whoop-signature": base64.b64encode(digest).decode(),
        "x-whoop-signature-timestamp": signed_at,
    }
    return HookCall("POST", {}, headers, body)


@pytest.mark.parametrize(
    ("kind", "resources"),
    [
        ("sleep.updated", ("sleep", "activity")),
        ("recovery.updated", ("sleep", "hrv", "blood_oxygen")),
        ("workout.updated", ("workouts", "activity")),
    ],
)
def test_an_event_names_what_to_read(kind: str, resources: tuple[str, ...]) -> None:
    answer = WHOOP.hook_answer(signed({"user_id": 10129, "id": "x", "type": kind}), SECRETS)
    assert (answer.status, answer.notices) == (200, (Notice("10129", resources=resources),))
    assert set(resources) <= set(WHOOP.window_days)


@pytest.mark.parametrize(
    "event",
    [{"user_id": 10129, "type": "workout.deleted"}, {"user_id": "x", "type": "sleep.updated"}, {"type": 7}, {}],
)
def test_an_event_that_means_nothing_to_us_does_nothing(event: dict[str, Any]) -> None:
    assert WHOOP.hook_answer(signed(event), SECRETS).notices == ()


@pytest.mark.parametrize(
    "call_made",
    [
        signed({"user_id": 1, "type": "sleep.updated"}, key="another"),
        signed({"user_id": 1, "type": "sleep.updated"}, age_seconds=3_600),
        signed({"user_id": 1, "type": "sleep.updated"}, age_seconds=-3_600),
        HookCall("POST", {}, {}, b"{}"),
        HookCall("POST", {}, {"x-whoop-signature": "", "x-whoop-signature-timestamp": "soon"}, b"{}"),
    ],
)
def test_what_is_not_whoop_s_is_refused(call_made: HookCall) -> None:
    with pytest.raises(HookRefused):
        WHOOP.hook_answer(call_made, SECRETS)


def test_a_changed_body_is_refused() -> None:
    good = signed({"user_id": 1, "type": "sleep.updated"})
    with pytest.raises(HookRefused):
        WHOOP.hook_answer(HookCall("POST", {}, good.headers, good.body + b" "), SECRETS)


def test_sandbox_and_production_have_the_connector() -> None:

    for environment in Environment:
        assert isinstance(connector_of("whoop_v2", environment), WhoopConnector)
