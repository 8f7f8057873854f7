"""Summaries: the last version by id wins, wrong ones are refused by reason, counts and events say what happened."""

from datetime import UTC, date, datetime
from uuid import UUID, uuid4

import pytest
from pytest_django import DjangoAssertNumQueries

from aggregation.models import Summary
from aggregation.records import DataSource, Refusal, StoreResult, SummaryRecord
from aggregation.services import health_data_store
from aggregation.store.checking import Ingestion, summary_reason
from healthsvc.kernel.typing import JSONValue
from tests import factories
from tests.aggregation.summaries import changed, cycle, day, night, of_resource, run
from users.models import User


@pytest.fixture
def user(in_team: factories.Tenant) -> User:
    return factories.user_make(in_team)


def store(tenant: factories.Tenant, user: User, *summaries: SummaryRecord) -> StoreResult:
    return health_data_store(team=tenant.context, user_id=user.id, summaries=summaries)


def test_the_latest_version_replaces_the_earlier_and_keeps_its_id(in_team: factories.Tenant, user: User) -> None:
    assert store(in_team, user, night(score=70)) == StoreResult(created={"sleep": 1})
    first = Summary.objects.get()
    assert store(in_team, user, night(score=70)) == StoreResult(unchanged={"sleep": 1})
    assert Summary.objects.get().updated_at == first.updated_at
    assert store(in_team, user, night(hr_lowest=48)) == StoreResult(changed={"sleep": 1})
    second = Summary.objects.get()
    assert (second.id, second.created_at) == (first.id, first.created_at)
    assert second.updated_at > first.updated_at
    assert "score" not in second.payload
    assert second.payload["hr_lowest"] == 48


def test_versions_in_one_batch_count_as_if_they_came_one_after_another(in_team: factories.Tenant, user: User) -> None:
    versions = [night(score=70), day(), night(score=71), night(score=71), night(score=70)]
    result = store(in_team, user, *versions)
    assert result == StoreResult(created={"sleep": 1, "activity": 1}, changed={"sleep": 2}, unchanged={"sleep": 1})
    assert Summary.objects.get(resource="sleep").payload["score"] == 70


