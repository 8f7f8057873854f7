"""The aggregation query over HTTP and over the real store, its numbers checked by plain arithmetic."""

import io
import statistics
import tarfile
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pyarrow.parquet as pq
import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from aggregation import planning
from aggregation.query import Budget
from aggregation.query_api import EXAMPLE
from aggregation.records import DataSource
from healthsvc.kernel.scope import team_scope
from management.models import TeamSettings
from tests import factories
from tests.aggregation.queries import ANCHOR_ON, Body, ask, long_sleep, of, put, question, series
from tests.aggregation.samples import PHONE, WATCH, batch, heartrates, us
from tests.clients import ApiClient
from users.models import User

BASE_US = us(2026, 3, 1)
MINUTE_US = 60_000_000
ARCHIVE: str = django_settings.PARQUET_MEDIA_TYPE


@pytest.fixture
def user(team: factories.Tenant) -> User:
    return factories.user_make(team, fallback_time_zone="Europe/Berlin")


def test_hourly_figures_are_those_of_plain_arithmetic(api: ApiClient, team: factories.Tenant, user: User) -> None:
    values = {BASE_US + minute * MINUTE_US: 50.0 + (minute * 37) % 91 for minute in range(0, 1_440, 7)}
    put(team, user, heartrates(values, offset_seconds=0))
    by_hour: dict[str, list[float]] = defaultdict(list)
    for at_us, value in values.items():
        by_hour[
            (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at_us)).strftime("%Y-%m-%dT%H:00:00")
        ].append(value)
    table = ask(api, user, question(*(of(name, "heartrate") for name in ("mean", "min", "max", "newest")), by="hour"))
    assert list(table) == ["index", "mean", "min", "max", "newest"]
    assert table["index"] == list(by_hour)
    assert table["mean"] == pytest.approx([statistics.fmean(listed) for listed in by_hour.values()])
    assert table["min"] == [min(listed) for listed in by_hour.values()]
    assert table["max"] == [max(listed) for listed in by_hour.values()]
    assert table["newest"] == [listed[-1] for listed in by_hour.values()]


def test_the_watch_counts_before_the_phone_and_a_type_can_be_asked_for(
    api: ApiClient, team: factories.Tenant, user: User
) -> None:
    at = us(2026, 3, 1, 10)
    put(
        team,
        user,
        batch([(at, at + MINUTE_US, 50.0, 0, "walking"), (at + MINUTE_US, at + 2 * MINUTE_US, 70.0, 0, "running")]),
        batch([(at, at + MINUTE_US, 40.0, 0, None)], source=PHONE),
    )
    assert ask(api, user, question(of("sum", "steps"), by="hour"))["sum"] == [120.0]
    source = {"source": "source_type"}
    by_source = question({"group_key": 0}, of("sum", "steps"), group_by=[source, {"source": "source_provider"}])
    assert ask(api, user, by_source) == {"group_key.0": ["phone", "watch"], "sum": [40.0, 120.0]}
    running = question(of("sum", "steps"), of("mean", "steps", "duration"), by="hour", where="type = 'running'")
    assert ask(api, user, running) == {"index": ["2026-03-01T10:00:00"], "sum": [70.0], "mean": [60.0]}


def test_a_merge_fills_the_gaps_of_the_watch_from_the_phone(api: ApiClient, team: factories.Tenant, user: User) -> None:
    put(
        team,
        user,
        series("steps", ["2026-03-01T10:00"], [50.0], minutes=10, source=WATCH),
        series("steps", ["2026-03-01T10:00", "2026-03-01T12:00"], [40.0, 30.0], minutes=10, source=PHONE),
    )
    assert ask(api, user, question(of("sum", "steps"), by="day"))["sum"] == [50.0]
    merged = question(of("sum", "steps"), by="day", config={"source_mode": "merge"})
    assert ask(api, user, merged)["sum"] == [80.0]


