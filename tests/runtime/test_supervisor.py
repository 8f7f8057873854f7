"""The process tree: restarts, Ctrl-C, hard kills, and leftovers of an earlier run."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from healthsvc.runtime.console import Console
from healthsvc.runtime.guard import boot_id, started
from healthsvc.runtime.processes import Guarded, Program, end_leftovers, process_table
from healthsvc.runtime.supervisor import StepFailedError, StopRequestedError, Supervisor

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).resolve().parents[2]


class TinyTree:
    """The tree of `tiny_tree.py` on one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> subprocess.Popen[bytes]:
        lives = len(self.pids("server")), len(self.pids("stubborn"))
        with self.log.open("ab") as log:
            command = [sys.executable, "-m", "tests.runtime.tiny_tree", str(self.folder)]
            self.process = subprocess.Popen(command, cwd=PROJECT, stdout=log, stderr=log)
        _until(lambda: (len(self.pids("server")), len(self.pids("stubborn"))) == (lives[0] + 1, lives[1] + 1))
        return self.process

    def pids(self, name: str) -> list[list[int]]:
        """The process ids of each life of a program; of `server` also its worker's."""
        path = self.folder / f"{name}.pids"
        lines = path.read_text().splitlines() if path.exists() else []
        return [[int(pid) for pid in line.split()] for line in lines]

    def everybody(self) -> set[int]:
        return {pid for name in ("server", "stubborn") for life in self.pids(name) for pid in life}

    def said(self) -> list[str]:
        return self.log.read_text().splitlines()


def _until(true: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


def _alive(pids: set[int]) -> set[int]:
    return pids & {process.pid for process in process_table() if process.state != "Z"}


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[TinyTree]:
    made = TinyTree(tmp_path)
    yield made
    if made.process is not None:
        made.process.kill()
        made.process.wait()
        _until(lambda: not _alive(made.everybody()))


def test_a_killed_child_is_started_again_and_its_worker_does_not_stay(tree: TinyTree) -> None:
    tree.start()
    (first,) = tree.pids("server")
    os.kill(first[0], signal.SIGKILL)
    _until(lambda: len(tree.pids("server")) == 2)
    assert not _alive(set(first))
    assert _alive(set(tree.pids("server")[1])) == set(tree.pids("server")[1])
    (line,) = [line for line in tree.said() if "again" in line]
    assert line.startswith("up         | server ended with exit code 137 after ")
    assert line.endswith("; starting it again in 1 s")
    assert len(tree.pids("stubborn")) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_everything_in_order(tree: TinyTree, number: signal.Signals) -> None:
    process = tree.start()
    process.send_signal(number)
    assert process.wait(timeout=20) == 0
    assert not _alive(tree.everybody())
    assert [line for line in tree.said() if line.startswith("up")] == [
        "up         | stopping server",
        "up         | stopping stubborn",
        "up         | stopped",
    ]
    assert "server     | working" in tree.said()
    assert list((tree.folder / "run").iterdir()) == []


def test_nothing_outlives_a_hard_kill_of_the_supervisor(tree: TinyTree) -> None:
    process = tree.start()
    process.kill()
    process.wait()
    _until(lambda: not _alive(tree.everybody()))
    _until(lambda: not list((tree.folder / "run").iterdir()))


def test_the_next_start_ends_what_a_hard_kill_of_all_but_a_worker_left(tree: TinyTree) -> None:
    process = tree.start()
    ((server, worker),) = tree.pids("server")
    guards = {_parent(server), _parent(tree.pids("stubborn")[0][0])}
    process.kill()
    for pid in guards:
        os.kill(pid, signal.SIGKILL)
    process.wait()
    _until(lambda: _alive(tree.everybody()) == {worker})
    tree.start()
    assert not _alive({worker})
    assert "up         | ending server, which an earlier run left behind" in tree.said()


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@pytest.mark.parametrize(
    "changed", [{"started": "1"}, {"boot": "another"}, {"started": "99999999999"}, {"started": ""}, {"group": "x"}]
)
def test_a_reused_process_id_is_left_alone(tmp_path: Path, changed: dict[str, str]) -> None:
    with subprocess.Popen(["/bin/sleep", "60"], start_new_session=True) as innocent:
        record = {"group": innocent.pid, "started": started(innocent.pid), "boot": boot_id()}
        content = {**record, "stop_signal": 15, "grace_seconds": 1.0, **changed}
        (tmp_path / "old.json").write_text(json.dumps(content))
        (tmp_path / "half.json").write_text('{"group": ')
        said: list[str] = []
        end_leftovers(tmp_path, said.append)
        assert innocent.poll() is None
        assert said == []
        assert list(tmp_path.iterdir()) == []
        innocent.kill()


def _program(folder: Path, *command: str) -> Program:
    return Program(name="step", command=command, environment={}, folder=folder, grace_seconds=0.5)


def test_a_failed_step_is_an_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    supervisor = Supervisor(Console(), tmp_path / "run")
    supervisor.run_once(_program(tmp_path, "/bin/sh", "-c", "echo fine"), tier=0)
    with pytest.raises(StepFailedError, match=r"^step failed with exit code 3$"):
        supervisor.run_once(_program(tmp_path, "/bin/sh", "-c", "printf why; exit 3"), tier=0)
    with pytest.raises(StepFailedError, match=r"^step failed with exit code 127$"):
        supervisor.run_once(_program(tmp_path, "/nonexistent/program"), tier=0)
    assert capfd.readouterr().out.splitlines() == [
        "step       | fine",
        "step       | why",
        "step       | /nonexistent/program: No such file or directory",
    ]


def test_ctrl_c_interrupts_a_step(tmp_path: Path) -> None:
    supervisor = Supervisor(Console(), tmp_path / "run")
    command = f"touch {tmp_path}/began; kill -INT {os.getpid()}; sleep 600"
    with supervisor.watch_signals():
        with pytest.raises(StopRequestedError):
            supervisor.run_once(_program(tmp_path, "/bin/sh", "-c", command), tier=0)
        supervisor.stop_all()
    assert list((tmp_path / "run").iterdir()) == []


def test_a_guard_reports_how_its_child_ended(tmp_path: Path) -> None:
    guarded = Guarded(_program(tmp_path, "/bin/sh", "-c", "kill -9 $$"), records=tmp_path, output=subprocess.DEVNULL)
    _until(lambda: guarded.exit_code() is not None)
    assert guarded.stop() == 137
