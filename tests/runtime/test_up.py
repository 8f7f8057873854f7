"""`manage.py up` refuses clearly, before anything starts; `attach` finds what runs."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from healthsvc.runtime.locks import FolderLock

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).resolve().parents[2]


def _run(folder: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        cwd=PROJECT,
        env={**os.environ, "HEALTHSVC_DATA_DIR": str(folder), **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_second_start_says_what_runs_and_touches_nothing(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path / "up.lock", team="http://localhost:8000", management="http://localhost:8001")
    done = _run(tmp_path, "manage.py", "up")
    lock.release()
    assert done.returncode == 1
    assert done.stdout == (
        f"up         | The service already runs on this data folder: process {os.getpid()}, team API "
        "http://localhost:8000, management http://localhost:8001. It was left alone. To run a second one, set "
        "HEALTHSVC_DATA_DIR and the ports.\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["up.lock"]


def test_a_busy_port_stops_it_before_anything_starts(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = _run(tmp_path, "manage.py", "up", MANAGEMENT_PORT=str(port))
    assert done.returncode == 1
    assert f"Port {port} on 127.0.0.1 cannot be used (Address already in use)" in done.stdout
    assert "MANAGEMENT_PORT=…" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["up.lock"]


def test_a_setting_that_is_not_understood_is_named(tmp_path: Path) -> None:
    done = _run(tmp_path, "manage.py", "up", MANAGEMENT_PORT="many")
    assert done.returncode == 1
    assert done.stdout == "up         | Cannot start: MANAGEMENT_PORT='many' is not a whole number from 1 to 65535.\n"


def test_attach_gives_a_command_the_running_trees_environment(tmp_path: Path) -> None:
    attach = ("-m", "healthsvc.runtime.attach", "--", sys.executable, "-c", "import os; print(os.environ['REDIS_URL'])")
    done = _run(tmp_path, *attach)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"Nothing runs on {tmp_path}: start it with `make run`.\n"
    (tmp_path / "environment.json").write_text(json.dumps({"REDIS_URL": "unix:///tree"}))
    assert _run(tmp_path, *attach).stdout == "unix:///tree\n"
