"""The one client for outbound HTTP: always a timeout, never a redirect, no address that is not public.

The address is checked where the socket is made, after every name was resolved, so that a name that changes its
address between check and use gains nothing. Bodies, headers and URLs are never logged: they may hold health data or
tokens, and an `OutboundError` tells only its kind.
"""

import asyncio
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from ipaddress import ip_address
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlencode

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from multidict import CIMultiDict
from yarl import URL

from healthsvc.kernel.addresses import AddressRules, address_rules

USER_AGENT: Final = "healthsvc"
#: A reply larger than this is refused unless the caller says otherwise.
REPLY_MAXIMUM_BYTES: Final = 10_000_000
#: How long an idle connection of a session is kept for the next request to the same origin.
_KEEP_ALIVE_SECONDS: Final = 30.0
_CHUNK_BYTES: Final = 65_536
#: How long the body of a reply is waited for of which the status is what matters.
_CUT_BODY_SECONDS: Final = 2.0
#: How long a name server may take, and how often all are asked; each time twice as long.
_NAME_TRY_SECONDS: Final = 3.0
_NAME_TRIES: Final = 2
#: Name servers, each with its port, that are asked instead of the machine's own.
name_servers: Final[list[str]] = []


class OutboundFailure(StrEnum):
    """Why there is no reply."""

    REFUSED_ADDRESS = "refused_address"
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    TOO_LARGE = "too_large"
    INVALID_URL = "invalid_url"
    TLS = "tls"  # the certificate is not trusted, not for this host or out of date, or no version suits both


class OutboundError(Exception):
    """No reply came. The text is the kind alone: URLs and replies may hold what must not be logged."""

    def __init__(self, kind: OutboundFailure) -> None:
        super().__init__(kind.value)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class HttpReply:
    """What came back. `headers` are found under their names in any case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class OutboundTarget:
    """Where many requests go and what each carries, read once. `rules` are those it was read by.

    `failure` says why none can be made: the URL is none, or its host may not be meant. Where a host may be meant its
    address is checked all the same, where each socket is made.
    """

    text: str
    url: URL
    headers: CIMultiDict[str]
    rules: AddressRules
    loopback: bool = False
    failure: OutboundFailure | None = None


def outbound_target(url: str, headers: Mapping[str, str] | None = None) -> OutboundTarget:
    """Read a URL under the settings' rules."""
    return _target(url, CIMultiDict(headers or {}), address_rules())


def _target(text: str, headers: CIMultiDict[str], rules: AddressRules) -> OutboundTarget:
    try:
        url = url_read(text)
    except OutboundError as error:
        return OutboundTarget(text, URL(), headers, rules, failure=error.kind)
    failure = None if rules.permits_host(url) else OutboundFailure.REFUSED_ADDRESS
    return OutboundTarget(text, url, headers, rules, rules.is_loopback_origin(url), failure)


class _AddressRefusedError(OSError):
    """Raised where a socket would be made; an OSError, so that further addresses of a name are still tried."""

    def __init__(self) -> None:
        super().__init__("address refused")


def url_read(url: str) -> URL:
    """The URL as it will be dialled; OutboundError INVALID_URL unless it is http(s) with a host and no credentials."""
    try:
        parsed = URL(url)
        sound = parsed.scheme in ("http", "https") and bool(parsed.host) and bool(parsed.port)
    except ValueError as error:
        raise OutboundError(OutboundFailure.INVALID_URL) from error
    if not sound or parsed.user is not None or parsed.password is not None or _has_blanks(url):
        raise OutboundError(OutboundFailure.INVALID_URL)
    return parsed


def _has_blanks(text: str) -> bool:
    return any(character <= " " or character == "\x7f" or character == "\\" for character in text)


class OutboundSession:
    """Many requests on one event loop, connections kept alive. Enter it with `async with`.

    The caller bounds how many requests run at once; the session has no limit of its own, so that no request spends
    its timeout waiting for a connection of another.
    """

    def __init__(self) -> None:
        self._rules = address_rules()
        self._names = _Names()
        self._open: dict[bool, aiohttp.ClientSession] = {}

    async def __aenter__(self) -> Self:
        """Ready for requests; connections are opened when needed."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close every connection."""
        for session in self._open.values():
            await session.close()
        await self._names.close()

    async def request(
        self,
        method: str,
        url: str,
        *,
        timeout_seconds: float,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        maximum_bytes: int = REPLY_MAXIMUM_BYTES,
        cut: bool = False,
    ) -> HttpReply:
        """One request and its whole reply. With `cut` a longer body is cut at `maximum_bytes` instead of refused,
        and one that does not come, or breaks off, is left out: the status is what matters then.

        `timeout_seconds` holds for everything from resolving the name to the last byte. Raises OutboundError.
        """
        target = _target(url, CIMultiDict(headers or {}), self._rules)
        return await self.send(
            method,
            target,
            timeout_seconds=timeout_seconds,
            body=body,
            maximum_bytes=maximum_bytes,
            cut=cut,
        )

    async def send(
        self,
        method: str,
        target: OutboundTarget,
        *,
        timeout_seconds: float,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        maximum_bytes: int = REPLY_MAXIMUM_BYTES,
        cut: bool = False,
    ) -> HttpReply:
        """As `request`, to a target that was read before. `headers` win over the target's."""
        if target.rules is not self._rules:
            target = _target(target.text, target.headers, self._rules)
        if target.failure is not None:
            raise OutboundError(target.failure)
        sent = target.headers
        if headers:
            sent = sent.copy()
            sent.update(headers)
        try:
            async with self._session(loopback=target.loopback).request(
                method, target.url, data=body, headers=sent, allow_redirects=False, timeout=_timeout(timeout_seconds)
            ) as response:
                if cut:
                    content = await _read_cut(response, maximum_bytes)
                else:
                    content = await _read(response, maximum_bytes, cut=False)
                return HttpReply(response.status, response.headers, content)
        except (aiohttp.ClientError, OSError, UnicodeError) as error:
            raise OutboundError(_failure_of(error)) from error

    def _session(self, *, loopback: bool) -> aiohttp.ClientSession:
        """One session for the world, one for the named origins of this machine: they share no connection."""
        if loopback not in self._open:
            self._open[loopback] = _session_make(self._rules, self._names, loopback=loopback)
        return self._open[loopback]


