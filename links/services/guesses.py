"""Keeps short codes from being guessed: how many that were never made may be tried, counted in the database.

Not in the limiter of requests, which lets everything through while Redis is away. Every look-up among codes of one
beginning waits for the one before it, so that many requests at once get no more guesses than one after another.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from ipaddress import ip_address, ip_network
from typing import Final, TypeVar

import structlog
from django.db import transaction
from django.db.models import F

from healthsvc.kernel import clock
from healthsvc.kernel.crypto import keyed_hash
from healthsvc.kernel.errors import ErrorCode, ServiceError
from links.constants import GUESS_WINDOW_SECONDS, GUESSES_OF_A_BEGINNING, GUESSES_OF_A_NETWORK
from links.models import GuessCount

log = structlog.get_logger(__name__)

T = TypeVar("T")

_WINDOW: Final = timedelta(seconds=GUESS_WINDOW_SECONDS)
#: Of IPv6 one customer of a network has a whole /64.
_IPV6_PREFIX_BITS: Final = 64


def guess_guarded(*, beginning: str, address: str, find: Callable[[], T | None]) -> T | None:
    """What `find` finds. What it does not find is counted; 429 once this network or everybody has tried too many."""
    now = clock.now()
    everybody, network = f"code:{beginning}", f"address:{_network_hash(address)}"
    GuessCount.objects.bulk_create([GuessCount(key=everybody, window_started_at=now)], ignore_conflicts=True)
    with transaction.atomic():
        held = GuessCount.objects.select_for_update().get(key=everybody)
        own = GuessCount.objects.filter(key=network).first()
        _refuse_where_used_up(held, GUESSES_OF_A_BEGINNING, now)
        if own is not None:
            _refuse_where_used_up(own, GUESSES_OF_A_NETWORK, now)
        found = find()
        if found is None:
            _count(everybody, now)
            _count(network, now)
    return found


def _refuse_where_used_up(count: GuessCount, quota: int, now: datetime) -> None:
    ends_at = count.window_started_at + _WINDOW
    if now >= ends_at or count.failures < quota:
        return
    log.warning("link_codes_guessed", counted=count.key.partition(":")[0], failures=count.failures)
    retry_after_seconds = int((ends_at - now).total_seconds()) + 1
    message = "Too many codes were tried that nobody made. Wait, or sign in with a token from your own server."
    raise ServiceError(ErrorCode.RATE_LIMITED, message, retry_after_seconds=retry_after_seconds)


def _count(key: str, now: datetime) -> None:
    GuessCount.objects.bulk_create([GuessCount(key=key, window_started_at=now)], ignore_conflicts=True)
    rows = GuessCount.objects.filter(key=key)
    if not rows.filter(window_started_at__lte=now - _WINDOW).update(window_started_at=now, failures=1):
        rows.update(failures=F("failures") + 1)


def _network_hash(address: str) -> str:
    """A keyed hash of the caller's network, for an address says who somebody is."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return keyed_hash("guess-network", "unknown").hex()
    network = str(parsed) if parsed.version == 4 else str(ip_network((parsed, _IPV6_PREFIX_BITS), strict=False))
    return keyed_hash("guess-network", network).hex()
