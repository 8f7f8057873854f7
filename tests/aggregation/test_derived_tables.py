"""Value macros, derived readiness and reliability over HTTP, on stored nights and days."""

import math
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from aggregation.derived.readiness import RecoveryNight, recovery_score
from aggregation.records import DataSource, SummaryRecord
from aggregation.selectors import summary_rows
from healthsvc.kernel.scope import team_scope
from tests import factories
from tests.aggregation.queries import ANCHOR_ON, Columns, ask, long_sleep, macro, put, question, rows, series, summary
from tests.aggregation.summaries import RING, changed, day, run
from tests.clients import ApiClient
from users.models import User

WATCH = DataSource("garmin", "watch")
MACROS = ("sleep_score", "chronotype", "asleep_at", "awake_at", "awakenings")


@pytest.fixture
def user(team: factories.Tenant) -> User:
    return factories.user_make(team, fallback_time_zone="Europe/Berlin", fallback_birth_date=date(1986, 2, 1))


def stages(
    team: factories.Tenant, user: User, night: SummaryRecord, segments: Sequence[tuple[int, int, int]]
) -> SummaryRecord:
    """The hypnogram of a stored night."""
    with team_scope(team.context):
        found = summary_rows(team.context, user.id, "sleep", start_on=night.calendar_date, end_on=night.calendar_date)
    starts, ends, kinds = zip(*segments, strict=True)
    return summary(
        "sleep_cycle", f"cycle-{night.external_id}", night.calendar_date, source=night.source,
        starts_at=night.starts_at, ends_at=night.ends_at, sleep_id=str(found[0].id),
        stage_start_offset_second=list(starts), stage_end_offset_second=list(ends), stage_type=list(kinds),
    )  # fmt: skip


def macros(api: ApiClient, user: User, **query: Any) -> Columns:
    return ask(api, user, question(*map(macro, MACROS), **query))


def test_macros_of_a_night_with_its_stages(api: ApiClient, team: factories.Tenant, user: User) -> None:
    night = long_sleep("a", ANCHOR_ON, rem=7_200, deep=5_760, latency=900, efficiency=90.0)
    put(team, user, night)
    segments = [(0, 900, 4), (900, 9_000, 2), (9_000, 9_600, 4), (9_600, 31_500, 1), (31_500, 32_400, 4)]
    put(team, user, stages(team, user, night, segments))
    assert macros(api, user) == {
        "sleep_score": [100.0],
        "chronotype": ["lark"],  # 23:00 to 08:00
        "asleep_at": ["2026-02-28T23:15:00"],
        "awake_at": ["2026-03-01T07:45:00"],
        "awakenings": [2],
    }


def test_macros_of_a_night_without_stages(api: ApiClient, team: factories.Tenant, user: User) -> None:
    put(team, user, long_sleep("a", ANCHOR_ON, hours_asleep=6.0))
    # 50 for six hours, of weight 40; nine hours in bed make an efficiency of 67 %, which is 40 x 2.667 / 10.
    score = math.floor((40 * 50 + 20 * 4 * (100 * 6 / 9 - 64)) / 60 + 0.5)
    assert macros(api, user) == {
        "sleep_score": [float(score)],
        "chronotype": ["lark"],
        "asleep_at": [None],
        "awake_at": [None],
        "awakenings": [None],
    }


def test_macros_may_be_aggregated_and_a_version_named(api: ApiClient, team: factories.Tenant, user: User) -> None:
    put(team, user, long_sleep("a", ANCHOR_ON), long_sleep("b", ANCHOR_ON - timedelta(days=1), hours_asleep=4.0))
    named = {"value_macro": "sleep_score", "version": "2026-11"}
    body = question(
        {"func": "max", "arg": macro("sleep_score")},
        {"func": "min", "arg": named},
        {"func": "newest", "arg": macro("chronotype")},
        days=2,
    )
    assert list(ask(api, user, body).values()) == [[100.0], [0.0], ["lark"]]
    body["queries"][0]["select"][1]["arg"]["version"] = "1999-01"
    refused = api.post(f"/aggregate/v1/user/{user.id}/query", body)
    assert (refused.status_code, refused.json()["detail"][0]["loc"][:5]) == (
        422, ["body", "queries", 0, "select", 1],
    )  # fmt: skip


