"""Google's answers: pages of data points, and its errors, whose reason tells more than their status.

Read from the reference and the error catalogue of Google's Health API v4, not exercised against a live account.
"""

from collections.abc import Mapping
from typing import Final

from healthsvc.kernel.http import HttpReply
from healthsvc.kernel.typing import JSONValue
from links.connectors.failures import FailureKind, ProviderFailure
from links.connectors.wire import failure_of, json_object, retry_after_seconds

#: A quota that is used up, where Google says it with 403.
_LIMITED: Final = frozenset(
    {"RATE_LIMIT_EXCEEDED", "RESOURCE_QUOTA_EXCEEDED", "rateLimitExceeded", "userRateLimitExceeded", "quotaExceeded"}
)
#: What the operator mends in Google's console: no person's consent is at fault.
_REGISTRATION: Final = frozenset(
    {
        "ACCESS_NOT_CONFIGURED",
        "API_KEY_INVALID",
        "BILLING_DISABLED",
        "CONSUMER_INVALID",
        "CONSUMER_SUSPENDED",
        "SERVICE_DISABLED",
        "accessNotConfigured",
    }
)


def document_read(reply: HttpReply) -> Mapping[str, JSONValue]:
    """The JSON object of a good reply; ProviderFailure by status and reason otherwise."""
    if reply.status == 200:
        return json_object(reply.body)
    if reply.status == 403:
        reasons = _reasons(reply)
        if reasons & _LIMITED:
            raise ProviderFailure(FailureKind.RATE_LIMITED, retry_after_seconds=retry_after_seconds(reply))
        if reasons & _REGISTRATION:
            raise ProviderFailure(FailureKind.REFUSED)
    raise failure_of(reply)


def _reasons(reply: HttpReply) -> frozenset[str]:
    """The reasons an error names: in `details`, or in `errors` as older parts of Google write them."""
    try:
        error = json_object(reply.body).get("error")
    except ProviderFailure:
        # A page of a proxy: the status alone tells.
        return frozenset()
    found: set[str] = set()
    for name in ("details", "errors"):
        listed = error.get(name) if isinstance(error, Mapping) else None
        for one in listed if isinstance(listed, list) else []:
            reason = one.get("reason") if isinstance(one, Mapping) else None
            if isinstance(reason, str):
                found.add(reason)
    return frozenset(found)
