"""A customer's webhook receiver: an HTTP server that keeps what it is sent and answers as told."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from standardwebhooks import Webhook

_SIGNED: Final = ("webhook-id", "webhook-timestamp", "webhook-signature")


@dataclass(slots=True)
class Receiver:
    """What arrived, in order."""

    url: str = ""
    received: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    status: int = 204

    def verified(self, secret: str) -> list[tuple[str, dict[str, Any]]]:
        """(message id, payload) of each delivery, its signature checked by the published library under both names."""
        webhook = Webhook(secret)
        found = []
        for headers, body in list(self.received):
            by_svix = {name: headers[name.replace("webhook", "svix")] for name in _SIGNED}
            payload = webhook.verify(body, headers)
            assert webhook.verify(body, by_svix) == payload
            found.append((headers["webhook-id"], payload))
        return found


@contextmanager
def receiver() -> Iterator[Receiver]:
    """A receiver on a free loopback port. It answers 200 with a page to GET, for redirects of link pages."""
    kept = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            kept.received.append(({name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(kept.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_GET(self) -> None:
            page = b"<!doctype html><title>Back</title><h1>Back at the customer's</h1>"
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its base names it so
            """Silent."""

    class Server(ThreadingHTTPServer):
        request_queue_size = 256  # a pump opens many connections at once

    server = Server(("127.0.0.1", 0), Handler)
    kept.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield kept
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=10)