def test_sleep_ends_on_the_persons_clock_through_the_change_to_summer(
    api: ApiClient, team: factories.Tenant, user: User
) -> None:
    """On 2026-03-29 clocks in Berlin go from 02:00 to 03:00; no offset came with the night."""
    on = date(2026, 3, 29)
    night = long_sleep("a", on, offset_seconds=None, latency=1_800)
    put(team, user, night)
    put(team, user, stages(team, user, night, [(0, 32_400, 2)]))
    assert macros(api, user, anchor=on) | rows(api, user, "sleep", "session_start", anchor=on) == {
        "sleep_score": [100.0],
        "chronotype": ["third"],
        "asleep_at": ["2026-03-28T23:30:00"],
        "awake_at": ["2026-03-29T09:00:00"],
        "awakenings": [0],
        "index": ["2026-03-29T09:00:00"],
        "session_start": ["2026-03-28T23:00:00"],
    }


def weeks(count: int, before: date = ANCHOR_ON) -> list[SummaryRecord]:
    """Nights before a day, alternately a little below and above the mean."""
    nights = []
    for back in range(1, count + 1):
        sign = 1 if back % 2 else -1
        hrv, bpm = round(55.0 + 5.0 * sign, 1), 55 + 2 * sign
        nights.append(long_sleep(f"n{back}", before - timedelta(days=back), average_hrv=hrv, hr_resting=bpm))
    return nights


def baseline(count: int) -> list[RecoveryNight]:
    """What `weeks` gives."""
    signs = [1 if back % 2 else -1 for back in range(1, count + 1)]
    return [RecoveryNight(28_800, 55.0 + 5.0 * sign, 55.0 + 2 * sign) for sign in signs]


READINESS = (
    "date", "chronotype", "sleep_score", "recovery_score", "recovery_zone", "stress_score", "strain_score",
    "strain_zone",
)  # fmt: skip


def test_readiness_of_a_day(api: ApiClient, team: factories.Tenant, user: User) -> None:
    tonight = long_sleep("tonight", ANCHOR_ON, average_hrv=62.0, hr_resting=53)
    nap = changed(long_sleep("nap", ANCHOR_ON, hours_asleep=1.0, average_hrv=20.0), external_id="nap")
    nap = changed(nap, fields={**nap.fields, "type": "short_sleep"})
    hard = run("hard", on=ANCHOR_ON, hr_zones=[0, 0, 0, 0, 3_600, 0])
    put(team, user, *weeks(25), tonight, nap, hard, day("active", on=ANCHOR_ON, medium=30.0, high=0.0))
    recovery = recovery_score(RecoveryNight(28_800, 62.0, 53.0), baseline(21))
    assert recovery == 86
    assert rows(api, user, "derived_readiness", *READINESS) == {
        "index": ["2026-03-01"],
        "date": ["2026-03-01"],
        "chronotype": ["lark"],
        "sleep_score": [100.0],
        "recovery_score": [float(recovery)],
        "recovery_zone": ["Green"],
        "stress_score": [float(100 - recovery)],
        "strain_score": [14.0],
        "strain_zone": ["High"],
    }
    high = question({"func": "count", "arg": {"derived_readiness": "date"}}, where="strain_score >= 14")
    assert ask(api, user, high)["count"] == [1]
    monthly = question(
        {"func": "mean", "arg": {"derived_readiness": "recovery_score"}}, by="month", index="derived_readiness"
    )
    assert ask(api, user, monthly) == {"index": ["2026-03-01T00:00:00"], "mean": [float(recovery)]}


def test_readiness_needs_seven_nights_before(api: ApiClient, team: factories.Tenant, user: User) -> None:
    put(team, user, *weeks(6), day("active", on=ANCHOR_ON, medium=30.0, high=0.0))
    put(team, user, long_sleep("tonight", ANCHOR_ON, average_hrv=55.0, hr_resting=55))
    found = rows(api, user, "derived_readiness", *READINESS)
    assert {name for name, cells in found.items() if cells == [None]} == {
        "recovery_score", "recovery_zone", "stress_score", "strain_score", "strain_zone",
    }  # fmt: skip
    put(team, user, long_sleep("seventh", ANCHOR_ON - timedelta(days=21), average_hrv=60.0, hr_resting=57))
    found = rows(api, user, "derived_readiness", *READINESS)
    assert (found["strain_score"], found["recovery_zone"]) == ([7.0], ["Amber"])


def test_only_days_with_a_long_sleep_have_readiness(api: ApiClient, team: factories.Tenant, user: User) -> None:
    put(team, user, day("active", on=ANCHOR_ON), *weeks(2))
    assert rows(api, user, "derived_readiness", "date", days=3)["date"] == ["2026-02-27", "2026-02-28"]


def test_of_several_sources_the_most_trusted_night_counts(api: ApiClient, team: factories.Tenant, user: User) -> None:
    """The watch before the ring, and of two nights of one source the longer one; an override changes nothing there."""
    put(team, user, long_sleep("ring", ANCHOR_ON, hours_asleep=8.0, efficiency=90.0))
    assert rows(api, user, "derived_readiness", "sleep_score")["sleep_score"] == [100.0]
    put(
        team,
        user,
        long_sleep("short", ANCHOR_ON, hours_asleep=4.0, source=WATCH, efficiency=90.0),
        long_sleep("longer", ANCHOR_ON, hours_asleep=6.0, source=WATCH, efficiency=90.0),
    )
    assert rows(api, user, "derived_readiness", "sleep_score")["sleep_score"] == [67.0]


