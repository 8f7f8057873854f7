"""JSON over HTTP with a provider: its status codes and broken answers become `ProviderFailure`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

import orjson

from healthsvc.kernel import clock
from healthsvc.kernel.http import HttpReply, OutboundError, OutboundFailure, fetch
from healthsvc.kernel.typing import JSONValue
from links.connectors.failures import FailureKind, ProviderFailure
from links.constants import PROVIDER_ANSWER_MAXIMUM_BYTES, PROVIDER_TIMEOUT_SECONDS
from webhooks.retries import retry_after_read

#: Where a provider limits us and names no wait.
RATE_WAIT_SECONDS: Final = 60


def _nothing() -> None:
    """Nothing to do before a call."""


@dataclass(frozen=True, slots=True)
class Access:
    """One person's data at a provider: where they are, what opens them, and which scopes were given.

    `before_call` runs before each call, and stops the work by raising.
    """

    api_url: str
    access_token: str
    scopes: frozenset[str]
    before_call: Callable[[], None] = _nothing

    def get(self, path: str, query: Mapping[str, str]) -> Mapping[str, JSONValue]:
        """GET a JSON object."""
        self.before_call()
        reply = _sent("GET", f"{self.api_url}{path}?{urlencode(query)}", self._headers(), None)
        return document_of(reply)

    def post(self, path: str, form: Mapping[str, str]) -> Mapping[str, JSONValue]:
        """POST a form for a JSON object."""
        self.before_call()
        return document_of(_sent("POST", f"{self.api_url}{path}", self._headers(), form))

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.access_token}", "Accept": "application/json"}


def document_of(reply: HttpReply) -> Mapping[str, JSONValue]:
    """The JSON object of a good reply; ProviderFailure by status otherwise."""
    if reply.status != 200:
        raise _failure(reply)
    return json_object(reply.body)


def json_object(body: bytes) -> Mapping[str, JSONValue]:
    """A JSON object; ProviderFailure for anything else, as an answer cut short."""
    try:
        found: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise ProviderFailure(FailureKind.TRANSPORT) from None
    if not isinstance(found, dict):
        raise ProviderFailure(FailureKind.TRANSPORT)
    return found


def retry_after_seconds(reply: HttpReply) -> int:
    """The wait a reply asks for in whole seconds, at most a day; a minute where it names none we understand."""
    named = retry_after_read(reply.headers.get("Retry-After", ""), clock.now())
    return RATE_WAIT_SECONDS if named is None else max(1, named)


def no_reply(error: OutboundError) -> ProviderFailure:
    """The failure that no reply came: to try again, or not where the address or the size is at fault."""
    again = error.kind in (OutboundFailure.TIMEOUT, OutboundFailure.CONNECTION)
    return ProviderFailure(FailureKind.TRANSPORT if again else FailureKind.REFUSED)


def _sent(method: str, url: str, headers: Mapping[str, str], form: Mapping[str, str] | None) -> HttpReply:
    try:
        return fetch(
            method,
            url,
            timeout_seconds=PROVIDER_TIMEOUT_SECONDS,
            headers=headers,
            form=form,
            maximum_bytes=PROVIDER_ANSWER_MAXIMUM_BYTES,
        )
    except OutboundError as error:
        raise no_reply(error) from None


def _failure(reply: HttpReply) -> ProviderFailure:
    if reply.status == 429:
        return ProviderFailure(FailureKind.RATE_LIMITED, retry_after_seconds=retry_after_seconds(reply))
    if reply.status >= 500 or reply.status == 408:
        return ProviderFailure(FailureKind.UNAVAILABLE)
    kinds = {401: FailureKind.TOKEN_REJECTED, 403: FailureKind.SCOPE_MISSING}
    return ProviderFailure(kinds.get(reply.status, FailureKind.REFUSED))
