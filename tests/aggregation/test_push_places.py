"""What a receipt or a refusal says of a mistake: which field it is in, and what to send instead."""

from datetime import date
from pathlib import Path
from typing import Any

import orjson
import pytest

from aggregation.models import Summary
from healthsvc.kernel.scope import team_scope
from tests import factories
from tests.aggregation.pushing import Body, body_of, counts, heartbeat, receipt_of
from tests.aggregation.test_push import DAY, NIGHT, nothing_is_stored
from tests.aggregation.test_push_parts import CYCLE, RUN
from tests.clients import ApiClient
from tests.documents import TEAM_URLCONF, document
from users.models import User

AT = f"{DAY}T08:00:00Z"
LASTING = {"start": AT, "end": f"{DAY}T08:01:00Z", "value": 1}


@pytest.fixture
def user(team: factories.Tenant) -> User:
    return factories.user_make(team)


SAMPLES: list[tuple[str, Any, str, list[Any]]] = [
    ("heartrate", heartbeat(AT, 4_000.0), "out_of_range", ["value"]),
    ("heartrate", heartbeat("1700-01-01T08:00:00Z"), "bad_date", ["timestamp"]),
    ("heartrate", heartbeat(AT, pulse=3), "unknown_field", ["pulse"]),
    ("heartrate", heartbeat(AT, **{"Pulse of Ann": 3}), "unknown_field", []),
    ("heartrate", heartbeat(AT, **{"a": 1, "b` - at `$.value": 3}), "unknown_field", ["a"]),
    ("heartrate", heartbeat(AT, type="a" * 61), "bad_value", ["type"]),
    ("heart_rate_alert", {**LASTING, "type": "guess"}, "bad_value", ["type"]),
    ("steps", {**LASTING, "end": f"{DAY}T07:00:00Z"}, "end_before_start", ["end"]),
    ("steps", {**LASTING, "start": "1700-01-01T08:00:00Z"}, "bad_date", ["start"]),
    ("steps", {**LASTING, "end": "2300-01-01T08:00:00Z"}, "bad_date", ["end"]),
    ("blood_pressure", {"timestamp": AT, "systolic": 121}, "missing_field", ["diastolic"]),
    ("blood_pressure", {"timestamp": AT, "systolic": 121, "diastolic": 9_000}, "out_of_range", ["diastolic"]),
    ("note", {"start": AT, "value": "x" * 5_001}, "bad_value", ["value"]),
    ("note", {"start": AT, "content": "Slept", "tags": ["dream"]}, "bad_value", ["tags"]),
    ("note", {"start": AT, "content": "Slept", "tags": [1]}, "bad_value", ["tags", 0]),
    ("workout_stream", {"workout_id": "run-1", "heartrate": [1]}, "missing_field", ["time"]),
    ("workout_stream", {"workout_id": "run-1", "time": [1], "start": AT}, "unknown_field", ["start"]),
]


@pytest.mark.parametrize(("resource", "record", "reason", "loc"), SAMPLES)
def test_a_receipt_names_the_field_of_a_sample(
    api: ApiClient, user: User, resource: str, record: Any, reason: str, loc: list[Any]
) -> None:
    lists = {resource: [record]}
    receipt = receipt_of(api, user, body_of(None, lists) if resource == "workout_stream" else body_of(lists))
    assert [(one["reason"], one["loc"]) for one in receipt["refused"]] == [(reason, loc)]


