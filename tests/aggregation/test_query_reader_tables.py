"""Every table of the query over HTTP, with the cells its rows must have."""

from datetime import UTC, date, datetime, timedelta
from itertools import chain
from typing import Any

import pytest

from aggregation.query_reader import SCHEMA
from aggregation.records import DataSource
from aggregation.shapes import device_uuid
from tests import factories
from tests.aggregation.queries import ANCHOR_ON, ask, long_sleep, put, question, rows, series, summary
from tests.aggregation.summaries import RING, changed, day, run
from tests.clients import ApiClient
from users.models import User

SCALE = DataSource("withings", "scale", "com.scale", "scale-7")
LISTS: dict[str, dict[str, Any]] = {
    "menstrual_flow": {"flow": "heavy"},
    "cervical_mucus": {"quality": "creamy"},
    "intermenstrual_bleeding": {},
    "contraceptive": {"type": "oral"},
    "detected_deviations": {"deviation": "irregular_menstrual_cycles"},
    "ovulation_test": {"test_result": "positive"},
    "home_pregnancy_test": {"test_result": "negative"},
    "home_progesterone_test": {"test_result": "indeterminate"},
    "sexual_activity": {"protection_used": True},
    "basal_body_temperature": {"value": 36.5},
}


@pytest.fixture
def user(team: factories.Tenant) -> User:
    return factories.user_make(team, fallback_time_zone="Europe/Berlin")


def test_sleep(api: ApiClient, team: factories.Tenant, user: User) -> None:
    put(
        team,
        user,
        long_sleep(
            "night", ANCHOR_ON, hours_asleep=7.5, rem=5_400, deep=4_500, light=15_300, state="confirmed", score=80,
            recovery_readiness_score=71, hr_lowest=48, hr_average=55, hr_resting=50, hr_dip=12.5, efficiency=83.25,
            latency=600, temperature_delta=-0.25, skin_temperature=34.5, average_hrv=61.5, respiratory_rate=14.25,
        ),
    )  # fmt: skip
    assert SCHEMA.table("sleep") is not None
    found = rows(api, user, "sleep", *(name for name in SCHEMA.table("sleep").columns if name != "id"))  # type: ignore[union-attr]
    assert found == {
        "index": ["2026-03-01T08:00:00"],
        "session_start": ["2026-02-28T23:00:00"],
        "session_end": ["2026-03-01T08:00:00"],
        "state": ["confirmed"],
        "type": ["long_sleep"],
        "duration_second": [32_400],
        "stage_asleep_second": [27_000],
        "stage_awake_second": [5_400],
        "stage_light_second": [15_300],
        "stage_rem_second": [5_400],
        "stage_deep_second": [4_500],
        "stage_unknown_second": [1_800],
        "latency_second": [600],
        "heart_rate_minimum": [48],
        "heart_rate_mean": [55],
        "heart_rate_maximum": [None],
        "heart_rate_dip": [12.5],
        "heart_rate_resting": [50],
        "efficiency": [83.25],
        "hrv_mean_rmssd": [61.5],
        "hrv_mean_sdnn": [None],
        "skin_temperature": [34.5],
        "skin_temperature_delta": [-0.25],
        "respiratory_rate": [14.25],
        "score": [80],
        "recovery_readiness_score": [71.0],
        "source_type": ["ring"],
        "source_provider": ["oura"],
        "source_app_id": [None],
        "source_device_id": [None],
        "time_zone": ["+01:00"],
    }


def test_a_sleep_belongs_to_the_day_on_which_it_ends(api: ApiClient, team: factories.Tenant, user: User) -> None:
    """An end at 23:30 UTC is half past midnight in Berlin, whose zone tells where no offset came."""
    ends_at = datetime(2026, 2, 28, 23, 30, tzinfo=UTC)
    nap = changed(
        long_sleep("nap", date(2026, 2, 28), offset_seconds=None),
        starts_at=ends_at - timedelta(hours=9),
        ends_at=ends_at,
    )
    put(team, user, nap, long_sleep("before", date(2026, 2, 28)))
    assert rows(api, user, "sleep", "session_end", "time_zone") == {
        "index": ["2026-03-01T00:30:00"],
        "session_end": ["2026-03-01T00:30:00"],
        "time_zone": ["Europe/Berlin"],
    }


