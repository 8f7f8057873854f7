"""Google Health's data: points that agree with the day, filters, pages, errors with reasons, a verified subscriber."""

from datetime import date
from typing import Any

import orjson
import pytest

from simulator.day import day_of
from simulator.person import person_of
from tests.simulator.running import CLIENT_ID, CLIENT_SECRET, Answer, RunningSimulator, ask

ME = "/google_health/v4/users/me"
SCOPES = "https://www.googleapis.com/auth/googlehealth."
ALL = " ".join(
    f"{SCOPES}{name}.readonly"
    for name in ("activity_and_fitness", "health_metrics_and_measurements", "sleep", "nutrition")
)
PERSON = person_of("person:ada")


@pytest.fixture
def token(simulator: RunningSimulator) -> str:
    """Everything of one person."""
    return simulator.access_token("google_health", scope=ALL, person="ada")


def post(simulator: RunningSimulator, path: str, document: object, token: str) -> Answer:
    """A JSON document with a token."""
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    return ask(simulator.url, "POST", path, orjson.dumps(document), headers)


def points(simulator: RunningSimulator, token: str, data_type: str, text: str, **query: str) -> list[dict[str, Any]]:
    """Every point of every page."""
    found: list[dict[str, Any]] = []
    asked = {"filter": text, **query}
    for _ in range(50):
        answer = simulator.get(f"{ME}/dataTypes/{data_type}/dataPoints", token, **asked)
        assert answer.status == 200, answer.body
        page: dict[str, Any] = answer.json
        found += page.get("dataPoints", [])
        if "nextPageToken" not in page:
            return found
        asked["pageToken"] = page["nextPageToken"]
    raise AssertionError("A listing without end.")


def test_points_of_every_page_are_the_days(simulator: RunningSimulator, token: str) -> None:
    text = 'heart_rate.sample_time.civil_time >= "2026-10-14" AND heart_rate.sample_time.civil_time < "2026-10-15"'
    found = points(simulator, token, "heart-rate", text, pageSize="100")
    beats = [one["heartRate"]["beatsPerMinute"] for one in found]
    worn = [str(slot.bpm) for slot in day_of(PERSON, date(2026, 10, 14)).slots if slot.bpm is not None]
    assert beats == worn[::-1]


def test_a_days_total_is_what_the_band_counted(simulator: RunningSimulator, token: str) -> None:
    text = 'steps.interval.civil_start_time >= "2026-10-14" AND steps.interval.civil_start_time < "2026-10-15"'
    counted = [one for one in points(simulator, token, "steps", text) if one["dataSource"]["platform"] == "FITBIT"]
    body = {
        "range": {
            "start": {"date": {"year": 2026, "month": 10, "day": 14}},
            "end": {"date": {"year": 2026, "month": 10, "day": 15}},
        }
    }
    answer = post(simulator, f"{ME}/dataTypes/steps/dataPoints:dailyRollUp", body, token)
    rollups: Any = answer.json["rollupDataPoints"]
    assert len(rollups) == 1
    assert int(rollups[0]["steps"]["countSum"]) == sum(int(one["steps"]["count"]) for one in counted)


@pytest.mark.parametrize(
    ("path", "text", "reason"),
    [
        ("heart-rate", 'heart-rate.sample_time.civil_time >= "2026-10-14"', "INVALID_DATA_POINT_FILTER"),
        ("heart-rate", 'heart_rate.interval.civil_start_time >= "2026-10-14"', "INVALID_DATA_POINT_FILTER"),
        ("heart-rate", 'heart_rate.sample_time.civil_time > "2026-10-14"', "INVALID_DATA_POINT_FILTER"),
        ("heart-rate", 'heart_rate.sample_time.civil_time >= "2026-10-99"', "INVALID_DATA_POINT_FILTER_SYNTAX"),
        ("heart", "", "INVALID_PARENT_DATA_TYPE_COLLECTION"),
    ],
)
def test_a_question_it_does_not_know_is_refused(
    simulator: RunningSimulator, token: str, path: str, text: str, reason: str
) -> None:
    answer = simulator.get(f"{ME}/dataTypes/{path}/dataPoints", token, filter=text)
    error: Any = answer.json["error"]
    assert (answer.status, error["details"][0]["reason"]) == (400, reason)


def test_a_page_belongs_to_its_question(simulator: RunningSimulator, token: str) -> None:
    path = f"{ME}/dataTypes/weight/dataPoints"
    following = simulator.get(path, token, pageSize="1").json["nextPageToken"]
    assert simulator.get(path, token, pageSize="1", pageToken=str(following)).status == 200
    assert simulator.get(path, token, pageSize="2", pageToken=str(following)).status == 400
    assert simulator.get(path, token, pageToken="nonsense").status == 400


def test_without_a_scope_or_a_token_it_says_why(simulator: RunningSimulator) -> None:
    sleep = simulator.access_token("google_health", scope=f"{SCOPES}sleep.readonly", person="ada")
    answer = simulator.get(f"{ME}/dataTypes/steps/dataPoints", sleep)
    error: Any = answer.json["error"]
    assert (answer.status, error["details"][0]["reason"]) == (403, "ACCESS_TOKEN_SCOPE_INSUFFICIENT")
    assert simulator.get(f"{ME}/identity", "dead").status == 401


def test_more_than_two_weeks_of_energy_are_refused(simulator: RunningSimulator, token: str) -> None:
    def status(data_type: str, last: int) -> int:
        days = {
            "start": {"date": {"year": 2026, "month": 10, "day": 1}},
            "end": {"date": {"year": 2026, "month": 10, "day": last}},
        }
        path = f"{ME}/dataTypes/{data_type}/dataPoints:dailyRollUp"
        return post(simulator, path, {"range": days}, token).status

    assert [status("total-calories", 15), status("total-calories", 16), status("steps", 31)] == [200, 400, 200]
    assert [status("steps", 1), status("sleep", 2), status("steps", 32)] == [400, 400, 400]


def test_a_refresh_gives_no_second_refresh_token(simulator: RunningSimulator) -> None:
    pair = simulator.tokens("google_health", scope=ALL)
    answer = simulator.post_form(
        "/google_health/oauth/token",
        grant_type="refresh_token",
        refresh_token=str(pair["refresh_token"]),
        client_id=CLIENT_ID,
        client_secret=CLIENT_SECRET,
    )
    assert answer.status == 200
    assert "refresh_token" not in answer.json
    assert simulator.get(f"{ME}/identity", str(answer.json["access_token"])).status == 200


def test_a_subscriber_is_the_operators_to_make(simulator: RunningSimulator) -> None:
    path = "/google_health/v4/projects/healthsvc/subscribers"
    assert post(simulator, path, {}, "nobody").status == 401
    assert post(simulator, path, {}, CLIENT_SECRET).status == 400
    assert simulator.get(path, CLIENT_SECRET).json == {}
