"""Removes rows that are of no use any more: portion by portion, for a bounded time."""

import time
from typing import Any

from django.db.models import QuerySet

from links.constants import PURGE_SECONDS, PURGED_AT_ONCE


def rows_purge(*kinds: QuerySet[Any]) -> int:
    """Remove these rows, one kind after another, until none is left or the time is over; how many went.

    Rows that others hang on come last: a portion of theirs would take any number of the others with it. What has come
    to be of use between finding and removing stays.
    """
    ends_at = time.monotonic() + PURGE_SECONDS
    removed = 0
    for rows in kinds:
        while ids := list(rows.values_list("pk", flat=True)[:PURGED_AT_ONCE]):
            removed += rows.filter(pk__in=ids).delete()[0]
            if time.monotonic() >= ends_at:
                return removed
    return removed
