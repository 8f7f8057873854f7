"""Who holds the controls: nobody unless they are on, then whoever shows their secret; and whom notices are sent to."""

import json
from collections.abc import Mapping
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit
from wsgiref.util import setup_testing_defaults

import pytest

from simulator.app import Simulator
from simulator.configuration import Configuration, ConfigurationError, origin_allowed
from simulator.hooks import HookRequest, hook_send
from simulator.store import Store
from tests.simulator.running import RunningSimulator

SECRET = "a secret of the controls of this test"
CONTROLS = (
    ("POST", "/_control/faults"),
    ("DELETE", "/_control/faults"),
    ("GET", "/_control/requests"),
    ("POST", "/_control/clock"),
    ("POST", "/_control/reset"),
    ("POST", "/_control/notify"),
    ("POST", "/_control/subscriptions"),
    ("GET", "/_control/hooks"),
    ("POST", "/_control/strava/limits"),
    ("POST", "/_control/oauth/token"),
    ("GET", "/_control/anything"),
)


def asked(simulator: Simulator, method: str, path: str, headers: Mapping[str, str]) -> int:
    """The status of one request."""
    environ: dict[str, object] = {"REQUEST_METHOD": method, "PATH_INFO": path, "CONTENT_TYPE": "application/json"}
    environ |= {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers.items()}
    setup_testing_defaults(environ)
    statuses: list[str] = []
    simulator(environ, lambda status, _headers, *_rest: statuses.append(status))  # type: ignore[arg-type]
    return int(statuses[0].split(" ")[0])


@pytest.mark.parametrize(("method", "path"), CONTROLS)
def test_without_a_secret_there_are_no_controls(tmp_path: Path, method: str, path: str) -> None:
    simulator = Simulator(Configuration(tmp_path / "simulator.sqlite3", "http://127.0.0.1"))
    for headers in ({}, {"X-Simulator-Control": ""}, {"X-Simulator-Control": SECRET}):
        assert asked(simulator, method, path, headers) == 404
    simulator.store.close()


@pytest.mark.parametrize(("method", "path"), CONTROLS)
def test_another_secret_moves_nothing(tmp_path: Path, method: str, path: str) -> None:
    simulator = Simulator(Configuration(tmp_path / "simulator.sqlite3", "http://127.0.0.1", control_secret=SECRET))
    for headers in ({}, {"X-Simulator-Control": ""}, {"X-Simulator-Control": f"{SECRET}x"}, {"Authorization": SECRET}):
        assert asked(simulator, method, path, headers) == 403
    assert asked(simulator, "GET", "/_control/requests", {"X-Simulator-Control": SECRET}) == 200
    simulator.store.close()


def test_a_clock_is_stopped_by_the_secret_only(simulator: RunningSimulator) -> None:
    connection = HTTPConnection(urlsplit(simulator.url).netloc, timeout=20)
    headers = {"Content-Type": "application/json", "X-Simulator-Control": "wrong"}
    connection.request("POST", "/_control/clock", json.dumps({"now": "2030-01-01T00:00:00+00:00"}), headers)
    assert connection.getresponse().status == 403
    connection.close()
    assert simulator.post_json("/_control/clock", {"now": "2026-11-02T00:00:00+00:00"}).status == 200


@pytest.mark.parametrize(
    "environ",
    [
        {"SIMULATOR_CONTROLS": "true"},
        {"SIMULATOR_CONTROLS": "1", "SIMULATOR_CONTROL_SECRET": "short"},
        {"SIMULATOR_CONTROLS": "yes", "SIMULATOR_CONTROL_SECRET": SECRET},
        {"SIMULATOR_CALLBACK_ORIGINS": "localhost:8000"},
        {"SIMULATOR_CALLBACK_ORIGINS": "file:///etc"},
    ],
)
def test_what_is_not_understood_stops_the_start(environ: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError):
        Configuration.from_environment(environ)


def test_controls_are_off_unless_they_are_switched_on() -> None:
    assert Configuration.from_environment({"SIMULATOR_CONTROL_SECRET": SECRET}).control_secret == ""
    on = Configuration.from_environment({"SIMULATOR_CONTROLS": "true", "SIMULATOR_CONTROL_SECRET": SECRET})
    assert on.control_secret == SECRET


def test_notices_go_to_the_service_and_nowhere_else(tmp_path: Path) -> None:
    configuration = Configuration.from_environment({"BASE_URL": "https://api.example.com/"})
    assert configuration.callback_origins == ("https://api.example.com",)
    assert origin_allowed("https://API.example.com:443/link/hook/oura/1", configuration.callback_origins)
    for url in (
        "http://api.example.com/",
        "https://api.example.com:8443/",
        "https://api.example.com@evil.example/",
        "https://api.example.com.evil.example/",
        "https://api.example.com:x/",
        "http://127.0.0.1:6379/",
        "http://localhost:8001/",
        "",
    ):
        assert not origin_allowed(url, configuration.callback_origins)
    assert origin_allowed("http://127.0.0.1:4711/hook", ("http://127.0.0.1:*",))
    assert not origin_allowed("http://127.0.0.2:4711/hook", ("http://127.0.0.1:*",))
    store = Store(tmp_path / "simulator.sqlite3", configuration.callback_origins)
    reply = hook_send(store, "oura", HookRequest("POST", "http://127.0.0.1:9/v2/user"))
    assert (reply.status, reply.failure) == (0, "origin_not_allowed")
    store.close()


def test_no_subscription_by_hand_leads_elsewhere(simulator: RunningSimulator) -> None:
    made = {"slug": "oura", "client_id": "healthsvc", "callback_url": "http://192.0.2.1:6379/", "topic": ""}
    assert simulator.post_json("/_control/subscriptions", made).status == 422
    assert simulator.get("/_control/hooks").json["subscriptions"] == []
