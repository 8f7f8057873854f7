"""A receiver of webhooks that is cheap, notes what arrives before it answers, and misbehaves as it is told.

`python -m bench.soak_receiver --port 0 --journal FILE` prints its port. A path is an endpoint: what it does is set by
`POST /_control` with `{"/path": "mode"}`, and its secret by `POST /_secret` with `{"/path": "whsec_…"}`.
"""

import argparse
import asyncio
import hashlib
import random
import sys
import time
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final, TextIO

import orjson

from webhooks.signatures import secret_key, verdict

#: How long a receiver that is slow takes.
_LATE_SECONDS: Final = 0.1
_HEAD_END: Final = b"\r\n\r\n"


class Mode(StrEnum):
    """What a path does with requests."""

    OK = "ok"
    LATE = "late"  # a tenth of a second later
    THIRD = "third"  # 500 for a third of them
    MOODY = "moody"  # by chance 500, 429, no answer, or an answer
    HANG = "hang"  # no answer at all, until it is told to do something else


@dataclass(slots=True)
class Behaviour:
    """What each path does; and which requests hang."""

    journal: TextIO
    modes: dict[str, Mode] = field(default_factory=dict)
    keys: dict[str, bytes] = field(default_factory=dict)
    hanging: list[asyncio.Event] = field(default_factory=list)
    chance: random.Random = field(default_factory=lambda: random.Random(1))

    def command(self, path: str, body: bytes) -> None:
        """Change modes or secrets. Whatever hangs is answered."""
        given: dict[str, str] = orjson.loads(body)
        if path == "/_secret":
            self.keys |= {name: secret_key(secret) for name, secret in given.items()}
            return
        self.modes |= {name: Mode(mode) for name, mode in given.items()}
        while self.hanging:
            self.hanging.pop().set()

    async def status(self, path: str) -> int:
        """The answer of a path; 0 for none."""
        mode = self.modes.get(path, Mode.OK)
        if mode is Mode.HANG:
            let_go = asyncio.Event()
            self.hanging.append(let_go)
            await let_go.wait()
        elif mode is Mode.LATE:
            await asyncio.sleep(_LATE_SECONDS)
        elif mode is Mode.THIRD:
            return 500 if self.chance.random() < 1 / 3 else 204
        elif mode is Mode.MOODY:
            return self.chance.choices((204, 500, 429, 0), (6, 2, 1, 1))[0]
        return 204

    def note(self, path: str, headers: dict[str, str], body: bytes, status: int) -> None:
        """One line for each request that is about to be answered."""
        key = self.keys.get(path)
        found = "unknown" if key is None else str(verdict(key, headers, body, time.time()))
        digest = hashlib.sha256(body).hexdigest()
        line = (f"{time.time():.3f}", path, headers.get("webhook-id", "-"), digest, found, str(status))
        self.journal.write("\t".join(line) + "\n")


class Connection(asyncio.Protocol):
    """One connection: requests one after another, each with a Content-Length."""

    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None
        self._busy: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        self._transport = transport if isinstance(transport, asyncio.Transport) else None

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody waits for the answer any more."""
        self._transport = None
        if self._busy is not None:
            self._busy.cancel()

    def data_received(self, data: bytes) -> None:
        """Collect, and begin with a request that is whole."""
        self._buffer += data
        self._next()

    def _next(self) -> None:
        end = self._buffer.find(_HEAD_END)
        if end < 0 or self._busy is not None:
            return
        first, *lines = self._buffer[:end].decode("latin-1").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        begin = end + len(_HEAD_END)
        length = int(headers.get("content-length", "0"))
        if len(self._buffer) < begin + length:
            return
        body = bytes(self._buffer[begin : begin + length])
        del self._buffer[: begin + length]
        self._busy = asyncio.get_running_loop().create_task(self._answer(first.split(" ")[1], headers, body))

    async def _answer(self, path: str, headers: dict[str, str], body: bytes) -> None:
        if path.startswith("/_"):
            self._behaviour.command(path, body)
            status = 204
        else:
            status = await self._behaviour.status(path)
            self._behaviour.note(path, headers, body, status)
        self._busy = None
        if self._transport is None:
            return
        if not status:
            self._transport.close()
            return
        retry = b"Retry-After: 1\r\n" if status == 429 else b""
        length = b"" if status == 204 else b"Content-Length: 0\r\n"
        self._transport.write(b"HTTP/1.1 %d -\r\n%s%s\r\n" % (status, retry, length))
        self._next()


async def _serve(port: int, journal: Path) -> None:
    with journal.open("a", buffering=1) as file:
        behaviour = Behaviour(file)
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Connection(behaviour), "127.0.0.1", port, backlog=1024)
        sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
        sys.stdout.flush()
        await server.serve_forever()


def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--journal", type=Path, required=True)
    given = parser.parse_args()
    asyncio.run(_serve(given.port, given.journal))


if __name__ == "__main__":
    main()
