"""The soak of syncs: what it finds wrong, and a small run of it that goes through."""

import subprocess
import sys
from datetime import UTC, date, datetime
from uuid import UUID

import numpy as np
import pytest

from aggregation.records import DataSource, SampleColumns, SeriesBatch, SummaryRecord
from aggregation.services import health_data_store
from tests.databases import ROOT
from tests.factories import Tenant, user_make

with pytest.MonkeyPatch.context() as environment:
    # Importing the package sets these where they are not set, and other tests' programs would inherit them.
    environment.setenv("RATE_LIMIT_REQUESTS", "0")
    environment.setenv("LOG_LEVEL", "ERROR")
    from bench.soak_checks import memory_problems, told_problems
    from bench.soak_processes import Child, Worker
    from bench.soak_syncs import CAST, SMALL, WHOLE
    from bench.soak_things import Told, counts_of, things_of, told_of

STEPS = ("steps", "2026-03-01")
STREAM = ("workout_stream", "a workout")


def told(*steps: tuple[bool, int | None], name: tuple[str, str] = STEPS) -> list[Told]:
    """Events on one thing."""
    return [Told(name, is_created, digest) for is_created, digest in steps]


@pytest.mark.parametrize(
    ("before", "words", "after"),
    [
        ({STEPS: 1}, [], {STEPS: 1}),
        ({}, told((True, 1)), {STEPS: 1}),
        ({STEPS: 1}, told((False, 2)), {STEPS: 2}),
        ({STEPS: 1}, told((False, 2), (False, 1)), {STEPS: 1}),
        ({}, told((True, 1), (False, 2)), {STEPS: 2}),
        ({STREAM: 1}, told((False, None), name=STREAM), {STREAM: 2}),
    ],
)
def test_what_was_told_as_it_became_is_right(
    before: dict[tuple[str, str], int], words: list[Told], after: dict[tuple[str, str], int]
) -> None:
    assert list(told_problems(before, words, after)) == []


@pytest.mark.parametrize(
    ("before", "words", "after", "problem"),
    [
        ({STEPS: 1}, [], {}, "lost"),
        ({}, [], {STEPS: 1}, "changed and was not told"),
        ({STEPS: 1}, [], {STEPS: 2}, "changed and was not told"),
        ({}, told((True, 1), (True, 1)), {STEPS: 1}, "told as created and was not, or as updated and was new"),
        ({}, told((False, 1)), {STEPS: 1}, "told as created and was not, or as updated and was new"),
        ({STEPS: 1}, told((False, 1)), {STEPS: 1}, "told again and had not changed"),
        ({STEPS: 1}, told((False, 2), (False, 2)), {STEPS: 2}, "told again and had not changed"),
        ({}, told((True, 1)), {}, "told of something that is not stored, or was no part of a sync"),
    ],
)
def test_what_was_told_otherwise_is_wrong(
    before: dict[tuple[str, str], int], words: list[Told], after: dict[tuple[str, str], int], problem: str
) -> None:
    assert list(told_problems(before, words, after)) == [f"steps: {problem}"]


SOURCE = DataSource("oura", "ring", device_id="ring-1")
AT_US = int(datetime(2026, 3, 1, 8, tzinfo=UTC).timestamp()) * 1_000_000


def stored(team: Tenant, *values: float, score: int = 80, emit: bool = False) -> UUID:
    """A person with a heart rate a second and a night."""
    user_id = user_make(team).pk
    store(team, user_id, *values, score=score, emit=emit)
    return user_id


def store(team: Tenant, user_id: UUID, *values: float, score: int = 80, emit: bool = True) -> None:
    """Store them for a person."""
    start_us = AT_US + 1_000_000 * np.arange(len(values), dtype=np.int64)
    samples = SampleColumns(start_us, np.array(values), np.zeros(len(values), np.int32))
    night = SummaryRecord(
        "activity", SOURCE, "day-1", date(2026, 3, 1), None, None, 0, {"steps": score}, {"steps": score}
    )
    batch = SeriesBatch("heartrate", SOURCE, samples)
    health_data_store(team=team.context, user_id=user_id, series=[batch], summaries=[night], emit=emit)


@pytest.mark.django_db
def test_the_same_data_of_two_people_count_alike(in_team: Tenant) -> None:
    first, second = stored(in_team, 60, 61), stored(in_team, 60, 61)
    found = counts_of(in_team.context, first)
    assert {key: count for key, (count, _) in found.items()} == {
        ("activity", "2026-03-01"): 1,
        ("heartrate", "2026-03-01"): 2,
    }
    assert found == counts_of(in_team.context, second)


@pytest.mark.django_db
def test_data_that_differ_in_anything_count_otherwise(in_team: Tenant) -> None:
    counts = [
        counts_of(in_team.context, user_id)
        for user_id in (
            stored(in_team, 60, 61),
            stored(in_team, 60, 62),
            stored(in_team, 60),
            stored(in_team, 60, 61, score=81),
        )
    ]
    assert [one == counts[0] for one in counts] == [True, False, False, False]


@pytest.mark.django_db
def test_events_tell_of_what_is_stored(in_team: Tenant) -> None:
    user_id = stored(in_team, 60, 61)
    before = things_of(in_team.context, user_id, since="2026-01-01")
    store(in_team, user_id, 60, 62, 63, score=81)
    store(in_team, user_id, 60, 62, 63, score=81)
    told = told_of(in_team.context, user_id)
    after = things_of(in_team.context, user_id, since="2026-01-01")
    assert sorted(one.is_created for one in told) == [False, False, True]
    assert list(told_problems(before, told, after)) == []
    assert len(list(told_problems(before, told[1:], after))) == 1


@pytest.mark.django_db
def test_samples_of_earlier_days_are_not_followed(in_team: Tenant) -> None:
    things = things_of(in_team.context, stored(in_team, 60), since="2026-03-02")
    assert [resource for resource, _ in things] == ["activity"]


def worker(*megabytes: float) -> Worker:
    """A worker whose memory was so."""
    samples = [(float(second), one) for second, one in enumerate(megabytes)]
    return Worker(Child("worker-0", (), {}, ROOT), {1: samples})


def test_memory_that_rose_at_first_is_level() -> None:
    assert list(memory_problems([worker(*[100.0] * 10, *[200.0] * 10, *[239.0] * 10)])) == []


def test_memory_that_goes_on_rising_is_wrong() -> None:
    problems = list(memory_problems([worker(*[100.0] * 10, *[200.0] * 10, *[241.0] * 10)]))
    assert problems == ["worker-0: memory grew from 200 MB to 241 MB"]


def test_a_life_too_short_judges_no_memory() -> None:
    assert list(memory_problems([worker(100, 900)])) == ["no worker process lived long enough to judge its memory"]


def test_the_whole_is_of_300_connections() -> None:
    assert sum(one.whole for one in CAST) == 300
    assert sum(one.small for one in CAST) == 12
    assert (WHOLE.ages, SMALL.ages) == (False, True)


@pytest.mark.slow
def test_a_small_soak_loses_and_doubles_nothing() -> None:
    command = [sys.executable, "-m", "bench.soak_syncs", "--small"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=400)
    assert done.returncode == 0, done.stdout[-4_000:] + done.stderr[-2_000:]
    assert "12 connections" in done.stdout
