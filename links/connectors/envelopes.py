"""Answers that travel under HTTP 200 whatever happened: `{"status": 0, "body": {…}}`.

Source: Withings' public API reference, section "Response status".
"""

from collections.abc import Mapping
from typing import Final

from healthsvc.kernel.typing import JSONValue
from links.connectors.failures import FailureKind, ProviderFailure
from links.connectors.wire import RATE_WAIT_SECONDS, Access

_TOKEN_REJECTED: Final = frozenset({100, 101, 102, 200, 401})
_SCOPE_MISSING: Final = frozenset({214, 277, 2553})
_RATE_LIMITED: Final = 601
_UNAVAILABLE: Final = frozenset({*range(518, 527), 2554, 2555, 2556})


def body_posted(access: Access, path: str, form: Mapping[str, str]) -> Mapping[str, JSONValue]:
    """POST a form for an envelope's body. A rate limit that the envelope tells is noted as one that HTTP tells."""
    answer = access.post(path, form)
    if answer.get("status") == _RATE_LIMITED:
        access.after_limited(RATE_WAIT_SECONDS)
    return body_of(answer)


def body_of(answer: Mapping[str, JSONValue]) -> Mapping[str, JSONValue]:
    """The `body` of an answer whose `status` is 0; ProviderFailure by status otherwise."""
    status, body = answer.get("status"), answer.get("body")
    if status == 0 and isinstance(body, dict):
        return body
    if status == _RATE_LIMITED:
        raise ProviderFailure(FailureKind.RATE_LIMITED, retry_after_seconds=RATE_WAIT_SECONDS)
    for numbers, kind in (
        (_TOKEN_REJECTED, FailureKind.TOKEN_REJECTED),
        (_SCOPE_MISSING, FailureKind.SCOPE_MISSING),
        (_UNAVAILABLE, FailureKind.UNAVAILABLE),
    ):
        if status in numbers:
            raise ProviderFailure(kind)
    raise ProviderFailure(FailureKind.REFUSED if isinstance(status, int) else FailureKind.TRANSPORT)
