"""Servers for tests: their own, private to one command, and gone after it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).resolve().parents[2]
CHECK = """
import os, sys, time, psycopg, redis
with psycopg.connect(os.environ["DATABASE_OWNER_URL"], autocommit=True) as owner:
    owner.execute("CREATE DATABASE more")
    fsync, = owner.execute("SHOW fsync").fetchone()
with psycopg.connect(os.environ["DATABASE_URL"]) as app:
    role, = app.execute("SELECT current_user").fetchone()
with psycopg.connect(os.environ["TEST_SUPERUSER_URL"]) as superuser:
    superuser.execute("SELECT 1")
redis.Redis.from_url(os.environ["REDIS_URL"]).set("key", sys.argv[1])
print(role, fsync, os.environ["HEALTHSVC_DATA_DIR"], len(os.environ["SECRET_KEY"]), flush=True)
"""


def _servers(temp: Path, *command: str, **variables: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "healthsvc.runtime.test_servers", "--", *command],
        cwd=PROJECT,
        env={**os.environ, "TMPDIR": str(temp), **variables},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_two_runs_at_once_have_their_own(folder: Path) -> None:
    running = [
        _servers(folder, sys.executable, "-c", CHECK, str(number), DATABASE_URL="postgresql://elsewhere/x")
        for number in (1, 2)
    ]
    lines = [process.communicate(timeout=60)[0].split() for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert [line[:2] + line[3:] for line in lines] == [["healthsvc_app", "off", "64"]] * 2
    assert lines[0][2] != lines[1][2]
    assert list(folder.iterdir()) == []


def test_the_exit_code_is_the_commands(folder: Path) -> None:
    process = _servers(folder, "/bin/sh", "-c", "exit 7")
    process.communicate(timeout=60)
    assert process.returncode == 7
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_reaches_the_command_and_the_servers_go(folder: Path, number: signal.Signals) -> None:
    trap = "trap 'exit 9' INT TERM; echo ready; while :; do sleep 0.1; done"
    process = _servers(folder, "/bin/sh", "-c", trap)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == 9
    assert list(folder.iterdir()) == []


def test_what_a_hard_killed_run_left_is_removed_by_the_next(folder: Path) -> None:
    process = _servers(folder, "/bin/sh", "-c", "echo ready; exec sleep 3")
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.kill()
    process.communicate(timeout=60)
    (left,) = folder.iterdir()
    deadline = time.monotonic() + 30
    while (left / "postgres" / "cluster" / "postmaster.pid").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    after = _servers(folder, "/bin/true")
    after.communicate(timeout=60)
    assert after.returncode == 0
    assert list(folder.iterdir()) == []
