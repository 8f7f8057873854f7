"""Summaries: the last version by id wins, wrong ones are refused by reason, counts and events say what happened."""

from datetime import UTC, date, datetime

import pytest
from pytest_django import DjangoAssertNumQueries

from aggregation.models import Summary
from aggregation.records import DataSource, Refusal, StoreResult, SummaryRecord
from aggregation.services import health_data_store
from tests import factories
from tests.aggregation.summaries import changed, day, night, run
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
    ],
)
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
        # Savepoint and its release, user held and read, summaries written.
        with django_assert_num_queries(5):
            health_data_store(team=in_team.context, user_id=user.id, summaries=records, emit=False)


def test_whole_numbers_may_come_as_floats_and_stay_whole(in_team: factories.Tenant, user: User) -> None:
    store(in_team, user, day(steps=9_000.0))
    payload = Summary.objects.get().payload
    assert payload["steps"] == 9_000
    assert isinstance(payload["steps"], int)
