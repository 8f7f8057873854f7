"""Strava's activities through the connector, from a simulated vendor: each once, whatever the windows and faults."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
import time_machine
from pytest_django import Settings

from aggregation.records import StreamRecord, SummaryRecord
from aggregation.store.checking import Ingestion, summary_reason
from links.connectors.base import Pulled
from links.connectors.failures import FailureKind, ProviderFailure
from links.connectors.hooks import Revokes, TakesHooks
from links.connectors.strava.client import StravaConnector
from links.connectors.strava.limits import wait_seconds
from links.connectors.wire import Access
from simulator.person import Person, person_of
from simulator.strava_documents import Activity, activity_of, course_of
from tests.simulator.running import RunningSimulator

ALL = "read,profile:read_all,activity:read,activity:read_all"
ONE_WEEK = (date(2026, 10, 1), date(2026, 10, 7))
STRAVA = StravaConnector()
#: Without the use, a limit tells nothing.
LIMIT_ALONE = {"X-RateLimit-Limit": "200,2000", "X-RateLimit-Usage": ""}


@pytest.fixture
def simulator(tmp_path: Path, settings: Settings) -> Iterator[RunningSimulator]:
    """A simulator that the service may call, its clock stopped at 2026-11-15 12:00 UTC, with room for many requests."""
    with RunningSimulator(tmp_path / "simulator.sqlite3") as running:
        running.stop_clock("2026-11-15T12:00:00+00:00")
        assert running.post_json("/_control/strava/limits", {"quarter_hour": 9_000, "day": 9_000}).status == 200
        settings.LOOPBACK_ORIGINS = [running.url]
        yield running


def access(simulator: RunningSimulator, person: str = "", scope: str = ALL) -> Access:
    """What opens the data of one simulated person."""
    token = simulator.access_token("strava", scope=scope, person=person)
    return Access(f"{simulator.url}/strava", token, frozenset(scope.split(",")))


def worked(person: Person, start_on: date, end_on: date, *, private: bool = True) -> list[Activity]:
    """The activities that begin in days of UTC, past the simulator's addresses."""
    days = [start_on + timedelta(days=number) for number in range(-1, (end_on - start_on).days + 2)]
    found = [activity for day in days if (activity := activity_of(person, day)) is not None]
    begun = [(datetime.fromtimestamp(one.workout.starts_at, UTC).date(), one) for one in found]
    return [one for day, one in begun if start_on <= day <= end_on and (private or not one.private)]


def windows(start_on: date, end_on: date, days: int, overlap_days: int = 0) -> Iterator[tuple[date, date]]:
    while start_on <= end_on:
        yield start_on, min(start_on + timedelta(days=days - 1), end_on)
        start_on += timedelta(days=days - overlap_days)


def pulled(opened: Access, resource: str, start_on: date, end_on: date) -> Pulled:
    found = STRAVA.pull(opened, resource, start_on, end_on)
    assert found.refusals == ()
    return found


def by_id(summaries: tuple[SummaryRecord, ...]) -> dict[str, SummaryRecord]:
    found = {one.external_id: one for one in summaries}
    assert len(found) == len(summaries)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("person", ["ada", "ben", "cleo", "dora"])
@pytest.mark.parametrize(
    ("start_on", "end_on"), [(date(2026, 3, 1), date(2026, 3, 31)), (date(2026, 10, 15), date(2026, 11, 14))]
)
def test_a_month_over_a_change_of_clocks_arrives_once(
    simulator: RunningSimulator, person: str, start_on: date, end_on: date
) -> None:
    opened, expected = access(simulator, person), worked(person_of(f"person:{person}"), start_on, end_on)
    assert expected
    for days, overlap_days in ((7, 0), (3, 1)):
        seen = [
            pulled(opened, "workouts", *window).summaries for window in windows(start_on, end_on, days, overlap_days)
        ]
        found = {one.external_id: one for summaries in seen for one in summaries}
        assert sorted(found) == sorted(str(activity.id) for activity in expected)
        if not overlap_days:
            assert sum(map(len, seen)) == len(expected)
        for activity in expected:
            one = found[str(activity.id)]
            assert one.calendar_date == activity.on
            assert one.starts_at == datetime.fromtimestamp(activity.workout.starts_at, UTC)
            assert one.ends_at == datetime.fromtimestamp(activity.workout.ends_at, UTC)
            assert one.fields["distance"] == (activity.workout.distance_metre or None)
            assert summary_reason(one, Ingestion()) is None


