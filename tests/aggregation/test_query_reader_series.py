"""Every kind of timeseries over HTTP: fields, labels, lists and the workout a sample is of."""

from typing import Any

import pytest

from aggregation.catalogue import SERIES, AddsUp, SeriesKind
from aggregation.query.schema import columns_from
from aggregation.query_reader import SCHEMA
from aggregation.records import DataSource
from aggregation.selectors import summary_rows
from healthsvc.kernel.scope import team_scope
from tests import factories
from tests.aggregation.queries import ANCHOR_ON, Columns, ask, field, of, put, question, series
from tests.aggregation.summaries import run
from tests.clients import ApiClient
from users.models import User

METER = DataSource("abbott_libreview", "fingerprick", "com.meter")
SAMPLE = """
    source_provider:string source_type:string source_app_id:string source_workout_id:string source_sport:string
    timezone_offset:int64 type:string
"""
#: As the reference has them.
OWN_FIELDS = {
    SeriesKind.DISCRETE: "value",
    SeriesKind.INTERVAL: "duration value",
    SeriesKind.BLOOD_PRESSURE: "systolic diastolic",
    SeriesKind.TEMPERATURE: "duration value sensor_location:string",
    SeriesKind.WORKOUT_DURATION: "duration value intensity:string",
    SeriesKind.INSULIN_INJECTION: "duration value delivery_mode:string delivery_form:string bolus_purpose:string",
    SeriesKind.NOTE: "tags:string_list content:string",
}
NOON, LATER = "2026-03-01T12:00", "2026-03-01T13:00"


@pytest.fixture
def user(team: factories.Tenant) -> User:
    return factories.user_make(team)


def fields(api: ApiClient, user: User, resource: str) -> Columns:
    """Every field of a resource that is no list, without those that are the same everywhere here."""
    schema = SCHEMA.series(resource)
    assert schema is not None
    plain = [name for name in schema.fields if name not in schema.lists]
    found = ask(api, user, question({"index": "timeseries"}, *(field(resource, name) for name in plain)))
    usual = {"source_provider": "oura", "source_type": "ring", "timezone_offset": 0}
    for name, value in usual.items():
        assert set(found.pop(name)) == {value}
    for name in ("source_app_id", "source_workout_id", "source_sport"):
        assert set(found.pop(name)) == {None}
    return found


def test_the_schema_holds_every_timeseries_with_the_fields_of_its_kind() -> None:
    kept = [spec for spec in SERIES if not spec.is_older]
    assert tuple(spec.slug for spec in kept) == SCHEMA.series_names()
    for spec in kept:
        schema = SCHEMA.series(spec.slug)
        assert schema is not None
        assert dict(schema.fields) == columns_from(f"{SAMPLE} {OWN_FIELDS[spec.kind]}")
        assert schema.adds_up == (spec.adds_up is AddsUp.SUM)


def test_what_is_made_for_older_clients_can_not_be_asked_for(api: ApiClient, user: User) -> None:
    asked = question(field("hypnogram"), {"hypnogram": "value"}, index="timeseries")
    refused = api.post(f"/aggregate/v1/user/{user.id}/query", asked)
    assert refused.status_code == 422
    assert [(one["loc"][-1], one["type"]) for one in refused.json()["detail"]] == [
        ("timeseries", "unknown_name"),
        ("hypnogram", "unknown_name"),
    ]


def test_a_value_at_an_instant(api: ApiClient, team: factories.Tenant, user: User) -> None:
    put(team, user, series("cholesterol", [NOON, LATER], [4.5, 1.5], types=["total", "hdl"]))
    assert fields(api, user, "cholesterol") == {
        "index": ["2026-03-01T12:00:00", "2026-03-01T13:00:00"],
        "type": ["total", "hdl"],
        "value": [4.5, 1.5],
    }


def test_a_value_over_a_stretch_of_time(api: ApiClient, team: factories.Tenant, user: User) -> None:
    put(team, user, series("caffeine", [NOON], [0.08], minutes=5))
    found = fields(api, user, "caffeine")
    assert found == {"index": ["2026-03-01T12:00:00"], "type": [None], "duration": [300.0], "value": [0.08]}


