"""What data tell of a person is kept, unless the customer said otherwise or something newer is known."""

from datetime import UTC, date, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests import factories
from users.models import User
from users.services import fallback_birth_date_learn, fallback_time_zone_learn, user_patch

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
BORN = date(1980, 2, 29)


@pytest.fixture
def user(in_team: factories.Tenant) -> User:
    return factories.user_make(in_team)


def zone_learn(team: factories.Tenant, user: User, zone: str, *, at: datetime = NOON, slug: str = "oura") -> None:
    fallback_time_zone_learn(team=team.context, user_id=user.id, time_zone=zone, source_slug=slug, known_at=at)


def birth_learn(team: factories.Tenant, user: User, born: date, *, at: datetime = NOON, slug: str = "oura") -> None:
    fallback_birth_date_learn(team=team.context, user_id=user.id, birth_date=born, source_slug=slug, known_at=at)


def zone_of(user: User) -> tuple[str | None, str, datetime | None]:
    user = User.objects.get(pk=user.pk)
    return user.fallback_time_zone, user.fallback_time_zone_source, user.fallback_time_zone_updated_at


def birth_of(user: User) -> tuple[str | None, str, datetime | None]:
    user = User.objects.get(pk=user.pk)
    return user.fallback_birth_date, user.fallback_birth_date_source, user.fallback_birth_date_updated_at


def test_newer_knowledge_of_the_zone_wins(in_team: factories.Tenant, user: User) -> None:
    zone_learn(in_team, user, "Europe/Berlin")
    assert zone_of(user) == ("Europe/Berlin", "oura", NOON)
    zone_learn(in_team, user, "Asia/Tokyo", at=NOON - timedelta(days=300), slug="withings")
    assert zone_of(user) == ("Europe/Berlin", "oura", NOON)
    zone_learn(in_team, user, "Asia/Tokyo", at=NOON + timedelta(hours=1), slug="withings")
    assert zone_of(user) == ("Asia/Tokyo", "withings", NOON + timedelta(hours=1))


def test_newer_knowledge_of_the_birth_date_wins(in_team: factories.Tenant, user: User) -> None:
    birth_learn(in_team, user, BORN)
    assert birth_of(user) == ("1980-02-29", "oura", NOON)
    birth_learn(in_team, user, date(1981, 1, 1), at=NOON - timedelta(days=1))
    assert birth_of(user) == ("1980-02-29", "oura", NOON)
    birth_learn(in_team, user, date(1981, 1, 1), at=NOON + timedelta(days=1), slug="withings")
    assert birth_of(user) == ("1981-01-01", "withings", NOON + timedelta(days=1))


def test_what_the_customer_said_stands(in_team: factories.Tenant, user: User) -> None:
    user_patch(
        team=in_team.context,
        user_id=user.id,
        changes={"fallback_time_zone": "Europe/London", "fallback_birth_date": BORN},
    )
    later = NOON + timedelta(days=3_650)
    for slug in ("oura", "manual"):
        zone_learn(in_team, user, "Asia/Tokyo", at=later, slug=slug)
        birth_learn(in_team, user, date(1981, 1, 1), at=later, slug=slug)
    assert zone_of(user)[:2] == ("Europe/London", "manual")
    assert birth_of(user)[:2] == ("1980-02-29", "manual")


def test_what_the_customer_took_back_can_be_learned_again(in_team: factories.Tenant, user: User) -> None:
    for value in ("Europe/London", None):
        user_patch(team=in_team.context, user_id=user.id, changes={"fallback_time_zone": value})
    zone_learn(in_team, user, "Asia/Tokyo")
    assert zone_of(user) == ("Asia/Tokyo", "oura", NOON)


def test_what_came_with_pushed_data_is_no_word_of_the_customers(in_team: factories.Tenant, user: User) -> None:
    zone_learn(in_team, user, "Europe/Berlin", slug="manual")
    birth_learn(in_team, user, BORN, slug="manual")
    assert (zone_of(user)[1], birth_of(user)[1]) == ("manual_push", "manual_push")
    zone_learn(in_team, user, "Asia/Tokyo", at=NOON + timedelta(hours=1))
    assert zone_of(user)[0] == "Asia/Tokyo"


def test_the_same_again_dates_the_knowledge_anew_once_a_day(in_team: factories.Tenant, user: User) -> None:
    zone_learn(in_team, user, "Europe/Berlin")
    birth_learn(in_team, user, BORN)
    for hours, expected in ((23, NOON), (24, NOON + timedelta(hours=24))):
        zone_learn(in_team, user, "Europe/Berlin", at=NOON + timedelta(hours=hours), slug="withings")
        birth_learn(in_team, user, BORN, at=NOON + timedelta(hours=hours), slug="withings")
        assert (zone_of(user)[2], birth_of(user)[2]) == (expected, expected)


def test_nothing_new_costs_one_statement_each_and_writes_nothing(in_team: factories.Tenant, user: User) -> None:
    zone_learn(in_team, user, "Europe/Berlin")
    birth_learn(in_team, user, BORN)
    with CaptureQueriesContext(connection) as queries:
        zone_learn(in_team, user, "Europe/Berlin", at=NOON + timedelta(hours=1))
        birth_learn(in_team, user, BORN, at=NOON + timedelta(hours=1))
    assert [query["sql"].split()[0] for query in queries.captured_queries] == ["UPDATE", "SELECT"]
    assert (zone_of(user)[2], birth_of(user)[2]) == (NOON, NOON)


def test_another_teams_user_learns_nothing(in_team: factories.Tenant, other_team: factories.Tenant, user: User) -> None:
    zone_learn(other_team, user, "Europe/Berlin")
    birth_learn(other_team, user, BORN)
    assert (zone_of(user)[0], birth_of(user)[0]) == (None, None)
