"""Reading summaries over HTTP."""

from collections.abc import Callable
from datetime import date
from typing import Any
from uuid import uuid4

import pytest

from aggregation.models import Summary
from aggregation.records import DataSource, SummaryRecord
from aggregation.registry import provider_name
from aggregation.services import health_data_store
from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.scope import team_scope
from tests import factories
from tests.aggregation.summaries import changed, day, night, run
from tests.clients import ApiClient
from users.models import User

Store = Callable[..., None]
SOURCE = {
    "provider": "oura", "type": "ring", "app_id": None, "device_id": None, "slug": "oura", "workout_id": None,
    "sport": None,
}  # fmt: skip


@pytest.fixture
def user(team: factories.Tenant) -> User:
    return factories.user_make(team)


@pytest.fixture
def store(team: factories.Tenant, user: User) -> Store:
    def stored(*summaries: SummaryRecord) -> None:
        with team_scope(team.context):
            health_data_store(team=team.context, user_id=user.id, summaries=summaries)

    return stored


def read(api: ApiClient, user: User, resource: str, **query: str) -> list[dict[str, Any]]:
    response = api.get(f"/v2/summary/{resource}/{user.id}", {"start_date": "2026-03-01", **query})
    assert response.status_code == 200, response.content
    answer: dict[str, list[dict[str, Any]]] = response.json()
    assert list(answer) == [resource]
    return answer[resource]


def common(team: factories.Tenant, user: User) -> dict[str, Any]:
    with team_scope(team.context):
        row = Summary.objects.get()
    oura = provider_name("oura")
    return {
        "id": str(row.id),
        "user_id": str(user.id),
        "calendar_date": "2026-03-02",
        "source": {**SOURCE, "name": oura.name, "logo": oura.logo},
        "created_at": utc_text(row.created_at),
        "updated_at": utc_text(row.updated_at),
    }


def test_a_night_has_every_field(api: ApiClient, team: factories.Tenant, user: User, store: Store) -> None:
    store(night(efficiency=93.75, hr_lowest=48))
    assert read(api, user, "sleep") == [
        {
            **common(team, user),
            "date": "2026-03-02T00:00:00+00:00",
            "bedtime_start": "2026-03-02T00:00:00+00:00",
            "bedtime_stop": "2026-03-02T08:00:00+00:00",
            "type": "long_sleep",
            "state": None,
            "timezone_offset": 3_600,
            "duration": 28_800,
            "total": 27_000,
            "awake": 1_800,
            "light": 15_000,
            "rem": 6_000,
            "deep": 6_000,
            "score": None,
            "recovery_readiness_score": None,
            "hr_lowest": 48,
            "hr_average": None,
            "hr_resting": None,
            "efficiency": 93.75,
            "latency": None,
            "temperature_delta": None,
            "skin_temperature": None,
            "hr_dip": None,
            "average_hrv": None,
            "respiratory_rate": None,
            "sleep_stream": None,
        }
    ]


def test_a_day_of_activity_has_every_field(api: ApiClient, team: factories.Tenant, user: User, store: Store) -> None:
    store(day(calories_active=410.5, heart_rate={"avg_bpm": 61}, wheelchair_use=True))
    absent = (
        "calories_total", "daily_movement", "distance", "low", "medium", "high", "floors_climbed", "time_zone",
        "timezone_offset", "wheelchair_push",
    )  # fmt: skip
    assert read(api, user, "activity") == [
        {
            **common(team, user),
            **dict.fromkeys(absent),
            "date": "2026-03-02T00:00:00+00:00",
            "steps": 9_000,
            "calories_active": 410.5,
            "heart_rate": {
                "avg_bpm": 61.0, "min_bpm": None, "max_bpm": None, "resting_bpm": None, "avg_walking_bpm": None,
            },
            "wheelchair_use": True,
        }
    ]  # fmt: skip


def test_a_workout_has_every_field_and_its_sport(
    api: ApiClient, team: factories.Tenant, user: User, store: Store
) -> None:
    store(run(distance=10_000.0, hr_zones=[0, 600, 1_800, 900, 300, 0]))
    absent = (
        "title", "average_hr", "max_hr", "calories", "moving_time", "total_elevation_gain", "elev_high", "elev_low",
        "average_speed", "max_speed", "average_watts", "device_watts", "max_watts", "weighted_average_watts", "steps",
        "map",
    )  # fmt: skip
    assert read(api, user, "workouts") == [
        {
            **common(team, user),
            **dict.fromkeys(absent),
            "timezone_offset": 3_600,
            "time_start": "2026-03-02T17:00:00+00:00",
            "time_end": "2026-03-02T18:00:00+00:00",
            "distance": 10_000.0,
            "hr_zones": [0, 600, 1_800, 900, 300, 0],
            "sport": {"id": 3, "name": "Running", "slug": "running"},
            "provider_id": "run-1",
        }
    ]


def test_a_sport_of_a_later_release_does_not_break_the_answer(
    api: ApiClient, team: factories.Tenant, user: User, store: Store
) -> None:
    store(run())
    with team_scope(team.context):
        row = Summary.objects.get()
        Summary.objects.update(payload={**row.payload, "sport": "moon_golf"})
    assert read(api, user, "workouts")[0]["sport"] == {"id": 1, "name": "Other", "slug": "other"}


def test_days_are_the_persons_and_both_ends_are_included(api: ApiClient, user: User, store: Store) -> None:
    store(*(day(str(number), on=date(2026, 3, number), steps=number) for number in (1, 2, 3, 4)))

    def steps(**query: str) -> list[int]:
        return [row["steps"] for row in read(api, user, "activity", **query)]

    assert steps() == [1, 2, 3, 4]
    assert steps(start_date="2026-03-02", end_date="2026-03-03") == [2, 3]
    assert steps(start_date="2026-03-02T22:00:00+00:00", end_date="2026-03-03T01:00:00Z") == [2, 3]
    assert steps(start_date="2026-03-05") == []


def test_one_provider_can_be_asked_for(api: ApiClient, user: User, store: Store) -> None:
    store(day("a", steps=1), changed(day("b", steps=2), source=DataSource("garmin", "watch")))
    assert [row["steps"] for row in read(api, user, "activity", provider="garmin")] == [2]


@pytest.mark.parametrize("resource", ["sleep", "activity", "workouts"])
def test_another_teams_user_is_no_user(other_api: ApiClient, user: User, store: Store, resource: str) -> None:
    store(night(), day(), run())
    missing = other_api.get(f"/v2/summary/{resource}/{uuid4()}", {"start_date": "2026-03-01"})
    response = other_api.get(f"/v2/summary/{resource}/{user.id}", {"start_date": "2026-03-01"})
    assert response.status_code == missing.status_code == 404
    assert {**response.json(), "request_id": ""} == {**missing.json(), "request_id": ""}


def test_a_malformed_user_id_and_a_missing_start_are_named(api: ApiClient, user: User) -> None:
    malformed = api.get("/v2/summary/sleep/nobody", {"start_date": "2026-03-01"})
    assert (malformed.status_code, malformed.json()["detail"][0]["loc"]) == (422, ["path", "user_id"])
    missing = api.get(f"/v2/summary/sleep/{user.id}")
    assert (missing.status_code, missing.json()["detail"][0]["loc"]) == (422, ["query", "start_date"])
