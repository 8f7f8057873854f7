"""The aggregation query over HTTP and over the real store, its numbers checked by plain arithmetic."""

import io
import statistics
import tarfile
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import uuid4

import pyarrow.parquet as pq
import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from aggregation.query_reader import SCHEMA
from aggregation.records import OFFSET_UNKNOWN, DataSource, SeriesBatch, SummaryRecord
from aggregation.services import health_data_store
from healthsvc.kernel.scope import team_scope
from management.models import TeamSettings
from tests import factories
from tests.aggregation.samples import PHONE, WATCH, batch, heartrates, us
from tests.aggregation.summaries import changed, day, night, run
from tests.clients import ApiClient
from users.models import User

BASE_US = us(2026, 3, 1)
MINUTE_US = 60_000_000

Store = Callable[..., None]
Body = dict[str, Any]


@pytest.fixture
def user(team: factories.Tenant) -> User:
    return factories.user_make(team, fallback_time_zone="Europe/Berlin")


@pytest.fixture
def store(team: factories.Tenant, user: User) -> Store:
    def stored(*given: SeriesBatch | SummaryRecord) -> None:
        series = [one for one in given if isinstance(one, SeriesBatch)]
        summaries = [one for one in given if isinstance(one, SummaryRecord)]
        with team_scope(team.context):
            health_data_store(team=team.context, user_id=user.id, series=series, summaries=summaries, emit=False)

    return stored


def question(*select: Body, by: str | None = "hour", index: str = "timeseries", days: int = 1, **query: Any) -> Body:
    """One query over the days up to the first of March."""
    if by:
        query["group_by"] = [{"date_trunc": {"unit": by, "value": 1}, "arg": {"index": index}}]
    timeframe = {"type": "relative", "anchor": "2026-03-01", "past": {"unit": "day", "value": days}}
    return {"timeframe": timeframe, "queries": [{"select": list(select), **query}]}


def of(function: str, resource: str, field: str = "value") -> Body:
    return {"func": function, "arg": {"timeseries": resource, "field": field}}


def ask(api: ApiClient, user: User, body: Body) -> dict[str, list[Any]]:
    response = api.post(f"/aggregate/v1/user/{user.id}/query", body)
    assert response.status_code == 200, response.content
    table: dict[str, list[Any]] = response.json()["results"][0]["table"]
    return table


def test_hourly_figures_are_those_of_plain_arithmetic(api: ApiClient, user: User, store: Store) -> None:
    values = {BASE_US + minute * MINUTE_US: 50.0 + (minute * 37) % 91 for minute in range(0, 1_440, 7)}
    store(heartrates(values, offset_seconds=0))
    by_hour: dict[str, list[float]] = defaultdict(list)
    for at_us, value in values.items():
        by_hour[
            (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at_us)).strftime("%Y-%m-%dT%H:00:00")
        ].append(value)
    table = ask(api, user, question(*(of(name, "heartrate") for name in ("mean", "min", "max", "newest"))))
    assert list(table) == ["index", "mean", "min", "max", "newest"]
    assert table["index"] == list(by_hour)
    assert table["mean"] == pytest.approx([statistics.fmean(listed) for listed in by_hour.values()])
    assert table["min"] == [min(listed) for listed in by_hour.values()]
    assert table["max"] == [max(listed) for listed in by_hour.values()]
    assert table["newest"] == [listed[-1] for listed in by_hour.values()]


def test_a_day_is_the_persons_own(api: ApiClient, user: User, store: Store) -> None:
    """On a watch in Tokyo, and by the fallback zone where no offset came: all on the first of March."""
    tokyo = batch([(us(2026, 2, 28, 15, 0), us(2026, 2, 28, 15, 30), 100.0, 32_400, None)])
    berlin = batch([(us(2026, 3, 1, 22, 59), us(2026, 3, 1, 23, 5), 10.0, OFFSET_UNKNOWN, None)])
    next_day = batch([(us(2026, 3, 1, 23, 0), us(2026, 3, 1, 23, 5), 1.0, OFFSET_UNKNOWN, None)])
    store(tokyo, berlin, next_day)
    table = ask(api, user, question(of("sum", "steps"), of("count", "steps"), by="day"))
    assert table == {"index": ["2026-03-01T00:00:00"], "sum": [110.0], "count": [2]}


