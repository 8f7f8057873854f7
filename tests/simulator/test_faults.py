"""Faults on request, the counts of requests, the clock, and what is not there."""

import time
from datetime import datetime, timedelta
from typing import Any

import orjson
import pytest

from tests.simulator.running import RunningSimulator, ask

SLEEP = "/oura/v2/usercollection/sleep"
WORKOUT = "/oura/v2/usercollection/workout"
DAY = {"start_date": "2026-10-20", "end_date": "2026-10-20"}


def statuses(simulator: RunningSimulator, token: str, path: str, times: int) -> list[int]:
    return [simulator.get(path, token, **DAY).status for _ in range(times)]


def test_http_429_says_when_to_come_back_and_then_lets_through(simulator: RunningSimulator) -> None:
    token = simulator.access_token()
    simulator.fault(
        slug="oura", path_prefix="/v2/usercollection/sleep", kind="http_429", times=2, retry_after_seconds=7
    )
    first = simulator.get(SLEEP, token, **DAY)
    assert (first.status, first.headers["retry-after"]) == (429, "7")
    assert simulator.get(WORKOUT, token, **DAY).status == 200
    assert statuses(simulator, token, SLEEP, 2) == [429, 200]


def test_http_500(simulator: RunningSimulator) -> None:
    token = simulator.access_token()
    simulator.fault(slug="oura", kind="http_500")
    assert statuses(simulator, token, SLEEP, 2) == [500, 200]


def test_slow_answers_late_but_whole(simulator: RunningSimulator) -> None:
    token = simulator.access_token()
    whole = simulator.get(SLEEP, token, **DAY).body
    simulator.fault(slug="oura", kind="slow", delay_seconds=0.3)
    began = time.monotonic()
    assert simulator.get(SLEEP, token, **DAY).body == whole
    assert time.monotonic() - began >= 0.3


