"""The vendors' notifications: who may subscribe, what is checked, what is sent, and to where."""

import hashlib
import hmac
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, parse_qsl, urlsplit

import orjson
import pytest

from tests.simulator.running import CLIENT_ID, CLIENT_SECRET, Answer, RunningSimulator, ask

SUBSCRIPTION = "/oura/v2/webhook/subscription"
CLIENT = {"x-client-id": CLIENT_ID, "x-client-secret": CLIENT_SECRET, "Content-Type": "application/json"}
NOW = 1793534400  # 2026-11-01 12:00 UTC, where the fixture stops the clock


class Heard:
    """A client's address, and what came to it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.calls: list[tuple[str, str, dict[str, str], bytes]] = []
        self.status = 200


@pytest.fixture
def heard() -> Iterator[Heard]:
    """A client that answers every challenge."""

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            headers = {name.lower(): value for name, value in self.headers.items()}
            client.calls.append((self.command, self.path, headers, self.rfile.read(length)))
            challenge = parse_qs(urlsplit(self.path).query).get("challenge", [""])[0]
            body = orjson.dumps({"challenge": challenge}) if self.command == "GET" else b""
            self.send_response(client.status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def do_HEAD(self) -> None:
            self._answer()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's own name
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    client = Heard(f"http://127.0.0.1:{server.server_port}/hook")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield client
    server.shutdown()
    server.server_close()
    thread.join()


def oura(simulator: RunningSimulator, method: str, path: str = SUBSCRIPTION, **changes: object) -> Answer:
    headers = {**CLIENT, **{str(name): str(value) for name, value in changes.items() if name in CLIENT}}
    document = {key: value for key, value in changes.items() if key not in CLIENT}
    return ask(simulator.url, method, path, orjson.dumps(document) if document else b"", headers)


def wanted(heard: Heard, **changes: str) -> dict[str, str]:
    made = {"callback_url": heard.url, "verification_token": "t", "event_type": "update", "data_type": "sleep"}
    return {**made, **changes}


def test_oura_subscribes_who_knows_the_secret_and_answers_the_challenge(
    simulator: RunningSimulator, heard: Heard
) -> None:
    made = oura(simulator, "POST", **wanted(heard))
    assert made.status == 201
    identity = made.json["id"]
    assert made.json == {
        "id": identity,
        "callback_url": heard.url,
        "event_type": "update",
        "data_type": "sleep",
        "expiration_time": "2027-01-30T12:00:00+00:00",
    }
    ((method, path, _, _),) = heard.calls
    assert (method, parse_qs(urlsplit(path).query)["verification_token"]) == ("GET", ["t"])
    listed = orjson.loads(oura(simulator, "GET").body)
    assert [one["id"] for one in listed] == [identity]
    simulator.stop_clock("2026-11-02T12:00:00+00:00")
    renewed = oura(simulator, "PUT", f"{SUBSCRIPTION}/renew/{identity}")
    assert renewed.json["expiration_time"] == "2027-01-31T12:00:00+00:00"
    assert oura(simulator, "GET", f"{SUBSCRIPTION}/{identity}").status == 200
    assert oura(simulator, "DELETE", f"{SUBSCRIPTION}/{identity}").status == 204
    assert oura(simulator, "PUT", f"{SUBSCRIPTION}/renew/{identity}").status == 404
    assert orjson.loads(oura(simulator, "GET").body) == []


def test_oura_refuses_the_rest(simulator: RunningSimulator, heard: Heard) -> None:
    for method, path in (("GET", ""), ("POST", ""), ("PUT", "/renew/x"), ("DELETE", "/x")):
        headers = {**CLIENT, "x-client-secret": "wrong"}
        assert ask(simulator.url, method, SUBSCRIPTION + path, b"{}", headers).status == 401
    assert oura(simulator, "POST", **wanted(heard, data_type="dreams")).status == 422
    assert oura(simulator, "POST", callback_url=heard.url).status == 422
    assert heard.calls == []
    heard.status = 403
    assert oura(simulator, "POST", **wanted(heard)).status == 400
    elsewhere = wanted(heard, callback_url="http://192.0.2.1/hook")
    assert oura(simulator, "POST", **elsewhere).status == 400
    assert orjson.loads(oura(simulator, "GET").body) == []


def test_a_notice_of_oura_is_signed_with_the_secret(simulator: RunningSimulator, heard: Heard) -> None:
    token = simulator.access_token()
    person = simulator.get("/oura/v2/usercollection/personal_info", token).json["id"]
    oura(simulator, "POST", **wanted(heard))
    heard.calls.clear()
    told = simulator.post_json(
        "/_control/notify",
        {"slug": "oura", "account": "ada@example.com", "resource": "update.sleep", "day": "2026-10-31"},
    )
    assert told.json["replies"] == [{"status": 200, "failure": ""}]
    ((method, path, headers, body),) = heard.calls
    assert (method, path, headers["x-oura-timestamp"]) == ("POST", "/hook", str(NOW))
    signature = hmac.new(CLIENT_SECRET.encode(), str(NOW).encode() + body, hashlib.sha256).hexdigest().upper()
    assert headers["x-oura-signature"] == signature
    event = orjson.loads(body)
    assert {name: event[name] for name in ("event_type", "data_type", "user_id")} == {
        "event_type": "update",
        "data_type": "sleep",
        "user_id": person,
    }
    nights = simulator.get("/oura/v2/usercollection/sleep", token, start_date="2026-10-31", end_date="2026-10-31").json[
        "data"
    ]
    assert isinstance(nights, list)
    assert event["object_id"] == nights[0]["id"]
    others = {"slug": "oura", "account": "ada@example.com", "resource": "update.workout", "deliver": False}
    assert simulator.post_json("/_control/notify", others).json["requests"] == []
    nobody = {"slug": "oura", "account": "bo@example.com", "resource": "update.sleep", "deliver": False}
    assert simulator.post_json("/_control/notify", nobody).json["requests"] == []


def notify(simulator: RunningSimulator, token: str, **form: str) -> dict[str, object]:
    return simulator.post_form("/withings/notify", bearer=token, **form).json


def test_withings_subscribes_a_person_to_a_category(simulator: RunningSimulator, heard: Heard) -> None:
    token = simulator.access_token("withings", scope="user.info,user.activity")
    asked = {"action": "subscribe", "callbackurl": heard.url, "appli": "16"}
    assert notify(simulator, "wrong", **asked)["status"] == 401
    assert notify(simulator, token, **{**asked, "appli": "7"})["status"] == 503
    assert notify(simulator, token, **{**asked, "appli": "1"})["status"] == 214
    heard.status = 500
    assert notify(simulator, token, **asked)["status"] == 2554
    heard.status = 200
    assert [notify(simulator, token, **asked)["status"] for _ in range(2)] == [0, 0]
    profiles = [{"appli": 16, "callbackurl": heard.url}]
    assert notify(simulator, token, action="list")["body"] == {"profiles": profiles}
    heard.calls.clear()
    what = {"slug": "withings", "account": "ada@example.com", "resource": "16", "day": "2026-10-30"}
    simulator.post_json("/_control/notify", what)
    ((_, _, _, body),) = heard.calls
    form = dict(parse_qsl(body.decode()))
    assert (form["appli"], form["date"], set(form)) == ("16", "2026-10-30", {"userid", "appli", "date"})
    ending = {**asked, "action": "revoke"}
    assert [notify(simulator, token, **ending)["status"] for _ in range(2)] == [0, 286]
    assert simulator.post_json("/_control/notify", {**what, "deliver": False}).json["requests"] == []


def signed(secret: str = CLIENT_SECRET, **fields: str) -> dict[str, str]:
    text = ",".join(fields[name] for name in sorted(fields))
    return {**fields, "signature": hmac.new(secret.encode(), text.encode(), hashlib.sha256).hexdigest()}


def test_withings_takes_a_grant_back_for_a_signature_and_a_nonce(simulator: RunningSimulator, heard: Heard) -> None:
    tokens = simulator.tokens("withings")
    token, account = str(tokens["access_token"]), str(tokens["userid"])
    notify(simulator, token, action="subscribe", callbackurl=heard.url, appli="1")

    def nonce(**changes: str) -> dict[str, object]:
        asked = {"action": "getnonce", "client_id": CLIENT_ID, "timestamp": str(NOW), **changes}
        return simulator.post_form("/withings/v2/signature", **signed(**asked)).json

    def revoke(number: str, secret: str = CLIENT_SECRET) -> object:
        form = signed(secret, action="revoke", client_id=CLIENT_ID, nonce=number)
        return simulator.post_form("/withings/v2/oauth2", **form, userid=account).json["status"]

    assert nonce(timestamp=str(NOW - 301))["status"] == 503
    wrong = signed("wrong", action="getnonce", client_id=CLIENT_ID, timestamp=str(NOW))
    assert simulator.post_form("/withings/v2/signature", **wrong).json["status"] == 503
    body = nonce()["body"]
    assert isinstance(body, dict)
    assert (revoke("0" * 40), revoke(body["nonce"], "wrong")) == (503, 503)
    assert notify(simulator, token, action="list")["status"] == 0
    assert revoke(body["nonce"]) == 0
    assert revoke(body["nonce"]) == 503
    assert notify(simulator, token, action="list")["status"] == 401
    assert simulator.get("/_control/hooks").json["subscriptions"] == []


def test_a_person_who_takes_the_grant_back_is_told_of_once(simulator: RunningSimulator, heard: Heard) -> None:
    token = simulator.access_token("withings")
    notify(simulator, token, action="subscribe", callbackurl=heard.url, appli="46")
    heard.calls.clear()
    asked = {"slug": "withings", "account": "ada@example.com", "kind": "deregistered"}
    assert len(simulator.post_json("/_control/notify", asked).json["replies"]) == 1  # type: ignore[arg-type]
    ((_, _, _, body),) = heard.calls
    assert dict(parse_qsl(body.decode()))["action"] == "unlink"
    assert notify(simulator, token, action="list")["status"] == 401
    assert simulator.post_json("/_control/notify", asked).json["replies"] == []


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"slug": "oura"},
        {"slug": "nobody", "account": "a"},
        {"slug": "oura", "account": "a", "kind": "storm"},
        {"slug": "oura", "account": "a", "day": "soon"},
        {"slug": "oura", "account": "a", "signed_seconds_ago": "long"},
        [],
    ],
)
def test_controls_say_what_they_cannot_do(simulator: RunningSimulator, document: object) -> None:
    assert simulator.post_json("/_control/notify", document).status == 422


def test_a_subscription_by_hand_and_what_was_sent(simulator: RunningSimulator, heard: Heard) -> None:
    made = {"slug": "oura", "client_id": CLIENT_ID, "callback_url": heard.url, "topic": "create.workout"}
    assert simulator.post_json("/_control/subscriptions", made).status == 201
    assert simulator.post_json("/_control/subscriptions", {"slug": "oura"}).status == 422
    simulator.access_token()
    simulator.post_json(
        "/_control/notify", {"slug": "oura", "account": "ada@example.com", "resource": "create.workout"}
    )
    shown = simulator.get("/_control/hooks").json
    assert shown["calls"] == [{"slug": "oura", "method": "POST", "path": "/hook", "status": 200, "failure": ""}]
    assert isinstance(shown["subscriptions"], list)
    assert [one["topic"] for one in shown["subscriptions"]] == ["create.workout"]


def test_oxygen_rings_and_devices(simulator: RunningSimulator) -> None:
    token = simulator.access_token(scope="spo2 ring_configuration")
    month = {"start_date": "2026-10-02", "end_date": "2026-10-12"}
    listed = simulator.get("/oura/v2/usercollection/daily_spo2", token, **month).json["data"]
    assert isinstance(listed, list)
    assert [one["day"] for one in listed] == [f"2026-10-{day:02}" for day in range(2, 13)]
    assert all(93 < one["spo2_percentage"]["average"] <= 99.5 for one in listed)
    rings = simulator.get("/oura/v2/usercollection/ring_configuration", token).json["data"]
    assert isinstance(rings, list)
    assert len(rings) == 1
    assert rings[0]["hardware_type"] in ("gen3", "gen4")
    withings = simulator.access_token("withings", scope="user.info")
    answer = simulator.post_form("/withings/v2/user", bearer=withings, action="getdevice").json
    body = answer["body"]
    assert isinstance(body, dict)
    assert [one["model"] for one in body["devices"]] == ["ScanWatch 2", "Body Comp", "BPM Connect", "Thermo"]