def test_blood_pressure(api: ApiClient, team: factories.Tenant, user: User) -> None:
    put(team, user, series("blood_pressure", [NOON, LATER], systolic=[120.0, 130.5], diastolic=[80.0, 85.5]))
    assert fields(api, user, "blood_pressure") == {
        "index": ["2026-03-01T12:00:00", "2026-03-01T13:00:00"],
        "type": [None, None],
        "systolic": [120.0, 130.5],
        "diastolic": [80.0, 85.5],
    }
    body = question(of("mean", "blood_pressure", "systolic"), of("max", "blood_pressure", "diastolic"), by="day")
    assert ask(api, user, body) == {"index": ["2026-03-01T00:00:00"], "mean": [125.25], "max": [85.5]}


def test_temperature(api: ApiClient, team: factories.Tenant, user: User) -> None:
    put(team, user, series("body_temperature", [NOON, LATER], [36.5, 37.25], minutes=1, sensor_location=["ear", None]))
    assert fields(api, user, "body_temperature") == {
        "index": ["2026-03-01T12:00:00", "2026-03-01T13:00:00"],
        "type": [None, None],
        "duration": [60.0, 60.0],
        "value": [36.5, 37.25],
        "sensor_location": ["ear", None],
    }
    warmest = question(of("max", "body_temperature"), by="day", where="sensor_location = 'ear'")
    assert ask(api, user, warmest)["max"] == [36.5]


def test_workout_duration(api: ApiClient, team: factories.Tenant, user: User) -> None:
    put(team, user, series("workout_duration", [NOON], [30.0], minutes=30, intensity=["high"]))
    assert fields(api, user, "workout_duration") == {
        "index": ["2026-03-01T12:00:00"],
        "type": [None],
        "duration": [1_800.0],
        "value": [30.0],
        "intensity": ["high"],
    }


def test_insulin(api: ApiClient, team: factories.Tenant, user: User) -> None:
    put(
        team,
        user,
        series(
            "insulin_injection", [NOON, LATER], [4.5, 12.0], minutes=0, types=["rapid_acting", "long_acting"],
            delivery_mode=["bolus", "basal"], delivery_form=["standard", None], bolus_purpose=["meal", None],
        ),
    )  # fmt: skip
    assert fields(api, user, "insulin_injection") == {
        "index": ["2026-03-01T12:00:00", "2026-03-01T13:00:00"],
        "type": ["rapid_acting", "long_acting"],
        "duration": [0.0, 0.0],
        "value": [4.5, 12.0],
        "delivery_mode": ["bolus", "basal"],
        "delivery_form": ["standard", None],
        "bolus_purpose": ["meal", None],
    }
    bolus = question(of("sum", "insulin_injection"), by="day", where="delivery_mode = 'bolus'")
    assert ask(api, user, bolus)["sum"] == [4.5]


def tag_count(where: str | None = None) -> dict[str, Any]:
    asked = {"select": {"func": "count", "arg": None}, "from": {"unnest": field("note", "tags")}}
    return asked if where is None else {**asked, "where": where}


def test_notes_and_their_tags(api: ApiClient, team: factories.Tenant, user: User) -> None:
    starts = [NOON, LATER, "2026-03-01T14:00"]
    put(
        team,
        user,
        series("note", starts, minutes=0, content=["Lunch", "Run", "Rest"], tags=["food,exercise", "exercise", None]),
    )
    assert fields(api, user, "note") == {
        "index": ["2026-03-01T12:00:00", "2026-03-01T13:00:00", "2026-03-01T14:00:00"],
        "type": [None, None, None],
        "content": ["Lunch", "Run", "Rest"],
    }
    counts = ask(api, user, question(tag_count(), tag_count("element = 'food'")))
    assert list(counts.values()) == [[2, 1, None], [1, 0, None]]


def test_notes_without_any_tags(api: ApiClient, team: factories.Tenant, user: User) -> None:
    put(team, user, series("note", [NOON], minutes=0, content=["Lunch"]))
    assert list(ask(api, user, question(tag_count())).values()) == [[None]]