def test_truncated_json_is_whole_http_and_half_a_document(simulator: RunningSimulator) -> None:
    token = simulator.access_token()
    whole = simulator.get(SLEEP, token, **DAY).body
    simulator.fault(slug="oura", kind="truncated_json")
    cut = simulator.get(SLEEP, token, **DAY)
    assert (cut.status, cut.body) == (200, whole[: len(whole) // 2])
    with pytest.raises(orjson.JSONDecodeError):
        orjson.loads(cut.body)


def test_a_dead_token_takes_its_refresh_token_along(simulator: RunningSimulator) -> None:
    tokens = simulator.tokens()
    simulator.fault(slug="oura", path_prefix="/v2", kind="token_dead", skip=1)
    assert statuses(simulator, str(tokens["access_token"]), SLEEP, 3) == [200, 401, 401]
    answer = simulator.token_request("oura", grant_type="refresh_token", refresh_token=str(tokens["refresh_token"]))
    assert (answer.status, answer.json["error"]) == (400, "invalid_grant")


def test_an_expired_token_can_be_refreshed(simulator: RunningSimulator) -> None:
    tokens = simulator.tokens()
    simulator.fault(slug="oura", path_prefix="/v2", kind="token_expired")
    assert statuses(simulator, str(tokens["access_token"]), SLEEP, 2) == [401, 401]
    fresh = simulator.exchange("oura", grant_type="refresh_token", refresh_token=str(tokens["refresh_token"]))
    assert statuses(simulator, str(fresh["access_token"]), SLEEP, 1) == [200]


def test_a_rate_limit_speaks_as_its_vendor_does(simulator: RunningSimulator) -> None:
    for slug in ("oura", "withings"):
        simulator.fault(slug=slug, kind="rate_limited", retry_after_seconds=3)
    assert simulator.get(SLEEP, "any").status == 429
    answer = simulator.post_form("/withings/measure", "any", action="getmeas")
    assert (answer.status, answer.json) == (200, {"status": 601, "body": {}, "error": "Too Many Request"})


def test_a_fault_touches_its_own_vendor_and_can_be_called_off(simulator: RunningSimulator) -> None:
    token = simulator.access_token()
    simulator.fault(slug="withings", kind="http_500", times=5)
    simulator.fault(slug="oura", path_prefix=SLEEP, kind="http_500", times=5)
    assert statuses(simulator, token, WORKOUT, 1) == [200]
    assert statuses(simulator, token, SLEEP, 1) == [500]
    cleared = ask(simulator.url, "DELETE", "/_control/faults")
    assert (cleared.status, cleared.json) == (200, {"cleared": 2})
    assert statuses(simulator, token, SLEEP, 1) == [200]


@pytest.mark.parametrize(
    "document",
    [
        {"kind": "http_500"},
        {"slug": "oura", "kind": "earthquake"},
        {"slug": "oura", "kind": "slow", "delay_seconds": -1},
        {"slug": "oura", "kind": "http_500", "times": 1.5},
        {"slug": "oura", "kind": "http_500", "times": True},
        {"slug": 7, "kind": "http_500"},
        ["oura"],
    ],
)
def test_a_fault_that_cannot_be_is_refused(simulator: RunningSimulator, document: object) -> None:
    assert simulator.post_json("/_control/faults", document).status == 422
    assert ask(simulator.url, "DELETE", "/_control/faults").json == {"cleared": 0}


def test_controls_take_json_only(simulator: RunningSimulator) -> None:
    assert simulator.post_form("/_control/faults", slug="oura", kind="http_500").status == 422
    assert simulator.post_form("/_control/clock", now="").status == 422
    assert simulator.post_form("/_control/reset").status == 415
    for now in ("noon", "2026-01-01T00:00:00", 7):
        assert simulator.post_json("/_control/clock", {"now": now}).status == 422


def test_requests_are_counted_without_their_secrets(simulator: RunningSimulator) -> None:
    token = simulator.access_token(email="secret-person@example.com")
    statuses(simulator, token, SLEEP, 3)
    simulator.post_form("/withings/measure", "secret-token", action="getmeas")
    simulator.get("/oura/v2/secret-path", token)
    answer = simulator.get("/_control/requests")
    assert "secret" not in answer.text
    assert token not in answer.text
    counted = answer.json["requests"]
    assert isinstance(counted, list)
    assert {
        (row["slug"], row["method"], row["route"], row["action"], row["status"]): row["count"] for row in counted
    } == {
        ("", "GET", "(unknown)", "", 404): 1,
        ("oura", "GET", "/oura/v2/usercollection/sleep", "", 200): 3,
        ("oura", "GET", "/{slug}/oauth/authorize", "", 200): 1,
        ("oura", "GET", "/{slug}/oauth/consent", "", 200): 1,
        ("oura", "POST", "/{slug}/oauth/consent", "", 303): 1,
        ("oura", "POST", "/{slug}/oauth/login", "", 303): 1,
        ("oura", "POST", "/{slug}/oauth/token", "", 200): 1,
        ("withings", "POST", "/withings/measure", "getmeas", 200): 1,
    }
    assert answer.json["total"] == 10


def test_a_reset_forgets_everything(simulator: RunningSimulator) -> None:
    token = simulator.access_token()
    simulator.fault(slug="oura", kind="http_500", times=9)
    assert simulator.post_json("/_control/reset", {}).json == {"reset": True}
    assert simulator.get("/_control/requests").json == {"total": 0, "requests": []}
    assert simulator.get(SLEEP, token).status == 401


def test_what_is_not_there_and_what_is_too_much(simulator: RunningSimulator) -> None:
    assert simulator.get("/healthz").json == {"status": "ok"}
    assert simulator.get("/").status == 200
    assert simulator.get("/oura/v2/usercollection/nothing").status == 404
    wrong = simulator.post_form(SLEEP)
    assert (wrong.status, wrong.headers["allow"]) == (405, "GET")
    assert ask(simulator.url, "POST", "/withings/measure", b"x" * 70_000).status == 413
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert ask(simulator.url, "POST", "/withings/measure", b"action=\xff", form).status == 400
    head = ask(simulator.url, "HEAD", "/healthz")
    assert (head.status, head.body) == (200, b"")


def documents(simulator: RunningSimulator, token: str, path: str) -> list[dict[str, Any]]:
    found: Any = simulator.get(path, token, **DAY).json
    listed: list[dict[str, Any]] = found["data"]
    return listed


def test_wrong_units_are_a_thousand_times_too_large(simulator: RunningSimulator) -> None:
    token = simulator.access_token()
    (good,) = documents(simulator, token, SLEEP)
    simulator.fault(slug="oura", kind="wrong_units")
    (wrong,) = documents(simulator, token, SLEEP)
    assert wrong["average_heart_rate"] == good["average_heart_rate"] * 1000
    assert wrong["heart_rate"]["items"] == [one * 1000 for one in good["heart_rate"]["items"]]
    unmeasured = ("id", "day", "bedtime_start", "total_sleep_duration", "efficiency")
    assert {name: wrong[name] for name in unmeasured} == {name: good[name] for name in unmeasured}
    assert wrong["heart_rate"]["interval"] == good["heart_rate"]["interval"]


def test_half_buckets_are_revised_when_asked_again(simulator: RunningSimulator) -> None:
    token = simulator.access_token()
    simulator.fault(slug="oura", kind="half_buckets")
    (half,) = documents(simulator, token, "/oura/v2/usercollection/daily_activity")
    (whole,) = documents(simulator, token, "/oura/v2/usercollection/daily_activity")
    assert half["steps"] == whole["steps"] // 2
    assert (half["id"], half["score"]) == (whole["id"], whole["score"])


def test_a_clock_that_runs_ahead_moves_every_instant(simulator: RunningSimulator) -> None:
    token = simulator.access_token()
    (good,) = documents(simulator, token, SLEEP)
    simulator.fault(slug="oura", kind="clock_ahead")
    (late,) = documents(simulator, token, SLEEP)
    for name in ("bedtime_start", "bedtime_end"):
        moved = datetime.fromisoformat(late[name]) - datetime.fromisoformat(good[name])
        assert moved == timedelta(days=2)
    assert late["day"] == good["day"]


def test_pages_for_people_are_left_alone(simulator: RunningSimulator) -> None:
    simulator.fault(slug="oura", path_prefix="/oauth/authorize", kind="wrong_units")
    answer = ask(simulator.url, "GET", "/oura/oauth/authorize")
    assert answer.status == 400
    assert b"<html" in answer.body
