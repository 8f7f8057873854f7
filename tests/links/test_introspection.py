"""Introspection of historical pulls, and the last attempts that introspection of resources shows."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection as database
from django.test.utils import CaptureQueriesContext

from aggregation.models import Tail
from aggregation.records import OFFSET_UNKNOWN, DataSource, SeriesBatch, SummaryRecord
from aggregation.services import health_data_store
from healthsvc.kernel import clock
from healthsvc.kernel.scope import team_scope
from links.constants import PullKind
from links.models import Connection, Pull
from links.states import PullStatus
from tests.aggregation.kinds import typed
from tests.aggregation.samples import heartrates, us
from tests.aggregation.summaries import day
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.links.test_api_connections import connection_make
from users.models import User

PATH = "/v2/introspect/historical_pull"
AT = datetime(2026, 4, 1, 12, tzinfo=UTC)
OURA = DataSource("oura", "ring")

PullMake = Callable[..., Pull]


@pytest.fixture
def pull_make(team: Tenant) -> PullMake:
    def made(connection: Connection, resource: str = "heartrate", **values: Any) -> Pull:
        status = values.get("status", PullStatus.SUCCESS)
        ended = status in (PullStatus.SUCCESS, PullStatus.FAILURE)
        row: dict[str, Any] = {
            "team": team.team,
            "environment": str(team.context.environment),
            "connection": connection,
            "user_id": connection.user_id,
            "resource": resource,
            "kind": PullKind.BACKFILL,
            "status": status,
            "start_on": date(2026, 3, 1),
            "end_on": date(2026, 3, 31),
            "not_before": AT,
            "created_at": AT,
            "ended_at": AT + timedelta(hours=1) if ended else None,
            **values,
        }
        with team_scope(team.context):
            return Pull.objects.create(**row)

    return made


def store(team: Tenant, user: User, *series: SeriesBatch, summaries: tuple[SummaryRecord, ...] = ()) -> None:
    with team_scope(team.context):
        health_data_store(team=team.context, user_id=user.id, series=series, summaries=summaries)


def get(api: ApiClient, path: str = PATH, **query: Any) -> list[dict[str, Any]]:
    response = api.get(path, {name: str(value) for name, value in query.items()})
    assert response.status_code == 200, response.content
    data: list[dict[str, Any]] = response.json()["data"]
    return data


def test_a_pull_with_every_field(api: ApiClient, team: Tenant, pull_make: PullMake) -> None:
    user = user_make(team)
    pull = pull_make(connection_make(team, user))
    (shown,) = get(api)
    assert shown["user_id"] == str(user.id)
    (slug,) = shown["provider"]
    assert slug == "oura"
    assert shown["provider"][slug]["pulled"] == {
        "heartrate": {
            "status": "success",
            "range_start": "2026-03-01T00:00:00+00:00",
            "range_end": "2026-04-01T00:00:00+00:00",
            "timeline": {
                "scheduled_at": "2026-04-01T12:00:00+00:00",
                "started_at": None,
                "ended_at": "2026-04-01T13:00:00+00:00",
            },
            "days_with_data": 0,
            "release": "0.1.0",
            "trace_id": str(pull.pk),
            "error_details": None,
        }
    }
    not_pulled = shown["provider"][slug]["not_pulled"]
    assert "heartrate" not in not_pulled
    assert {"sleep", "activity", "workouts"} <= set(not_pulled)


@pytest.mark.parametrize(
    ("status", "error_code", "details"),
    [
        (PullStatus.SCHEDULED, "", None),
        (PullStatus.IN_PROGRESS, "provider_unavailable", None),
        (PullStatus.SUCCESS, "", None),
        (PullStatus.RETRYING, "provider_rate_limit_exceeded", "provider_rate_limit_exceeded"),
        (PullStatus.RETRYING, "resource_contention", "resource_contention"),
        (PullStatus.FAILURE, "retry_quota_exhausted", "retry_quota_exhausted"),
        (PullStatus.FAILURE, "unexpected_error", "unexpected_error"),
        (PullStatus.FAILURE, "scope_missing", "non_retriable_error"),
        (PullStatus.FAILURE, "connection_broken", "non_retriable_error"),
    ],
)
def test_every_state_is_told_in_the_interfaces_words(
    api: ApiClient, team: Tenant, pull_make: PullMake, status: PullStatus, error_code: str, details: str | None
) -> None:
    pull_make(connection_make(team, user_make(team)), status=status, error_code=error_code)
    shown = get(api)[0]["provider"]["oura"]["pulled"]["heartrate"]
    assert (shown["status"], shown["error_details"]) == (status.value, details)


def test_days_with_data_are_counted_within_the_range(api: ApiClient, team: Tenant, pull_make: PullMake) -> None:
    user = user_make(team)
    connection = connection_make(team, user)
    for resource in ("heartrate", "activity", "fall"):
        pull_make(connection, resource)
    days = [
        us(2026, 2, 28, 23),
        us(2026, 3, 1),
        us(2026, 3, 1, 23),
        us(2026, 3, 20),
        us(2026, 3, 31, 23),
        us(2026, 4, 1),
    ]
    store(
        team,
        user,
        heartrates(dict.fromkeys(days, 60.0), source=OURA),
        heartrates({us(2026, 3, 5): 60.0}, source=DataSource("oura", "phone")),
        heartrates({us(2026, 3, 6): 60.0}, source=DataSource("garmin", "watch")),
        # Falls are rare, and so kept in blocks wider than a day.
        *(typed("fall", OURA, at, value=1.0, minutes=1) for at in days),
        summaries=tuple(day(str(number), on=date(2026, month, number)) for month, number in ((2, 28), (3, 1), (3, 31))),
    )
    shown = get(api)[0]["provider"]["oura"]["pulled"]
    assert {resource: one["days_with_data"] for resource, one in shown.items()} == {
        "heartrate": 4,
        "activity": 2,
        "fall": 3,
    }


def test_days_are_the_persons_own(api: ApiClient, team: Tenant, pull_make: PullMake) -> None:
    """Both evenings, early in the day after by UTC, and a morning that is still the day before."""
    user = user_make(team, fallback_time_zone="Asia/Tokyo")
    connection = connection_make(team, user)
    pull_make(connection, start_on=date(2026, 3, 1), end_on=date(2026, 3, 10))
    pull_make(connection, "fall", start_on=date(2026, 3, 1), end_on=date(2026, 3, 10))
    pacific = heartrates({us(2026, 3, 2, 4): 60.0, us(2026, 3, 2, 20): 60.0}, source=OURA, offset_seconds=-28_800)
    before = heartrates({us(2026, 3, 1, 7): 60.0}, source=OURA, offset_seconds=-28_800)
    last = heartrates({us(2026, 3, 11, 7): 60.0, us(2026, 3, 11, 8): 60.0}, source=OURA, offset_seconds=-28_800)
    tokyo = heartrates(
        {us(2026, 3, 5, 14): 60.0, us(2026, 3, 5, 15): 60.0, us(2026, 3, 10, 15): 60.0},
        source=DataSource("oura", "phone"),
        offset_seconds=OFFSET_UNKNOWN,
    )
    store(team, user, pacific, before, last, tokyo, typed("fall", OURA, us(2026, 2, 28, 23), value=1.0, minutes=1))
    shown = get(api)[0]["provider"]["oura"]["pulled"]
    # 1, 2 and 10 March in America, 5 and 6 in Japan; 28 February and 11 March are outside.
    assert shown["heartrate"]["days_with_data"] == 5
    assert shown["fall"]["days_with_data"] == 0


def test_a_sample_that_waits_in_the_tail_tells_of_its_day(api: ApiClient, team: Tenant, pull_make: PullMake) -> None:
    user = user_make(team)
    pull_make(connection_make(team, user))
    store(team, user, heartrates({us(2026, 3, 2, 12) + minute: 60.0 for minute in range(40)}, source=OURA))
    store(team, user, heartrates({us(2026, 3, 2, 23): 60.0}, source=OURA, offset_seconds=7_200))
    with team_scope(team.context):
        assert Tail.objects.count() == 1
    assert get(api)[0]["provider"]["oura"]["pulled"]["heartrate"]["days_with_data"] == 2
    store(team, user, heartrates({us(2026, 3, 2, 23): 60.0}, source=OURA))
    assert get(api)[0]["provider"]["oura"]["pulled"]["heartrate"]["days_with_data"] == 1


def test_the_last_first_pull_counts_and_refreshes_do_not(api: ApiClient, team: Tenant, pull_make: PullMake) -> None:
    connection = connection_make(team, user_make(team))
    pull_make(connection, status=PullStatus.FAILURE, created_at=AT - timedelta(days=9))
    newest = pull_make(connection, status=PullStatus.SUCCESS)
    pull_make(connection, "sleep", kind=PullKind.REFRESH)
    shown = get(api)[0]["provider"]["oura"]
    assert {resource: one["trace_id"] for resource, one in shown["pulled"].items()} == {"heartrate": str(newest.pk)}
    assert "sleep" in shown["not_pulled"]


def test_an_ended_connection_keeps_its_pulls(api: ApiClient, team: Tenant, pull_make: PullMake) -> None:
    pull_make(connection_make(team, user_make(team), disconnected_at=clock.now()))
    shown = get(api)[0]["provider"]["oura"]
    assert (list(shown["pulled"]), shown["not_pulled"]) == (["heartrate"], [])


def test_users_providers_and_pages(api: ApiClient, team: Tenant, pull_make: PullMake) -> None:
    users = [user_make(team) for _ in range(3)]
    for user, provider in zip(users, ("oura", "withings", "oura"), strict=True):
        pull_make(connection_make(team, user, provider=provider))
    user_make(team)
    assert [one["user_id"] for one in get(api)] == [str(user.id) for user in reversed(users)]
    assert [one["user_id"] for one in get(api, provider="withings")] == [str(users[1].id)]
    assert [one["user_id"] for one in get(api, user_id=users[0].id)] == [str(users[0].id)]
    first = api.get(PATH, {"user_limit": "3"}).json()
    assert len(first["data"]) == 2
    rest = api.get(PATH, {"user_limit": "3", "next_cursor": first["next_cursor"]}).json()
    assert ([one["user_id"] for one in rest["data"]], rest["next_cursor"]) == ([str(users[0].id)], None)
    elsewhere = api.get("/v2/introspect/resources", {"user_limit": "3", "next_cursor": first["next_cursor"]})
    assert elsewhere.status_code == 422


def test_another_teams_user_answers_as_a_missing_one(api: ApiClient, other_team: Tenant, production: Tenant) -> None:
    missing = api.get(PATH, {"user_id": str(uuid4())})
    for tenant in (other_team, production):
        user = user_make(tenant)
        connection_make(tenant, user)
        response = api.get(PATH, {"user_id": str(user.id)})
        assert response.status_code == missing.status_code == 404
        assert {**response.json(), "request_id": ""} == {**missing.json(), "request_id": ""}
    assert get(api) == []


@pytest.mark.parametrize("path", [PATH, "/v2/introspect/resources"])
def test_a_page_costs_the_same_number_of_queries_for_one_and_five_users(
    api: ApiClient, team: Tenant, pull_make: PullMake, path: str
) -> None:
    def add() -> None:
        user = user_make(team)
        pull_make(connection_make(team, user))
        store(team, user, heartrates({us(2026, 3, 1): 60.0}, source=OURA))

    add()
    get(api, path)
    with CaptureQueriesContext(database) as one:
        get(api, path)
    for _ in range(4):
        add()
    with CaptureQueriesContext(database) as five:
        assert len(get(api, path)) == 5
    assert len(five) == len(one)


def test_resources_show_the_last_pull_that_ended(api: ApiClient, team: Tenant, pull_make: PullMake) -> None:
    user = user_make(team)
    connection = connection_make(team, user)
    pull_make(connection, status=PullStatus.FAILURE)
    pull_make(connection, kind=PullKind.REFRESH, ended_at=AT + timedelta(days=1))
    pull_make(connection, kind=PullKind.REFRESH, status=PullStatus.SCHEDULED)
    pull_make(connection, "sleep", status=PullStatus.FAILURE)
    assert get(api, "/v2/introspect/resources") == []
    store(team, user, heartrates({us(2026, 3, 1): 60.0}, source=OURA))
    shown = get(api, "/v2/introspect/resources")[0]["provider"]["oura"]
    assert shown["heartrate"]["last_attempt"] == {"timestamp": "2026-04-02T12:00:00+00:00", "status": "success"}
    assert shown["sleep"] == {
        "last_attempt": {"timestamp": "2026-04-01T13:00:00+00:00", "status": "failure"},
        "oldest_data": None,
        "newest_data": None,
        "sent_count": 0,
    }


def test_a_telephone_s_mark_is_a_first_pull_too(team: Tenant, api: ApiClient) -> None:
    user = user_make(team)
    assert api.post("/v2/link/provider/manual/apple_health_kit", {"user_id": str(user.id)}).status_code == 200
    mark = {
        "provider": "apple_health_kit",
        "resources": ["heartrate"],
        "stage": "historical",
        "start": "2026-10-01T00:00:00Z",
        "end": "2026-10-31T12:00:00Z",
    }
    answer = api.post(f"/v2/user/{user.id}/sync_complete", mark)
    assert answer.status_code == 200, answer.content
    (shown,) = api.get("/v2/introspect/historical_pull", {"user_id": str(user.id)}).json()["data"]
    pulled = shown["provider"]["apple_health_kit"]["pulled"]
    assert list(pulled) == ["heartrate"]
    assert (pulled["heartrate"]["status"], pulled["heartrate"]["days_with_data"]) == ("success", 0)
    assert pulled["heartrate"]["range_start"] == "2026-10-01T00:00:00+00:00"
