"""The simulator's generic data: pages, limits, ranges, and rows that appear when they are over."""

from datetime import date
from typing import Any

import pytest

from simulator.generic import CALLS_A_MINUTE
from simulator.generic_documents import DOCUMENTS
from simulator.generic_series import SERIES
from tests.simulator.running import Answer, RunningSimulator

DAYS = {"start": "2026-10-01", "end": "2026-10-31"}


@pytest.fixture
def token(simulator: RunningSimulator) -> str:
    """Somebody's access token at Garmin."""
    body = {"username": "dora@example.com", "password": "simulator"}
    return str(simulator.post_json("/garmin/password/login", body).json["access_token"])


def pages(simulator: RunningSimulator, token: str, resource: str, **query: str) -> list[Answer]:
    """Every page."""
    found: list[Answer] = []
    cursor = ""
    while not found or found[-1].json["next_cursor"]:
        found.append(
            simulator.get(f"/garmin/data/{resource}", token, **query, **({"cursor": cursor} if cursor else {}))
        )
        assert found[-1].status == 200, found[-1].text
        cursor = str(found[-1].json["next_cursor"] or "")
    return found


def rows(simulator: RunningSimulator, token: str, resource: str, **query: str) -> list[Any]:
    """Every row of every page."""
    data = [page.json["data"] for page in pages(simulator, token, resource, **query)]
    return [row for one in data if isinstance(one, list) for row in one]


@pytest.mark.parametrize("resource", [*SERIES, *DOCUMENTS])
def test_a_month_of_everything(simulator: RunningSimulator, token: str, resource: str) -> None:
    found = pages(simulator, token, resource, **DAYS)
    assert found[0].json["resource"] == resource
    assert found[0].json["time_zone"] == "America/New_York"
    unit = SERIES[resource].unit if resource in SERIES else None
    assert {page.json.get("unit") for page in found} == {unit}
    told = rows(simulator, token, resource, **DAYS)
    assert told
    keys = [str(row.get("id", row.get("workout_id", row.get("at", row.get("start"))))) for row in told]
    assert len(set(keys)) == len(keys)
    # A page's end is nobody's loss: the same rows come in whatever stretches they are asked for.
    halves = [
        *rows(simulator, token, resource, start="2026-10-01", end="2026-10-16"),
        *rows(simulator, token, resource, start="2026-10-17", end="2026-10-31"),
    ]
    assert halves == told


def test_what_is_not_over_is_not_told(simulator: RunningSimulator, token: str) -> None:
    days = rows(simulator, token, "activity", start="2026-10-30", end="2026-11-02")
    assert [row["day"] for row in days] == ["2026-10-30", "2026-10-31"]
    # The clock stands at 07:00 of the first of November in New York.
    beats = rows(simulator, token, "heartrate", start="2026-11-01", end="2026-11-01")
    assert max(row["at"] for row in beats) == "2026-11-01T07:00:00-05:00"


@pytest.mark.parametrize(
    "query",
    [
        {"start": "yesterday"},
        {"start": "2026-10-02", "end": "2026-10-01"},
        {"start": "2024-10-02", "end": "2026-10-01"},
        {**DAYS, "cursor": "x"},
        {**DAYS, "cursor": "2026-09-30.0"},
        {**DAYS, "cursor": "2026-10-01.-1"},
    ],
)
def test_bad_questions(simulator: RunningSimulator, token: str, query: dict[str, str]) -> None:
    assert simulator.get("/garmin/data/sleep", token, **query).status == 400


def test_tokens_of_others(simulator: RunningSimulator, token: str) -> None:
    assert simulator.get("/garmin/data/sleep", "nobody").status == 401
    assert simulator.get("/polar/data/sleep", token).status == 401
    assert simulator.get("/garmin/data/horoscope", token).status == 404


@pytest.mark.slow
def test_calls_are_limited(simulator: RunningSimulator, token: str) -> None:
    first = simulator.get("/garmin/data/profile", token)
    limit = {name: first.headers[f"ratelimit-{name}"] for name in ("limit", "remaining", "reset")}
    assert limit == {"limit": str(CALLS_A_MINUTE), "remaining": str(CALLS_A_MINUTE - 1), "reset": "60"}
    for _ in range(CALLS_A_MINUTE - 1):
        assert simulator.get("/garmin/data/profile", token).status == 200
    refused = simulator.get("/garmin/data/profile", token)
    assert (refused.status, refused.headers["retry-after"]) == (429, "60")
    simulator.stop_clock("2026-11-01T12:01:00+00:00")
    assert simulator.get("/garmin/data/profile", token).status == 200


def test_a_day_of_meals(simulator: RunningSimulator, token: str) -> None:
    meals = rows(simulator, token, "meal", start="2026-10-05", end="2026-10-05")
    assert [meal["name"] for meal in meals] == ["Breakfast", "Lunch", "Dinner"]
    for meal in meals:
        energy = 4 * (meal["carbohydrate_gram"] + meal["protein_gram"]) + 9 * meal["fat_gram"]
        assert meal["energy_kilojoule"] == pytest.approx(energy * 4.184, abs=0.5)
        assert date.fromisoformat(meal["at"][:10]) == date(2026, 10, 5)