def test_several_queries_are_numbered_files_of_one_archive(api: ApiClient, team: factories.Tenant, user: User) -> None:
    put(team, user, heartrates({BASE_US: 60.0, BASE_US + MINUTE_US: 62.5}), long_sleep("a", ANCHOR_ON, score=70))
    body = question(of("mean", "heartrate"), of("max", "heartrate"), by="hour")
    body["queries"].append({"select": [{"sleep": "score"}]})
    response = api.post(f"/aggregate/v1/user/{user.id}/query", body, Accept=ARCHIVE)
    assert response["Content-Type"] == ARCHIVE
    assert response["Content-Disposition"] == 'attachment; filename="query-result.tar.gz"'
    with tarfile.open(fileobj=io.BytesIO(response.getvalue()), mode="r:gz") as archive:
        assert archive.getnames() == ["0.parquet", "1.parquet"]
        heart, sleep = (
            pq.read_table(io.BytesIO(member.read()))
            for name in archive.getnames()
            if (member := archive.extractfile(name)) is not None
        )
    assert heart.column("mean").to_pylist() == [61.25]
    assert heart.column("max").to_pylist() == [62.5]
    assert sleep.to_pydict() == {"score": [70]}


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        ("*/*", "application/json"),
        ("application/json", "application/json"),
        ("", "application/json"),
        ("text/csv", "application/json"),
        (ARCHIVE.upper(), ARCHIVE),
        (f"{ARCHIVE}, */*", ARCHIVE),
        (f"application/json;q=0.5, {ARCHIVE}", ARCHIVE),
        (f"application/json, {ARCHIVE};q=0.5", "application/json"),
        (f"application/json;q=0.1, {ARCHIVE};q=0", "application/json"),
        (f"{ARCHIVE};q=much", ARCHIVE),
    ],
)
def test_json_unless_the_archive_is_asked_for(api: ApiClient, user: User, accept: str, media_type: str) -> None:
    body = question(of("mean", "heartrate"), by="hour")
    response = api.post(f"/aggregate/v1/user/{user.id}/query", body, Accept=accept)
    assert (response.status_code, response["Content-Type"]) == (200, media_type)
    if media_type == "application/json":
        assert response.json() == {"results": [{"table": {"index": [], "mean": []}}]}


def test_column_names_can_be_qualified_throughout(api: ApiClient, user: User, settings: Settings) -> None:
    settings.QUALIFIED_COLUMN_NAMES = True
    assert list(ask(api, user, question(of("mean", "heartrate"), by="hour"))) == ["index", "mean.value"]


def test_what_is_wrong_with_a_query_is_said_with_its_place(api: ApiClient, user: User) -> None:
    body = question(of("mean", "heartrates"), of("average", "heartrate"), by="hour")
    response = api.post(f"/aggregate/v1/user/{user.id}/query", body)
    assert response.status_code == 422
    locs = [problem["loc"] for problem in response.json()["detail"]]
    assert ["body", "queries", 0, "select", 1, "func"] in locs


def test_a_placeholder_is_for_stored_queries(api: ApiClient, user: User) -> None:
    body = {**question(of("mean", "heartrate")), "timeframe": {"placeholder": True}}
    response = api.post(f"/aggregate/v1/user/{user.id}/query", body)
    assert response.status_code == 422
    (problem,) = response.json()["detail"]
    assert problem["loc"] == ["body", "timeframe"]
    assert '"type": "relative"' in problem["msg"]


@pytest.mark.parametrize("body", [[], "x", 7])
def test_a_body_that_is_no_object_is_refused(api: ApiClient, user: User, body: Any) -> None:
    response = api.post(f"/aggregate/v1/user/{user.id}/query", body)
    assert (response.status_code, response.json()["detail"][0]["loc"]) == (422, ["body"])