@pytest.mark.slow
def test_a_month_of_streams_holds_every_moment_that_was_recorded(simulator: RunningSimulator) -> None:
    opened, person = access(simulator, "ada"), person_of("person:ada")
    start_on, end_on = date(2026, 10, 1), date(2026, 10, 31)
    expected = [one for one in worked(person, start_on, end_on) if not one.manual]
    streams: list[StreamRecord] = []
    summaries: tuple[SummaryRecord, ...] = ()
    for window in windows(start_on, end_on, 7):
        found = pulled(opened, "workout_stream", *window)
        streams += found.streams
        assert found.summaries == ()
        summaries += found.workouts
    assert [one.workout for one in streams] == [str(activity.id) for activity in expected]
    parents = by_id(summaries)
    assert sorted(parents) == sorted(one.workout for one in streams)
    for stream, activity in zip(streams, expected, strict=True):
        course = course_of(person, activity.on)
        start_us = activity.workout.starts_at * 1_000_000
        assert stream.time_us.tolist() == [start_us + second * 1_000_000 for second in course.seconds]
        assert stream.channels["heartrate"].tolist() == list(map(float, course.bpm))
        way = list(course.distance) if activity.workout.distance_metre else []
        assert stream.channels.get("distance", np.array([])).tolist() == way
        legs = 1 if activity.workout.sport == "cycling" else 2
        assert stream.channels.get("cadence", np.array([])).tolist() == [float(legs * one) for one in course.strides]
        assert stream.channels.get("power", np.array([])).tolist() == [float(one) for one in course.watts]
        around = (activity.on - timedelta(days=1), activity.on + timedelta(days=1))
        whole = by_id(pulled(opened, "workouts", *around).summaries)[stream.workout]
        listed = parents[stream.workout]
        # The detail alone tells the calories and the whole route.
        told = {**whole.fields, "calories": None, "map": listed.fields["map"]}
        assert replace(listed, raw=None) == replace(whole, fields=told, raw=None)


@pytest.mark.slow
def test_private_activities_need_their_scope(simulator: RunningSimulator) -> None:
    person, span = person_of("person:ada"), (date(2026, 9, 15), date(2026, 10, 31))
    expected = worked(person, *span, private=False)
    assert len(expected) < len(worked(person, *span))
    found = pulled(access(simulator, "ada", "read,activity:read"), "workouts", *span)
    assert [one.external_id for one in found.summaries] == [str(one.id) for one in expected]


def test_a_missing_scope_is_no_dead_token(simulator: RunningSimulator) -> None:
    opened = access(simulator, scope="read")
    for resource in ("workouts", "workout_stream"):
        with pytest.raises(ProviderFailure) as caught:
            STRAVA.pull(opened, resource, *ONE_WEEK)
        assert caught.value.kind is FailureKind.SCOPE_MISSING
    with pytest.raises(ProviderFailure) as caught:
        STRAVA.pull(access(simulator, scope="activity:read"), "profile", *ONE_WEEK)
    assert caught.value.kind is FailureKind.SCOPE_MISSING


def test_an_account_is_named_where_the_scope_allows_it(simulator: RunningSimulator) -> None:
    known = str(person_of("person:ada").user_id)
    assert STRAVA.account_id(access(simulator, "ada", "read")) == known
    assert STRAVA.account_id(access(simulator, "ada", "profile:read_all")) == known
    assert STRAVA.account_id(access(simulator, "ada", "activity:read")) == ""


def test_the_profile_and_the_zone_come_along(simulator: RunningSimulator) -> None:
    opened, person = access(simulator, "ada"), person_of("person:ada")
    (profile,) = pulled(opened, "profile", *ONE_WEEK).summaries
    assert profile.fields == {"sex": person.sex}
    assert pulled(opened, "workouts", date(2026, 10, 1), date(2026, 10, 10)).time_zone == person.zone
    assert pulled(opened, "workouts", date(2023, 10, 1), date(2023, 10, 7)) == Pulled()


