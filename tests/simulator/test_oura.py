"""Oura's data: pages that add up, documents that agree with each other, the same for ever, in plausible ranges."""

from collections.abc import Sequence
from datetime import date, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from simulator.person import person_of
from tests.simulator.running import RunningSimulator

COLLECTION = "/oura/v2/usercollection/"
MONTH = {"start_date": "2026-10-01", "end_date": "2026-10-31"}


def pages(simulator: RunningSimulator, token: str, name: str, **query: str) -> list[list[dict[str, Any]]]:
    """Every page of a listing."""
    found: list[list[dict[str, Any]]] = []
    following: object = None
    while following is not None or not found:
        more = {"next_token": str(following)} if following else {}
        answer = simulator.get(COLLECTION + name, token, **query, **more)
        assert answer.status == 200, answer.body
        data, following = answer.json["data"], answer.json["next_token"]
        assert isinstance(data, list)
        found.append(data)
    return found


def everything(simulator: RunningSimulator, token: str, name: str, **query: str) -> list[dict[str, Any]]:
    return [row for page in pages(simulator, token, name, **query) for row in page]


def seconds_between(start: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()


def test_pages_of_a_month_hold_each_day_once(simulator: RunningSimulator) -> None:
    found = pages(simulator, simulator.access_token(), "daily_activity", **MONTH)
    assert [len(page) for page in found] == [12, 12, 7]
    assert [row["day"] for page in found for row in page] == [f"2026-10-{day:02}" for day in range(1, 32)]


def test_pages_of_heart_rate_hold_each_point_once(simulator: RunningSimulator) -> None:
    token = simulator.access_token()
    week = {"start_datetime": "2026-10-05T00:00:00+00:00", "end_datetime": "2026-10-12T00:00:00+00:00"}
    found = pages(simulator, token, "heartrate", **week)
    assert {len(page) for page in found[:-1]} == {1000}
    points = [point["timestamp_unix"] for page in found for point in page]
    assert points == sorted(set(points))
    days = [
        everything(
            simulator,
            token,
            "heartrate",
            start_datetime=f"2026-10-{day:02}T00:00:00+00:00",
            end_datetime=f"2026-10-{day + 1:02}T00:00:00+00:00",
        )
        for day in range(5, 12)
    ]
    assert [point["timestamp_unix"] for points_of_day in days for point in points_of_day] == points


def test_a_page_token_belongs_to_its_question(simulator: RunningSimulator) -> None:
    token = simulator.access_token()
    first = simulator.get(COLLECTION + "daily_activity", token, **MONTH).json["next_token"]
    for query in ({**MONTH, "next_token": "guess"}, {"start_date": "2026-10-02", "next_token": str(first)}):
        assert simulator.get(COLLECTION + "daily_activity", token, **query).status == 400


def test_the_same_person_is_the_same_after_a_restart(simulator: RunningSimulator, tmp_path: Path) -> None:
    names = ("daily_activity", "daily_sleep", "sleep", "workout")
    token = simulator.access_token()
    before = [everything(simulator, token, name, **MONTH) for name in names]
    with RunningSimulator(tmp_path / "other.sqlite3") as other:
        assert [everything(other, other.access_token(), name, **MONTH) for name in names] == before
        assert everything(other, other.access_token(email="bob@example.com"), "sleep", **MONTH) != before[2]


def test_a_known_day_never_changes(simulator: RunningSimulator) -> None:
    token = simulator.access_token()
    (day,) = everything(simulator, token, "daily_activity", start_date="2026-10-20", end_date="2026-10-20")
    assert (day["steps"], day["active_calories"], day["timestamp"]) == (9565, 530, "2026-10-20T04:00:00.000-07:00")
    assert day["id"] == "e11b1c14-9f1d-433f-b3f6-985d84ef94e8"


def test_a_state_outlives_a_restart(tmp_path: Path) -> None:
    simulator = RunningSimulator(tmp_path / "simulator.sqlite3")
    with simulator:
        simulator.stop_clock("2026-11-01T12:00:00+00:00")
        token, code = simulator.access_token(), simulator.code()
    with simulator:
        assert simulator.get(COLLECTION + "personal_info", token).status == 200
        asked = {"grant_type": "authorization_code", "redirect_uri": "http://127.0.0.1:9/callback?tenant=1"}
        assert simulator.token_request("oura", code=code, **asked).status == 200


def test_a_person_may_be_named_by_the_client(simulator: RunningSimulator) -> None:
    ada = simulator.access_token(email="ada@example.com", person="seed-7")
    bob = simulator.access_token(email="bob@example.com", person="seed-7")
    of_ada, of_bob = (everything(simulator, token, "sleep", **MONTH) for token in (ada, bob))
    assert of_ada == of_bob


def test_documents_agree_with_each_other(simulator: RunningSimulator) -> None:
    token = simulator.access_token()
    days = everything(simulator, token, "daily_activity", **MONTH)
    # The clocks go back in the night after 31 October, before 4 a.m., so that activity day has 25 hours.
    assert [300 * len(day["class_5_min"]) for day in days] == [86_400] * 30 + [90_000]
    for day in days:
        parts = ("high_activity", "medium_activity", "low_activity", "sedentary", "resting", "non_wear")
        covered = sum(day[f"{part}_time"] for part in parts)
        assert covered == 300 * len(day["class_5_min"]) == 60 * len(day["met"]["items"])
    nights = everything(simulator, token, "sleep", **MONTH)
    assert len([night for night in nights if night["type"] == "long_sleep"]) == 31
    for night in nights:
        in_bed = seconds_between(night["bedtime_start"], night["bedtime_end"])
        stages = [night[f"{stage}_sleep_duration"] for stage in ("deep", "light", "rem")]
        assert sum(stages) == night["total_sleep_duration"]
        assert in_bed == night["time_in_bed"] == night["total_sleep_duration"] + night["awake_time"]
        assert in_bed == 300 * len(night["sleep_phase_5_min"]) == 30 * len(night["sleep_phase_30_sec"])
        assert night["deep_sleep_duration"] == 300 * night["sleep_phase_5_min"].count("1")
        assert min(night["heart_rate"]["items"]) == night["lowest_heart_rate"]
        assert night["bedtime_end"][:10] == night["day"]


def test_heart_rate_follows_nights_and_workouts(simulator: RunningSimulator) -> None:
    token = simulator.access_token()
    (night, *_) = everything(simulator, token, "sleep", start_date="2026-10-20", end_date="2026-10-20")
    asleep = everything(
        simulator, token, "heartrate", start_datetime=night["bedtime_start"], end_datetime=night["bedtime_end"]
    )
    assert [point["bpm"] for point in asleep] == night["heart_rate"]["items"]
    assert {point["source"] for point in asleep} == {"sleep"}
    (workout,) = everything(simulator, token, "workout", start_date="2026-10-20", end_date="2026-10-20")
    trained = everything(
        simulator,
        token,
        "heartrate",
        start_datetime=workout["start_datetime"],
        end_datetime=workout["end_datetime"],
    )
    minutes = seconds_between(workout["start_datetime"], workout["end_datetime"]) / 60
    assert {point["source"] for point in trained} == {"workout"}
    gaps = {later["timestamp_unix"] - earlier["timestamp_unix"] for earlier, later in pairwise(trained)}
    assert (len(trained), gaps) == (int(minutes), {60_000})


def within(values: Sequence[float], low: float, high: float) -> bool:
    return bool(values) and low <= min(values) and max(values) <= high


@pytest.mark.parametrize("email", ["ada@example.com", "bob@example.com", "eve@example.org"])
def test_every_number_is_plausible(simulator: RunningSimulator, email: str) -> None:
    token = simulator.access_token(email=email)
    days = everything(simulator, token, "daily_activity", **MONTH)
    assert within([day["steps"] for day in days], 1_500, 30_000)
    assert within([day["active_calories"] for day in days], 20, 1_800)
    assert within([day["total_calories"] for day in days], 1_200, 4_500)
    assert within([item for day in days for item in day["met"]["items"]], 0.9, 12)
    nights = [night for night in everything(simulator, token, "sleep", **MONTH) if night["type"] == "long_sleep"]
    assert within([night["total_sleep_duration"] / 3600 for night in nights], 4, 10)
    assert within([night["efficiency"] for night in nights], 75, 100)
    assert within([night["average_heart_rate"] for night in nights], 38, 85)
    assert within([night["average_hrv"] for night in nights], 10, 130)
    assert within([night["average_breath"] for night in nights], 11, 19)
    assert within([night["deep_sleep_duration"] / night["total_sleep_duration"] for night in nights], 0.08, 0.35)
    assert within([night["readiness"]["temperature_deviation"] for night in nights], -0.5, 0.5)
    points = everything(
        simulator,
        token,
        "heartrate",
        start_datetime="2026-10-01T00:00:00+00:00",
        end_datetime="2026-10-08T00:00:00+00:00",
    )
    assert within([point["bpm"] for point in points], 38, 195)
    for workout in everything(simulator, token, "workout", **MONTH):
        hours = seconds_between(workout["start_datetime"], workout["end_datetime"]) / 3600
        assert 0.25 <= hours <= 1.5
        assert 20 <= workout["calories"] <= 1_200
        assert workout["distance"] is None or 1 <= workout["distance"] / 1000 / hours <= 30


def test_nothing_is_older_than_the_device_or_newer_than_now(simulator: RunningSimulator) -> None:
    token = simulator.access_token()
    early = {"start_date": "2000-01-01", "end_date": "2024-01-02"}
    late = {"start_date": "2026-10-30", "end_date": "2100-01-01"}
    zone = person_of("oura:ada@example.com").zone
    assert zone == "America/Los_Angeles"  # so that the stopped clock, 12:00 UTC, says 4 a.m. on 1 November there
    assert [day["day"] for day in everything(simulator, token, "daily_activity", **early)] == [
        "2024-01-01",
        "2024-01-02",
    ]
    days = everything(simulator, token, "daily_activity", **late)
    assert [day["day"] for day in days] == ["2026-10-30", "2026-10-31"]
    assert everything(simulator, token, "sleep", **late)[-1]["day"] == "2026-10-31"
    points = everything(
        simulator,
        token,
        "heartrate",
        start_datetime="2026-11-01T11:00:00Z",
        end_datetime="2026-12-01T00:00:00Z",
    )
    assert points[-1]["timestamp"] == "2026-11-01T11:55:00.000Z"
    simulator.stop_clock("2026-11-02T12:00:00+00:00")
    token = simulator.access_token()
    later = everything(simulator, token, "daily_activity", start_date="2026-10-31", end_date="2026-11-02")
    assert [day["day"] for day in later] == ["2026-10-31", "2026-11-01"]
    assert later[0] == days[-1]


def test_the_night_the_clocks_go_back_has_its_extra_hour(simulator: RunningSimulator) -> None:
    simulator.stop_clock("2026-11-03T00:00:00+00:00")
    token = simulator.access_token()
    (night, *_) = everything(simulator, token, "sleep", start_date="2026-11-01", end_date="2026-11-01")
    offsets = {night["bedtime_start"][-6:], night["bedtime_end"][-6:]}
    assert offsets == {"-07:00", "-08:00"}
    assert seconds_between(night["bedtime_start"], night["bedtime_end"]) == night["time_in_bed"]


def test_without_dates_the_last_two_days_are_meant(simulator: RunningSimulator) -> None:
    simulator.stop_clock("2026-10-21T23:00:00+00:00")
    rows = everything(simulator, simulator.access_token(), "sleep")
    assert {row["day"] for row in rows} == {"2026-10-20", "2026-10-21"}


def test_only_the_asked_fields_are_answered(simulator: RunningSimulator) -> None:
    (row,) = everything(
        simulator,
        simulator.access_token(),
        "daily_sleep",
        start_date="2026-10-20",
        end_date="2026-10-20",
        fields="day,score",
    )
    assert set(row) == {"id", "day", "score"}


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("sleep", {"start_date": "2026-10-02", "end_date": "2026-10-01"}),
        ("sleep", {"start_date": "yesterday"}),
        ("workout", {"end_date": "2026-13-01"}),
        ("heartrate", {"start_datetime": "2026-10-02T00:00:00Z", "end_datetime": "2026-10-01T00:00:00Z"}),
        ("heartrate", {"start_datetime": "noon"}),
    ],
)
def test_a_bad_range_is_a_400(simulator: RunningSimulator, name: str, query: dict[str, str]) -> None:
    answer = simulator.get(COLLECTION + name, simulator.access_token(), **query)
    assert (answer.status, set(answer.json)) == (400, {"detail"})


@pytest.mark.parametrize("name", ["personal_info", "daily_activity", "daily_sleep", "sleep", "heartrate", "workout"])
def test_a_bad_token_is_a_401_and_a_missing_scope_a_403(simulator: RunningSimulator, name: str) -> None:
    assert simulator.get(COLLECTION + name, "guess").status == 401
    assert simulator.get(COLLECTION + name, simulator.access_token(scope="email")).status == 403


def test_personal_info_tells_the_address_only_with_its_scope(simulator: RunningSimulator) -> None:
    with_email = simulator.get(COLLECTION + "personal_info", simulator.access_token()).json
    without = simulator.get(COLLECTION + "personal_info", simulator.access_token(scope="personal")).json
    assert set(with_email) == {"id", "age", "weight", "height", "biological_sex", "email"}
    assert (with_email["email"], without["email"]) == ("ada@example.com", None)
    assert with_email["id"] == without["id"]
    assert date(2026, 11, 1).year - int(str(with_email["age"])) == 1962