ACTIVITY: Body = {"calendar_date": DAY}
PERIOD: Body = {"period_start": DAY}
SUMMARIES: list[tuple[str, Any, str, list[Any]]] = [
    ("activity", {**ACTIVITY, "heart_rate": {"avg_bpm": 9_000}}, "out_of_range", ["heart_rate", "avg_bpm"]),
    ("activity", {**ACTIVITY, "heart_rate": {"mood": 1}}, "unknown_field", ["heart_rate", "mood"]),
    ("activity", {**ACTIVITY, "heart_rate": 60}, "bad_value", ["heart_rate"]),
    ("activity", {"steps": 3}, "missing_field", ["calendar_date"]),
    ("activity", {"calendar_date": "1800-01-01"}, "bad_date", ["calendar_date"]),
    ("sleep", {name: value for name, value in NIGHT.items() if name != "total"}, "missing_field", ["total"]),
    ("sleep", {**NIGHT, "dreams": 3}, "unknown_field", ["dreams"]),
    ("sleep", {**NIGHT, "Dreams of Ann": 3}, "unknown_field", []),
    ("sleep", {**NIGHT, "state": 7}, "bad_value", ["state"]),
    ("sleep", {**NIGHT, "id": "a" * 300}, "bad_value", ["id"]),
    ("sleep", {**NIGHT, "bedtime_stop": "2026-02-27T22:00:00Z"}, "end_before_start", ["bedtime_stop"]),
    ("sleep_cycle", {**CYCLE, "id": "c"}, "missing_field", ["sleep_id"]),
    ("sleep_cycle", {**CYCLE, "id": "c", "sleep_id": 7}, "bad_value", ["sleep_id"]),
    ("sleep_cycle", {**CYCLE, "id": "c", "sleep_id": "nobody"}, "unknown_parent", ["sleep_id"]),
    ("sleep_cycle", {**CYCLE, "id": "c", "sleep_external_id": ""}, "bad_value", ["sleep_external_id"]),
    ("sleep_cycle", {**CYCLE, "id": "c", "sleep_external_id": "no"}, "unknown_parent", ["sleep_external_id"]),
    ("sleep_cycle", {**CYCLE, "sleep_id": "n", "stage_type": [9, 1]}, "out_of_range", ["stage_type", 0]),
    ("menstrual_cycle", {}, "missing_field", ["period_start"]),
    ("menstrual_cycle", {"period_start": "May"}, "bad_date", ["period_start"]),
    (
        "menstrual_cycle",
        {**PERIOD, "menstrual_flow": [{"date": DAY, "flow": "light"}, {"date": DAY}]},
        "missing_field",
        ["menstrual_flow", 1, "flow"],
    ),
    ("workouts", {**RUN, "sport": "quidditch"}, "bad_value", ["sport"]),
    ("workouts", {**RUN, "sport": 100_000}, "bad_value", ["sport"]),
    ("workouts", {**RUN, "sport": True}, "bad_value", ["sport"]),
    ("workouts", {**RUN, "sport": {"id": 2, "slug": "running"}}, "bad_value", ["sport"]),
    ("workouts", {**RUN, "sport": {"name": "Running"}}, "bad_value", ["sport"]),
    ("workouts", {**RUN, "sport": {"slug": "running", "colour": "red"}}, "bad_value", ["sport"]),
    ("device", {"device_version": "1"}, "missing_field", ["id"]),
    ("device", {"device_model": "a" * 256}, "bad_value", ["device_model"]),
]


@pytest.mark.parametrize(("resource", "record", "reason", "loc"), SUMMARIES)
def test_a_receipt_names_the_field_of_a_summary(
    api: ApiClient, user: User, resource: str, record: Any, reason: str, loc: list[Any]
) -> None:
    receipt = receipt_of(api, user, body_of(None, {resource: [record]}, source={"type": "watch"}))
    assert [(one["reason"], one["loc"]) for one in receipt["refused"]] == [(reason, loc)]


@pytest.mark.parametrize("sport", ["running", 3, {"id": 3, "name": "Running", "slug": "running"}, {"id": 3}])
def test_a_sport_is_taken_by_slug_id_or_as_it_is_answered(
    api: ApiClient, user: User, team: factories.Tenant, sport: Any
) -> None:
    receipt = receipt_of(api, user, body_of(None, {"workouts": [{**RUN, "sport": sport}]}))
    assert receipt["summaries"] == {"workouts": counts(created=1)}
    (read,) = api.get(f"/v2/summary/workouts/{user.id}", {"start_date": DAY, "end_date": DAY}).json()["workouts"]
    assert read["sport"] == {"id": 3, "name": "Running", "slug": "running"}
    again = receipt_of(api, user, body_of(None, {"workouts": [{**RUN, "sport": read["sport"]}]}))
    assert again["summaries"] == {"workouts": counts(unchanged=1)}


FAULTS: list[tuple[Any, list[Any], str]] = [
    ({}, ["body", "provider"], "is needed"),
    ({"provider": "manual", "timeserieses": {}}, ["body", "timeserieses"], "not known here"),
    ({"provider": "manual", "Ann is ill": {}}, ["body"], "not known here"),
    ({"provider": "manual", "source": {"model": "x"}}, ["body", "source", "model"], "not known here"),
    ({"provider": 7}, ["body", "provider"], "a text"),
    ({"provider": "manual", "time_zone": 7}, ["body", "time_zone"], "a text or null"),
    ({"provider": "manual", "source": "watch"}, ["body", "source"], "an object"),
    ({"provider": "manual", "timeseries": []}, ["body", "timeseries"], "object of lists"),
    ({"provider": "manual", "timeseries": {"steps": {}}}, ["body", "timeseries", "steps"], "list of objects"),
    ({"provider": "manual", "batch_id": ""}, ["body", "batch_id"], "1 to 200 characters"),
    ({"provider": "manual", "batch_id": "a" * 201}, ["body", "batch_id"], "1 to 200 characters"),
    ({"provider": "manual", "source": {"app_id": "a" * 256}}, ["body", "source", "app_id"], "at most 255 characters"),
    ({"provider": "nobody", "timeseries": {}}, ["body", "provider"], "/v2/user/providers/"),
    ({"provider": "manual"}, ["body"], "Send one or both"),
    ([], ["body"], "an object"),
]


@pytest.mark.parametrize(("body", "loc", "words"), FAULTS)
def test_a_refusal_of_a_body_says_what_to_do(api: ApiClient, user: User, body: Any, loc: list[Any], words: str) -> None:
    answer = api.request("POST", f"/v2/user/{user.id}/data", data=orjson.dumps(body))
    assert answer.status_code == 422
    (problem,) = answer.json()["detail"]
    assert problem["loc"] == loc
    assert words in problem["msg"]


