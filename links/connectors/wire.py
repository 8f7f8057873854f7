"""JSON over HTTP with a provider: its status codes and broken answers become `ProviderFailure`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode

import orjson

from healthsvc.kernel import clock
from healthsvc.kernel.http import HttpReply, OutboundError, OutboundFailure, fetch, url_read
from healthsvc.kernel.typing import JSONValue
from links.connectors.failures import FailureKind, ProviderFailure
from links.constants import PROVIDER_ANSWER_MAXIMUM_BYTES, PROVIDER_TIMEOUT_SECONDS
from webhooks.retries import retry_after_read

#: Where a provider limits us and names no wait.
RATE_WAIT_SECONDS: Final = 60
#: What a call that worked is answered with.
_GOOD: Final = (200, 201)
_DELETED: Final = (200, 202, 204, 404, 410)
#: What a refusal for the scope is called, and what vendors' own words for it have in common.
_SCOPE_ERRORS: Final = ("insufficient_scope", "invalid_scope")
_SCOPE_WORDS: Final = ("scope", "consent")
#: How deep in a refusal its words are looked for.
_SAID_DEPTH: Final = 5


def _nothing() -> None:
    """Nothing to do before a call."""


def _unheard(seconds: int) -> None:
    """Nobody to tell that the provider limits us."""
    del seconds


@dataclass(frozen=True, slots=True)
class Access:
    """One person's data at a provider: where they are, what opens them, and which scopes were given.

    `before_call` is the worker's own: it runs before each call, and stops the work by raising. Then `budget` says
    whether the provider's limits allow one more call, and `after_limited` is told the seconds of each wait that it
    asks for. `extra_headers` go with every call.
    """

    api_url: str
    access_token: str
    scopes: frozenset[str]
    before_call: Callable[[], None] = _nothing
    budget: Callable[[], None] = _nothing
    after_limited: Callable[[int], None] = _unheard
    extra_headers: Mapping[str, str] = field(default_factory=dict)

    def get(self, path: str, query: Mapping[str, str]) -> Mapping[str, JSONValue]:
        """GET a JSON object."""
        return document_of(self.call("GET", path, query=query))

    def get_list(self, path: str, query: Mapping[str, str]) -> Sequence[JSONValue]:
        """GET a JSON list."""
        return list_of(self.call("GET", path, query=query))

    def get_next(self, address: str) -> Mapping[str, JSONValue]:
        """GET a JSON object at an address that an answer named. The token goes to no other origin than the API's."""
        try:
            same = url_read(address).origin() == url_read(self.api_url).origin()
        except OutboundError as error:
            raise no_reply(error) from None
        if not same:
            raise ProviderFailure(FailureKind.REFUSED)
        return document_of(self._call("GET", address, {}, None))

    def post(self, path: str, form: Mapping[str, str]) -> Mapping[str, JSONValue]:
        """POST a form for a JSON object."""
        return document_of(self.call("POST", path, form=form))

    def post_json(self, path: str, document: Mapping[str, JSONValue]) -> Mapping[str, JSONValue]:
        """POST a JSON object for a JSON object."""
        return document_of(self.call("POST", path, document=document))

    def put_json(self, path: str, document: Mapping[str, JSONValue]) -> Mapping[str, JSONValue]:
        """PUT a JSON object for a JSON object."""
        return document_of(self.call("PUT", path, document=document))

    def delete(self, path: str, query: Mapping[str, str] | None = None) -> None:
        """DELETE something; one that is gone already is as good."""
        reply = self.call("DELETE", path, query=query)
        if reply.status not in _DELETED:
            raise failure_of(reply)

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        form: Mapping[str, str] | None = None,
        document: Mapping[str, JSONValue] | None = None,
    ) -> HttpReply:
        """One call for a connector that looks at the status itself. ProviderFailure where no reply came."""
        url = f"{self.api_url}{path}" + (f"?{urlencode(query)}" if query else "")
        if document is not None:
            return self._call(method, url, {"Content-Type": "application/json"}, orjson.dumps(document))
        if form is not None:
            return self._call(
                method, url, {"Content-Type": "application/x-www-form-urlencoded"}, urlencode(form).encode()
            )
        return self._call(method, url, {}, None)

    def _call(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> HttpReply:
        self.before_call()
        self.budget()
        own = {**self.extra_headers, "Authorization": f"Bearer {self.access_token}", "Accept": "application/json"}
        try:
            reply = fetch(
                method,
                url,
                timeout_seconds=PROVIDER_TIMEOUT_SECONDS,
                headers={**own, **headers},
                body=body,
                maximum_bytes=PROVIDER_ANSWER_MAXIMUM_BYTES,
            )
        except OutboundError as error:
            raise no_reply(error) from None
        if reply.status == 429:
            self.after_limited(retry_after_seconds(reply))
        return reply


def document_of(reply: HttpReply) -> Mapping[str, JSONValue]:
    """The JSON object of a good reply; ProviderFailure by status otherwise."""
    if reply.status not in _GOOD:
        raise failure_of(reply)
    return json_object(reply.body)


def list_of(reply: HttpReply) -> Sequence[JSONValue]:
    """The JSON list of a good reply; ProviderFailure by status otherwise."""
    if reply.status not in _GOOD:
        raise failure_of(reply)
    found = _json(reply.body)
    if not isinstance(found, list):
        raise ProviderFailure(FailureKind.TRANSPORT)
    return found


def json_object(body: bytes) -> Mapping[str, JSONValue]:
    """A JSON object; ProviderFailure for anything else, as an answer cut short."""
    found = _json(body)
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


def failure_of(reply: HttpReply) -> ProviderFailure:
    """What a reply that is no answer asks of us, by its status; a 403 is of the scope only where the reply says so."""
    if reply.status == 429:
        return ProviderFailure(FailureKind.RATE_LIMITED, retry_after_seconds=retry_after_seconds(reply))
    if reply.status >= 500 or reply.status == 408:
        return ProviderFailure(FailureKind.UNAVAILABLE)
    if reply.status == 403:
        return ProviderFailure(FailureKind.SCOPE_MISSING if names_scope(reply) else FailureKind.FORBIDDEN)
    return ProviderFailure(FailureKind.TOKEN_REJECTED if reply.status == 401 else FailureKind.REFUSED)


def names_scope(reply: HttpReply) -> bool:
    """Whether a refusal is told to be for what the person has not allowed.

    By its `WWW-Authenticate` (RFC 6750, 3.1; some servers write `invalid_scope`), or by a JSON object whose texts speak
    of scopes or consents. A page of a proxy is neither, whatever words are on it.
    """
    if any(error in reply.headers.get("WWW-Authenticate", "") for error in _SCOPE_ERRORS):
        return True
    try:
        return _speaks_of_scope(json_object(reply.body), _SAID_DEPTH)
    except ProviderFailure:
        return False


def _speaks_of_scope(value: JSONValue, depth: int) -> bool:
    if isinstance(value, str):
        return any(word in value.lower() for word in _SCOPE_WORDS)
    if depth and isinstance(value, Mapping):
        return any(_speaks_of_scope(one, depth - 1) for one in value.values())
    if depth and isinstance(value, list):
        return any(_speaks_of_scope(one, depth - 1) for one in value)
    return False


def _json(body: bytes) -> JSONValue:
    try:
        found: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise ProviderFailure(FailureKind.TRANSPORT) from None
    value: JSONValue = found
    return value
