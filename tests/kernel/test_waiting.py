"""Places for requests that wait: half of the threads, a quarter for a team, and nobody waits for one."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Barrier, Lock
from uuid import UUID, uuid4

import pytest
from pytest_django import Settings

from healthsvc.kernel.errors import ErrorCode, ServiceError
from healthsvc.kernel.waiting import waiting_place, waiting_place_needed

OURS, THEIRS, OTHERS = uuid4(), uuid4(), uuid4()


@pytest.fixture(autouse=True)
def _threads(settings: Settings) -> None:
    settings.WEB_THREADS = 16


def taken(stack: ExitStack, team_id: UUID, count: int) -> list[bool]:
    """So many tries of a team to get a place, kept while the stack is open."""
    return [stack.enter_context(waiting_place(team_id)) for _ in range(count)]


def test_a_team_gets_a_quarter_and_all_together_half() -> None:
    with ExitStack() as stack:
        assert taken(stack, OURS, 5) == [True] * 4 + [False]
        assert taken(stack, THEIRS, 5) == [True] * 4 + [False]
        assert taken(stack, OTHERS, 1) == [False]
    with ExitStack() as stack:
        assert taken(stack, OTHERS, 4) == [True] * 4


def test_a_place_is_given_back_whatever_happens() -> None:
    for _ in range(20):
        with pytest.raises(LookupError), waiting_place_needed(OURS):
            raise LookupError
    with ExitStack() as stack:
        assert taken(stack, OURS, 4) == [True] * 4


def test_few_threads_still_leave_one_to_a_team(settings: Settings) -> None:
    settings.WEB_THREADS = 4
    with ExitStack() as stack:
        assert taken(stack, OURS, 2) == [True, False]
        assert taken(stack, THEIRS, 1) == [True]
        assert taken(stack, OTHERS, 1) == [False]


def test_who_needs_a_place_is_told_when_to_come_back() -> None:
    with ExitStack() as stack:
        taken(stack, OURS, 4)
        with pytest.raises(ServiceError) as told, waiting_place_needed(OURS):
            raise AssertionError
    assert told.value.code is ErrorCode.UNAVAILABLE
    assert told.value.headers == {"Retry-After": "5"}


def test_threads_never_hold_more_than_their_share() -> None:
    start, lock = Barrier(12), Lock()
    held: Counter[UUID] = Counter()
    most: Counter[UUID] = Counter()
    seen: list[int] = []

    def run(team_id: UUID) -> None:
        start.wait(10)
        for _ in range(200):
            with waiting_place(team_id) as has_place:
                if not has_place:
                    continue
                with lock:
                    held[team_id] += 1
                    most[team_id] = max(most[team_id], held[team_id])
                    seen.append(held.total())
                with lock:
                    held[team_id] -= 1

    with ThreadPoolExecutor(12) as pool:
        list(pool.map(run, [OURS, THEIRS, OTHERS] * 4))
    assert max(most.values()) <= 4
    assert max(seen) <= 8
    with ExitStack() as stack:
        assert taken(stack, OURS, 5) == [True] * 4 + [False]