def test_a_name_of_the_senders_own_is_not_repeated(api: ApiClient, user: User) -> None:
    body = b'{"provider":"manual","timeseries":{"Ann is ill":[],"Ann is ill":[]}}'
    answer = api.request("POST", f"/v2/user/{user.id}/data", data=body)
    assert [one["loc"] for one in answer.json()["detail"]] == [["body", "timeseries"]]


@pytest.mark.parametrize("half", ["timeseries", "summaries"])
def test_resources_of_a_push_are_bounded(api: ApiClient, user: User, team: factories.Tenant, half: str) -> None:
    def body(names: int) -> Body:
        return {"provider": "manual", half: {f"resource_{number}": [1] for number in range(names)}}

    receipt = receipt_of(api, user, body(200))
    assert receipt["refused_total"] == 200
    answer = api.request("POST", f"/v2/user/{user.id}/data", data=orjson.dumps(body(201)))
    assert answer.status_code == 422
    (problem,) = answer.json()["detail"]
    assert problem["loc"] == ["body", half]
    assert "at most 200" in problem["msg"]
    many = {"provider": "manual", "timeseries": {}, **{f"field_{number}": 1 for number in range(200)}}
    answer = api.request("POST", f"/v2/user/{user.id}/data", data=orjson.dumps(many))
    assert [one["loc"] for one in answer.json()["detail"]] == [["body"]]
    assert nothing_is_stored(team)


def test_a_menstrual_cycle_is_of_the_day_its_period_begins(api: ApiClient, user: User, team: factories.Tenant) -> None:
    cycle = {**PERIOD, "period_end": "2026-03-05", "calendar_date": "2026-03-09"}
    receipt = receipt_of(api, user, body_of(None, {"menstrual_cycle": [PERIOD, cycle]}))
    assert receipt["summaries"] == {"menstrual_cycle": counts(created=1, changed=1)}
    with team_scope(team.context):
        assert Summary.objects.get().calendar_date.isoformat() == DAY
    read = api.get(f"/v2/summary/menstrual_cycle/{user.id}", {"start_date": DAY, "end_date": DAY}).json()
    assert [one["period_end"] for one in read["menstrual_cycle"]] == ["2026-03-05"]


def test_devices_are_of_no_day_and_named_by_id_or_make(api: ApiClient, team: factories.Tenant) -> None:
    user = factories.user_make(team, ingestion_start=date(2026, 1, 1))
    bare: Body = {"type": "watch"}
    made = {"device_manufacturer": "Acme", "device_model": "Ring 2", "calendar_date": DAY}
    given = [{"id": "w-2", "device_model": "Watch"}, made]
    receipt = receipt_of(api, user, body_of(None, {"device": given}, source=bare))
    assert receipt["summaries"] == {"device": counts(created=2)}
    receipt = receipt_of(api, user, body_of(None, {"device": [{"device_model": "Band"}]}))
    assert receipt["summaries"] == {"device": counts(created=1)}
    again = receipt_of(api, user, body_of(None, {"devices": [{**made, "calendar_date": "2026-03-02"}]}, source=bare))
    assert again["summaries"] == {"devices": counts(unchanged=1)}
    shown = api.get(f"/v2/user/{user.id}/device").json()
    assert {(one["device_id"], one["device_model"]) for one in shown} == {
        ("w-2", "Watch"),
        ("Acme Ring 2", "Ring 2"),
        ("w-1", "Band"),
    }
    raws = api.get(f"/v2/summary/devices/{user.id}/raw").json()["devices"]
    assert all("calendar_date" not in one["data"] for one in raws)
    assert len(raws) == 3


def test_the_documented_examples_can_be_pushed(api: ApiClient, user: User) -> None:
    described_all = document(TEAM_URLCONF)
    operation = described_all["paths"]["/v2/user/{user_id}/data"]["post"]
    described = operation["requestBody"]["content"]["application/json"]
    (example,) = described["examples"].values()
    assert b"hypnogram" not in orjson.dumps(described_all["components"]["schemas"]["PushBodyShapeRequest"])
    receipt = receipt_of(api, user, example["value"])
    assert (receipt["refused"], receipt["notes"]) == ([], [])
    assert {*receipt["timeseries"], *receipt["summaries"]} == {
        "heartrate", "steps", "sleep", "workouts", "workout_stream",
    }  # fmt: skip
    page = (Path(__file__).parents[2] / "docs" / "push.md").read_text()
    posted = page.partition(" -d '")[2].partition("'\n")[0]
    stages = page.partition("**Stages of a sleep.**")[2].partition("```json\n")[2].partition("```")[0]
    for text in (posted, stages):
        receipt = receipt_of(api, user, {**orjson.loads(text), "batch_id": text[:100]})
        assert (receipt["refused"], receipt["notes"]) == ([], [])
