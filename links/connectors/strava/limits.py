"""How long Strava's limits last: it answers 429 without a Retry-After, and tells the use of its windows instead.

Source: Strava's rate limits page. The windows begin with the clock's quarters of an hour, and with the days of UTC.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

_QUARTER_SECONDS: Final = 900
_DAY_SECONDS: Final = 86_400
#: Of every request, and of those that only read.
_KINDS: Final = ("RateLimit", "ReadRateLimit")


def wait_seconds(headers: Mapping[str, str], now: datetime) -> int:
    """From a refusal to the end of the window that is used up: the day where its limit is reached, else the quarter."""
    day_over = any(_is_day_over(headers, kind) for kind in _KINDS)
    window_seconds = _DAY_SECONDS if day_over else _QUARTER_SECONDS
    # A second more, for clocks that differ.
    return window_seconds - int(now.timestamp()) % window_seconds + 1


def _is_day_over(headers: Mapping[str, str], kind: str) -> bool:
    limit, usage = (_of_day(headers.get(f"X-{kind}-{name}", "")) for name in ("Limit", "Usage"))
    return limit is not None and usage is not None and usage >= limit


def _of_day(pair: str) -> int | None:
    """The second of `quarter,day`; None where it can't be read."""
    day = pair.partition(",")[2].strip()
    return int(day) if day.isascii() and day.isdigit() and len(day) <= 12 else None