def fetch(
    method: str,
    url: str,
    *,
    timeout_seconds: float,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    form: Mapping[str, str] | None = None,
    maximum_bytes: int = REPLY_MAXIMUM_BYTES,
) -> HttpReply:
    """One request from code without an event loop: views that may wait, and tasks. Raises OutboundError.

    `form` is sent as application/x-www-form-urlencoded, in the place of `body`. Redirects are answered as they came.
    """
    sent = CIMultiDict(headers or {})
    if form is not None:
        if body is not None:
            raise ValueError("Either a body or a form.")
        body = urlencode(form).encode()
        sent["Content-Type"] = "application/x-www-form-urlencoded"
    return asyncio.run(_fetch(method, url, timeout_seconds, sent, body, maximum_bytes))


async def _fetch(
    method: str, url: str, timeout_seconds: float, headers: Mapping[str, str], body: bytes | None, maximum_bytes: int
) -> HttpReply:
    async with OutboundSession() as session:
        return await session.request(
            method, url, timeout_seconds=timeout_seconds, headers=headers, body=body, maximum_bytes=maximum_bytes
        )


@lru_cache(maxsize=16)
def _timeout(seconds: float) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=seconds)


class _Names(AbstractResolver):
    """Resolves names on the event loop, as many at once as are asked for.

    The loop's own way takes one of a handful of threads for each name, and waits for them at its end: some names whose
    servers never answer would hold up everybody. aiohttp asks once for all that wait for the same name.
    """

    def __init__(self) -> None:
        self._resolver: aiohttp.AsyncResolver | None = None

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """What a name's servers, or this machine's file of hosts, say. OSError where they say nothing."""
        if self._resolver is None:  # many a session never meets a name
            self._resolver = aiohttp.AsyncResolver(
                timeout=_NAME_TRY_SECONDS, tries=_NAME_TRIES, nameservers=list(name_servers)
            )
        return await self._resolver.resolve(host, port, family)

    async def close(self) -> None:
        """Give up what is still being asked."""
        if self._resolver is not None:
            await self._resolver.close()
            self._resolver = None


def _session_make(rules: AddressRules, names: _Names, *, loopback: bool) -> aiohttp.ClientSession:
    def socket_make(info: tuple[Any, ...]) -> socket.socket:
        family, kind, protocol, _name, dialled = info
        if not rules.permits(ip_address(dialled[0]), loopback=loopback):
            raise _AddressRefusedError
        return socket.socket(family=family, type=kind, proto=protocol)

    connector = aiohttp.TCPConnector(
        limit=0, keepalive_timeout=_KEEP_ALIVE_SECONDS, socket_factory=socket_make, resolver=names
    )
    return aiohttp.ClientSession(
        connector=connector, cookie_jar=aiohttp.DummyCookieJar(), trust_env=False, headers={"User-Agent": USER_AGENT}
    )


async def _read_cut(response: aiohttp.ClientResponse, maximum_bytes: int) -> bytes:
    """The beginning of a body that is nice to have: what is slow or broken takes nothing from the status that came."""
    try:
        async with asyncio.timeout(_CUT_BODY_SECONDS):
            return await _read(response, maximum_bytes, cut=True)
    except (aiohttp.ClientError, OSError):  # a timeout is one
        response.close()
        return b""


async def _read(response: aiohttp.ClientResponse, maximum_bytes: int, cut: bool) -> bytes:
    """The body as far as it is wanted. What is left unread costs the connection, which aiohttp then closes."""
    content = bytearray()
    while chunk := await response.content.read(_CHUNK_BYTES):
        content += chunk
        if len(content) > maximum_bytes:
            if not cut:
                raise OutboundError(OutboundFailure.TOO_LARGE)
            del content[maximum_bytes:]
            response.close()
            break
    return bytes(content)


def _failure_of(error: Exception) -> OutboundFailure:
    if isinstance(error, TimeoutError):
        return OutboundFailure.TIMEOUT
    if isinstance(error, aiohttp.ClientConnectorError) and isinstance(error.os_error, _AddressRefusedError):
        return OutboundFailure.REFUSED_ADDRESS
    if isinstance(error, aiohttp.InvalidURL | UnicodeError):
        return OutboundFailure.INVALID_URL
    if isinstance(error, aiohttp.ClientSSLError | ssl.SSLError):
        return OutboundFailure.TLS
    return OutboundFailure.CONNECTION
