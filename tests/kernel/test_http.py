"""The outbound client, against a receiver on this machine."""

import asyncio
import logging
import socket
import threading
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import Settings

from healthsvc.kernel.http import HttpReply, OutboundError, OutboundFailure, OutboundSession, fetch, url_read
from tests.kernel.test_addresses import LOCAL, MANY_RECEIVERS, METADATA, PRIVATE, TUNNELS
from tests.name_server import address_of, names_resolving
from tests.webhooks.receiving import Answer, Receiver, receiver


@pytest.fixture
def server(settings: Settings) -> Iterator[Receiver]:
    """A receiver whose origin is the one loopback origin allowed."""
    with receiver() as running:
        settings.LOOPBACK_ORIGINS = [running.url]
        yield running


def failure(method: str, url: str, **arguments: Any) -> OutboundFailure:
    """Why a request has no reply."""
    with pytest.raises(OutboundError) as caught:
        fetch(method, url, **{"timeout_seconds": 5, **arguments})
    assert str(caught.value) == caught.value.kind.value
    return caught.value.kind


def test_a_request_and_its_reply(server: Receiver) -> None:
    server.answers = [Answer(200, {"X-Answer": "yes"}, b"\x00body")]
    reply = fetch("PUT", f"{server.url}/a/b?c=%20d", timeout_seconds=5, headers={"X-One": "1"}, body=b"sent")
    assert (reply.status, reply.body) == (200, b"\x00body")
    assert reply.headers["x-answer"] == "yes"
    (request,) = server.received
    assert (request.method, request.path, request.body) == ("PUT", "/a/b?c=%20d", b"sent")
    assert (request.headers["x-one"], request.headers["user-agent"]) == ("1", "healthsvc")


def test_a_form_is_sent_as_one(server: Receiver) -> None:
    fetch("POST", server.url, timeout_seconds=5, form={"grant": "a b&c", "é": "="})
    (request,) = server.received
    assert request.body == b"grant=a+b%26c&%C3%A9=%3D"
    assert request.headers["content-type"] == "application/x-www-form-urlencoded"


def test_redirects_are_answered_not_followed(server: Receiver) -> None:
    server.answers = [Answer(302, {"Location": f"{server.url}/elsewhere"})]
    reply = fetch("GET", server.url, timeout_seconds=5)
    assert (reply.status, reply.headers["Location"]) == (302, f"{server.url}/elsewhere")
    assert len(server.received) == 1


