"""A name server on a loopback port that says what a test wants, or nothing; and the client that asks it alone."""

import asyncio
import socket
import struct
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address

import pytest

from healthsvc.kernel import http

#: The address of a name, empty where there is none; None where nothing is to be answered.
Resolve = Callable[[str], str | None]

_HEAD_BYTES = 12
_A, _AAAA = 1, 28
_POINTER_TO_NAME = 0xC000 | _HEAD_BYTES


@dataclass(slots=True)
class NameServer:
    """`asked` are the names that somebody wished to know an address of, in their order."""

    address: str
    asked: list[str] = field(default_factory=list)


@contextmanager
def name_server(resolve: Resolve) -> Iterator[NameServer]:
    """A running server. A name has one address, of either version; of the other it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        kept = NameServer(f"127.0.0.1:{server.getsockname()[1]}")
        answers: dict[str, list[str | None]] = defaultdict(list)
        questions: Counter[tuple[str, int]] = Counter()

        def serve() -> None:
            while (packet := server.recvfrom(4096))[0]:
                question, asker = packet
                host, kind, end = _question(question)
                questions[host, kind] += 1
                # Both versions are asked for at once: they are one question of the client, with one answer.
                if questions[host, kind] > len(answers[host]):
                    kept.asked.append(host)
                    answers[host].append(resolve(host))
                address = answers[host][questions[host, kind] - 1]
                if address is not None:
                    server.sendto(_answer(question[:end], kind, address), asker)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield kept
        finally:
            server.sendto(b"", server.getsockname())
            thread.join(10)


def _question(packet: bytes) -> tuple[str, int, int]:
    """The name, the type, and where the question ends."""
    labels: list[str] = []
    place = _HEAD_BYTES
    while length := packet[place]:
        labels.append(packet[place + 1 : place + 1 + length].decode())
        place += 1 + length
    (kind,) = struct.unpack_from("!H", packet, place + 1)
    return ".".join(labels), kind, place + 5


def _answer(question: bytes, kind: int, address: str) -> bytes:
    """One record, or none: no address for this version. An empty address says that there is no such name."""
    found = ip_address(address.partition("%")[0]).packed if address else b""
    is_asked = bool(found) and kind == (_A if len(found) == 4 else _AAAA)
    head = question[:2] + struct.pack("!HHHHH", 0x8180 if found else 0x8183, 1, int(is_asked), 0, 0)
    record = struct.pack("!HHHIH", _POINTER_TO_NAME, kind, 1, 0, len(found)) + found
    return head + question[_HEAD_BYTES:] + (record if is_asked else b"")


@contextmanager
def names_resolving(resolve: Resolve) -> Iterator[list[str]]:
    """Every name of an outbound request is asked of a server that answers so; the names that were asked for."""
    with name_server(resolve) as server, pytest.MonkeyPatch.context() as patch:
        patch.setattr(http, "name_servers", [server.address])
        yield server.asked


def address_of(host: str) -> str:
    """The address that somebody gets who asks now, in the way of outbound requests."""

    async def asked() -> str:
        names = http._Names()
        try:
            return str((await names.resolve(host))[0]["host"])
        finally:
            await names.close()

    return asyncio.run(asked())