def test_tags_outside_the_window_take_none_from_inside(api: ApiClient, team: factories.Tenant, user: User) -> None:
    starts = ["2026-02-28T23:30", NOON, LATER, "2026-03-02T00:30"]
    tags = ["food,exercise", "unspecified", "exercise,food,unspecified", "food"]
    put(team, user, series("note", starts, minutes=0, content=["a", "b", "c", "d"], tags=tags))
    unspecified = ask(api, user, question(tag_count(), tag_count("element = 'unspecified'")))
    assert list(unspecified.values()) == [[1, 3], [1, 1]]


def test_samples_of_a_workout_name_it_and_its_sport(api: ApiClient, team: factories.Tenant, user: User) -> None:
    put(team, user, run("morning", on=ANCHOR_ON))
    put(team, user, series("heartrate", ["2026-03-01T17:10", "2026-03-01T17:20"], [150.0, 160.0], workout="morning"))
    put(team, user, series("heartrate", [NOON], [60.0]))
    with team_scope(team.context):
        (row,) = summary_rows(team.context, user.id, "workouts", start_on=ANCHOR_ON, end_on=ANCHOR_ON)
    sources = ({"source": "source_workout_id"}, {"source": "source_sport"})
    found = ask(api, user, question(field("heartrate"), field("heartrate", "source_sport"), index="timeseries"))
    assert found == {"value": [60.0, 150.0, 160.0], "source_sport": [None, "running", "running"]}
    grouped = question({"group_key": "*"}, of("mean", "heartrate"), group_by=list(sources))
    assert ask(api, user, grouped) == {
        "group_key.0": [str(row.id), None],
        "group_key.1": ["running", None],
        "mean": [155.0, 60.0],
    }
    running = question(of("count", "heartrate"), where="source_sport = 'running'")
    assert ask(api, user, running)["count"] == [2]


def test_two_apps_and_two_devices_of_one_phone_are_merged_to_what_the_phone_shows(
    api: ApiClient, team: factories.Tenant, user: User
) -> None:
    """By priority all that the best source stored counts."""
    for recorder in (("com.apple.health.1", "phone-1"), ("com.apple.health.1", "phone-2"), ("com.runner", None)):
        phone = DataSource("apple_health_kit", "phone", *recorder)
        put(team, user, series("steps", ["2026-03-01T12:00"], [1000.0], minutes=60, source=phone))
    body = question(of("sum", "steps"), by="day", config={"source_mode": "merge"})
    assert ask(api, user, body) == {
        "index": ["2026-03-01T00:00:00"], "sum": [1000.0], "lineage.apple_health_kit.phone": [1.0]
    }  # fmt: skip
    assert ask(api, user, question(of("sum", "steps"), by="day"))["sum"] == [3000.0]


def test_several_resources_in_one_query(api: ApiClient, team: factories.Tenant, user: User) -> None:
    put(
        team,
        user,
        series("glucose", [NOON], [5.5], source=METER),
        series("heartrate", [NOON, LATER], [60.0, 70.0]),
        series("steps", [NOON], [100.0], minutes=10),
        series("blood_pressure", [LATER], systolic=[120.0], diastolic=[80.0]),
    )
    body = question(
        of("mean", "glucose"), of("max", "heartrate"), of("sum", "steps"), of("min", "blood_pressure", "systolic"),
        by="hour",
    )  # fmt: skip
    assert ask(api, user, body) == {
        "index": ["2026-03-01T12:00:00", "2026-03-01T13:00:00"],
        "mean": [5.5, None],
        "max": [60.0, 70.0],
        "sum": [100.0, None],
        "min": [None, 120.0],
    }


@pytest.mark.parametrize("spec", [one for one in SERIES if not one.is_older], ids=lambda spec: spec.slug)
def test_each_timeseries_can_be_asked_for(api: ApiClient, user: User, spec: Any) -> None:
    name = {SeriesKind.NOTE: "content", SeriesKind.BLOOD_PRESSURE: "diastolic"}.get(spec.kind, "value")
    assert ask(api, user, question(of("count", spec.slug, name))) == {"count": [0]}
