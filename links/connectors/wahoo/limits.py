"""How long Wahoo's limits last: it answers 429 with `X-RateLimit-Reset`, in seconds, in the place of a Retry-After."""

from typing import Final

from healthsvc.kernel.http import HttpReply
from links.connectors.wire import retry_after_seconds

_DAY_SECONDS: Final = 86_400


def wait_seconds(reply: HttpReply) -> int:
    """What a refusal asks to wait."""
    named = reply.headers.get("X-RateLimit-Reset", "").strip()
    if "Retry-After" not in reply.headers and named.isascii() and named.isdigit() and len(named) <= 9:
        return min(max(1, int(named)), _DAY_SECONDS)
    return retry_after_seconds(reply)
