"""Starting guarded child processes, and clearing away what a killed tree left behind."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from healthsvc.runtime.guard import boot_id, started

GUARD = Path(__file__).with_name("guard.py")
#: What guards of a tree that was just killed get to finish by themselves, before their children are killed.
LEFTOVER_GRACE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Account:
    """The operating-system account a child runs as."""

    name: str
    uid: int
    gid: int


@dataclass(frozen=True, slots=True)
class Program:
    """One child to run. `stop_signal` asks it to end; after `grace_seconds` comes `hard_signal`, then SIGKILL.

    `prepare` runs before every start; what it raises counts as a failed start.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    folder: Path
    stop_signal: signal.Signals = signal.SIGTERM
    hard_signal: signal.Signals = signal.SIGKILL
    death_signal: signal.Signals = signal.SIGKILL
    grace_seconds: float = 10.0
    account: Account | None = None
    prepare: Callable[[], None] = field(default=lambda: None)


class Guarded:
    """A running `Program`. Keep it referenced: when its lifeline is closed the program is stopped."""

    def __init__(self, program: Program, *, records: Path, output: int) -> None:
        """Start it. `output` is a file descriptor, or subprocess.PIPE; both streams of the program go there."""
        program.prepare()
        records.mkdir(mode=0o700, parents=True, exist_ok=True)
        reading, self._lifeline = os.pipe()
        orders = {
            "record": str(records / f"{program.name}.json"),
            "lifeline": reading,
            "stop_signal": int(program.stop_signal),
            "hard_signal": int(program.hard_signal),
            "death_signal": int(program.death_signal),
            "grace_seconds": program.grace_seconds,
            "account": [program.account.uid, program.account.gid] if program.account else None,
        }
        self.program = program
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(GUARD), json.dumps(orders), *program.command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=program.folder,
                env=dict(program.environment),
                pass_fds=(reading,),
                start_new_session=True,
            )
        except BaseException:
            self.close()
            raise
        finally:
            os.close(reading)

    @property
    def pid(self) -> int:
        """The guard's process id, not the program's."""
        return self._process.pid

    @property
    def output(self) -> int:
        """The reading end of the program's output, when it was started with subprocess.PIPE."""
        if self._process.stdout is None:
            raise ValueError(f"{self.program.name} was not started with a pipe")
        return self._process.stdout.fileno()

    def exit_code(self) -> int | None:
        """None while it runs; 128 plus the signal when one ended it."""
        code = self._process.poll()
        return code if code is None or code >= 0 else 128 - code

    def ask_to_stop(self) -> None:
        """The first time politely; asked again, at once."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)

    def stop(self) -> int:
        """Ask, wait for the end and release everything. Returns the exit code."""
        self.ask_to_stop()
        code = self._process.wait()
        self.close()
        return code

    def close(self) -> None:
        """Release the lifeline and the pipe; a program that still runs is stopped by that."""
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1
        process = getattr(self, "_process", None)
        if process is not None and process.stdout is not None:
            process.stdout.close()


@dataclass(frozen=True, slots=True)
class Process:
    """A line of the process table."""

    pid: int
    group: int
    started: str
    state: str


def process_table() -> list[Process]:
    """Every process the system shows, zombies included; `started` is empty where there is no /proc."""
    if Path("/proc/self/stat").exists():
        return [process for process in map(_from_proc, Path("/proc").glob("[0-9]*")) if process is not None]
    listing = subprocess.run(["ps", "-axo", "pid=,pgid=,state="], capture_output=True, text=True, check=True)
    rows = (line.split() for line in listing.stdout.splitlines())
    return [Process(int(row[0]), int(row[1]), "", row[2][:1]) for row in rows]


def _from_proc(folder: Path) -> Process | None:
    try:
        fields = (folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return Process(pid=int(folder.name), group=int(fields[2]), started=fields[19], state=fields[0])


@dataclass(frozen=True, slots=True)
class _Record:
    """What a guard wrote about its child: its process group, and how it is asked to stop."""

    name: str
    group: int
    started: str
    stop_signal: int
    grace_seconds: float

    @classmethod
    def read(cls, path: Path) -> "_Record | None":
        """None for another boot's, or a half-written one: the child of that died with its guard."""
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if content["boot"] != boot_id() or not content["started"]:
                return None
            group, stop_signal = int(content["group"]), int(content["stop_signal"])
            return cls(path.stem, group, str(content["started"]), stop_signal, float(content["grace_seconds"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def members(self) -> list[Process]:
        """Living processes of the group, if it still is ours.

        It is when its leader has the recorded start time, or is gone and every member began later: the kernel gives no
        new process the id of a group that has members.
        """
        members = [process for process in process_table() if process.group == self.group and process.state != "Z"]
        for process in members:
            if int(process.started) < int(self.started):
                return []
            if process.pid == self.group and process.started != self.started:
                return []
        return members


def end_leftovers(records: Path, say: Callable[[str], None]) -> None:
    """End what an earlier tree with these records left running. Only call this while holding the tree's lock."""
    deadline = time.monotonic() + LEFTOVER_GRACE_SECONDS
    for path in sorted(records.glob("*.json")):
        record = _Record.read(path)
        if record and _members_after(record, deadline):
            say(f"ending {record.name}, which an earlier run left behind")
            leaders = [process for process in record.members() if process.pid == record.group]
            _signal(leaders, record.stop_signal)
            _signal(_members_after(record, time.monotonic() + record.grace_seconds * len(leaders)), signal.SIGKILL)
            _members_after(record, time.monotonic() + LEFTOVER_GRACE_SECONDS)
        path.unlink(missing_ok=True)


def _members_after(record: _Record, deadline: float) -> list[Process]:
    while (members := record.members()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return members


def _signal(processes: Sequence[Process], number: int) -> None:
    for process in processes:
        if started(process.pid) == process.started:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, number)
