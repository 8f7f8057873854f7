"""A day is the person's: queries over HTTP through travel, daylight saving, leap days and offsets nobody sent."""

from datetime import date

import pytest

from aggregation.records import OFFSET_UNKNOWN
from tests import factories
from tests.aggregation.queries import ask, of, put, question, series
from tests.aggregation.samples import batch, us
from tests.clients import ApiClient
from users.models import User

HOUR_US = 3_600_000_000


@pytest.fixture
def user(team: factories.Tenant) -> User:
    return factories.user_make(team, fallback_time_zone="Europe/Berlin")


def hourly(start_us: int, hours: int, offset_seconds: int = OFFSET_UNKNOWN) -> list[tuple[int, int, float, int, None]]:
    """One step at the start of every hour."""
    return [
        (at, at + 1_000_000, 1.0, offset_seconds, None) for at in range(start_us, start_us + hours * HOUR_US, HOUR_US)
    ]


def test_a_day_is_the_persons_own(api: ApiClient, team: factories.Tenant, user: User) -> None:
    """On a watch in Tokyo, and by the fallback zone where no offset came: all on the first of March."""
    tokyo = batch([(us(2026, 2, 28, 15, 0), us(2026, 2, 28, 15, 30), 100.0, 32_400, None)])
    berlin = batch([(us(2026, 3, 1, 22, 59), us(2026, 3, 1, 23, 5), 10.0, OFFSET_UNKNOWN, None)])
    next_day = batch([(us(2026, 3, 1, 23, 0), us(2026, 3, 1, 23, 5), 1.0, OFFSET_UNKNOWN, None)])
    put(team, user, tokyo, berlin, next_day)
    table = ask(api, user, question(of("sum", "steps"), of("count", "steps"), by="day"))
    assert table == {"index": ["2026-03-01T00:00:00"], "sum": [110.0], "count": [2]}


def test_without_a_fallback_zone_a_day_is_one_of_utc(api: ApiClient, team: factories.Tenant) -> None:
    person = factories.user_make(team)
    put(team, person, batch(hourly(us(2026, 2, 28, 12), 24)))
    assert ask(api, person, question(of("count", "steps"), by="day"))["count"] == [12]


def test_days_through_daylight_saving_have_23_and_25_hours(api: ApiClient, team: factories.Tenant, user: User) -> None:
    put(team, user, batch(hourly(us(2026, 3, 28, 0), 72)), batch(hourly(us(2026, 10, 24, 0), 72)))
    spring = ask(api, user, question(of("count", "steps"), by="day", days=2, anchor=date(2026, 3, 30)))
    assert spring == {"index": ["2026-03-29T00:00:00", "2026-03-30T00:00:00"], "count": [23, 24]}
    autumn = ask(api, user, question(of("count", "steps"), by="day", days=1, anchor=date(2026, 10, 25)))
    assert autumn == {"index": ["2026-10-25T00:00:00"], "count": [25]}
    hours = ask(api, user, question(of("count", "steps"), by="hour", anchor=date(2026, 10, 25)))
    twice = [count for at, count in zip(hours["index"], hours["count"], strict=True) if at.endswith("T02:00:00")]
    assert (len(hours["index"]), twice) == (24, [2])
    left_out = ask(api, user, question(of("count", "steps"), by="hour", anchor=date(2026, 3, 29)))
    assert [at for at in left_out["index"] if at.endswith("T02:00:00")] == []


def test_a_traveller_lives_one_long_and_one_short_day(api: ApiClient, team: factories.Tenant, user: User) -> None:
    """Berlin to New York on the tenth: the clock is turned back by six hours at noon; and home again on the twelfth."""
    berlin, new_york = 3_600, -18_000
    there = us(2026, 2, 10, 11)
    back = us(2026, 2, 12, 17)
    put(
        team,
        user,
        batch(hourly(us(2026, 2, 9, 23), 12, berlin)),
        batch(hourly(there, 54, new_york)),
        batch(hourly(back, 6, berlin)),
    )
    table = ask(api, user, question(of("count", "steps"), by="day", days=3, anchor=date(2026, 2, 12)))
    assert table == {
        "index": ["2026-02-10T00:00:00", "2026-02-11T00:00:00", "2026-02-12T00:00:00"],
        "count": [30, 24, 18],
    }


def test_farthest_offsets_are_still_found(api: ApiClient, team: factories.Tenant, user: User) -> None:
    """UTC+14 and UTC-12 are 26 hours apart and both have a first of March."""
    put(
        team,
        user,
        series("heartrate", ["2026-02-28T10:00"], [60.0], offset_seconds=14 * 3_600),
        series("heartrate", ["2026-03-02T11:59"], [62.0], offset_seconds=-12 * 3_600),
        series("heartrate", ["2026-02-28T09:59", "2026-03-01T10:00"], [1.0, 1.0], offset_seconds=14 * 3_600),
    )
    assert ask(api, user, question(of("count", "heartrate"), of("mean", "heartrate"), by="day")) == {
        "index": ["2026-03-01T00:00:00"],
        "count": [2],
        "mean": [61.0],
    }


def test_a_leap_day_is_a_day(api: ApiClient, team: factories.Tenant, user: User) -> None:
    put(team, user, batch(hourly(us(2028, 2, 28, 0), 72, 0)))
    days = ask(api, user, question(of("count", "steps"), by="day", days=2, anchor=date(2028, 3, 1)))
    assert days == {"index": ["2028-02-29T00:00:00", "2028-03-01T00:00:00"], "count": [24, 24]}


def test_a_changed_fallback_zone_moves_what_had_no_offset(api: ApiClient, team: factories.Tenant, user: User) -> None:
    put(team, user, batch(hourly(us(2026, 3, 1, 23), 1)), batch(hourly(us(2026, 3, 1, 22), 1, 0)))
    assert ask(api, user, question(of("count", "steps")))["count"] == [1]
    assert api.patch(f"/v2/user/{user.id}", {"fallback_time_zone": "America/New_York"}).status_code == 204
    assert ask(api, user, question(of("count", "steps")))["count"] == [2]
