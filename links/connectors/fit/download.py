"""Fetching a FIT file that an answer named: over https, from hosts that are known, within the file's own bound."""

from collections.abc import Collection
from typing import Final

from healthsvc.kernel.http import HttpReply, OutboundError, OutboundFailure, fetch, url_read
from links.connectors.failures import FailureKind
from links.connectors.fit.reader import FILE_MAXIMUM_BYTES
from links.connectors.payload import MalformedError
from links.connectors.wire import Access, failure_of, no_reply, retry_after_seconds
from links.constants import PROVIDER_TIMEOUT_SECONDS

_GONE: Final = (404, 410)


def file_fetch(access: Access, address: str, *, hosts: Collection[str] = ()) -> bytes | None:
    """The file at an address; None where it is gone.

    The token goes to the API's own origin alone. `hosts` are the vendor's other ones, which are asked over https and
    without it. MalformedError for any other address, for a file that is too large, and for a refusal that is of this
    file alone: none of these takes a neighbour down.
    """
    own = _is_own(access, address, hosts)
    access.before_call()
    headers = {"Accept": "application/octet-stream, */*"}
    if own:
        access.budget()
        headers = {**access.extra_headers, **headers, "Authorization": f"Bearer {access.access_token}"}
    try:
        reply = fetch(
            "GET",
            address,
            timeout_seconds=PROVIDER_TIMEOUT_SECONDS,
            headers=headers,
            maximum_bytes=FILE_MAXIMUM_BYTES,
        )
    except OutboundError as error:
        if error.kind is OutboundFailure.TOO_LARGE:
            raise MalformedError("fit_too_large") from error
        raise no_reply(error) from None
    if reply.status in _GONE:
        return None
    if own and reply.status == 429:
        access.after_limited(retry_after_seconds(reply))
    if reply.status != 200:
        raise _failure(reply, own=own)
    return reply.body


def _failure(reply: HttpReply, *, own: bool) -> Exception:
    """A file's host knows no tokens and scopes: what it refuses, an address that has run out, is one file's matter."""
    failure = failure_of(reply)
    of_all = failure.kind in (FailureKind.RATE_LIMITED, FailureKind.UNAVAILABLE)
    of_token = own and failure.kind in (FailureKind.TOKEN_REJECTED, FailureKind.SCOPE_MISSING, FailureKind.FORBIDDEN)
    return failure if of_all or of_token else MalformedError("file_refused")


def _is_own(access: Access, address: str, hosts: Collection[str]) -> bool:
    """Whether an address is of the API's own origin. MalformedError where it is of nobody known."""
    try:
        url, own = url_read(address), url_read(access.api_url)
    except OutboundError as error:
        raise MalformedError("file_elsewhere") from error
    if url.origin() == own.origin():
        return True
    if url.scheme != "https" or url.host not in hosts or url.port != 443:
        raise MalformedError("file_elsewhere")
    return False