def test_nothing_is_kept_between_requests_and_no_proxy_is_taken(
    server: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    server.otherwise = Answer(200, {"Set-Cookie": "session=1"})

    async def twice() -> list[HttpReply]:
        async with OutboundSession() as session:
            return [await session.request("GET", server.url, timeout_seconds=5) for _ in range(2)]

    assert [reply.status for reply in asyncio.run(twice())] == [200, 200]
    assert [request.headers.get("cookie") for request in server.received] == [None, None]


def test_a_reply_that_never_ends_is_given_up(server: Receiver) -> None:
    server.answers = [Answer(hangs=True)]
    assert failure("GET", server.url, timeout_seconds=0.2) is OutboundFailure.TIMEOUT


def test_nobody_listening(settings: Settings) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        settings.LOOPBACK_ORIGINS = [url]
        assert failure("GET", url) is OutboundFailure.CONNECTION


def test_a_large_reply_is_refused_and_the_limit_itself_is_not(server: Receiver) -> None:
    server.otherwise = Answer(200, {}, b"x" * 100_000)
    assert len(fetch("GET", server.url, timeout_seconds=5, maximum_bytes=100_000).body) == 100_000
    assert failure("GET", server.url, maximum_bytes=99_999) is OutboundFailure.TOO_LARGE


def test_the_limit_holds_for_the_inflated_reply(server: Receiver) -> None:
    server.otherwise = Answer(200, {"Content-Encoding": "deflate"}, zlib.compress(bytes(5_000_000)))
    assert failure("GET", server.url, maximum_bytes=1_000_000) is OutboundFailure.TOO_LARGE
    assert fetch("GET", server.url, timeout_seconds=5).body == bytes(5_000_000)


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nnever the rest", marks=pytest.mark.slow),
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbreaks off",
    ],
)
def test_a_status_counts_though_its_body_never_comes_where_that_is_wanted(settings: Settings, reply: bytes) -> None:
    """The first connection stays open until the caller hangs up, the last is closed in the middle of the body."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        settings.LOOPBACK_ORIGINS = [url]

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(reply)
                if b"never" in reply:
                    connection.recv(1)

        thread = threading.Thread(target=answer)
        thread.start()

        async def cut() -> HttpReply:
            async with OutboundSession() as session:
                return await session.request("POST", url, timeout_seconds=30, body=b"{}", maximum_bytes=10, cut=True)

        found = asyncio.run(cut())
        thread.join(30)
    assert found.status == 200


def test_a_large_reply_can_be_cut(server: Receiver) -> None:
    server.otherwise = Answer(500, {}, b"x" * 100_000)

    async def cut() -> HttpReply:
        async with OutboundSession() as session:
            return await session.request("GET", server.url, timeout_seconds=5, maximum_bytes=10, cut=True)

    reply = asyncio.run(cut())
    assert (reply.status, reply.body) == (500, b"x" * 10)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com/", "file:///etc/passwd", "javascript:1", "//example.com", "example.com", "", "http://",
        "http:///path", "https://user:secret@example.com/", "https://user@example.com/", "https://exa mple.com/",
        "https://example.com/\r\nX: 1", "https://example.com\\@10.0.0.1/", "https://example.com:99999/",
        "http://[::1", "gopher://127.0.0.1:70/", "https://example.com:0/",
    ],
)  # fmt: skip
def test_urls_that_are_not_plain_http_are_invalid(url: str) -> None:
    assert failure("GET", url) is OutboundFailure.INVALID_URL


def test_a_url_is_read_as_it_will_be_dialled() -> None:
    assert url_read("https://Example.COM/a").host == "example.com"
    assert url_read("http://example.com").port == 80


def test_this_machine_is_refused_unless_the_exact_origin_is_named(server: Receiver, settings: Settings) -> None:
    port = server.url.rpartition(":")[2]
    for host in ("localhost", "127.1", "0x7f.1", "2130706433", "0.0.0.0", "[::ffff:127.0.0.1]"):  # noqa: S104 - under test
        assert failure("GET", f"http://{host}:{port}/") is OutboundFailure.REFUSED_ADDRESS
    settings.LOOPBACK_ORIGINS = []
    settings.OUTBOUND_ALLOWED_NETWORKS = ["0.0.0.0/0", "::/0"]
    assert failure("GET", server.url) is OutboundFailure.REFUSED_ADDRESS
    assert server.received == []


@pytest.mark.parametrize("address", LOCAL + METADATA + MANY_RECEIVERS + PRIVATE + TUNNELS)
def test_a_name_is_refused_for_what_it_resolves_to_when_it_is_dialled(address: str) -> None:
    """A rebinding server may say what it likes earlier: only the address that is dialled counts."""
    with names_resolving(lambda _host: address) as asked:
        assert failure("GET", "http://hooks.example.com/") is OutboundFailure.REFUSED_ADDRESS
    assert asked == ["hooks.example.com"]


def test_a_name_that_moves_to_this_machine_is_refused(server: Receiver) -> None:
    port = int(server.url.rpartition(":")[2])
    answers = iter(["93.184.216.34"])
    with names_resolving(lambda _host: next(answers, "127.0.0.1")) as asked:
        assert address_of("moving.example.com") == "93.184.216.34"
        assert failure("GET", f"http://moving.example.com:{port}/") is OutboundFailure.REFUSED_ADDRESS
    assert (asked, server.received) == (["moving.example.com"] * 2, [])


def test_a_loopback_origin_whose_name_leads_elsewhere_is_refused(settings: Settings) -> None:
    settings.LOOPBACK_ORIGINS = ["http://receiver.local:8003"]
    with names_resolving(lambda _host: "10.0.0.1"):
        assert failure("GET", "http://receiver.local:8003/") is OutboundFailure.REFUSED_ADDRESS


def test_names_of_this_machine_are_known_without_a_name_server(server: Receiver, settings: Settings) -> None:
    """Its file of hosts, and localhost."""
    port = server.url.rpartition(":")[2]
    settings.LOOPBACK_ORIGINS = [f"http://localhost:{port}"]
    with names_resolving(lambda _host: None) as asked:
        assert fetch("GET", f"http://localhost:{port}/", timeout_seconds=5).status == 204
    assert asked == []


@pytest.mark.parametrize("host", ["none.example.com", "a" * 64 + ".example.com", "a..example.com"])
def test_a_name_that_nobody_knows(host: str) -> None:
    with names_resolving(lambda _host: ""):
        assert failure("GET", f"http://{host}/") in (OutboundFailure.CONNECTION, OutboundFailure.INVALID_URL)


def test_names_whose_servers_never_answer_hold_up_nobody_else(server: Receiver, settings: Settings) -> None:
    """Many more than a loop has threads; asking counts within the request's time, and the loop's end waits for none."""
    port = server.url.rpartition(":")[2]
    settings.LOOPBACK_ORIGINS = [f"http://alive.example.com:{port}"]
    silent = [f"http://silent-{number}.example.com/" for number in range(100)]

    async def all_at_once() -> tuple[set[OutboundFailure], int]:
        async with OutboundSession() as session:
            waiting = [asyncio.create_task(session.request("GET", url, timeout_seconds=60)) for url in silent]
            soon = [asyncio.create_task(session.request("GET", url, timeout_seconds=0.2)) for url in silent]
            failed = await asyncio.gather(*soon, return_exceptions=True)
            kinds = {each.kind for each in failed if isinstance(each, OutboundError)}
            assert len(kinds) == 1
            reply = await session.request("GET", f"http://alive.example.com:{port}/", timeout_seconds=30)
            assert not any(task.done() for task in waiting)
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
            return kinds, reply.status

    with names_resolving(lambda host: "127.0.0.1" if host == "alive.example.com" else None):
        assert asyncio.run(all_at_once()) == ({OutboundFailure.TIMEOUT}, 204)


def test_many_requests_run_at_once(server: Receiver) -> None:
    server.answers = [Answer(hangs=True) for _ in range(20)]

    async def all_at_once() -> list[int]:
        async with OutboundSession() as session:
            waiting = [
                asyncio.create_task(session.request("POST", server.url, timeout_seconds=10, body=b"{}"))
                for _ in range(20)
            ]
            while len(server.received) < 20:
                await asyncio.sleep(0.005)
            server.let_go.set()
            return [(await task).status for task in waiting]

    assert asyncio.run(all_at_once()) == [204] * 20


def test_nothing_of_a_request_is_logged(server: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        fetch("POST", f"{server.url}/?token=sesame", timeout_seconds=5, headers={"X-Key": "sesame"}, body=b"sesame")
        failure("GET", "http://10.0.0.1/?token=sesame")
    assert "sesame" not in caplog.text
