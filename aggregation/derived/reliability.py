"""How steadily a source sends, from the days on which it did. The API names the columns and says nothing more.

A gap is a run of days without data between two days with data; the time before the first day is none (the device
may be new), the time after the last one is told as recency. Statuses, by the first that fits:
`stale` no data in the last 7 days of the window, `reliable` on at least 80 % of the days since the first one,
`intermittent` on at least 30 %, else `sparse`.
"""

import statistics
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import Final

_STALE_DAYS: Final = 7
_RELIABLE_SHARE: Final = 0.8
_INTERMITTENT_SHARE: Final = 0.3


@dataclass(frozen=True, slots=True)
class Presence:
    """Days with data within a window of whole days.

    coverage: their share of the window, 0 to 1. gap_maximum_day: 0 where there is no gap, in which case the mean is
    None; the deviation (n - 1) is None below two gaps. recency_day: days from the last one to the window's end.
    """

    day_count: int
    coverage: float
    gap_count: int
    gap_maximum_day: int
    gap_mean_day: float | None
    gap_standard_deviation_day: float | None
    recency_day: int
    status: str


def presence_of(days: Collection[date], start_on: date, end_on: date) -> Presence:
    """The presence of one source in a window, both ends included; `days` must hold at least one day of it."""
    present = sorted({day for day in days if start_on <= day <= end_on})
    gaps = [gap for earlier, later in pairwise(present) if (gap := (later - earlier).days - 1)]
    recency_day = (end_on - present[-1]).days
    return Presence(
        day_count=len(present),
        coverage=len(present) / ((end_on - start_on).days + 1),
        gap_count=len(gaps),
        gap_maximum_day=max(gaps, default=0),
        gap_mean_day=statistics.fmean(gaps) if gaps else None,
        gap_standard_deviation_day=statistics.stdev(gaps) if len(gaps) > 1 else None,
        recency_day=recency_day,
        status=_status(recency_day, len(present) / ((end_on - present[0]).days + 1)),
    )


def _status(recency_day: int, share_since_first: float) -> str:
    if recency_day >= _STALE_DAYS:
        return "stale"
    if share_since_first >= _RELIABLE_SHARE:
        return "reliable"
    return "intermittent" if share_since_first >= _INTERMITTENT_SHARE else "sparse"