def test_many_versions_in_one_batch_cost_two_statements(
    in_team: factories.Tenant, user: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    versions = [night(score=1 + number % 100) for number in range(300)]
    # Savepoint and its release, user held, the first and the last version written.
    with django_assert_num_queries(5):
        result = health_data_store(team=in_team.context, user_id=user.id, summaries=versions, emit=False)
    assert result == StoreResult(created={"sleep": 1}, changed={"sleep": 299})
    assert Summary.objects.get().payload["score"] == 100


def test_a_summary_is_known_by_user_resource_provider_and_its_own_id(in_team: factories.Tenant, user: User) -> None:
    other = factories.user_make(in_team)
    same_id = [day("x"), night("x"), changed(day("x"), source=DataSource("garmin", "watch"))]
    assert store(in_team, user, *same_id).created == {"activity": 2, "sleep": 1}
    assert store(in_team, other, day("x")).created == {"activity": 1}
    # Another device of the same provider revises the same summary.
    moved = changed(day("x"), source=DataSource("oura", "phone"))
    assert store(in_team, user, moved) == StoreResult(changed={"activity": 1})


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (changed(day(), resource="mood"), "unknown_resource"),
        (changed(day(), source=DataSource("oura", "toaster")), "bad_source"),
        (changed(day(), external_id=""), "bad_value"),
        (day(steps="many"), "bad_value"),
        (day(steps=True), "bad_value"),
        (day(steps=1.5), "bad_value"),
        (day(steps=-1), "out_of_range"),
        (day(distance=float("nan")), "bad_value"),
        (day(mood="good"), "unknown_field"),
        (day(heart_rate={"avg_bpm": 60.0, "mood": 1}), "unknown_field"),
        (day(heart_rate={"avg_bpm": 900.0}), "out_of_range"),
        (day(time_zone="a\x00b"), "bad_value"),
        (night(type="siesta"), "bad_value"),
        (night(deep=None), "missing_field"),
        (changed(night(), ends_at=datetime(2020, 1, 1, tzinfo=UTC)), "end_before_start"),
        (changed(night(), starts_at=None), "bad_date"),
        (changed(night(), calendar_date=date(1812, 1, 1)), "bad_date"),
        (changed(night(), timezone_offset_seconds=100_000), "bad_offset"),
        (run(sport="quidditch"), "bad_value"),
        (run(hr_zones=[1, "2"]), "bad_value"),
        (run(hr_zones=[0] * 25), "bad_value"),
        (day(steps=10**400), "out_of_range"),
        (changed(day(), raw={"a": "\x00"}), "bad_value"),
        (changed(day(), raw={"a": 10**400}), "bad_value"),
        (changed(night(), starts_at=datetime(1, 1, 1, tzinfo=UTC)), "bad_date"),
        (cycle(sleep_external_id="another night"), "unknown_parent"),
        (cycle(sleep_id=str(uuid4()), sleep_external_id=None), "unknown_parent"),
        (cycle(sleep_id="night-1", sleep_external_id=None), "bad_value"),
        (cycle(sleep_id=7, sleep_external_id=None), "bad_value"),
        (cycle(sleep_external_id=None), "missing_field"),
        (cycle(sleep_external_id=""), "bad_value"),
        (cycle(stage_type=[4, 2]), "inconsistent_fields"),
        (cycle(stage_type=[4, 2, 0]), "inconsistent_fields"),
        (cycle(stage_type=[4, 2, 6]), "out_of_range"),
        (cycle(stage_start_offset_second=[0, 7_200, 600]), "inconsistent_fields"),
        (cycle(stage_end_offset_second=[600, 500, 28_800]), "inconsistent_fields"),
        (cycle(stage_start_offset_second=[-1, 600, 7_200]), "out_of_range"),
        (cycle(stage_start_offset_second=None), "missing_field"),
        (of_resource("body", weight=0.0), "out_of_range"),
        (of_resource("profile", birth_date="1990-02-30"), "bad_value"),
        (of_resource("profile", birth_date="19900203"), "bad_value"),
        (of_resource("profile", birth_date="1812-01-01"), "out_of_range"),
        (of_resource("profile", wheelchair_use="yes"), "bad_value"),
        (of_resource("profile", gender="robot"), "bad_value"),
        (of_resource("meal"), "missing_field"),
        (of_resource("meal", name="Lunch", energy={"unit": "kJ", "value": 1.0}), "bad_value"),
        (of_resource("meal", name="Lunch", energy={"unit": "kcal"}), "missing_field"),
        (of_resource("meal", name="Lunch", macros={"fats": {"trans": 1.0}}), "unknown_field"),
        (of_resource("meal", name="Lunch", macros={"fats": {"total": -1.0}}), "out_of_range"),
        (of_resource("meal", name="Lunch", micros={"minerals": {"gold": 1.0}}), "unknown_field"),
        (of_resource("meal", name="Lunch", micros={"minerals": {"iron": "much"}}), "bad_value"),
        (of_resource("meal", name="Lunch", data={"Soup": {"macros": {"carbs": True}}}), "bad_value"),
        (of_resource("meal", name="Lunch", data={"So\x00up": {}}), "bad_value"),
        (of_resource("meal", name="Lunch", data={"": {}}), "bad_value"),
        (of_resource("meal", name="Lunch", data={str(number): {} for number in range(501)}), "bad_value"),
        (of_resource("meal", name="Lunch", data=[]), "bad_value"),
        (changed(of_resource("meal", name="Lunch"), starts_at=None), "bad_date"),
        (of_resource("menstrual_cycle"), "missing_field"),
        (of_resource("menstrual_cycle", period_start="2026-03-02", period_end="2026-03-01"), "inconsistent_fields"),
        (of_resource("menstrual_cycle", period_start="2026-03-02", cycle_end="2026-03-01"), "inconsistent_fields"),
        (of_resource("menstrual_cycle", period_start="2026-03-02", menstrual_flow=[{"flow": "heavy"}]),
         "missing_field"),
        (of_resource("menstrual_cycle", period_start="2026-03-02", menstrual_flow={"flow": "heavy"}), "bad_value"),
        (of_resource("menstrual_cycle", period_start="2026-03-02", ovulation_test=["positive"]), "bad_value"),
        (of_resource("menstrual_cycle", period_start="2026-03-02",
                     ovulation_test=[{"date": "2026-03-03", "test_result": "perhaps"}]), "bad_value"),
        (of_resource("electrocardiogram", voltage_sample_count=1.5), "bad_value"),
        (of_resource("electrocardiogram", voltage_sample_count=1, classification="fine"), "bad_value"),
        (of_resource("device", device_model="x" * 256), "bad_value"),
    ],
)  # fmt: skip
def test_a_wrong_summary_is_refused_and_its_neighbour_kept(
    in_team: factories.Tenant, user: User, record: SummaryRecord, reason: str
) -> None:
    result = store(in_team, user, record, run("good"))
    assert result == StoreResult(created={"workouts": 1}, refused=(Refusal(record.resource, reason, 1),))
    assert [row.external_id for row in Summary.objects.all()] == ["good"]


