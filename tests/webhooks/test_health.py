"""How an endpoint fares: tables of times, and what holds for every course of events."""

from collections.abc import Sequence
from datetime import timedelta
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthsvc.kernel.http import OutboundFailure
from tests.webhooks.health_making import at, outcome
from webhooks.health import HEALTHY, Health, health_after, is_given_up
from webhooks.records import Outcome

REFUSED = OutboundFailure.CONNECTION


def told(*outcomes: Outcome, before: Health = HEALTHY) -> Health:
    """What is noted after outcomes that came one by one."""
    health = before
    for each in outcomes:
        health = health_after(health, [each])
    return health


@pytest.mark.parametrize(
    ("failures", "first", "failing"),
    [
        ([0], 0, None),
        ([0, 0.1, 11.9], 0, None),
        ([0, 12], 0, 12),
        ([0, 24], 0, 24),
        ([0, 24.1], 24.1, None),
        ([0, 24.1, 36.1], 24.1, 36.1),
        ([0, 30, 60, 90], 90, None),
        ([0, 0.1, 0.6, 2.6, 7.6, 17.6, 27.6], 0, 17.6),
        ([0, 12, 13, 80], 0, 12),
        ([0, 11, 24.5, 35.5, 49], 0, 24.5),
        ([0, 5, 11, 29], 0, 29),
        ([0, 5, 11, 35.1, 46], 35.1, None),
    ],
)
def test_the_clock_of_five_days_starts_at_a_failure_far_from_another_within_a_day(
    failures: list[float], first: float, failing: float | None
) -> None:
    after = told(*[outcome(hours, 500) for hours in failures])
    last = failures[-1] if failing is None else max(hours for hours in failures if hours < failing)
    assert after == Health(at(first), at(last), at(failing) if failing is not None else None)


@pytest.mark.parametrize("success", [200, 204, 299])
def test_a_success_ends_the_count(success: int) -> None:
    failing = told(outcome(0, 500), outcome(12, 500))
    assert told(outcome(13, success), before=failing) == HEALTHY
    assert told(outcome(13, 301), before=failing) == failing


def test_an_older_success_ends_nothing_that_came_after_it() -> None:
    failing = told(outcome(1), outcome(13, error=REFUSED))
    assert told(outcome(0.9, 200), before=failing) == Health(at(1), at(1), at(13), at(1), 0)
    assert told(outcome(1, 200), before=failing) == HEALTHY, "in between, so that not every attempt has failed"


@pytest.mark.parametrize(
    ("hours", "given_up"),
    [(12 + 119.9, False), (12 + 120, True), (12 + 500, True)],
)
def test_five_days_of_nothing_but_failures(hours: float, given_up: bool) -> None:
    failing = told(outcome(0, 500), outcome(12, 500))
    last = [outcome(hours, 503)]
    assert is_given_up(health_after(failing, last), last) is given_up
    rescued = [outcome(hours - 1, 200), *last]
    assert not is_given_up(health_after(failing, rescued), rescued)
    good = [outcome(hours, 204)]
    assert not is_given_up(health_after(failing, good), good)


@pytest.mark.parametrize(
    ("outcomes", "since", "connections"),
    [
        ([outcome(1)], 1, 0),
        ([outcome(1), outcome(2)], 1, 0),
        ([outcome(1), outcome(2, 500)], 1, 0),
        ([outcome(1), outcome(2, 200)], None, 0),
        ([outcome(1), outcome(2, 200), outcome(3)], 3, 0),
        ([outcome(1, error=REFUSED)], None, 1),
        ([outcome(1, error=REFUSED), outcome(2, error=REFUSED)], None, 2),
        ([outcome(hour, error=REFUSED) for hour in (1, 2, 3)], 3, 3),
        ([outcome(hour, error=REFUSED) for hour in (1, 2, 3, 4)], 3, 3),
        ([outcome(1, error=REFUSED), outcome(2, error=REFUSED), outcome(3, 500), outcome(4, error=REFUSED)], None, 1),
        ([outcome(1, error=REFUSED), outcome(2, 200)], None, 0),
        ([outcome(1, 500), outcome(2, error=OutboundFailure.REFUSED_ADDRESS)], None, 0),
    ],
)
def test_an_endpoint_that_does_not_answer_is_struggling(
    outcomes: list[Outcome], since: float | None, connections: int
) -> None:
    after = told(*outcomes)
    assert after.struggling_since == (at(since) if since is not None else None)
    assert after.connection_failures == connections


