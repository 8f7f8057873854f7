"""Places for requests that wait for somebody else, a vendor or a worker: the other threads answer everybody else.

A web process has few threads, and a request that waits holds one for many seconds. So at most half of them wait, and
of one team at most a quarter. Nobody waits for a place: whoever gets none is answered at once.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Final
from uuid import UUID

from django.conf import settings

from healthsvc.kernel.errors import ErrorCode, ServiceError

#: One thread in so many may wait: the others are enough for whoever waits for the database alone.
_ALL: Final = 2
#: And one in so many for one team, so that no team's waiting leaves the others without a place.
_OF_A_TEAM: Final = 4
#: A vendor mostly answers within a few seconds.
BUSY_RETRY_SECONDS: Final = 5
BUSY_MEANING: Final = "Too many requests wait for a provider at this moment. Nothing was done; try again shortly."


class _Places:
    """Who waits in this process."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._taken: Counter[UUID] = Counter()

    def take(self, team_id: UUID) -> bool:
        """Take a place for a team; False where it has its share, or all are taken."""
        threads: int = settings.WEB_THREADS
        with self._lock:
            if self._taken.total() >= threads // _ALL or self._taken[team_id] >= threads // _OF_A_TEAM:
                return False
            self._taken[team_id] += 1
        return True

    def leave(self, team_id: UUID) -> None:
        """Give a place back."""
        with self._lock:
            self._taken[team_id] -= 1
            if not self._taken[team_id]:
                del self._taken[team_id]


_places: Final = _Places()


@contextmanager
def waiting_place(team_id: UUID) -> Iterator[bool]:
    """A place for as long as the block runs; False at once where there is none, and the block must not wait then."""
    if not _places.take(team_id):
        yield False
        return
    try:
        yield True
    finally:
        _places.leave(team_id)


@contextmanager
def waiting_place_needed(team_id: UUID) -> Iterator[None]:
    """A place for as long as the block runs; 503 with Retry-After at once where there is none."""
    with waiting_place(team_id) as taken:
        if not taken:
            raise ServiceError(ErrorCode.UNAVAILABLE, BUSY_MEANING, retry_after_seconds=BUSY_RETRY_SECONDS)
        yield
