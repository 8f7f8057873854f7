"""Rate limits per key, or per what a caller names: a fixed window in Redis, told by the RateLimit headers of
draft-ietf-httpapi-ratelimit.

Where Redis can't be reached the request goes through and a warning is logged: a limit protects the service, and an
outage of the limiter must not become an outage of the service.
"""

from dataclasses import dataclass
from functools import lru_cache

import structlog
from django.conf import settings
from redis import Redis
from redis.exceptions import RedisError

from healthsvc.kernel import clock
from healthsvc.kernel.errors import ErrorCode, ServiceError

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class RatePolicy:
    """At most `quota` requests in each `window_seconds`. `counted` says what is counted, as a refusal tells it."""

    name: str
    quota: int
    window_seconds: int
    counted: str = "requests with this key"


def default_policy() -> RatePolicy:
    """The limit of every key that has none of its own."""
    return RatePolicy("default", settings.RATE_LIMIT_REQUESTS, settings.RATE_LIMIT_WINDOW_SECONDS)


@lru_cache(maxsize=1)
def _redis(url: str) -> Redis:
    return Redis.from_url(url, socket_timeout=0.5, socket_connect_timeout=0.5)


def limit_take(policy: RatePolicy, counted: str) -> dict[str, str]:
    """Count one request of `counted`; the headers to answer with, or 429 once the window is used up."""
    if not settings.REDIS_URL or policy.quota <= 0:
        return {}
    now = int(clock.now().timestamp())
    window, elapsed = divmod(now, policy.window_seconds)
    key = f"healthsvc:limit:{policy.name}:{counted}:{window}"
    try:
        with _redis(settings.REDIS_URL).pipeline(transaction=False) as pipeline:
            pipeline.incr(key)
            pipeline.expire(key, policy.window_seconds * 2)
            used = int(pipeline.execute()[0])
    except (RedisError, OSError) as error:
        log.warning("rate_limiter_unreachable", error=type(error).__name__)
        return {}
    reset_seconds = policy.window_seconds - elapsed
    headers = {
        "RateLimit-Policy": f'"{policy.name}";q={policy.quota};w={policy.window_seconds}',
        "RateLimit": f'"{policy.name}";r={max(0, policy.quota - used)};t={reset_seconds}',
    }
    if used > policy.quota:
        detail = f"More than {policy.quota} {policy.counted} in {policy.window_seconds} seconds."
        raise ServiceError(ErrorCode.RATE_LIMITED, detail, headers=headers, retry_after_seconds=max(1, reset_seconds))
    return headers