def test_the_watch_counts_before_the_phone_and_a_type_can_be_asked_for(
    api: ApiClient, user: User, store: Store
) -> None:
    at = us(2026, 3, 1, 10)
    store(
        batch([(at, at + MINUTE_US, 50.0, 0, "walking"), (at + MINUTE_US, at + 2 * MINUTE_US, 70.0, 0, "running")]),
        batch([(at, at + MINUTE_US, 40.0, 0, None)], source=PHONE),
    )
    assert ask(api, user, question(of("sum", "steps")))["sum"] == [120.0]
    source = {"source": "source_type"}
    by_source = question(
        {"group_key": 0}, of("sum", "steps"), by=None, group_by=[source, {"source": "source_provider"}]
    )
    assert ask(api, user, by_source) == {"group_key.0": ["phone", "watch"], "sum": [40.0, 120.0]}
    running = question(of("sum", "steps"), of("mean", "steps", "duration"), where="type = 'running'")
    assert ask(api, user, running) == {"index": ["2026-03-01T10:00:00"], "sum": [70.0], "mean": [60.0]}


def test_summaries_are_tables(api: ApiClient, user: User, store: Store) -> None:
    store(
        night("late", on=date(2026, 3, 1), hr_lowest=48, efficiency=93.75),
        changed(
            day("today", on=date(2026, 3, 1), low=1.5, heart_rate={"avg_bpm": 61.0}), timezone_offset_seconds=3_600
        ),
        day("yesterday", on=date(2026, 2, 28)),
        run("morning", on=date(2026, 3, 1), hr_zones=[0, 60, 0, 0, 0, 0], distance=5_000.0, map={"polyline": "abc"}),
    )

    def rows(table: str, *columns: str) -> dict[str, list[Any]]:
        selected = [{"index": table}, *({table: column} for column in columns)]
        return ask(api, user, question(*selected, by=None))

    assert rows("sleep", "session_start", "duration_second", "heart_rate_minimum", "efficiency", "score") == {
        "index": ["2026-03-01T09:00:00"],
        "session_start": ["2026-03-01T01:00:00"],
        "duration_second": [28_800],
        "heart_rate_minimum": [48],
        "efficiency": [93.75],
        "score": [None],
    }
    assert rows("activity", "steps", "intensity_low_second", "heart_rate_mean", "time_zone_offset", "source_type") == {
        "index": ["2026-03-01"],
        "steps": [9_000],
        "intensity_low_second": [90],
        "heart_rate_mean": [61.0],
        "time_zone_offset": [3_600],
        "source_type": ["ring"],
    }
    assert rows("workout", "sport_name", "heart_rate_zone_2", "distance_meter", "map_polyline", "external_id") == {
        "index": ["2026-03-01T18:00:00"],
        "sport_name": ["Running"],
        "heart_rate_zone_2": [60.0],
        "distance_meter": [5_000.0],
        "map_polyline": ["abc"],
        "external_id": ["morning"],
    }


def test_every_column_of_every_table_can_be_selected(api: ApiClient, user: User, store: Store) -> None:
    store(night(on=date(2026, 3, 1)), day(on=date(2026, 3, 1)), run(on=date(2026, 3, 1)))
    for name in SCHEMA.table_names():
        table = SCHEMA.table(name)
        assert table is not None
        answer = ask(api, user, question(*({name: column} for column in table.columns), by=None))
        assert {column: len(cells) for column, cells in answer.items()} == dict.fromkeys(table.columns, 1)


