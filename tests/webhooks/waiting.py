"""Waiting in tests: for something that is seen to come, never for a time; and work beside a test's own."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from django.db import connections

_POLL_SECONDS = 0.01

Result = TypeVar("Result")


def wait_until(what: str, probe: Callable[[], object], seconds: float = 20) -> None:
    """Wait until `probe` is true; a test that waits in vain fails, and says for what."""
    deadline = time.monotonic() + seconds
    while not probe():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(_POLL_SECONDS)


@dataclass(slots=True)
class Beside(Generic[Result]):
    """What runs in a thread: whether it still does, and what it has returned."""

    thread: threading.Thread
    returned: list[Result] = field(default_factory=list)

    @property
    def runs(self) -> bool:
        """Whether it has not ended."""
        return self.thread.is_alive()

    def end(self, seconds: float = 30) -> Result:
        """Wait for its end; what it returned."""
        self.thread.join(seconds)
        assert not self.thread.is_alive(), "it does not end"
        (returned,) = self.returned
        return returned


@contextmanager
def beside(run: Callable[[], Result]) -> Iterator[Beside[Result]]:
    """Run something in a thread with database connections of its own; at the end it has ended."""

    def body() -> None:
        try:
            made.returned.append(run())
        finally:
            connections.close_all()

    made: Beside[Result] = Beside(threading.Thread(target=body))
    made.thread.start()
    try:
        yield made
    finally:
        made.thread.join(30)
    assert made.returned, "it failed, or does not end"
