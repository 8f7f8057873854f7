"""What hook tests share: an address that answers vendors' checks, subscriptions made, notices asked for and brought."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from django.test import Client

from links.models import Connection, ProviderHook
from links.services.hooks import connection_hooks_want, hook_run
from tests.links.simulators import Simulator, call

JSON = {"Content-Type": "application/json"}


class _Echo(BaseHTTPRequestHandler):
    """Answers every challenge and every check, whoever asks."""

    def do_GET(self) -> None:
        challenge = parse_qs(urlsplit(self.path).query).get("challenge", [""])[0]
        body = json.dumps({"challenge": challenge}, separators=(",", ":")).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's own name
        pass


@contextmanager
def echo_running() -> Iterator[str]:
    """An address on this machine that vendors' checks find alive."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Echo)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def subscribed(connection: Connection) -> list[ProviderHook]:
    """The subscriptions of a connection, made at the simulator."""
    connection_hooks_want(connection)
    for hook in ProviderHook.objects.filter(provider=connection.provider).order_by("topic"):
        hook_run(hook_id=hook.pk)
    return list(ProviderHook.objects.filter(provider=connection.provider).order_by("topic"))


def hooks_at(simulator: Simulator) -> list[dict[str, Any]]:
    """What the simulated vendors have been subscribed to."""
    found: list[dict[str, Any]] = _control(simulator, "GET", "/_control/hooks", None)["subscriptions"]
    return found


@dataclass(frozen=True, slots=True)
class Notified:
    """A notice as the vendor made it, not yet brought."""

    method: str
    url: str
    headers: dict[str, str]
    body: str

    def bring(self, **changes: Any) -> Any:
        """Bring it to the service, with what somebody may have changed on the way."""
        body = changes.pop("body", self.body)
        headers = {**self.headers, **changes.pop("headers", {})}
        path = changes.pop("path", urlsplit(self.url).path)
        kind = headers.pop("Content-Type")
        return Client().generic(self.method, path, body.encode(), content_type=kind, headers=headers)


def notices(simulator: Simulator, slug: str, account: str, **values: Any) -> list[Notified]:
    """What the vendor would send for something that happened."""
    asked = {"slug": slug, "account": account, "deliver": False, **values}
    return [Notified(**one) for one in _control(simulator, "POST", "/_control/notify", asked)["requests"]]


def delivered(simulator: Simulator, slug: str, account: str, **values: Any) -> list[dict[str, Any]]:
    """How the vendor's calls for something that happened were answered."""
    found: list[dict[str, Any]] = _control(
        simulator, "POST", "/_control/notify", {"slug": slug, "account": account, **values}
    )["replies"]
    return found


def _control(simulator: Simulator, method: str, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
    status, _, raw = call(method, simulator.url + path, json.dumps(body), JSON)
    assert status < 300, raw
    found: dict[str, Any] = json.loads(raw)
    return found
