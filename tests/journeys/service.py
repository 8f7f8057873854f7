"""The whole service as a person starts it: `manage.py up` on an empty data folder, stopped or killed at will."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
#: Set by the tests' own servers; the service under test must start its own.
_NOT_INHERITED = (
    "DATABASE_URL", "DATABASE_OWNER_URL", "REDIS_URL", "SECRET_KEY", "KEY_PEPPER", "FIELD_ENCRYPTION_KEYS",
    "TEST_SUPERUSER_URL", "HEALTHSVC_EMBEDDED", "HEALTHSVC_DATA_DIR", "HEALTHSVC_LOOPBACK_ORIGINS",
)  # fmt: skip
START_SECONDS = 180


@dataclass(slots=True)
class Answer:
    """What came back over HTTP."""

    status: int
    body: bytes

    def json(self) -> Any:
        """The body's value."""
        return json.loads(self.body)


def call(method: str, url: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
    """One request over a real socket."""
    sent = dict(headers or {})
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    if data is not None:
        sent.setdefault("Content-Type", "application/json")
    request = urllib.request.Request(url, data=data, headers=sent, method=method)  # noqa: S310 - loopback only
    try:
        with urllib.request.urlopen(request, timeout=90) as reply:  # noqa: S310 - loopback only
            return Answer(reply.status, reply.read())
    except urllib.error.HTTPError as error:
        return Answer(error.code, error.read())


def wait_for(what: str, probe: Callable[[], Any], *, seconds: float = 60) -> Any:
    """The first true answer of `probe`, or a failure that says what never came."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = probe()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"{what} did not happen in {seconds:g} s")


@dataclass(slots=True)
class Service:
    """A data folder, its ports, and the running tree if there is one."""

    folder: Path
    ports: dict[str, int]
    extra_origins: Sequence[str] = ()
    process: subprocess.Popen[bytes] | None = field(default=None)

    @property
    def api(self) -> str:
        """The team API."""
        return f"http://localhost:{self.ports['PORT']}"

    @property
    def management(self) -> str:
        """The management address."""
        return f"http://localhost:{self.ports['MANAGEMENT_PORT']}"

    @property
    def simulator(self) -> str:
        """The vendors' simulator."""
        return f"http://127.0.0.1:{self.ports['SIMULATOR_PORT']}"

    @property
    def demo(self) -> dict[str, str]:
        """The keys of the first start."""
        found: dict[str, str] = json.loads((self.folder / "demo.json").read_bytes())
        return found

    def environment(self) -> dict[str, str]:
        """What the tree is started with."""
        environment = {name: value for name, value in os.environ.items() if name not in _NOT_INHERITED}
        environment |= {name: str(port) for name, port in self.ports.items()}
        environment["HEALTHSVC_DATA_DIR"] = str(self.folder)
        origins = [f"http://127.0.0.1:{self.ports[name]}" for name in ("SIMULATOR_PORT", "WEBHOOK_RECEIVER_PORT")]
        environment["HEALTHSVC_LOOPBACK_ORIGINS"] = ",".join([*origins, *self.extra_origins])
        return environment

    def start(self) -> None:
        """Start the tree and wait until every part is ready."""
        log = (self.folder.parent / f"{self.folder.name}.log").open("ab")
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "up"],
            cwd=ROOT, env=self.environment(), stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        wait_for("the service became ready", self._ready, seconds=START_SECONDS)

    def _ready(self) -> bool:
        assert self.process is not None
        if self.process.poll() is not None:
            raise AssertionError(f"`manage.py up` ended with {self.process.returncode}:\n{self.log()[-4000:]}")
        try:
            return call("GET", f"{self.api}/readyz").status == 200
        except OSError:
            return False

    def log(self) -> str:
        """Everything the tree printed."""
        return (self.folder.parent / f"{self.folder.name}.log").read_text(errors="replace")

    def stop(self) -> int:
        """Ctrl-C, and the exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(timeout=60)
        self.process = None
        return code

    def kill_tree(self) -> None:
        """kill -9 of everything at once, as a power cut for processes."""
        assert self.process is not None
        for pid in self.pids():
            _kill(pid)
        self.process.wait(timeout=30)
        self.process = None

    def kill(self, *words: str) -> int:
        """kill -9 of the processes of the tree whose command line holds all `words`; how many there were."""
        found = [pid for pid in self.pids() if all(word in _command(pid) for word in words)]
        for pid in found:
            _kill(pid)
        return len(found)

    def pids(self) -> list[int]:
        """Every process of this data folder: the tree's and its servers'."""
        mark = str(self.folder)
        own = os.getpid()
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != own:
                pid = int(entry.name)
                if mark in _command(pid) or f"HEALTHSVC_DATA_DIR={mark}" in _environment(pid):
                    found.append(pid)
        return found


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def _environment(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def free_ports(count: int) -> list[int]:
    """Ports that nothing listens on now."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for item in sockets:
            item.bind(("127.0.0.1", 0))
        return [item.getsockname()[1] for item in sockets]


@contextmanager
def service(folder: Path, *, extra_origins: Sequence[str] = ()) -> Iterator[Service]:
    """A service on an empty folder; whatever is left of it is killed at the end."""
    names = ("PORT", "MANAGEMENT_PORT", "SIMULATOR_PORT", "WEBHOOK_RECEIVER_PORT")
    made = Service(folder, dict(zip(names, free_ports(len(names)), strict=True)), extra_origins)
    try:
        yield made
    finally:
        for pid in made.pids():
            _kill(pid)