def test_the_archive_holds_the_same_numbers(api: ApiClient, user: User, store: Store) -> None:
    store(heartrates({BASE_US: 60.0, BASE_US + MINUTE_US: 62.5}))
    body = question(of("mean", "heartrate"), of("max", "heartrate"))
    response = api.post(f"/aggregate/v1/user/{user.id}/query", body, Accept=django_settings.PARQUET_MEDIA_TYPE)
    assert response["Content-Type"] == django_settings.PARQUET_MEDIA_TYPE
    assert response["Content-Disposition"] == 'attachment; filename="query-result.tar.gz"'
    with tarfile.open(fileobj=io.BytesIO(response.getvalue()), mode="r:gz") as archive:
        assert archive.getnames() == ["0.parquet"]
        member = archive.extractfile("0.parquet")
        assert member is not None
        table = pq.read_table(io.BytesIO(member.read()))
    assert table.column("mean").to_pylist() == [61.25]
    assert table.column("max").to_pylist() == [62.5]


def test_any_accept_gets_json(api: ApiClient, user: User) -> None:
    response = api.post(f"/aggregate/v1/user/{user.id}/query", question(of("mean", "heartrate")), Accept="*/*")
    assert response["Content-Type"] == "application/json"
    assert response.json() == {"results": [{"table": {"index": [], "mean": []}}]}


def test_column_names_can_be_qualified_throughout(api: ApiClient, user: User, settings: Settings) -> None:
    settings.QUALIFIED_COLUMN_NAMES = True
    assert list(ask(api, user, question(of("mean", "heartrate")))) == ["index", "mean.value"]


def test_what_is_wrong_with_a_query_is_said_with_its_place(api: ApiClient, user: User) -> None:
    body = question(of("mean", "heartrates"), of("average", "heartrate"))
    response = api.post(f"/aggregate/v1/user/{user.id}/query", body)
    assert response.status_code == 422
    locs = [problem["loc"] for problem in response.json()["detail"]]
    assert ["body", "queries", 0, "select", 1, "func"] in locs
    not_yet = api.post(f"/aggregate/v1/user/{user.id}/query", question(of("mean", "hrv")))
    assert not_yet.json()["detail"][0]["type"] == "not_supported_yet"


def test_a_team_without_the_query_is_refused(api: ApiClient, team: factories.Tenant, user: User) -> None:
    with team_scope(team.context):
        TeamSettings.objects.update_or_create(
            team_id=team.team.id,
            environment=str(team.context.environment),
            defaults={"aggregation_enabled": False},
        )
    response = api.post(f"/aggregate/v1/user/{user.id}/query", question(of("mean", "heartrate")))
    assert (response.status_code, response.json()["code"]) == (403, "not_allowed")


def test_another_teams_user_is_no_user(other_api: ApiClient, user: User, store: Store) -> None:
    store(heartrates({BASE_US: 60.0}))
    body = question(of("mean", "heartrate"))
    missing = other_api.post(f"/aggregate/v1/user/{uuid4()}/query", body)
    response = other_api.post(f"/aggregate/v1/user/{user.id}/query", body)
    assert response.status_code == missing.status_code == 404
    assert {**response.json(), "request_id": ""} == {**missing.json(), "request_id": ""}


def test_a_year_costs_as_many_statements_as_a_day(api: ApiClient, user: User, store: Store) -> None:
    days = {BASE_US - day_number * 1_440 * MINUTE_US: 60.0 for day_number in range(300)}
    store(heartrates(days, source=WATCH), heartrates(days, source=DataSource("garmin", "watch")))
    ask(api, user, question(of("mean", "heartrate")))
    counted = []
    for length in (1, 365):
        with CaptureQueriesContext(connection) as queries:
            ask(api, user, question(of("mean", "heartrate"), days=length))
        counted.append(len(queries))
    assert counted[0] == counted[1]