@pytest.mark.parametrize(
    ("item", "answered"),
    [
        (of("count", "heartrate"), [3]),
        ({"sleep": "score"}, [None] * 3),
        ({"reliability": "presence_day_count"}, [1, 1]),
    ],
)
def test_reading_more_than_the_budget_is_refused(
    api: ApiClient, team: factories.Tenant, user: User, item: Body, answered: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(team, user, heartrates({BASE_US + minute * MINUTE_US: 60.0 for minute in range(3)}))
    put(team, user, *(long_sleep(str(number), ANCHOR_ON) for number in range(3)))
    monkeypatch.setattr(planning, "Budget", lambda: Budget(max_rows=2))
    response = api.post(f"/aggregate/v1/user/{user.id}/query", question(item))
    assert (response.status_code, response.json()["code"]) == (422, "query_budget_exceeded")
    monkeypatch.setattr(planning, "Budget", lambda: Budget(max_rows=3))
    assert list(ask(api, user, question(item)).values()) == [answered]


@pytest.mark.parametrize(
    ("anchor", "status"), [("1899-12-31", 422), ("1900-01-01", 200), ("2199-12-31", 200), ("2200-01-01", 422)]
)
def test_the_ends_of_the_calendar_hold_nothing(api: ApiClient, user: User, anchor: str, status: int) -> None:
    items: list[Body] = [of("count", "heartrate"), {"reliability": "resource"}, {"derived_readiness": "date"}]
    items += [{"index": table} for table in ("sleep", "activity", "workout", "body", "meal", "profile")]
    for item in items:
        body = question(item)
        body["timeframe"] = {"type": "relative", "anchor": anchor, "past": {"unit": "year", "value": 100}}
        response = api.post(f"/aggregate/v1/user/{user.id}/query", body)
        assert (item, response.status_code) == (item, status)


def test_nothing_is_carried_beyond_the_persons_now(
    api: ApiClient, team: factories.Tenant, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At 12:30 UTC it is 13:30 in Berlin: the bucket of 13:00 has begun, the one of 14:00 has not."""
    monkeypatch.setattr("healthsvc.kernel.clock.now", lambda: datetime(2026, 3, 1, 12, 30, tzinfo=UTC))
    put(team, user, series("glucose", ["2026-03-01T10:00"], [5.5], offset_seconds=3_600))
    carry = {"carry": {"mode": "carry_forward", "max_age": {"unit": "hour", "value": 8}}}
    body = question({"group_key": "*"}, of("mean", "glucose"), by="hour", align=carry)
    assert ask(api, user, body) == {
        "group_key.0": ["2026-03-01T11:00:00", "2026-03-01T12:00:00", "2026-03-01T13:00:00"],
        "mean": [5.5, 5.5, 5.5],
    }


def test_a_team_without_the_query_is_told_that_it_is_a_beta(api: ApiClient, team: factories.Tenant, user: User) -> None:
    with team_scope(team.context):
        TeamSettings.objects.update_or_create(
            team_id=team.team.id,
            environment=str(team.context.environment),
            defaults={"aggregation_enabled": False},
        )
    response = api.post(f"/aggregate/v1/user/{user.id}/query", question(of("mean", "heartrate")))
    assert (response.status_code, response.json()["code"]) == (403, "not_allowed")
    assert "closed beta" in response.json()["detail"]


def test_another_teams_user_is_no_user(other_api: ApiClient, team: factories.Tenant, user: User) -> None:
    put(team, user, heartrates({BASE_US: 60.0}))
    body = question(of("mean", "heartrate"))
    missing = other_api.post(f"/aggregate/v1/user/{uuid4()}/query", body)
    response = other_api.post(f"/aggregate/v1/user/{user.id}/query", body)
    assert response.status_code == missing.status_code == 404
    assert {**response.json(), "request_id": ""} == {**missing.json(), "request_id": ""}


@pytest.mark.parametrize("item", [of("mean", "heartrate"), {"func": "count", "arg": {"reliability": "resource"}}])
def test_a_year_costs_as_many_statements_as_a_day(
    api: ApiClient, team: factories.Tenant, user: User, item: Body
) -> None:
    days = {BASE_US - day_number * 1_440 * MINUTE_US: 60.0 for day_number in range(300)}
    put(team, user, heartrates(days, source=WATCH), heartrates(days, source=DataSource("garmin", "watch")))
    ask(api, user, question(item))
    counted = []
    for length in (1, 365):
        with CaptureQueriesContext(connection) as queries:
            ask(api, user, question(item, days=length))
        counted.append(len(queries))
    assert counted[0] == counted[1]


def test_the_documented_example_is_answered(api: ApiClient, user: User) -> None:
    response = api.post(f"/aggregate/v1/user/{user.pk}/query", EXAMPLE)
    assert (response.status_code, response.json()) == (
        200,
        {"results": [{"table": {"index": [], "mean": [], "newest": []}}]},
    )
