"""Strava's data: activities that agree with their streams, short pages, private ones, limits, signed events."""

import hashlib
import hmac
import threading
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson
import pytest

from simulator.person import person_of
from simulator.strava_documents import activity_of, course_of, polyline
from tests.simulator.running import CLIENT_ID, CLIENT_SECRET, Answer, RunningSimulator, ask

API = "/strava/api/v3"
ALL = "read,profile:read_all,activity:read,activity:read_all"
CLIENT = {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET}
OCTOBER = {"after": "1790812799", "before": "1793491200"}


def listed(answer: Answer) -> list[dict[str, Any]]:
    """The rows of a listing."""
    assert answer.status == 200, answer.body
    found: list[dict[str, Any]] = orjson.loads(answer.body)
    return found


def pages(simulator: RunningSimulator, token: str, **query: str) -> list[list[dict[str, Any]]]:
    """Every page up to the empty one."""
    found: list[list[dict[str, Any]]] = []
    while not found or found[-1]:
        answer = simulator.get(f"{API}/athlete/activities", token, **query, page=str(len(found) + 1))
        found.append(listed(answer))
    return found


def everything(simulator: RunningSimulator, token: str, **query: str) -> list[dict[str, Any]]:
    return [row for page in pages(simulator, token, **query) for row in page]


def fault_of(answer: Answer) -> tuple[int, str, str]:
    """Status, field and code of a refusal."""
    errors = answer.json["errors"]
    assert isinstance(errors, list)
    return answer.status, errors[0]["field"], errors[0]["code"]


def test_a_month_holds_each_workout_once_in_short_pages(simulator: RunningSimulator) -> None:
    found = pages(simulator, simulator.access_token("strava", scope=ALL), **OCTOBER, per_page="200")
    assert {len(page) for page in found[:-2]} == {4}
    assert found[-1] == []
    person = person_of("strava:ada@example.com")
    days = [date(2026, 10, 1) + timedelta(days=number) for number in range(31)]
    worked = [activity for day in days if (activity := activity_of(person, day)) is not None]
    assert [row["id"] for page in found for row in page] == [activity.id for activity in worked]


def test_without_after_the_latest_comes_first(simulator: RunningSimulator) -> None:
    rows = listed(simulator.get(f"{API}/athlete/activities", simulator.access_token("strava", scope=ALL)))
    starts = [row["start_date"] for row in rows]
    assert starts == sorted(starts, reverse=True)
    assert len(starts) == 4


def test_a_private_activity_is_there_for_who_may_see_it(simulator: RunningSimulator) -> None:
    year = {"after": "1735689600"}
    every = everything(simulator, simulator.access_token("strava", scope=ALL), **year)
    token = simulator.access_token("strava", scope="read,activity:read")
    public = everything(simulator, token, **year)
    private = [row for row in every if row["private"]]
    assert len(private) > 10
    assert [row["id"] for row in public] == [row["id"] for row in every if not row["private"]]
    assert {row["visibility"] for row in private} == {"only_me"}
    hidden = simulator.get(f"{API}/activities/{private[0]['id']}", token)
    assert fault_of(hidden) == (404, "id", "not found")