def test_readiness_of_a_year_costs_as_many_statements_as_of_a_day(
    api: ApiClient, team: factories.Tenant, user: User
) -> None:
    put(team, user, *weeks(60), long_sleep("tonight", ANCHOR_ON), run("hard", on=ANCHOR_ON))
    rows(api, user, "derived_readiness", *READINESS)
    counted = []
    for days in (1, 365):
        with CaptureQueriesContext(connection) as queries:
            found = rows(api, user, "derived_readiness", *READINESS, days=days)
        counted.append((len(found["date"]), len(queries)))
    assert [one for one, _ in counted] == [1, 61]
    assert counted[0][1] == counted[1][1]


def test_reliability(api: ApiClient, team: factories.Tenant, user: User) -> None:
    nights = [long_sleep(f"n{back}", ANCHOR_ON - timedelta(days=back)) for back in range(0, 20, 2)]
    put(
        team,
        user,
        *nights,
        series("heartrate", ["2026-02-10T12:00", "2026-02-10T13:00", "2026-02-14T12:00"], [60.0, 61.0, 62.0]),
        series("heartrate", ["2026-02-11T12:00"], [60.0], source=DataSource("oura", "ring", "another.app")),
        # Half past midnight of the first of March in Berlin; and a day after the window.
        series(
            "steps", ["2026-02-28T23:30", "2026-03-02T12:00"], [5.0, 5.0], minutes=1, source=WATCH, offset_seconds=3_600
        ),
    )
    columns = [
        "source_provider", "source_type", "resource", "window_start_date", "window_end_date", "window_duration_day",
        "presence_day_count", "presence_coverage", "presence_gap_count", "presence_gap_maximum_day",
        "presence_recency_day", "presence_gap_mean_day", "presence_gap_standard_deviation_day", "reliability_status",
        "connection_status",
    ]  # fmt: skip
    assert rows(api, user, "reliability", *columns, days=20) == {
        "index": ["2026-03-01"] * 3,
        "source_provider": ["garmin", "oura", "oura"],
        "source_type": ["watch", "ring", "ring"],
        "resource": ["steps", "heartrate", "sleep"],
        "window_start_date": ["2026-02-10"] * 3,
        "window_end_date": ["2026-03-01"] * 3,
        "window_duration_day": [20] * 3,
        "presence_day_count": [1, 3, 10],
        "presence_coverage": [0.05, 0.15, 0.5],
        "presence_gap_count": [0, 1, 9],
        "presence_gap_maximum_day": [0, 2, 1],
        "presence_recency_day": [0, 15, 0],
        "presence_gap_mean_day": [None, 2.0, 1.0],
        "presence_gap_standard_deviation_day": [None, None, 0.0],
        "reliability_status": ["reliable", "stale", "intermittent"],
        "connection_status": ["disconnected"] * 3,
    }
    shorter = question({"reliability": "resource"}, index="reliability")
    shorter["timeframe"]["past"] = {"unit": "minute", "value": 30}
    assert ask(api, user, shorter) == {"resource": ["steps", "sleep"]}
    stale = question({"reliability": "resource"}, days=20, where="reliability_status = 'stale'")
    assert ask(api, user, stale) == {"resource": ["heartrate"]}


def test_a_connected_source_says_so(api: ApiClient, team: factories.Tenant, user: User) -> None:
    from users import registry

    def connected(context: Any, users: Sequence[Any]) -> dict[Any, list[registry.ConnectedSource]]:
        source = registry.ConnectedSource("Oura", "oura", "", datetime.combine(ANCHOR_ON, time(), UTC))
        return {one: [source] for one in users}

    put(team, user, long_sleep("a", ANCHOR_ON), long_sleep("b", ANCHOR_ON, source=WATCH))
    registry.connected_sources.append(connected)
    try:
        found = rows(api, user, "reliability", "source_provider", "connection_status")
    finally:
        registry.connected_sources.remove(connected)
    assert found["source_provider"] == ["garmin", "oura"]
    assert found["connection_status"] == ["disconnected", "connected"]


def test_another_users_days_are_no_presence(api: ApiClient, team: factories.Tenant, user: User) -> None:
    other = factories.user_make(team)
    put(team, other, series("steps", ["2026-03-01T10:00"], [5.0], minutes=1, source=RING))
    assert rows(api, user, "reliability", "resource")["resource"] == []
