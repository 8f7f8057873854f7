"""A simulator process of a test run's own, and a person who logs in and consents at it."""

import html
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from tests.simulator_control import control_headers

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Simulator:
    """A running simulator."""

    url: str

    def fault(self, slug: str, kind: str, path_prefix: str = "/", **values: Any) -> None:
        """The next answers of a vendor go wrong."""
        self._control("POST", "/_control/faults", {"slug": slug, "kind": kind, "path_prefix": path_prefix, **values})

    def reset_faults(self) -> None:
        """Let everything go right again."""
        self._control("DELETE", "/_control/faults", {})

    def reset(self) -> None:
        """Forget grants, tokens, faults and counts."""
        self._control("POST", "/_control/reset", {})

    def requests(self) -> list[dict[str, Any]]:
        """How often each route was asked, and how it answered."""
        found: list[dict[str, Any]] = self._control("GET", "/_control/requests", None)["requests"]
        return found

    def count(self, slug: str, route: str, action: str = "") -> int:
        """How often one route was asked."""
        rows = self.requests()
        return sum(row["count"] for row in rows if (row["slug"], row["route"], row["action"]) == (slug, route, action))

    def _control(self, method: str, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        status, _, raw = call(method, self.url + path, json.dumps(body), {"Content-Type": "application/json"})
        assert status < 300, raw
        found: dict[str, Any] = json.loads(raw)
        return found


@contextmanager
def simulator_running(folder: Path) -> Iterator[Simulator]:
    """A simulator on a free loopback port, ended with the block."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    environment = {**os.environ, "SIMULATOR_DATABASE": str(folder / "simulator.sqlite3"), "SIMULATOR_URL": url}
    server = Path(sys.executable).with_name("granian")
    command = [str(server), "--interface", "wsgi", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--workers", "1", "--blocking-threads", "4", "--no-ws", "simulator.wsgi:application"]
    with (folder / "simulator.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
    try:
        _wait(url, process, folder / "simulator.log")
        yield Simulator(url)
    finally:
        process.terminate()
        process.wait(timeout=20)


def _wait(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    for _ in range(200):
        assert process.poll() is None, log.read_text()
        try:
            if call("GET", f"{url}/healthz")[0] == 200:
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(log.read_text())


def call(
    method: str, url: str, body: str = "", headers: dict[str, str] | None = None
) -> tuple[int, dict[str, str], str]:
    """One HTTP request, no redirects followed: status, headers by lower-case name, body.

    One to a simulator's controls shows their secret.
    """
    parts = urlsplit(url)
    shown = {**control_headers(parts.path), **(headers or {})}
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=20)
    try:
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request(method, target, body.encode(), shown)
        reply = connection.getresponse()
        return reply.status, {name.lower(): text for name, text in reply.getheaders()}, reply.read().decode()
    finally:
        connection.close()


@dataclass
class Person:
    """Somebody with an account at the simulated vendors and a browser of their own."""

    account: str = "ada@example.com"
    cookies: dict[str, str] = field(default_factory=dict)

    def decide(self, authorize_url: str, *, allow: bool = True, refuse: Sequence[str] = ()) -> str:
        """Log in and decide at the vendor; the address the vendor sends the browser back to."""
        origin = "{0.scheme}://{0.netloc}".format(urlsplit(authorize_url))
        page = self._open("GET", authorize_url)[1]
        login = {**_hidden(page), "email": self.account, "password": "simulator"}
        location = self._open("POST", origin + _action(page), login)[0]
        page = self._open("GET", origin + location)[1]
        ticked = [scope for scope in re.findall(r'name="scope" value="([^"]*)"', page) if scope not in refuse]
        decision = {**_hidden(page), "scope": ticked, "decision": "allow" if allow else "deny"}
        return self._open("POST", origin + _action(page), decision)[0]

    def _open(self, method: str, url: str, fields: dict[str, Any] | None = None) -> tuple[str, str]:
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        if fields is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        status, answered, body = call(method, url, urlencode(fields or {}, doseq=True), headers)
        assert status in (200, 303), body
        for name, morsel in SimpleCookie(answered.get("set-cookie", "")).items():
            self.cookies[name] = morsel.value
        return answered.get("location", ""), body


def _hidden(page: str) -> dict[str, Any]:
    found = re.findall(r'type="hidden" name="([^"]*)" value="([^"]*)"', page)
    return {name: html.unescape(value) for name, value in found}


def _action(page: str) -> str:
    found = re.search(r'<form method="post" action="([^"]*)"', page)
    assert found
    return html.unescape(found[1])