def test_what_a_window_costs(simulator: RunningSimulator) -> None:
    opened, person = access(simulator, "ada"), person_of("person:ada")
    span = (date(2026, 10, 1), date(2026, 10, 31))
    every = worked(person, *span)
    recorded = [one for one in every if not one.manual]
    pages = -(-len(every) // 4) + 1
    calls = 0

    def counted() -> None:
        nonlocal calls
        calls += 1

    watched = Access(opened.api_url, opened.access_token, opened.scopes, before_call=counted)
    pulled(watched, "workouts", *span)
    assert calls == pages + len(every)
    calls = 0
    pulled(watched, "workout_stream", *span)
    assert calls == pages + len(recorded)


@pytest.mark.parametrize(
    ("fault", "kind", "wait_seconds"),
    [
        ({"kind": "http_429", "retry_after_seconds": 77}, FailureKind.RATE_LIMITED, 77),
        ({"kind": "http_500"}, FailureKind.UNAVAILABLE, 0),
        ({"kind": "truncated_json"}, FailureKind.TRANSPORT, 0),
        ({"kind": "token_expired"}, FailureKind.TOKEN_REJECTED, 0),
        ({"kind": "token_dead"}, FailureKind.TOKEN_REJECTED, 0),
    ],
)
@pytest.mark.parametrize("path_prefix", ["/api/v3/athlete", "/api/v3/activities"])
@pytest.mark.parametrize("resource", ["workouts", "workout_stream"])
def test_a_fault_half_way_says_what_helps(
    simulator: RunningSimulator,
    resource: str,
    path_prefix: str,
    fault: dict[str, object],
    kind: FailureKind,
    wait_seconds: int,
) -> None:
    opened, span = access(simulator, "ada"), (date(2026, 10, 1), date(2026, 10, 31))
    simulator.fault(slug="strava", path_prefix=path_prefix, skip=1, **fault)
    with pytest.raises(ProviderFailure) as caught:
        STRAVA.pull(opened, resource, *span)
    assert (caught.value.kind, caught.value.retry_after_seconds) == (kind, wait_seconds)


@pytest.mark.parametrize(
    ("quarter_hour", "day", "wait_seconds"), [(2, 100, 5 * 60 + 1), (100, 2, 11 * 3600 + 50 * 60 + 1)]
)
def test_a_limit_that_is_used_up_waits_for_the_end_of_its_window(
    simulator: RunningSimulator, quarter_hour: int, day: int, wait_seconds: int
) -> None:
    opened = access(simulator, "ada")
    waits: list[int] = []
    told = Access(opened.api_url, opened.access_token, opened.scopes, after_limited=waits.append)
    assert simulator.post_json("/_control/strava/limits", {"quarter_hour": quarter_hour, "day": day}).status == 200
    at = datetime(2026, 11, 15, 12, 10, tzinfo=UTC)
    with time_machine.travel(at, tick=False), pytest.raises(ProviderFailure) as caught:
        STRAVA.pull(told, "workouts", date(2026, 10, 1), date(2026, 10, 31))
    assert (caught.value.kind, caught.value.retry_after_seconds) == (FailureKind.RATE_LIMITED, wait_seconds)
    assert waits[-1] == wait_seconds


@pytest.mark.parametrize("headers", [{}, {"X-RateLimit-Limit": "200"}, {"X-RateLimit-Limit": "a,b"}, LIMIT_ALONE])
def test_a_limit_that_is_not_told_is_the_quarter_s(headers: dict[str, str]) -> None:
    assert wait_seconds(headers, datetime(2026, 11, 15, 12, 14, 59, tzinfo=UTC)) == 2
    assert wait_seconds(headers, datetime(2026, 11, 15, 12, 15, tzinfo=UTC)) == 901


def test_what_it_can_do_beside_pulling() -> None:
    assert isinstance(STRAVA, TakesHooks)
    assert isinstance(STRAVA, Revokes)
    with pytest.raises(ProviderFailure) as caught:
        STRAVA.pull(Access("", "", frozenset()), "sleep", *ONE_WEEK)
    assert caught.value.kind is FailureKind.REFUSED