def test_activity(api: ApiClient, team: factories.Tenant, user: User) -> None:
    put(
        team,
        user,
        day(
            "today", on=ANCHOR_ON, calories_total=2_400.5, calories_active=500.25, steps=9_001, distance=7_000.5,
            daily_movement=8_000.0, low=100.0, medium=30.5, high=12.25, floors_climbed=4, wheelchair_use=True,
            wheelchair_push=7, time_zone="America/New_York",
            heart_rate={
                "avg_bpm": 61.5, "min_bpm": 45.0, "max_bpm": 140.0, "resting_bpm": 52.0, "avg_walking_bpm": 90.0,
            },
        ),
    )  # fmt: skip
    columns = SCHEMA.table("activity")
    assert columns is not None
    assert rows(api, user, "activity", *columns.columns) == {
        "index": ["2026-03-01"],
        "date": ["2026-03-01"],
        "calories_total": [2_400.5],
        "calories_active": [500.25],
        "steps": [9_001],
        "distance_meter": [7_000.5],
        "floors_climbed": [4],
        "duration_active_second": [8_565],
        "intensity_sedentary_second": [None],
        "intensity_low_second": [6_000],
        "intensity_medium_second": [1_830],
        "intensity_high_second": [735],
        "heart_rate_mean": [61.5],
        "heart_rate_minimum": [45.0],
        "heart_rate_maximum": [140.0],
        "heart_rate_resting": [52.0],
        "heart_rate_mean_walking": [90.0],
        "wheelchair_use": [True],
        "wheelchair_push": [7],
        "source_type": ["ring"],
        "source_provider": ["oura"],
        "source_app_id": [None],
        "source_device_id": [None],
        "time_zone": ["America/New_York"],
        "time_zone_offset": [None],
    }


def test_workout(api: ApiClient, team: factories.Tenant, user: User) -> None:
    put(
        team,
        user,
        run(
            "morning", on=ANCHOR_ON, title="Along the river", average_hr=140, max_hr=171, distance=10_000.5,
            calories=700.5, hr_zones=[1, 2, 3, 4, 5, 6], moving_time=3_500, total_elevation_gain=80.5, elev_high=120.5,
            elev_low=40.5, average_speed=2.75, max_speed=4.5, average_watts=200.5, device_watts=201.5, max_watts=400.5,
            weighted_average_watts=210.5, steps=9_500, map={"polyline": "abc", "summary_polyline": "ab"},
        ),
    )  # fmt: skip
    columns = SCHEMA.table("workout")
    assert columns is not None
    assert rows(api, user, "workout", *columns.columns) == {
        "index": ["2026-03-01T18:00:00"],
        "session_start": ["2026-03-01T18:00:00"],
        "session_end": ["2026-03-01T19:00:00"],
        "title": ["Along the river"],
        "sport_name": ["Running"],
        "sport_slug": ["running"],
        "duration_active_second": [3_500],
        "heart_rate_mean": [140],
        "heart_rate_minimum": [None],
        "heart_rate_maximum": [171],
        **{f"heart_rate_zone_{zone}": [float(zone)] for zone in range(1, 7)},
        "distance_meter": [10_000.5],
        "calories": [700.5],
        "elevation_gain_meter": [80.5],
        "elevation_maximum_meter": [120.5],
        "elevation_minimum_meter": [40.5],
        "speed_mean": [2.75],
        "speed_maximum": [4.5],
        "power_source": [201.5],
        "power_mean": [200.5],
        "power_maximum": [400.5],
        "power_weighted_mean": [210.5],
        "steps": [9_500],
        "map_polyline": ["abc"],
        "map_summary_polyline": ["ab"],
        "source_type": ["ring"],
        "source_provider": ["oura"],
        "source_app_id": [None],
        "source_device_id": [None],
        "external_id": ["morning"],
        "time_zone": ["+01:00"],
    }


