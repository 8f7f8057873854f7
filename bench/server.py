"""The service as `make run` starts it, on the measured database, and a client that keeps its connection."""

import http.client
import os
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from bench.stage import database_name
from healthsvc.runtime import tree
from tests.databases import ROOT, url_with_database

_START_SECONDS: Final = 60.0
_HOST: Final = "127.0.0.1"
#: Counted as in life, never reached.
_RATE_LIMIT: Final = "1000000000"


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back."""

    status: int
    body: bytes


class Client:
    """One connection that stays open, with a team's key."""

    def __init__(self, port: int, key: str) -> None:
        self._connection = http.client.HTTPConnection(_HOST, port, timeout=120)
        self._headers = {"x-service-api-key": key}

    def send(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Reply:
        """One request, and its answer read to the end."""
        sent = {**self._headers, **(headers or {})}
        if body is not None:
            sent.setdefault("Content-Type", "application/json")
        self._connection.request(method, path, body, sent)
        response = self._connection.getresponse()
        return Reply(response.status, response.read())

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


@contextmanager
def server() -> Iterator[int]:
    """The team API in a process of its own, over Django's current database; yields its port."""
    team, management, simulator, receiver = _free_ports(4)
    settings = replace(
        tree.TreeSettings.from_environment(ROOT),
        host=_HOST,
        ports=tree.Ports(team=team, management=management, simulator=simulator, webhook_receiver=receiver),
    )
    environment = tree.base_environment(settings, {}) | {
        "DATABASE_URL": url_with_database(os.environ["DATABASE_URL"], database_name()),
        "RATE_LIMIT_REQUESTS": _RATE_LIMIT,
        "LOG_LEVEL": "ERROR",
    }
    (program,) = (one for one in tree.services(settings, environment, ()) if one.name == "api")
    process = subprocess.Popen(program.command, env=environment, cwd=Path(ROOT))
    try:
        _wait_until_open(team, process)
        yield team
    finally:
        process.terminate()
        process.wait(timeout=30)


def _wait_until_open(port: int, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"The server ended with {process.returncode}.")
        client = Client(port, "")
        try:
            if client.send("GET", "/healthz").status == 200:
                return
        except OSError:
            pass  # nobody listens yet
        finally:
            client.close()
        time.sleep(0.1)
    raise RuntimeError(f"The server did not answer within {_START_SECONDS:.0f} s.")


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind((_HOST, 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()