def test_days_outside_the_ingestion_bounds_are_refused(in_team: factories.Tenant) -> None:
    user = factories.user_make(in_team, ingestion_start=date(2026, 3, 2), ingestion_end=date(2026, 3, 3))
    days = [day(str(number), on=date(2026, 3, number)) for number in (1, 2, 3, 4)]
    result = store(in_team, user, *days)
    assert result == StoreResult(created={"activity": 2}, refused=(Refusal("activity", "outside_ingestion_bounds", 2),))


def test_a_hundred_summaries_cost_as_many_statements_as_one(
    in_team: factories.Tenant, user: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for count in (1, 100):
        records = [day(f"{count}-{number}") for number in range(count)]
        # Savepoint and its release, user held, summaries written.
        with django_assert_num_queries(4):
            health_data_store(team=in_team.context, user_id=user.id, summaries=records, emit=False)


def test_whole_numbers_may_come_as_floats_and_stay_whole(in_team: factories.Tenant, user: User) -> None:
    store(in_team, user, day(steps=9_000.0))
    payload = Summary.objects.get().payload
    assert payload["steps"] == 9_000
    assert isinstance(payload["steps"], int)


def test_a_reason_is_told_without_writing_where_it_does_not_depend_on_what_is_stored() -> None:
    always = Ingestion()
    records = [night(), night(type="siesta"), cycle(stage_type=[1]), cycle(sleep_external_id="another night")]
    assert [summary_reason(record, always) for record in records] == [None, "bad_value", "inconsistent_fields", None]


LUNCH: dict[str, JSONValue] = {
    "name": "Lunch",
    "energy": {"value": 650},
    "macros": {"carbs": 80, "fats": {"total": 20.5}},
    "micros": {"minerals": {"iron": 4}},
    "data": {"Soup": {"energy": {"unit": "kcal", "value": 150.0}}, "Bread": {}},
}
NO_FATS = dict.fromkeys(["saturated", "monounsaturated", "polyunsaturated", "omega3", "omega6", "total"])
NO_MACROS = dict.fromkeys(["carbs", "protein", "fats", "alcohol", "water", "fibre", "sugar", "cholesterol"])


def test_nested_fields_are_kept_whole(in_team: factories.Tenant, user: User) -> None:
    assert store(in_team, user, of_resource("meal", **LUNCH)).created == {"meal": 1}
    assert Summary.objects.get().payload == {
        "timestamp": "2026-03-02T08:00:00+00:00",
        "name": "Lunch",
        "energy": {"unit": "kcal", "value": 650.0},
        "macros": {**NO_MACROS, "carbs": 80.0, "fats": {**NO_FATS, "total": 20.5}},
        "micros": {"minerals": {"iron": 4.0}, "trace_elements": None, "vitamins": None},
        "data": {
            "Soup": {"energy": {"unit": "kcal", "value": 150.0}, "macros": None, "micros": None},
            "Bread": {"energy": None, "macros": None, "micros": None},
        },
    }


def test_what_a_record_does_not_say_has_its_default(in_team: factories.Tenant, user: User) -> None:
    entries: JSONValue = [{"date": "2026-03-02", "flow": "light"}, {"date": "2026-03-03", "flow": "none"}]
    period = of_resource("menstrual_cycle", period_start="2026-03-02", menstrual_flow=entries)
    profile = of_resource("profile", height=180.0, wheelchair_use=False, birth_date="1990-02-03")
    store(in_team, user, period, profile)
    assert Summary.objects.get(resource="menstrual_cycle").payload == {
        "period_start": "2026-03-02",
        "is_predicted": False,
        "menstrual_flow": entries,
    }
    # The API knows no false for the wheelchair.
    assert Summary.objects.get(resource="profile").payload == {"height": 180, "birth_date": "1990-02-03"}


def test_a_cycle_finds_its_sleep_in_the_same_write_and_in_what_is_stored(in_team: factories.Tenant, user: User) -> None:
    result = store(in_team, user, cycle(), cycle("lost", sleep_external_id="another night"), night())
    assert result == StoreResult(
        created={"sleep": 1, "sleep_cycle": 1}, refused=(Refusal("sleep_cycle", "unknown_parent", 1),)
    )
    sleep = Summary.objects.get(resource="sleep")
    kept = Summary.objects.get(resource="sleep_cycle")
    assert kept.payload["sleep_id"] == str(sleep.id)
    assert "sleep_external_id" not in kept.payload
    assert store(in_team, user, cycle()) == StoreResult(unchanged={"sleep_cycle": 1})
    by_id = cycle("again", sleep_external_id=None, sleep_id=str(sleep.id).upper())
    assert store(in_team, user, by_id).created == {"sleep_cycle": 1}
    assert {UUID(row.payload["sleep_id"]) for row in Summary.objects.filter(resource="sleep_cycle")} == {sleep.id}


def test_a_cycle_belongs_to_a_sleep_of_the_same_person_and_provider(in_team: factories.Tenant, user: User) -> None:
    other = factories.user_make(in_team)
    store(in_team, other, night())
    theirs = str(Summary.objects.get().id)
    store(in_team, user, changed(night(), source=DataSource("garmin", "watch")), run())
    workout = str(Summary.objects.get(resource="workouts").id)
    wrong = [cycle("a"), *(cycle(one, sleep_id=one, sleep_external_id=None) for one in (theirs, workout))]
    assert store(in_team, user, *wrong).refused == (Refusal("sleep_cycle", "unknown_parent", 3),)


def test_cycles_cost_two_statements_whatever_their_number(
    in_team: factories.Tenant, user: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for count in (1, 50):
        records = [cycle(f"{count}-{number}") for number in range(count)]
        # Savepoint and its release, user held, sleeps written and looked up, cycles written.
        with django_assert_num_queries(6):
            health_data_store(team=in_team.context, user_id=user.id, summaries=[night(), *records], emit=False)


def test_the_newest_raw_form_is_kept_and_is_no_change_by_itself(in_team: factories.Tenant, user: User) -> None:
    store(in_team, user, changed(day(), raw={"version": 1, "text": "a\\u0000"}))
    first = Summary.objects.get()
    assert first.raw == {"version": 1, "text": "a\\u0000"}
    assert store(in_team, user, changed(day(), raw={"version": 2})) == StoreResult(unchanged={"activity": 1})
    second = Summary.objects.get()
    assert (second.raw, second.updated_at) == ({"version": 2}, first.updated_at)
    # One that brings no raw form takes none away, unless it says something else.
    assert store(in_team, user, day()) == StoreResult(unchanged={"activity": 1})
    assert Summary.objects.get().raw == {"version": 2}
    assert store(in_team, user, day(steps=9_001)) == StoreResult(changed={"activity": 1})
    assert Summary.objects.get().raw is None
