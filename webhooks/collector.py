"""Python's garbage collector while a pump runs: requests in flight are many young objects that all die by themselves.

At its usual thresholds it looks hundreds of times a second through them, and through all that the process has loaded:
a pump spent half its time so.
"""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_YOUNG_OBJECTS: Final = 10_000


class _Quiet:
    """Counts who wants it quiet, for threads that do so side by side."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.wanted = 0
        self.usual = gc.get_threshold()

    def enter(self) -> None:
        with self.lock:
            self.wanted += 1
            if self.wanted == 1:
                self.usual = gc.get_threshold()
                gc.freeze()
                gc.set_threshold(_YOUNG_OBJECTS, *self.usual[1:])

    def leave(self) -> None:
        with self.lock:
            self.wanted -= 1
            if self.wanted == 0:
                gc.set_threshold(*self.usual)
                gc.unfreeze()


_quiet: Final = _Quiet()


@contextmanager
def collector_quiet() -> Iterator[None]:
    """Inside: what was there before is not looked through, and young objects are less often."""
    _quiet.enter()
    try:
        yield
    finally:
        _quiet.leave()
