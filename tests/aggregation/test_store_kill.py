"""Four writers and a folder, killed at random and started again: nothing lost, nothing stale, nothing doubled."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection

from aggregation.models import Tail
from aggregation.store.tail import tails_fold
from healthsvc.kernel.scope import team_scope
from tests import factories
from tests.aggregation.samples import WATCH, stored
from tests.aggregation.store_writer import WRITES_EACH, batch_of
from tests.databases import ROOT, url_with_database
from users.models import User

WRITERS = 4
KILLS = 4


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_killed_writers_lose_nothing_and_leave_nothing_stale_or_doubled(team: factories.Tenant, tmp_path: Path) -> None:
    user = factories.user_make(team)
    with _folder(team, user):
        _all_written(team, user, tmp_path)
    with team_scope(team.context):
        times, values = _listed(team, user)
        waiting = Tail.objects.count()
        for series_id in set(Tail.objects.values_list("series_id", flat=True)):
            tails_fold(team.context, user.id, series_id)
        assert _listed(team, user) == (times, values)
    call_command("samples_verify", "--user", str(user.id), stdout=StringIO())
    assert times == sorted(set(times)), f"{waiting} tails were waiting"
    acknowledged, candidates = _history(tmp_path)
    assert acknowledged - set(times) == set()
    assert set(times) - set(candidates) == set()
    assert [at for at, value in zip(times, values, strict=True) if value not in candidates[at]] == []


def _listed(team: factories.Tenant, user: User) -> tuple[list[int], list[float]]:
    listed = stored(team.context, user.id, "heartrate")["heartrate", WATCH]
    return [one[0] for one in listed], [one[2] for one in listed]


def _history(folder: Path) -> tuple[set[int], dict[int, set[float]]]:
    """The times that were acknowledged, and for each time the values that may stand at the end.

    Of each writer that is its last acknowledged one, or a later one of which nobody knows whether it was stored.
    """
    acknowledged: set[int] = set()
    candidates: dict[int, set[float]] = {}
    for writer in range(WRITERS):
        lines = _log(folder, writer).read_text().splitlines()
        done = {int(line.split()[1]) for line in lines if line.startswith("done")}
        last: dict[int, set[float]] = {}
        for number in range(WRITES_EACH):
            value, times = batch_of(writer, number)
            for at in times:
                if number in done:
                    last[at] = {value}
                else:
                    last.setdefault(at, set()).add(value)
            if number in done:
                acknowledged.update(times)
        for at, values in last.items():
            candidates.setdefault(at, set()).update(values)
    return acknowledged, candidates


def _all_written(team: factories.Tenant, user: User, folder: Path) -> None:
    chance = random.Random(7)
    running = {writer: _started(team, user, str(writer), _log(folder, writer)) for writer in range(WRITERS)}
    kills = 0
    deadline = time.monotonic() + 120
    while running:
        assert time.monotonic() < deadline, "The writers do not come to an end."
        writer = chance.choice(list(running))
        process = running[writer]
        begun = _log(folder, writer)
        if kills < KILLS and begun.exists() and begun.read_text().count("begun") > 5 * (kills + 1):
            process.send_signal(signal.SIGKILL)
            kills += 1
        try:
            code = process.wait(timeout=chance.uniform(0.005, 0.05))
        except subprocess.TimeoutExpired:
            continue
        assert code in (0, -signal.SIGKILL)
        del running[writer]
        if code:
            running[writer] = _started(team, user, str(writer), _log(folder, writer))
    assert kills == KILLS


def _log(folder: Path, writer: int) -> Path:
    return folder / f"{writer}.log"


@contextmanager
def _folder(team: factories.Tenant, user: User) -> Iterator[None]:
    process = _started(team, user, "fold", Path(os.devnull))
    try:
        yield
        assert process.poll() is None, "The folder ended by itself."
    finally:
        process.kill()
        process.wait()


def _started(team: factories.Tenant, user: User, writer: str, log: Path) -> subprocess.Popen[bytes]:
    name = connection.settings_dict["NAME"]
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "healthsvc.settings",
        "DATABASE_URL": url_with_database(os.environ["DATABASE_URL"], name),
    }
    arguments = [str(team.context.team_id), str(team.context.environment), str(user.id), writer, str(log)]
    command = [sys.executable, "-m", "tests.aggregation.store_writer", *arguments]
    return subprocess.Popen(command, cwd=ROOT, env=environment)