def test_detail_and_streams_agree_with_the_row(simulator: RunningSimulator) -> None:
    token = simulator.access_token("strava", scope=ALL)
    keys = "time,latlng,distance,altitude,velocity_smooth,heartrate,cadence,watts,temp"
    recorded = [row for row in everything(simulator, token, **OCTOBER) if not row["manual"]]
    assert len(recorded) > 3
    for row in recorded:
        detail = simulator.get(f"{API}/activities/{row['id']}", token).json
        assert {name: detail[name] for name in row if name not in ("map", "resource_state")} == {
            name: value for name, value in row.items() if name not in ("map", "resource_state")
        }
        assert 50 < float(str(detail["calories"])) < 2000
        streams: dict[str, Any] = simulator.get(
            f"{API}/activities/{row['id']}/streams", token, keys=keys, key_by_type="true"
        ).json
        assert {len(one["data"]) for one in streams.values()} == {row["elapsed_time"] // 10 + 1}
        assert {one["original_size"] for one in streams.values()} == {row["elapsed_time"] // 10 + 1}
        assert streams["time"]["data"][-1] == row["elapsed_time"]
        beats = streams["heartrate"]["data"]
        assert (max(beats), round(sum(beats) / len(beats), 1)) == (row["max_heartrate"], row["average_heartrate"])
        way = streams["distance"]["data"]
        assert way[-1] == row["distance"]
        assert all(before <= after for before, after in pairwise(way))
        assert max(streams["velocity_smooth"]["data"]) == row["max_speed"]
        assert row["max_speed"] < 15


def test_only_what_was_asked_for_and_recorded_is_told(simulator: RunningSimulator) -> None:
    token = simulator.access_token("strava", scope=ALL)
    rows = everything(simulator, token, after="1735689600")
    manual, recorded = (next(row for row in rows if row["manual"] is wanted) for wanted in (True, False))
    streams = f"{API}/activities/{recorded['id']}/streams"
    assert set(simulator.get(streams, token, keys="time,nonsense", key_by_type="true").json) == {"time"}
    assert fault_of(simulator.get(streams, token, keys="time")) == (400, "keys", "invalid")
    gone = simulator.get(f"{API}/activities/{manual['id']}/streams", token, keys="time", key_by_type="true")
    assert fault_of(gone) == (404, "id", "not found")


@pytest.mark.parametrize("identity", ["1", "99999999999999999999", "x", "78554467999999", "78554467000000"])
def test_an_unknown_activity_is_not_found(simulator: RunningSimulator, identity: str) -> None:
    token = simulator.access_token("strava", scope=ALL)
    assert fault_of(simulator.get(f"{API}/activities/{identity}", token)) == (404, "id", "not found")


@pytest.mark.parametrize("query", [{"page": "0"}, {"per_page": "0"}, {"per_page": "201"}, {"after": "yesterday"}])
def test_a_strange_question_is_a_bad_request(simulator: RunningSimulator, query: dict[str, str]) -> None:
    token = simulator.access_token("strava", scope=ALL)
    assert simulator.get(f"{API}/athlete/activities", token, **query).status == 400


def test_an_activity_appears_when_it_is_over(simulator: RunningSimulator) -> None:
    token = simulator.access_token("strava", scope=ALL)
    last = everything(simulator, token, **OCTOBER)[-1]
    ends_at = datetime.fromisoformat(last["start_date"]) + timedelta(seconds=last["elapsed_time"])
    for seconds, known in ((-1, False), (0, True)):
        simulator.stop_clock((ends_at + timedelta(seconds=seconds)).isoformat())
        later = simulator.access_token("strava", scope=ALL)
        assert (last["id"] in [row["id"] for row in everything(simulator, later, **OCTOBER)]) is known


def test_the_local_clock_and_the_zone_follow_the_season(simulator: RunningSimulator) -> None:
    token = simulator.access_token("strava", scope=ALL)
    rows = everything(simulator, token, after="1735689600")
    assert {row["timezone"] for row in rows} == {"(GMT+01:00) Europe/Berlin"}
    assert {row["utc_offset"] for row in rows} == {3600.0, 7200.0}
    for row in rows:
        here = datetime.fromisoformat(row["start_date_local"]) - datetime.fromisoformat(row["start_date"])
        assert here == timedelta(seconds=row["utc_offset"])


def test_the_athlete_tells_their_weight_to_who_may_know(simulator: RunningSimulator) -> None:
    detailed = simulator.get(f"{API}/athlete", simulator.access_token("strava", scope=ALL)).json
    plain = simulator.get(f"{API}/athlete", simulator.access_token("strava", scope="read")).json
    assert (detailed["id"], detailed["weight"], plain["id"]) == (plain["id"], 64.0, detailed["id"])
    assert "weight" not in plain


def test_a_missing_scope_is_told_under_401(simulator: RunningSimulator) -> None:
    token = simulator.access_token("strava", scope="read")
    refusal = simulator.get(f"{API}/athlete/activities", token)
    assert fault_of(refusal) == (401, "activity:read_permission", "missing")
    assert fault_of(simulator.get(f"{API}/athlete", "unknown")) == (401, "access_token", "invalid")


def test_the_scope_is_told_in_the_return_and_the_athlete_with_the_code(simulator: RunningSimulator) -> None:
    tokens = simulator.tokens("strava", scope=ALL)
    assert "scope" not in tokens
    assert tokens["expires_at"] == int(datetime(2026, 11, 1, 18, tzinfo=UTC).timestamp())
    athlete = tokens["athlete"]
    assert isinstance(athlete, dict)
    again = simulator.exchange("strava", grant_type="refresh_token", refresh_token=str(tokens["refresh_token"]))
    assert "athlete" not in again
    bad = simulator.token_request("strava", grant_type="refresh_token", refresh_token="unknown")
    assert fault_of(bad) == (400, "refresh_token", "invalid")
    assert simulator.post_form(f"{API}/oauth/token", **CLIENT, grant_type="password").status == 400


def test_a_refresh_token_is_changed_once_the_access_token_is_nearly_over(simulator: RunningSimulator) -> None:
    first = simulator.tokens("strava", scope=ALL)
    early = simulator.exchange("strava", grant_type="refresh_token", refresh_token=str(first["refresh_token"]))
    assert early["refresh_token"] == first["refresh_token"]
    simulator.stop_clock("2026-11-01T17:00:00+00:00")
    late = simulator.exchange("strava", grant_type="refresh_token", refresh_token=str(first["refresh_token"]))
    assert late["refresh_token"] != first["refresh_token"]
    assert simulator.token_request(
        "strava", grant_type="refresh_token", refresh_token=str(first["refresh_token"])
    ).status == 400  # fmt: skip


def test_limits_are_told_and_kept_until_the_next_quarter_of_an_hour(simulator: RunningSimulator) -> None:
    assert simulator.post_json("/_control/strava/limits", {"quarter_hour": 2, "day": 3}).status == 200
    assert simulator.post_json("/_control/strava/limits", {"day": 3}).status == 422
    token = simulator.access_token("strava", scope=ALL)
    answers = [simulator.get(f"{API}/athlete", token) for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 200, 429]
    assert [answer.headers["x-ratelimit-usage"] for answer in answers] == ["1,1", "2,2", "3,3"]
    assert {answer.headers["x-readratelimit-limit"] for answer in answers} == {"2,3"}
    assert fault_of(answers[2]) == (429, "rate limit", "exceeded")
    simulator.stop_clock("2026-11-01T12:15:00+00:00")
    # What was refused counted for the day all the same.
    assert simulator.get(f"{API}/athlete", token).headers["x-ratelimit-usage"] == "1,4"
    simulator.stop_clock("2026-11-02T00:00:00+00:00")
    token = simulator.access_token("strava", scope=ALL)
    assert simulator.get(f"{API}/athlete", token).status == 200


def test_the_older_way_to_end_a_grant_needs_a_living_token(simulator: RunningSimulator) -> None:
    token = simulator.access_token("strava", scope=ALL)
    assert simulator.post_form("/strava/oauth/deauthorize", access_token=token).status == 200
    assert simulator.get(f"{API}/athlete", token).status == 401
    assert simulator.post_form("/strava/oauth/deauthorize", access_token=token).status == 401


def test_an_encoded_polyline_is_google_s() -> None:
    # The example of Google's description of the format.
    assert polyline([(38.5, -120.2), (40.7, -120.95), (43.252, -126.453)]) == "_p~iF~ps|U_ulLnnqC_mqNvxq`@"


def test_there_is_no_course_without_a_workout() -> None:
    person = person_of("strava:ada@example.com")
    idle = next(day for day in map(date.fromordinal, range(739_000, 739_100)) if activity_of(person, day) is None)
    with pytest.raises(ValueError, match="no workout"):
        course_of(person, idle)


class _Client(BaseHTTPRequestHandler):
    """A client's address: echoes challenges and keeps what it is told."""

    told: list[tuple[str, bytes]] = []
    echoes = True

    def do_GET(self) -> None:
        query = parse_qs(urlsplit(self.path).query)
        assert query["hub.mode"] == ["subscribe"]
        self._send({"hub.challenge": query["hub.challenge"][0] if type(self).echoes else "another"})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        type(self).told.append((self.headers["X-Strava-Signature"], body))
        self._send({})

    def _send(self, document: object) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(orjson.dumps(document))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's own name
        pass


@pytest.fixture
def client() -> Iterator[str]:
    _Client.told, _Client.echoes = [], True
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Client)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/hook"
    server.shutdown()
    server.server_close()
    thread.join()


def subscribed(simulator: RunningSimulator, url: str) -> Answer:
    return simulator.post_form(f"{API}/push_subscriptions", **CLIENT, callback_url=url, verify_token="v")


def test_a_client_has_one_subscription_after_its_address_echoed(simulator: RunningSimulator, client: str) -> None:
    _Client.echoes = False
    refused = subscribed(simulator, client)
    assert fault_of(refused) == (400, "callback url", "GET to callback URL does not return 200")
    _Client.echoes = True
    made = subscribed(simulator, client)
    assert made.status == 201
    assert fault_of(subscribed(simulator, client + "2")) == (400, "", "already exists")
    shown = listed(simulator.get(f"{API}/push_subscriptions", **CLIENT))
    assert shown == [{"id": made.json["id"], "callback_url": client}]
    path = f"{API}/push_subscriptions/{made.json['id']}?client_id={CLIENT_ID}&client_secret={CLIENT_SECRET}"
    assert [delete(simulator, path), delete(simulator, path)] == [204, 404]
    assert listed(simulator.get(f"{API}/push_subscriptions", **CLIENT)) == []
    assert simulator.get(f"{API}/push_subscriptions", client_id=CLIENT_ID, client_secret="wrong").status == 401


def delete(simulator: RunningSimulator, path: str) -> int:
    return ask(simulator.url, "DELETE", path).status


def test_events_are_signed_and_name_athlete_activity_and_subscription(simulator: RunningSimulator, client: str) -> None:
    simulator.access_token("strava", scope=ALL)
    subscription = subscribed(simulator, client).json["id"]
    event = {"slug": "strava", "account": "ada@example.com", "day": "2026-10-03"}
    for more in ({}, {"resource": "update"}, {"kind": "deregistered"}):
        assert simulator.post_json("/_control/notify", {**event, **more}).json["replies"] == [
            {"status": 200, "failure": ""}
        ]
    person = person_of("strava:ada@example.com")
    told = [orjson.loads(body) for _, body in _Client.told]
    assert [(one["object_type"], one["aspect_type"]) for one in told] == [
        ("activity", "create"),
        ("activity", "update"),
        ("athlete", "update"),
    ]
    activity = activity_of(person, date(2026, 10, 3))
    assert activity is not None
    assert [one["object_id"] for one in told] == [activity.id, activity.id, person.user_id]
    assert [one["updates"] for one in told] == [{}, {}, {"authorized": "false"}]
    assert {(one["owner_id"], one["subscription_id"]) for one in told} == {(person.user_id, subscription)}
    for signature, body in _Client.told:
        at, made = (part.partition("=")[2] for part in signature.split(","))
        signed = hmac.new(CLIENT_SECRET.encode(), at.encode() + b"." + body, hashlib.sha256)
        assert (made, int(at)) == (signed.hexdigest(), int(datetime(2026, 11, 1, 12, tzinfo=UTC).timestamp()))
