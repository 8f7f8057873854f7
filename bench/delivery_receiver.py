"""A receiver as cheap as can be, a program of its own: notes when each message arrived, and lets some requests hang.

The first line it prints is its port. `GET /arrivals` answers and forgets what arrived: a line for each request, with
path, message id and the Unix time in seconds.
"""

import argparse
import asyncio
import ssl
import time

#: Requests to a path that begins so are answered late, as late as is asked for.
HANGING = b"/hang"
_ANSWER = b"HTTP/1.1 204 No Content\r\n\r\n"
#: Requests to paths that begin so fail, with an answer of a few bytes or of as many as are read of one.
FAILING = {b"/fail-small": b"no", b"/fail-large": b"a.1-" * 1024}


class Receiving(asyncio.Protocol):
    """One connection."""

    arrived: list[str] = []  # of all connections together
    hang_seconds = 15.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.waiting = b""

    def data_received(self, data: bytes) -> None:
        """Answer each request whose body is complete."""
        self.waiting += data
        while (end := self.waiting.find(b"\r\n\r\n")) >= 0:
            head = self.waiting[:end].lower()
            size = end + 4 + _length(head)
            if len(self.waiting) < size:
                return
            self.waiting = self.waiting[size:]
            self._request(head)

    def _request(self, head: bytes) -> None:
        method, path, _ = head.split(b" ", 2)
        if method == b"get":
            self._arrivals()
            return
        place = head.find(b"webhook-id: ") + 12
        message = head[place : head.find(b"\r\n", place)]
        Receiving.arrived.append(f"{path.decode()} {message.decode()} {time.time():.6f}")
        if path.startswith(HANGING):
            asyncio.get_running_loop().call_later(Receiving.hang_seconds, self._answer)
        else:
            self._answer(next((body for begin, body in FAILING.items() if path.startswith(begin)), None))

    def _answer(self, failure: bytes | None = None) -> None:
        if self.transport.is_closing():
            return
        if failure is None:
            self.transport.write(_ANSWER)
        else:
            self.transport.write(b"HTTP/1.1 500 No\r\nContent-Length: %d\r\n\r\n" % len(failure) + failure)

    def _arrivals(self) -> None:
        body = "\n".join(Receiving.arrived).encode()
        Receiving.arrived.clear()
        self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)


def _length(head: bytes) -> int:
    place = head.find(b"content-length:")
    return int(head[place + 15 :].split(b"\r\n", 1)[0]) if place >= 0 else 0


async def _serve(context: ssl.SSLContext | None) -> None:
    server = await asyncio.get_running_loop().create_server(Receiving, "127.0.0.1", 0, backlog=1024, ssl=context)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--certificate", default="")
    parser.add_argument("--key", default="")
    parser.add_argument("--hang-seconds", type=float, default=Receiving.hang_seconds)
    given = parser.parse_args()
    Receiving.hang_seconds = given.hang_seconds
    context = None
    if given.certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(given.certificate, given.key)
    asyncio.run(_serve(context))


if __name__ == "__main__":
    main()