def test_body(api: ApiClient, team: factories.Tenant, user: User) -> None:
    values: dict[str, Any] = {
        "water_percentage": 55.5,
        "muscle_mass_percentage": 40.5,
        "visceral_fat_index": 6.5,
        "bone_mass_percentage": 3.5,
        "body_mass_index": 22.5,
        "lean_body_mass_kilogram": 57.5,
        "waist_circumference_centimeter": 80.5,
    }
    weighed = datetime(2026, 3, 1, 6, 30, tzinfo=UTC)
    put(
        team,
        user,
        summary("body", "a", source=SCALE, starts_at=weighed, offset_seconds=-3_600, weight=70.5, fat=18.5, **values),
        summary("body", "b", weight=71.0),
    )
    columns = SCHEMA.table("body")
    assert columns is not None
    assert rows(api, user, "body", *columns.columns) == {
        "index": ["2026-03-01T00:00:00", "2026-03-01T05:30:00"],
        "measured_at": ["2026-03-01T00:00:00", "2026-03-01T05:30:00"],
        "weight_kilogram": [71.0, 70.5],
        "fat_mass_percentage": [None, 18.5],
        **{name: [None, value] for name, value in values.items()},
        "source_type": ["ring", "scale"],
        "source_provider": ["oura", "withings"],
        "source_app_id": [None, "com.scale"],
        "source_device_id": [None, str(device_uuid(user.id, "withings", "scale-7"))],
        "time_zone": ["Europe/Berlin", "-01:00"],
    }


def test_meal(api: ApiClient, team: factories.Tenant, user: User) -> None:
    micro = {
        "minerals": [
            "sodium", "potassium", "calcium", "phosphorus", "magnesium", "iron", "zinc", "fluoride", "chloride",
        ],
        "vitamins": [
            "vitamin_a", "vitamin_b1", "riboflavin", "niacin", "pantothenic_acid", "vitamin_b6", "biotin",
            "vitamin_b12", "vitamin_c", "vitamin_d", "vitamin_e", "vitamin_k", "folic_acid",
        ],
        "trace_elements": ["chromium", "copper", "iodine", "manganese", "molybdenum", "selenium"],
    }  # fmt: skip
    grams = ["protein", "alcohol", "water", "fibre", "sugar", "cholesterol"]
    fats = ["saturated", "monounsaturated", "polyunsaturated", "omega3", "omega6", "total"]
    values = {name: float(place) + 0.5 for place, name in enumerate([*grams, *fats, *chain(*micro.values())])}
    eaten = datetime(2026, 3, 1, 12, tzinfo=UTC)
    put(
        team,
        user,
        summary(
            "meal", "lunch", starts_at=eaten, ends_at=eaten, name="Lunch", energy={"unit": "kcal", "value": 650.5},
            macros={
                "carbs": 80.5,
                **{name: values[name] for name in grams},
                "fats": {name: values[name] for name in fats},
            },
            micros={group: {name: values[name] for name in names} for group, names in micro.items()},
        ),
    )  # fmt: skip
    table = SCHEMA.table("meal")
    assert table is not None
    found = rows(api, user, "meal", *table.columns)
    assert (found.pop("index"), found.pop("date"), found.pop("name")) == (["2026-03-01"], ["2026-03-01"], ["Lunch"])
    assert (found.pop("calories"), found.pop("carbohydrate_gram")) == ([650.5], [80.5])
    sources = {name: found.pop(name) for name in list(found) if name.startswith("source_")}
    assert sources["source_provider"] == ["oura"]
    shortened = {name.rpartition("_")[0].removesuffix("_fat"): cells for name, cells in found.items()}
    assert shortened == {name: [value] for name, value in values.items()}


def test_profile_by_its_last_change(api: ApiClient, team: factories.Tenant, user: User) -> None:
    put(
        team,
        user,
        summary(
            "profile", "me", date(2020, 1, 1), height=180, birth_date="1990-02-28", wheelchair_use=True,
            gender="female", sex="other",
        ),
    )  # fmt: skip
    today = datetime.now(UTC).date()
    body = question(
        *({"profile": name} for name in ("height_centimeter", "birth_date", "wheelchair_use", "gender", "sex")),
        {"profile": "updated_at"},
        {"index": "profile"},
        days=2,
        anchor=today + timedelta(days=1),
    )
    found = ask(api, user, body)
    assert found.pop("index") == found.pop("updated_at")
    assert found == {
        "height_centimeter": [180],
        "birth_date": ["1990-02-28"],
        "wheelchair_use": [True],
        "gender": ["female"],
        "sex": ["other"],
    }
    body["timeframe"]["anchor"] = "2020-01-01"
    assert ask(api, user, body)["sex"] == []


