"""Calls to a provider: what we send, whom we send it to, and what an answer asks of us before we come again."""

from collections.abc import Iterator
from datetime import UTC, datetime

import orjson
import pytest
import time_machine
from pytest_django import Settings

from healthsvc.kernel.http import HttpReply
from links.connectors.failures import FailureKind, ProviderFailure
from links.connectors.wire import Access, document_of
from tests.links.vendors import json_answer
from tests.webhooks.receiving import Answer, Receiver, receiver

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("named", "wait_seconds"),
    [
        ({}, 60),
        ({"Retry-After": "40"}, 40),
        ({"Retry-After": "0"}, 1),
        ({"Retry-After": "9999999999"}, 86_400),
        ({"Retry-After": "Sun, 15 Nov 2026 12:02:30 GMT"}, 150),
        ({"Retry-After": "Sun, 15 Nov 2026 11:00:00 GMT"}, 1),
        ({"Retry-After": "Fri, 31 Dec 9999 23:59:59 -1400"}, 86_400),
        ({"Retry-After": "Mon, 01 Jan 99999999999999 00:00:00 GMT"}, 60),
        ({"Retry-After": "soon"}, 60),
    ],
)
def test_a_rate_limit_waits_as_long_as_it_says(named: dict[str, str], wait_seconds: int) -> None:
    with time_machine.travel(NOW, tick=False), pytest.raises(ProviderFailure) as caught:
        document_of(HttpReply(429, named, b""))
    assert (caught.value.kind, caught.value.retry_after_seconds) == (FailureKind.RATE_LIMITED, wait_seconds)


@pytest.fixture
def vendor(settings: Settings) -> Iterator[Receiver]:
    """A provider's data addresses."""
    with receiver() as found:
        settings.LOOPBACK_ORIGINS = [found.url]
        yield found


def access_make(vendor: Receiver) -> Access:
    """Access under a path of the vendor's."""
    headers = {"X-Key": "k", "Authorization": "never", "accept-language": "en"}
    return Access(f"{vendor.url}/api/v3", "secret-token", frozenset(), extra_headers=headers)


def test_every_call_carries_the_token_and_the_vendor_s_own_headers(vendor: Receiver) -> None:
    access = access_make(vendor)
    vendor.otherwise = json_answer({"id": 1})
    assert access.get("/a", {"day": "2026-11-15", "next": "x&y"}) == {"id": 1}
    assert access.post("/b", {"action": "get"}) == {"id": 1}
    vendor.answers = [json_answer({"id": 2}, 201)]
    assert access.post_json("/c", {"url": "https://x.example"}) == {"id": 2}
    assert access.put_json("/d", {"renewed": True}) == {"id": 1}
    access.delete("/e/1", {"force": "1"})
    sent = [(one.method, one.path, one.headers.get("content-type", ""), one.body) for one in vendor.received]
    assert sent == [
        ("GET", "/api/v3/a?day=2026-11-15&next=x%26y", "", b""),
        ("POST", "/api/v3/b", "application/x-www-form-urlencoded", b"action=get"),
        ("POST", "/api/v3/c", "application/json", orjson.dumps({"url": "https://x.example"})),
        ("PUT", "/api/v3/d", "application/json", b'{"renewed":true}'),
        ("DELETE", "/api/v3/e/1?force=1", "", b""),
    ]
    for request in vendor.received:
        assert (request.headers["authorization"], request.headers["x-key"]) == ("Bearer secret-token", "k")
        assert request.headers["accept"] == "application/json"


def test_a_list_and_an_object_are_told_apart(vendor: Receiver) -> None:
    access = access_make(vendor)
    vendor.answers = [json_answer([{"id": 1}]), json_answer({"message": "no"}), json_answer([1])]
    assert access.get_list("/athlete/activities", {}) == [{"id": 1}]
    for call in (access.get_list, access.get):
        with pytest.raises(ProviderFailure) as caught:
            call("/athlete/activities", {})
        assert caught.value.kind is FailureKind.TRANSPORT


@pytest.mark.parametrize("status", [200, 204, 404, 410])
def test_what_is_gone_need_not_be_deleted(vendor: Receiver, status: int) -> None:
    vendor.answers = [Answer(status)]
    access_make(vendor).delete("/subscriptions/1")
    vendor.answers = [Answer(500)]
    with pytest.raises(ProviderFailure) as caught:
        access_make(vendor).delete("/subscriptions/1")
    assert caught.value.kind is FailureKind.UNAVAILABLE


def test_a_next_page_of_the_same_origin_is_read(vendor: Receiver) -> None:
    vendor.answers = [json_answer({"data": []})]
    assert access_make(vendor).get_next(f"{vendor.url}/api/v4/next?page=2") == {"data": []}
    assert vendor.received[0].path == "/api/v4/next?page=2"


@pytest.mark.parametrize(
    "address",
    [
        "https://other.example/api/v3/next",
        "{url}@other.example/next",
        "{url}.other.example/next",
        "https://{host}/next",
        "//other.example/next",
        "/api/v3/next",
        "{url}\\@other.example/next",
        "file:///etc/passwd",
        "",
    ],
)
def test_the_token_goes_to_no_other_origin(vendor: Receiver, address: str) -> None:
    other = address.format(url=vendor.url, host=vendor.url.removeprefix("http://"))
    with pytest.raises(ProviderFailure) as caught:
        access_make(vendor).get_next(other)
    assert (caught.value.kind, vendor.received) == (FailureKind.REFUSED, [])


def test_a_call_that_must_not_be_made_is_not_made(vendor: Receiver) -> None:
    def stop() -> None:
        raise ProviderFailure(FailureKind.RATE_LIMITED, retry_after_seconds=9)

    heard: list[int] = []
    access = Access(vendor.url, "t", frozenset(), budget=stop, after_limited=heard.append)
    with pytest.raises(ProviderFailure):
        access.get("/a", {})
    assert (vendor.received, heard) == ([], [])
