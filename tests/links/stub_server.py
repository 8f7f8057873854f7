"""A vendor that says what a test has written down, for answers that the simulator never gives."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True, slots=True)
class Asked:
    """One request that came."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(slots=True)
class StubServer:
    """A server on loopback; `answer` gives status and body of each request."""

    answer: Callable[[Asked], tuple[int, bytes]]
    url: str = ""
    asked: list[Asked] = field(default_factory=list)


@contextmanager
def stub_running(answer: Callable[[Asked], tuple[int, bytes]]) -> Iterator[StubServer]:
    """A stub, ended with the block."""
    stub = StubServer(answer)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._any()

        def do_POST(self) -> None:
            self._any()

        def do_DELETE(self) -> None:
            self._any()

        def _any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked = Asked(self.command, self.path, headers, body)
            stub.asked.append(asked)
            status, answered = stub.answer(asked)
            self.send_response(status)
            self.send_header("Content-Length", str(len(answered)))
            self.end_headers()
            self.wfile.write(answered)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's own name
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    stub.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield stub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