@pytest.mark.parametrize(
    ("status", "retry_after", "seconds"),
    [
        (429, None, 60),
        (429, 5, 5),
        (429, 0, None),
        (429, 3600, 3600),
        (429, 900_000, 86_400),
        (503, 120, 120),
        (503, None, None),
        (503, 0, None),
        (500, 120, None),
        (200, 120, None),
    ],
)
def test_an_overloaded_endpoint_is_left_alone(status: int, retry_after: int | None, seconds: int | None) -> None:
    after = told(outcome(1, status, retry_after=retry_after))
    assert after.paused_until == (at(1) + timedelta(seconds=seconds) if seconds is not None else None)


def test_a_pause_is_made_longer_never_shorter_and_ends_only_when_it_is_over() -> None:
    paused = told(outcome(0, 429, retry_after=7200), outcome(0.5, 429, retry_after=60))
    assert paused.paused_until == at(2)
    assert told(outcome(1, 200), before=paused).paused_until == at(2)
    assert told(outcome(2, 200), before=paused) == HEALTHY
    assert told(outcome(1.5, 503, retry_after=3600), before=paused).paused_until == at(2.5)


def test_an_outcome_counts_from_when_it_was_known() -> None:
    assert told(outcome(0, milliseconds=15_000)).struggling_since == at(0) + timedelta(seconds=15)


def test_a_batch_is_taken_in_the_order_of_time_whatever_its_own() -> None:
    course = [outcome(0, 500), outcome(3), outcome(4, 200), outcome(5, 429), outcome(6, error=REFUSED)]
    expected = told(*course)
    assert {health_after(HEALTHY, order) for order in permutations(course)} == {expected}


COURSES = st.lists(
    st.tuples(
        st.integers(0, 12 * 24 * 2).map(lambda halves: halves / 2),
        st.sampled_from([200, 500, 429, 503, None]),
        st.sampled_from([None, 0, 30, 7200]),
    ),
    max_size=30,
    unique_by=lambda each: each[0],
).map(lambda found: [outcome(hours, status, retry_after=asked) for hours, status, asked in sorted(found, key=_hours)])


def _hours(each: tuple[float, int | None, int | None]) -> float:
    return each[0]


@given(COURSES, st.integers(0, 30))
def test_how_a_course_is_cut_into_batches_makes_no_difference(course: Sequence[Outcome], cut: int) -> None:
    halves = health_after(health_after(HEALTHY, course[:cut]), course[cut:])
    assert halves == health_after(HEALTHY, course) == told(*course)


@given(st.lists(st.integers(0, 6 * 24 * 4), min_size=1, max_size=40, unique=True).map(sorted))
def test_the_clock_starts_whichever_two_failures_are_far_apart(quarters: list[int]) -> None:
    """Compared with a look at every pair."""
    times = [at(quarter / 4) for quarter in quarters]
    day, half = timedelta(hours=24), timedelta(hours=12)
    starts = [later for later in times if any(half <= later - earlier <= day for earlier in times)]
    after = told(*[outcome(quarter / 4, 500) for quarter in quarters])
    assert after.failing_since == (starts[0] if starts else None)


@given(COURSES)
def test_what_the_notes_promise(course: Sequence[Outcome]) -> None:
    after = health_after(HEALTHY, course)
    since_success: list[Outcome] = []
    for each in course:
        since_success = [] if each.succeeded else [*since_success, each]
    times = [each.attempted_at for each in since_success]
    assert (after.first_failure_at is None) == (times == [])
    if after.first_failure_at is not None:
        assert after.first_failure_at in times
    if after.failing_since is not None and after.first_failure_at is not None:
        assert after.failing_since in times
        gaps = [after.failing_since - each for each in times if each >= after.first_failure_at]
        assert any(timedelta(hours=12) <= gap <= timedelta(hours=24) for gap in gaps)
    given_up = is_given_up(after, course)
    assert given_up == (after.failing_since is not None and times[-1] - after.failing_since >= timedelta(days=5))
    timeouts = [each.attempted_at for each in since_success if each.error is not None]
    assert after.struggling_since == (timeouts[0] if timeouts else None)
