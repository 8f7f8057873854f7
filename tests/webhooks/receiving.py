"""A receiver on a loopback port whose answers a test writes in advance."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, slots=True)
class Answer:
    """What the receiver answers once. With `hangs` it first waits until the test lets go."""

    status: int = 204
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    hangs: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """What arrived; header names in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(slots=True)
class Receiver:
    """`answers` are used up in order; then every answer is `otherwise`."""

    url: str = ""
    received: list[Request] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    otherwise: Answer = Answer()
    #: Paths whose requests hang, whatever the answer is.
    slow_paths: set[str] = field(default_factory=set)
    let_go: threading.Event = field(default_factory=threading.Event)


@contextmanager
def receiver() -> Iterator[Receiver]:
    """A running receiver. Requests that hang are let go at the end."""
    kept = Receiver()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            headers = {name.lower(): value for name, value in self.headers.items()}
            kept.received.append(Request(self.command, self.path, headers, body))
            answer = kept.answers.pop(0) if kept.answers else kept.otherwise
            if answer.hangs or self.path in kept.slow_paths:
                kept.let_go.wait(30)
            try:
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                if answer.status != 204:
                    self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)
            except OSError:
                self.close_connection = True  # the caller went away, as a test wanted

        do_GET = do_POST = do_PUT = do_DELETE = _answer  # noqa: N815 - the base class names them so

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
            """Silent."""

    class Server(ThreadingHTTPServer):
        request_queue_size = 256  # as many connections as a pump opens at once

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    kept.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield kept
    finally:
        kept.let_go.set()
        server.shutdown()
        server.server_close()
        thread.join(timeout=10)
