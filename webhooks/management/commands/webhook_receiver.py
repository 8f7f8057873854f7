"""`webhook_receiver`: shows the events that arrive on this machine, and verifies their signatures."""

import errno
import json
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser

from webhooks.signatures import Verdict, secret_key, verdict

_HOST: Final = "127.0.0.1"
_BODY_MAXIMUM_BYTES: Final = 20_000_000
#: How soon `--count` is noticed.
_POLL_SECONDS: Final = 0.1
_NOT_VERIFIED: Final = "not verified"

#: (header names in lower case → values, body) → whether it is taken.
Take = Callable[[Mapping[str, str], bytes], bool]


class Command(BaseCommand):
    """Receive, verify, print."""

    help = "Print the webhooks that arrive at http://127.0.0.1:PORT; with a secret, verify them. Ctrl-C ends it."

    def add_arguments(self, parser: CommandParser) -> None:
        """Where to listen, and what to verify with."""
        parser.add_argument("--port", type=int, default=8003, help="0 for any free one")
        secret = parser.add_mutually_exclusive_group()
        secret.add_argument("--secret", help="whsec_…, as the webhook's /secret shows it")
        secret.add_argument("--secret-file", type=Path, help="a file that holds the secret")
        parser.add_argument("--json", action="store_true", help="one JSON object a line")
        parser.add_argument("--show-body", action="store_true", help="print payloads too: they are health data")
        parser.add_argument("--count", type=int, default=0, help="end after this many events; 0 for never")

    def handle(self, *args: Any, **options: Any) -> None:
        """Serve until stopped, or until `--count` events came."""
        self._key = _key(options)
        self._as_json, self._show_body = options["json"], options["show_body"]
        self._received = 0
        server = _server(options["port"], _handler(self._take, self._count))
        server.timeout = _POLL_SECONDS
        self.stdout.write(f"Listening on http://{_HOST}:{server.server_port}")
        try:
            while not options["count"] or self._received < options["count"]:
                server.handle_request()
        except KeyboardInterrupt:
            self.stdout.write("Stopped.")
        finally:
            server.server_close()

    def _take(self, headers: Mapping[str, str], body: bytes) -> bool:
        found = None if self._key is None else verdict(self._key, headers, body, time.time())
        payload = _payload(body)
        line: dict[str, Any] = {
            "received_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "message_id": headers.get("webhook-id"),
            "event_type": payload.get("event_type") if isinstance(payload, dict) else None,
            "signature": _NOT_VERIFIED if found is None else str(found),
            "bytes": len(body),
            "headers": sorted(headers),
        }
        if self._show_body:
            line["body"] = payload
        self.stdout.write(json.dumps(line) if self._as_json else _lines(line))
        self.stdout.flush()
        return found in (None, Verdict.VERIFIED)

    def _count(self) -> None:
        """After the answer was sent, so that the command does not end before."""
        self._received += 1


class _Server(ThreadingHTTPServer):
    request_queue_size = 256  # a pump opens many connections at once


def _server(port: int, handler: type[BaseHTTPRequestHandler]) -> _Server:
    try:
        return _Server((_HOST, port), handler)
    except OverflowError:
        raise CommandError("--port must be between 0 and 65535.") from None
    except OSError as error:
        words = (
            "is in use; choose another with --port" if error.errno == errno.EADDRINUSE else f"can't be used: {error}"
        )
        raise CommandError(f"Port {port} of {_HOST} {words}.") from None


def _key(options: Mapping[str, Any]) -> bytes | None:
    secret = options["secret"]
    try:
        if options["secret_file"]:
            secret = options["secret_file"].read_text().strip()
        return secret_key(secret) if secret else None
    except (OSError, ValueError) as error:
        raise CommandError(str(error)) from error


def _payload(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None


def _lines(line: Mapping[str, Any]) -> str:
    first = "{received_at}  {event_type}  {signature}  {message_id}  {bytes} bytes".format_map(line)
    text = f"{first}\n    headers: {', '.join(line['headers'])}"
    if "body" in line:
        text += "\n" + json.dumps(line["body"], indent=2, ensure_ascii=False)
    return text


def _handler(take: Take, count: Callable[[], None]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            """One event."""
            length = self.headers.get("Content-Length", "")
            if not length.isdecimal() or int(length) > _BODY_MAXIMUM_BYTES:
                self._answer(413)
                return
            body = self.rfile.read(int(length))
            taken = take({name.lower(): value for name, value in self.headers.items()}, body)
            self._answer(204 if taken else 401)
            count()

        def _answer(self, status: int) -> None:
            self.send_response(status)
            if status != 204:
                self.send_header("Content-Length", "0")
            self.send_header("Connection", "close")
            self.end_headers()
            self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its base names it so
            """Silent: the lines above say it."""

    return Handler