def cycle(external_id: str, start: date, **fields: Any) -> Any:
    return summary("menstrual_cycle", external_id, start, period_start=start.isoformat(), **fields)


def test_menstrual_cycle(api: ApiClient, team: factories.Tenant, user: User) -> None:
    put(team, user, cycle("a", ANCHOR_ON, period_end="2026-03-05", cycle_end="2026-03-28", is_predicted=True))
    scalars = ("period_start", "period_end", "cycle_end", "is_predicted", "source_provider", "source_type")
    assert rows(api, user, "menstrual_cycle", *scalars) == {
        "index": ["2026-03-01"],
        "period_start": ["2026-03-01"],
        "period_end": ["2026-03-05"],
        "cycle_end": ["2026-03-28"],
        "is_predicted": [True],
        "source_provider": ["oura"],
        "source_type": ["ring"],
    }


def subquery(function: str, column: str, field: str | None, where: str | None = None) -> dict[str, Any]:
    arg = None if field is None else {"field_for": "menstrual_cycle", column: field}
    asked: dict[str, Any] = {
        "select": {"func": function, "arg": arg},
        "from": {"unnest": {"menstrual_cycle": column}},
    }
    return asked if where is None else {**asked, "where": where}


def test_lists_of_a_menstrual_cycle_are_read_by_subqueries(api: ApiClient, team: factories.Tenant, user: User) -> None:
    lists = {name: [{"date": "2026-03-01", **entry}, {"date": "2026-03-02", **entry}] for name, entry in LISTS.items()}
    lists["menstrual_flow"].append({"date": "2026-03-03", "flow": "light"})
    put(team, user, cycle("a", ANCHOR_ON, **lists), cycle("b", date(2026, 2, 1)))
    counts = [subquery("count", name, None) for name in LISTS]
    found = ask(api, user, question(*counts, days=60, index="menstrual_cycle"))
    assert list(found.values()) == [[0, 3], *([0, 2] for _ in range(9))]
    entries = [subquery("max", name, field) for name, entry in LISTS.items() for field in entry]
    last = ask(api, user, question(*entries))
    assert [cells[0] for cells in last.values()] == [
        "light",
        *(value for entry in list(LISTS.values())[1:] for value in entry.values()),
    ]
    heavy = subquery("count", "menstrual_flow", None, "flow = 'heavy'")
    assert list(ask(api, user, question(heavy)).values()) == [[2]]


def test_every_column_of_every_table_can_be_selected(api: ApiClient, team: factories.Tenant, user: User) -> None:
    put(team, user, long_sleep("a", ANCHOR_ON), day("b", on=ANCHOR_ON), run("c", on=ANCHOR_ON), cycle("d", ANCHOR_ON))
    put(team, user, summary("body", "e", weight=70.0))
    counted = {}
    for name in SCHEMA.table_names():
        table = SCHEMA.table(name)
        assert table is not None
        plain = [column for column in table.columns if column not in table.lists]
        answer = rows(api, user, name, *plain)
        assert set(answer) == {"index", *plain}
        counted[name] = {len(cells) for cells in answer.values()}
    assert counted == {
        "sleep": {1}, "activity": {1}, "workout": {1}, "body": {1}, "meal": {0}, "profile": {0},
        "derived_readiness": {1}, "menstrual_cycle": {1}, "reliability": {5},
    }  # fmt: skip


def test_every_source_counts_where_rows_tell_of_sources(api: ApiClient, team: factories.Tenant, user: User) -> None:
    for source in (RING, DataSource("garmin", "watch")):
        put(team, user, series("heartrate", ["2026-03-01T12:00"], [60.0], source=source))
    by_resource = question(
        {"group_key": "*"},
        {"func": "count", "arg": {"reliability": "presence_day_count"}},
        group_by=[{"reliability": "resource"}],
    )
    assert ask(api, user, by_resource) == {"group_key.0": ["heartrate"], "count": [2]}
