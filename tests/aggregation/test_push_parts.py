"""Pushed records that are part of others: the stages of a sleep, the course of a workout, samples of a workout."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from aggregation.models import Summary
from aggregation.records import DataSource, SummaryRecord
from aggregation.services import health_data_store
from healthsvc.kernel.scope import team_scope
from tests import factories
from tests.aggregation.pushing import Body, body_of, counts, heartbeat, receipt_of
from tests.aggregation.test_push import NIGHT
from tests.clients import ApiClient
from users.models import User
from webhooks.models import Event

RUN = {
    "id": "run-1",
    "time_start": "2026-03-01T08:00:00Z",
    "time_end": "2026-03-01T09:00:00Z",
    "sport": "running",
}
BEGIN = 1_772_352_000
STREAM: Body = {"workout_id": "run-1", "time": [BEGIN, BEGIN + 1, BEGIN + 2.5], "heartrate": [120, None, 125]}
CYCLE = {
    "session_start": NIGHT["bedtime_start"],
    "session_end": NIGHT["bedtime_stop"],
    "stage_start_offset_second": [0, 3_600],
    "stage_end_offset_second": [3_600, 28_800],
    "stage_type": [2, 1],
}


@pytest.fixture
def user(team: factories.Tenant) -> User:
    return factories.user_make(team)


def test_a_stream_comes_with_its_workout_or_after_it(api: ApiClient, user: User, team: factories.Tenant) -> None:
    receipt = receipt_of(api, user, body_of(None, {"workouts": [RUN], "workout_stream": [STREAM]}))
    assert receipt["summaries"] == {"workouts": counts(created=1), "workout_stream": counts(created=2, refused=1)}
    assert receipt["refused"] == [
        {
            "kind": "summaries",
            "resource": "workout_stream",
            "index": 0,
            "reason": "missing_field",
            "loc": ["time", 1],
            "count": 1,
        }
    ]
    later = {**STREAM, "time": [BEGIN + 3], "heartrate": [126], "lat": [52.5]}
    later["provider_id"] = later.pop("workout_id")
    receipt = receipt_of(api, user, body_of(None, {"workout_stream": [later]}))
    assert receipt["summaries"] == {"workout_stream": counts(created=1)}
    with team_scope(team.context):
        workout_id = Summary.objects.get().id
        types = set(Event.objects.values_list("event_type", flat=True))
    assert types == {"daily.data.workouts.created"} | {
        f"daily.data.workout_stream.{what}" for what in ("created", "updated")
    }
    read = api.get(f"/v2/timeseries/workouts/{workout_id}/stream").json()
    assert read["time"] == [BEGIN, BEGIN + 2, BEGIN + 3]
    assert read["heartrate"] == [120, 125, 126]


WRONG: list[tuple[Any, int, str]] = [
    ({**STREAM, "workout_id": "nobody"}, 3, "unknown_workout"),
    ({**STREAM, "workout_id": "a\u0000b"}, 3, "bad_value"),
    ({**STREAM, "workout_id": "a" * 256}, 3, "bad_value"),
    ({"time": [BEGIN], "heartrate": [60]}, 1, "missing_field"),
    ({**STREAM, "time": []}, 1, "missing_field"),
    ({**STREAM, "heartrate": [60]}, 3, "bad_value"),
    ({**STREAM, "time": [1e15, 1, 2]}, 3, "bad_date"),
    ({**STREAM, "mood": [1, 2, 3]}, 1, "unknown_field"),
    ({**STREAM, "time": "now"}, 1, "bad_value"),
    ({**STREAM, "heartrate": [60, 70, 9_000]}, 1, "out_of_range"),
    ("run-1", 1, "bad_value"),
]


def test_a_wrong_stream_is_named_and_its_neighbours_are_stored(api: ApiClient, user: User) -> None:
    given = [STREAM, *(one for one, _, _ in WRONG)]
    receipt = receipt_of(api, user, body_of(None, {"workouts": [RUN], "workout_stream": given}))
    refused = sum(number for _, number, _ in WRONG) + 1
    # Of the last one but one two moments are good; one of them changes nothing.
    assert receipt["summaries"]["workout_stream"] == counts(created=3, changed=1, refused=refused)
    named = {(one["index"], one["reason"]) for one in receipt["refused"]}
    expected = {(place, reason) for place, (_, _, reason) in enumerate(WRONG, start=1)}
    assert named == expected | {(0, "missing_field"), (1, "missing_field")}


def test_a_refused_stream_takes_one_place_among_the_named(api: ApiClient, user: User) -> None:
    long = {"workout_id": "nobody", "time": [BEGIN + second for second in range(1_500)], "heartrate": [120] * 1_500}
    low = {"workout_id": "run-1", "time": long["time"], "heartrate": [120, *[-1] * 1_499]}
    given = {"workouts": [RUN], "workout_stream": [long, low, {**long, "mood": [1]}], "sleep": ["night"]}
    receipt = receipt_of(api, user, body_of(None, given))
    assert receipt["summaries"]["workout_stream"] == counts(created=1, refused=3_000)
    assert receipt["refused_total"] == 3_001
    assert [(one["index"], one["reason"], one["loc"], one["count"]) for one in receipt["refused"]] == [
        (0, "bad_value", [], 1),
        (0, "unknown_workout", ["workout_id"], 1_500),
        (1, "out_of_range", ["heartrate", 1], 1_499),
        (2, "unknown_field", ["mood"], 1),
    ]


def test_a_name_is_a_providers_own(api: ApiClient, user: User, team: factories.Tenant) -> None:
    """What another provider calls a workout or a night is not what the sender calls so."""
    moment = datetime(2026, 3, 1, 8, tzinfo=UTC)
    source = DataSource("oura", "ring")
    run = SummaryRecord(
        resource="workouts",
        source=source,
        external_id="run-1",
        calendar_date=moment.date(),
        starts_at=moment,
        ends_at=moment,
        timezone_offset_seconds=None,
        fields={"sport": "running", "provider_id": "run-1"},
    )
    night: dict[str, Any] = {name: value for name, value in NIGHT.items() if not name.startswith("bedtime")}
    with team_scope(team.context):
        stored = health_data_store(
            team=team.context,
            user_id=user.id,
            summaries=[run, replace(run, resource="sleep", external_id="night-1", fields=night)],
        )
    assert stored.created == {"workouts": 1, "sleep": 1}
    given = {"workout_stream": [STREAM], "sleep_cycle": [{**CYCLE, "id": "c-1", "sleep_external_id": "night-1"}]}
    receipt = receipt_of(api, user, body_of(None, given))
    named = [(one["resource"], one["index"], one["reason"]) for one in receipt["refused"]]
    assert named == [
        ("sleep_cycle", 0, "unknown_parent"),
        ("workout_stream", 0, "missing_field"),
        ("workout_stream", 0, "unknown_workout"),
    ]


def test_stages_belong_to_a_sleep(api: ApiClient, user: User, team: factories.Tenant) -> None:
    given = {
        "sleep": [{**NIGHT, "id": "night-1"}],
        "sleep_cycle": [
            {**CYCLE, "id": "c-1", "sleep_external_id": "night-1"},
            {**CYCLE, "id": "c-2", "sleep_external_id": "night-2"},
            {**CYCLE, "id": "c-3", "sleep_id": "01934c7e-2b1d-7d04-8a7e-51d2f9b7c6aa"},
            {**CYCLE, "id": "c-4"},
        ],
    }
    receipt = receipt_of(api, user, body_of(None, given))
    assert receipt["summaries"] == {"sleep": counts(created=1), "sleep_cycle": counts(created=1, refused=3)}
    assert [(one["index"], one["reason"]) for one in receipt["refused"]] == [
        (1, "unknown_parent"),
        (2, "unknown_parent"),
        (3, "missing_field"),
    ]
    with team_scope(team.context):
        sleep_id = Summary.objects.get(resource="sleep").id
    stored = body_of(None, {"sleep_cycle": [{**CYCLE, "id": "c-5", "sleep_id": str(sleep_id)}]})
    assert receipt_of(api, user, stored)["summaries"] == {"sleep_cycle": counts(created=1)}


def test_stages_may_name_their_sleep_as_its_sender_does(api: ApiClient, user: User, team: factories.Tenant) -> None:
    """Under `sleep_id` too, as streams name their workout; a UUID there is an id of the service's."""
    given = {
        "sleep_cycle": [{**CYCLE, "id": "c-1", "sleep_id": "n1"}, {**CYCLE, "id": "c-2", "sleep_external_id": "n1"}],
        "sleep": [{**NIGHT, "id": "n1"}],
    }
    receipt = receipt_of(api, user, body_of(None, given))
    assert receipt["summaries"] == {"sleep": counts(created=1), "sleep_cycle": counts(created=2)}
    both = {**CYCLE, "id": "c-3", "sleep_id": "n1", "sleep_external_id": "n1"}
    receipt = receipt_of(api, user, body_of(None, {"sleep_cycle": [both]}))
    assert [(one["reason"], one["loc"]) for one in receipt["refused"]] == [("bad_value", ["sleep_id"])]
    with team_scope(team.context):
        sleep_id = str(Summary.objects.get(resource="sleep").id)
        cycles = list(Summary.objects.filter(resource="sleep_cycle"))
    assert [one.payload["sleep_id"] for one in cycles] == [sleep_id, sleep_id]


