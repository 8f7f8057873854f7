"""A team's source priorities: the endpoints, and what they do to the answers of queries."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from aggregation.models import SourcePriority
from aggregation.records import DataSource
from healthsvc.kernel.principal import Environment
from healthsvc.kernel.rows import team_values
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management.models import AccessRecord
from tests import factories
from tests.aggregation.queries import ANCHOR_ON, ask, long_sleep, of, put, question, rows, series, summary
from tests.aggregation.summaries import changed, day, run
from tests.clients import ApiClient
from users.models import User

PATH = "/v2/team/source/priorities"
GARMIN = DataSource("garmin", "ring")
OURA = DataSource("oura", "ring")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def user(team: factories.Tenant) -> User:
    return factories.user_make(team)


def listed(answer: Any) -> list[tuple[str, str, int]]:
    """Kind of data, provider and priority of each entry."""
    return [(one["data_type"], one["provider"], one["priority"]) for one in answer.json()]


def test_a_team_that_set_nothing_has_no_priorities(api: ApiClient) -> None:
    assert api.get(PATH).json() == []
    # An existing client sends no body at all.
    nothing: tuple[Any, ...] = (None, {}, [])
    for body in nothing:
        answer = api.patch(PATH, body)
        assert (answer.status_code, answer.json()) == (200, [])


@pytest.mark.parametrize("body", [b"null", b"0", b"false", b'""'])
def test_what_is_no_list_and_no_object_is_refused(api: ApiClient, body: bytes) -> None:
    answer = api.request("PATCH", PATH, data=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "validation_failed")


def test_priorities_are_set_changed_and_taken_off(api: ApiClient, team: factories.Tenant) -> None:
    first = api.patch(PATH, {"data_type": "sleep", "priorities": {"oura": 10, "garmin": 20}})
    assert first.status_code == 200
    garmin, oura = first.json()
    assert {name: oura[name] for name in ("team_id", "data_type", "source_id", "source", "provider", "priority")} == {
        "team_id": str(team.team.id),
        "data_type": "sleep",
        "source_id": 1,
        "source": {"name": "Oura", "slug": "oura", "logo": oura["source"]["logo"]},
        "provider": "oura",
        "priority": 10,
    }
    assert garmin["provider"] == "garmin"
    several = [
        {"data_type": "sleep", "priorities": {"oura": 30}},
        {"data_type": "timeseries", "priorities": {"whoop_v2": 0, "garmin": 1}},
    ]
    everything = [
        ("sleep", "oura", 30),
        ("sleep", "garmin", 20),
        ("timeseries", "garmin", 1),
        ("timeseries", "whoop_v2", 0),
    ]
    assert listed(api.patch(PATH, several)) == everything
    assert listed(api.get(PATH)) == everything
    assert listed(api.get(PATH, {"data_type": "timeseries"})) == everything[2:]
    assert api.get(PATH, {"data_type": "sleep"}).json()[0]["id"] == oura["id"]
    gone = api.patch(PATH, {"data_type": "timeseries", "priorities": {"garmin": None, "strava": None}})
    assert listed(gone) == [*everything[:2], everything[3]]


@pytest.mark.parametrize(
    ("body", "loc"),
    [
        ({"data_type": "sleep", "priorities": {"oura": 1, "nobody": 2}}, ["body", "priorities"]),
        ({"data_type": "naps", "priorities": {"oura": 1}}, ["body", "data_type"]),
        ({"data_type": "sleep"}, ["body", "priorities"]),
        ({"priorities": {"oura": 1}}, ["body", "data_type"]),
        ({"data_type": "sleep", "priorities": {"oura": -1}}, ["body", "priorities", "oura"]),
        ({"data_type": "sleep", "priorities": {"oura": 1_000_001}}, ["body", "priorities", "oura"]),
        ({"data_type": "sleep", "priorities": {"oura": 1.5}}, ["body", "priorities", "oura"]),
        ({"data_type": "sleep", "priorities": {"oura": True}}, ["body", "priorities", "oura"]),
        ({"data_type": "sleep", "priorities": ["oura"]}, ["body", "priorities"]),
        ("oura", ["body"]),
        (
            [{"data_type": "sleep", "priorities": {"oura": 1}}, {"data_type": "sleep", "priorities": {"oura": 2}}],
            ["body", 1, "priorities"],
        ),
    ],
)
def test_what_can_not_be_set_changes_nothing(api: ApiClient, body: Any, loc: list[str | int]) -> None:
    api.patch(PATH, {"data_type": "sleep", "priorities": {"garmin": 5}})
    refused = api.patch(PATH, body)
    assert (refused.status_code, [one["loc"] for one in refused.json()["detail"]]) == (422, [loc])
    assert "nobody" not in refused.content.decode()
    assert listed(api.get(PATH)) == [("sleep", "garmin", 5)]


@pytest.mark.parametrize("priority", [-1, 1_000_001])
def test_the_database_holds_the_range_too(team: factories.Tenant, priority: int) -> None:
    row = {**team_values(team.context), "data_type": "sleep", "provider": "oura"}
    with team_scope(team.context), pytest.raises(IntegrityError), transaction.atomic():
        SourcePriority.objects.create(**row, priority=priority)


def test_an_unknown_kind_of_data_is_refused(api: ApiClient) -> None:
    refused = api.get(PATH, {"data_type": "naps"})
    assert (refused.status_code, refused.json()["detail"][0]["loc"]) == (422, ["query", "data_type"])


def test_priorities_are_a_teams_own_in_one_environment(
    api: ApiClient, other_api: ApiClient, team: factories.Tenant
) -> None:
    api.patch(PATH, {"data_type": "sleep", "priorities": {"oura": 1}})
    assert other_api.get(PATH).json() == []
    production = ApiClient(team_key=factories.environment_make(team, Environment.PRODUCTION).key)
    assert production.get(PATH).json() == []
    production.patch(PATH, {"data_type": "sleep", "priorities": {"oura": 2}})
    assert listed(api.get(PATH)) == [("sleep", "oura", 1)]
    assert listed(production.get(PATH)) == [("sleep", "oura", 2)]


def test_a_change_is_in_the_audit_trail(api: ApiClient, team: factories.Tenant) -> None:
    api.patch(PATH, {"data_type": "sleep", "priorities": {"oura": 1}})
    with system_scope(SystemScope.STAFF):
        actions = list(AccessRecord.objects.filter(team_id=team.team.id).values_list("action", flat=True))
    assert actions == ["PATCH /v2/team/source/priorities"]


def test_each_table_has_the_priorities_of_its_kind_of_data(api: ApiClient, team: factories.Tenant, user: User) -> None:
    for number, source in enumerate((GARMIN, OURA), start=1):
        put(
            team,
            user,
            long_sleep(f"night-{number}", ANCHOR_ON, hours_asleep=4.0 + number, source=source),
            changed(day(f"day-{number}", on=ANCHOR_ON, steps=number), source=source),
            changed(run(f"run-{number}", on=ANCHOR_ON, steps=number), source=source),
            summary("body", f"body-{number}", source=source, weight=70.0 + number),
            summary("meal", f"meal-{number}", source=source, starts_at=NOON, name="x", energy={"value": float(number)}),
            series("steps", ["2026-03-01T10:00"], [float(number)], minutes=1, source=source),
        )
    kept = {
        "sleep": ("sleep", "duration_second", "stage_asleep_second", [18_000.0, 21_600.0]),
        "activity": ("activity", "steps", "steps", [1.0, 2.0]),
        "workouts": ("workout", "steps", "steps", [1.0, 2.0]),
        "body": ("body", "weight", "weight_kilogram", [71.0, 72.0]),
        "timeseries": ("timeseries", "", "", [1.0, 2.0]),
    }

    def answer(table: str, column: str, **config: Any) -> list[Any]:
        item = of("sum", "steps") if table == "timeseries" else {"func": "sum", "arg": {table: column}}
        found: list[Any] = ask(api, user, question(item, by="month", index=table, config=config))["sum"]
        return found

    for data_type, (table, _, column, (of_garmin, of_oura)) in kept.items():
        assert answer(table, column) == [of_garmin]
        api.patch(PATH, {"data_type": data_type, "priorities": {"oura": 2, "garmin": 1}})
        assert (data_type, answer(table, column)) == (data_type, [of_oura])
        assert answer(table, column, provider_priority_overrides=["garmin"]) == [of_garmin]
    # Meals are of no kind that has priorities: the slug decides.
    assert answer("meal", "calories") == [1.0]


def test_a_source_type_counts_before_a_priority(api: ApiClient, team: factories.Tenant, user: User) -> None:
    api.patch(PATH, {"data_type": "timeseries", "priorities": {"oura": 100}})
    at = ["2026-03-01T10:00"]
    put(team, user, series("steps", at, [1.0], minutes=1, source=OURA))
    put(team, user, series("steps", at, [2.0], minutes=1, source=DataSource("garmin", "watch")))
    assert ask(api, user, question(of("sum", "steps"), by="day"))["sum"] == [2.0]


def test_readiness_is_made_of_the_night_the_team_trusts(api: ApiClient, team: factories.Tenant, user: User) -> None:
    put(team, user, long_sleep("a", ANCHOR_ON, hours_asleep=8.0, source=GARMIN, efficiency=90.0))
    put(team, user, long_sleep("b", ANCHOR_ON, hours_asleep=4.0, source=OURA, efficiency=90.0))
    put(team, user, long_sleep("c", ANCHOR_ON - timedelta(days=1), source=OURA, efficiency=90.0))
    assert rows(api, user, "derived_readiness", "sleep_score", days=2)["sleep_score"] == [100.0, 100.0]
    api.patch(PATH, {"data_type": "sleep", "priorities": {"oura": 1}})
    assert rows(api, user, "derived_readiness", "sleep_score", days=2)["sleep_score"] == [100.0, 33.0]