def test_samples_of_an_unknown_workout_are_noted(api: ApiClient, user: User) -> None:
    at = [f"2026-03-01T08:0{minute}:00Z" for minute in range(4)]
    given = [heartbeat(at[0], workout_id="run-1"), heartbeat(at[1]), heartbeat(at[2], workout_id="run-2")]
    given += [heartbeat(at[3], workout_id="run-2"), heartbeat(at[3], 9_000, workout_id="run-2")]
    receipt = receipt_of(api, user, body_of({"heartrate": given}, {"workouts": [RUN]}))
    assert receipt["timeseries"] == {"heartrate": counts(created=4, refused=1)}
    assert receipt["notes"] == [
        {"kind": "timeseries", "resource": "heartrate", "reason": "unknown_workout", "count": 2}
    ]
    receipt = receipt_of(api, user, body_of({"heartrate": given[:2]}))
    assert receipt["notes"] == []


def test_samples_may_name_their_workout(api: ApiClient, user: User) -> None:
    at = [f"2026-03-01T08:0{minute}:00Z" for minute in range(4)]
    given = [heartbeat(at[0], workout_id="run-1"), heartbeat(at[1]), heartbeat(at[2], workout_id="run-1")]
    given.append(heartbeat(at[3], 9_000, workout_id="run-1"))
    receipt = receipt_of(api, user, body_of({"heartrate": given}, {"workouts": [RUN]}))
    assert receipt["timeseries"] == {"heartrate": counts(created=3, refused=1)}
    assert receipt["refused"][0]["index"] == 3
    many = [
        heartbeat(f"2026-03-02T08:{number // 60:02}:{number % 60:02}Z", workout_id=str(number)) for number in range(201)
    ]
    receipt = receipt_of(api, user, body_of({"heartrate": many}))
    assert receipt["timeseries"] == {"heartrate": counts(created=200, refused=1)}
    assert [(one["index"], one["reason"]) for one in receipt["refused"]] == [(200, "too_many_workouts")]
